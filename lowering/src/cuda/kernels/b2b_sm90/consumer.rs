//! The consumers: scores by `wgmma`, the scalar code on them in registers, and the second product from registers.

use super::{
    Frame, Part, TILE, Unit,
    tiling::{Multiply, Tiling},
    weights::BoxedBias,
};
use crate::cuda::emit::{scalar::ScalarOps, sync, tma};
use aitmlir_dialects::{
    cute::author::{Built, CuteBuilder, TiledMma, View},
    types::{Types, Val},
};
use cute_layout::atom::{Element, Operand, Side};

/// Named barriers of the warpgroups.
pub const GROUP_BARRIER: i64 = 1;
/// The named barrier of both warpgroups together.
const BOTH_BARRIER: i64 = 3;

/// A consumer thread's place.
#[derive(Clone, Copy)]
pub struct Thread<'c> {
    /// Its warpgroup.
    pub group: Val<'c>,
    /// Its number among the threads of both.
    pub number: Val<'c>,
    /// Is it the first one of its warpgroup, of its warp?
    pub first: Val<'c>,
    pub leads: Val<'c>,
}

/// What a thread has of the products.
pub struct Consumer<'c> {
    pub thread: Thread<'c>,
    scored: TiledMma<'c>,
    /// The product of weights and values.
    pub result: TiledMma<'c>,
    /// Q, K and V as the products read them: (values, 1, steps, buffers).
    queries: View<'c>,
    keys: View<'c>,
    values: View<'c>,
    /// Sums of the first product.
    pub scores: View<'c>,
    /// The left operand of the second, as f32 and rounded: (values, 1, steps).
    pub weights: View<'c>,
    pub rounded: View<'c>,
    /// Its sums, and rounded.
    pub sums: View<'c>,
    pub halves: View<'c>,
    pub bias: Option<BoxedBias<'c>>,
}

