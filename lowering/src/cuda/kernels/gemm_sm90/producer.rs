//! The producer: one thread that fills the ring through TMA.

use super::{Barrier, Frame, tiles::Unit};
use crate::cuda::{
    emit::{mbarrier, scalar::ScalarOps, tma},
    kernels::problem::Place,
};
use aitmlir_dialects::{builder::Builder, types::Val};

impl<'a, 'c> Frame<'a, 'c> {
    /// Loads all blocks of all units of this CTA, in order.
    pub(super) fn produce(&self, b: Builder<'c>) {
        let units = self.units(b);
        let zero = b.c32(0);
        let [first, step] = self.walk(b);
        let state = [vec![zero, zero], self.begin(b)].concat();
        let ring = b.for_(first, units, step, &state, |b, index, state| {
            let at = self.find(b, index, &state[2..]);
            let ring = self.within(b, &at, |frame| frame.load_unit(b, index, &state[..2]));
            [ring, at].concat()
        });
        if self.gemm.config.share > 1 {
            // Other CTAs arrive at this one's barriers: its shared memory stays until the last has.
            b.for_(zero, b.c32(i64::from(self.gemm.config.stages)), b.c32(1), &ring[..2], |b, _, ring| {
                self.wait_empty(b, ring[0], ring[1]);
                self.next_stage(b, ring[0], ring[1]).to_vec()
            });
        }
    }

    /// Loads all blocks of a unit.
    fn load_unit(&self, b: Builder<'c>, index: Val<'c>, ring: &[Val<'c>]) -> Vec<Val<'c>> {
        let unit = self.unit(b, index);
        let burst = i64::from(self.gemm.config.burst);
        b.for_(unit.first, unit.last, b.c32(burst), ring, |b, block, ring| {
            self.wait_empty(b, ring[0], ring[1]);
            // The blocks after the first that the unit still has, each with its stage.
            let mut more = Vec::new();
            let mut next = self.next_stage(b, ring[0], ring[1]);
            for i in 1..burst {
                let block = b.add_c(block, i);
                let inside = b.cmpi("slt", block, unit.last);
                b.when(inside, |b| self.wait_empty(b, next[0], next[1]));
                more.push((block, next[0], inside));
                let after = self.next_stage(b, next[0], next[1]);
                next = [0, 1].map(|i| b.select(inside, after[i], next[i]));
            }
            self.load_block(b, &unit, block, ring[0]);
            for (block, stage, inside) in more {
                b.when(inside, |b| self.load_block(b, &unit, block, stage));
            }
            next.to_vec()
        })
    }

    /// Waits until all that read a stage are done with it.
    fn wait_empty(&self, b: Builder<'c>, stage: Val<'c>, phase: Val<'c>) {
        mbarrier::wait(b, self.barrier(b, stage, Barrier::Empty), b.xor(phase, b.c32(1)));
    }

    fn load_block(&self, b: Builder<'c>, unit: &Unit<'c>, block: Val<'c>, stage: Val<'c>) {
        let (gemm, config) = (self.gemm, &self.gemm.config);
        let [a_bytes, b_bytes] = config.stage_bytes();
        let [rows, columns] = config.tile();
        let full = self.barrier(b, stage, Barrier::Full);
        mbarrier::expect(b, full, b.c32(i64::from(rows + columns) * 128));
        let a_at = b.addi(self.shared, b.mul_c(stage, a_bytes + b_bytes));
        let b_at = b.add_c(a_at, a_bytes);
        let depth = b.mul_c(block, config.block_k(gemm.problem));
        let (left, right) = match config.swapped {
            true => (&gemm.problem.b, &gemm.problem.a),
            false => (&gemm.problem.a, &gemm.problem.b),
        };
        if let Some(other) = gemm.slots.other_map {
            self.load_two(b, unit, [a_at, b_at], depth, full, other);
            return;
        }
        let boxes = [(left, gemm.slots.a_map, a_at, unit.row), (right, gemm.slots.b_map, b_at, unit.column)];
        for (i, (place, map, mut at, mut line)) in boxes.into_iter().enumerate() {
            let lines = config.loaded_lines(gemm.problem)[i];
            let common = config.share > 1 && config.across == (i == 0);
            if common {
                let first = b.mul_c(self.rank(b), i64::from(lines));
                line = b.addi(line, first);
                at = b.addi(at, b.mul_c(first, 128));
            }
            self.load_operand(b, place, self.args[map], at, [depth, line, unit.batch], lines, full, common);
        }
    }

    /// A stage of two products. Where swapped, boxes of 64 lines of the two right operands alternate, so that a consumer has one chain of each.
    fn load_two(
        &self,
        b: Builder<'c>,
        unit: &Unit<'c>,
        [left_at, right_at]: [Val<'c>; 2],
        depth: Val<'c>,
        full: Val<'c>,
        other: usize,
    ) {
        let (gemm, config) = (self.gemm, &self.gemm.config);
        let (problem, slots) = (gemm.problem, &gemm.slots);
        let [left_lines, right_lines] = config.loaded_lines(problem);
        let load = |place: &Place, map: usize, at: Val<'c>, line: Val<'c>, lines: u32| {
            self.load_operand(b, place, self.args[map], at, [depth, line, unit.batch], lines, full, false);
        };
        let pair = |number: i64| if number == 0 { slots.right_map(config) } else { other };
        if config.swapped {
            load(&problem.a, slots.b_map, right_at, unit.column, right_lines);
            for number in 0..2 * i64::from(config.consumers) {
                let line = b.add_c(unit.row, number / 2 * 64);
                load(&problem.b, pair(number % 2), b.add_c(left_at, number * 64 * 128), line, left_lines);
            }
            return;
        }
        load(&problem.a, slots.a_map, left_at, unit.row, left_lines);
        for number in 0..2 {
            let at = b.add_c(right_at, number * i64::from(right_lines) * 128);
            load(&problem.b, pair(number), at, unit.column, right_lines);
        }
    }

    /// One operand's part of a stage: one box (two where there are more than 256 lines) where K is contiguous, else one for each 128 bytes of lines.
    #[allow(clippy::too_many_arguments)] // the place of a box in global and shared memory
    fn load_operand(
        &self,
        b: Builder<'c>,
        place: &Place,
        map: Val<'c>,
        at: Val<'c>,
        [depth, line, batch]: [Val<'c>; 3],
        lines: u32,
        full: Val<'c>,
        common: bool,
    ) {
        let width = if place.inner { 256 } else { self.gemm.config.block_k(self.gemm.problem) };
        for first in (0..i64::from(lines)).step_by(width as usize) {
            let line = b.add_c(line, first);
            let mut coordinates = if place.inner { vec![depth, line] } else { vec![line, depth] };
            if place.batch.is_some() {
                coordinates.push(batch);
            }
            let at = b.add_c(at, first * 128);
            if common {
                tma::load_for_all(b, at, map, &coordinates, full, (1 << self.gemm.config.share) - 1);
            } else {
                tma::load(b, at, map, &coordinates, full);
            }
        }
    }
}
