//! What can go wrong when a model is loaded and run.

use std::path::{Path, PathBuf};

/// Result of running models.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong when a model is loaded and run. Each text is one line that names the cause.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that can't be read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// A file that is not what it should be.
    #[error("{}: {cause}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// The model said no.
    #[error("{0}")]
    Model(String),
    /// An argument that does not fit the model.
    #[error("{0}")]
    Argument(String),
}

impl Error {
    /// Names the file that an I/O error is about.
    pub fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_path_buf();
        move |cause| Error::File { path, cause }
    }

    /// Says what is wrong with a file.
    pub fn format(path: &Path, cause: impl ToString) -> Error {
        Error::Format { path: path.to_path_buf(), cause: cause.to_string() }
    }
}
