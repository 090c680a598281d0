//! From an object file to a library: `model.so`, `model.h` and, where asked for, a weights file. [`kernel`] makes an object file of one
//! kernel instead.

pub mod error;
pub mod header;
pub mod kernel;
pub mod link;
pub mod object;
pub mod weights;

use std::path::{Path, PathBuf};

use aitmlir_runtime::info::{ModelInfo, Weights};

pub use error::{Error, Result};

/// Where the weights go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightsPlace {
    /// Into the library.
    Embed,
    /// Into a file beside the library.
    File,
}

/// The code of a model's kernels for a device.
#[derive(Clone, Debug, Default)]
pub struct DeviceCode {
    /// The cubin; empty where there is none.
    pub binary: Vec<u8>,
    /// PTX text; empty where there is none.
    pub ptx: String,
}

/// What becomes a library.
#[derive(Debug)]
pub struct Package<'a> {
    /// The compiled program: an ELF object, position-independent, that defines `aitmlir_program_main` and `_fold`.
    pub program: &'a [u8],
    /// The code of kernels for a device; empty of a model for the CPU.
    pub device: &'a DeviceCode,
    /// The model's description; [`package`] fills in the weights and the constants' offsets.
    pub info: ModelInfo,
    /// The data of each constant of `info`, empty for derived ones.
    pub constants: &'a [&'a [u8]],
    /// Where the weights go.
    pub weights: WeightsPlace,
    /// The library to write; the header and the weights file get its name with another suffix.
    pub output: &'a Path,
}

/// The files that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifacts {
    /// The library.
    pub library: PathBuf,
    /// Its C header.
    pub header: PathBuf,
    /// Its weights file.
    pub weights: Option<PathBuf>,
}

/// Writes the library and what goes with it: all of it, or nothing.
///
/// The C names come from `info.name`, not from the file names, so that the same model gives the same bytes anywhere.
pub fn package(package: Package<'_>) -> Result<Artifacts> {
    let Package { program, device, mut info, constants, weights: place, output } = package;
    let name = header::c_prefix(&info.name);
    let stage = Stage::new(output)?;
    let architecture = object::check_program(program)?;
    let bytes = weights::layout(&mut info.constants);
    let blob = weights::blob(&info.constants, constants, bytes)?;
    let weights_file = match place {
        WeightsPlace::Embed => {
            info.weights = Weights::Embedded { bytes: blob.len() as u64 };
            None
        }
        WeightsPlace::File => {
            let file_name = stage.file_name("safetensors");
            let path = stage.file("safetensors");
            info.weights = Weights::File(weights::write_file(&path, &file_name, &info.constants, &blob)?);
            Some("safetensors")
        }
    };
    let embedded = if weights_file.is_some() { &[] } else { blob.as_slice() };
    let data_object = stage.file("data.o");
    let data = object::Data { info: &info, weights: embedded, device };
    object::write_data_object(&data_object, architecture, &data)?;
    let program_object = stage.write("program.o", program)?;
    let runtime = stage.write("runtime.a", link::RUNTIME)?;
    stage.write("h", header::header(&info).as_bytes())?;
    let library = stage.file("so");
    link::link(&link::Link {
        objects: &[program_object, data_object, runtime],
        name: &name,
        output: &library,
        scratch: stage.dir.path(),
    })?;
    stage.publish(output, weights_file)
}

/// A folder beside the output in which its files are made, gone with all that is in it when dropped.
struct Stage {
    dir: tempfile::TempDir,
    /// Name of the output without folder and suffix.
    stem: String,
}

impl Stage {
    fn new(output: &Path) -> Result<Stage> {
        let bad = || Error::OutputName(output.to_path_buf());
        let stem = output.file_stem().and_then(|stem| stem.to_str()).ok_or_else(bad)?.to_string();
        // The library is moved into place: that must not take the place of a folder, a device or a pipe.
        if output.exists() && !output.is_file() {
            return Err(bad());
        }
        let parent = folder(output);
        let dir =
            tempfile::Builder::new().prefix(".aitmlir-").tempdir_in(parent).map_err(Error::file("write to", parent))?;
        Ok(Stage { dir, stem })
    }

    fn file_name(&self, suffix: &str) -> String {
        format!("{}.{suffix}", self.stem)
    }

    fn file(&self, suffix: &str) -> PathBuf {
        self.dir.path().join(self.file_name(suffix))
    }

    fn write(&self, suffix: &str, data: &[u8]) -> Result<PathBuf> {
        let path = self.file(suffix);
        std::fs::write(&path, data).map_err(Error::file("write", &path))?;
        Ok(path)
    }

    /// Moves the finished files to their places, the library last.
    fn publish(self, output: &Path, weights: Option<&str>) -> Result<Artifacts> {
        let dir = folder(output);
        let mut moved: Vec<PathBuf> = Vec::new();
        let beside = |suffix: &str| dir.join(self.file_name(suffix));
        let artifacts = Artifacts { library: output.to_path_buf(), header: beside("h"), weights: weights.map(beside) };
        let mut files: Vec<(PathBuf, &PathBuf)> = Vec::new();
        if let (Some(suffix), Some(to)) = (weights, &artifacts.weights) {
            files.push((self.file(suffix), to));
        }
        files.push((self.file("h"), &artifacts.header));
        files.push((self.file("so"), &artifacts.library));
        for (from, to) in files {
            if let Err(cause) = std::fs::rename(&from, to) {
                for path in &moved {
                    // The first failure is the one to tell.
                    let _ = std::fs::remove_file(path);
                }
                return Err(Error::file("write", to)(cause));
            }
            moved.push(to.clone());
        }
        Ok(artifacts)
    }
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}
