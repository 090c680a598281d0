//! Reading the model.

use super::Options;
use anyhow::{Context as _, Result, bail};
use aitmlir_runtime::info::DType;
use bytes::Bytes;
use melior::{Context, ir::Module};
use std::fs;

/// A constant of the model that is read from the weight store.
#[derive(Clone, Debug)]
pub struct Weight {
    /// Its name, unique in the model.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Shape.
    pub dims: Vec<i64>,
    /// Row-major, little-endian elements.
    pub data: Bytes,
}

/// A model as the compiler starts with it.
pub struct Source<'c> {
    /// `func.func @main` of `ait` on tensors.
    pub module: Module<'c>,
    /// What `#ait.weights` names.
    pub weights: Vec<Weight>,
    /// The model's name, for the header and the C symbols.
    pub name: String,
    /// Passed through into the library.
    pub metadata: std::collections::BTreeMap<String, String>,
}

/// Loads the model that the options name.
pub fn load<'c>(context: &'c Context, options: &Options) -> Result<Source<'c>> {
    let path = &options.input;
    match path.extension().and_then(|e| e.to_str()) {
        Some("mlir") => {
            let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
            if text.contains('\0') {
                bail!("{} is not text: it holds a NUL byte", path.display());
            }
            let module = Module::parse(context, &text).with_context(|| format!("parsing {}", path.display()))?;
            let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            Ok(Source { module, weights: Vec::new(), name, metadata: Default::default() })
        }
        _ => bail!("{}: expected a model in a file with the suffix .onnx or .mlir", path.display()),
    }
}
