//! Links the objects of a model and the runtime to a library, with the system's compiler driver or linker.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::{Error, Result};

/// The runtime as `build.rs` built it.
pub static RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libaitmlir_runtime.a"));

/// Programs that can link, in the order of preference; the flag says that it is a compiler driver, which knows by itself
/// where the C library is.
const LINKERS: &[(&str, bool)] = &[("cc", true), ("gcc", true), ("clang", true), ("ld.lld", false), ("ld", false)];

/// Where the C library is, for linkers that don't know.
const LIBRARY_DIRS: &[&str] = &[
    concat!("/lib/", env!("AITMLIR_MULTIARCH")),
    concat!("/usr/lib/", env!("AITMLIR_MULTIARCH")),
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// Libraries that the runtime and generated code use; the last holds what thread-local variables need.
const LIBRARIES: &[&str] = &["libgcc_s.so.1", "libm.so.6", "libc.so.6", LOADER];

#[cfg(target_arch = "x86_64")]
const LOADER: &str = "ld-linux-x86-64.so.2";
#[cfg(target_arch = "aarch64")]
const LOADER: &str = "ld-linux-aarch64.so.1";

/// What is linked.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// Objects and archives, in order.
    pub objects: &'a [PathBuf],
    /// C name of the model: the library also exports `NAME_api`.
    pub name: &'a str,
    /// The library to write.
    pub output: &'a Path,
    /// A folder for what the linker reads.
    pub scratch: &'a Path,
}

/// A program that links.
#[derive(Clone, Debug)]
pub struct Linker {
    /// Where it is.
    pub program: PathBuf,
    /// It is a compiler driver.
    pub is_driver: bool,
}

/// Links a shared library with the first linker on the PATH.
pub fn link(link: &Link<'_>) -> Result<()> {
    link_with(&find_linker(std::env::var_os("PATH").as_deref())?, link)
}

/// Links a shared library with this linker.
pub fn link_with(linker: &Linker, link: &Link<'_>) -> Result<()> {
    let program = &linker.program;
    let script = link.scratch.join("exports.map");
    std::fs::write(&script, version_script(link.name)).map_err(Error::file("write", &script))?;
    let mut command = Command::new(program);
    // Messages in English, which the error passes on; and no flags of the user's own builds.
    command.env("LC_ALL", "C");
    let flags = linker_flags(link.name, &script);
    command.arg("-shared");
    if linker.is_driver {
        command.args(flags.iter().map(|flag| prefixed("-Wl,", flag)));
        command.args(link.objects).args(["-lgcc_s", "-lm", "-lc"]);
    } else {
        command.args(["--eh-frame-hdr", "--as-needed"]).args(&flags).args(link.objects);
        command.args(libraries(program)?);
    }
    command.arg("-o").arg(link.output);
    run(program, &mut command)
}

/// The flags that both kinds of linker get. No soname: a library's bytes do not depend on what its file is called.
fn linker_flags(name: &str, script: &Path) -> Vec<OsString> {
    let mut flags: Vec<OsString> = [
        "--gc-sections",
        "-Bsymbolic",
        "--build-id=none",
        "--hash-style=gnu",
        "--no-undefined",
        "--strip-debug",
        "-znoexecstack",
        "-znow",
        "-zrelro",
        "-ztext",
    ]
    .map(OsString::from)
    .to_vec();
    flags.push(prefixed("--version-script=", script.as_os_str()));
    flags.push(format!("--defsym={name}_api=aitmlir_get_api").into());
    flags
}

/// What the library exports: the ABI, and its table under the model's name.
fn version_script(name: &str) -> String {
    aitmlir_runtime::VERSION_SCRIPT.replacen("global:\n", &format!("global:\n    {name}_api;\n"), 1)
}

/// The first linker that is on `path`.
fn find_linker(path: Option<&OsStr>) -> Result<Linker> {
    let dirs: Vec<PathBuf> = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    for (name, is_driver) in LINKERS {
        if let Some(found) = dirs.iter().map(|dir| dir.join(name)).find(|file| is_executable(file)) {
            return Ok(Linker { program: found, is_driver: *is_driver });
        }
    }
    let looked: Vec<&str> = LINKERS.iter().map(|(name, _)| *name).collect();
    Err(Error::NoLinker { looked: looked.join(", ") })
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The libraries' paths, for a linker that searches nowhere by itself.
fn libraries(linker: &Path) -> Result<Vec<PathBuf>> {
    let find = |library: &&str| {
        let found = LIBRARY_DIRS.iter().map(|dir| Path::new(dir).join(library)).find(|path| path.exists());
        found.ok_or_else(|| Error::NoLibrary {
            linker: linker.display().to_string(),
            library: (*library).to_string(),
            looked: LIBRARY_DIRS.join(", "),
        })
    };
    LIBRARIES.iter().map(find).collect()
}

fn prefixed(prefix: &str, rest: impl AsRef<OsStr>) -> OsString {
    let mut whole = OsString::from(prefix);
    whole.push(rest);
    whole
}

fn run(program: &Path, command: &mut Command) -> Result<()> {
    let fail = |message: String| Error::Linker { linker: program.display().to_string(), message };
    let output = command.output().map_err(|cause| fail(cause.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    Err(fail(if lines.is_empty() { output.status.to_string() } else { lines.join("; ") }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_linker_names_what_was_looked_for() {
        let empty = tempfile::tempdir().expect("folder");
        let error = find_linker(Some(empty.path().as_os_str())).expect_err("no linker there").to_string();
        assert!(error.contains("cc, gcc, clang, ld.lld, ld"), "{error}");
        assert!(find_linker(None).is_err());
    }

    #[test]
    fn the_script_exports_the_model_by_name() {
        let script = version_script("magika");
        assert!(script.contains("  global:\n    magika_api;\n    aitmlir_abi_version;"), "{script}");
        assert!(script.contains("local:\n    *;"), "{script}");
    }
}
