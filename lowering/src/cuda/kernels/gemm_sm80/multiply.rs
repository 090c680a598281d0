//! Products of a stage: fragments by `ldmatrix` and `mma.sync`, or rows of f32 by FMA.

use super::{
    Frame,
    config::{Config, Kind, keeps_lines},
};
use crate::cuda::{
    emit::{Effect, asm1, matrix, memory, scalar::ScalarOps},
    kernels::{elements::Pair, problem::Dtype},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

/// Threads along each side of a tile, of FMA.
const SIDE: i64 = 16;

impl<'a, 'c> Frame<'a, 'c> {
    /// Sums of a thread, of one product.
    fn sum_count(&self) -> i64 {
        let config = &self.gemm.config;
        match config.kind {
            Kind::Mma => i64::from(config.warp_tile[0] * config.warp_tile[1] / 32),
            Kind::Fma => i64::from(config.tile()[0] * config.tile()[1]) / (SIDE * SIDE),
        }
    }

    pub(super) fn zero_sums(&self, b: Builder<'c>) -> Vec<Val<'c>> {
        let integer = matches!(self.gemm.problem.dtype, Dtype::S8 | Dtype::U8);
        let zero = if integer { b.c32(0) } else { b.float(b.context().f32_type(), 0.0) };
        vec![zero; self.sum_count() as usize * self.gemm.problem.products() as usize]
    }

    /// The thread's warp along M and N, and its lane.
    fn warp(&self, b: Builder<'c>) -> [Val<'c>; 3] {
        let warp = b.shr_c(self.thread, 5);
        let along_n = i64::from(self.gemm.config.warps[1]);
        [b.div_c(warp, along_n), b.rem_c(warp, along_n), b.and(self.thread, b.c32(31))]
    }

    pub(super) fn multiply(&self, b: Builder<'c>, stage: Val<'c>, sums: &[Val<'c>]) -> Vec<Val<'c>> {
        let at = b.addi(self.shared, b.mul_c(stage, self.gemm.config.stage_bytes(self.gemm.problem)));
        match self.gemm.config.kind {
            Kind::Mma => self.multiply_mma(b, at, sums),
            Kind::Fma => self.multiply_fma(b, at, sums),
        }
    }

    fn multiply_mma(&self, b: Builder<'c>, at: Val<'c>, sums: &[Val<'c>]) -> Vec<Val<'c>> {
        let config = &self.gemm.config;
        let kind = Config::mma(self.gemm.problem.dtype);
        let [rows, columns] = config.warp_tile.map(i64::from);
        let [warp_m, warp_n, lane] = self.warp(b);
        let products = i64::from(self.gemm.problem.products());
        let right_at = |b: Builder<'c>, product: i64| {
            let [rows, columns] = config.tile().map(i64::from);
            b.add_c(at, (rows + product * columns) * 128)
        };
        // Fragments of A, then those of all right operands.
        let load = |b: Builder<'c>, step: i64| {
            let first = b.mul_c(warp_m, rows);
            let a: Vec<_> = (0..rows / 16).map(|i| self.fragment(b, true, at, first, 16 * i, step, lane)).collect();
            let first = b.mul_c(warp_n, columns);
            let bs: Vec<_> = (0..products)
                .flat_map(|product| (0..columns / 16).map(move |i| (product, i)))
                .map(|(product, i)| self.fragment(b, false, right_at(b, product), first, 16 * i, step, lane))
                .collect();
            (a, bs)
        };
        let of_product = (rows / 16 * (columns / 8)) as usize;
        let steps = 4;
        let mut sums = sums.to_vec();
        let mut now = load(b, 0);
        for step in 0..steps {
            // The next fragments are on their way while these are multiplied.
            let next = (step + 1 < steps).then(|| load(b, step + 1));
            for (i, a) in now.0.iter().enumerate() {
                for j in 0..(products * columns / 8) as usize {
                    let (product, column) = (j / (columns / 8) as usize, j % (columns / 8) as usize);
                    let place = (product * of_product + i * (columns / 8) as usize + column) * 4;
                    let right = &now.1[j / 2][2 * (j % 2)..][..2];
                    let done = matrix::mma(b, kind, a, right, &sums[place..place + 4]);
                    sums[place..place + 4].copy_from_slice(&done);
                }
            }
            if let Some(next) = next {
                now = next;
            }
        }
        sums
    }

    /// Four registers: of A the fragment of 16 rows, of B those of twice 8 columns; 32 bytes of K. `first` is the warp's first line.
    #[allow(clippy::too_many_arguments)] // which lines and steps of which operand
    fn fragment(
        &self,
        b: Builder<'c>,
        is_a: bool,
        at: Val<'c>,
        first: Val<'c>,
        line: i64,
        step: i64,
        lane: Val<'c>,
    ) -> Vec<Val<'c>> {
        let problem = &self.gemm.problem;
        let place = if is_a { &problem.a } else { &problem.b };
        let (eighth, matrix_row) = (b.shr_c(lane, 3), b.and(lane, b.c32(7)));
        let (low, high) = (b.and(eighth, b.c32(1)), b.shr_c(eighth, 1));
        // Of A, the second matrix is 8 lines further, of B 16 bytes of K.
        let (of_line, of_step) = if is_a { (low, high) } else { (high, low) };
        let first = b.add_c(first, line);
        if keeps_lines(place, problem.dtype) {
            let row = b.addi(matrix_row, b.add_c(b.mul_c(of_step, 8), 16 * step));
            let line = b.addi(first, b.mul_c(of_line, 8));
            let piece = b.xor(b.and(b.shr_c(line, 3), b.c32(7)), matrix_row);
            let to = b.addi(b.mul_c(b.shr_c(line, 6), 8192), b.addi(b.mul_c(row, 128), b.mul_c(piece, 16)));
            return matrix::ldmatrix(b, b.addi(at, to), 4, true);
        }
        let row = b.addi(first, b.addi(matrix_row, b.mul_c(of_line, 8)));
        let piece = b.xor(b.add_c(of_step, 2 * step), matrix_row);
        let to = b.addi(b.mul_c(row, 128), b.mul_c(piece, 16));
        let words = matrix::ldmatrix(b, b.addi(at, to), 4, false);
        if problem.dtype != Dtype::F32 {
            return words;
        }
        // tf32 rounds to nearest; the instruction would cut off.
        let i32 = b.context().int_type(32);
        words.into_iter().map(|word| asm1(b, "cvt.rna.tf32.f32 $0, $1;", "=r,r", &[word], i32, Effect::Pure)).collect()
    }

    /// Each thread has rows `ty + 16 i` and columns `tx + 16 j`; four steps of K a load.
    fn multiply_fma(&self, b: Builder<'c>, at: Val<'c>, sums: &[Val<'c>]) -> Vec<Val<'c>> {
        let [rows, columns] = self.gemm.config.tile().map(i64::from);
        let (ty, tx) = (b.div_c(self.thread, SIDE), b.rem_c(self.thread, SIDE));
        let b_at = b.add_c(at, rows * 128);
        let f32 = b.context().f32_type();
        let four = |b: Builder<'c>, at: Val<'c>, line: Val<'c>, piece: i64| -> Vec<Val<'c>> {
            let piece = b.xor(b.c32(piece), b.and(line, b.c32(7)));
            let address = b.addi(at, b.addi(b.mul_c(line, 128), b.mul_c(piece, 16)));
            let words = memory::load_shared(b, address, 4);
            words.into_iter().map(|word| b.op1("arith.bitcast", &[word], f32, &[])).collect()
        };
        let mut sums = sums.to_vec();
        for piece in 0..8 {
            let a: Vec<_> = (0..rows / SIDE).map(|i| four(b, at, b.add_c(ty, SIDE * i), piece)).collect();
            // Lines of all right operands, one after the other.
            let lines = columns * i64::from(self.gemm.problem.products());
            let bs: Vec<_> = (0..lines / SIDE).map(|j| four(b, b_at, b.add_c(tx, SIDE * j), piece)).collect();
            let across = (columns / SIDE) as usize;
            let of_product = (rows * columns / (SIDE * SIDE)) as usize;
            for k in 0..4 {
                for (i, a) in a.iter().enumerate() {
                    for (j, right) in bs.iter().enumerate() {
                        let place = j / across * of_product + i * across + j % across;
                        sums[place] = b.op1("math.fma", &[a[k], right[k], sums[place]], f32, &[]);
                    }
                }
            }
        }
        sums
    }

    /// Hands the sums to the epilogue and stores its results.
    pub(super) fn finish(&self, b: Builder<'c>, sums: &[Val<'c>]) {
        let elements = self.elements();
        let config = &self.gemm.config;
        let (sums, others) = sums.split_at(self.sum_count() as usize);
        if config.kind == Kind::Fma {
            let columns = i64::from(config.tile()[1]) / SIDE;
            let (ty, tx) = (b.div_c(self.thread, SIDE), b.rem_c(self.thread, SIDE));
            for (index, sum) in sums.iter().enumerate() {
                let (i, j) = (index as i64 / columns, index as i64 % columns);
                let row = b.addi(self.row, b.add_c(ty, SIDE * i));
                let column = b.addi(self.column, b.add_c(tx, SIDE * j));
                let sums: Vec<_> = std::iter::once(*sum).chain(others.get(index).copied()).collect();
                for (which, value) in elements.result(b, self.batch, row, column, &sums).into_iter().enumerate() {
                    elements.store(b, which, self.batch, row, column, value);
                }
            }
            return;
        }
        let [rows, columns] = config.warp_tile.map(i64::from);
        let [warp_m, warp_n, lane] = self.warp(b);
        let row = b.addi(b.addi(self.row, b.mul_c(warp_m, rows)), b.shr_c(lane, 2));
        let column = b.addi(b.addi(self.column, b.mul_c(warp_n, columns)), b.mul_c(b.and(lane, b.c32(3)), 2));
        for (index, four) in sums.chunks(4).enumerate() {
            let (i, j) = (index as i64 / (columns / 8), index as i64 % (columns / 8));
            for half in 0..2 {
                let row = b.add_c(row, 16 * i + 8 * half);
                let two = |four: &[Val<'c>]| [four[2 * half as usize], four[2 * half as usize + 1]];
                let others = (!others.is_empty()).then(|| two(&others[4 * index..][..4]));
                let pair = Pair { row, column: b.add_c(column, 8 * j), sums: two(four), others };
                elements.store_pair(b, self.batch, &pair);
            }
        }
    }
}
