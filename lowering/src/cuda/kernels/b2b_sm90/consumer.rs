//! The consumers: scores by `wgmma`, the scalar code on them in registers, and the second product from registers.

use super::{Bias, Dtype, Frame, Jagged, Part, TILE, Unit, padded};
use crate::cuda::emit::{
    i64c, matrix, mbarrier, memory,
    scalar::ScalarOps,
    sync, tma,
    wgmma::{self, Operand, Sums},
};
use aitmlir_dialects::{
    ait::CausalKind,
    builder::Builder,
    types::{Types, Val},
};

/// Named barriers of the warpgroups.
const GROUP_BARRIER: i64 = 1;
/// The named barrier of both warpgroups together.
const BOTH_BARRIER: i64 = 3;
/// Bytes of 64 lines of 128 bytes.
const HALF: i64 = 64 * 128;

/// A consumer thread's place.
#[derive(Clone, Copy)]
struct Thread<'c> {
    group: Val<'c>,
    id: Val<'c>,
    warp: Val<'c>,
    lane: Val<'c>,
}

impl<'a, 'c> Frame<'a, 'c> {
    fn operand(&self) -> Operand {
        if self.kernel.problem.dtype == Dtype::Bf16 { Operand::Bf16 } else { Operand::F16 }
    }

    fn out_columns(&self) -> u32 {
        padded(self.kernel.problem.width) as u32
    }

    pub(super) fn consume(&self, b: Builder<'c>, group: Val<'c>) {
        let id = b.and(b.sreg("tid.x"), b.c32(127));
        let thread = Thread { group, id, warp: b.shr_c(id, 5), lane: b.and(id, b.c32(31)) };
        self.each_unit(b, false, |b, unit, state| {
            let [q_buffer, q_at, q_phase] = self.query(b, state[2]);
            let q_at = b.addi(q_at, b.mul_c(thread.group, HALF));
            mbarrier::wait(b, self.full(b, Part::Query, q_buffer), q_phase);
            let (sums, ring) = self.multiply(b, thread, unit, q_at, &state[..2]);
            self.store(b, thread, unit, q_at, sums);
            // The result has been read from where Q was.
            b.when(b.cmpi("eq", thread.id, b.c32(0)), |b| {
                tma::wait_read(b, 0);
                mbarrier::arrive(b, self.empty(b, Part::Query, q_buffer));
            });
            vec![ring[0], ring[1], b.add_c(state[2], 1)]
        });
    }

