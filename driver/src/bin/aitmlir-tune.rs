//! `aitmlir-tune`: measures which configurations of matrix products are the fastest on a GPU.

use aitmlir_driver::{
    compile::{Options, cache, cache::Cache, phases::Emit},
    tune::{
        build::{Request, build},
        import::{Given, merge, rows},
        products,
        search::{Search, configurations},
    },
};
use aitmlir_lowering::{
    cuda::{
        kernels::gemm_kernel::GemmKernel,
        ptxas::Ptxas,
        tuning::{Product, Table, Tuning},
    },
    target::Target,
};
use aitmlir_onnx::overrides::{DimOverride, ShapeOverride};
use anyhow::{Context as _, Result, bail};
use clap::{Args, Parser, Subcommand};
use std::{fs, io::Write as _, path::Path, path::PathBuf, process::ExitCode};

/// Finds the fastest configuration of matrix products on a GPU: `build` here, run the folder on the machine with the GPU, `import` what it wrote.
///
///   aitmlir-tune build model.onnx --dim batch=8 -o tune     compiles the candidates
///   tune/run                                                on the GPU's machine, with Python 3 and torch: writes tune/results.json
///   aitmlir-tune import tune/results.json --table h200.txt  takes the winners into a table
///   aitmlir-compile model.onnx --target cuda:sm_90a --tuning-table h200.txt
#[derive(Parser)]
#[command(version, verbatim_doc_comment)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile the configurations that could be the fastest into a folder that measures them
    Build(Box<Build>),
    /// Take the winners of a folder's results.json into a table
    Import(Import),
    /// List the configurations of a product, with the clocks that each is expected to take
    List {
        /// The product: MxNxK, and what differs from a dense f16 product of A [M, K] and B [N, K]: batch=, dtype=, out=, a=row|col,
        /// b=row|col, epilogue=plain|column|tensor; a group is a sum such as 8*256x768x768+512x768x768
        #[arg(required = true, num_args = 1..)]
        product: Vec<String>,
    },
}

#[derive(Args)]
struct Build {
    /// A model, whose products are measured: .onnx, or .mlir of the ait dialect
    model: Option<PathBuf>,
    /// A list of products, one a line: 4096x3072x768 batch=2 dtype=bf16 a=row b=col epilogue=column
    #[arg(long, value_name = "FILE")]
    products: Vec<PathBuf>,
    /// One product, such as 4096x3072x768, or '16x4096x4096 dtype=bf16'; or a group, such as 8*256x768x768
    #[arg(long, value_name = "PRODUCT")]
    product: Vec<Product>,
    /// The folder to write
    #[arg(short, long)]
    output: PathBuf,
    /// The GPU
    #[arg(long, default_value = "cuda:sm_90a")]
    target: String,
    /// Measure so many configurations a product: those that are expected to be the fastest [default: all]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Leave out configurations that are expected to take so many times as long as the best one
    #[arg(long, value_name = "FACTOR", default_value_t = Search::default().margin)]
    margin: f64,
    /// Measure every legal configuration, not only those that the compiler chooses from: thousands, so give --top too
    #[arg(long)]
    exhaustive: bool,
    /// Measure these configurations, by their names, and no others
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    configurations: Vec<String>,
    /// Compile kernels that know their product's sizes, as those of a model of fixed shapes do, instead of kernels for all sizes
    #[arg(long)]
    known: bool,
    /// Measure the kernel for sm_80 also where there is a newer one
    #[arg(long)]
    older: bool,
    /// Compile so many kernels at the same time [default: one a CPU]
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
    /// Pin or bound a dynamic dimension of the model: NAME=4
    #[arg(long = "dim", value_name = "NAME=RANGE")]
    dims: Vec<DimOverride>,
    /// Pin the shape of an input of the model: NAME=1x3x224x224
    #[arg(long = "shape", value_name = "NAME=SHAPE")]
    shapes: Vec<ShapeOverride>,
    /// The ptxas to use [default: the first on PATH and under CUDA_HOME, CUDA_PATH, CUDA_ROOT]
    #[arg(long, value_name = "FILE")]
    ptxas: Option<PathBuf>,
    /// The folder of cubins that were compiled before [default: $AITMLIR_CACHE_DIR, or aitmlir in the user's cache folder]
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    cache_dir: Option<PathBuf>,
    /// Compile all kernels anew, and keep none
    #[arg(long)]
    no_cache: bool,
}

