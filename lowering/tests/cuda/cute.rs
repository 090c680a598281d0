//! The examples of `docs/cute.md`, compiled and run on the simulator.

use aitmlir_dialects::{
    ait::OpView,
    builder::{block_of, operations_of},
    new_context,
    pass::run_pass,
};
use aitmlir_lowering::cuda::{
    chip, codegen,
    to_nvvm::{self, TO_NVVM},
};
use half::f16;
use melior::{
    Context,
    ir::{Module, OperationRef, operation::OperationLike},
};
use ptx_sim::{Args, GlobalMemory, Launch, Use, compile, run};

/// A kernel of the dialect as PTX, with what it asks of its launch.
struct Compiled {
    ptx: String,
    /// Its tensor maps.
    maps: Vec<String>,
    /// Bytes of dynamic shared memory.
    shared: u32,
}

fn compiled(context: &Context, mut module: Module<'_>, chip: &str) -> Compiled {
    assert!(module.as_operation().verify(), "the kernel verifies");
    // SAFETY: the module outlives the pass.
    let op = unsafe { OperationRef::from_raw(module.as_operation().to_raw()) };
    run_pass(&TO_NVVM, op, &[]).expect("the example lowers");
    let functions = block_of(op, 0).map(operations_of).unwrap_or_default();
    let maps = functions.iter().flat_map(|f| OpView(*f).strings(to_nvvm::MAPS)).collect();
    let shared = functions.iter().filter_map(|f| OpView(*f).i64(to_nvvm::SHARED_BYTES)).sum::<i64>();
    let ptx = codegen::ptx(context, &mut module, chip::chip(chip).expect("a chip")).expect("LLVM compiles it");
    Compiled { ptx, maps, shared: u32::try_from(shared).expect("a size") }
}

