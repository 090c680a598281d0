//! The gemm kernel of sm_80 on the simulator: every contiguous dimension, alignment and type, of small problems.

use crate::case::{Case, Kernel, PLAIN};
use aitmlir_lowering::cuda::kernels::{gemm_sm80::Config, problem::Dtype};

#[test]
fn aligned_products_in_every_layout() {
    for config in [Config::LARGE, Config::SMALL] {
        Kernel::Sm80(config).assemble(&PLAIN.problem());
        for inner in [[true, true], [true, false], [false, true], [false, false]] {
            Case { m: 136, n: 72, k: 200, inner, bias: true, ..PLAIN }.run_kernel(Kernel::Sm80(config), 4);
        }
    }
}

#[test]
fn odd_sizes_are_copied_by_elements() {
    let config = Config { copy_bytes: [2, 2], ..Config::SMALL };
    for inner in [[true, true], [false, false]] {
        Case { m: 67, n: 35, k: 77, inner, bias: true, ..PLAIN }.run_kernel(Kernel::Sm80(config), 4);
    }
    let config = Config { copy_bytes: [4, 8], ..Config::SMALL };
    Case { m: 66, n: 37, k: 132, dtype: Dtype::Bf16, out: Dtype::F32, ..PLAIN }.run_kernel(Kernel::Sm80(config), 4);
}

#[test]
fn one_row_one_column_and_batches() {
    let config = Config { copy_bytes: [2, 2], ..Config::SMALL };
    Case { m: 1, n: 1, k: 1, ..PLAIN }.run_kernel(Kernel::Sm80(config), 4);
    Case { m: 66, n: 40, k: 72, batch: 3, ..PLAIN }.run_kernel(Kernel::Sm80(Config::SMALL), 4);
}

#[test]
fn products_of_f32_by_tf32_and_by_fma() {
    let f32 = Case { m: 70, n: 72, k: 68, dtype: Dtype::F32, out: Dtype::F32, bias: true, ..PLAIN };
    Kernel::Sm80(Config::FMA).assemble(&f32.problem());
    for config in [Config::SMALL, Config::FMA] {
        f32.run_kernel(Kernel::Sm80(config), 4);
        let config = Config { copy_bytes: [4, 4], ..config };
        Case { k: 67, inner: [false, true], ..f32 }.run_kernel(Kernel::Sm80(config), 4);
        Case { k: 67, inner: [true, false], ..f32 }.run_kernel(Kernel::Sm80(config), 4);
    }
}

#[test]
fn products_of_bytes_have_integer_sums() {
    for dtype in [Dtype::S8, Dtype::U8] {
        let case = Case { m: 70, n: 72, k: 144, dtype, out: Dtype::S32, ..PLAIN };
        case.run_kernel(Kernel::Sm80(Config::SMALL), 4);
        let config = Config { copy_bytes: [1, 1], ..Config::SMALL };
        Case { k: 131, inner: [false, false], ..case }.run_kernel(Kernel::Sm80(config), 4);
    }
}
