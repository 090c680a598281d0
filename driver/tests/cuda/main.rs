//! Kernels for CUDA on the simulator, against the same models on the CPU: every file of `cases/`, for each of its element
//! types, on each of its shapes. A fault that the simulator finds fails the test.
//!
//! `conflicts.txt` has the bank conflicts of every run: a kernel that gets other ones fails. `BLESS=1` writes the file again.
//!
//! The head of a file says `// types: f32 f16` (each takes the place of `$T`), `// run: input0=7x33` (as often as there are runs),
//! `// table: 136x72x520 : co2_128x64_s3_sk_c1_g8` for a product's configuration, `// targets: sm_80 sm_90a` where sm_80 alone is not enough, and `// tolerance: 1e-3` where that of the type is not meant.

mod groups;
mod jagged;

use aitmlir_driver::compile::{self, Options, phases::Emit};
use aitmlir_driver::run::{
    compare::{Tolerance, compare},
    inputs::{NamedShape, Request, make},
    library::{Device, Library, Tensors},
    sim::{self, Simulator},
    tensor::Tensor,
};
use aitmlir_lowering::target::Target;
use aitmlir_runtime::info::DType;
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, OnceLock, PoisonError};

struct Case {
    name: String,
    text: String,
    target: String,
    tolerance: f64,
    /// Rows of a tuning table: products and their configurations.
    table: Vec<String>,
    runs: Vec<Vec<NamedShape>>,
}

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/cases");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the folder of cases").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let trials =
        files.iter().flat_map(|file| cases(file)).map(|case| Trial::test(case.name.clone(), move || run(&case)));
    let mut trials: Vec<Trial> = trials.collect();
    trials.push(Trial::test("without_a_gpu", without_a_gpu));
    trials.push(Trial::test("checks_name_their_node", checks_name_their_node));
    trials.push(Trial::test("graphs", graphs));
    trials.push(Trial::test("groups_sums", groups::sums));
    trials.push(Trial::test("groups_of_many_sizes", groups::many_sizes));
    trials.push(Trial::test("groups_do_not_mix", groups::do_not_mix));
    trials.push(Trial::test("groups_wrong_offsets", groups::wrong_offsets));
    trials.push(Trial::test("jagged_sums", jagged::sums));
    trials.push(Trial::test("jagged_sequences_do_not_mix", jagged::sequences_do_not_mix));
    trials.push(Trial::test("jagged_no_rows", jagged::no_rows));
    trials.push(Trial::test("jagged_wrong_offsets", jagged::wrong_offsets));
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    if std::env::var_os("BLESS").is_some() {
        bless();
    }
    conclusion.exit_code()
}

/// Passes over the banks of shared memory, and those that conflicts added.
type Passes = (u64, u64);

/// What this run counted, by case and shapes.
static COUNTED: Mutex<BTreeMap<String, Passes>> = Mutex::new(BTreeMap::new());

fn conflicts_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/conflicts.txt")
}

/// The lines of `conflicts.txt`: `CASE SHAPES: PASSES passes, ADDED added`.
fn expected_passes() -> &'static BTreeMap<String, Passes> {
    static FILE: OnceLock<BTreeMap<String, Passes>> = OnceLock::new();
    FILE.get_or_init(|| {
        let text = std::fs::read_to_string(conflicts_file()).unwrap_or_default();
        let line = |line: &str| {
            let (key, counts) = line.split_once(": ")?;
            let (passes, added) = counts.strip_suffix(" added")?.split_once(" passes, ")?;
            Some((key.to_owned(), (passes.parse().ok()?, added.parse().ok()?)))
        };
        text.lines().filter(|l| !l.starts_with('#')).map(|l| line(l).unwrap_or_else(|| panic!("`{l}`"))).collect()
    })
}

/// Writes what was counted, and keeps what this run, of some cases, did not count.
fn bless() {
    let mut lines = expected_passes().clone();
    lines.extend(COUNTED.lock().unwrap_or_else(PoisonError::into_inner).clone());
    let mut text = String::from(
        "# Passes over the banks of shared memory of each case and run, and how many of them bank conflicts added.\n\
         # Written by `BLESS=1 cargo test -p aitmlir-driver --test cuda`.\n",
    );
    for (key, (passes, added)) in lines {
        text += &format!("{key}: {passes} passes, {added} added\n");
    }
    std::fs::write(conflicts_file(), text).expect("conflicts.txt can be written");
}

