//! `aitmlir-compile`: a model in, a library out.

use aitmlir_driver::{
    compile::{self, Options, cache, phases::Emit},
    package::WeightsPlace,
};
use aitmlir_lowering::target::Target;
use aitmlir_onnx::overrides::{DimOverride, ShapeOverride};
use clap::{Parser, ValueEnum};
use std::{path::PathBuf, process::ExitCode};

/// Where the weights go.
#[derive(Clone, Copy, ValueEnum)]
enum Weights {
    /// Into the library.
    Embed,
    /// Into a safetensors file beside the library.
    File,
}

/// Compiles a model to a self-contained library and its C header.
#[derive(Parser)]
#[command(version, about, long_about = None)]
struct Cli {
    /// The model: .onnx, or .mlir of the ait dialect
    model: PathBuf,
    /// The file to write; of a kernel the files without their suffixes .o and .h
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// What to compile for: cpu, cuda:sm_80, cuda:sm_90a
    #[arg(long, default_value = "cpu")]
    target: String,
    /// For a GPU: embed PTX beside the cubin, for newer GPUs and for the simulator
    #[arg(long)]
    embed_ptx: bool,
    /// For a GPU: the ptxas to use [default: the first on PATH and under CUDA_HOME, CUDA_PATH, CUDA_ROOT]
    #[arg(long, value_name = "FILE")]
    ptxas: Option<PathBuf>,
    /// For a GPU: the folder of cubins that were compiled before [default: $AITMLIR_CACHE_DIR, or aitmlir in the user's cache folder]
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    cache_dir: Option<PathBuf>,
    /// For a GPU: compile all kernels anew, and keep none
    #[arg(long)]
    no_cache: bool,
    /// For a GPU: a table of measured configurations of aitmlir-tune, asked before the one that ships
    #[arg(long, value_name = "FILE")]
    tuning_table: Option<PathBuf>,
    /// For a GPU: let products of f32 round their operands to tf32 (11 bits of significand), which is several times as fast
    #[arg(long)]
    allow_tf32: bool,
    /// For a GPU: let no matrix products share a launch, as small independent ones do
    #[arg(long)]
    no_groups: bool,
    /// The model's name in the header and its C symbols [default: that of the model's file]
    #[arg(long)]
    name: Option<String>,
    /// Pin or bound a dynamic dimension: NAME=4, NAME=1..64, NAME=8..512:8 (a multiple of 8)
    #[arg(long = "dim", value_name = "NAME=RANGE")]
    dims: Vec<DimOverride>,
    /// Pin the shape of an input: NAME=1x3x224x224 (? stays dynamic)
    #[arg(long = "shape", value_name = "NAME=SHAPE")]
    shapes: Vec<ShapeOverride>,
    /// Stop after a phase and write what it made
    #[arg(long, value_enum, default_value = "so")]
    emit: Emit,
    /// For --emit=kernel: which one, where the model has several
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Where the weights go
    #[arg(long, value_enum, default_value = "embed")]
    weights: Weights,
    /// Write the IR after each phase into a folder
    #[arg(long, value_name = "DIR")]
    dump_phases: Option<PathBuf>,
    /// Print the time of each phase
    #[arg(long)]
    timings: bool,
    /// Print each phase as it starts
    #[arg(short, long)]
    verbose: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let target = match Target::parse(&cli.target) {
        Ok(target) => target,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let default = match cli.emit {
        Emit::So => cli.model.with_extension("so"),
        Emit::Obj => cli.model.with_extension("o"),
        Emit::Kernel => cli.model.with_extension(""),
        _ => PathBuf::from("-"),
    };
    let mut output = cli.output.unwrap_or(default);
    let mut name = cli.name;
    if cli.emit == Emit::Kernel {
        if output.extension().is_some_and(|suffix| suffix == "o" || suffix == "h") {
            output.set_extension("");
        }
        // `-o DIR/linear` makes linear.h, which declares linear_launch.
        name = name.or_else(|| output.file_name().map(|name| name.to_string_lossy().into_owned()));
    }
    let options = Options {
        output,
        input: cli.model,
        emit: cli.emit,
        kernel: cli.kernel,
        target,
        embed_ptx: cli.embed_ptx,
        ptxas: cli.ptxas,
        cache: if cli.no_cache { None } else { cli.cache_dir.or_else(cache::default_folder) },
        tuning_table: cli.tuning_table,
        allow_tf32: cli.allow_tf32,
        no_groups: cli.no_groups,
        weights: match cli.weights {
            Weights::Embed => WeightsPlace::Embed,
            Weights::File => WeightsPlace::File,
        },
        name,
        dims: cli.dims,
        shapes: cli.shapes,
        dump_phases: cli.dump_phases,
        timings: cli.timings,
        verbose: cli.verbose,
    };
    match compile::compile(&options) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
