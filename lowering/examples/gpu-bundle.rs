//! Compiles the gemm kernels in every shipped configuration, with what a GPU machine needs to check and time them.
//!
//! usage: gpu-bundle FOLDER [FILTER,...] [CONFIGURATION,...]   (`make gpu-bundle` also copies the runner there; a filter is a part of a kernel's
//! name; configurations by name take the place of those that ship)

mod bundle;

use aitmlir_dialects::{ait::CausalKind, builder::Builder, types::Types, types::Val};
use aitmlir_lowering::cuda::{
    emit::scalar::ScalarOps,
    kernels::{
        b2b, b2b_sm90, gemm_sm80,
        gemm_sm90::{self, Config, candidates::candidates, choose::parse},
        problem::{Dtype, Fold, Place, Problem},
        sequences::Sequences,
    },
    ptxas::KernelReport,
    tuning::shipped,
};
use bundle::{Bundle, Compiled};
use kernel_launch::{Expr, KernelLaunch};
use serde::Serialize;
use std::{error::Error, time::Instant};

/// What the runner asks of a configuration.
#[derive(Serialize)]
struct Shape {
    name: String,
    rows: u32,
    columns: u32,
    split: u32,
    cluster: bool,
    swapped: bool,
    tma_store: bool,
    ctas_per_sm: u32,
    sharers: u32,
}

/// One kernel of the bundle.
#[derive(Serialize)]
struct Entry {
    file: String,
    epilogue: &'static str,
    dtype: &'static str,
    config: Shape,
    launch: KernelLaunch,
    report: KernelReport,
    compile_ms: u128,
}

fn identity<'c>(_: Builder<'c>, sum: Val<'c>, _: &[Val<'c>]) -> Vec<Val<'c>> {
    vec![sum]
}

/// gelu(sum + bias), by the hyperbolic tangent.
fn bias_gelu<'c>(b: Builder<'c>, sum: Val<'c>, extras: &[Val<'c>]) -> Vec<Val<'c>> {
    let f32 = b.context().f32_type();
    let x = b.addf(sum, b.op1("arith.extf", &[extras[0]], f32, &[]));
    let c = |value| b.float(f32, value);
    let square = b.mulf(x, x);
    let inner = b.mulf(x, b.addf(b.mulf(square, c(0.044_715 * 0.797_884_560_8)), c(0.797_884_560_8)));
    let half = b.mulf(x, c(0.5));
    vec![b.addf(half, b.mulf(half, b.approximate("tanh.approx.f32", inner)))]
}

/// silu(sum) * the other sum.
fn swiglu<'c>(b: Builder<'c>, sum: Val<'c>, others: &[Val<'c>]) -> Vec<Val<'c>> {
    let f32 = b.context().f32_type();
    let half = b.mulf(sum, b.float(f32, 0.5));
    let silu = b.addf(half, b.mulf(half, b.approximate("tanh.approx.f32", half)));
    vec![b.mulf(silu, others[0])]
}

/// Two products of one left operand.
fn dual() -> Vec<Config> {
    let ping_pong = |chains, columns, stages| Config { chains, columns, stages, ..Config::PING_PONG };
    let few = |columns, stages, ctas_per_sm, consumers| Config {
        swapped: true,
        consumers,
        ..Config::single(2, columns, stages, ctas_per_sm)
    };
    vec![
        ping_pong(1, 256, 4),
        ping_pong(2, 128, 6),
        Config::cooperative(1, 256, 4),
        few(16, 5, 2, 1),
        few(64, 4, 2, 1),
        few(64, 8, 1, 1),
    ]
}

/// The heads of a permuted result: of 64 columns, and of 512 rows.
fn heads(problem: Problem) -> Problem {
    let (rows, n) = (512, problem.n.clone());
    let columns =
        [Fold { size: n.clone().quotient(64), stride: (64 * rows).into() }, Fold { size: 64.into(), stride: 1.into() }];
    let batch = Some(n * rows);
    let out = Place { line: 64.into(), columns: columns.to_vec(), batch, ..problem.out };
    let a = Place { batch: Some(problem.k.clone() * rows), ..problem.a };
    Problem { batch: problem.m.quotient(rows), m: rows.into(), a, out, ..problem }
}

/// Plain stores instead of TMA.
fn direct() -> Vec<Config> {
    [
        Config { chains: 1, columns: 128, stages: 8, ..Config::PING_PONG },
        Config::cooperative(1, 64, 8),
        Config::single(1, 64, 6, 2),
    ]
    .map(|config| Config { tma_store: false, ..config })
    .to_vec()
}

/// The kernel of sm_80, for rows whose length TMA does not like.
fn older() -> Vec<gemm_sm80::Config> {
    use gemm_sm80::Config;
    let config = |warps, warp_tile, stages| Config { warps, warp_tile, stages, ..Config::LARGE };
    vec![
        Config::LARGE,
        Config::SMALL,
        config([2, 2], [64, 32], 4),
        config([2, 2], [32, 64], 4),
        config([2, 2], [64, 32], 3),
        config([4, 2], [32, 32], 4),
        config([2, 2], [32, 32], 6),
    ]
}

