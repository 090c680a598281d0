//! Compiles the configurations that could be the fastest for some products into a folder that measures them by itself.

use super::{
    class::{Class, dtype},
    search::{Search, configurations},
};
use crate::compile::{
    cache::Cache,
    device::{Origin, assemble},
};
use aitmlir_dialects::{builder::Builder, new_context, types::Types, types::Val};
use aitmlir_lowering::cuda::{
    chip::Chip,
    codegen,
    kernels::{
        gemm_kernel::GemmKernel,
        gemm_sm90::{candidates::candidates, choose::adapted},
    },
    ptxas::{KernelReport, Ptxas},
    tuning::{Epilogue, Major, Product},
};
use anyhow::{Context as _, Result, anyhow};
use kernel_launch::KernelLaunch;
use melior::ir::{Location, Module};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

/// What to build.
pub struct Request<'a> {
    /// The products.
    pub products: &'a [Product],
    /// The GPU.
    pub chip: &'static Chip,
    /// The assembler.
    pub ptxas: &'a Ptxas,
    /// Cubins of earlier builds.
    pub cache: Option<&'a Cache>,
    /// Which configurations.
    pub search: Search,
    /// Kernels that are compiled at the same time.
    pub jobs: usize,
    /// The folder to write.
    pub folder: &'a Path,
}

/// What was built.
#[derive(Debug, PartialEq, Eq)]
pub struct Built {
    /// Products that can be measured.
    pub products: usize,
    /// Kernels, and how many of them were in the cache.
    pub kernels: usize,
    /// Kernels that were in the cache.
    pub cached: usize,
    /// Products and kernels that were left out, with the reason.
    pub left_out: Vec<String>,
}

/// What the runner asks of a configuration.
#[derive(Serialize)]
struct Shape {
    name: String,
    split: u32,
    cluster: bool,
    ctas_per_sm: u32,
}

/// A kernel of the folder.
#[derive(Serialize)]
struct Entry {
    file: String,
    dtype: String,
    epilogue: String,
    config: Shape,
    launch: KernelLaunch,
    report: KernelReport,
    compile_ms: u128,
}

/// A product of the folder.
#[derive(Serialize)]
struct Measured {
    product: String,
    /// M, N and K of each product of the launch.
    sizes: Vec<[i64; 3]>,
    batch: i64,
    dtype: String,
    out: String,
    a_rows: bool,
    b_rows: bool,
    epilogue: String,
    /// Kernels and the table's names of their configurations, those first that are expected to be the fastest.
    kernels: Vec<(String, String)>,
}

/// What `results.json` repeats for the table.
#[derive(Serialize)]
struct About {
    architecture: String,
    toolchain: String,
    products: Vec<Measured>,
}

/// A kernel to be compiled.
struct Job {
    name: String,
    class: Class,
    kernel: GemmKernel,
}

/// Compiles all kernels and writes the folder.
pub fn build(request: &Request<'_>) -> Result<Built> {
    let mut left_out = Vec::new();
    let (mut jobs, mut products) = (BTreeMap::new(), Vec::new());
    for product in request.products {
        match plan(product, request, &mut jobs) {
            Ok(measured) => products.push(measured),
            Err(cause) => left_out.push(format!("{cause:#}")),
        }
    }
    let kernels = request.folder.join("kernels");
    fs::create_dir_all(&kernels).with_context(|| format!("creating {}", kernels.display()))?;
    let jobs: Vec<Job> = jobs.into_values().collect();
    let mut made = Vec::new();
    for (job, one) in jobs.iter().zip(compile_all(request, &jobs)?) {
        match one {
            Ok(one) => made.push(one),
            // Of all that is legal, some need more registers than there are.
            Err(cause) if request.search.exhaustive => left_out.push(format!("{}: {cause:#}", job.name)),
            Err(cause) => return Err(cause),
        }
    }
    let cached = made.iter().filter(|(_, origin)| *origin == Origin::Cached).count();
    let (mut entries, mut names) = (Vec::new(), Vec::new());
    for (entry, _) in made {
        if entry.report.spills() || entry.report.serialised() {
            left_out.push(format!("{}: ptxas spills registers or serialises wgmma", entry.launch.name));
            continue;
        }
        names.push(entry.launch.name.clone());
        entries.push(entry);
    }
    for product in &mut products {
        product.kernels.retain(|(kernel, _)| names.contains(kernel));
    }
    let built = Built { products: products.len(), kernels: entries.len(), cached, left_out };
    let about = About { architecture: request.chip.name.to_owned(), toolchain: toolchain(request.ptxas)?, products };
    write(request.folder, "kernels.json", &serde_json::to_vec_pretty(&entries)?)?;
    write(request.folder, "products.json", &serde_json::to_vec_pretty(&about)?)?;
    for (name, text) in RUNNER {
        write(request.folder, name, text.as_bytes())?;
    }
    let run = request.folder.join("run");
    let executable = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    fs::set_permissions(&run, executable).with_context(|| format!("{}", run.display()))?;
    Ok(built)
}

/// What runs on the machine with the GPU.
const RUNNER: &[(&str, &str)] = &[
    ("run", include_str!("runner/run")),
    ("tune.py", include_str!("runner/tune.py")),
    ("driver.py", include_str!("../../../test/gpu/driver.py")),
    ("timing.py", include_str!("../../../test/gpu/timing.py")),
    ("worker.py", include_str!("../../../test/gpu/worker.py")),
];