#[derive(Args)]
struct Import {
    /// What a folder has written
    results: PathBuf,
    /// The table, which is made where there is none
    #[arg(long, value_name = "FILE")]
    table: PathBuf,
    /// The GPU's multiprocessors, where the results do not say
    #[arg(long, value_name = "N")]
    sms: Option<u32>,
    /// What made the kernels, where the results do not say: 'ptxas 13.0'
    #[arg(long)]
    toolchain: Option<String>,
    /// Say what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Build(arguments) => run_build(*arguments),
        Command::Import(arguments) => run_import(&arguments),
        Command::List { product } => run_list(&product.join(" ")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run_build(arguments: Build) -> Result<()> {
    let target = Target::parse(&arguments.target)?;
    let chip = target.chip().context("only products for a GPU have configurations to choose from")?;
    let mut list = arguments.product;
    for path in &arguments.products {
        list.extend(products::read(path)?);
    }
    if let Some(model) = &arguments.model {
        let options = Options {
            dims: arguments.dims,
            shapes: arguments.shapes,
            ..Options::new(model.clone(), PathBuf::new(), Emit::Linalg, target)
        };
        let found = products::of_model(&options)?;
        found.iter().for_each(|product| eprintln!("{}: {product}", model.display()));
        list.extend(found);
    }
    list.sort();
    list.dedup();
    if list.is_empty() {
        bail!("no product to measure: give a model that has some, --products or --product");
    }
    let named = arguments
        .configurations
        .iter()
        .map(|name| GemmKernel::parse(name).with_context(|| format!("'{name}' is no configuration of this compiler")));
    let named = named.collect::<Result<Vec<_>>>()?;
    let ptxas = Ptxas::find(arguments.ptxas.as_deref())?;
    let folder = if arguments.no_cache { None } else { arguments.cache_dir.or_else(cache::default_folder) };
    let cache = folder.map(Cache::new);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let built = build(&Request {
        products: &list,
        chip,
        ptxas: &ptxas,
        cache: cache.as_ref(),
        search: Search {
            top: arguments.top,
            margin: arguments.margin,
            exhaustive: arguments.exhaustive,
            named,
            known: arguments.known,
            older: arguments.older,
        },
        jobs: arguments.jobs.unwrap_or(cores),
        folder: &arguments.output,
    })?;
    built.left_out.iter().for_each(|line| eprintln!("left out: {line}"));
    let folder = arguments.output.display();
    println!("{} products, {} kernels ({} from the cache) in {folder}", built.products, built.kernels, built.cached);
    println!("copy it to a machine with the GPU, Python 3 and torch, and start {folder}/run there");
    if built.products == 0 { Err(anyhow::anyhow!("no product can be measured")) } else { Ok(()) }
}

fn run_import(arguments: &Import) -> Result<()> {
    let text =
        fs::read_to_string(&arguments.results).with_context(|| format!("reading {}", arguments.results.display()))?;
    let given = Given { sms: arguments.sms, toolchain: arguments.toolchain.clone() };
    let (rows, missing) = rows(&text, &given).with_context(|| arguments.results.display().to_string())?;
    let path: &Path = &arguments.table;
    let mut table = if path.exists() { Table::read(path)? } else { Table::default() };
    let changes = merge(&mut table, rows);
    changes.iter().for_each(|change| println!("{change}"));
    missing.iter().for_each(|line| println!("missing  {line}"));
    if arguments.dry_run {
        return Ok(());
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let writing = || format!("writing {}", path.display());
    // As the user's other files are, which temporary ones are not.
    let permissions = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666);
    let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(folder).with_context(writing)?;
    file.write_all(table.to_string().as_bytes()).with_context(writing)?;
    file.persist(path).map_err(|cause| cause.error).with_context(writing)?;
    println!("{} rows in {}", table.rows().len(), path.display());
    Ok(())
}

fn run_list(text: &str) -> Result<()> {
    let product: Product = text.parse()?;
    let target = Target::parse("cuda:sm_90a")?;
    let chip = target.chip().context("no such GPU")?;
    let mut lines = vec![product.to_string()];
    lines.push(match Tuning::default().find("sm_90a", &product) {
        Some(config) => format!("  measured: {config}"),
        None => "  not measured: the cheapest is taken".to_owned(),
    });
    for (cost, kernel) in configurations(&product, chip, &Search::default())? {
        let clocks = cost.map_or_else(|| "not modelled".to_owned(), |cost| format!("{cost:.0} clocks"));
        lines.push(format!("  {:32} {clocks:>16}", kernel.short_name()));
    }
    match std::io::stdout().write_all((lines.join("\n") + "\n").as_bytes()) {
        // Who reads only the first lines has what they want.
        Err(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("writing to standard output"),
    }
}
