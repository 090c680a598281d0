//! The consumers: warpgroups that multiply what the producer loaded, and hand the sums to the epilogue.

use super::{
    Frame, Schedule,
    tiles::Unit,
    tiling::{Side, below},
};
use crate::cuda::emit::{scalar::ScalarOps, sync, tma};
use aitmlir_dialects::{
    builder::Builder,
    cute::author::{Built, Coords, CuteBuilder, TiledMma, View},
    types::{Types, Val},
};
use cute_layout::atom::{Element, Operand};

/// Named barriers: 0 is the CTA's.
pub(super) const GROUP_BARRIER: i64 = 1;
/// The order of the consumers' products, of ping-pong.
const ORDER_BARRIER: i64 = 3;
/// All consumers.
pub(super) const CONSUMERS_BARRIER: i64 = 5;

/// A consumer thread's place.
#[derive(Clone, Copy)]
pub struct Thread<'c> {
    /// Its warpgroup among the consumers.
    pub group: Val<'c>,
    /// Its number in the warpgroup.
    pub id: Val<'c>,
    /// Its warp in the warpgroup.
    pub warp: Val<'c>,
    /// Its lane.
    pub lane: Val<'c>,
}

/// What a consumer multiplies, and what it adds to.
#[derive(Clone, Copy)]
pub(super) struct Product<'c> {
    mma: TiledMma<'c>,
    /// ((64, K), chains, steps, stages) of its lines of the left operand, in shared memory.
    left: View<'c>,
    /// ((columns, K), 1, steps, stages) of the right one.
    right: View<'c>,
    /// The sums of a thread: ((2, 2, columns / 8), chains, 1) in registers.
    pub sums: View<'c>,
    /// Where they are in the consumer's tile.
    pub at: Coords<'c>,
}

impl<'c> Product<'c> {
    /// Four sums of a chain from value `first` on: of 8 columns, two neighbours in one row and two in the row 8 below.
    pub(super) fn four(&self, k: CuteBuilder<'c>, chain: i64, first: i64) -> Built<Vec<Val<'c>>> {
        (first..first + 4).map(|value| k.load(self.sums, format!("({value},{chain},0)"))).collect()
    }
}

impl<'a, 'c> Frame<'a, 'c> {
    /// The code of consumer warpgroup `group`.
    pub(super) fn consume(&self, k: CuteBuilder<'c>, group: Val<'c>) -> Built<()> {
        let b = k.builder();
        let id = b.and(b.sreg("tid.x"), b.c32(127));
        let thread = Thread { group, id, warp: b.shr_c(id, 5), lane: b.and(id, b.c32(31)) };
        let product = self.product(k, thread)?;
        match self.gemm.config.schedule {
            Schedule::Cooperative => self.cooperate(k, thread, &product)?,
            Schedule::PingPong => self.alternate(k, thread, &product)?,
        }
        if !self.gemm.slots.out_maps.is_empty() {
            // Shared memory goes to another CTA when this one ends: the last stores must have read it.
            b.when(b.cmpi("eq", id, b.c32(0)), |b| tma::wait_read(b, 0));
        }
        Ok(())
    }

    /// What a consumer has of the stages, and registers for its sums.
    fn product(&self, k: CuteBuilder<'c>, thread: Thread<'c>) -> Built<Product<'c>> {
        let (tiling, config) = (self.gemm.tiling(), &self.gemm.config);
        let [rows, columns] = tiling.of_consumer();
        let mma = self.instruction(k, columns)?;
        let (mut left, right) = (self.stages(k, Side::Left, 0)?, self.stages(k, Side::Right, 0)?);
        if config.sides() > 1 {
            let tile = format!("[{rows}:1;{}:1;{}:1]", tiling.row(), config.stages);
            left = k.tile(left, tile, format!("({},0,0)", below(config.sides())), &[thread.group])?;
        }
        let at = self.places(k, mma, [rows, columns], thread.id)?;
        let sums = k.fragment_like(at, Element::F32)?;
        let (left, right) =
            (k.mma_part(mma, Operand::A, left, thread.id)?, k.mma_part(mma, Operand::B, right, thread.id)?);
        Ok(Product { mma, left, right, sums, at })
    }

