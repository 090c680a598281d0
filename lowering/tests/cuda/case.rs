//! Problems of products with random inputs, and their results computed here.

use crate::{codegen::ptxas, simulate};
use aitmlir_dialects::{builder::Builder, new_context, types::Val};
use aitmlir_lowering::cuda::{
    chip, codegen,
    kernels::{
        gemm_sm80,
        gemm_sm90::{self, Config},
        problem::{Dtype, Problem},
    },
    ptxas::Assembled,
};
use kernel_launch::{Expr, KernelLaunch};
use melior::ir::{Location, Module, ValueLike, operation::OperationLike};

pub type Code<'a> = &'a dyn for<'c> Fn(Builder<'c>, Val<'c>, &[Val<'c>]) -> Vec<Val<'c>>;

pub fn identity<'c>(_: Builder<'c>, sum: Val<'c>, _: &[Val<'c>]) -> Vec<Val<'c>> {
    vec![sum]
}

/// sum + bias, at least zero.
fn bias_relu<'c>(b: Builder<'c>, sum: Val<'c>, extras: &[Val<'c>]) -> Vec<Val<'c>> {
    use aitmlir_dialects::types::Types;
    let f32 = b.context().f32_type();
    let bias = if extras[0].r#type() == f32 { extras[0] } else { b.op1("arith.extf", &[extras[0]], f32, &[]) };
    vec![b.binary("arith.maximumf", b.addf(sum, bias), b.float(f32, 0.0))]
}

/// A kernel and its configuration.
#[derive(Clone, Copy)]
pub enum Kernel {
    Sm80(gemm_sm80::Config),
    Sm90(Config),
}

impl Kernel {
    /// PTX of the kernel for a group of problems, and how to start it.
    pub fn compile(self, problems: &[Problem], code: Code<'_>) -> (String, KernelLaunch) {
        let context = new_context();
        let mut module = Module::new(Location::unknown(&context));
        let (chip, launch) = match self {
            Kernel::Sm80(config) => {
                let launch =
                    gemm_sm80::emit_group(&context, &module, "gemm", problems, config, &|b, s, e| code(b, s, e));
                ("sm_80", launch)
            }
            Kernel::Sm90(config) => {
                let launch =
                    gemm_sm90::emit_group(&context, &module, "gemm", problems, config, &|b, s, e| code(b, s, e));
                ("sm_90a", launch)
            }
        };
        let launch = launch.unwrap();
        assert!(module.as_operation().verify(), "the verifiers of the kernel's operations have spoken");
        (codegen::ptx(&context, &mut module, chip::chip(chip).unwrap()).unwrap(), launch)
    }

    /// Assembles the kernel; fails where it spills or is serialised.
    pub fn assemble(self, problem: &Problem) -> Assembled {
        self.assemble_group(std::slice::from_ref(problem))
    }

    /// The same for a group.
    pub fn assemble_group(self, problems: &[Problem]) -> Assembled {
        let (ptx, _) = self.compile(problems, &identity);
        let chip = if matches!(self, Kernel::Sm80(_)) { "sm_80" } else { "sm_90a" };
        let assembled = ptxas().assemble(&ptx, chip::chip(chip).unwrap()).unwrap();
        let report = &assembled.kernels[0];
        assert!(!report.spills() && !report.serialised(), "{report:?}");
        assembled
    }
}

/// Random numbers of a linear congruence, multiples of 1/8 in [-1, 1), exact in all types.
pub fn random(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) % 16) as f32 / 8.0 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

