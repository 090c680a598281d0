//! Why a model cannot be imported.

use aitmlir_onnx::{
    Unsupported,
    model::{NodeError, TensorError},
};

/// Result of this module.
pub type Result<T, E = ImportError> = std::result::Result<T, E>;

/// Why a model cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The model says something that its operators do not allow.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A constant is malformed.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The model as a whole is unfit.
    #[error("{0}")]
    Model(String),
    /// The model is fine, but uses what this compiler does not do: all of it, one line an item.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// Why one node cannot be imported.
#[derive(Debug)]
pub enum OpError {
    /// This compiler does not do it: noted, and the import goes on to find all such nodes.
    Unsupported(String),
    /// The node is wrong, or the model cannot be imported any further.
    Fatal(ImportError),
    /// An input comes from a node that was reported already.
    Poisoned,
}

impl From<NodeError> for OpError {
    fn from(error: NodeError) -> Self {
        OpError::Fatal(error.into())
    }
}

impl From<TensorError> for OpError {
    fn from(error: TensorError) -> Self {
        OpError::Fatal(error.into())
    }
}

impl From<ImportError> for OpError {
    fn from(error: ImportError) -> Self {
        OpError::Fatal(error)
    }
}

/// Result of importing a node.
pub type OpResult<T> = std::result::Result<T, OpError>;

/// "not supported".
pub fn unsupported<T>(reason: impl Into<String>) -> OpResult<T> {
    Err(OpError::Unsupported(reason.into()))
}