/// An argument of a kernel.
pub enum Arg<'a> {
    /// A pointer to these bytes.
    In(&'a [u8]),
    /// A pointer to so many bytes that the kernel writes.
    Out(usize),
    /// A number.
    Int(u32),
    /// A tensor map of a dense matrix with these rows and columns, in these bytes, with what the kernel asks of it.
    MapIn(&'a [u8], [u64; 2]),
    /// The same of a matrix that the kernel writes.
    MapOut([u64; 2]),
    /// The same of a matrix in these bytes that the kernel writes to.
    MapInOut(&'a [u8], [u64; 2]),
}

/// The tensor map that parameter `i` of a kernel must be, from what lowering has written on it: `0: f16 box [64, 64] swizzle 128`.
fn tensor_map(asked: &[String], i: usize, address: u64, [rows, columns]: [u64; 2]) -> (ptx_sim::TensorMap, u64) {
    let prefix = format!("{i}: ");
    let text = asked.iter().find_map(|text| text.strip_prefix(&prefix)).expect("the kernel asks for the map");
    let (element, rest) = text.split_once(" box [").expect("a box");
    let (boxes, swizzle) = rest.split_once("] swizzle ").expect("a swizzle");
    let boxes: Vec<u32> = boxes.split(", ").map(|n| n.parse().expect("a size")).collect();
    let (element, bytes) = match element {
        "f16" => (ptx_sim::Element::F16, 2),
        "bf16" => (ptx_sim::Element::Bf16, 2),
        "f32" => (ptx_sim::Element::F32, 4),
        "s32" => (ptx_sim::Element::S32, 4),
        other => panic!("no test has maps of {other}"),
    };
    let swizzle = match swizzle {
        "0" => ptx_sim::Swizzle::None,
        "128" => ptx_sim::Swizzle::B128,
        other => panic!("no test has a swizzle of {other}"),
    };
    let map = ptx_sim::TensorMap::tiled(element, address, &[columns, rows], &boxes, swizzle);
    (map, rows * columns * bytes)
}

/// The kernels whose accesses of shared memory are said to have no bank conflicts.
const WITHOUT_CONFLICTS: [&str; 3] = ["edges", "gemm", "persistent_gemm"];

/// Compiles and runs an example.
pub fn simulate(text: &str, kernel: &str, grid: [u32; 3], threads: u32, args: &[Arg<'_>]) -> Vec<u8> {
    let context = new_context();
    let module = Module::parse(&context, text).expect("the example parses");
    let chip = if ["wgmma", "tma_", "stmatrix", "pipeline"].iter().any(|word| text.contains(word)) {
        "sm_90a"
    } else {
        "sm_80"
    };
    simulate_module(&context, module, chip, kernel, grid, threads, args)
}

/// Runs a kernel; the bytes of the one output. Fails where the simulator finds a race or a bad access.
pub fn simulate_module(
    context: &Context,
    module: Module<'_>,
    chip: &str,
    kernel: &str,
    grid: [u32; 3],
    threads: u32,
    args: &[Arg<'_>],
) -> Vec<u8> {
    let Compiled { ptx, maps, shared } = compiled(context, module, chip);
    assert!(!ptx.contains(".local"), "registers stay registers:\n{ptx}");
    let mut global = GlobalMemory::default();
    let program = compile(&ptx, kernel, &mut global).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    let mut output = None;
    let mut params = Args::new(&program);
    for (i, arg) in args.iter().enumerate() {
        params = match arg {
            Arg::In(bytes) => {
                let address = global.allocate(&format!("argument {i}"), bytes.len() as u64, Use::Input);
                global.upload(address, bytes).expect("an input");
                params.u64(address)
            }
            Arg::Out(bytes) => {
                let address = global.allocate(&format!("argument {i}"), *bytes as u64, Use::Output);
                output = Some((address, *bytes));
                params.u64(address)
            }
            Arg::Int(value) => params.u32(*value),
            Arg::MapIn(bytes, sizes) => {
                let address = global.allocate(&format!("argument {i}"), bytes.len() as u64, Use::Input);
                global.upload(address, bytes).expect("an input");
                params.map(&tensor_map(&maps, i, address, *sizes).0)
            }
            Arg::MapOut(sizes) => {
                let (_, bytes) = tensor_map(&maps, i, 0, *sizes);
                let address = global.allocate(&format!("argument {i}"), bytes, Use::Output);
                output = Some((address, bytes as usize));
                params.map(&tensor_map(&maps, i, address, *sizes).0)
            }
            Arg::MapInOut(bytes, sizes) => {
                let address = global.allocate(&format!("argument {i}"), bytes.len() as u64, Use::InOut);
                global.upload(address, bytes).expect("an input");
                output = Some((address, bytes.len()));
                params.map(&tensor_map(&maps, i, address, *sizes).0)
            }
        };
    }
    let params = params.done().expect("the parameters fit");
    let block = [threads, 1, 1];
    let launch = Launch { grid, block, params, dynamic_shared: shared, counters: true, ..Launch::default() };
    let outcome = run(&program, &launch, &global).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    let findings: Vec<_> = outcome.findings.iter().map(|f| format!("{f:?}")).collect();
    assert!(findings.is_empty(), "{}\n{ptx}", findings.join("\n"));
    if WITHOUT_CONFLICTS.contains(&kernel) {
        let sum = |of: fn(&ptx_sim::counters::Line) -> u64| outcome.counters.lines.iter().map(of).sum::<u64>();
        assert_eq!(sum(|line| line.shared_passes), sum(|line| line.shared_ideal), "{kernel} has bank conflicts");
    }
    let (address, bytes) = output.expect("an output");
    global.download(address, bytes).expect("the output")
}

/// Numbers in [-1, 1], the same in every run.
pub fn random(count: usize, seed: u64) -> Vec<f16> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        f16::from_f64(((state >> 33) as f64) / f64::from(1u32 << 30) - 1.0)
    };
    (0..count).map(|_| next()).collect()
}

pub fn bytes(values: &[f16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn halves(bytes: &[u8]) -> Vec<f16> {
    bytes.chunks(2).map(|b| f16::from_le_bytes([b[0], b[1]])).collect()
}

/// A B^T with A (m, k) and B (n, k), in f64.
pub fn product(a: &[f16], b: &[f16], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let dot = |i: usize, j: usize| (0..k).map(|x| a[i * k + x].to_f64() * b[j * k + x].to_f64()).sum();
    (0..m * n).map(|at| dot(at / n, at % n)).collect()
}

macro_rules! example {
    ($name:literal) => {
        include_str!(concat!("../../../test/lit/cute/examples/", $name, ".mlir"))
    };
}

#[test]
fn a_copy() {
    let row = random(16, 1);
    let out = simulate(example!("copy"), "copy", [1, 1, 1], 1, &[Arg::In(&bytes(&row)), Arg::Out(32)]);
    assert_eq!(halves(&out), row);
}

#[test]
fn a_tiled_copy_transposes() {
    let (rows, columns) = (192, 128);
    let matrix = random(rows * columns, 2);
    let args =
        [Arg::In(&bytes(&matrix)), Arg::Out(2 * rows * columns), Arg::Int(rows as u32), Arg::Int(columns as u32)];
    let out = halves(&simulate(example!("tiled-copy"), "transpose", [3, 2, 1], 128, &args));
    for i in 0..rows {
        for j in 0..columns {
            assert_eq!(out[j * rows + i], matrix[i * columns + j], "({i},{j})");
        }
    }
}

#[test]
fn an_mma() {
    let (a, b) = (random(16 * 16, 3), random(8 * 16, 4));
    let args = [Arg::In(&bytes(&a)), Arg::In(&bytes(&b)), Arg::Out(4 * 16 * 8)];
    let out = simulate(example!("mma"), "mma", [1, 1, 1], 32, &args);
    for (i, (out, expected)) in out.chunks(4).zip(product(&a, &b, [16, 8, 16])).enumerate() {
        let out = f64::from(f32::from_le_bytes([out[0], out[1], out[2], out[3]]));
        assert!((out - expected).abs() < 1e-5, "element {i}: {out}, not {expected}");
    }
}

#[test]
fn a_product_of_a_warpgroup() {
    let (a, b) = (random(64 * 64, 7), random(64 * 64, 8));
    let args = [Arg::In(&bytes(&a)), Arg::In(&bytes(&b)), Arg::Out(4 * 64 * 64)];
    let out = simulate(example!("wgmma"), "wgmma", [1, 1, 1], 128, &args);
    for (i, (out, expected)) in out.chunks(4).zip(product(&a, &b, [64, 64, 64])).enumerate() {
        let out = f64::from(f32::from_le_bytes([out[0], out[1], out[2], out[3]]));
        assert!((out - expected).abs() < 1e-4, "element {i}: {out}, not {expected}");
    }
}

#[test]
fn a_whole_gemm() {
    let (m, n, k) = (128, 192, 96);
    let (a, b) = (random(m * k, 5), random(n * k, 6));
    let (a_bytes, b_bytes) = (bytes(&a), bytes(&b));
    let sizes = [m, n, k].map(|size| Arg::Int(size as u32));
    let [x, y, z] = sizes;
    let args = [Arg::In(&a_bytes), Arg::In(&b_bytes), Arg::Out(2 * m * n), x, y, z];
    let out = halves(&simulate(example!("gemm"), "gemm", [2, 3, 1], 128, &args));
    for (i, (out, expected)) in out.iter().zip(product(&a, &b, [m, n, k])).enumerate() {
        // One rounding to f16 of a sum in f32.
        let error = (out.to_f64() - expected).abs();
        assert!(error <= expected.abs() / 2048.0 + 1e-4, "element {i}: {out}, not {expected}");
    }
}

#[test]
fn a_box_of_a_tensor() {
    let (rows, columns) = (128, 192);
    let matrix = random(rows * columns, 9);
    let sizes = [rows as u64, columns as u64];
    // Boxes go across the diagonal: box (1, 2) of the matrix is box (2, 1) of the other.
    let args = [Arg::MapIn(&bytes(&matrix), sizes), Arg::MapOut([sizes[1], sizes[0]])];
    let out = halves(&simulate(example!("tma-copy"), "move", [2, 3, 1], 32, &args));
    for i in 0..columns {
        for j in 0..rows {
            let (from_i, from_j) = (j / 64 * 64 + i % 64, i / 64 * 64 + j % 64);
            assert_eq!(out[i * rows + j], matrix[from_i * columns + from_j], "({i},{j})");
        }
    }
}

#[test]
fn a_gemm_through_tma() {
    // Rows and columns that are no multiples of a tile: TMA reads zeros beyond them, and writes nothing.
    let (m, n, k) = (100, 72, 192);
    let (a, b) = (random(m * k, 10), random(n * k, 11));
    let sizes = |rows: usize, columns: usize| [rows as u64, columns as u64];
    let (a_bytes, b_bytes) = (bytes(&a), bytes(&b));
    let args = [
        Arg::MapIn(&a_bytes, sizes(m, k)),
        Arg::MapIn(&b_bytes, sizes(n, k)),
        Arg::MapOut(sizes(m, n)),
        Arg::Int(k as u32),
    ];
    let out = simulate(example!("tma-gemm"), "tma_gemm", [2, 2, 1], 128, &args);
    for (i, (out, expected)) in out.chunks(4).zip(product(&a, &b, [m, n, k])).enumerate() {
        let out = f64::from(f32::from_le_bytes([out[0], out[1], out[2], out[3]]));
        assert!((out - expected).abs() < 1e-4, "element {i}: {out}, not {expected}");
    }
}

#[test]
fn tiles_that_stick_out_of_a_matrix() {
    for (rows, columns) in [(70, 75), (1, 1), (32, 64), (33, 65), (5, 200)] {
        let (pitch, width): (usize, usize) =
            (usize::next_multiple_of(columns, 8), usize::next_multiple_of(columns, 64));
        let (down, across) = (usize::div_ceil(rows, 32), usize::div_ceil(columns, 64));
        // What lies between the end of a row and the next row is no zero, and nothing that may be copied.
        let matrix = random(rows * pitch, 12);
        let matrix_bytes = bytes(&matrix);
        let [m, n, pitch_arg, width_arg] = [rows, columns, pitch, width].map(|size| Arg::Int(size as u32));
        let args = [Arg::In(&matrix_bytes), Arg::Out(2 * down * 32 * width), m, n, pitch_arg, width_arg];
        let grid = [down as u32, across as u32, 1];
        let out = halves(&simulate(example!("edge-load"), "edge", grid, 128, &args));
        for (at, found) in out.into_iter().enumerate() {
            let (i, j) = (at / width, at % width);
            let inside = i < rows && j < columns;
            let expected = if inside { matrix[i * pitch + j] } else { f16::ZERO };
            assert_eq!(found, expected, "({i},{j}) of {rows}x{columns}");
        }
    }
}
