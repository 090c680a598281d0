//! Groups of products in one launch, on the simulator.

use crate::{
    case::{Case, Kernel, PLAIN},
    simulate,
};
use aitmlir_lowering::cuda::kernels::{
    gemm_sm80,
    gemm_sm90::Config,
    problem::{Dtype, Problem},
};
use kernel_launch::{Expr, Param};

/// Which sizes are known when the kernel is compiled.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    All,
    None,
    /// All but M.
    Columns,
}

/// The problems of a launch: operands and sizes one problem after the other.
fn problems(cases: &[Case], known: Known) -> Vec<Problem> {
    let of = |(i, case): (usize, &Case)| {
        let sizes = [(case.m, known == Known::All), (case.n, known != Known::None), (case.k, known != Known::None)];
        let formula = |d: usize| match sizes[d] {
            (size, true) => Expr::Const(size as i64),
            _ => Expr::Dim((3 * i + d) as u32),
        };
        let mut problem = case.problem_of([0, 1, 2].map(formula));
        let first = i as u32 * if case.bias { 4 } else { 3 };
        for place in [&mut problem.a, &mut problem.b, &mut problem.out] {
            place.operand += first;
        }
        problem.extras.iter_mut().for_each(|extra| extra.operand += first);
        problem.dims = (0..3 * cases.len()).map(|d| format!("d{d}")).collect();
        problem
    };
    cases.iter().enumerate().map(of).collect()
}

fn run(cases: &[Case], known: Known, config: Config, sms: i64) {
    run_kernel(cases, known, Kernel::Sm90(config), sms);
}

fn run_kernel(cases: &[Case], known: Known, kernel: Kernel, sms: i64) {
    let (ptx, launch) = kernel.compile(&problems(cases, known), cases[0].code());
    let inputs: Vec<_> = cases.iter().enumerate().map(|(i, case)| case.inputs(10 * i as u64 + 1)).collect();
    let buffers: Vec<_> = cases.iter().zip(&inputs).flat_map(|(case, inputs)| case.buffers(inputs)).collect();
    let dims: Vec<i64> = cases.iter().flat_map(|case| [case.m, case.n, case.k]).map(|n| n as i64).collect();
    let outs = simulate::launch(&ptx, &launch, &dims, sms, &buffers);
    for ((case, inputs), out) in cases.iter().zip(&inputs).zip(outs) {
        case.check(inputs, &out);
    }
}

fn sized(sizes: &[[usize; 3]], like: Case) -> Vec<Case> {
    sizes.iter().map(|[m, n, k]| Case { m: *m, n: *n, k: *k, ..like }).collect()
}

#[test]
fn problems_of_many_sizes_share_a_launch() {
    let cases = sized(&[[200, 136, 72], [8, 264, 200], [300, 64, 456], [1, 8, 8]], Case { bias: true, ..PLAIN });
    for known in [Known::All, Known::None] {
        run(&cases, known, Config::PING_PONG, 3);
        run(&cases, known, Config::cooperative(1, 64, 4), 2);
    }
}

#[test]
fn empty_problems_are_passed_over() {
    let cases = sized(&[[0, 136, 72], [130, 136, 72], [0, 136, 72], [0, 136, 72], [5, 136, 72], [0, 136, 72]], PLAIN);
    run(&cases, Known::Columns, Config::PING_PONG, 2);
    run(&cases, Known::None, Config { chains: 1, ..Config::PING_PONG }, 132);
    run(&sized(&[[0, 8, 8], [0, 8, 8]], PLAIN), Known::None, Config::PING_PONG, 2);
}

#[test]
fn sums_of_no_length_are_zero() {
    run(&sized(&[[70, 72, 0], [130, 72, 64]], PLAIN), Known::None, Config::PING_PONG, 1);
}

#[test]
fn few_rows_parts_of_sums_and_plain_stores() {
    let few = Config { swapped: true, ..Config::single(2, 16, 4, 1) };
    let sizes = [[5, 264, 136], [16, 72, 136], [1, 200, 136]];
    run(&sized(&sizes, Case { bias: true, ..PLAIN }), Known::Columns, few, 2);
    let parts = Config { split: 2, cluster: true, ..Config::cooperative(1, 64, 3) };
    run(&sized(&[[136, 72, 264], [72, 136, 392]], Case { bias: true, ..PLAIN }), Known::All, parts, 132);
    let meeting = Config { split: 3, ..Config::cooperative(1, 64, 3) };
    run(&sized(&[[136, 72, 264], [72, 136, 392]], PLAIN), Known::None, meeting, 132);
    let plain = Config { tma_store: false, ..Config::cooperative(1, 64, 3) };
    run(&sized(&[[130, 67, 72], [3, 5, 8]], PLAIN), Known::None, plain, 2);
}

#[test]
fn matrices_of_batches_and_other_layouts() {
    let like = Case { inner: [false, false], batch: 3, ..PLAIN };
    run(&sized(&[[72, 136, 72], [136, 72, 72]], like), Known::None, Config::cooperative(1, 128, 3), 2);
    run(&sized(&[[72, 136, 72], [136, 72, 72]], PLAIN), Known::All, Config::single(1, 64, 3, 2).sharing(2, 1), 4);
}

#[test]
fn the_kernel_of_sm_80_takes_groups_of_any_size_and_alignment() {
    use gemm_sm80::Config;
    let narrow = Config { copy_bytes: [2, 2], ..Config::SMALL };
    let sizes = [[70, 67, 33], [0, 5, 9], [1, 1, 1], [130, 3, 0], [5, 129, 75]];
    for known in [Known::All, Known::None] {
        run_kernel(&sized(&sizes, Case { bias: true, ..PLAIN }), known, Kernel::Sm80(narrow), 2);
    }
    run_kernel(&sized(&[[136, 72, 40], [8, 264, 72]], PLAIN), Known::Columns, Kernel::Sm80(Config::LARGE), 2);
    let like = Case { dtype: Dtype::F32, out: Dtype::F32, inner: [true, false], batch: 2, ..PLAIN };
    let config = Config { copy_bytes: [4, 4], ..Config::SMALL_FMA };
    run_kernel(&sized(&[[20, 30, 33], [70, 5, 9]], like), Known::None, Kernel::Sm80(config), 2);
}

#[test]
fn a_large_group_neither_spills_nor_serialises() {
    let cases: Vec<Case> = (0..60).map(|i| Case { m: 8 * i, n: 256, k: 128, ..PLAIN }).collect();
    let problems = problems(&cases, Known::Columns);
    Kernel::Sm90(Config::PING_PONG).assemble_group(&problems);
    let (_, launch) = Kernel::Sm90(Config::PING_PONG).compile(&problems, PLAIN.code());
    assert!(launch.params.iter().map(Param::bytes).sum::<u64>() > 20_000);
    let cases: Vec<Case> = (0..250).map(|i| Case { m: i, n: 24, k: 32, ..PLAIN }).collect();
    Kernel::Sm80(gemm_sm80::Config::SMALL).assemble_group(&self::problems(&cases, Known::None));
}

#[test]
fn what_all_problems_have_is_one_parameter() {
    let mut problems = problems(&sized(&[[64, 128, 64]; 3], PLAIN), Known::All);
    problems.iter_mut().for_each(|problem| problem.a.operand = 0);
    let (_, launch) = Kernel::Sm90(Config::PING_PONG).compile(&problems, PLAIN.code());
    let arrays = launch.params.iter().filter(|param| matches!(param, Param::Each(_))).count();
    // The maps of B and of the result; A is one, sizes are constants.
    assert_eq!((arrays, launch.params.len()), (2, 3));
}