    /// The product by instructions of so many columns.
    pub(super) fn instruction(&self, k: CuteBuilder<'c>, columns: i64) -> Built<TiledMma<'c>> {
        k.tiled_mma(self.gemm.tiling().atom(columns), "(1,1,1):(0,0,0)", "[_;_;_]")
    }

    /// Where the sums of thread `thread` of a warpgroup are, in a tile of so many rows and columns.
    pub(super) fn places(
        &self,
        k: CuteBuilder<'c>,
        mma: TiledMma<'c>,
        [rows, columns]: [i64; 2],
        thread: Val<'c>,
    ) -> Built<Coords<'c>> {
        let whole = k.identity(k.make("shape", format!("({rows},{columns})"), &[])?)?;
        k.mma_part(mma, Operand::C, whole, thread)
    }

    /// All consumers work on each unit.
    fn cooperate(&self, k: CuteBuilder<'c>, thread: Thread<'c>, product: &Product<'c>) -> Built<()> {
        let b = k.builder();
        let [first, step] = self.walk(b);
        let state = [vec![b.c32(0)], self.begin(b)].concat();
        k.for_([first, self.units(b), step], &state, |k, index, state| {
            let at = self.find(k.builder(), index, &state[1..]);
            let after =
                self.within(k.builder(), &at, |frame| frame.cooperate_on(k, thread, product, index, state[0]))?;
            Ok([vec![after], at].concat())
        })?;
        Ok(())
    }

