//! Compiles the configurations that could be the fastest for some products into a folder that measures them by itself.

use crate::compile::{
    cache::Cache,
    device::{Origin, assemble},
};
use aitmlir_dialects::{builder::Builder, new_context, types::Types, types::Val};
use aitmlir_lowering::cuda::{
    chip::Chip,
    codegen,
    kernels::{
        gemm_sm90::{
            self, Config,
            choose::{Sizes, adapted, legal},
        },
        problem::{Dtype, Problem},
    },
    ptxas::{KernelReport, Ptxas},
    tuning::{Epilogue, Major, Product},
};
use anyhow::{Context as _, Result, anyhow, bail};
use kernel_launch::{Expr, KernelLaunch};
use melior::ir::{Location, Module};
use serde::Serialize;
use std::{
    collections::{BTreeMap, HashSet},
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
    /// So many configurations a product at most: those that are expected to be the fastest.
    pub top: Option<usize>,
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

/// What products must have in common to be computed by the same kernels, whose sizes are known at run time alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Class {
    dtype: String,
    out: String,
    a: Major,
    b: Major,
    epilogue: Epilogue,
    batched: bool,
    /// Columns are even, and rows of the result are read in pairs.
    pairs: bool,
    tma_store: bool,
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
    sizes: [i64; 4],
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
    config: Config,
}

fn dtype(name: &str) -> Result<Dtype> {
    let all = [Dtype::F16, Dtype::Bf16, Dtype::F32];
    all.into_iter().find(|d| d.name() == name).with_context(|| format!("no products of {name} are tuned"))
}

impl Class {
    fn of(product: &Product) -> Result<Class> {
        let out_bytes = product.n * dtype(&product.out)?.bytes();
        Ok(Class {
            dtype: product.dtype.clone(),
            out: product.out.clone(),
            a: product.a,
            b: product.b,
            epilogue: product.epilogue,
            batched: product.batch > 1,
            pairs: product.n % 2 == 0,
            tma_store: out_bytes % 16 == 0,
        })
    }

    /// The problem with its sizes as run-time integers: M, N, K, and the batch where there is one.
    fn problem(&self) -> Result<Problem> {
        let (m, n, k, batch) = (Expr::Dim(0), Expr::Dim(1), Expr::Dim(2), Expr::Dim(3));
        let mut problem = Problem::linear(dtype(&self.dtype)?, m.clone(), n.clone(), k.clone());
        problem.out_dtype = dtype(&self.out)?;
        if self.a == Major::Column {
            (problem.a.line, problem.a.inner) = (m.clone(), false);
        }
        if self.b == Major::Row {
            (problem.b.line, problem.b.inner) = (n.clone(), false);
        }
        if self.epilogue != Epilogue::Plain {
            problem = problem.with_bias();
        }
        for extra in &mut problem.extras {
            extra.pairs = self.pairs;
            if self.epilogue == Epilogue::Tensor {
                extra.row = Some(n.clone());
            }
        }
        if self.batched {
            problem.dims.push("batch".to_owned());
            problem.batch = batch;
            problem.a.batch = Some(m.clone() * k.clone());
            problem.b.batch = Some(n.clone() * k);
            problem.out.batch = Some(m.clone() * n.clone());
            if self.epilogue == Epilogue::Tensor {
                problem.extras.iter_mut().for_each(|extra| extra.batch = Some(m.clone() * n.clone()));
            }
        }
        Ok(problem)
    }

    fn name(&self) -> String {
        let major = |major| if major == Major::Row { "r" } else { "c" };
        let epilogue = match self.epilogue {
            Epilogue::Plain => "plain",
            Epilogue::Column => "column",
            Epilogue::Tensor => "tensor",
        };
        let (a, b) = (major(self.a), major(self.b));
        let batch = if self.batched { "_batch" } else { "" };
        let odd = if self.pairs { "" } else { "_odd" };
        format!("gemm_{}_{}_{a}{b}_{epilogue}{batch}{odd}", self.dtype, self.out)
    }
}

/// A configuration that is expected to take longer than the cheapest one by this factor is not measured. Of the products that the model was fitted to,
/// the fastest configuration was expected to take 1.25 times as long as the cheapest one at most.
const MARGIN: f64 = 1.3;

/// The configurations to measure for a product, with the table's names of them, the cheapest first.
pub fn configurations(product: &Product, top: Option<usize>) -> Result<Vec<(Option<f64>, Config)>> {
    let class = Class::of(product)?;
    let sizes = Sizes { m: product.m, n: product.n, k: product.k, batch: product.batch };
    let lines = [
        if product.a == Major::Row { product.k } else { product.m },
        if product.b == Major::Row { product.n } else { product.k },
    ];
    if lines.iter().any(|line| line * dtype(&product.dtype).map_or(1, Dtype::bytes) % 16 != 0) {
        bail!("{product}: lines of A and B that are not multiples of 16 bytes are not for the kernel of sm_90a");
    }
    let mut list = legal(sizes, &class.problem()?, class.tma_store);
    let expected = |(cost, _): &(Option<f64>, Config)| cost.unwrap_or(f64::INFINITY);
    let least = list.iter().map(expected).fold(f64::INFINITY, f64::min);
    list.retain(|each| expected(each).is_finite() && expected(each) <= MARGIN * least);
    list.sort_by(|a, b| expected(a).total_cmp(&expected(b)));
    // Where results leave by plain stores, candidates that differ in nothing else are one.
    let mut names = HashSet::new();
    list.retain(|(_, config)| names.insert(config.short_name()));
    list.truncate(top.unwrap_or(usize::MAX));
    if list.is_empty() {
        bail!("{product}: no configuration is legal");
    }
    Ok(list)
}

