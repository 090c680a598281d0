//! What can go wrong, as typed errors, and the number each has in the C ABI.

use crate::dtype::DType;

/// Result of the runtime.
pub type Result<T> = std::result::Result<T, Error>;

/// Status numbers of the C ABI. They never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// A call with a null pointer, an unknown name, an index out of range.
    InvalidArgument = 1,
    /// An input, output or constant of the wrong type, rank or shape.
    InvalidTensor = 2,
    /// A caller's buffer is too small.
    BufferTooSmall = 3,
    /// The weights file is missing or not the right one.
    Weights = 4,
    /// A check of the model failed on this data, such as an index out of range.
    CheckFailed = 5,
    /// Memory could not be had.
    OutOfMemory = 6,
    /// This machine cannot run the model.
    Unsupported = 7,
    /// A fault of aitmlir.
    Internal = 8,
    /// The device or its driver failed.
    Device = 9,
}

/// What can go wrong. Each text is one line that names the cause.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A null pointer where one is needed.
    #[error("{0} is NULL")]
    Null(&'static str),
    /// An argument that makes no sense.
    #[error("{0}")]
    Argument(String),
    /// An index beyond the count.
    #[error("there is no {what} {index}: the model has {count}")]
    Index {
        /// Kind of thing.
        what: &'static str,
        /// Index asked for.
        index: i64,
        /// How many there are.
        count: usize,
    },
    /// A name that the model does not have.
    #[error("the model has no {what} named '{name}'")]
    UnknownName {
        /// Kind of thing.
        what: &'static str,
        /// Name asked for.
        name: String,
    },
    /// A wrong number of tensors.
    #[error("the model has {expected} {what}s, {found} were given")]
    Count {
        /// Kind of thing.
        what: &'static str,
        /// How many there are.
        expected: usize,
        /// How many were given.
        found: i64,
    },
    /// A tensor of the wrong element type.
    #[error("{what} '{name}' has type {expected}, found {found}")]
    DType {
        /// Kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
        /// Its type.
        expected: DType,
        /// What was given.
        found: String,
    },
    /// A tensor of the wrong rank.
    #[error("{what} '{name}' has rank {expected}, found {found}")]
    Rank {
        /// Kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
        /// Its rank.
        expected: usize,
        /// What was given.
        found: i64,
    },
    /// A dim out of its bounds.
    #[error("{what} '{name}': dim {dim} must be {bound}, found {found}")]
    Dim {
        /// Kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
        /// Which dim, with its name.
        dim: String,
        /// What it must be.
        bound: String,
        /// What was given.
        found: i64,
    },
    /// Two dims of one name with two values.
    #[error("dim '{dim}' is {first} in dim {first_at} and {second} in dim {second_at}")]
    DimConflict {
        /// Name of the dim.
        dim: String,
        /// First value.
        first: i64,
        /// Where it was found.
        first_at: String,
        /// Second value.
        second: i64,
        /// Where it was found.
        second_at: String,
    },
    /// A buffer that cannot hold its tensor.
    #[error("{what} '{name}' of shape {shape} needs {needed} bytes, the buffer has {given}")]
    Buffer {
        /// Kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
        /// Its shape.
        shape: String,
        /// Bytes needed.
        needed: usize,
        /// Bytes there.
        given: u64,
    },
    /// A buffer at an address that its type does not allow.
    #[error("{what} '{name}' is not aligned to its element size of {align} bytes")]
    Misaligned {
        /// Kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
        /// Alignment.
        align: usize,
    },
    /// A derived constant was asked to be set.
    #[error("constant '{0}' is computed from other constants and cannot be set")]
    DerivedConstant(String),
    /// No weights file.
    #[error("weights file '{file}' not found; looked at {looked}")]
    WeightsMissing {
        /// File name.
        file: String,
        /// Where it was looked for.
        looked: String,
    },
    /// A weights file that can't be read, or is another one.
    #[error("weights file {path}: {cause}")]
    WeightsBad {
        /// Where it is.
        path: String,
        /// What is wrong.
        cause: String,
    },
    /// A run-time check of the model failed.
    #[error("{site} {detail}")]
    Check {
        /// The place in the model.
        site: String,
        /// What was found.
        detail: String,
    },
    /// Memory could not be had.
    #[error("out of memory: {bytes} bytes for {what}")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: i64,
        /// What for.
        what: &'static str,
    },
    /// This machine cannot run the model.
    #[error("{0}")]
    Unsupported(String),
    /// The device or its driver failed.
    #[error("{0}")]
    Device(String),
    /// A fault of aitmlir.
    #[error("internal error (please report): {0}")]
    Internal(String),
}

impl Error {
    /// The number of this error in the C ABI.
    pub fn status(&self) -> Status {
        match self {
            Error::Null(_) | Error::Argument(_) | Error::Index { .. } | Error::UnknownName { .. } => {
                Status::InvalidArgument
            }
            Error::Count { .. } | Error::DerivedConstant(_) => Status::InvalidArgument,
            Error::DType { .. } | Error::Rank { .. } | Error::Dim { .. } | Error::DimConflict { .. } => {
                Status::InvalidTensor
            }
            Error::Misaligned { .. } => Status::InvalidTensor,
            Error::Buffer { .. } => Status::BufferTooSmall,
            Error::WeightsMissing { .. } | Error::WeightsBad { .. } => Status::Weights,
            Error::Check { .. } => Status::CheckFailed,
            Error::OutOfMemory { .. } => Status::OutOfMemory,
            Error::Unsupported(_) => Status::Unsupported,
            Error::Device(_) => Status::Device,
            Error::Internal(_) => Status::Internal,
        }
    }

    /// Leaves the running program with this error: it unwinds to the entry of the run, which catches it.
    pub(crate) fn unwind(self) -> ! {
        std::panic::resume_unwind(Box::new(self))
    }
}

/// Runs `body`, turning an unwinding [`Error`] and any panic into an error.
pub(crate) fn catch<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(payload) => Err(from_panic(payload)),
    }
}

/// The error that a payload of a panic stands for.
pub(crate) fn from_panic(payload: Box<dyn std::any::Any + Send>) -> Error {
    let payload = match payload.downcast::<Error>() {
        Ok(error) => return *error,
        Err(other) => other,
    };
    let text = payload
        .downcast_ref::<&str>()
        .map(|s| (*s).to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown panic".to_string());
    Error::Internal(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwinding_errors_come_back_as_they_were() {
        let caught = catch::<()>(|| Error::DerivedConstant("k".into()).unwind());
        assert!(matches!(caught, Err(Error::DerivedConstant(name)) if name == "k"));
    }

    #[test]
    fn a_panic_is_an_internal_error() {
        let caught = catch::<()>(|| std::panic::resume_unwind(Box::new("boom")));
        let error = caught.expect_err("caught");
        assert_eq!(error.status(), Status::Internal);
        assert!(error.to_string().contains("boom"));
    }
}
