//! The command line of `aitmlir-run`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use serde_json::json;

use super::compare::{Comparison, Tolerance, compare};
use super::inputs::{NamedDim, NamedFile, NamedRange, NamedShape, Request, make, read_files};
use super::library::{Device, Library, Model};
use super::sim::{self, Simulator};
use super::tensor::Tensor;
use super::{bench, inspect, npy, roofline};

/// Exit codes: 0 done, 1 something is wrong with a file or a tensor, 2 with the command line, 3 an output is not as expected, 4 the
/// simulator found a fault of a kernel.
const FAILED: u8 = 1;
const MISMATCH: u8 = 3;
const FOUND: u8 = 4;

/// Runs, verifies, measures and inspects compiled models.
#[derive(Debug, Parser)]
#[command(name = "aitmlir-run", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a model once and show or write its outputs
    Run(RunArgs),
    /// Run a model and compare its outputs with expected ones (exit code 3 where they differ)
    Verify(VerifyArgs),
    /// Measure the time of a run
    Bench(BenchArgs),
    /// Show what a library says about its model, without running it
    Inspect(InspectArgs),
}

#[derive(Debug, Args)]
struct ModelArgs {
    /// The compiled model
    #[arg(value_name = "MODEL.so")]
    model: PathBuf,
    /// The weights file, if it is not beside the library
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Where a model runs that was compiled for CUDA: cuda, cuda:N (GPU N of the driver), sim (the PTX simulator)
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: DeviceName,
    /// Checks of the simulator: all, none, or a list of align, uninit, races, wgmma, barriers, limits
    #[arg(long, value_name = "LIST", default_value = "all", value_parser = ptx_sim::Checks::parse)]
    check: ptx_sim::Checks,
    /// Print what the simulator counted: bank conflicts, sectors, the instruction mix
    #[arg(long)]
    counters: bool,
    /// Write an SVG heat map of each simulated kernel into a folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// On a GPU: keep so many graphs of runs that come again on the same device memory
    #[arg(long, default_value_t = 0, value_name = "N")]
    graphs: i32,
    /// Threads of a run; 0 for all cores
    #[arg(long, default_value_t = 1, value_name = "N")]
    threads: i32,
    /// An input from a file; inputs that are not given are random
    #[arg(long = "input", value_name = "NAME=@FILE.npy")]
    inputs: Vec<NamedFile>,
    /// Inputs from an archive
    #[arg(long = "inputs", value_name = "FILE.npz")]
    archive: Option<PathBuf>,
    /// The value of a named dim, for random inputs
    #[arg(long = "dim", value_name = "NAME=N")]
    dims: Vec<NamedDim>,
    /// The shape of a random input
    #[arg(long = "shape", value_name = "NAME=2x3x4")]
    shapes: Vec<NamedShape>,
    /// The range of a random input; floats are in -1..1 and integers in 0..9 otherwise
    #[arg(long = "range", value_name = "NAME=LOW..HIGH", allow_hyphen_values = true)]
    ranges: Vec<NamedRange>,
    /// Seed of random inputs
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Replace a constant before the run
    #[arg(long = "constant", value_name = "NAME=@FILE.npy")]
    constants: Vec<NamedFile>,
}

/// What `--device` names.
#[derive(Clone, Copy, Debug)]
enum DeviceName {
    Cuda(i32),
    Simulator,
}

impl std::str::FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.strip_prefix("cuda").map(|rest| (rest, rest.strip_prefix(':'))) {
            Some(("", _)) => return Ok(DeviceName::Cuda(0)),
            Some((_, Some(number))) => {
                if let Some(ordinal) = number.parse().ok().filter(|n| *n >= 0) {
                    return Ok(DeviceName::Cuda(ordinal));
                }
            }
            _ if text == "sim" => return Ok(DeviceName::Simulator),
            _ => {}
        }
        Err("expected cuda, cuda:N or sim".to_owned())
    }
}

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Write each output to NAME.npy in this folder, which is made if it isn't there
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct VerifyArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Expected outputs: an archive, or a file for one output
    #[arg(long = "expect", required = true, value_name = "FILE.npz|NAME=@FILE.npy")]
    expect: Vec<String>,
    /// Tolerance relative to the expected value
    #[arg(long, default_value_t = 1e-3, value_name = "X")]
    rtol: f64,
    /// Absolute tolerance
    #[arg(long, default_value_t = 1e-5, value_name = "X")]
    atol: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct BenchArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Runs before the first that is timed
    #[arg(long, default_value_t = 3, value_name = "N")]
    warmup: usize,
    /// Timed runs; 0 for as many as fit into --time
    #[arg(long, default_value_t = 0, value_name = "N")]
    runs: usize,
    /// Seconds to measure
    #[arg(long, default_value_t = 1.0, value_name = "S")]
    time: f64,
    /// On a GPU: write what the run reaches of memory and matrix units as an SVG
    #[arg(long, value_name = "FILE.svg")]
    roofline: Option<PathBuf>,
    /// The GPU's memory at most, in TB/s, where it is not known
    #[arg(long, value_name = "X", requires = "roofline")]
    peak_tbs: Option<f64>,
    /// The GPU's matrix units at most, in TFLOP/s [default: dense f16 products, where the GPU is known]
    #[arg(long, value_name = "X", requires = "roofline")]
    peak_tflops: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct InspectArgs {
    /// The compiled model
    #[arg(value_name = "MODEL.so")]
    model: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the tool with the arguments of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Run(args) => run(args),
        Command::Verify(args) => verify(args),
        Command::Bench(args) => measure(args),
        Command::Inspect(args) => show(args),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let text = format!("{error:#}").replace('\n', "; ");
            eprintln!("error: {text}");
            ExitCode::from(FAILED)
        }
    }
}

