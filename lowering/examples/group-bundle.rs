//! Compiles groups of products, each in several configurations, and each of their products alone, with what a GPU machine needs to check and time them.
//!
//! usage: group-bundle FOLDER   (beside `test/gpu/groups.py`, which runs it)

mod bundle;

use aitmlir_lowering::cuda::{
    kernels::{
        gemm_sm90::{
            self, Config,
            choose::{Sizes, choose},
        },
        problem::{Dtype, Problem},
    },
    ptxas::KernelReport,
    tuning::Tuning,
};
use bundle::{Bundle, Compiled};
use kernel_launch::KernelLaunch;
use serde::Serialize;
use std::error::Error;

/// What the runner asks of a kernel.
#[derive(Serialize)]
struct Shape {
    name: String,
    /// M, N, K of each product.
    sizes: Vec<[i64; 3]>,
    /// Is the left operand one for all?
    shared: bool,
    /// Is it one product of the group, to be compared with?
    alone: bool,
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

/// A group to be measured.
struct Group {
    name: &'static str,
    sizes: Vec<[i64; 3]>,
    shared: bool,
}

fn groups() -> Vec<Group> {
    let rows = [0, 16, 40, 96, 128, 200, 256, 512];
    vec![
        Group { name: "8x256x768x768", sizes: vec![[256, 768, 768]; 8], shared: false },
        Group { name: "qkv512x1024x1024", sizes: vec![[512, 1024, 1024]; 3], shared: true },
        Group {
            name: "qkv64x4096x4096",
            sizes: vec![[64, 4096, 4096], [64, 1024, 4096], [64, 1024, 4096]],
            shared: true,
        },
        Group { name: "experts64", sizes: (0..64).map(|i| [rows[i * 5 % 8], 2048, 1024]).collect(), shared: false },
        Group {
            name: "mixed",
            sizes: (1..=6).map(|i| [128 * i, 256 * i, 2048 / i / 64 * 64]).collect(),
            shared: false,
        },
    ]
}

/// The products with all sizes known; three operands each.
fn problems(sizes: &[[i64; 3]]) -> Vec<Problem> {
    let of = |(i, [m, n, k]): (usize, &[i64; 3])| {
        let mut problem = Problem::linear(Dtype::F16, *m, *n, *k);
        for place in [&mut problem.a, &mut problem.b, &mut problem.out] {
            place.operand += 3 * i as u32;
        }
        problem.dims = (0..3 * sizes.len()).map(|d| format!("d{d}")).collect();
        problem
    };
    sizes.iter().enumerate().map(of).collect()
}

fn sizes_of([m, n, k]: &[i64; 3]) -> Sizes {
    Sizes { m: *m, n: *n, k: *k, batch: 1 }
}

/// What is chosen for the group, and what else may be good.
fn configs(group: &Group) -> Vec<Config> {
    let sizes: Vec<Sizes> = group.sizes.iter().map(sizes_of).collect();
    let problems = problems(&group.sizes);
    let ping_pong = |chains, columns, stages| Config { chains, columns, stages, ..Config::PING_PONG };
    let few = Config { swapped: true, ..Config::single(2, 64, 8, 1) };
    let others = [
        Config::PING_PONG,
        ping_pong(1, 256, 4),
        ping_pong(2, 192, 4),
        ping_pong(1, 128, 8),
        Config::cooperative(1, 256, 4),
        Config::cooperative(1, 128, 6),
        Config::single(1, 128, 4, 2),
        few,
        Config { swapped: true, ..Config::single(1, 64, 6, 2) },
    ];
    let most = group.sizes.iter().map(|size| size[0]).max().unwrap_or(0);
    let meant = others.into_iter().filter(|config| config.swapped == (most <= 64));
    let mut configs: Vec<Config> = choose(&sizes, &problems, true, &Tuning::default()).into_iter().collect();
    configs.extend(meant.filter(|config| problems.iter().all(|problem| config.check(problem).is_ok())));
    let mut seen = Vec::new();
    configs.retain(|config| {
        !seen.contains(config) && {
            seen.push(*config);
            true
        }
    });
    configs
}

fn compile(bundle: &Bundle, name: &str, problems: &[Problem], config: Config) -> Result<Compiled, Box<dyn Error>> {
    bundle.compile(name, |context, module| {
        Ok(gemm_sm90::emit_group(context, module, name, problems, config, &|_, sum, _| vec![sum])?)
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: group-bundle FOLDER")?;
    let bundle = Bundle::new(&folder)?;
    let mut entries = Vec::new();
    for group in groups() {
        let mut kernels: Vec<(Vec<[i64; 3]>, Config, bool)> = Vec::new();
        kernels.extend(configs(&group).into_iter().map(|config| (group.sizes.clone(), config, false)));
        let mut alone = group.sizes.clone();
        alone.sort_unstable();
        alone.dedup();
        for size in alone.into_iter().filter(|size| size[0] > 0) {
            let chosen = choose(&[sizes_of(&size)], &problems(&[size]), true, &Tuning::default());
            kernels.push((vec![size], chosen.ok_or("no configuration")?, true));
        }
        for (number, (sizes, config, alone)) in kernels.into_iter().enumerate() {
            let kind = if alone { "alone" } else { "group" };
            let name = format!("{kind}_{}_{number}_{}", group.name, config.short_name());
            let Compiled { file, launch, report } = compile(&bundle, &name, &problems(&sizes), config)?;
            println!("{name}: {} registers{}", report.registers, if report.spills() { ", SPILLS" } else { "" });
            let config = Shape { name: config.short_name(), sizes, shared: group.shared, alone };
            entries.push(Entry {
                file,
                epilogue: format!("group {}", group.name),
                dtype: "f16",
                config,
                launch,
                report,
            });
        }
    }
    bundle.finish(&serde_json::to_string(&entries)?)?;
    println!("{} kernels in {folder}", entries.len());
    Ok(())
}
