//! Reading the model.

use super::Options;
use crate::import::{self, ImportOptions, signature::runtime_dtype};
use aitmlir_onnx::overrides::Overrides;
use aitmlir_runtime::info::{DType, TensorInfo};
use anyhow::{Context as _, Result, bail};
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
    /// Inputs and outputs, where the importer knows more of them than the module says.
    pub interface: Option<(Vec<TensorInfo>, Vec<TensorInfo>)>,
    /// The model's name, for the header and the C symbols.
    pub name: String,
    /// Passed through into the library.
    pub metadata: std::collections::BTreeMap<String, String>,
}

fn load_onnx<'c>(context: &'c Context, options: &Options) -> Result<Source<'c>> {
    let overrides = Overrides { dims: options.dims.clone(), shapes: options.shapes.clone() };
    let reading = aitmlir_onnx::Options { overrides, ..Default::default() };
    let model = aitmlir_onnx::load(&options.input, &reading)?;
    for warning in &model.warnings {
        eprintln!("warning: {warning}");
    }
    let source = options.input.display().to_string();
    let imported = import::import_model(context, &model, &ImportOptions { source })?;
    let weights = imported
        .weights
        .into_iter()
        .map(|w| Ok(Weight { dtype: runtime_dtype(&w.name, w.dtype)?, name: w.name, dims: w.dims, data: w.data }))
        .collect::<Result<Vec<_>>>()?;
    let metadata = model.metadata.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    let interface = Some((imported.inputs, imported.outputs));
    Ok(Source { module: imported.module, weights, interface, name: String::new(), metadata })
}

/// Loads the model that the options name.
pub fn load<'c>(context: &'c Context, options: &Options) -> Result<Source<'c>> {
    let mut source = read(context, options)?;
    source.name = options
        .name
        .clone()
        .unwrap_or_else(|| options.input.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default());
    Ok(source)
}

fn read<'c>(context: &'c Context, options: &Options) -> Result<Source<'c>> {
    let path = &options.input;
    match path.extension().and_then(|e| e.to_str()) {
        Some("mlir") => {
            let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
            if text.contains('\0') {
                bail!("{} is not text: it holds a NUL byte", path.display());
            }
            let module = Module::parse(context, &text).with_context(|| format!("parsing {}", path.display()))?;
            Ok(Source {
                module,
                weights: Vec::new(),
                interface: None,
                name: String::new(),
                metadata: Default::default(),
            })
        }
        Some("onnx") => load_onnx(context, options),
        _ => bail!("{}: expected a model in a file with the suffix .onnx or .mlir", path.display()),
    }
}
