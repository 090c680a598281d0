//! Compiles products whose rows are grouped by data (a mixture of experts), each in several configurations, with what a GPU machine needs to check and time them.
//!
//! usage: experts-bundle FOLDER   (beside `test/gpu/experts.py`, which runs it)

mod bundle;

use aitmlir_lowering::cuda::{
    kernels::{
        gemm_sm80,
        gemm_sm90::{
            self, Config,
            choose::{Sizes, choose_by_data},
        },
        problem::{Dtype, Problem},
        sequences::Sequences,
    },
    ptxas::KernelReport,
};
use bundle::{Bundle, Compiled};
use kernel_launch::{Expr, KernelLaunch};
use serde::Serialize;
use std::error::Error;

/// What the runner asks of a kernel.
#[derive(Serialize)]
struct Shape {
    name: String,
    /// N and K of each expert, and how many there are.
    n: i64,
    k: i64,
    experts: i64,
    /// Was it chosen for so many rows of an expert? 0 for one that was not.
    chosen: i64,
}

/// One kernel of the bundle.
#[derive(Serialize)]
struct Entry {
    file: String,
    epilogue: String,
    dtype: &'static str,
    config: Shape,
    launch: KernelLaunch,
    report: KernelReport,
}

/// Layers of mixtures: N, K and the number of experts.
const LAYERS: [[i64; 3]; 3] = [[14_336, 4096, 8], [4096, 14_336, 8], [1408, 2048, 64]];

/// Operands: A, B, the offsets, the record of failures, the result. How many rows there are is known at run time.
fn problem([n, k, experts]: [i64; 3]) -> Problem {
    let mut problem = Problem::linear(Dtype::Bf16, Expr::Dim(0), n, k);
    (problem.b.batch, problem.batch) = (Some((n * k).into()), experts.into());
    problem.out.operand = 4;
    problem.out_pairs = true;
    let (total, count) = (Expr::Dim(0), experts.into());
    let (offsets, wide, max_length, record, site) = (2, false, None, 3, 0.into());
    problem.groups = Some(Sequences { offsets, wide, total, max_length, count, record, site });
    problem.dims = vec!["rows".to_owned()];
    problem
}

/// What is chosen for that many rows of an expert, and what else may be good.
fn configs(layer: [i64; 3]) -> Vec<(Config, i64)> {
    let [n, k, experts] = layer;
    let problem = problem(layer);
    let of = |rows: i64| {
        let sizes = vec![Sizes { m: rows, n, k, batch: 1 }; experts as usize];
        Some((choose_by_data(&sizes, &problem, true)?, rows))
    };
    let ping_pong = |chains, columns, stages| Config { chains, columns, stages, ..Config::PING_PONG };
    let others = [
        Config::PING_PONG,
        ping_pong(2, 192, 4),
        ping_pong(1, 192, 6),
        ping_pong(1, 128, 8),
        Config::cooperative(2, 128, 4),
        Config { swapped: true, ..Config::single(2, 64, 8, 1) },
        Config { swapped: true, ..Config::single(2, 16, 9, 1) },
    ];
    let chosen = [16, 64, 256].into_iter().filter_map(of);
    let mut configs: Vec<(Config, i64)> = chosen.chain(others.map(|config| (config, 0))).collect();
    configs.retain(|(config, _)| config.check(&problem).is_ok());
    let mut seen = Vec::new();
    configs.retain(|(config, _)| {
        !seen.contains(config) && {
            seen.push(*config);
            true
        }
    });
    configs
}

fn compile(bundle: &Bundle, name: &str, problem: &Problem, config: Option<Config>) -> Result<Compiled, Box<dyn Error>> {
    bundle.compile(name, |context, module| {
        Ok(match config {
            Some(config) => gemm_sm90::emit(context, module, name, problem, config, &|_, sum, _| vec![sum])?,
            None => gemm_sm80::emit(context, module, name, problem, gemm_sm80::Config::LARGE, &|_, sum, _| vec![sum])?,
        })
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: experts-bundle FOLDER")?;
    let bundle = Bundle::new(&folder)?;
    let mut entries = Vec::new();
    for (number, layer) in LAYERS.into_iter().enumerate() {
        let [n, k, experts] = layer;
        let own = configs(layer).into_iter().map(|(config, rows)| (Some(config), rows));
        for (config, chosen) in own.chain([(None, 0)]) {
            let of = config.map_or("sm80".to_owned(), |config| config.short_name());
            let name = format!("experts{number}_{of}");
            let Compiled { file, launch, report } = compile(&bundle, &name, &problem(layer), config)?;
            println!("{name}: {} registers{}", report.registers, if report.spills() { ", SPILLS" } else { "" });
            let config = Shape { name: of, n, k, experts, chosen };
            let epilogue = format!("experts {number}");
            entries.push(Entry { file, epilogue, dtype: "bf16", config, launch, report });
        }
    }
    bundle.finish(&serde_json::to_string(&entries)?)?;
    println!("{} kernels in {folder}", entries.len());
    Ok(())
}
