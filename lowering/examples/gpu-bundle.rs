//! Compiles the gemm kernels in every shipped configuration, with what a GPU machine needs to check and time them.
//!
//! usage: gpu-bundle FOLDER [FILTER]   (`make gpu-bundle` also copies the runner there)

use aitmlir_dialects::{builder::Builder, new_context, types::Types, types::Val};
use aitmlir_lowering::cuda::{
    chip, codegen,
    emit::scalar::ScalarOps,
    kernels::{
        gemm_sm90::{self, Config, choose::candidates},
        problem::{Dtype, Problem},
    },
    ptxas::{KernelReport, Ptxas},
};
use kernel_launch::{Expr, KernelLaunch};
use melior::ir::{Location, Module};
use serde::Serialize;
use std::{error::Error, fs, path::Path, time::Instant};

/// One kernel of the bundle.
#[derive(Serialize)]
struct Entry {
    file: String,
    epilogue: &'static str,
    dtype: &'static str,
    config: Config,
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

fn name(config: &Config, epilogue: &str, dtype: Dtype) -> String {
    format!("gemm_sm90_{}_{epilogue}_{}", dtype.name(), config.short_name())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: gpu-bundle FOLDER [FILTER]")?;
    let filter = std::env::args().nth(2).unwrap_or_default();
    let folder = Path::new(&folder);
    fs::create_dir_all(folder.join("kernels"))?;
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/nvidia-cuda-nvcc/nvidia/cu13/bin/ptxas");
    let ptxas = Ptxas::find(own.is_file().then_some(own.as_path()))?;
    let chip = chip::chip("sm_90a").ok_or("no such chip")?;
    let mut entries = vec![];
    let mut wrong = vec![];
    let all: Vec<Config> = [candidates(), direct()].concat();
    for (epilogue, dtype) in [("plain", Dtype::F16), ("bias_gelu", Dtype::F16), ("plain", Dtype::Bf16)] {
        for config in &all {
            let name = name(config, epilogue, dtype);
            let fused = epilogue == "bias_gelu";
            let chosen = match (epilogue, dtype) {
                ("plain", Dtype::F16) => true,
                ("bias_gelu", _) => {
                    config.tma_store && (config.split == 1 && !config.swapped || config.swapped && config.columns == 16)
                }
                _ => {
                    config.split == 1
                        && !config.swapped
                        && config.tma_store
                        && config.columns >= 128
                        && config.consumers == 2
                }
            };
            if !chosen || !name.contains(&filter) {
                continue;
            }
            let start = Instant::now();
            let problem = Problem::linear(dtype, Expr::Dim(0), Expr::Dim(1), Expr::Dim(2));
            let problem = if fused { problem.with_bias() } else { problem };
            let context = new_context();
            let mut module = Module::new(Location::unknown(&context));
            let launch = match gemm_sm90::emit(&context, &module, &name, &problem, *config, &|b, sum, extras| {
                if fused { bias_gelu(b, sum, extras) } else { identity(b, sum, extras) }
            }) {
                Ok(launch) => launch,
                Err(error) => {
                    wrong.push(format!("{name}: {error}"));
                    continue;
                }
            };
            let ptx = codegen::ptx(&context, &mut module, chip)?;
            let assembled = ptxas.assemble(&ptx, chip)?;
            let report = assembled.kernels.into_iter().next().ok_or("ptxas says nothing of the kernel")?;
            let compile_ms = start.elapsed().as_millis();
            if report.spills() || report.serialised() {
                wrong.push(format!("{name}: {report:?}"));
            }
            println!("{name}: {} registers, {compile_ms} ms", report.registers);
            let file = format!("kernels/{name}.cubin");
            fs::write(folder.join(&file), &assembled.cubin)?;
            entries.push(Entry { file, epilogue, dtype: dtype.name(), config: *config, launch, report, compile_ms });
        }
    }
    fs::write(folder.join("kernels.json"), serde_json::to_string_pretty(&entries)?)?;
    println!("{} kernels in {}, ptxas {}", entries.len(), folder.display(), ptxas.version()?);
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}
