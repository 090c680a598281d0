//! Products whose rows are grouped by data, on the simulator: every type, order and alignment, and groups of every size.

use crate::{
    case::{Case, Kernel, PLAIN, decode, encode, random},
    simulate::{self, Buffer},
};
use aitmlir_dialects::{builder::Builder, types::Val};
use aitmlir_lowering::cuda::kernels::{
    gemm_sm80,
    gemm_sm90::Config,
    problem::{Dtype, Place, Problem},
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

/// The same with a second right operand behind the first.
fn two_products(case: &Case, groups: usize) -> Problem {
    let mut problem = problem(case, groups);
    problem.extras.iter_mut().for_each(|extra| extra.operand += 1);
    problem.out.operand += 1;
    problem.other = Some(Place { operand: 2, ..problem.b.clone() });
    if let Some(groups) = &mut problem.groups {
        (groups.offsets, groups.record) = (groups.offsets + 1, groups.record + 1);
    }
    problem
}

/// A B + A B1
fn sum_of_two<'c>(b: Builder<'c>, sum: Val<'c>, extras: &[Val<'c>]) -> Vec<Val<'c>> {
    vec![b.addf(sum, extras[0])]
}

/// Computes groups of these many rows (`case.m` counts for nothing), and compares with sums in f64.
fn run(case: Case, sizes: &[usize], kernel: Kernel, sms: i64) {
    compute(case, sizes, kernel, sms, false);
}

fn compute(case: Case, sizes: &[usize], kernel: Kernel, sms: i64, two: bool) {
    let total: usize = sizes.iter().sum();
    let case = Case { m: total, ..case };
    let Case { n, k, dtype, out, .. } = case;
    let problem = if two { two_products(&case, sizes.len()) } else { problem(&case, sizes.len()) };
    let (ptx, launch) = kernel.compile(&[problem], if two { &sum_of_two } else { case.code() });
    let rounded = |values: Vec<f32>| decode(&encode(&values, dtype), dtype);
    let (a, b) = (rounded(random(total * k, 1)), rounded(random(sizes.len() * n * k, 2)));
    let other = rounded(random(sizes.len() * n * k, 4));
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
    if two {
        buffers.push(Buffer::Input(raw(&other)));
    }
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
            let of_b = |b: &[f32], p: usize| {
                f64::from(b[group * n * k + if case.inner[1] { column * k + p } else { p * n + column }])
            };
            let of_both = |p: usize| of_b(&b, p) + if two { of_b(&other, p) } else { 0.0 };
            let sum: f64 = (0..k).map(|p| of_a(p) * of_both(p)).sum();
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

/// Those of the sizes with rows: a tensor map has no dimension of size 0.
fn sizes() -> impl Iterator<Item = &'static &'static [usize]> {
    SIZES.iter().filter(|sizes| sizes.iter().sum::<usize>() > 0)
}

#[test]
fn the_kernel_of_sm_90a_walks_groups_of_any_size() {
    for config in [Config::PING_PONG, Config::cooperative(1, 64, 3), Config::single(1, 64, 3, 2)] {
        Kernel::Sm90(config).assemble(&problem(&PLAIN, 5));
        for sizes in sizes() {
            run(Case { n: 136, k: 72, bias: true, ..PLAIN }, sizes, Kernel::Sm90(config), 3);
        }
    }
    let many = [5; 70];
    run(Case { n: 72, k: 72, ..PLAIN }, &many, Kernel::Sm90(Config { chains: 1, ..Config::PING_PONG }), 4);
    // Pieces of three boxes, an odd number: waits count the stores of those before.
    run(Case { n: 200, k: 72, ..PLAIN }, &[130, 70, 56], Kernel::Sm90(Config::cooperative(1, 192, 3)), 1);
}

#[test]
fn few_rows_of_many_groups_are_columns_on_sm_90a() {
    for sizes in [&[5, 0, 16, 1, 10][..], &[40, 3, 0, 21]] {
        let config = Config { swapped: true, ..Config::single(2, 16, 4, 1) };
        run(Case { n: 136, k: 72, bias: true, ..PLAIN }, sizes, Kernel::Sm90(config), 2);
        let config = Config { swapped: true, ..Config::single(1, 64, 3, 2) };
        run(Case { n: 136, k: 72, ..PLAIN }, sizes, Kernel::Sm90(config), 3);
    }
}

#[test]
fn layouts_results_and_plain_stores_on_sm_90a() {
    for inner in [[true, false], [false, true], [false, false]] {
        run(Case { n: 136, k: 72, inner, ..PLAIN }, SIZES[0], Kernel::Sm90(Config::cooperative(1, 128, 3)), 2);
    }
    run(Case { n: 136, k: 72, out: Dtype::F32, ..PLAIN }, SIZES[0], Kernel::Sm90(Config::PING_PONG), 2);
    let bf16 = Case { dtype: Dtype::Bf16, out: Dtype::Bf16, bias: true, ..PLAIN };
    run(Case { n: 136, k: 72, ..bf16 }, SIZES[0], Kernel::Sm90(Config::PING_PONG), 2);
    let plain = Config { tma_store: false, ..Config::cooperative(1, 64, 3) };
    run(Case { n: 67, k: 72, bias: true, ..PLAIN }, SIZES[0], Kernel::Sm90(plain), 2);
}

#[test]
fn columns_of_two_products_are_whole_rows_of_a_swizzle() {
    let config = Config { tma_store: false, ..Config::single(1, 88, 11, 1) };
    let refused = config.check(&two_products(&PLAIN, 3)).unwrap_err().to_string();
    assert_eq!(refused, "44 columns of each product are not a multiple of 8");
}

#[test]
fn parts_of_tiles_of_groups_are_refused() {
    let problem = problem(&PLAIN, 3);
    let split = Config { split: 2, cluster: true, ..Config::cooperative(1, 64, 3) };
    let stream = Config { stream: true, ..Config::cooperative(1, 64, 3) };
    for config in [split, stream, Config::PING_PONG.sharing(2, 1)] {
        let refused = config.check(&problem).unwrap_err().to_string();
        assert_eq!(refused, "tiles of groups of rows are whole, and share no operand");
    }
}

#[test]
fn two_products_of_a_group_are_one() {
    let case = Case { n: 96, k: 72, ..PLAIN };
    compute(case, SIZES[0], Kernel::Sm80(gemm_sm80::Config::SMALL), 4, true);
    for config in [
        Config::cooperative(1, 128, 3),
        Config::PING_PONG,
        Config { swapped: true, ..Config::single(2, 64, 4, 1) },
        Config { swapped: true, ..Config::single(2, 16, 4, 1) },
        Config { tma_store: false, ..Config::cooperative(1, 64, 3) },
    ] {
        compute(case, SIZES[0], Kernel::Sm90(config), 3, true);
        compute(case, &[70, 0, 1, 79], Kernel::Sm90(config), 3, true);
    }
}
