//! The consumers: warpgroups that multiply what the producer loaded, and hand the sums to the epilogue.

use super::{Barrier, Frame, Schedule, tiles::Unit};
use crate::cuda::emit::{
    mbarrier,
    scalar::ScalarOps,
    sync, tma,
    wgmma::{self, Sums},
};
use aitmlir_dialects::{builder::Builder, types::Val};
use melior::ir::ValueLike;

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

impl<'a, 'c> Frame<'a, 'c> {
    /// The code of consumer warpgroup `group`.
    pub(super) fn consume(&self, b: Builder<'c>, group: Val<'c>) {
        let id = b.and(b.sreg("tid.x"), b.c32(127));
        let thread = Thread { group, id, warp: b.shr_c(id, 5), lane: b.and(id, b.c32(31)) };
        match self.gemm.config.schedule {
            Schedule::Cooperative => self.cooperate(b, thread),
            Schedule::PingPong => self.alternate(b, thread),
        }
        if !self.gemm.slots.out_maps.is_empty() {
            // Shared memory goes to another CTA when this one ends: the last stores must have read it.
            b.when(b.cmpi("eq", id, b.c32(0)), |b| tma::wait_read(b, 0));
        }
    }

    /// All consumers work on each unit.
    fn cooperate(&self, b: Builder<'c>, thread: Thread<'c>) {
        let zero = b.c32(0);
        let [first, step] = self.walk(b);
        let state = [vec![zero, zero], self.begin(b)].concat();
        b.for_(first, self.units(b), step, &state, |b, index, state| {
            let at = self.find(b, index, &state[2..]);
            let ring = self.within(b, &at, |frame| frame.cooperate_on(b, thread, index, &state[..2]));
            [ring, at].concat()
        });
    }

