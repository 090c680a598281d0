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
        b.for_(b.sreg("ctaid.x"), units, b.sreg("nctaid.x"), &[zero, zero], |b, index, ring| {
            let unit = self.unit(b, index);
            b.for_(unit.first, unit.last, b.c32(1), ring, |b, block, ring| {
                self.load_block(b, &unit, block, ring[0], ring[1]);
                self.next_stage(b, ring[0], ring[1]).to_vec()
            })
        });
    }

    fn load_block(&self, b: Builder<'c>, unit: &Unit<'c>, block: Val<'c>, stage: Val<'c>, phase: Val<'c>) {
        let (gemm, config) = (self.gemm, &self.gemm.config);
        let [a_bytes, b_bytes] = config.stage_bytes();
        let [rows, columns] = config.tile();
        mbarrier::wait(b, self.barrier(b, stage, Barrier::Empty), b.xor(phase, b.c32(1)));
        let full = self.barrier(b, stage, Barrier::Full);
        mbarrier::expect(b, full, b.c32(i64::from(rows + columns) * 128));
        let a_at = b.addi(self.shared, b.mul_c(stage, a_bytes + b_bytes));
        let b_at = b.add_c(a_at, a_bytes);
        let depth = b.mul_c(block, config.block_k(gemm.problem));
        let (left, right) = match config.swapped {
            true => (&gemm.problem.b, &gemm.problem.a),
            false => (&gemm.problem.a, &gemm.problem.b),
        };
        let boxes =
            [(left, gemm.slots.a_map, a_at, unit.row, rows), (right, gemm.slots.b_map, b_at, unit.column, columns)];
        for (place, map, at, line, lines) in boxes {
            self.load_operand(b, place, self.args[map], at, [depth, line, unit.batch], lines, full);
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
    ) {
        let width = if place.inner { 256 } else { self.gemm.config.block_k(self.gemm.problem) };
        for first in (0..i64::from(lines)).step_by(width as usize) {
            let line = b.add_c(line, first);
            let mut coordinates = if place.inner { vec![depth, line] } else { vec![line, depth] };
            if place.batch.is_some() {
                coordinates.push(batch);
            }
            tma::load(b, b.add_c(at, first * 128), map, &coordinates, full);
        }
    }
}
