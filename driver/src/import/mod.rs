//! The ONNX importer: a normalised model becomes `func.func @main` of `ait` operations.
//!
//! * [`scalar`]: scalars that are known or live in SSA values, and what is remembered of those
//! * [`calc`]: arithmetic over them, on the host and in regions of scalar code
//! * [`value`]: what a name stands for: a tensor with tracked shape and, where small and known, elements
//! * [`context`]: the state of an import
//! * [`build`]: `ait` operations with shapes tracked
//! * [`node`]: what an operator's function sees of its node
//! * [`graph`]: graphs, nested ones too, node by node
//! * [`ops`]: the operators, one file a family, as rows of a table
//!
//! Every dim of every value is a scalar the importer knows, so `tensor.dim` is asked only of the function's arguments.
//! Integer tensors of up to a thousand elements are lists of scalars while these are known, and shape arithmetic on them is gone
//! when the import is done.

mod attribute;
pub mod build;
pub mod calc;
pub mod context;
pub mod error;
pub mod graph;
pub mod node;
pub mod ops;
pub mod scalar;
pub(crate) mod signature;
pub mod value;

pub use context::Weight;
pub use error::ImportError;
pub use signature::import_model;

use aitmlir_runtime::info::TensorInfo;
use melior::ir::Module;

/// What the importer is asked for.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The name of the source, for locations.
    pub source: String,
}

/// An imported model.
pub struct Imported<'c> {
    /// A module with `func.func @main`.
    pub module: Module<'c>,
    /// Inputs of the graph, in order: the arguments of `@main`.
    pub inputs: Vec<TensorInfo>,
    /// Outputs of the graph, in order: the results of `@main`.
    pub outputs: Vec<TensorInfo>,
    /// The data of every `#ait.weights` in the module.
    pub weights: Vec<Weight>,
}