    /// The result's sums of a unit, and the ring after it.
    fn multiply(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        q_at: Val<'c>,
        ring: &[Val<'c>],
    ) -> (Sums<'c>, Vec<Val<'c>>) {
        let n = self.out_columns();
        let leader = b.cmpi("eq", thread.lane, b.c32(0));
        let state = [Sums::zero(b, n).value, ring[0], ring[1], ring[0]];
        let state = b.for_(unit.first, unit.last, b.c32(1), &state, |b, block, state| {
            let (stage, phase, before) = (state[1], state[2], state[3]);
            mbarrier::wait(b, self.full(b, Part::Key, stage), phase);
            let scores = self.scores(b, q_at, stage);
            // The scores are there, and the second product of the block before is done.
            let done = wgmma::wait_for(b, &[scores, Sums { value: state[0], n }]);
            b.when(leader, |b| mbarrier::arrive(b, self.empty(b, Part::Key, stage)));
            b.when(b.binary("arith.andi", leader, b.cmpi("sgt", block, unit.first)), |b| {
                mbarrier::arrive(b, self.empty(b, Part::Value, before));
            });
            if self.kernel.maps[4].is_some() {
                mbarrier::wait(b, self.full(b, Part::Bias, stage), phase);
            }
            let weights = self.weights(b, thread, unit, block, stage, done[0]);
            if self.kernel.maps[4].is_some() {
                // Every lane has read it before one says that the warp has.
                sync::warp_barrier(b);
                b.when(leader, |b| mbarrier::arrive(b, self.empty(b, Part::Bias, stage)));
            }
            mbarrier::wait(b, self.full(b, Part::Value, stage), phase);
            self.clear_values(b, thread, unit, block, stage);
            let sums = self.accumulate(b, stage, &weights, done[1]);
            let [next, next_phase] = self.next_stage(b, stage, phase);
            vec![sums.value, next, next_phase, stage]
        });
        let sums = wgmma::wait_for(b, &[Sums { value: state[0], n }])[0];
        b.when(b.binary("arith.andi", leader, b.cmpi("sgt", unit.last, unit.first)), |b| {
            mbarrier::arrive(b, self.empty(b, Part::Value, state[3]));
        });
        (sums, vec![state[1], state[2]])
    }

    /// Overwrites rows of V behind the end of a sequence, which are those of the next one, with zeros: a weight of 0 does not hide what is not finite.
    fn clear_values(&self, b: Builder<'c>, thread: Thread<'c>, unit: &Unit<'c>, block: Val<'c>, stage: Val<'c>) {
        if self.kernel.jagged.is_none() {
            return;
        }
        let left = b.subi(unit.keys, b.mul_c(block, TILE));
        b.when(b.cmpi("slt", left, b.c32(TILE)), |b| {
            let [k_bytes, ..] = self.kernel.stage_parts();
            let at = b.add_c(self.stage_at(b, stage), k_bytes);
            let number = b.addi(b.mul_c(thread.group, 128), thread.id);
            let zeros = [b.c32(0); 4];
            for boxed in 0..padded(self.kernel.problem.width) / 64 {
                // Swizzling stays within a row.
                let first = b.addi(b.mul_c(left, 8), number);
                b.for_(first, b.c32(TILE * 8), b.c32(256), &[], |b, piece, _| {
                    let to = b.add_c(b.addi(at, b.mul_c(piece, 16)), boxed * TILE * 128);
                    memory::store_shared(b, to, &zeros);
                    vec![]
                });
            }
            sync::fence_async_shared(b);
            sync::named_barrier(b, b.c32(BOTH_BARRIER), 256);
        });
    }

    /// Q K^T of this warpgroup's 64 rows and a block's 128 columns, under way.
    fn scores(&self, b: Builder<'c>, q_at: Val<'c>, stage: Val<'c>) -> Sums<'c> {
        let q = wgmma::descriptor(b, b.uniform(q_at), 16, 1024);
        let k = wgmma::descriptor(b, b.uniform(self.stage_at(b, stage)), 16, 1024);
        let mut sums = Sums::zero(b, TILE as u32);
        let one = b.c32(1);
        wgmma::fence(b);
        for step in 0..padded(self.kernel.problem.depth) / 16 {
            let offset = step / 4 * TILE * 128 + step % 4 * 32;
            let (q, k) = (wgmma::advance(b, q, offset), wgmma::advance(b, k, offset));
            sums = wgmma::mma(b, sums, q, k, one, self.operand(), [false, false]);
        }
        wgmma::commit(b);
        sums
    }

    /// The scalar code on the scores: words of two 16-bit elements, in the layout of the sums. What is hidden or past the end is 0; blocks
    /// without such columns need no look at each.
    fn weights(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        block: Val<'c>,
        stage: Val<'c>,
        scores: Sums<'c>,
    ) -> Vec<Val<'c>> {
        let row = b.addi(unit.row, b.mul_c(thread.group, 64));
        let column = b.mul_c(block, TILE);
        let end = b.add_c(column, TILE);
        let whole = b.cmpi("sle", end, unit.keys);
        let seen = match self.kernel.problem.causal {
            CausalKind::None => None,
            CausalKind::Upper => Some(b.cmpi("sge", column, b.add_c(row, 63))),
            CausalKind::Lower | CausalKind::LowerRight => Some(b.cmpi("sle", end, b.addi(row, self.shift(b)))),
        };
        let whole = seen.map_or(whole, |seen| b.and(whole, seen));
        let i32 = b.context().int_type(32);
        let words = |b: Builder<'c>, hides| self.words(b, thread, unit, block, stage, scores, hides);
        b.if_(whole, &vec![i32; (TILE / 4) as usize], |b| words(b, false), |b| words(b, true))
    }

    #[allow(clippy::too_many_arguments)] // who, where, what
    fn words(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        block: Val<'c>,
        stage: Val<'c>,
        scores: Sums<'c>,
        hides: bool,
    ) -> Vec<Val<'c>> {
        let problem = self.kernel.problem;
        let bf16 = problem.dtype == Dtype::Bf16;
        let scores = scores.elements(b);
        let row = b.addi(b.addi(unit.row, b.mul_c(thread.group, 64)), b.mul_c(thread.warp, 16));
        let row = b.addi(row, b.shr_c(thread.lane, 2));
        let column = b.addi(b.mul_c(block, TILE), b.mul_c(b.and(thread.lane, b.c32(3)), 2));
        let zero = b.float(b.context().f32_type(), 0.0);
        let mut words = Vec::new();
        let mut bias = Vec::new();
        for group in 0..TILE / 8 {
            if self.kernel.maps[4].is_some() && group % 2 == 0 {
                bias = self.bias(b, thread, stage, group);
            }
            for half in 0..2 {
                let (row, column) = (b.add_c(row, 8 * half), b.add_c(column, 8 * group));
                let word = bias.get((2 * (group % 2) + half) as usize);
                let pair = match word {
                    Some(word) => Some(b.unpack_halves(*word, bf16)),
                    None => self.bias_elements(b, unit, row, column),
                };
                let values = [0, 1].map(|i| {
                    let score = scores[(4 * group + 2 * half + i) as usize];
                    let value = (self.code)(b, score, pair.map(|pair| pair[i as usize]), self.n);
                    if !hides {
                        return value;
                    }
                    let column = b.add_c(column, i);
                    // Rows of V past the end are zeros, but what is computed for them need not be finite.
                    let mut keep = b.cmpi("slt", column, unit.keys);
                    let seen = match problem.causal {
                        CausalKind::None => None,
                        CausalKind::Upper => Some(b.cmpi("sge", column, row)),
                        _ => Some(b.cmpi("sle", column, b.addi(row, self.shift(b)))),
                    };
                    if let Some(seen) = seen {
                        keep = b.and(keep, seen);
                    }
                    b.select(keep, value, zero)
                });
                words.push(b.pack_halves(values[0], values[1], bf16));
            }
        }
        words
    }