/// Is the configuration the fastest of a product in the table that ships?
fn measured(config: &Config) -> bool {
    shipped().rows().iter().any(|row| row.config == config.short_name())
}

/// A kernel in a configuration.
#[derive(Clone, Copy)]
enum Kernel {
    Sm80(gemm_sm80::Config),
    Sm90(Config),
}

impl Kernel {
    fn shape(self) -> Shape {
        match self {
            Kernel::Sm90(config) => {
                let [rows, columns] = config.tile();
                Shape {
                    name: format!("sm90_{}", config.short_name()),
                    rows,
                    columns,
                    split: config.split,
                    cluster: config.cluster,
                    swapped: config.swapped,
                    tma_store: config.tma_store,
                    ctas_per_sm: config.ctas_per_sm,
                    sharers: config.sharers(),
                }
            }
            Kernel::Sm80(config) => {
                let [rows, columns] = config.tile();
                let [m, n] = config.warps;
                Shape {
                    name: format!("sm80_{rows}x{columns}_w{m}x{n}_s{}", config.stages),
                    rows,
                    columns,
                    split: 1,
                    cluster: false,
                    swapped: false,
                    tma_store: false,
                    ctas_per_sm: 1,
                    sharers: 1,
                }
            }
        }
    }
}

/// A kernel with all sizes at run time.
fn compile(
    bundle: &Bundle,
    name: &str,
    kernel: Kernel,
    epilogue: &str,
    dtype: Dtype,
) -> Result<Compiled, Box<dyn Error>> {
    let mut problem = Problem::linear(dtype, Expr::Dim(0), Expr::Dim(1), Expr::Dim(2));
    // The runner starts plain stores on even columns only.
    problem.out_pairs = true;
    let problem = match epilogue {
        "bias_gelu" => problem.with_bias(),
        "swiglu" => {
            problem.other = Some(Place { operand: 2, ..problem.b.clone() });
            problem.out.operand = 3;
            problem
        }
        "heads" => heads(problem),
        _ => problem,
    };
    bundle.compile(name, |context, module| {
        let code = |b, sum, extras: &[_]| match epilogue {
            "bias_gelu" => bias_gelu(b, sum, extras),
            "swiglu" => swiglu(b, sum, extras),
            _ => identity(b, sum, extras),
        };
        Ok(match kernel {
            Kernel::Sm90(config) => gemm_sm90::emit(context, module, name, &problem, config, &code)?,
            Kernel::Sm80(config) => gemm_sm80::emit(context, module, name, &problem, config, &code)?,
        })
    })
}

/// sigmoid(Q K^T + bias) V, sizes B, H, M, N at run time.
fn dense(depth: i64) -> b2b::Problem {
    use b2b::{Bias, Problem, Side};
    let (batch, heads, m, n) = (Expr::Dim(0), Expr::Dim(1), Expr::Dim(2), Expr::Dim(3));
    let side = |operand, lines: &Expr, line: Expr| {
        let head = lines.clone() * line.clone();
        Side { operand, batch: head.clone() * heads.clone(), head, line, column: 1.into() }
    };
    Problem {
        dtype: Dtype::F16,
        sides: [(0, &m), (1, &n), (2, &n), (4, &m)].map(|(operand, lines)| side(operand, lines, depth.into())),
        bias: Some(Bias::Boxes(side(3, &m, n.clone()))),
        batch,
        heads: heads.clone(),
        m,
        n,
        depth,
        width: depth,
        sequences: None,
        causal: CausalKind::None,
        dims: ["b", "h", "m", "n"].map(str::to_owned).to_vec(),
        operands: ["q", "k", "v", "bias", "out"].map(str::to_owned).to_vec(),
    }
}

/// sigmoid(Q K^T) V of the sequences of jagged rows [T, H, depth].
fn jagged(depth: i64, max_length: i64) -> b2b::Problem {
    let (total, count, heads) = (Expr::Dim(0), Expr::Dim(1), Expr::Dim(2));
    let side = |operand| {
        let line = heads.clone() * depth;
        b2b::Side { operand, batch: 0.into(), head: depth.into(), line, column: 1.into() }
    };
    let sequences = Sequences {
        offsets: 3,
        wide: false,
        total,
        max_length: Some(max_length),
        count: count.clone(),
        record: 5,
        site: 0.into(),
    };
    b2b::Problem {
        sides: [0, 1, 2, 4].map(side),
        bias: None,
        batch: count,
        heads: heads.clone(),
        m: max_length.into(),
        n: max_length.into(),
        sequences: Some(sequences),
        dims: ["t", "b", "h"].map(str::to_owned).to_vec(),
        operands: ["q", "k", "v", "offsets", "out", "record"].map(str::to_owned).to_vec(),
        ..dense(depth)
    }
}