/// Compares the bank conflicts of a run with those of the file.
fn check_conflicts(key: String, (passes, ideal): Passes) -> Result<(), Failed> {
    let counted = (passes, passes - ideal);
    COUNTED.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), counted);
    if std::env::var_os("BLESS").is_some() {
        return Ok(());
    }
    match expected_passes().get(&key) {
        Some(expected) if *expected == counted => Ok(()),
        Some((passes, added)) => {
            let (now, more) = counted;
            Err(format!("{key}: {now} passes over the banks, {more} by conflicts; conflicts.txt has {passes}, {added}")
                .into())
        }
        None => Err(format!(
            "{key}: {passes} passes over the banks, {} by conflicts, are not in conflicts.txt; look at them, then write it with BLESS=1",
            counted.1
        )
        .into()),
    }
}

fn cases(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).expect("a case");
    let stem = file.file_stem().expect("a name").to_string_lossy().into_owned();
    let listed = |key: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix("// ")?.strip_prefix(key));
        lines.map(|words| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let words = |key: &str, default: &str| {
        let found: Vec<String> = listed(key).into_iter().flatten().collect();
        if found.is_empty() { vec![default.to_owned()] } else { found }
    };
    let stated: Vec<String> = listed("tolerance:").into_iter().flatten().collect();
    let shape = |word: &String| word.parse::<NamedShape>().expect("NAME=SHAPE");
    let mut made = Vec::new();
    for target in words("targets:", "sm_80") {
        for element in words("types:", "f32") {
            made.push(Case {
                name: format!("{stem}::{target}::{element}"),
                text: text.replace("$T", &element),
                target: format!("cuda:{target}"),
                tolerance: match element.as_str() {
                    _ if !stated.is_empty() => stated[0].parse().expect("a tolerance"),
                    "f16" => 2e-3,
                    "bf16" => 1.6e-2,
                    "f64" => 1e-12,
                    _ => 2e-5,
                },
                table: listed("table:").iter().map(|words| words.join(" ")).collect(),
                runs: listed("run:").iter().map(|words| words.iter().map(shape).collect()).collect(),
            });
        }
    }
    made
}

fn library(case: &Case, target: &str, folder: &Path) -> Result<Library, Failed> {
    let (input, output) = (folder.join("model.mlir"), folder.join(format!("{}.so", &target[..3])));
    std::fs::write(&input, &case.text)?;
    let options = Options::new(input, output.clone(), Emit::So, Target::parse(target)?);
    let mut options = Options { embed_ptx: true, ..options };
    if !case.table.is_empty() && target != "cpu" {
        let table = folder.join("table.txt");
        let rows: String = case.table.iter().map(|row| format!("{row} 1.0 us\n")).collect();
        std::fs::write(&table, format!("[Simulator; 4 SMs; sm_90a; ptxas 13.0]\n{rows}"))?;
        options.tuning_table = Some(table);
    }
    compile::compile(&options).map_err(|error| format!("{target}: {error:#}"))?;
    Ok(Library::open(&output)?)
}

/// A library for CUDA opens and describes itself on any machine; where there is no driver, creating the model says so.
fn without_a_gpu() -> Result<(), Failed> {
    let text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = ait.map ins(%x : tensor<4xf32>) -> tensor<4xf32> {\n  \
        ^bb0(%e: f32):\n    %s = arith.negf %e : f32\n    ait.yield %s : f32\n  }\n  return %0 : tensor<4xf32>\n}\n";
    let (name, target, runs) = (String::new(), "cuda:sm_80".to_owned(), Vec::new());
    let case = Case { name, text: text.to_owned(), target, tolerance: 0.0, table: Vec::new(), runs };
    let folder = tempfile::tempdir()?;
    let library = library(&case, &case.target, folder.path())?;
    assert_eq!(library.info().target, "cuda:sm_80");
    let device = library.info().device.as_ref().ok_or("a description of the device's part")?;
    assert_eq!((device.architecture.as_str(), device.kernels.len()), ("sm_80", 1));
    if Path::new("/dev/nvidiactl").exists() {
        return Ok(());
    }
    let error = library.create(None, 1, Device::Cuda(0)).map(|_| ()).expect_err("no GPU").to_string();
    assert!(error.starts_with("cannot run on CUDA device 0: "), "{error}");
    Ok(())
}