    /// The address that this lane gives to an `ldmatrix` or `stmatrix` of its warp's 16 rows and of 16 columns, from column group `group` on, in 64 swizzled rows at `at`.
    fn piece_of_lane(&self, b: Builder<'c>, thread: Thread<'c>, at: Val<'c>, group: i64) -> Val<'c> {
        let in_matrix = b.and(thread.lane, b.c32(7));
        let second_rows = b.and(b.shr_c(thread.lane, 3), b.c32(1));
        let row = b.addi(b.mul_c(thread.warp, 16), b.addi(in_matrix, b.mul_c(second_rows, 8)));
        let piece = b.xor(b.add_c(b.shr_c(thread.lane, 4), group % 8), in_matrix);
        b.addi(at, b.addi(b.mul_c(row, 128), b.mul_c(piece, 16)))
    }

    /// The bias of 16 columns, as words in the layout of the sums: rows r and r + 8 of column group `group`, then of the next.
    fn bias(&self, b: Builder<'c>, thread: Thread<'c>, stage: Val<'c>, group: i64) -> Vec<Val<'c>> {
        let [k_bytes, v_bytes, _] = self.kernel.stage_parts();
        let at = b.add_c(self.stage_at(b, stage), k_bytes + v_bytes + group / 8 * HALF);
        let at = b.addi(at, b.mul_c(thread.group, 2 * HALF));
        matrix::ldmatrix(b, self.piece_of_lane(b, thread, at, group), 4, false)
    }

    /// Two neighbouring elements of a bias that is read element by element, as f32; places outside are moved inside.
    fn bias_elements(&self, b: Builder<'c>, unit: &Unit<'c>, row: Val<'c>, column: Val<'c>) -> Option<[Val<'c>; 2]> {
        let (pointer, strides) = self.kernel.elements?;
        let Some(Bias::Elements { dtype, .. }) = &self.kernel.problem.bias else { return None };
        let row = b.minsi(row, b.add_c(unit.rows, -1));
        let f32 = b.context().f32_type();
        let element = |i: i64| {
            let column = b.minsi(b.add_c(column, i), b.add_c(unit.keys, -1));
            let mut place = i64c(b, 0);
            for (at, stride) in [unit.batch, unit.head, row, column].into_iter().zip(strides) {
                if let Some(stride) = stride {
                    place = b.addi(place, b.muli(b.wide(at), stride.i64(b, self.args)));
                }
            }
            let address = memory::offset(b, self.args[pointer], b.muli(place, i64c(b, dtype.bytes())));
            let value = memory::load(b, address, dtype.mlir(b));
            if *dtype == Dtype::F32 { value } else { b.op1("arith.extf", &[value], f32, &[]) }
        };
        let first = element(0);
        Some([first, if strides[3].is_some() { element(1) } else { first }])
    }

    /// sums += weights V, under way.
    fn accumulate(&self, b: Builder<'c>, stage: Val<'c>, weights: &[Val<'c>], mut sums: Sums<'c>) -> Sums<'c> {
        let [k_bytes, ..] = self.kernel.stage_parts();
        let v = b.uniform(b.add_c(self.stage_at(b, stage), k_bytes));
        let v = wgmma::descriptor(b, v, TILE * 128, 1024);
        wgmma::fence(b);
        for step in 0..TILE / 16 {
            let a = &weights[(4 * step) as usize..][..4];
            let v = wgmma::advance(b, v, step * 16 * 128);
            sums = wgmma::mma_from_registers(b, sums, a, v, self.operand(), true);
        }
        wgmma::commit(b);
        sums
    }

    /// Stores 64 rows through where this warpgroup's part of Q was; plainly where the sequence ends before them.
    fn store(&self, b: Builder<'c>, thread: Thread<'c>, unit: &Unit<'c>, buffer: Val<'c>, sums: Sums<'c>) {
        // All warps have multiplied with Q.
        sync::named_barrier(b, b.add_c(thread.group, GROUP_BARRIER), 128);
        let row = b.addi(unit.row, b.mul_c(thread.group, 64));
        let Some(jagged) = &self.kernel.jagged else {
            return self.store_boxes(b, thread, unit, buffer, sums, row);
        };
        b.if_(
            b.cmpi("sle", b.add_c(row, 64), unit.rows),
            &[],
            |b| {
                self.store_boxes(b, thread, unit, buffer, sums, row);
                vec![]
            },
            |b| {
                self.store_rows(b, thread, unit, jagged, sums, row);
                vec![]
            },
        );
    }

    fn store_boxes(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        buffer: Val<'c>,
        sums: Sums<'c>,
        first: Val<'c>,
    ) {
        let bf16 = self.kernel.problem.dtype == Dtype::Bf16;
        let elements = sums.elements(b);
        for group in (0..i64::from(sums.n) / 8).step_by(2) {
            let words: Vec<_> = elements[(4 * group) as usize..][..8]
                .chunks(2)
                .map(|pair| b.pack_halves(pair[0], pair[1], bf16))
                .collect();
            let at = b.add_c(buffer, group / 8 * TILE * 128);
            matrix::stmatrix(b, self.piece_of_lane(b, thread, at, group), &words, false);
        }
        sync::fence_async_shared(b);
        sync::named_barrier(b, b.add_c(thread.group, GROUP_BARRIER), 128);
        b.when(b.cmpi("eq", thread.id, b.c32(0)), |b| {
            let Some(map) = self.kernel.maps[3] else { return };
            for chunk in 0..i64::from(sums.n) / 64 {
                let place = self.place(b, 3, unit, [b.c32(64 * chunk), first]);
                tma::store(b, self.args[map], &place, b.add_c(buffer, chunk * TILE * 128));
            }
            tma::commit(b);
        });
    }

    /// Stores those of 64 rows that the sequence has, two elements at a time.
    fn store_rows(
        &self,
        b: Builder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        jagged: &Jagged,
        sums: Sums<'c>,
        first: Val<'c>,
    ) {
        let (problem, elements) = (self.kernel.problem, sums.elements(b));
        let Some(start) = unit.start else { return };
        let row = b.addi(first, b.addi(b.mul_c(thread.warp, 16), b.shr_c(thread.lane, 2)));
        let column = b.mul_c(b.and(thread.lane, b.c32(3)), 2);
        for half in 0..2 {
            let row = b.add_c(row, 8 * half);
            b.when(b.cmpi("slt", row, unit.rows), |b| {
                let line = b.muli(b.wide(b.addi(start, row)), jagged.line.i64(b, self.args));
                let head = b.muli(b.wide(unit.head), jagged.head.i64(b, self.args));
                let at = b.addi(b.addi(line, head), b.wide(column));
                let at = memory::offset(b, self.args[jagged.out], b.muli(at, i64c(b, problem.dtype.bytes())));
                // Columns come in whole eights.
                for group in 0..problem.width / 8 {
                    let pair = &elements[(4 * group + 2 * half) as usize..][..2];
                    let word = b.pack_halves(pair[0], pair[1], problem.dtype == Dtype::Bf16);
                    memory::store_words(b, memory::offset(b, at, i64c(b, 8 * group * problem.dtype.bytes())), &[word]);
                }
            });
        }
    }
}
