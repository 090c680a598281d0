//! Oddities of a model that are put right, and said once.

use std::fmt;

use crate::error::quote;

/// Something odd that does not stop the import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// Nodes stood before nodes whose results they use; they were sorted.
    Unsorted {
        /// Name of the graph.
        graph: String,
        /// How many nodes stood too early.
        early: usize,
    },
    /// A dim name that is no identifier or belongs to another dim already: it got a new one.
    RenamedDim {
        /// As the model says it.
        original: String,
        /// As messages, `--dim` and the library say it.
        symbol: String,
    },
    /// A checksum of external data is there and not compared.
    UncheckedChecksum {
        /// Name of the tensor.
        tensor: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Unsorted { graph, early } => {
                write!(f, "graph {}: {early} nodes stand before what they use; nodes sorted", quote(graph))
            }
            Warning::RenamedDim { original, symbol } => {
                write!(f, "dim {} is called {symbol}", quote(original))
            }
            Warning::UncheckedChecksum { tensor } => {
                write!(f, "external data of tensor {}: its checksum is not compared", quote(tensor))
            }
        }
    }
}
