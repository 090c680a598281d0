//! A kernel in a file whose comments say how to launch it and what to expect.
//!
//! ```text
//! // launch: grid=2,1,1 block=64,1,1 cluster=2,1,1 shared=1024
//! // arg: out:256                 (the grammar of `ptx-sim --arg`)
//! // expect: 0 u32 16: 1 2 3      (argument, type, first element: values)
//! // finds: race                  (kinds of findings of the faulty version)
//! ```
//!
//! Lines that end in `// fault` are in the faulty version only, lines that end in `// clean` in the clean one only, and
//! the finding must be at a line that ends in `// found`, if there is one.

use crate::check::Checks;
use crate::check::finding::Finding;
use crate::error::{Error, Result};
use crate::machine::grid::{Launch, Outcome, run};
use crate::memory::global::GlobalMemory;
use crate::numeric::convert::Scalar;
use crate::program::Program;
use crate::setup::arguments;
use std::path::{Path, PathBuf};

/// A kernel file.
#[derive(Clone, Debug)]
pub struct Case {
    /// File name without its ending.
    pub name: String,
    /// Its text.
    pub source: String,
    /// Kinds that the faulty version must give; empty if there is none.
    pub finds: Vec<String>,
}

/// What a case gave.
#[derive(Debug)]
pub struct CaseOutcome {
    /// The program.
    pub program: Program,
    /// Findings and counters.
    pub outcome: Outcome,
    /// Values that are not as expected.
    pub wrong: Vec<String>,
}

fn directives<'a>(source: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    source.lines().filter_map(move |l| l.strip_prefix("// ")?.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
}

impl Case {
    /// Reads a file.
    pub fn load(path: &Path) -> std::io::Result<Case> {
        let source = std::fs::read_to_string(path)?;
        let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let finds = directives(&source, "finds").flat_map(|l| l.split(' ').map(str::to_string)).collect();
        Ok(Case { name, source, finds })
    }

    /// All `.ptx` files of a folder, by name.
    pub fn folder(path: &Path) -> std::io::Result<Vec<Case>> {
        let entries = std::fs::read_dir(path)?.collect::<std::io::Result<Vec<_>>>()?;
        let mut files: Vec<PathBuf> = entries.into_iter().map(|e| e.path()).collect();
        files.retain(|p| p.extension().is_some_and(|e| e == "ptx"));
        files.sort();
        files.iter().map(|p| Case::load(p)).collect()
    }

    /// The text of one version: lines of the other are emptied, so that line numbers agree.
    pub fn version(&self, faulty: bool) -> String {
        let drop = if faulty { "// clean" } else { "// fault" };
        self.source.lines().map(|l| if l.trim_end().ends_with(drop) { "\n".into() } else { format!("{l}\n") }).collect()
    }

    /// Runs one version.
    pub fn run(&self, faulty: bool, checks: Checks, counters: bool) -> Result<CaseOutcome> {
        let text = self.version(faulty);
        let bad = |what: String| Error::Launch { kernel: self.name.clone(), what };
        let mut global = GlobalMemory::default();
        let kernel = match directives(&text, "kernel").next() {
            Some(name) => name.to_string(),
            None => crate::decode::kernels(&text)?.into_iter().next().ok_or_else(|| bad("no kernel".into()))?,
        };
        let program = crate::decode::compile(&text, &kernel, &mut global)?;
        let specs: Vec<String> = directives(&text, "arg").map(str::to_string).collect();
        let (params, buffers) = arguments(&program, &specs, &mut global)?;
        let mut launch = Launch { params, checks, counters, threads: 1, step_limit: 1 << 22, ..Launch::default() };
        for word in directives(&text, "launch").flat_map(|l| l.split(' ')) {
            let Some((key, value)) = word.split_once('=') else {
                return Err(bad(format!("`{word}`")));
            };
            match key {
                "grid" => launch.grid = dims(value).ok_or_else(|| bad(format!("`{word}`")))?,
                "block" => launch.block = dims(value).ok_or_else(|| bad(format!("`{word}`")))?,
                "cluster" => launch.cluster = Some(dims(value).ok_or_else(|| bad(format!("`{word}`")))?),
                "steps" => launch.step_limit = value.parse().map_err(|_| bad(format!("`{word}`")))?,
                "shared" => launch.dynamic_shared = value.parse().map_err(|_| bad(format!("`{word}`")))?,
                _ => return Err(bad(format!("`{word}`"))),
            }
        }
        let outcome = run(&program, &launch, &global)?;
        let mut wrong = Vec::new();
        for line in directives(&text, "expect") {
            let (place, values) = line.split_once(':').ok_or_else(|| bad(format!("`{line}`")))?;
            let place: Vec<&str> = place.split(' ').collect();
            let [argument, ty, first] = place.as_slice() else {
                return Err(bad(format!("`{line}`")));
            };
            let number = |t: &str| t.parse::<usize>().map_err(|_| bad(format!("`{line}`")));
            let (argument, first) = (number(argument)?, number(first)?);
            let scalar = Scalar::parse(ty).ok_or_else(|| bad(format!("`{line}`")))?;
            let buffer = buffers.iter().find(|b| b.argument == argument).ok_or_else(|| bad(format!("`{line}`")))?;
            let bytes = global.download(buffer.address, buffer.bytes)?;
            check_values(scalar, &bytes, first, values, &mut wrong);
        }
        Ok(CaseOutcome { program, outcome, wrong })
    }

    /// Whether the findings of the faulty version are those that it plants, at the marked lines.
    pub fn found(&self, findings: &[Finding]) -> bool {
        let lines: Vec<&str> = self.source.lines().collect();
        let marks = |l: &str| l.trim_end().ends_with("// found") || l.contains("// found //");
        let marked = lines.iter().any(|l| marks(l));
        let at_mark = |f: &Finding| !marked || lines.get(f.line as usize - 1).is_some_and(|l| marks(l));
        let named = |kind: &String| findings.iter().any(|f| f.kind.to_string() == *kind && at_mark(f));
        self.finds.iter().all(named) && findings.iter().all(|f| self.finds.contains(&f.kind.to_string()))
    }
}

/// Reads `2,1,1`, `2,1` or `2`.
pub fn dims(text: &str) -> Option<[u32; 3]> {
    let mut out = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    for (slot, part) in out.iter_mut().zip(&parts) {
        *slot = part.parse().ok()?;
    }
    (parts.len() <= 3).then_some(out)
}

fn check_values(ty: Scalar, bytes: &[u8], first: usize, values: &str, wrong: &mut Vec<String>) {
    let size = ty.bits() as usize / 8;
    for (i, want) in values.split_whitespace().enumerate() {
        let at = (first + i) * size;
        let raw = bytes.get(at..at + size).unwrap_or_default();
        let bits = raw.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
        let got = match ty {
            Scalar::Int(n) => ((bits << (64 - n)) as i64 >> (64 - n)).to_string(),
            Scalar::UInt(_) => bits.to_string(),
            float => float.float(bits).to_string(),
        };
        let hex = want.strip_prefix("0x").and_then(|h| u64::from_str_radix(h, 16).ok());
        let close = match (got.parse::<f64>(), want.parse::<f64>()) {
            (Ok(g), Ok(w)) if !ty.integer() => (g - w).abs() <= 1e-6 * w.abs(),
            _ => false,
        };
        if got != want && hex != Some(bits) && !close {
            wrong.push(format!("element {} is {got}, expected {want}", first + i));
        }
    }
}