/// A back-to-back product.
fn compile_b2b(bundle: &Bundle, name: &str, problem: &b2b::Problem) -> Result<Compiled, Box<dyn Error>> {
    bundle.compile(name, |context, module| {
        let launch = b2b_sm90::emit(context, module, name, problem, &|b, score, bias, _| {
            let half = b.float(b.context().f32_type(), 0.5);
            let x = bias.map_or(score, |bias| b.addf(score, bias));
            b.addf(b.mulf(b.approximate("tanh.approx.f32", b.mulf(x, half)), half), half)
        });
        Ok(launch?)
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: gpu-bundle FOLDER [FILTER]")?;
    let filters = std::env::args().nth(2).unwrap_or_default();
    let wanted = |name: &str| filters.split(',').any(|filter| name.contains(filter));
    let named = std::env::args().nth(3).unwrap_or_default();
    let named = named.split(',').filter(|name| !name.is_empty());
    let named: Vec<Config> =
        named.map(|name| parse(name).ok_or(format!("'{name}' is no configuration"))).collect::<Result<_, _>>()?;
    let bundle = Bundle::new(&folder)?;
    let mut entries = vec![];
    let mut wrong = vec![];
    for (epilogue, dtype) in [
        ("plain", Dtype::F16),
        ("bias_gelu", Dtype::F16),
        ("plain", Dtype::Bf16),
        ("swiglu", Dtype::F16),
        ("heads", Dtype::F16),
    ] {
        let chosen = |config: &Config| match (epilogue, dtype) {
            // Overlap changes little: of those that overlap, the ones that were measured to be the fastest.
            _ if config.overlap && !measured(config) => false,
            ("plain", Dtype::F16) => true,
            ("bias_gelu", _) => config.tma_store && (config.split == 1 && !config.swapped || config.columns == 16),
            _ => config.split == 1 && !config.swapped && config.columns >= 128 && config.consumers == 2,
        };
        let configs = match epilogue {
            "swiglu" => dual(),
            "heads" => [64, 128].map(|columns| Config { chains: 1, columns, stages: 8, ..Config::PING_PONG }).to_vec(),
            _ if !named.is_empty() => named.clone(),
            _ => [candidates(), direct()].concat().into_iter().filter(chosen).collect(),
        };
        let mut kernels: Vec<Kernel> = configs.into_iter().map(Kernel::Sm90).collect();
        if epilogue == "plain" && dtype == Dtype::F16 {
            kernels.extend(older().into_iter().map(Kernel::Sm80));
        }
        for kernel in kernels {
            let shape = kernel.shape();
            let name = format!("gemm_{}_{epilogue}_{}", dtype.name(), shape.name);
            if !wanted(&name) {
                continue;
            }
            let start = Instant::now();
            let Compiled { file, launch, report } = compile(&bundle, &name, kernel, epilogue, dtype)?;
            let compile_ms = start.elapsed().as_millis();
            if report.spills() || report.serialised() {
                wrong.push(format!("{name}: {report:?}"));
            }
            println!("{name}: {} registers, {compile_ms} ms", report.registers);
            entries.push(Entry { file, epilogue, dtype: dtype.name(), config: shape, launch, report, compile_ms });
        }
    }
    let back_to_back = [
        ("b2b_sm90_f16_sigmoid_d64", "b2b_sigmoid", 64, dense(64)),
        ("b2b_sm90_f16_sigmoid_d128", "b2b_sigmoid", 128, dense(128)),
        ("b2b_sm90_f16_jagged_l512", "b2b_jagged", 512, jagged(64, 512)),
        ("b2b_sm90_f16_jagged_l2048", "b2b_jagged", 2048, jagged(64, 2048)),
    ];
    for (name, epilogue, columns, problem) in back_to_back {
        let name = name.to_owned();
        if !wanted(&name) {
            continue;
        }
        let start = Instant::now();
        let Compiled { file, launch, report } = compile_b2b(&bundle, &name, &problem)?;
        if report.spills() || report.serialised() {
            wrong.push(format!("{name}: {report:?}"));
        }
        let config = Shape {
            name: name.clone(),
            rows: 128,
            columns,
            split: 1,
            cluster: false,
            swapped: false,
            tma_store: true,
            ctas_per_sm: 1,
            sharers: 1,
        };
        let compile_ms = start.elapsed().as_millis();
        println!("{name}: {} registers, {compile_ms} ms", report.registers);
        entries.push(Entry { file, epilogue, dtype: "f16", config, launch, report, compile_ms });
    }
    bundle.finish(&serde_json::to_string_pretty(&entries)?)?;
    println!("{} kernels in {folder}, ptxas {}", entries.len(), bundle.ptxas.version()?);
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}
