//! The road of one model from its file to a library.
//!
//! [`phases`] is the pipeline, [`isolate`] makes one kernel a model of its own, [`device`] what becomes of kernels for a GPU, [`cache`] cubins
//! of earlier compilations, [`description`] what the library says about itself, [`strides`] how the tensors of a kernel lie, [`diagnostics`] how errors reach the user.

pub mod cache;
pub mod description;
pub mod device;
pub mod diagnostics;
mod isolate;
pub mod phases;
pub mod source;
pub mod strides;

use crate::package::{self, Artifacts, WeightsPlace};
use aitmlir_lowering::{cpu::target::CpuTarget, target::Target};
use aitmlir_onnx::overrides::{DimOverride, ShapeOverride};
use anyhow::{Context as _, Result, bail};
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
    /// For [`Emit::Kernel`] of a model that has several: which one.
    pub kernel: Option<String>,
    /// What to compile for: `cpu`, `cuda:sm_90a`.
    pub target: Target,
    /// For a GPU: embed PTX beside the cubin, for other GPUs and for the simulator.
    pub embed_ptx: bool,
    /// The ptxas to use; found in the usual places where none is given.
    pub ptxas: Option<PathBuf>,
    /// The folder of cubins that were compiled before; none for no cache.
    pub cache: Option<PathBuf>,
    /// A table of measured configurations that is asked before the one that ships.
    pub tuning_table: Option<PathBuf>,
    /// May products of f32 round their operands to tf32?
    pub allow_tf32: bool,
    /// For a GPU: let no matrix products share a launch.
    pub no_groups: bool,
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

impl Options {
    /// A model, what to stop at and what to compile for; everything else as `aitmlir-compile` does it without options, but without a cache.
    pub fn new(input: PathBuf, output: PathBuf, emit: Emit, target: Target) -> Self {
        Self {
            input,
            output,
            emit,
            kernel: None,
            target,
            embed_ptx: false,
            ptxas: None,
            cache: None,
            tuning_table: None,
            allow_tf32: false,
            no_groups: false,
            weights: WeightsPlace::Embed,
            name: None,
            dims: Vec::new(),
            shapes: Vec::new(),
            dump_phases: None,
            timings: false,
            verbose: false,
        }
    }
}

/// The files that came out.
#[derive(Debug)]
pub enum Output {
    /// A library and what goes with it.
    Library(Artifacts),
    /// A kernel's object file and its header.
    Kernel(package::kernel::Artifacts),
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
    if options.emit == Emit::Kernel && options.target.chip().is_none() {
        bail!("--emit=kernel makes a kernel for a GPU: give --target, such as cuda:sm_90a");
    }
    if options.emit != Emit::Kernel && options.kernel.is_some() {
        bail!("--kernel names the kernel for --emit=kernel");
    }
    let source = observer.phase("import", || source::load(context, options))?;
    let mut compilation = phases::Compilation::new(context, source, options);
    compilation.to(options.emit, observer)?;
    match options.emit {
        Emit::So => {
            let object = observer.phase("codegen", || compilation.object())?;
            let code = compilation.device_code(options, observer)?;
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
        Emit::Kernel => {
            let code = compilation.device_code(options, observer)?;
            let info = compilation.description(options)?;
            let host = CpuTarget::baseline();
            let (program, output) = (compilation.program(), options.output.as_path());
            let kernel = package::kernel::Kernel {
                program,
                host: &host,
                info: &info,
                strides: compilation.strides(),
                device: &code,
                output,
            };
            Ok(Output::Kernel(observer.phase("export", || package::kernel::export(&kernel))?))
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