fn run(args: &RunArgs) -> Result<u8> {
    let library = Library::open(&args.model.model)?;
    let simulator = simulator(&args.model);
    let (model, inputs) = prepare(&library, &args.model, simulator.as_ref())?;
    let outputs = model.run(&inputs)?;
    let infos = &library.info().outputs;
    let mut text = String::new();
    let mut entries = Vec::new();
    for (info, tensor) in infos.iter().zip(&outputs) {
        let path = match &args.output_dir {
            Some(dir) => Some(write_output(dir, &info.name, tensor)?),
            None => None,
        };
        text += &summary(&info.name, tensor, path.as_deref());
        entries.push(json!({
            "name": info.name, "dtype": tensor.dtype().name(), "shape": tensor.dims(), "file": path,
        }));
    }
    print(&if args.json { format!("{:#}\n", json!({ "outputs": entries })) } else { text })?;
    simulated(simulator.as_ref(), 0)
}

fn verify(args: &VerifyArgs) -> Result<u8> {
    if !(args.rtol >= 0.0 && args.atol >= 0.0) {
        bail!("tolerances must be at least 0");
    }
    let library = Library::open(&args.model.model)?;
    let expected = read_expected(&library, &args.expect)?;
    let simulator = simulator(&args.model);
    let (model, inputs) = prepare(&library, &args.model, simulator.as_ref())?;
    let outputs = model.run(&inputs)?;
    let tolerance = Tolerance { rtol: args.rtol, atol: args.atol };
    let mut results = Vec::new();
    for (info, found) in library.info().outputs.iter().zip(&outputs) {
        if let Some((_, expected)) = expected.iter().find(|(name, _)| *name == info.name) {
            results.push(compare(&info.name, found, expected, tolerance));
        }
    }
    let pass = results.iter().all(|result| result.pass);
    let not_compared = outputs.len() - results.len();
    if args.json {
        let report = json!({
            "pass": pass, "tolerance": tolerance, "outputs": results, "not_compared": not_compared,
        });
        print(&format!("{report:#}\n"))?;
    } else {
        let mut text: String = results.iter().map(verdict).collect();
        if not_compared > 0 {
            text += &format!("{not_compared} of {} outputs have nothing to compare with\n", outputs.len());
        }
        print(&text)?;
    }
    simulated(simulator.as_ref(), if pass { 0 } else { MISMATCH })
}

