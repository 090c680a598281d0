//! ONNX files as plain Rust data.
//!
//! [`load`] reads a file (memory-mapped, with its external data), checks it and brings it to one normal form, described at
//! [`model`]; what it gives holds nothing that is peculiar to a file format version, an exporter or an author. The importers
//! of single operators start from there. Nothing here knows MLIR.

pub mod error;
pub mod model;
pub mod normalize;
pub mod operators;
pub mod overrides;
pub mod proto;
pub mod read;
pub mod unsupported;
pub mod warning;

pub use error::{Error, Result};
pub use model::Model;
pub use overrides::Overrides;
pub use unsupported::Unsupported;
pub use warning::Warning;

use std::path::Path;

/// What [`load`] is asked for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Keep initializers that are inputs as well as inputs, without a default. Else they are constants.
    pub initializers_as_inputs: bool,
    /// Facts about dims and shapes of inputs.
    pub overrides: Overrides,
}

/// Reads the model in a file and normalises it.
pub fn load(path: &Path, options: &Options) -> Result<Model> {
    let mut model = read::read_file(path)?;
    normalize::normalize(&mut model, options)?;
    Ok(model)
}
