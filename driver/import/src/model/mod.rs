//! A model as plain data: what the importers of single operators read.
//!
//! After [`normalize`](crate::normalize::normalize) a model keeps these promises, and readers may rely on them:
//! - nodes stand after all that they use, also inside nested graphs, whose nodes may use names of the graphs around them;
//! - in one graph each name is defined once, and every name that is used is defined;
//! - constants are initializers: there are no `Constant` nodes;
//! - there are no calls of model-local functions, no attribute references, no initializers that are inputs as well
//!   (unless asked for), no dead nodes;
//! - nodes of the default domain are of operator set 7 or later where that was possible without changing what they mean;
//!   [`Node::version`] gives the version to follow, or says why there is none;
//! - every input of the main graph is a tensor, sequence, ... of known type; a dim of an input tensor is a number or a
//!   symbol of [`Model::dims`], never unknown;
//! - shapes of other values are hints: they may be absent, and they may be wrong.

mod attribute;
mod dtype;
mod graph;
mod node;
mod tensor;
mod types;

pub use attribute::Attribute;
pub use dtype::DType;
pub use graph::Graph;
pub use node::{Node, NodeError};
pub use tensor::{Data, Tensor, TensorError, element_count};
pub use types::{Dim, DimFact, TensorType, Type, ValueInfo};

use std::collections::BTreeMap;

use crate::warning::Warning;

/// A whole model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    /// Version of the file format.
    pub ir_version: i64,
    /// What wrote the file, e.g. `pytorch`.
    pub producer: String,
    /// Version of what wrote the file.
    pub producer_version: String,
    /// The model's own version.
    pub version: i64,
    /// Operator sets in use, by domain (`""` is the default one). [`Node::opset`] is what counts for a node.
    pub opsets: BTreeMap<String, i64>,
    /// Properties that the author gave it.
    pub metadata: BTreeMap<String, String>,
    /// Model-local functions; empty after normalisation.
    pub functions: Vec<Function>,
    /// The main graph.
    pub graph: Graph,
    /// The symbolic dims of the main graph's inputs, in order of appearance; filled by normalisation.
    pub dims: Vec<DimFact>,
    /// Oddities met so far.
    pub warnings: Vec<Warning>,
}

impl Model {
    /// The fact of a dim, by its symbol or by the name that the model gave it.
    pub fn dim(&self, name: &str) -> Option<&DimFact> {
        let by_symbol = self.dims.iter().find(|d| d.symbol == name);
        by_symbol.or_else(|| self.dims.iter().find(|d| d.original == name))
    }
}

/// A model-local function: a graph fragment that nodes call by (domain, name, overload).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Function {
    /// Domain in which it is an operator.
    pub domain: String,
    /// Name of the operator.
    pub name: String,
    /// Tells functions of the same name apart.
    pub overload: String,
    /// Formal inputs.
    pub inputs: Vec<String>,
    /// Formal outputs.
    pub outputs: Vec<String>,
    /// Formal attributes, with their default if they have one.
    pub attributes: BTreeMap<String, Option<Attribute>>,
    /// The body.
    pub nodes: Vec<Node>,
}