fn measure(args: &BenchArgs) -> Result<u8> {
    let time = Duration::try_from_secs_f64(args.time).context("--time")?;
    let library = Library::open(&args.model.model)?;
    let simulator = simulator(&args.model);
    let (model, inputs) = prepare(&library, &args.model, simulator.as_ref())?;
    let plan = bench::Plan { warmup: args.warmup, runs: args.runs, time };
    let report = bench::bench(&library, &model, &inputs, plan, args.model.threads)?;
    if let Some(path) = &args.roofline {
        let device = report.device.as_ref().map(|device| device.name.as_str()).unwrap_or("cpu");
        let peaks = roofline::peaks(device, args.peak_tbs, args.peak_tflops)?;
        let text = roofline::svg(&report, peaks)?;
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    if args.json {
        print(&format!("{:#}\n", serde_json::to_value(&report)?))?;
    } else {
        let bench::Report { median_ms, min_ms, max_ms, mean_ms, runs, .. } = report;
        let head = format!("{}: median {median_ms:.3} ms", report.model);
        print(&format!("{head}, min {min_ms:.3}, mean {mean_ms:.3}, max {max_ms:.3} ({runs} runs)\n"))?;
        if let Some(device) = &report.device {
            let rate = device.tflop_per_s.map(|rate| format!(", {rate:.1} TFLOP/s")).unwrap_or_default();
            let how = if device.graph { "one graph" } else { "launches" };
            let bench::DeviceReport { name, copies, tb_per_s, .. } = device;
            print(&format!("{name}: {tb_per_s:.3} TB/s{rate}; {copies} copies of the buffers, {how}\n"))?;
        }
    }
    Ok(0)
}

fn show(args: &InspectArgs) -> Result<u8> {
    let library = Library::open(&args.model)?;
    if args.json {
        print(&format!("{:#}\n", serde_json::from_str::<serde_json::Value>(library.info_json())?))?;
    } else {
        print(&inspect::describe(library.info()))?;
    }
    Ok(0)
}

/// The simulator, where `--device` names it.
fn simulator(args: &ModelArgs) -> Option<Simulator> {
    let options = sim::Options { checks: args.check, counters: args.counters, svg: args.svg.clone() };
    matches!(args.device, DeviceName::Simulator).then(|| Simulator::new(options))
}

/// What the simulator found, on standard error, and its counters; the exit code of a run that is otherwise `code`.
fn simulated(simulator: Option<&Simulator>, code: u8) -> Result<u8> {
    let Some(simulator) = simulator else { return Ok(code) };
    let (findings, text) = simulator.report();
    eprint!("{text}");
    simulator.write_svg().context("--svg")?;
    Ok(if findings > 0 { FOUND } else { code })
}

/// Creates the model and makes its inputs.
fn prepare<'l>(
    library: &'l Library,
    args: &ModelArgs,
    simulator: Option<&'l Simulator>,
) -> Result<(Model<'l>, Vec<Tensor>)> {
    let request = Request {
        files: args.inputs.clone(),
        archive: args.archive.clone(),
        dims: args.dims.clone(),
        shapes: args.shapes.clone(),
        ranges: args.ranges.clone(),
        seed: args.seed,
    };
    let inputs = make(library.info(), &request)?;
    let constants = read_files(&args.constants)?;
    let device = match (args.device, simulator) {
        (_, Some(simulator)) => Device::Table(simulator.table()),
        (DeviceName::Cuda(ordinal), _) => Device::Cuda(ordinal),
        (DeviceName::Simulator, None) => Device::Cuda(0),
    };
    if simulator.is_some() && library.info().device.is_none() {
        bail!("the model was compiled for {}: the simulator runs models for cuda", library.info().target);
    }
    let model = library.create_with_graphs(args.weights.as_deref(), args.threads, device, args.graphs)?;
    if !constants.is_empty() {
        model.set_constants(&constants)?;
    }
    Ok((model, inputs))
}

/// Reads expected outputs and checks that the model has them.
fn read_expected(library: &Library, arguments: &[String]) -> Result<Vec<(String, Tensor)>> {
    let mut expected = Vec::new();
    for argument in arguments {
        match argument.parse::<NamedFile>() {
            Ok(file) => expected.extend(read_files(&[file])?),
            Err(_) => expected.extend(npy::read_archive(Path::new(argument))?),
        }
    }
    let outputs = &library.info().outputs;
    for (i, (name, _)) in expected.iter().enumerate() {
        if !outputs.iter().any(|output| output.name == *name) {
            let names: Vec<&str> = outputs.iter().map(|output| output.name.as_str()).collect();
            bail!("the model has no output named '{name}'; its outputs: {}", names.join(", "));
        }
        if expected.iter().take(i).any(|(other, _)| other == name) {
            bail!("output '{name}' is expected twice");
        }
    }
    if expected.is_empty() {
        bail!("no expected outputs were given");
    }
    Ok(expected)
}

fn write_output(dir: &Path, name: &str, tensor: &Tensor) -> Result<PathBuf> {
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let file: String = name.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c }).collect();
    let path = dir.join(format!("{file}.npy"));
    npy::write(&path, tensor)?;
    Ok(path)
}

/// One line about an output.
fn summary(name: &str, tensor: &Tensor, path: Option<&Path>) -> String {
    let values = || tensor.elements().map(|element| element.to_f64());
    let (min, max) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let mut line = format!("{name}  {}{:?}", tensor.dtype(), tensor.dims());
    if tensor.count() > 0 {
        let mean = values().sum::<f64>() / tensor.count() as f64;
        line += &format!("  min {min} max {max} mean {mean}");
    }
    if let Some(path) = path {
        line += &format!("  -> {}", path.display());
    }
    line + "\n"
}

fn verdict(result: &Comparison) -> String {
    let Comparison { name, elements, mismatches, max_abs, max_rel, .. } = result;
    let numbers = format!("max abs {max_abs:.3e}, max rel {max_rel:.3e}");
    match &result.problem {
        None => format!("pass  {name}: {elements} elements, {numbers}\n"),
        Some(problem) if *mismatches == 0 => format!("FAIL  {name}: {problem}\n"),
        Some(problem) => format!("FAIL  {name}: {mismatches} of {elements} elements differ, {numbers}; {problem}\n"),
    }
}

/// Prints to standard output; who closed it early has seen enough.
fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() != std::io::ErrorKind::BrokenPipe => Err(cause).context("standard output"),
        _ => Ok(()),
    }
}
