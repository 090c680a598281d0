//! The weights blob: in the library, or a file that is memory-mapped.

use std::ffi::{CStr, OsStr, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::error::{Error, Result};
use crate::info::{Weights, WeightsFile};
use crate::program::Program;

/// Names a folder that is searched for weights files before the folder of the library.
pub const WEIGHTS_DIR_VARIABLE: &str = "AITMLIR_WEIGHTS_DIR";

/// The bytes of a model's own constants.
pub(crate) enum Blob {
    /// In the library.
    Embedded(&'static [u8]),
    /// In a file, from this offset on.
    Mapped(Mmap, usize),
}

impl Blob {
    /// Finds, checks and opens the weights. `path` is where the user says that the file is.
    pub(crate) fn open(program: &'static Program, weights: &Weights, path: Option<&Path>) -> Result<Blob> {
        match weights {
            Weights::Embedded { bytes } => {
                let blob = program.embedded_weights();
                if blob.len() as u64 != *bytes {
                    return Err(Error::Internal(format!("{bytes} bytes of weights expected, {} found", blob.len())));
                }
                Ok(Blob::Embedded(blob))
            }
            Weights::File(file) => {
                let path = find(program, file, path)?;
                map(&path, file).map_err(|cause| Error::WeightsBad { path: path.display().to_string(), cause })
            }
        }
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Blob::Embedded(bytes) => bytes,
            Blob::Mapped(map, offset) => map.get(*offset..).unwrap_or(&[]),
        }
    }
}

fn find(program: &'static Program, file: &WeightsFile, path: Option<&Path>) -> Result<PathBuf> {
    if file.name.contains('/') || file.name.is_empty() {
        return Err(Error::Internal(format!("'{}' is not a plain file name", file.name)));
    }
    let candidates: Vec<PathBuf> = match path {
        Some(path) => vec![path.to_path_buf()],
        None => {
            let variable = std::env::var_os(WEIGHTS_DIR_VARIABLE).map(PathBuf::from);
            variable.into_iter().chain(library_dir(program)).map(|dir| dir.join(&file.name)).collect()
        }
    };
    if let Some(found) = candidates.iter().find(|path| path.exists()) {
        return Ok(found.clone());
    }
    let mut looked: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
    if path.is_none() {
        looked.push(format!("${WEIGHTS_DIR_VARIABLE} names another folder"));
    }
    Err(Error::WeightsMissing { file: file.name.clone(), looked: looked.join(", ") })
}

/// The folder of the library that holds `program`.
fn library_dir(program: &'static Program) -> Option<PathBuf> {
    // SAFETY: an all-zero Dl_info is valid: it holds pointers and addresses only.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    let address = std::ptr::from_ref(program).cast::<c_void>();
    // SAFETY: dladdr only compares the address and writes to `found`.
    let status = unsafe { libc::dladdr(address, &mut found) };
    if status == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's name of the library, which is loaded since it holds this code.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    // A library opened by a bare name has no folder in it: then it is the current one.
    let dir = path.parent()?;
    Some(if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir.to_path_buf() })
}

fn map(path: &Path, expected: &WeightsFile) -> std::result::Result<Blob, String> {
    let file = File::open(path).map_err(|cause| cause.to_string())?;
    let length = file.metadata().map_err(|cause| cause.to_string())?.len();
    if length != expected.length {
        return Err(format!("expected {} bytes, found {length}", expected.length));
    }
    // SAFETY: the mapping is private and read-only. Who truncates a weights file in use breaks it, as for any library.
    let map = unsafe { Mmap::map(&file) }.map_err(|cause| cause.to_string())?;
    let hash = blake3::hash(&map).to_hex();
    if hash.as_str() != expected.blake3 {
        return Err(format!("it is not the file this model was compiled with (blake3 {hash})"));
    }
    let offset = usize::try_from(expected.data_offset).map_err(|cause| cause.to_string())?;
    Ok(Blob::Mapped(map, offset))
}
