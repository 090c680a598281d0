//! From sums to results: the epilogue's scalar code on each element, then `stmatrix` and TMA, or plain stores.

use super::{
    Frame,
    consumer::{GROUP_BARRIER, Thread},
    tiles::Unit,
};
use crate::cuda::{
    emit::{matrix, memory, scalar::ScalarOps, sync, tma, wgmma::Sums},
    kernels::elements::Pair,
};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

impl<'a, 'c> Frame<'a, 'c> {
    /// Finishes a whole tile whose rows begin at `first`.
    pub(super) fn finish(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        first: Val<'c>,
        sums: &[Sums<'c>],
    ) {
        if self.gemm.config.tma_store {
            self.staged(b, thread, unit, first, sums);
        } else {
            for (chain, sum) in sums.iter().enumerate() {
                let elements = sum.elements(b);
                for (group, four) in elements.chunks(4).enumerate() {
                    let row = b.add_c(first, 64 * chain as i64);
                    self.store_four(b, thread, unit, row, unit.column, group as i64, four);
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
        four: &[Val<'c>],
    ) -> [Pair<'c>; 2] {
        let row = b.addi(first, b.addi(b.mul_c(thread.warp, 16), b.shr_c(thread.lane, 2)));
        let column = b.addi(columns, b.add_c(b.mul_c(b.and(thread.lane, b.c32(3)), 2), 8 * group));
        [
            Pair { row, column, sums: [four[0], four[1]] },
            Pair { row: b.add_c(row, 8), column, sums: [four[2], four[3]] },
        ]
    }

    /// Plain stores, element by element, of what is inside the result.
    #[allow(clippy::too_many_arguments)] // who, where, what
    pub(super) fn store_four(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        first: Val<'c>,
        columns: Val<'c>,
        group: i64,
        four: &[Val<'c>],
    ) {
        for pair in self.pairs(b, thread, first, columns, group, four) {
            self.elements().store_pair(b, unit.batch, &pair);
        }
    }

    /// Through shared memory and TMA, in chunks of 128 bytes of the result's rows; two buffers a warpgroup.
    fn staged(&self, b: Builder<'c>, thread: Thread<'c>, unit: &Unit<'c>, first: Val<'c>, sums: &[Sums<'c>]) {
        let config = &self.gemm.config;
        let width = 128 / self.gemm.problem.out_dtype.bytes();
        let chunks = if config.swapped { 1 } else { i64::from(config.columns) / width };
        let total = chunks * i64::from(config.chains);
        let buffers =
            b.add_c(b.addi(self.shared, b.mul_c(thread.group, 2 * config.chunk_bytes())), config.staging_offset());
        let barrier = b.add_c(thread.group, GROUP_BARRIER);
        let leader = b.cmpi("eq", thread.id, b.c32(0));
        for number in 0..total {
            let (chain, chunk) = (number / chunks, number % chunks);
            let buffer = b.add_c(buffers, number % 2 * config.chunk_bytes());
            // The buffer is free when its last store has read it: two stores ago, except where an odd number of chunks ended with it.
            let pending = u32::from(number > 0 || total % 2 == 0);
            b.when(leader, |b| tma::wait_read(b, pending));
            sync::named_barrier(b, barrier, 128);
            let row = b.add_c(first, 64 * chain);
            let elements = sums[chain as usize].elements(b);
            self.stage(b, thread, unit, row, buffer, chunk * width, &elements);
            sync::fence_async_shared(b);
            sync::named_barrier(b, barrier, 128);
            b.when(leader, |b| {
                let (n, m) = match config.swapped {
                    true => (row, unit.column),
                    false => (b.add_c(unit.column, chunk * width), row),
                };
                let mut coordinates = vec![n, m];
                if self.gemm.problem.out.batch.is_some() {
                    coordinates.push(unit.batch);
                }
                if let Some(map) = self.gemm.slots.out_map {
                    tma::store(b, self.args[map], &coordinates, buffer);
                }
                tma::commit(b);
            });
        }
    }

    /// Writes one chunk, columns `column..` of the tile's 64 rows, into a buffer in the layout of a box with 128-byte swizzle.
    #[allow(clippy::too_many_arguments)] // who, where, what
    fn stage(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        first: Val<'c>,
        buffer: Val<'c>,
        column: i64,
        elements: &[Val<'c>],
    ) {
        let config = &self.gemm.config;
        let groups =
            if config.swapped { i64::from(config.columns) } else { 128 / self.gemm.problem.out_dtype.bytes() } / 8;
        let first_group = column / 8;
        let four = |group: i64| &elements[(4 * (first_group + group)) as usize..][..4];
        let pairs = |group: i64| {
            let group_in_tile = first_group + group;
            self.pairs(b, thread, first, unit.column, group_in_tile, four(group))
                .map(|pair| self.elements().results(b, unit.batch, &pair))
        };
        if !self.gemm.problem.out_dtype.half() {
            for group in 0..groups {
                self.stage_words(b, thread, buffer, group, pairs(group));
            }
            return;
        }
        for group in (0..groups).step_by(2) {
            let count = (groups - group).min(2);
            let words: Vec<_> =
                (0..count).flat_map(|i| pairs(group + i)).map(|values| self.elements().packed(b, values)).collect();
            let address = self.matrix_address(b, thread, buffer, group);
            matrix::stmatrix(b, address, &words, config.swapped);
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
    fn stage_words(&self, b: Builder<'c>, thread: Thread<'c>, buffer: Val<'c>, group: i64, values: [[Val<'c>; 2]; 2]) {
        let i32 = b.context().int_type(32);
        let row = b.addi(b.mul_c(thread.warp, 16), b.shr_c(thread.lane, 2));
        let quarter = b.and(thread.lane, b.c32(3));
        let piece = b.add_c(b.shr_c(quarter, 1), 2 * group);
        let within = b.mul_c(b.and(quarter, b.c32(1)), 8);
        for (i, values) in values.into_iter().enumerate() {
            let row = b.add_c(row, 8 * i as i64);
            let swizzled = b.mul_c(b.xor(piece, b.and(row, b.c32(7))), 16);
            let address = b.addi(buffer, b.addi(b.mul_c(row, 128), b.addi(swizzled, within)));
            let words = values.map(|value| b.op1("arith.bitcast", &[self.elements().rounded(b, value)], i32, &[]));
            memory::store_shared(b, address, &words);
        }
    }
}
