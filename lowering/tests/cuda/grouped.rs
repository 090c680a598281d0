//! Products whose rows are grouped by data, on the simulator: every type, order and alignment, and groups of every size.

use crate::{
    case::{Case, Kernel, PLAIN, decode, encode, random},
    simulate::{self, Buffer},
};
use aitmlir_lowering::cuda::kernels::{
    gemm_sm80,
    problem::{Dtype, Problem},
    sequences::Sequences,
};
use kernel_launch::Expr;

/// Operands: A, B, the bias, the offsets, the record of failures, the result. Integers: rows of all groups, N, K.
fn problem(case: &Case, groups: usize) -> Problem {
    let mut problem = case.problem();
    let count = groups as i64;
    (problem.b.batch, problem.batch) = (Some(problem.n.clone() * problem.k.clone()), count.into());
    let first = 2 + problem.extras.len() as u32;
    problem.extras.iter_mut().for_each(|extra| extra.batch = Some(problem.n.clone()));
    problem.out.operand = first + 2;
    problem.groups = Some(Sequences {
        offsets: first,
        wide: false,
        total: Expr::Dim(0),
        max_length: None,
        count: count.into(),
        record: first + 1,
        site: 7.into(),
    });
    problem
}

/// Computes groups of these many rows, `case.m` of which is nothing, and compares with sums in f64.
fn run(case: Case, sizes: &[usize], kernel: Kernel, sms: i64) {
    let total: usize = sizes.iter().sum();
    let case = Case { m: total, ..case };
    let Case { n, k, dtype, out, .. } = case;
    let problem = problem(&case, sizes.len());
    let (ptx, launch) = kernel.compile(&[problem], case.code());
    let rounded = |values: Vec<f32>| decode(&encode(&values, dtype), dtype);
    let (a, b) = (rounded(random(total * k, 1)), rounded(random(sizes.len() * n * k, 2)));
    let bias = rounded(random(sizes.len() * n, 3));
    let ends = sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    let offsets: Vec<usize> = std::iter::once(0).chain(ends).collect();
    let raw = |values: &[f32]| match dtype {
        Dtype::S8 => values.iter().map(|v| *v as i8 as u8).collect(),
        Dtype::U8 => values.iter().map(|v| *v as u8).collect(),
        other => encode(values, other),
    };
    let mut buffers = vec![Buffer::Input(raw(&a)), Buffer::Input(raw(&b))];
    if case.bias {
        buffers.push(Buffer::Input(encode(&bias, dtype)));
    }
    buffers.push(Buffer::Input(offsets.iter().flat_map(|o| (*o as i32).to_le_bytes()).collect()));
    buffers.extend([Buffer::Input(vec![0; 40]), Buffer::Output(total * n * out.bytes() as usize)]);
    let found = simulate::launch(&ptx, &launch, &[total as i64, n as i64, k as i64], sms, &buffers).remove(0);
    let found = decode(&found, out);
    for (group, ends) in offsets.windows(2).enumerate() {
        for (row, column) in (ends[0]..ends[1]).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let of_a = |p: usize| f64::from(a[if case.inner[0] { row * k + p } else { p * total + row }]);
            let of_b =
                |p: usize| f64::from(b[group * n * k + if case.inner[1] { column * k + p } else { p * n + column }]);
            let sum: f64 = (0..k).map(|p| of_a(p) * of_b(p)).sum();
            let want = if case.bias { (sum + f64::from(bias[group * n + column])).max(0.0) } else { sum };
            let want = f64::from(decode(&encode(&[want as f32], out), out)[0]);
            let got = f64::from(found[row * n + column]);
            // Products of multiples of 1/8 are exact, and so are their sums in f32: the one rounding is that to the result.
            assert!((want - got).abs() <= want.abs() / 128.0, "{sizes:?} [{row}, {column}]: {got} instead of {want}");
        }
    }
}

/// Groups of many sizes: empty ones, one with everything, borders that are no tile's, no rows at all.
const SIZES: &[&[usize]] =
    &[&[40, 0, 130, 1, 29], &[0, 0, 131, 0], &[64, 64, 1], &[0, 0], &[200], &[1, 1, 1, 1, 1, 1, 1, 1]];

fn narrow(dtype: Dtype) -> gemm_sm80::Config {
    let element = dtype.bytes() as u32;
    gemm_sm80::Config { copy_bytes: [element; 2], ..gemm_sm80::Config::SMALL }
}

#[test]
fn groups_of_any_size() {
    for sizes in SIZES {
        let config = gemm_sm80::Config::SMALL;
        run(Case { n: 72, k: 40, bias: true, ..PLAIN }, sizes, Kernel::Sm80(config), 4);
    }
    run(Case { n: 136, k: 72, ..PLAIN }, SIZES[0], Kernel::Sm80(gemm_sm80::Config::LARGE), 4);
    let one = problem(&PLAIN, 5);
    Kernel::Sm80(gemm_sm80::Config::LARGE).assemble(&one);
}

#[test]
fn operands_of_any_order_and_alignment() {
    for inner in [[true, false], [false, true], [false, false]] {
        // A group may begin at any line of A: lines that are contiguous are copied one by one.
        let left = if inner[0] { 16 } else { 2 };
        let config = gemm_sm80::Config { copy_bytes: [left, 16], ..gemm_sm80::Config::SMALL };
        run(Case { n: 72, k: 40, inner, bias: true, ..PLAIN }, SIZES[0], Kernel::Sm80(config), 4);
    }
    for inner in [[true, true], [false, false]] {
        run(Case { n: 35, k: 33, inner, bias: true, ..PLAIN }, SIZES[0], Kernel::Sm80(narrow(Dtype::F16)), 4);
    }
    run(Case { n: 1, k: 1, ..PLAIN }, SIZES[0], Kernel::Sm80(narrow(Dtype::F16)), 4);
    run(Case { n: 5, k: 0, ..PLAIN }, SIZES[0], Kernel::Sm80(narrow(Dtype::F16)), 4);
}

#[test]
fn wide_copies_of_lines_that_begin_anywhere_are_refused() {
    let problem = problem(&Case { inner: [false, true], ..PLAIN }, 3);
    let refused = gemm_sm80::Config::SMALL.check(&problem).unwrap_err();
    assert_eq!(refused.to_string(), "copies of 16 bytes of lines that begin anywhere");
}

#[test]
fn operands_of_any_type() {
    let case = Case { n: 40, k: 36, bias: true, ..PLAIN };
    let with = |dtype, out, bias| Case { dtype, out, bias, ..case };
    run(with(Dtype::Bf16, Dtype::Bf16, true), SIZES[0], Kernel::Sm80(narrow(Dtype::Bf16)), 4);
    run(with(Dtype::F16, Dtype::F32, false), SIZES[0], Kernel::Sm80(narrow(Dtype::F16)), 4);
    for config in [gemm_sm80::Config::SMALL_FMA, gemm_sm80::Config::FMA, gemm_sm80::Config::SMALL] {
        run(with(Dtype::F32, Dtype::F32, false), SIZES[0], Kernel::Sm80(config), 4);
    }
    for dtype in [Dtype::S8, Dtype::U8] {
        let case = with(dtype, Dtype::S32, false);
        run(Case { k: 48, ..case }, SIZES[0], Kernel::Sm80(gemm_sm80::Config::SMALL), 4);
        run(Case { k: 33, inner: [false, false], ..case }, SIZES[0], Kernel::Sm80(narrow(dtype)), 4);
    }
}
