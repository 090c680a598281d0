//! The examples of `docs/cute.md`, compiled and run on the simulator.

use aitmlir_dialects::{new_context, pass::run_pass};
use aitmlir_lowering::cuda::{chip, codegen, to_nvvm::TO_NVVM};
use half::f16;
use melior::{
    Context,
    ir::{Module, OperationRef, operation::OperationLike},
};
use ptx_sim::{Args, GlobalMemory, Launch, Use, compile, run};

/// The PTX of a module in the cute dialect.
fn ptx(context: &Context, mut module: Module<'_>, chip: &str) -> String {
    assert!(module.as_operation().verify(), "the kernel verifies");
    // SAFETY: the module outlives the pass.
    let op = unsafe { OperationRef::from_raw(module.as_operation().to_raw()) };
    run_pass(&TO_NVVM, op, &[]).expect("the example lowers");
    codegen::ptx(context, &mut module, chip::chip(chip).expect("a chip")).expect("LLVM compiles it")
}

/// An argument of a kernel.
pub enum Arg<'a> {
    /// A pointer to these bytes.
    In(&'a [u8]),
    /// A pointer to so many bytes that the kernel writes.
    Out(usize),
    /// A number.
    Int(u32),
}

/// Compiles and runs an example.
fn simulate(text: &str, kernel: &str, grid: [u32; 3], threads: u32, args: &[Arg<'_>]) -> Vec<u8> {
    let context = new_context();
    let module = Module::parse(&context, text).expect("the example parses");
    let chip = if text.contains("wgmma") { "sm_90a" } else { "sm_80" };
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
    let ptx = ptx(context, module, chip);
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
        };
    }
    let params = params.done().expect("the parameters fit");
    let launch = Launch { grid, block: [threads, 1, 1], params, ..Launch::default() };
    let outcome = run(&program, &launch, &global).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    let findings: Vec<_> = outcome.findings.iter().map(|f| format!("{f:?}")).collect();
    assert!(findings.is_empty(), "{}\n{ptx}", findings.join("\n"));
    let (address, bytes) = output.expect("an output");
    global.download(address, bytes).expect("the output")
}

/// Numbers in [-1, 1], the same in every run.
fn random(count: usize, seed: u64) -> Vec<f16> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        f16::from_f64(((state >> 33) as f64) / f64::from(1u32 << 30) - 1.0)
    };
    (0..count).map(|_| next()).collect()
}

fn bytes(values: &[f16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn halves(bytes: &[u8]) -> Vec<f16> {
    bytes.chunks(2).map(|b| f16::from_le_bytes([b[0], b[1]])).collect()
}

/// A B^T with A (m, k) and B (n, k), in f64.
fn product(a: &[f16], b: &[f16], [m, n, k]: [usize; 3]) -> Vec<f64> {
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
