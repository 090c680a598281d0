//! From sums to results: the epilogue's scalar code on each element, then `stmatrix` and TMA, or plain stores.

use super::{
    Frame,
    consumer::{GROUP_BARRIER, Thread},
    tiles::Unit,
};
use crate::cuda::{
    emit::{matrix, memory, scalar::ScalarOps, sync, tma, wgmma::Sums},
    kernels::{elements::Pair, problem::Int},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

/// Sums of 64 rows of the kernel's matrix, of one product or two.
struct Piece<'c> {
    /// Its first row among those of the consumer.
    row: i64,
    sums: Vec<Val<'c>>,
    /// Those with the second right operand; none where there is one product.
    others: Vec<Val<'c>>,
}

impl<'c> Piece<'c> {
    /// The four sums that a thread has of column group `group`, of one product or two.
    fn four(&self, group: i64) -> (&[Val<'c>], Option<&[Val<'c>]>) {
        let place = 4 * group as usize;
        (&self.sums[place..][..4], (!self.others.is_empty()).then(|| &self.others[place..][..4]))
    }
}

impl<'a, 'c> Frame<'a, 'c> {
    /// The sums of a consumer's tile by rows. With two products a chain has the columns of both, or where swapped two chains are one of each.
    fn pieces(&self, b: Builder<'c>, sums: &[Sums<'c>]) -> Vec<Piece<'c>> {
        let chains: Vec<Vec<Val<'c>>> = sums.iter().map(|sum| sum.elements(b)).collect();
        let two = self.gemm.problem.products() > 1;
        if two && self.gemm.config.swapped {
            let mut chains = chains.into_iter();
            let mut next = || chains.next().unwrap_or_default();
            return vec![Piece { row: 0, sums: next(), others: next() }];
        }
        let rows = (0..).step_by(64);
        let piece = |(mut sums, row): (Vec<Val<'c>>, i64)| {
            let others = if two { sums.split_off(sums.len() / 2) } else { vec![] };
            Piece { row, sums, others }
        };
        chains.into_iter().zip(rows).map(piece).collect()
    }

    /// Finishes a whole tile whose rows begin at `first`.
    pub(super) fn finish(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        first: Val<'c>,
        sums: &[Sums<'c>],
    ) {
        let pieces = self.pieces(b, sums);
        if self.gemm.config.tma_store {
            self.staged(b, thread, unit, first, &pieces);
            return;
        }
        for piece in &pieces {
            let row = b.add_c(first, piece.row);
            for group in 0..self.gemm.config.covers(self.gemm.problem)[1] / 8 {
                for pair in self.pairs(b, thread, row, unit.column, group, piece.four(group)) {
                    self.elements().store_pair(b, unit.batch, &pair);
                }
            }
        }
    }

    /// The four sums of column group `group` (8 columns) that a thread has: rows r and r + 8.
    fn pairs(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        first: Val<'c>,
        columns: Val<'c>,
        group: i64,
        (four, others): (&[Val<'c>], Option<&[Val<'c>]>),
    ) -> [Pair<'c>; 2] {
        let row = b.addi(first, b.addi(b.mul_c(thread.warp, 16), b.shr_c(thread.lane, 2)));
        let column = b.addi(columns, b.add_c(b.mul_c(b.and(thread.lane, b.c32(3)), 2), 8 * group));
        [0, 1].map(|half| {
            let two = |four: &[Val<'c>]| [four[2 * half], four[2 * half + 1]];
            Pair { row: b.add_c(row, 8 * half as i64), column, sums: two(four), others: others.map(two) }
        })
    }

    /// Plain stores of four sums of one product, of what is inside the results.
    pub(super) fn store_four(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        first: Val<'c>,
        columns: Val<'c>,
        four: &[Val<'c>],
    ) {
        for pair in self.pairs(b, thread, first, columns, 0, (four, None)) {
            self.elements().store_pair(b, unit.batch, &pair);
        }
    }

    /// Through shared memory and TMA, in chunks of 128 bytes of the results' rows; two buffers a warpgroup.
    fn staged(&self, b: Builder<'c>, thread: Thread<'c>, unit: &Unit<'c>, first: Val<'c>, pieces: &[Piece<'c>]) {
        let config = &self.gemm.config;
        let width = 128 / self.gemm.problem.out_dtype.bytes();
        let chunks = if config.swapped { 1 } else { config.covers(self.gemm.problem)[1] / width };
        let maps = &self.gemm.slots.out_maps;
        let total = chunks as usize * pieces.len() * maps.len();
        let buffers =
            b.add_c(b.addi(self.shared, b.mul_c(thread.group, 2 * config.chunk_bytes())), config.staging_offset());
        let barrier = b.add_c(thread.group, GROUP_BARRIER);
        let leader = b.cmpi("eq", thread.id, b.c32(0));
        let mut number = 0;
        for piece in pieces {
            let row = b.add_c(first, piece.row);
            for chunk in 0..chunks {
                let results = self.chunk_results(b, thread, unit, row, chunk * width, piece);
                for (which, map) in maps.iter().enumerate() {
                    let buffer = b.add_c(buffers, number % 2 * config.chunk_bytes());
                    // The buffer is free when its last store has read it: two stores ago, except where an odd number of chunks ended with it.
                    let pending = u32::from(number > 0 || total.is_multiple_of(2));
                    number += 1;
                    b.when(leader, |b| tma::wait_read(b, pending));
                    sync::named_barrier(b, barrier, 128);
                    self.stage(b, thread, buffer, which, &results);
                    sync::fence_async_shared(b);
                    sync::named_barrier(b, barrier, 128);
                    b.when(leader, |b| {
                        let (n, m) = match config.swapped {
                            true => (row, unit.column),
                            false => (b.add_c(unit.column, chunk * width), row),
                        };
                        tma::store(b, self.args[*map], &self.out_coordinates(b, unit, which, n, m), buffer);
                        tma::commit(b);
                    });
                }
            }
        }
    }

    /// Where a box of result `which` goes, as its map has the dimensions.
    fn out_coordinates(&self, b: Builder<'c>, unit: &Unit<'c>, which: usize, n: Val<'c>, m: Val<'c>) -> Vec<Val<'c>> {
        // A number as the indices of what it is unfolded into, innermost first.
        let unfold = |number: Val<'c>, sizes: &[Int]| {
            let mut rest = number;
            let mut along = Vec::new();
            for (i, size) in sizes.iter().enumerate().rev() {
                let size = size.i32(b, self.args);
                along.push(if i == 0 { rest } else { b.remu(rest, size) });
                if i > 0 {
                    rest = b.divu(rest, size);
                }
            }
            along
        };
        let [columns, batches] = &self.gemm.slots.folds[which];
        let mut along = unfold(n, columns);
        let inner = if along.is_empty() { n } else { along.remove(0) };
        let batch = self.gemm.problem.outputs().nth(which).and_then(|(place, _)| place.batch.as_ref());
        let batch = batch.map(|_| unit.batch);
        [inner, m].into_iter().chain(along).chain(unfold(unit.batch, batches)).chain(batch).collect()
    }

    /// The results of a chunk: for each group of 8 columns, two pairs of elements, each with all results.
    fn chunk_results(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        first: Val<'c>,
        column: i64,
        piece: &Piece<'c>,
    ) -> Vec<[[Vec<Val<'c>>; 2]; 2]> {
        let config = &self.gemm.config;
        let width = if config.swapped { i64::from(config.columns) } else { 128 / self.gemm.problem.out_dtype.bytes() };
        let group = |group: i64| {
            let group = column / 8 + group;
            self.pairs(b, thread, first, unit.column, group, piece.four(group))
                .map(|pair| self.elements().results(b, unit.batch, &pair))
        };
        (0..width / 8).map(group).collect()
    }

    /// Writes result `which` of a chunk into a buffer, in the layout of a box with 128-byte swizzle.
    fn stage(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        buffer: Val<'c>,
        which: usize,
        results: &[[[Vec<Val<'c>>; 2]; 2]],
    ) {
        let of = |pair: &[Vec<Val<'c>>; 2]| [pair[0][which], pair[1][which]];
        if !self.gemm.problem.out_dtype.half() {
            for (group, pairs) in results.iter().enumerate() {
                self.stage_words(b, thread, buffer, group as i64, which, pairs.each_ref().map(of));
            }
            return;
        }
        for (number, groups) in results.chunks(2).enumerate() {
            let words: Vec<_> =
                groups.iter().flatten().map(|pair| self.elements().packed(b, which, of(pair))).collect();
            let address = self.matrix_address(b, thread, buffer, 2 * number as i64);
            matrix::stmatrix(b, address, &words, self.gemm.config.swapped);
        }
    }

    /// The address that this lane gives `stmatrix` for column groups `group` and `group + 1`.
    fn matrix_address(&self, b: Builder<'c>, thread: Thread<'c>, buffer: Val<'c>, group: i64) -> Val<'c> {
        let lane = thread.lane;
        let in_matrix = b.and(lane, b.c32(7));
        let second_rows = b.and(b.shr_c(lane, 3), b.c32(1));
        let second_group = b.and(b.shr_c(lane, 4), b.c32(1));
        let (row, piece) = if self.gemm.config.swapped {
            // Matrices are stored transposed: the row in memory is the tile's column.
            let row = b.addi(in_matrix, b.mul_c(b.add_c(second_group, group), 8));
            (row, b.addi(b.mul_c(thread.warp, 2), second_rows))
        } else {
            let row = b.addi(b.mul_c(thread.warp, 16), b.addi(in_matrix, b.mul_c(second_rows, 8)));
            (row, b.add_c(second_group, group))
        };
        let swizzled = b.mul_c(b.xor(piece, in_matrix), 16);
        b.addi(buffer, b.addi(b.mul_c(row, 128), swizzled))
    }

    /// 32-bit results of one column group.
    fn stage_words(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        buffer: Val<'c>,
        group: i64,
        which: usize,
        values: [[Val<'c>; 2]; 2],
    ) {
        let i32 = b.context().int_type(32);
        let row = b.addi(b.mul_c(thread.warp, 16), b.shr_c(thread.lane, 2));
        let quarter = b.and(thread.lane, b.c32(3));
        let piece = b.add_c(b.shr_c(quarter, 1), 2 * group);
        let within = b.mul_c(b.and(quarter, b.c32(1)), 8);
        for (i, values) in values.into_iter().enumerate() {
            let row = b.add_c(row, 8 * i as i64);
            let swizzled = b.mul_c(b.xor(piece, b.and(row, b.c32(7))), 16);
            let address = b.addi(buffer, b.addi(b.mul_c(row, 128), b.addi(swizzled, within)));
            let words =
                values.map(|value| b.op1("arith.bitcast", &[self.elements().rounded(b, which, value)], i32, &[]));
            memory::store_shared(b, address, &words);
        }
    }
}
