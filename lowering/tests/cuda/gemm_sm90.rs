//! The gemm kernel of sm_90a on the simulator: numbers, races and barriers, of small problems.

use crate::{codegen::ptxas, simulate};
use aitmlir_dialects::{builder::Builder, new_context, types::Val};
use aitmlir_lowering::cuda::{
    chip, codegen,
    kernels::{
        gemm_sm90::{self, Config},
        problem::{Dtype, Problem},
    },
    ptxas::Assembled,
};
use kernel_launch::{Expr, KernelLaunch};
use melior::ir::{Location, Module};

type Code<'a> = &'a dyn for<'c> Fn(Builder<'c>, Val<'c>, &[Val<'c>]) -> Vec<Val<'c>>;

fn identity<'c>(_: Builder<'c>, sum: Val<'c>, _: &[Val<'c>]) -> Vec<Val<'c>> {
    vec![sum]
}

/// sum + bias, at least zero.
fn bias_relu<'c>(b: Builder<'c>, sum: Val<'c>, extras: &[Val<'c>]) -> Vec<Val<'c>> {
    use aitmlir_dialects::types::Types;
    let f32 = b.context().f32_type();
    let bias = b.op1("arith.extf", &[extras[0]], f32, &[]);
    vec![b.binary("arith.maximumf", b.addf(sum, bias), b.float(f32, 0.0))]
}

fn compile(problem: &Problem, config: Config, code: Code<'_>) -> (String, KernelLaunch) {
    let context = new_context();
    let mut module = Module::new(Location::unknown(&context));
    let launch = gemm_sm90::emit(&context, &module, "gemm", problem, config, &|b, sum, extras| code(b, sum, extras));
    let launch = launch.unwrap();
    let chip = chip::chip("sm_90a").unwrap();
    (codegen::ptx(&context, &mut module, chip).unwrap(), launch)
}

fn assemble(ptx: &str) -> Assembled {
    let assembled = ptxas().assemble(ptx, chip::chip("sm_90a").unwrap()).unwrap();
    let report = &assembled.kernels[0];
    assert!(!report.spills() && !report.serialised(), "{report:?}");
    assembled
}

