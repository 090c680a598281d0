//! `ptx-sim kernel.ptx`: runs a kernel without a GPU and says what is wrong with it.

use anyhow::{Context, Result, bail};
use clap::Parser;
use ptx_sim::suite::case::dims;
use ptx_sim::{Checks, GlobalMemory, Launch, compile, kernels, report, run, setup};
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a PTX kernel on the CPU, with its races, memory accesses and bank conflicts checked.
///
/// The exit status is 0 if the kernel is clean, 1 if something was found, 2 if it could not be run.
#[derive(Parser)]
#[command(name = "ptx-sim", version)]
struct Options {
    /// PTX text, ISA 8.0 to 9.x
    file: PathBuf,
    /// Kernel to run; may be left out if the module has one
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// CTAs of the grid
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1")]
    grid: String,
    /// Threads of a CTA
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "32")]
    block: String,
    /// CTAs of a cluster
    #[arg(long, value_name = "X[,Y[,Z]]")]
    cluster: Option<String>,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
    /// An argument, in order; can be given many times
    #[arg(long = "arg", value_name = "SPEC", long_help = setup::GRAMMAR)]
    args: Vec<String>,
    /// Checks: all, none, or a list of align, uninit, races, wgmma, barriers, limits
    #[arg(long, value_name = "LIST", default_value = "all")]
    check: String,
    /// Print bank conflicts, sectors and the instruction mix
    #[arg(long)]
    counters: bool,
    /// Write an SVG heat map of the instructions
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write findings and counters as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a buffer argument's bytes after the run: INDEX=FILE
    #[arg(long, value_name = "INDEX=FILE")]
    dump: Vec<String>,
    /// Host threads; 0 for all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Give a cluster up after so many warp instructions
    #[arg(long, value_name = "N", default_value_t = 1 << 32)]
    steps: u64,
}

fn simulate(options: &Options) -> Result<bool> {
    let source =
        std::fs::read_to_string(&options.file).with_context(|| format!("cannot read {}", options.file.display()))?;
    let names = kernels(&source).with_context(|| options.file.display().to_string())?;
    let kernel = match (&options.kernel, names.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, _) => bail!("--kernel must name one of: {}", names.join(", ")),
    };
    let shape = |text: &str| dims(text).with_context(|| format!("`{text}` is not X, X,Y or X,Y,Z"));
    let mut global = GlobalMemory::default();
    let program = compile(&source, kernel, &mut global).with_context(|| options.file.display().to_string())?;
    let (params, buffers) = setup::arguments(&program, &options.args, &mut global)?;
    let launch = Launch {
        grid: shape(&options.grid)?,
        block: shape(&options.block)?,
        cluster: options.cluster.as_deref().map(shape).transpose()?,
        dynamic_shared: options.shared,
        params,
        checks: Checks::parse(&options.check).map_err(anyhow::Error::msg)?,
        counters: options.counters || options.svg.is_some(),
        threads: options.threads,
        step_limit: options.steps,
    };
    let outcome = run(&program, &launch, &global)?;
    print!("{}", report::text(&program, &outcome));
    if let Some(path) = &options.svg {
        std::fs::write(path, report::svg(&program, &outcome.counters))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &options.json {
        let json = serde_json::json!({"kernel": program.name, "findings": outcome.findings, "counters": outcome.counters.total()});
        std::fs::write(path, format!("{json:#}\n")).with_context(|| format!("cannot write {}", path.display()))?;
    }
    for dump in &options.dump {
        let parts = dump.split_once('=').and_then(|(i, path)| Some((i.parse::<usize>().ok()?, path)));
        let (index, path) = parts.with_context(|| format!("`{dump}` is not INDEX=FILE"))?;
        let buffer =
            buffers.iter().find(|b| b.argument == index).with_context(|| format!("argument {index} is no buffer"))?;
        let bytes = global.download(buffer.address, buffer.bytes)?;
        std::fs::write(path, bytes).with_context(|| format!("cannot write {path}"))?;
    }
    Ok(outcome.findings.is_empty())
}

fn main() -> ExitCode {
    match simulate(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("ptx-sim: {error:#}");
            ExitCode::from(2)
        }
    }
}
