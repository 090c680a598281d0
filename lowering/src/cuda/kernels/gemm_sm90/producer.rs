//! The producer: one thread that fills the ring through TMA.

use super::{
    Frame,
    tiles::Unit,
    tiling::{Side, below},
};
use crate::cuda::emit::scalar::ScalarOps;
use aitmlir_dialects::{
    builder::Builder,
    cute::author::{Built, CuteBuilder, Tensor, View},
    types::{Types, Val},
};

/// The stages as the producer sees them: (lines, K, stages), or (lines, K, 1, stages) of an operand with a matrix of the batch.
#[derive(Clone, Copy)]
struct Stages<'c> {
    left: View<'c>,
    right: View<'c>,
}

/// Where in an operand a block is: its first element of K, its first line, the matrix of the batch.
#[derive(Clone, Copy)]
struct Block<'c> {
    depth: Val<'c>,
    line: Val<'c>,
    batch: Val<'c>,
}

/// How boxes arrive: the barrier that counts their bytes, and the CTAs of the cluster that get them, where it is not this one alone.
#[derive(Clone, Copy)]
struct Arrival<'c> {
    full: Val<'c>,
    mask: Option<Val<'c>>,
}

/// The CTAs of a cluster that have an operand in common.
struct Common<'c> {
    /// How many there are.
    share: i64,
    /// The number of this one among them.
    number: Val<'c>,
    /// Their ranks as bits, an i16.
    mask: Val<'c>,
}

impl<'a, 'c> Frame<'a, 'c> {
    /// Loads all blocks of all units of this CTA, in order.
    pub(super) fn produce(&self, k: CuteBuilder<'c>) -> Built<()> {
        let b = k.builder();
        let stages = Stages {
            left: self.stages(k, Side::Left, self.batched(Side::Left))?,
            right: self.stages(k, Side::Right, self.batched(Side::Right))?,
        };
        let units = self.units(b);
        let zero = b.c32(0);
        let [first, step] = self.walk(b);
        let state = [vec![zero], self.begin(b)].concat();
        let states = k.for_([first, units, step], &state, |k, index, state| {
            let at = self.find(k.builder(), index, &state[1..]);
            let after = self.within(k.builder(), &at, |frame| frame.load_unit(k, &stages, index, state[0]))?;
            Ok([vec![after], at].concat())
        })?;
        if self.gemm.config.sharers() > 1 {
            // Other CTAs arrive at this one's barriers: its shared memory stays until the last has.
            let count = b.c32(self.gemm.config.stages.into());
            k.for_([zero, count, b.c32(1)], &states[..1], |k, _, state| {
                k.acquire(self.ring, state[0])?;
                Ok(vec![k.next(self.ring, state[0])?])
            })?;
        }
        Ok(())
    }

    /// Has an operand a matrix of the batch as a dimension?
    fn batched(&self, side: Side) -> usize {
        usize::from(self.gemm.tiling().place(side).batch.is_some())
    }