/// An index out of range is told with the node of its launch, by the CPU and by the device: kernels are shared by launches.
fn checks_name_their_node() -> Result<(), Failed> {
    let text = "func.func @main(%x: tensor<10x4xf32>, %i: tensor<3xi64>, %j: tensor<3xi64>) -> tensor<3x4xf32> {
        %0 = ait.gather slices %x[%i] : tensor<10x4xf32>, tensor<3xi64> -> tensor<3x4xf32> loc(\"/model/Gather_2\")
        %1 = ait.gather slices %x[%j] : tensor<10x4xf32>, tensor<3xi64> -> tensor<3x4xf32> loc(\"/model/Gather_3\")
        %2 = ait.map ins(%0, %1 : tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32> {
        ^bb0(%a: f32, %b: f32):
          %s = arith.addf %a, %b : f32
          ait.yield %s : f32
        }
        return %2 : tensor<3x4xf32>
      }\n";
    let (name, target, runs) = (String::new(), "cuda:sm_80".to_owned(), Vec::new());
    let case = Case { name, text: text.to_owned(), target, tolerance: 0.0, table: Vec::new(), runs };
    let folder = tempfile::tempdir()?;
    let (cpu, cuda) = (library(&case, "cpu", folder.path())?, library(&case, &case.target, folder.path())?);
    let indices = |values: [i64; 3]| Tensor::from_bytes(DType::I64, &[3], &values.map(i64::to_le_bytes).concat());
    let (good, bad, worse) = ([0, -10, 9], [1, 12, 3], [0, 0, -11]);
    for (i, j, expected) in [
        (good, bad, "gather '/model/Gather_3': index of axis 0 is 12, expected an index in [-10, 10)"),
        (worse, good, "gather '/model/Gather_2': index of axis 0 is -11, expected an index in [-10, 10)"),
        (worse, bad, "gather '/model/Gather_2': index of axis 0 is -11, expected an index in [-10, 10)"),
    ] {
        let inputs = [Tensor::zeros(DType::F32, &[10, 4])?, indices(i)?, indices(j)?];
        let simulator = Simulator::new(sim::Options { checks: ptx_sim::Checks::ALL, counters: false, svg: None });
        for model in [cpu.create(None, 2, Device::default())?, cuda.create(None, 1, Device::Table(simulator.table()))?]
        {
            let error = model.run(&inputs).expect_err("an index out of range").to_string();
            assert_eq!(error, expected);
            let fine = [Tensor::zeros(DType::F32, &[10, 4])?, indices(good)?, indices(good)?];
            assert_eq!(model.run(&fine)?[0].dims(), [3, 4]);
        }
    }
    Ok(())
}

/// Runs that come again on the same memory are graphs, on what is in it by then; others are not, and the oldest graphs go.
fn graphs() -> Result<(), Failed> {
    let text = "func.func @main(%x: tensor<?xf32> {ait.dims = [\"n\"]}) -> tensor<?xf32> {\n  %0 = ait.map ins(%x : tensor<?xf32>) -> tensor<?xf32> {\n  \
        ^bb0(%e: f32):\n    %s = arith.addf %e, %e : f32\n    ait.yield %s : f32\n  }\n  return %0 : tensor<?xf32>\n}\n";
    let (name, target, runs) = (String::new(), "cuda:sm_80".to_owned(), Vec::new());
    let case = Case { name, text: text.to_owned(), target, tolerance: 0.0, table: Vec::new(), runs };
    let folder = tempfile::tempdir()?;
    let library = library(&case, &case.target, folder.path())?;
    let simulator = Simulator::new(sim::Options { checks: ptx_sim::Checks::ALL, counters: false, svg: None });
    let model = library.create_with_graphs(None, 1, Device::Table(simulator.table()), 2)?;
    let memory = |bytes: u64| {
        let mut made = std::ptr::null_mut();
        // SAFETY: the simulator's table, and a place for the address.
        let status = unsafe { (simulator.table().alloc)(simulator.table().context, bytes, &mut made) };
        assert_eq!(status, 0);
        made.cast::<u8>()
    };
    let (from, to, other) = (memory(64), memory(64), memory(64));
    let run = |n: usize, first: f32, to: *mut u8| -> Result<(), Failed> {
        let bytes =
            |f: &dyn Fn(f32) -> f32| (0..n).flat_map(|i| f(first + i as f32).to_le_bytes()).collect::<Vec<u8>>();
        let (given, expected) = (bytes(&|x| x), bytes(&|x| 2.0 * x));
        let table = simulator.table();
        // SAFETY: device memory of 64 bytes, of which these are a part.
        unsafe {
            (table.copy_in)(table.context, from.cast(), given.as_ptr().cast(), given.len() as u64, std::ptr::null_mut())
        };
        let dims = [n as i64];
        let [input, output] =
            [Tensor::from_bytes(DType::F32, &dims, &given)?, Tensor::from_bytes(DType::F32, &dims, &given)?];
        let (inputs, outputs) = ([input], [output]);
        let (mut inputs, mut outputs) = (Tensors::on_device(&inputs, &[from]), Tensors::on_device(&outputs, &[to]));
        // SAFETY: the default stream.
        unsafe { model.run_on(&mut inputs, &mut outputs, std::ptr::null_mut()) }?;
        let mut found = vec![0u8; given.len()];
        // SAFETY: as above.
        unsafe {
            (table.copy_out)(
                table.context,
                found.as_mut_ptr().cast(),
                to.cast(),
                found.len() as u64,
                std::ptr::null_mut(),
            )
        };
        assert_eq!(found, expected, "{n} elements");
        Ok(())
    };
    for i in 0..4 {
        run(8, i as f32, to)?;
    }
    assert_eq!(simulator.graphs(), (1, 3), "the second run is captured, and the others launch its graph");
    run(5, 1.0, to)?;
    run(8, 9.0, to)?;
    assert_eq!(simulator.graphs(), (1, 4), "another shape is another run; it leaves the graph");
    run(8, 2.0, other)?;
    run(8, 3.0, other)?;
    assert_eq!(simulator.graphs(), (2, 5), "other memory is another run");
    run(5, 4.0, to)?;
    run(5, 5.0, to)?;
    assert_eq!(simulator.graphs(), (3, 6), "of three the one that was not used for longest is forgotten");
    let (findings, text) = simulator.report();
    assert_eq!(findings, 0, "{text}");
    Ok(())
}

fn run(case: &Case) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (cpu, cuda) = (library(case, "cpu", folder.path())?, library(case, &case.target, folder.path())?);
    let tolerance = Tolerance { rtol: case.tolerance, atol: case.tolerance };
    for (seed, shapes) in case.runs.iter().enumerate() {
        let what = shapes.iter().map(|s| format!("{}={:?} ", s.name, s.dims)).collect::<String>();
        let request = Request { shapes: shapes.clone(), seed: seed as u64, ..Request::default() };
        let inputs = make(cuda.info(), &request)?;
        let expected = cpu.create(None, 1, Device::default())?.run(&inputs)?;
        let simulator = Simulator::new(sim::Options { checks: ptx_sim::Checks::ALL, counters: true, svg: None });
        let found = cuda.create(None, 1, Device::Table(simulator.table()))?.run(&inputs);
        let found = found.map_err(|error| format!("{what}: {error}"))?;
        for ((info, found), expected) in cuda.info().outputs.iter().zip(&found).zip(&expected) {
            let result = compare(&info.name, found, expected, tolerance);
            if !result.pass {
                return Err(format!("{what}: {}: {:?}", info.name, result.problem).into());
            }
        }
        let (findings, text) = simulator.report();
        if findings > 0 {
            return Err(format!("{what}: {text}").into());
        }
        check_conflicts(format!("{} {}", case.name, what.trim_end()), simulator.shared_passes())?;
    }
    Ok(())
}
