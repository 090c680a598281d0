//! From sums to results: the epilogue's scalar code on each element, then `stmatrix` and TMA, or plain stores.

use super::{
    Frame,
    consumer::{GROUP_BARRIER, Product, Thread},
    tiles::Unit,
    tiling::below,
};
use crate::cuda::{
    emit::{i64c, memory, scalar::ScalarOps, sync, tma},
    kernels::{elements::Pair, problem::Int},
};
use aitmlir_dialects::{
    builder::Builder,
    cute::author::{Built, Coords, CuteBuilder, TiledCopy, View},
    types::Val,
};
use cute_layout::atom::{Element, Operand, Side as End};

/// Sums of 64 rows of the kernel's matrix, of one product or two.
#[derive(Clone, Copy)]
struct Piece {
    /// Their chain.
    chain: i64,
    /// The chain of those with the second right operand, and the first of them in it; none where there is one product.
    other: Option<[i64; 2]>,
}

/// Where a thread's sums are in the kernel's matrix.
#[derive(Clone, Copy)]
pub(super) struct Places<'c> {
    /// Where they are in their tile, as [`Product::at`] has them.
    at: Coords<'c>,
    /// Row and column of the first one in the matrix.
    row: Val<'c>,
    column: Val<'c>,
}

/// What a thread needs for chunks of results that leave through shared memory.
struct Staging<'c> {
    store: TiledCopy<'c>,
    /// A thread's results of a chunk: ((2, 2, columns / 8), 1, 1) in registers, in f32.
    results: View<'c>,
    /// The same rounded, where they are stored so.
    rounded: Option<View<'c>>,
    /// What the copy reads: ((values, atoms), 1, 1).
    from: View<'c>,
    /// Where it writes: ((values, atoms), 1, 1, buffers).
    to: View<'c>,
}

/// A tile that leaves through shared memory.
struct Tile<'a, 'c> {
    thread: Thread<'c>,
    unit: &'a Unit<'c>,
    product: &'a Product<'c>,
    places: &'a Places<'c>,
    staging: &'a Staging<'c>,
    /// Chunks of a piece.
    chunks: i64,
    /// Stores of all pieces and results.
    total: i64,
}

impl<'a, 'c> Frame<'a, 'c> {
    /// The sums of a consumer's tile by rows. With two products a chain has the columns of both, or where swapped two chains are one of each.
    fn pieces(&self) -> Vec<Piece> {
        let two = self.gemm.problem.products() > 1;
        if two && self.gemm.config.swapped {
            return vec![Piece { chain: 0, other: Some([1, 0]) }];
        }
        let second = 4 * self.gemm.config.covers(self.gemm.problem)[1] / 8;
        let chains = 0..i64::from(self.gemm.config.chains);
        chains.map(|chain| Piece { chain, other: two.then_some([chain, second]) }).collect()
    }