/// Random numbers of a linear congruence, multiples of 1/8 in [-1, 1), exact in all types.
fn random(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) % 16) as f32 / 8.0 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn encode(values: &[f32], dtype: Dtype) -> Vec<u8> {
    match dtype {
        Dtype::F16 => values.iter().flat_map(|v| half::f16::from_f32(*v).to_le_bytes()).collect(),
        Dtype::Bf16 => values.iter().flat_map(|v| half::bf16::from_f32(*v).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}

fn decode(bytes: &[u8], dtype: Dtype) -> Vec<f32> {
    match dtype {
        Dtype::F16 => bytes.chunks(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
        Dtype::Bf16 => bytes.chunks(2).map(|b| half::bf16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
        _ => bytes.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
    }
}

struct Case {
    m: usize,
    n: usize,
    k: usize,
    dtype: Dtype,
    out: Dtype,
    /// Is K contiguous in A and in B?
    inner: [bool; 2],
    bias: bool,
    batch: usize,
}

const PLAIN: Case =
    Case { m: 256, n: 256, k: 128, dtype: Dtype::F16, out: Dtype::F16, inner: [true, true], bias: false, batch: 1 };

impl Case {
    /// The problem with all sizes at run time.
    fn problem(&self) -> Problem {
        let (m, n, k) = (Expr::Dim(0), Expr::Dim(1), Expr::Dim(2));
        let mut problem = Problem::linear(self.dtype, m.clone(), n.clone(), k.clone());
        problem.out_dtype = self.out;
        if !self.inner[0] {
            (problem.a.inner, problem.a.line) = (false, m.clone());
        }
        if !self.inner[1] {
            (problem.b.inner, problem.b.line) = (false, n.clone());
        }
        if self.batch > 1 {
            problem.batch = (self.batch as i64).into();
            problem.a.batch = Some(m.clone() * k.clone());
            problem.b.batch = Some(n.clone() * k);
            problem.out.batch = Some(m * n);
        }
        let mut problem = if self.bias { problem.with_bias() } else { problem };
        for extra in &mut problem.extras {
            extra.pairs = self.n.is_multiple_of(2);
        }
        problem
    }

    fn run(&self, config: Config, sms: i64) {
        let Case { m, n, k, batch, .. } = *self;
        let code: Code<'_> = if self.bias { &bias_relu } else { &identity };
        let (ptx, launch) = compile(&self.problem(), config, code);
        let (a, b, bias) = (random(batch * m * k, 1), random(batch * n * k, 2), random(n, 3));
        let mut operands =
            vec![simulate::Buffer::Input(encode(&a, self.dtype)), simulate::Buffer::Input(encode(&b, self.dtype))];
        if self.bias {
            operands.push(simulate::Buffer::Input(encode(&bias, self.dtype)));
        }
        operands.push(simulate::Buffer::Output(batch * m * n * self.out.bytes() as usize));
        let dims = [m as i64, n as i64, k as i64];
        let out = simulate::launch(&ptx, &launch, &dims, sms, &operands).remove(0);
        let out = decode(&out, self.out);
        for z in 0..batch {
            for i in 0..m {
                for j in 0..n {
                    let at = |inner: bool, line: usize, lines: usize, p: usize| {
                        z * lines * k + if inner { line * k + p } else { p * lines + line }
                    };
                    let sum: f32 = (0..k).map(|p| a[at(self.inner[0], i, m, p)] * b[at(self.inner[1], j, n, p)]).sum();
                    let want = if self.bias { (sum + bias[j]).max(0.0) } else { sum };
                    let want = decode(&encode(&[want], self.out), self.out)[0];
                    let got = out[(z * m + i) * n + j];
                    assert!((want - got).abs() <= want.abs() / 128.0, "[{z}, {i}, {j}]: {got} instead of {want}");
                }
            }
        }
    }
}

#[test]
fn ping_pong_computes_the_product_and_neither_spills_nor_serialises() {
    let (ptx, _) = compile(&PLAIN.problem(), Config::PING_PONG, &identity);
    assemble(&ptx);
    PLAIN.run(Config::PING_PONG, 2);
}

#[test]
fn ping_pong_takes_odd_tails_and_an_odd_number_of_tiles() {
    Case { m: 296, n: 136, k: 200, bias: true, ..PLAIN }.run(Config::PING_PONG, 2);
}

#[test]
fn cooperative_tiles_compute_the_product() {
    for config in [Config::cooperative(1, 256, 4), Config::cooperative(1, 192, 4), Config::cooperative(2, 128, 4)] {
        let (ptx, _) = compile(&PLAIN.problem(), config, &identity);
        assemble(&ptx);
        Case { m: 264, n: 328, ..PLAIN }.run(config, 3);
    }
}

#[test]
fn small_tiles_of_one_consumer_compute_the_product() {
    Case { m: 72, n: 200, k: 328, bias: true, ..PLAIN }.run(Config::single(1, 64, 4, 2), 2);
    Case { m: 136, n: 72, dtype: Dtype::Bf16, out: Dtype::Bf16, ..PLAIN }.run(Config::single(2, 64, 4, 1), 2);
}

#[test]
fn every_layout_of_operands_is_taken() {
    for inner in [[true, false], [false, true], [false, false]] {
        Case { m: 136, n: 264, k: 136, inner, ..PLAIN }.run(Config::PING_PONG, 2);
        Case { m: 136, n: 200, k: 136, inner, ..PLAIN }.run(Config::cooperative(1, 128, 3), 2);
    }
}

#[test]
fn results_of_f32_and_batches() {
    Case { m: 136, n: 72, k: 72, out: Dtype::F32, ..PLAIN }.run(Config::PING_PONG, 1);
    Case { m: 72, n: 136, k: 72, batch: 3, bias: true, ..PLAIN }.run(Config::cooperative(1, 128, 3), 2);
}

#[test]
fn plain_stores_take_any_columns() {
    let config = Config { tma_store: false, ..Config::cooperative(1, 64, 3) };
    Case { m: 130, n: 67, k: 72, bias: true, ..PLAIN }.run(config, 2);
}

#[test]
fn a_swapped_kernel_serves_few_rows() {
    for (m, columns) in [(1, 8), (13, 16), (64, 64)] {
        let config = Config { swapped: true, ..Config::single(2, columns, 4, 1) };
        Case { m, n: 264, k: 200, bias: true, ..PLAIN }.run(config, 2);
    }
}

#[test]
fn split_sums_meet_and_leave_the_counters_as_they_were() {
    let config = Config { split: 3, ..Config::cooperative(1, 64, 3) };
    Case { m: 136, n: 72, k: 520, bias: true, ..PLAIN }.run(config, 132);
    let config = Config { split: 4, swapped: true, ..Config::single(2, 16, 4, 1) };
    Case { m: 5, n: 264, k: 392, bias: true, ..PLAIN }.run(config, 132);
}