impl<'c> Frame<'_, 'c> {
    pub(super) fn consume(&self, k: CuteBuilder<'c>, group: Val<'c>) -> Built<()> {
        let b = k.builder();
        let id = b.and(b.sreg("tid.x"), b.c32(127));
        let (zero, lane) = (b.c32(0), b.and(id, b.c32(31)));
        let number = b.and(b.addi(b.mul_c(group, 128), id), b.c32(255));
        let (first, leads) = (b.cmpi("eq", id, zero), b.cmpi("eq", lane, zero));
        let consumer = self.consumer(k, Thread { group, number, first, leads })?;
        self.each_unit(k, false, |k, unit, [ring, query]| {
            k.consumer_wait(self.pipe(Part::Query), query)?;
            let ring = self.multiply(k, &consumer, unit, query, ring)?;
            self.store(k, &consumer, unit, query)?;
            k.when(first, |k| {
                // The result has been read from where Q was.
                tma::wait_read(k.builder(), 0);
                k.release(self.pipe(Part::Query), query, None)
            })?;
            Ok([ring, k.next(self.pipe(Part::Query), query)?])
        })
    }

    fn consumer(&self, k: CuteBuilder<'c>, thread: Thread<'c>) -> Built<Consumer<'c>> {
        let (b, tiling) = (k.builder(), &self.kernel.tiling);
        let mma = |how: Multiply| k.tiled_mma(how.atom, how.atoms, how.permutation);
        let (scored, result) = (mma(tiling.scores())?, mma(tiling.result())?);
        let matrix = |part| self.shared(k, part, Tiling::matrix(tiling.columns(part), self.kernel.copies(part)));
        let values = Tiling::transposed(tiling.columns(Part::Value), self.kernel.copies(Part::Value));
        let values = self.shared(k, Part::Value, values)?;
        // All threads of a warpgroup have the same part of what is in shared memory: that of its first one, which is the same in all lanes of a warp.
        let uniform = b.mul_c(thread.group, 128);
        let part = |mma, operand, columns: i64| {
            let places = k.identity(k.make("shape", format!("({TILE},{columns})"), &[])?)?;
            k.mma_part(mma, operand, places, thread.number)
        };
        let scores = k.fragment_like(part(scored, Operand::C, TILE)?, Element::F32)?;
        let weights = k.fragment_like(part(result, Operand::A, TILE)?, Element::F32)?;
        let sums = k.fragment_like(part(result, Operand::C, tiling.width())?, Element::F32)?;
        Ok(Consumer {
            thread,
            scored,
            result,
            queries: k.mma_part(scored, Operand::A, matrix(Part::Query)?, uniform)?,
            keys: k.mma_part(scored, Operand::B, matrix(Part::Key)?, uniform)?,
            values: k.mma_part(result, Operand::B, values, uniform)?,
            scores,
            weights,
            rounded: k.fragment_like(weights, tiling.element())?,
            sums,
            halves: k.fragment_like(sums, tiling.element())?,
            bias: self.boxed_bias(k, result, weights, thread.number)?,
        })
    }

    /// Sums up the result of a unit; the state of the ring after it.
    fn multiply(
        &self,
        k: CuteBuilder<'c>,
        consumer: &Consumer<'c>,
        unit: &Unit<'c>,
        query: Val<'c>,
        ring: Val<'c>,
    ) -> Built<Val<'c>> {
        let (b, leads) = (k.builder(), consumer.thread.leads);
        let pipe = |part| self.pipe(part);
        k.fill(consumer.sums, b.float(b.context().f32_type(), 0.0))?;
        k.wgmma_fence(&[consumer.sums])?;
        let state = k.for_([unit.first, unit.last, b.c32(1)], &[ring, ring], |k, block, state| {
            let (b, now, before) = (k.builder(), state[0], state[1]);
            k.consumer_wait(pipe(Part::Key), now)?;
            self.score(k, consumer, query, now)?;
            // The scores are there, and the second product of the block before is done.
            k.wgmma_wait(0, &[consumer.scores, consumer.sums])?;
            k.when(leads, |k| k.release(pipe(Part::Key), now, None))?;
            let later = b.and(leads, b.cmpi("sgt", block, unit.first));
            k.when(later, |k| k.release(pipe(Part::Value), before, None))?;
            if consumer.bias.is_some() {
                k.consumer_wait(pipe(Part::Bias), now)?;
            }
            self.weights(k, consumer, unit, block, now)?;
            if consumer.bias.is_some() {
                // Every lane has read it before one says that the warp has.
                sync::warp_barrier(b);
                k.when(leads, |k| k.release(pipe(Part::Bias), now, None))?;
            }
            k.consumer_wait(pipe(Part::Value), now)?;
            self.clear_values(k, consumer, unit, block, now)?;
            self.accumulate(k, consumer, now)?;
            Ok(vec![k.next(pipe(Part::Key), now)?, now])
        })?;
        k.wgmma_wait(0, &[consumer.sums])?;
        let some = b.and(leads, b.cmpi("sgt", unit.last, unit.first));
        k.when(some, |k| k.release(pipe(Part::Value), state[1], None))?;
        Ok(state[0])
    }

    /// scores = Q K^T of a block, under way.
    fn score(&self, k: CuteBuilder<'c>, consumer: &Consumer<'c>, query: Val<'c>, state: Val<'c>) -> Built<()> {
        let b = k.builder();
        k.fill(consumer.scores, b.float(b.context().f32_type(), 0.0))?;
        k.wgmma_fence(&[consumer.scores])?;
        let queries = self.of_state(k, consumer.queries, "_,_,_", Part::Query, query)?;
        let keys = self.of_state(k, consumer.keys, "_,_,_", Part::Key, state)?;
        k.gemm_async(consumer.scored, consumer.scores, queries, keys)?;
        k.wgmma_commit()
    }

    /// sums += weights V, under way.
    fn accumulate(&self, k: CuteBuilder<'c>, consumer: &Consumer<'c>, state: Val<'c>) -> Built<()> {
        k.wgmma_fence(&[consumer.rounded])?;
        let values = self.of_state(k, consumer.values, "_,_,_", Part::Value, state)?;
        k.gemm_async(consumer.result, consumer.sums, consumer.rounded, values)?;
        k.wgmma_commit()
    }

    /// Overwrites rows of V behind the end of a sequence, which are those of the next one, with zeros: a weight of 0 does not hide what is not finite.
    fn clear_values(
        &self,
        k: CuteBuilder<'c>,
        consumer: &Consumer<'c>,
        unit: &Unit<'c>,
        block: Val<'c>,
        state: Val<'c>,
    ) -> Built<()> {
        if self.kernel.jagged.is_none() {
            return Ok(());
        }
        let (b, tiling, number) = (k.builder(), &self.kernel.tiling, consumer.thread.number);
        let left = b.subi(unit.keys, b.mul_c(block, TILE));
        k.when(b.cmpi("slt", left, b.c32(TILE)), |k| {
            let b = k.builder();
            let copy = k.tiled_copy("universal.128", tiling.element(), "(32,8):(8,1)", "(1,8):(0,1)")?;
            let stages = Tiling::matrix(tiling.width(), self.kernel.copies(Part::Value));
            let stages = k.copy_part(copy, Side::Destination, self.shared(k, Part::Value, stages)?, number)?;
            let stage = self.of_state(k, stages, "_,_,_", Part::Value, state)?;
            let places = k.identity(k.make("shape", format!("({TILE},{})", tiling.width()), &[])?)?;
            let places = k.copy_part(copy, Side::Destination, places, number)?;
            let zeros = k.fragment_like(k.slice(stage, "(_,0,_)", &[])?, tiling.element())?;
            k.fill(zeros, b.float(self.kernel.problem.dtype.mlir(b), 0.0))?;
            for i in 0..TILE / 32 {
                let row = k.place(places, format!("(0,{i},0)"))?[0];
                let to = format!("(_,{i},_)");
                k.when(b.cmpi("sge", row, left), |k| k.copy(copy, zeros, k.slice(stage, to, &[])?))?;
            }
            sync::fence_async_shared(b);
            sync::named_barrier(b, b.c32(BOTH_BARRIER), 256);
            Ok(())
        })
    }
}