    /// Where sums are in the kernel's matrix whose tile begins at a row and a column.
    pub(super) fn placed(&self, k: CuteBuilder<'c>, at: Coords<'c>, [row, column]: [Val<'c>; 2]) -> Built<Places<'c>> {
        let (b, first) = (k.builder(), k.place(at, "(0,0,0)")?);
        Ok(Places { at, row: b.addi(row, first[0]), column: b.addi(column, first[1]) })
    }

    /// Finishes a whole tile whose rows begin at `first`.
    pub(super) fn finish(
        &self,
        k: CuteBuilder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        first: Val<'c>,
        product: &Product<'c>,
    ) -> Built<()> {
        let places = self.placed(k, product.at, [first, unit.column])?;
        if self.gemm.config.tma_store {
            return self.staged(k, thread, unit, first, product, &places);
        }
        self.pieces().into_iter().try_for_each(|piece| self.plain(k, unit, product, &places, piece))
    }

    /// Plain stores of what of a piece is inside the results.
    fn plain(
        &self,
        k: CuteBuilder<'c>,
        unit: &Unit<'c>,
        product: &Product<'c>,
        places: &Places<'c>,
        piece: Piece,
    ) -> Built<()> {
        for group in 0..self.gemm.config.covers(self.gemm.problem)[1] / 8 {
            for pair in self.sums_of(k, product, places, piece, group)? {
                self.elements().store_pair(k.builder(), unit.batch, &pair);
            }
        }
        Ok(())
    }

    /// Of rows that are grouped, what a piece whose first row is `row` has of the unit's group: all rows of its boxes, and any. What is outside of a whole result TMA does not store.
    fn rows_of_group(&self, b: Builder<'c>, unit: &Unit<'c>, row: Val<'c>) -> Option<[Val<'c>; 2]> {
        self.group?;
        let config = &self.gemm.config;
        let (first, lines, rows) = match config.swapped {
            true => (unit.column, i64::from(config.columns), self.n),
            false => (row, 64, self.m),
        };
        Some([b.cmpi("sle", b.add_c(first, lines), rows), b.cmpi("slt", first, rows)])
    }

    /// The four sums of column group `group` (8 columns) that a thread has: rows r and r + 8.
    fn sums_of(
        &self,
        k: CuteBuilder<'c>,
        product: &Product<'c>,
        places: &Places<'c>,
        piece: Piece,
        group: i64,
    ) -> Built<[Pair<'c>; 2]> {
        let first = 4 * group;
        let four = product.four(k, piece.chain, first)?;
        let others = piece.other.map(|[chain, second]| product.four(k, chain, second + first)).transpose()?;
        self.pairs(k, places, [first, piece.chain], &four, others.as_deref())
    }

    /// Four sums, the first of which is value `value` of chain `chain`, as pairs of neighbours.
    fn pairs(
        &self,
        k: CuteBuilder<'c>,
        places: &Places<'c>,
        [value, chain]: [i64; 2],
        four: &[Val<'c>],
        others: Option<&[Val<'c>]>,
    ) -> Built<[Pair<'c>; 2]> {
        let b = k.builder();
        let pair = |first: usize| -> Built<Pair<'c>> {
            let step = k.step(places.at, format!("({},{chain},0)", value + first as i64))?;
            let two = |four: &[Val<'c>]| [four[first], four[first + 1]];
            let (row, column) = (b.add_c(places.row, step[0]), b.add_c(places.column, step[1]));
            Ok(Pair { row, column, sums: two(four), others: others.map(two) })
        };
        Ok([pair(0)?, pair(2)?])
    }

    /// Plain stores of four sums of one product, the first ones at these places, of what is inside the results.
    pub(super) fn store_four(
        &self,
        k: CuteBuilder<'c>,
        unit: &Unit<'c>,
        places: &Places<'c>,
        four: &[Val<'c>],
    ) -> Built<()> {
        for pair in self.pairs(k, places, [0, 0], four, None)? {
            self.elements().store_pair(k.builder(), unit.batch, &pair);
        }
        Ok(())
    }

    /// (rows, columns, buffers, consumers) of staged chunks, with `more` modes of one element behind the columns.
    fn buffers(&self, k: CuteBuilder<'c>, more: usize) -> Built<View<'c>> {
        let (b, tiling) = (k.builder(), self.gemm.tiling());
        let pointer = memory::offset(b, self.shared, i64c(b, self.gemm.config.staging_offset()));
        k.shared(pointer, tiling.result(), 1024, tiling.staging(more))
    }

    /// The coordinate of a consumer, behind `before`.
    fn of_group(&self, before: &str) -> String {
        format!("({before},{})", below(self.gemm.config.consumers.into()))
    }

    fn staging(&self, k: CuteBuilder<'c>, thread: Thread<'c>) -> Built<Staging<'c>> {
        let tiling = self.gemm.tiling();
        let columns = tiling.chunk_columns();
        // What a thread has of a chunk is what it has of the sums of an instruction of so many columns.
        let mma = self.instruction(k, columns)?;
        let at = self.places(k, mma, [64, columns], thread.id)?;
        let results = k.fragment_like(at, Element::F32)?;
        let rounded = match self.gemm.problem.out_dtype.half() {
            true => Some(k.fragment_like(at, tiling.result())?),
            false => None,
        };
        let store = k.tiled_copy_for(tiling.store(), tiling.result(), mma, Operand::C)?;
        let buffers = k.slice(self.buffers(k, 0)?, self.of_group("_,_,_"), &[thread.group])?;
        let from = k.retile(store, rounded.unwrap_or(results))?;
        let to = k.copy_part(store, End::Destination, buffers, thread.id)?;
        Ok(Staging { store, results, rounded, from, to })
    }

    /// Through shared memory and TMA, in chunks of 128 bytes of the results' rows; two buffers a warpgroup. A piece with rows of the next group leaves by plain stores.
    fn staged(
        &self,
        k: CuteBuilder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        first: Val<'c>,
        product: &Product<'c>,
        places: &Places<'c>,
    ) -> Built<()> {
        let (b, pieces) = (k.builder(), self.pieces());
        let staging = self.staging(k, thread)?;
        let chunks = self.gemm.config.covers(self.gemm.problem)[1] / self.gemm.tiling().chunk_columns();
        let stores = chunks * self.gemm.slots.out_maps.len() as i64;
        let total = stores * pieces.len() as i64;
        let tile = Tile { thread, unit, product, places, staging: &staging, chunks, total };
        let leader = b.cmpi("eq", thread.id, b.c32(0));
        for (index, piece) in (0..).zip(pieces) {
            let row = b.add_c(first, 64 * piece.chain);
            let Some([all, any]) = self.rows_of_group(b, unit, row) else {
                self.staged_piece(k, &tile, piece, row, index * stores)?;
                continue;
            };
            k.if_(
                all,
                &[],
                |k| self.staged_piece(k, &tile, piece, row, index * stores).map(|()| vec![]),
                |k| {
                    k.when(any, |k| self.plain(k, unit, product, places, piece))?;
                    // Waits count groups of stores: of this piece there are as many, with nothing in them.
                    k.builder().when(leader, |b| (0..stores).for_each(|_| tma::commit(b)));
                    Ok(vec![])
                },
            )?;
        }
        Ok(())
    }

    /// A piece by boxes, the first of which is store number `number` of its tile.
    fn staged_piece(
        &self,
        k: CuteBuilder<'c>,
        tile: &Tile<'_, 'c>,
        piece: Piece,
        row: Val<'c>,
        mut number: i64,
    ) -> Built<()> {
        let (b, thread, unit) = (k.builder(), tile.thread, tile.unit);
        let columns = self.gemm.tiling().chunk_columns();
        let barrier = b.add_c(thread.group, GROUP_BARRIER);
        let leader = b.cmpi("eq", thread.id, b.c32(0));
        for chunk in 0..tile.chunks {
            let values = self.chunk_results(k, unit, tile.product, tile.places, piece, chunk * columns)?;
            for which in 0..self.gemm.slots.out_maps.len() {
                let buffer = number % 2;
                // The buffer is free when its last store has read it: two stores ago, except where an odd number of chunks ended with it.
                let pending = u32::from(number > 0 || tile.total % 2 == 0);
                number += 1;
                b.when(leader, |b| tma::wait_read(b, pending));
                sync::named_barrier(b, barrier, 128);
                self.stage(k, tile.staging, buffer, which, &values)?;
                sync::fence_async_shared(b);
                sync::named_barrier(b, barrier, 128);
                k.when(leader, |k| {
                    let column = k.builder().add_c(unit.column, chunk * columns);
                    self.store_chunk(k, thread, unit, [row, column], which, buffer)
                })?;
            }
        }
        Ok(())
    }

    /// Stores a staged chunk of result `which`, whose first row and column in the kernel's matrix are given.
    fn store_chunk(
        &self,
        k: CuteBuilder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        [row, column]: [Val<'c>; 2],
        which: usize,
        buffer: i64,
    ) -> Built<()> {
        let (b, swapped) = (k.builder(), self.gemm.config.swapped);
        let (n, m) = if swapped { (row, column) } else { (column, row) };
        // Maps are of the rows of all groups.
        let m = self.group.map_or(m, |[_, start]| b.addi(m, start));
        let (n, others) = self.out_coordinates(b, unit, which, n);
        let at: Vec<_> = if swapped { [n, m] } else { [m, n] }.into_iter().chain(others.iter().copied()).collect();
        let at = k.make("int_tuple", format!("(?{})", ",?".repeat(at.len() - 1)), &at)?;
        let open = "_,".repeat(2 + others.len());
        let buffers = self.buffers(k, others.len())?;
        let from = k.slice(buffers, self.of_group(&format!("{open}{buffer}")), &[thread.group])?;
        k.tma_store(self.args[self.gemm.slots.out_maps[which]], at, from)?;
        tma::commit(b);
        Ok(())
    }

    /// Where a box of result `which` goes whose first column is `n`: its place in the innermost dimension that columns are unfolded into, and those in the dimensions
    /// that its map has behind the rows.
    fn out_coordinates(&self, b: Builder<'c>, unit: &Unit<'c>, which: usize, n: Val<'c>) -> (Val<'c>, Vec<Val<'c>>) {
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
        (inner, along.into_iter().chain(unfold(unit.batch, batches)).chain(batch).collect())
    }

    /// The results of a chunk that begins at column `column` of the tile: those of each of the thread's elements, in the order of its sums.
    fn chunk_results(
        &self,
        k: CuteBuilder<'c>,
        unit: &Unit<'c>,
        product: &Product<'c>,
        places: &Places<'c>,
        piece: Piece,
        column: i64,
    ) -> Built<Vec<Vec<Val<'c>>>> {
        let mut results = Vec::new();
        for group in 0..self.gemm.tiling().chunk_columns() / 8 {
            for pair in self.sums_of(k, product, places, piece, column / 8 + group)? {
                results.extend(self.elements().results(k.builder(), unit.batch, &pair));
            }
        }
        Ok(results)
    }

    /// Writes result `which` of a chunk into a buffer, in the layout of a box with 128-byte swizzle.
    fn stage(
        &self,
        k: CuteBuilder<'c>,
        staging: &Staging<'c>,
        buffer: i64,
        which: usize,
        values: &[Vec<Val<'c>>],
    ) -> Built<()> {
        for (number, results) in values.iter().enumerate() {
            let value = self.elements().unrounded(k.builder(), results[which]);
            k.store(value, staging.results, format!("({number},0,0)"))?;
        }
        if let Some(rounded) = staging.rounded {
            k.convert(staging.results, rounded)?;
        }
        let to = k.slice(staging.to, format!("(_,_,_,{buffer})"), &[])?;
        k.copy(staging.store, staging.from, to)
    }
}
