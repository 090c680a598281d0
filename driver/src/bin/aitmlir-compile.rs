//! `aitmlir-compile`: a model in, a library out.

use aitmlir_driver::{
    compile::{self, Options, phases::Emit},
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
    /// The file to write
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
    let suffix = if cli.emit == Emit::So {
        "so"
    } else if cli.emit == Emit::Obj {
        "o"
    } else {
        "mlir"
    };
    let default = if cli.emit < Emit::Obj { PathBuf::from("-") } else { cli.model.with_extension(suffix) };
    let options = Options {
        output: cli.output.unwrap_or(default),
        input: cli.model,
        emit: cli.emit,
        target,
        embed_ptx: cli.embed_ptx,
        ptxas: cli.ptxas,
        weights: match cli.weights {
            Weights::Embed => WeightsPlace::Embed,
            Weights::File => WeightsPlace::File,
        },
        name: cli.name,
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