    /// One unit of [`Frame::cooperate`].
    fn cooperate_on(&self, b: Builder<'c>, thread: Thread<'c>, index: Val<'c>, ring: &[Val<'c>]) -> Vec<Val<'c>> {
        let unit = self.unit(b, index);
        let (sums, ring) = self.multiply(b, thread, &unit, ring);
        let rows = self.gemm.config.covers(self.gemm.problem)[0] / i64::from(self.gemm.config.consumers);
        let first = b.addi(unit.row, b.mul_c(thread.group, rows));
        if self.gemm.config.split > 1 {
            self.meet(b, thread, &unit, &sums);
        } else {
            self.conclude(b, thread, &unit, first, &sums);
        }
        ring
    }

    /// The consumers take units in turn; barriers keep their products in order, so that no wait names a phase too far ahead.
    fn alternate(&self, b: Builder<'c>, thread: Thread<'c>) {
        let stages = i64::from(self.gemm.config.stages);
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
        b.for_(start, units, b.mul_c(grid, 2), &state, |b, index, state| {
            let (done, next) = (state[0], b.addi(index, grid));
            let at = self.find(b, index, &state[1..]);
            let of_next = if self.same_depth() { at.clone() } else { self.find(b, next, &at) };
            let blocks = self.within(b, &at, |frame| {
                let unit = frame.unit(b, index);
                let done = unit.done.unwrap_or(done);
                let ring = [b.rem_c(done, stages), b.and(b.div_c(done, stages), b.c32(1))];
                sync::named_barrier(b, mine, 256);
                let others = b.cmpi("slt", next, units);
                let (sums, _) = frame.multiply_then(b, thread, &unit, &ring, |b| {
                    b.when(others, |b| sync::named_arrive(b, other, 256));
                });
                frame.conclude(b, thread, &unit, unit.row, &sums);
                frame.blocks
            });
            let others = self.within(b, &of_next, |frame| frame.blocks);
            [vec![b.addi(done, b.addi(blocks, others))], of_next].concat()
        });
    }

    /// What becomes of the sums of a unit whose rows begin at `first`.
    fn conclude(&self, b: Builder<'c>, thread: Thread<'c>, unit: &Unit<'c>, first: Val<'c>, sums: &[Sums<'c>]) {
        if self.gemm.config.stream {
            self.finish_stream(b, thread, unit, first, sums);
        } else {
            self.finish(b, thread, unit, first, sums);
        }
    }

    fn multiply(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        ring: &[Val<'c>],
    ) -> (Vec<Sums<'c>>, Vec<Val<'c>>) {
        self.multiply_then(b, thread, unit, ring, |_| ())
    }

    /// The sums of a unit, one struct a chain. One group of products stays under way while the next stage is awaited; `issued` runs
    /// when the last one is on its way.
    fn multiply_then(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        ring: &[Val<'c>],
        issued: impl FnOnce(Builder<'c>),
    ) -> (Vec<Sums<'c>>, Vec<Val<'c>>) {
        let config = &self.gemm.config;
        let mut state: Vec<Val<'c>> = (0..config.chains).map(|_| Sums::zero(b, config.columns).value).collect();
        state.extend([ring[0], ring[1], ring[0]]);
        let state = b.for_(unit.first, unit.last, b.c32(1), &state, |b, block, state| {
            let (sums, ring) = state.split_at(config.chains as usize);
            let (stage, phase, before) = (ring[0], ring[1], ring[2]);
            mbarrier::wait(b, self.barrier(b, stage, Barrier::Full), phase);
            let sums: Vec<_> = sums.iter().map(|value| Sums { value: *value, n: config.columns }).collect();
            let sums = self.products(b, thread, stage, sums);
            wgmma::wait(b, 1);
            self.release(b, thread, before, b.cmpi("sgt", block, unit.first));
            let [next, next_phase] = self.next_stage(b, stage, phase);
            sums.iter().map(|s| s.value).chain([next, next_phase, stage]).collect()
        });
        let (sums, ring) = state.split_at(config.chains as usize);
        issued(b);
        let sums: Vec<_> = sums.iter().map(|value| Sums { value: *value, n: config.columns }).collect();
        let sums = wgmma::wait_for(b, &sums);
        self.release(b, thread, ring[2], b.cmpi("sgt", unit.last, unit.first));
        (sums, ring[..2].to_vec())
    }

    /// This warp no longer reads a stage, where `done`: tells the producers that fill it.
    fn release(&self, b: Builder<'c>, thread: Thread<'c>, stage: Val<'c>, done: Val<'c>) {
        let share = i64::from(self.gemm.config.share);
        let tells = b.cmpi("slt", thread.lane, b.c32(share));
        b.when(b.binary("arith.andi", tells, done), |b| {
            let barrier = self.barrier(b, stage, Barrier::Empty);
            match share {
                1 => mbarrier::arrive(b, barrier),
                _ => mbarrier::arrive_at(b, barrier, thread.lane),
            }
        });
    }

    /// The products of one stage, as one group.
    fn products(&self, b: Builder<'c>, thread: Thread<'c>, stage: Val<'c>, mut sums: Vec<Sums<'c>>) -> Vec<Sums<'c>> {
        let (gemm, config) = (self.gemm, &self.gemm.config);
        let [a_bytes, b_bytes] = config.stage_bytes();
        let (left, right) = match config.swapped {
            true => (&gemm.problem.b, &gemm.problem.a),
            false => (&gemm.problem.a, &gemm.problem.b),
        };
        // Lines of one box in memory: a box of the other kind has 64 lines of 64 elements of K, one after the other.
        let box_bytes = config.block_k(gemm.problem) * 128;
        let chain_bytes = 64 * 128;
        let at = b.addi(self.shared, b.mul_c(stage, a_bytes + b_bytes));
        let mut a_at = at;
        if config.schedule == Schedule::Cooperative && config.consumers > 1 {
            a_at = b.addi(a_at, b.mul_c(thread.group, chain_bytes * i64::from(config.chains)));
        }
        let (a_lead, b_lead) = (if left.inner { 16 } else { box_bytes }, if right.inner { 16 } else { box_bytes });
        let a_desc = wgmma::descriptor(b, b.uniform(a_at), a_lead, 1024);
        let b_desc = wgmma::descriptor(b, b.uniform(b.add_c(at, a_bytes)), b_lead, 1024);
        let step = |inner: bool| if inner { 32 } else { 16 * 128 };
        let one = b.c32(1);
        wgmma::fence(b);
        for k in 0..config.block_k(gemm.problem) / gemm.operand().k() {
            let b_now = wgmma::advance(b, b_desc, k * step(right.inner));
            for (chain, sum) in sums.iter_mut().enumerate() {
                let a_now = wgmma::advance(b, a_desc, chain as i64 * chain_bytes + k * step(left.inner));
                *sum = wgmma::mma(b, *sum, a_now, b_now, one, gemm.operand(), [!left.inner, !right.inner]);
            }
        }
        wgmma::commit(b);
        debug_assert!(sums.iter().all(|s| s.value.is_operation_result()));
        sums
    }
}
