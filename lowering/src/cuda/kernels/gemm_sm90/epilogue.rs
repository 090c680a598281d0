//! From sums to results: the epilogue's scalar code on each element, then `stmatrix` and TMA, or plain stores.

use super::{
    Frame,
    consumer::{GROUP_BARRIER, Thread},
    tiles::Unit,
};
use crate::cuda::{
    emit::{matrix, memory, scalar::ScalarOps, sync, tma, wgmma::Sums},
    kernels::problem::Dtype,
};
use aitmlir_dialects::{
    builder::{Builder, defining_op, operands_of},
    types::{TypeExt, Types, Val},
};
use melior::ir::{ValueLike, operation::OperationLike};

/// Two neighbouring elements of a row of a tile.
#[derive(Clone, Copy)]
pub(super) struct Pair<'c> {
    /// The tile's row.
    pub row: Val<'c>,
    /// The tile's column of the first; that of the second is one more.
    pub column: Val<'c>,
    /// The sums.
    pub sums: [Val<'c>; 2],
}

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
    pub(super) fn pairs(
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
        let Some(out) = self.gemm.slots.out else { return };
        let bytes = self.gemm.problem.out_dtype.bytes();
        let line = self.gemm.slots.out_line.i64(b, self.args);
        let base = b.muli(b.wide(unit.batch), self.gemm.slots.out_batch.i64(b, self.args));
        for pair in self.pairs(b, thread, first, columns, group, four) {
            let values = self.results(b, unit, &pair);
            for (i, value) in values.into_iter().enumerate() {
                let column = b.add_c(pair.column, i as i64);
                let inside = b.and(b.cmpi("slt", pair.row, self.m), b.cmpi("slt", column, self.n));
                b.when(inside, |b| {
                    let (m, n) = if self.gemm.config.swapped { (column, pair.row) } else { (pair.row, column) };
                    let place = b.addi(base, b.addi(b.muli(b.wide(m), line), b.wide(n)));
                    let place = memory::offset(b, self.args[out], b.muli(place, crate::cuda::emit::i64c(b, bytes)));
                    memory::store(b, place, self.rounded(b, value));
                });
            }
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
                .map(|pair| self.results(b, unit, &pair))
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
                (0..count).flat_map(|i| pairs(group + i)).map(|values| self.packed(b, values)).collect();
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
            let words = values.map(|value| b.op1("arith.bitcast", &[self.rounded(b, value)], i32, &[]));
            memory::store_shared(b, address, &words);
        }
    }

    /// The epilogue's results for a pair.
    fn results(&self, b: Builder<'c>, unit: &Unit<'c>, pair: &Pair<'c>) -> [Val<'c>; 2] {
        let extras: Vec<[Val<'c>; 2]> =
            (0..self.gemm.problem.extras.len()).map(|i| self.extra(b, unit, pair, i)).collect();
        [0, 1].map(|i| {
            let elements: Vec<_> = extras.iter().map(|extra| extra[i]).collect();
            (self.region)(b, pair.sums[i], &elements)[0]
        })
    }

    /// Elements of an extra for a pair. Places outside the result are moved inside: what is computed from them is not stored.
    fn extra(&self, b: Builder<'c>, unit: &Unit<'c>, pair: &Pair<'c>, index: usize) -> [Val<'c>; 2] {
        let (extra, slot) = (&self.gemm.problem.extras[index], &self.gemm.slots.extras[index]);
        let swapped = self.gemm.config.swapped;
        let r#type = extra.dtype.mlir(b);
        let load = |b: Builder<'c>, m: Option<Val<'c>>, n: Option<Val<'c>>| {
            let mut place = crate::cuda::emit::i64c(b, 0);
            if let (Some(row), Some(m)) = (slot.row, m) {
                place = b.addi(place, b.muli(b.wide(m), row.i64(b, self.args)));
            }
            if let Some(batch) = slot.batch {
                place = b.addi(place, b.muli(b.wide(unit.batch), batch.i64(b, self.args)));
            }
            if let Some(n) = n {
                place = b.addi(place, b.wide(n));
            }
            let bytes = crate::cuda::emit::i64c(b, extra.dtype.bytes());
            memory::offset(b, self.args[slot.pointer], b.muli(place, bytes))
        };
        let row = b.minsi(pair.row, b.add_c(self.m, -1));
        let columns = [0, 1].map(|i| b.minsi(b.add_c(pair.column, i), b.add_c(self.n, -1)));
        if !swapped && extra.column && extra.pairs && extra.dtype.half() {
            let column = b.minsi(pair.column, b.add_c(self.n, -2));
            let word = memory::load_words(b, load(b, Some(row), Some(column)), 1)[0];
            let vector = aitmlir_dialects::types::vector_type(2, r#type);
            let both = b.op1("llvm.bitcast", &[word], vector, &[]);
            return [0, 1].map(|i| {
                let at = crate::cuda::emit::i32c(b, i);
                b.op1("llvm.extractelement", &[both, at], r#type, &[])
            });
        }
        let element = |i: usize| {
            let (m, n) = if swapped { (columns[i], row) } else { (row, columns[i]) };
            memory::load(b, load(b, extra.row.is_some().then_some(m), extra.column.then_some(n)), r#type)
        };
        let varies = if swapped { extra.row.is_some() } else { extra.column };
        let one = element(0);
        [one, if varies { element(1) } else { one }]
    }

    /// A value of the result's type.
    fn rounded(&self, b: Builder<'c>, value: Val<'c>) -> Val<'c> {
        let r#type = self.gemm.problem.out_dtype.mlir(b);
        if value.r#type() == r#type { value } else { b.op1("arith.truncf", &[value], r#type, &[]) }
    }

    /// Two 16-bit results in one word, by one instruction where both were rounded from f32.
    fn packed(&self, b: Builder<'c>, values: [Val<'c>; 2]) -> Val<'c> {
        let bf16 = self.gemm.problem.out_dtype == Dtype::Bf16;
        let wide = values.map(|value| unrounded(value));
        if let [Some(low), Some(high)] = wide {
            return b.pack_halves(low, high, bf16);
        }
        let i16 = b.context().int_type(16);
        let i32 = b.context().int_type(32);
        let [low, high] = values.map(|value| {
            let bits = b.op1("arith.bitcast", &[self.rounded(b, value)], i16, &[]);
            b.op1("arith.extui", &[bits], i32, &[])
        });
        b.or(low, b.shl_c(high, 16))
    }
}

/// The f32 that a value is, or was rounded from.
fn unrounded<'c>(value: Val<'c>) -> Option<Val<'c>> {
    let is_f32 = |value: Val<'c>| value.r#type().is_float_type() && value.r#type().bits() == 32;
    if is_f32(value) {
        return Some(value);
    }
    let op = defining_op(value)?;
    let name = op.name();
    let rounds = name.as_string_ref().as_str() == Ok("arith.truncf");
    let source = rounds.then(|| operands_of(op).first().copied()).flatten()?;
    is_f32(source).then_some(source)
}
