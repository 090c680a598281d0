//! What can go wrong between a file and a normalised model.

use std::path::PathBuf;

use crate::model::NodeError;
use crate::overrides::OverrideError;
use crate::unsupported::Unsupported;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a model cannot be used. All but [`Error::Unsupported`] print as one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or mapped.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file as given.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bytes are no protobuf of an ONNX model.
    #[error("not an ONNX model, or a damaged one: {0}")]
    Decode(String),
    /// The protobuf is readable and says something that no ONNX model may say.
    #[error("malformed model: {place}: {reason}")]
    Malformed {
        /// Graph, node or value at fault.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The external data of a tensor is missing, out of bounds or not allowed.
    #[error("external data of tensor {}: {reason}", quote(tensor))]
    ExternalData {
        /// Name of the tensor.
        tensor: String,
        /// What is wrong.
        reason: String,
    },
    /// A node is malformed.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A `--dim` or `--shape` that does not fit the model.
    #[error(transparent)]
    Override(#[from] OverrideError),
    /// The model is fine, but uses what this compiler does not do: all of it, one line an item.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

impl Error {
    /// A [`Error::Malformed`].
    pub fn malformed(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Error::Malformed { place: place.into(), reason: reason.into() }
    }
}

/// A name of the model for a message: in backquotes, on one line whatever it holds.
pub fn quote(name: &str) -> String {
    const MOST: usize = 200;
    let mut text = String::from("`");
    for c in name.chars().take(MOST) {
        if c.is_control() {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    if name.chars().nth(MOST).is_some() {
        text.push_str("...");
    }
    text.push('`');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_print_on_one_line() {
        assert_eq!(quote("a/b:0"), "`a/b:0`");
        assert_eq!(quote("a\nb"), "`a\\nb`");
        assert!(quote(&"x".repeat(1000)).len() < 210);
    }
}
