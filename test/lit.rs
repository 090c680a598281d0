//! Runs the FileCheck tests of `test/lit/` under `cargo test`: one trial a file, in parallel, filtered by name.
//!
//! What a test file may hold is a part of what LLVM's lit knows, and means the same: `RUN:` lines (continued by a `\`), `REQUIRES:`, `UNSUPPORTED:` and
//! `XFAIL:` with names of features, and `%s` (the file), `%S` (its folder), `%t` (a file to write), `%%`. The tools of the
//! driver crate and LLVM 22's `FileCheck`, `not` and `split-file` are on PATH. A missing tool fails, it never skips.

use libtest_mimic::{Arguments, Failed, Trial};
use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

const SUFFIXES: [&str; 2] = ["mlir", "test"];
const LLVM_TOOLS: [&str; 3] = ["FileCheck", "not", "split-file"];

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test/lit");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let path = search_path();
    let trials = files
        .into_iter()
        .map(|file| {
            let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            let test =
                fs::read_to_string(&file).map_err(|e| format!("reading {name}: {e}")).and_then(|t| Test::parse(&t));
            let unmet = test.as_ref().is_ok_and(|t| !t.supported());
            let path = path.clone();
            Trial::test(name.clone(), move || run(&test?, &file, &name, &path?)).with_ignored_flag(unmet)
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "Inputs") {
                collect(&path, files);
            }
        } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| SUFFIXES.contains(&e)) {
            files.push(path);
        }
    }
}

/// PATH with our tools and LLVM's in front.
fn search_path() -> Result<String, String> {
    let ours =
        Path::new(env!("CARGO_BIN_EXE_aitmlir-opt")).parent().map(|p| p.display().to_string()).unwrap_or_default();
    let prefix = option_env!("MLIR_SYS_220_PREFIX").unwrap_or("/usr/lib/llvm-22");
    let path = format!("{ours}:{prefix}/bin:{}", env::var("PATH").unwrap_or_default());
    for tool in LLVM_TOOLS {
        if !path.split(':').any(|folder| Path::new(folder).join(tool).is_file()) {
            return Err(format!("{tool} of LLVM 22 is not installed: apt-get install llvm-22-tools"));
        }
    }
    Ok(path)
}

/// What a test file asks for.
#[derive(Default)]
struct Test {
    commands: Vec<String>,
    requires: Vec<String>,
    unsupported: Vec<String>,
    expected_to_fail: Vec<String>,
}

impl Test {
    fn parse(text: &str) -> Result<Self, String> {
        let mut test = Self::default();
        let mut continued = false;
        for line in text.lines() {
            let list =
                |rest: &str| rest.split(',').map(|f| f.trim().to_owned()).filter(|f| !f.is_empty()).collect::<Vec<_>>();
            if let Some(rest) = directive(line, "RUN:") {
                let (part, goes_on) = match rest.strip_suffix('\\') {
                    Some(part) => (part.trim(), true),
                    None => (rest, false),
                };
                match test.commands.last_mut().filter(|_| continued) {
                    Some(command) => *command = format!("{command} {part}"),
                    None => test.commands.push(part.to_owned()),
                }
                continued = goes_on;
            } else if let Some(rest) = directive(line, "REQUIRES:") {
                test.requires.extend(list(rest));
            } else if let Some(rest) = directive(line, "UNSUPPORTED:") {
                test.unsupported.extend(list(rest));
            } else if let Some(rest) = directive(line, "XFAIL:") {
                test.expected_to_fail.extend(list(rest));
            }
        }
        match (continued, test.commands.is_empty()) {
            (true, _) => Err("the last RUN line ends in a backslash".to_owned()),
            (_, true) => Err("no RUN line".to_owned()),
            _ => Ok(test),
        }
    }

    fn supported(&self) -> bool {
        let features = features();
        self.requires.iter().all(|f| features.contains(f.as_str()))
            && !self.unsupported.iter().any(|f| features.contains(f.as_str()))
    }
}

/// The text behind `keyword` in a comment line.
fn directive<'l>(line: &'l str, keyword: &str) -> Option<&'l str> {
    let comment = line.trim_start();
    let comment = comment.strip_prefix("//").or_else(|| comment.strip_prefix('#'))?;
    comment.trim_start().strip_prefix(keyword).map(str::trim)
}

/// What this machine offers, as `lit.cfg.py` says it.
fn features() -> BTreeSet<&'static str> {
    BTreeSet::from([env::consts::ARCH, env::consts::OS, "*"])
}

fn run(test: &Test, file: &Path, name: &str, path: &str) -> Result<(), Failed> {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lit").join(format!("{name}.tmp"));
    fs::create_dir_all(scratch.parent().unwrap_or(&scratch))?;
    let script: String = test.commands.iter().map(|command| substitute(command, file, &scratch) + "\n").collect();
    let output = Command::new("bash")
        .args(["-e", "-o", "pipefail", "-c", &script])
        .env("PATH", path)
        .current_dir(scratch.parent().unwrap_or(&scratch))
        .output()
        .map_err(|e| format!("bash does not start: {e}"))?;
    let should_fail = test.expected_to_fail.iter().any(|f| features().contains(f.as_str()));
    match (output.status.success(), should_fail) {
        (true, false) | (false, true) => Ok(()),
        (true, true) => Err("passes, and says XFAIL".into()),
        (false, false) => Err(format!(
            "{}\n$ {}\n{}{}",
            output.status,
            script.trim_end().replace('\n', "\n$ "),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}

fn substitute(command: &str, file: &Path, scratch: &Path) -> String {
    let folder = file.parent().unwrap_or(file);
    let mut parts = command.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    while let Some(part) = parts.next() {
        let (value, rest) = match part.chars().next() {
            Some('s') => (file.display().to_string(), &part[1..]),
            Some('S') => (folder.display().to_string(), &part[1..]),
            Some('t') => (scratch.display().to_string(), &part[1..]),
            None => ("%".to_owned(), parts.next().unwrap_or_default()),
            _ => ("%".to_owned(), part),
        };
        text.push_str(&value);
        text.push_str(rest);
    }
    text
}