pub fn encode(values: &[f32], dtype: Dtype) -> Vec<u8> {
    match dtype {
        Dtype::F16 => values.iter().flat_map(|v| half::f16::from_f32(*v).to_le_bytes()).collect(),
        Dtype::Bf16 => values.iter().flat_map(|v| half::bf16::from_f32(*v).to_le_bytes()).collect(),
        Dtype::S8 => values.iter().map(|v| (*v * 8.0) as i8 as u8).collect(),
        Dtype::U8 => values.iter().map(|v| (*v * 8.0 + 8.0) as u8).collect(),
        Dtype::S32 => values.iter().flat_map(|v| (*v as i32).to_le_bytes()).collect(),
        Dtype::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}

pub fn decode(bytes: &[u8], dtype: Dtype) -> Vec<f32> {
    match dtype {
        Dtype::F16 => bytes.chunks(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
        Dtype::Bf16 => bytes.chunks(2).map(|b| half::bf16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
        Dtype::S8 => bytes.iter().map(|b| f32::from(*b as i8)).collect(),
        Dtype::U8 => bytes.iter().map(|b| f32::from(*b)).collect(),
        Dtype::S32 => bytes.chunks(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]) as f32).collect(),
        Dtype::F32 => bytes.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
    }
}

/// A product of random operands.
#[derive(Clone, Copy)]
pub struct Case {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub dtype: Dtype,
    pub out: Dtype,
    /// Is K contiguous in A and in B?
    pub inner: [bool; 2],
    pub bias: bool,
    pub batch: usize,
    /// Are plain stores those of two columns?
    pub pairs: bool,
}

/// 256x256x128 of f16.
pub const PLAIN: Case = Case {
    m: 256,
    n: 256,
    k: 128,
    dtype: Dtype::F16,
    out: Dtype::F16,
    inner: [true, true],
    bias: false,
    batch: 1,
    pairs: false,
};

impl Case {
    /// The problem with all sizes at run time.
    pub fn problem(&self) -> Problem {
        self.problem_of([0, 1, 2].map(Expr::Dim))
    }

    /// The problem with sizes that are these formulas.
    pub fn problem_of(&self, [m, n, k]: [Expr; 3]) -> Problem {
        let mut problem = Problem::linear(self.dtype, m.clone(), n.clone(), k.clone());
        problem.out_dtype = self.out;
        problem.out_pairs = self.pairs;
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

    pub fn run(&self, config: Config, sms: i64) {
        self.run_kernel(Kernel::Sm90(config), sms);
    }

    /// Compares a kernel's results on the simulator, with that many multiprocessors, with sums computed here.
    pub fn run_kernel(&self, kernel: Kernel, sms: i64) {
        let (ptx, launch) = kernel.compile(&[self.problem()], self.code());
        let inputs = self.inputs(1);
        let dims = [self.m, self.n, self.k].map(|n| n as i64);
        let out = simulate::launch(&ptx, &launch, &dims, sms, &self.buffers(&inputs)).remove(0);
        self.check(&inputs, &out);
    }

    /// The epilogue.
    pub fn code(&self) -> Code<'static> {
        if self.bias { &bias_relu } else { &identity }
    }

    /// A, B and the bias.
    pub fn inputs(&self, seed: u64) -> [Vec<f32>; 3] {
        let Case { m, n, k, batch, .. } = *self;
        let [a, b] = [(m, seed), (n, seed + 1)].map(|(lines, seed)| {
            let values = random(batch * lines * k, seed);
            decode(&encode(&values, self.dtype), self.dtype)
        });
        [a, b, random(n, seed + 2)]
    }

    /// The operands of a launch.
    pub fn buffers(&self, [a, b, bias]: &[Vec<f32>; 3]) -> Vec<simulate::Buffer> {
        let raw = |values: &[f32]| match self.dtype {
            Dtype::S8 => values.iter().map(|v| *v as i8 as u8).collect(),
            Dtype::U8 => values.iter().map(|v| *v as u8).collect(),
            other => encode(values, other),
        };
        let mut operands = vec![simulate::Buffer::Input(raw(a)), simulate::Buffer::Input(raw(b))];
        if self.bias {
            operands.push(simulate::Buffer::Input(encode(bias, self.dtype)));
        }
        operands.push(simulate::Buffer::Output(self.batch * self.m * self.n * self.out.bytes() as usize));
        operands
    }

    /// Compares a result with sums computed here.
    pub fn check(&self, [a, b, bias]: &[Vec<f32>; 3], out: &[u8]) {
        let Case { m, n, k, batch, .. } = *self;
        let out = decode(out, self.out);
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