    /// Loads all blocks of a unit, from the stage of a state on: the state after it.
    fn load_unit(&self, k: CuteBuilder<'c>, stages: &Stages<'c>, index: Val<'c>, state: Val<'c>) -> Built<Val<'c>> {
        let b = k.builder();
        let unit = self.unit(b, index);
        let burst = i64::from(self.gemm.config.burst);
        let states = k.for_([unit.first, unit.last, b.c32(burst)], &[state], |k, block, state| {
            let b = k.builder();
            k.acquire(self.ring, state[0])?;
            // The blocks after the first that the unit still has, each with its state.
            let mut more = Vec::new();
            let mut next = k.next(self.ring, state[0])?;
            for i in 1..burst {
                let block = b.add_c(block, i);
                let inside = b.cmpi("slt", block, unit.last);
                k.when(inside, |k| k.acquire(self.ring, next))?;
                more.push((block, next, inside));
                next = b.select(inside, k.next(self.ring, next)?, next);
            }
            self.load_block(k, stages, &unit, block, state[0])?;
            for (block, state, inside) in more {
                k.when(inside, |k| self.load_block(k, stages, &unit, block, state))?;
            }
            Ok(vec![next])
        })?;
        Ok(states[0])
    }

    /// Loads a block of K of both operands into the stage of a state.
    fn load_block(
        &self,
        k: CuteBuilder<'c>,
        stages: &Stages<'c>,
        unit: &Unit<'c>,
        block: Val<'c>,
        state: Val<'c>,
    ) -> Built<()> {
        let (b, gemm, tiling) = (k.builder(), self.gemm, self.gemm.tiling());
        let (config, slots) = (&gemm.config, &gemm.slots);
        let [rows, columns] = config.tile();
        let full = k.expect(self.ring, state, b.c32(i64::from(rows + columns) * 128))?;
        let stage = k.stage(self.ring, state)?;
        let of_stage = |stages: View<'c>, side| k.slice(stages, tiling.at_stage(2 + self.batched(side)), &[stage]);
        let (left, right) = (of_stage(stages.left, Side::Left)?, of_stage(stages.right, Side::Right)?);
        let depth = b.mul_c(block, config.block_k(gemm.problem));
        let [row, column] = self.loaded_from(b, unit);
        let rows = Block { depth, line: row, batch: unit.batch };
        let columns = Block { line: column, ..rows };
        let arrival = Arrival { full, mask: None };
        if let Some(other) = slots.other_map {
            return self.load_two(k, [left, right], [rows, columns], arrival, other);
        }
        for (side, part, map, at) in [(Side::Left, left, slots.a_map, rows), (Side::Right, right, slots.b_map, columns)]
        {
            let Some(Common { share, number, mask }) = self.common(b, side) else {
                self.load(k, side, part, map, at, arrival)?;
                continue;
            };
            // Each CTA that has the operand in common loads its part of the lines for all.
            let lines = i64::from(config.loaded_lines(gemm.problem)[usize::from(side == Side::Right)]);
            let part = self.lines(k, side, part, lines, below(share), &[number])?;
            let at = Block { line: b.addi(at.line, b.mul_c(number, lines)), ..at };
            self.load(k, side, part, map, at, Arrival { mask: Some(mask), ..arrival })?;
        }
        Ok(())
    }

    /// The CTAs of the cluster that have an operand in common with this one; none where it is alone.
    fn common(&self, b: Builder<'c>, side: Side) -> Option<Common<'c>> {
        let [of_rows, of_columns] = self.gemm.config.share.map(i64::from);
        let (share, number, first, mask) = match (side, self.place(b)) {
            (Side::Left, [row, column]) => (of_columns, column, row, (0..of_columns).map(|i| 1 << (i * of_rows)).sum()),
            (Side::Right, [row, column]) => (of_rows, row, b.mul_c(column, of_rows), (1 << of_rows) - 1),
        };
        let mask = b.binary("arith.shli", b.c32(mask), first);
        let mask = b.op1("arith.trunci", &[mask], b.context().int_type(16), &[]);
        (share > 1).then_some(Common { share, number, mask })
    }

    /// A block of two products. Where swapped, boxes of 64 lines of the two right operands alternate, so that a consumer has one chain of each.
    fn load_two(
        &self,
        k: CuteBuilder<'c>,
        [left, right]: [View<'c>; 2],
        [rows, columns]: [Block<'c>; 2],
        arrival: Arrival<'c>,
        other: usize,
    ) -> Built<()> {
        let (b, gemm, config) = (k.builder(), self.gemm, &self.gemm.config);
        let slots = &gemm.slots;
        let [left_lines, right_lines] = config.loaded_lines(gemm.problem).map(i64::from);
        let pair = |number: i64| if number == 0 { slots.right_map(config) } else { other };
        if config.swapped {
            self.load(k, Side::Right, right, slots.b_map, columns, arrival)?;
            for number in 0..2 * i64::from(config.consumers) {
                let part = self.lines(k, Side::Left, left, left_lines, number.to_string(), &[])?;
                let at = Block { line: b.add_c(rows.line, number / 2 * 64), ..rows };
                self.load(k, Side::Left, part, pair(number % 2), at, arrival)?;
            }
            return Ok(());
        }
        self.load(k, Side::Left, left, slots.a_map, rows, arrival)?;
        for number in 0..2 {
            let part = self.lines(k, Side::Right, right, right_lines, number.to_string(), &[])?;
            self.load(k, Side::Right, part, pair(number), columns, arrival)?;
        }
        Ok(())
    }

    /// A part of an operand's stage: number `number` (text, with the integer of a `?` in it) of parts of `lines` lines.
    fn lines(
        &self,
        k: CuteBuilder<'c>,
        side: Side,
        stage: View<'c>,
        lines: i64,
        number: String,
        leaves: &[Val<'c>],
    ) -> Built<View<'c>> {
        if stage.size(0) == Some(lines) {
            return Ok(stage);
        }
        let (tile, zero) = if self.batched(side) > 0 { (";1:1", ",0") } else { ("", "") };
        let tile = format!("[{lines}:1;{}:1{tile}]", self.gemm.tiling().row());
        k.tile(stage, tile, format!("({number},0{zero})"), leaves)
    }

    /// Loads a part of an operand's stage: one box where K is contiguous, else one for each 128 bytes of lines.
    fn load(
        &self,
        k: CuteBuilder<'c>,
        side: Side,
        part: View<'c>,
        map: usize,
        at: Block<'c>,
        arrival: Arrival<'c>,
    ) -> Built<()> {
        let b = k.builder();
        let lines = part.size(0).unwrap_or(1);
        let of_box = self.gemm.tiling().box_lines(side, lines);
        for number in 0..lines / of_box {
            let to = self.lines(k, side, part, of_box, number.to_string(), &[])?;
            let mut place = vec![b.add_c(at.line, number * of_box), at.depth];
            if self.batched(side) > 0 {
                place.push(at.batch);
            }
            let place = k.make("int_tuple", format!("(?{})", ",?".repeat(place.len() - 1)), &place)?;
            k.tma_load(self.args[map], place, to, arrival.full, arrival.mask)?;
        }
        Ok(())
    }
}
