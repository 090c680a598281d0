//! The road of one model from its file to a library.
//!
//! [`phases`] is the pipeline, [`device`] what becomes of kernels for a GPU, [`description`] what the library says about itself, [`diagnostics`] how errors reach the user.

pub mod description;
pub mod device;
pub mod diagnostics;
pub mod phases;
pub mod source;

use crate::package::{self, Artifacts, WeightsPlace};
use aitmlir_lowering::target::Target;
use aitmlir_onnx::overrides::{DimOverride, ShapeOverride};
use anyhow::{Context as _, Result};
use phases::{Emit, Observer};
use std::path::{Path, PathBuf};

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The model: `.onnx`, or `.mlir` of the `ait` dialect.
    pub input: PathBuf,
    /// The file to write.
    pub output: PathBuf,
    /// Where to stop.
    pub emit: Emit,
    /// What to compile for: `cpu`, `cuda:sm_90a`.
    pub target: Target,
    /// For a GPU: embed PTX beside the cubin, for other GPUs and for the simulator.
    pub embed_ptx: bool,
    /// The ptxas to use; found in the usual places where none is given.
    pub ptxas: Option<PathBuf>,
    /// Where the weights go.
    pub weights: WeightsPlace,
    /// The name of the model, for the header and the C symbols; by default that of the input file.
    pub name: Option<String>,
    /// Dimensions pinned or bounded.
    pub dims: Vec<DimOverride>,
    /// Shapes of inputs.
    pub shapes: Vec<ShapeOverride>,
    /// A folder for the IR after each phase.
    pub dump_phases: Option<PathBuf>,
    /// Print the time of each phase.
    pub timings: bool,
    /// Print each phase as it starts.
    pub verbose: bool,
}

/// The files that came out.
#[derive(Debug)]
pub enum Output {
    /// A library and what goes with it.
    Library(Artifacts),
    /// The text or object asked for with `--emit`.
    File(PathBuf),
}

/// Compiles a model.
pub fn compile(options: &Options) -> Result<Output> {
    let context = aitmlir_dialects::new_context();
    let messages = diagnostics::Collector::attach(&context);
    let mut observer = Observer::new(options)?;
    let result = run(&context, options, &mut observer);
    observer.report();
    messages.finish(result)
}

fn run(context: &melior::Context, options: &Options, observer: &mut Observer<'_>) -> Result<Output> {
    let source = observer.phase("import", || source::load(context, options))?;
    let mut compilation = phases::Compilation::new(context, source, options);
    compilation.to(options.emit, observer)?;
    match options.emit {
        Emit::So => {
            let object = observer.phase("codegen", || compilation.object())?;
            let code = observer.phase("kernels", || compilation.device_code(options))?;
            let info = compilation.description(options)?;
            let constants = compilation.constant_data(&info)?;
            let artifacts = observer.phase("link", || {
                package::package(package::Package {
                    program: &object,
                    device: &code,
                    info,
                    constants: &constants,
                    weights: options.weights,
                    output: &options.output,
                })
            })?;
            Ok(Output::Library(artifacts))
        }
        Emit::Obj => {
            let object = observer.phase("codegen", || compilation.object())?;
            write(&options.output, &object)
        }
        _ => write(&options.output, compilation.text().as_bytes()),
    }
}

/// Writes a file whole or not at all; `-` is standard output.
fn write(path: &Path, bytes: &[u8]) -> Result<Output> {
    use std::io::Write as _;
    if path.as_os_str() == "-" {
        std::io::stdout().write_all(bytes).context("writing to standard output")?;
        return Ok(Output::File(path.to_path_buf()));
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let writing = || format!("writing {}", path.display());
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(writing)?;
    file.write_all(bytes).and_then(|()| file.flush()).with_context(writing)?;
    file.persist(path).map_err(|e| e.error).with_context(writing)?;
    Ok(Output::File(path.to_path_buf()))
}