/// Compiles all kernels and writes the folder.
pub fn build(request: &Request<'_>) -> Result<Built> {
    let mut left_out = Vec::new();
    let (mut jobs, mut products) = (BTreeMap::new(), Vec::new());
    for product in request.products {
        match plan(product, request.top, &mut jobs) {
            Ok(measured) => products.push(measured),
            Err(cause) => left_out.push(format!("{cause:#}")),
        }
    }
    let kernels = request.folder.join("kernels");
    fs::create_dir_all(&kernels).with_context(|| format!("creating {}", kernels.display()))?;
    let jobs: Vec<Job> = jobs.into_values().collect();
    let made = compile_all(request, &jobs)?;
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
fn plan(product: &Product, top: Option<usize>, jobs: &mut BTreeMap<String, Job>) -> Result<Measured> {
    let class = Class::of(product)?;
    let mut kernels = Vec::new();
    for (_, config) in configurations(product, top)? {
        let name = format!("{}_{}", class.name(), config.short_name());
        // The table has the configuration as it is for any result.
        let in_table = gemm_sm90::choose::candidates()
            .into_iter()
            .find(|candidate| adapted(*candidate, class.tma_store) == config)
            .map_or_else(|| config.short_name(), |candidate| candidate.short_name());
        kernels.push((name.clone(), in_table));
        jobs.entry(name.clone()).or_insert_with(|| Job { name, class: class.clone(), config });
    }
    let epilogue = match product.epilogue {
        Epilogue::Plain => "plain",
        Epilogue::Column => "column",
        Epilogue::Tensor => "tensor",
    };
    Ok(Measured {
        product: product.to_string(),
        sizes: [product.m, product.n, product.k, product.batch],
        dtype: product.dtype.clone(),
        out: product.out.clone(),
        a_rows: product.a == Major::Row,
        b_rows: product.b == Major::Row,
        epilogue: epilogue.to_owned(),
        kernels,
    })
}

/// What became of a job, by its number.
type Numbered = (usize, Result<(Entry, Origin)>);

/// Compiles the jobs, several at a time; in the order of the jobs.
fn compile_all(request: &Request<'_>, jobs: &[Job]) -> Result<Vec<(Entry, Origin)>> {
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
    made.into_iter().map(|(_, entry)| entry).collect()
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
    let problem = job.class.problem()?;
    let context = new_context();
    let mut module = Module::new(Location::unknown(&context));
    let launch = gemm_sm90::emit(&context, &module, &job.name, &problem, job.config, &epilogue)?;
    let ptx = codegen::ptx(&context, &mut module, request.chip)?;
    let (assembled, origin) = assemble(request.ptxas, &ptx, request.chip, request.cache)?;
    let report = assembled.kernels.into_iter().next().context("ptxas says nothing of the kernel")?;
    let file = format!("kernels/{}.cubin", job.name);
    write(request.folder, &file, &assembled.cubin)?;
    let config = Shape {
        name: job.config.short_name(),
        split: job.config.split,
        cluster: job.config.cluster,
        ctas_per_sm: job.config.ctas_per_sm,
    };
    let (dtype, epilogue) = (job.class.dtype.clone(), job.class.name());
    let compile_ms = start.elapsed().as_millis();
    Ok((Entry { file, dtype, epilogue, config, launch, report, compile_ms }, origin))
}

/// The sum, and what the epilogue reads beside it.
fn epilogue<'c>(b: Builder<'c>, sum: Val<'c>, extras: &[Val<'c>]) -> Vec<Val<'c>> {
    let f32 = b.context().f32_type();
    vec![extras.iter().fold(sum, |sum, extra| b.addf(sum, b.op1("arith.extf", &[*extra], f32, &[])))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(text: &str) -> Product {
        text.parse().expect("a product")
    }

    #[test]
    fn what_is_measured_is_legal_and_named_once() {
        for text in [
            "4096x3072x768",
            "16x4096x4096",
            "128x128x65536",
            "64x64x64 batch=8 epilogue=tensor",
            "96x88x72 a=col b=row",
        ] {
            let list = configurations(&product(text), None).expect("configurations");
            assert!(list.len() > 3, "{text}: {}", list.len());
            let names: HashSet<String> = list.iter().map(|(_, c)| c.short_name()).collect();
            assert_eq!(names.len(), list.len());
            assert!(configurations(&product(text), Some(2)).expect("configurations").len() == 2);
        }
    }

    #[test]
    fn few_rows_are_measured_transposed() {
        let list = configurations(&product("16x4096x4096"), None).expect("configurations");
        assert!(list.iter().all(|(_, config)| config.swapped && config.columns == 16));
    }

    #[test]
    fn lines_that_tma_does_not_take_are_left_out() {
        let error = configurations(&product("64x64x1001"), None).expect_err("odd lines").to_string();
        assert!(error.contains("lines of A and B that are not multiples of 16 bytes"), "{error}");
    }

    #[test]
    fn results_that_tma_does_not_store_leave_plainly() {
        let list = configurations(&product("512x100x512"), None).expect("configurations");
        assert!(list.iter().all(|(_, config)| !config.tma_store));
    }
}
