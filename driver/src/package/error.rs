//! What can go wrong in packaging.

use std::path::{Path, PathBuf};

/// Result of packaging.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong in packaging. Each text is one line that names the cause.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be written, read or moved.
    #[error("cannot {action} {}: {cause}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// No linker.
    #[error("no linker found: looked for {looked} on PATH; install one of them (Debian: apt-get install gcc or lld)")]
    NoLinker {
        /// Names that were looked for.
        looked: String,
    },
    /// The C library that a model is linked with is missing.
    #[error("{linker} needs {library}, found in none of {looked}")]
    NoLibrary {
        /// The linker.
        linker: String,
        /// The library.
        library: String,
        /// Folders that were searched.
        looked: String,
    },
    /// The linker failed.
    #[error("{linker} failed: {message}")]
    Linker {
        /// The linker.
        linker: String,
        /// What it said.
        message: String,
    },
    /// The output path is not one.
    #[error("cannot write {}: not the name of a regular file", .0.display())]
    OutputName(PathBuf),
    /// A kernel that is to be an object file of its own cannot be one.
    #[error("the kernel cannot stand alone: {0}")]
    Standalone(String),
    /// The compiler handed in something that does not fit together.
    #[error("internal error (please report): {0}")]
    Internal(String),
}

impl Error {
    /// Names the file that an I/O error is about.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_path_buf();
        move |cause| Error::File { action, path, cause }
    }
}