/// "ptxas 13.0", from ptxas's line of its version.
fn toolchain(ptxas: &Ptxas) -> Result<String> {
    let line = ptxas.version()?;
    let release = line.split("release ").nth(1).and_then(|rest| rest.split(',').next());
    Ok(format!("ptxas {}", release.unwrap_or("unknown")))
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path: PathBuf = folder.join(name);
    fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))
}

/// Adds the kernels of a product to the jobs.
fn plan(product: &Product, request: &Request<'_>, jobs: &mut BTreeMap<String, Job>) -> Result<Measured> {
    let class = Class::of(product, request.search.generation(request.chip), request.search.known)?;
    let mut kernels = Vec::new();
    for (_, kernel) in configurations(product, request.chip, &request.search)? {
        let name = format!("{}_{}", class.name(), kernel.short_name());
        kernels.push((name.clone(), in_table(kernel, &class)));
        jobs.entry(name.clone()).or_insert_with(|| Job { name, class: class.clone(), kernel });
    }
    let epilogue = match product.epilogue {
        Epilogue::Plain => "plain",
        Epilogue::Column => "column",
        Epilogue::Tensor => "tensor",
    };
    Ok(Measured {
        product: product.to_string(),
        sizes: product.members(),
        batch: product.batch,
        dtype: product.dtype.clone(),
        out: product.out.clone(),
        a_rows: product.a == Major::Row,
        b_rows: product.b == Major::Row,
        epilogue: epilogue.to_owned(),
        kernels,
    })
}

/// The table has the configuration as it is for any result.
fn in_table(kernel: GemmKernel, class: &Class) -> String {
    let GemmKernel::Sm90(config) = kernel else { return kernel.short_name() };
    let same = candidates().into_iter().find(|candidate| adapted(*candidate, class.tma_store) == config);
    same.unwrap_or(config).short_name()
}

/// What became of a job, by its number.
type Numbered = (usize, Result<(Entry, Origin)>);

/// Compiles the jobs, several at a time; in the order of the jobs.
fn compile_all(request: &Request<'_>, jobs: &[Job]) -> Result<Vec<Result<(Entry, Origin)>>> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let made: Mutex<Vec<Numbered>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..request.jobs.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(i) else { return };
                    let entry = compile(request, job).with_context(|| job.name.clone());
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1, jobs.len(), &job.name);
                    let mut made = made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    made.push((i, entry));
                }
            });
        }
    });
    let mut made = made.into_inner().map_err(|_| anyhow!("a thread that compiled kernels has panicked"))?;
    made.sort_by_key(|(i, _)| *i);
    Ok(made.into_iter().map(|(_, entry)| entry).collect())
}

/// A line that replaces itself on a terminal; elsewhere every sixteenth.
fn progress(done: usize, all: usize, name: &str) {
    use std::io::IsTerminal as _;
    if std::io::stderr().is_terminal() {
        let end = if done == all { "\n" } else { "" };
        eprint!("\r\x1b[K{done}/{all} {name}{end}");
    } else if done == all || done.is_multiple_of(16) {
        eprintln!("{done}/{all} kernels");
    }
}

/// One kernel, from the configuration to the cubin in the folder.
fn compile(request: &Request<'_>, job: &Job) -> Result<(Entry, Origin)> {
    let start = Instant::now();
    let problems = job.class.problems()?;
    let context = new_context();
    let mut module = Module::new(Location::unknown(&context));
    let whole = !dtype(&job.class.dtype)?.half() && dtype(&job.class.dtype)?.bytes() == 1;
    let code = |b, sum, extras: &[_]| epilogue(b, sum, extras, whole);
    let launch = job.kernel.emit(&context, &module, &job.name, &problems, &code)?;
    let ptx = codegen::ptx(&context, &mut module, request.chip)?;
    let (assembled, origin) = assemble(request.ptxas, &ptx, request.chip, request.cache)?;
    let report = assembled.kernels.into_iter().next().context("ptxas says nothing of the kernel")?;
    let file = format!("kernels/{}.cubin", job.name);
    write(request.folder, &file, &assembled.cubin)?;
    let name = job.kernel.short_name();
    let config = match job.kernel {
        GemmKernel::Sm90(c) => Shape { name, split: c.split, cluster: c.cluster, ctas_per_sm: c.ctas_per_sm },
        GemmKernel::Sm80(_) => Shape { name, split: 1, cluster: false, ctas_per_sm: 1 },
    };
    let (dtype, epilogue) = (job.class.dtype.clone(), job.class.name());
    let compile_ms = start.elapsed().as_millis();
    Ok((Entry { file, dtype, epilogue, config, launch, report, compile_ms }, origin))
}

/// The sum, and what the epilogue reads beside it; `whole`: of integers.
fn epilogue<'c>(b: Builder<'c>, sum: Val<'c>, extras: &[Val<'c>], whole: bool) -> Vec<Val<'c>> {
    use aitmlir_dialects::types::TypeExt as _;
    use melior::ir::ValueLike as _;
    let f32 = b.context().f32_type();
    let wide = |extra: Val<'c>| match extra.r#type().bits() {
        16 => b.op1("arith.extf", &[extra], f32, &[]),
        _ => extra,
    };
    let add = |sum, extra: &Val<'c>| if whole { b.addi(sum, *extra) } else { b.addf(sum, wide(*extra)) };
    vec![extras.iter().fold(sum, add)]
}
