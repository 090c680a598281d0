//! From PTX to a cubin through ptxas, with what it says of each kernel: registers, spills, serialised matrix products.

use super::Chip;
use serde::{Deserialize, Serialize};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// Why there is no cubin.
#[derive(Debug, thiserror::Error)]
pub enum PtxasError {
    /// ptxas is nowhere.
    #[error(
        "ptxas was not found on PATH nor under CUDA_HOME, CUDA_PATH or CUDA_ROOT: install the CUDA toolkit (or the PyPI \
         package nvidia-cuda-nvcc), name ptxas explicitly, or keep PTX, which the driver compiles when the model is loaded"
    )]
    Missing,
    /// It could not be started, or its files not be written.
    #[error("{path}: {error}")]
    Io {
        /// What was tried.
        path: PathBuf,
        /// Why it failed.
        error: io::Error,
    },
    /// It refused the PTX.
    #[error("ptxas refused the generated PTX; this is a bug, please report it:\n{0}")]
    Refused(String),
}

/// A note of ptxas about performance, such as C7510.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// "C7510"
    pub code: String,
    /// What it says.
    pub text: String,
}

/// What ptxas says of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelReport {
    /// The kernel's symbol.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of stack.
    pub stack_bytes: u32,
    /// Bytes of registers stored to local memory.
    pub spill_stores: u32,
    /// Bytes of registers loaded from local memory.
    pub spill_loads: u32,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Notes about performance.
    pub advice: Vec<Advice>,
}

impl KernelReport {
    /// Do registers spill?
    pub fn spills(&self) -> bool {
        self.spill_stores > 0 || self.spill_loads > 0
    }

    /// Are `wgmma` instructions serialised, or was `setmaxnreg` ignored? Both cost a good part of the speed.
    pub fn serialised(&self) -> bool {
        self.advice.iter().any(|a| a.text.contains("serialized") || a.text.contains("setmaxnreg"))
    }
}

/// A cubin and what ptxas said.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The ELF file that the driver loads.
    pub cubin: Vec<u8>,
    /// One report a kernel, in ptxas's order.
    pub kernels: Vec<KernelReport>,
}

/// The ptxas to use.
#[derive(Clone, Debug)]
pub struct Ptxas {
    path: PathBuf,
}

impl Ptxas {
    /// The one at `path`, or the first of PATH and of `bin` under CUDA_HOME, CUDA_PATH and CUDA_ROOT.
    pub fn find(path: Option<&Path>) -> Result<Self, PtxasError> {
        if let Some(path) = path {
            let missing = |error| PtxasError::Io { path: path.to_owned(), error };
            fs::metadata(path).map_err(missing)?;
            return Ok(Self { path: path.to_owned() });
        }
        let toolkits = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"].iter().filter_map(env::var_os);
        let folders = env::split_paths(&env::var_os("PATH").unwrap_or_default())
            .chain(toolkits.map(|root| Path::new(&root).join("bin")))
            .collect::<Vec<_>>();
        let found = folders.iter().map(|folder| folder.join("ptxas")).find(|path| path.is_file());
        found.map(|path| Self { path }).ok_or(PtxasError::Missing)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version line, for cache keys and reports.
    pub fn version(&self) -> Result<String, PtxasError> {
        let failed = |error| PtxasError::Io { path: self.path.clone(), error };
        let output = Command::new(&self.path).arg("--version").output().map_err(failed)?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().find(|line| line.contains("release")).unwrap_or("unknown release").trim().to_owned())
    }

    /// Assembles PTX text for `chip`.
    pub fn assemble(&self, ptx: &str, chip: &Chip) -> Result<Assembled, PtxasError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| PtxasError::Io { path, error }
        };
        let folder = tempfile::tempdir().map_err(failed(&env::temp_dir()))?;
        let (source, cubin) = (folder.path().join("kernels.ptx"), folder.path().join("kernels.cubin"));
        fs::write(&source, ptx).map_err(failed(&source))?;
        let output = Command::new(&self.path)
            .args(["-O3", "-v", "-arch", chip.name, "-o"])
            .args([&cubin, &source])
            .output()
            .map_err(failed(&self.path))?;
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            return Err(PtxasError::Refused(said));
        }
        Ok(Assembled { cubin: fs::read(&cubin).map_err(failed(&cubin))?, kernels: parse(&said) })
    }
}

/// Reads the output of `ptxas -v`.
fn parse(said: &str) -> Vec<KernelReport> {
    let mut kernels: Vec<KernelReport> = Vec::new();
    let mut general = Vec::new();
    for line in said.lines() {
        if let Some(name) = quoted_after(line, "Compiling entry function") {
            kernels.push(KernelReport { name, ..KernelReport::default() });
        } else if let Some((code, text)) = advice(line) {
            general.push((quoted_after(line, "function"), Advice { code, text }));
        } else if let Some(kernel) = kernels.last_mut() {
            numbers(line, kernel);
        }
    }
    for (name, advice) in general {
        for kernel in &mut kernels {
            if name.as_ref().is_none_or(|name| *name == kernel.name) {
                kernel.advice.push(advice.clone());
            }
        }
    }
    kernels
}

/// The text in quotes that follows `words`.
fn quoted_after(line: &str, words: &str) -> Option<String> {
    let rest = &line[line.find(words)? + words.len()..];
    rest.split('\'').nth(1).map(str::to_owned)
}

/// A note with a code in brackets: "(C7510) Potential Performance Loss: ...".
fn advice(line: &str) -> Option<(String, String)> {
    let (_, rest) = line.split_once("(C")?;
    let (digits, text) = rest.split_once(')')?;
    let is_code = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_code.then(|| (format!("C{digits}"), text.trim().to_owned()))
}

/// Takes "168 registers", "0 bytes spill stores" and their like from a line.
fn numbers(line: &str, kernel: &mut KernelReport) {
    for part in line.split(',') {
        let words: Vec<&str> = part.split_whitespace().collect();
        let Some(at) = words.iter().position(|w| w.parse::<u32>().is_ok()) else { continue };
        let Ok(value) = words[at].parse() else { continue };
        let unit = words[at + 1..].join(" ");
        let field = match unit.as_str() {
            "registers" => &mut kernel.registers,
            "bytes stack frame" => &mut kernel.stack_bytes,
            "bytes spill stores" => &mut kernel.spill_stores,
            "bytes spill loads" => &mut kernel.spill_loads,
            "bytes smem" => &mut kernel.shared_bytes,
            _ => continue,
        };
        *field = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_ptxas_says() {
        let said = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to \
            non wgmma instructions defining accumulator registers in the function 'b'\n\
            ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'a' for 'sm_90a'\n\
            ptxas info    : Function properties for a\n    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n\
            ptxas info    : Used 168 registers, used 1 barriers, 8 bytes cumulative stack size, 1024 bytes smem\n\
            ptxas info    : Compiling entry function 'b' for 'sm_90a'\n\
            ptxas info    : Function properties for b\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 32 registers\n";
        let kernels = parse(said);
        assert_eq!(kernels.len(), 2);
        let a = &kernels[0];
        assert_eq!((a.registers, a.stack_bytes, a.spill_stores, a.spill_loads, a.shared_bytes), (168, 8, 16, 24, 1024));
        assert!(a.spills() && !a.serialised());
        assert!(!kernels[1].spills() && kernels[1].serialised());
        assert_eq!(kernels[1].advice[0].code, "C7510");
    }

    #[test]
    fn a_wrong_path_is_an_error() {
        let error = Ptxas::find(Some(Path::new("/nowhere/ptxas"))).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/ptxas: "), "{error}");
    }
}