    /// One unit of [`Frame::cooperate`]: the state of the ring after it.
    fn cooperate_on(
        &self,
        k: CuteBuilder<'c>,
        thread: Thread<'c>,
        product: &Product<'c>,
        index: Val<'c>,
        state: Val<'c>,
    ) -> Built<Val<'c>> {
        let b = k.builder();
        let unit = self.unit(b, index);
        let state = self.multiply(k, thread, product, &unit, state, |_| ())?;
        let rows = self.gemm.config.covers(self.gemm.problem)[0] / i64::from(self.gemm.config.consumers);
        let first = b.addi(unit.row, b.mul_c(thread.group, rows));
        if self.gemm.config.split > 1 {
            self.meet(k, thread, &unit, product)?;
        } else {
            self.conclude(k, thread, &unit, first, product)?;
        }
        Ok(state)
    }

    /// The consumers take units in turn; barriers keep their products in order, so that no wait names a phase too far ahead.
    fn alternate(&self, k: CuteBuilder<'c>, thread: Thread<'c>, product: &Product<'c>) -> Built<()> {
        let b = k.builder();
        let states = 2 * i64::from(self.gemm.config.stages);
        let [first, grid] = self.walk(b);
        let mine = b.addi(thread.group, b.c32(ORDER_BARRIER));
        let other = b.subi(b.c32(2 * ORDER_BARRIER + 1), mine);
        b.when(b.cmpi("eq", thread.group, b.c32(1)), |b| sync::named_arrive(b, other, 256));
        let start = b.addi(first, b.muli(thread.group, grid));
        let units = self.units(b);
        // Blocks that both consumers are done with before this one's next unit; the first unit is that of consumer 0.
        let begun = self.find(b, first, &self.begin(b));
        let done = b.muli(thread.group, self.within(b, &begun, |frame| frame.blocks));
        let state = [vec![done], begun].concat();
        k.for_([start, units, b.mul_c(grid, 2)], &state, |k, index, state| {
            let b = k.builder();
            let (done, next) = (state[0], b.addi(index, grid));
            let at = self.find(b, index, &state[1..]);
            let of_next = if self.same_depth() { at.clone() } else { self.find(b, next, &at) };
            let blocks = self.within(b, &at, |frame| -> Built<Val<'c>> {
                let unit = frame.unit(b, index);
                let begin = b.rem_c(unit.done.unwrap_or(done), states);
                sync::named_barrier(b, mine, 256);
                let others = b.cmpi("slt", next, units);
                frame.multiply(k, thread, product, &unit, begin, |b| {
                    b.when(others, |b| sync::named_arrive(b, other, 256));
                })?;
                frame.conclude(k, thread, &unit, unit.row, product)?;
                Ok(frame.blocks)
            })?;
            let others = self.within(b, &of_next, |frame| frame.blocks);
            Ok([vec![b.addi(done, b.addi(blocks, others))], of_next].concat())
        })?;
        Ok(())
    }

    /// What becomes of the sums of a unit whose rows begin at `first`.
    fn conclude(
        &self,
        k: CuteBuilder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        first: Val<'c>,
        product: &Product<'c>,
    ) -> Built<()> {
        if self.gemm.config.stream {
            self.finish_stream(k, thread, unit, first, product)
        } else {
            self.finish(k, thread, unit, first, product)
        }
    }

    /// The sums of a unit, from the stage of state `state` on: the state after it. One group of products stays under way while the next stage is awaited; `issued` runs
    /// when the last one is on its way.
    fn multiply(
        &self,
        k: CuteBuilder<'c>,
        thread: Thread<'c>,
        product: &Product<'c>,
        unit: &Unit<'c>,
        state: Val<'c>,
        issued: impl FnOnce(Builder<'c>),
    ) -> Built<Val<'c>> {
        let b = k.builder();
        let at_stage = self.gemm.tiling().at_stage(3);
        k.fill(product.sums, b.float(b.context().f32_type(), 0.0))?;
        k.wgmma_fence(&[product.sums])?;
        let states = k.for_([unit.first, unit.last, b.c32(1)], &[state, state], |k, block, states| {
            let b = k.builder();
            let (state, before) = (states[0], states[1]);
            let stage = k.stage(self.ring, state)?;
            let (left, right) =
                (k.slice(product.left, &at_stage, &[stage])?, k.slice(product.right, &at_stage, &[stage])?);
            k.consumer_wait(self.ring, state)?;
            k.wgmma_fence(&[])?;
            k.gemm_async(product.mma, product.sums, left, right)?;
            k.wgmma_commit()?;
            // This stage's products go on; those of the stage before are over.
            k.wgmma_wait(1, &[])?;
            self.release(k, thread, before, b.cmpi("sgt", block, unit.first))?;
            Ok(vec![k.next(self.ring, state)?, state])
        })?;
        issued(b);
        k.wgmma_wait(0, &[product.sums])?;
        self.release(k, thread, states[1], b.cmpi("sgt", unit.last, unit.first))?;
        Ok(states[0])
    }

    /// This warp no longer reads the stage of a state, where `done`: tells the producers that fill it.
    fn release(&self, k: CuteBuilder<'c>, thread: Thread<'c>, state: Val<'c>, done: Val<'c>) -> Built<()> {
        let b = k.builder();
        let tells = b.cmpi("slt", thread.lane, b.c32(self.gemm.config.fillers().into()));
        k.when(b.and(tells, done), |k| k.release(self.ring, state, self.filler(b, thread)))
    }

    /// The rank of the CTA that this lane tells: lane i one of those in the column of the cluster, then of those in the row. None where there is no cluster.
    fn filler(&self, b: Builder<'c>, thread: Thread<'c>) -> Option<Val<'c>> {
        let ([of_rows, of_columns], lane) = (self.gemm.config.share.map(i64::from), thread.lane);
        match [of_rows, of_columns] {
            [1, 1] => None,
            // The rank counts along the one dimension that there is.
            [1, _] | [_, 1] => Some(lane),
            _ => {
                let [row, column] = self.place(b);
                let in_column = b.addi(lane, b.mul_c(column, of_rows));
                // Those of the row but this one, which is in the column too.
                let other = b.add_c(lane, -of_rows);
                let passed = b.select(b.cmpi("sge", other, column), b.c32(1), b.c32(0));
                let in_row = b.addi(row, b.mul_c(b.addi(other, passed), of_rows));
                Some(b.select(b.cmpi("slt", lane, b.c32(of_rows)), in_column, in_row))
            }
        }
    }
}
