//! The producer: one thread that loads Q, K, V and the bias through TMA.

use super::{Frame, Part, TILE, Unit, tiling::BOX};
use crate::cuda::emit::scalar::ScalarOps;
use aitmlir_dialects::{
    cute::author::{Built, CuteBuilder},
    types::{Types, Val},
};

/// Where a box begins: a column and a line of its operand.
#[derive(Clone, Copy)]
struct At<'c> {
    column: Val<'c>,
    line: Val<'c>,
}

impl<'c> Frame<'_, 'c> {
    pub(super) fn produce(&self, k: CuteBuilder<'c>) -> Built<()> {
        self.each_unit(k, true, |k, unit, [ring, query]| {
            let b = k.builder();
            let (first, ring) = if self.kernel.queries > 1 {
                self.load_query(k, unit, query)?;
                (unit.first, ring)
            } else {
                // The only buffer of Q is free when the rows before are done and stored; the first block can be on its way by then.
                let some = b.cmpi("slt", unit.first, unit.last);
                let types = [b.context().int_type(32)];
                let load = |k| Ok(vec![self.load_block(k, unit, unit.first, ring)?]);
                let ring = k.if_(some, &types, load, |_| Ok(vec![ring]))?[0];
                self.load_query(k, unit, query)?;
                (b.add_c(unit.first, 1), ring)
            };
            let range = [first, unit.last, b.c32(1)];
            let ring = k.for_(range, &[ring], |k, block, ring| Ok(vec![self.load_block(k, unit, block, ring[0])?]))?;
            Ok([ring[0], k.next(self.pipe(Part::Query), query)?])
        })
    }

    /// Loads the rows of Q of a unit.
    fn load_query(&self, k: CuteBuilder<'c>, unit: &Unit<'c>, state: Val<'c>) -> Built<()> {
        let column = k.builder().c32(0);
        self.load(k, Part::Query, unit, At { column, line: unit.row }, state)
    }

    /// Loads a block of K, V and the bias into the next stage of the ring, each when its place is free; the state after it.
    fn load_block(&self, k: CuteBuilder<'c>, unit: &Unit<'c>, block: Val<'c>, state: Val<'c>) -> Built<Val<'c>> {
        let b = k.builder();
        let (zero, line) = (b.c32(0), b.mul_c(block, TILE));
        self.load(k, Part::Key, unit, At { column: zero, line }, state)?;
        if self.kernel.map(Part::Bias).is_some() {
            self.load(k, Part::Bias, unit, At { column: line, line: unit.row }, state)?;
        }
        self.load(k, Part::Value, unit, At { column: zero, line }, state)?;
        k.next(self.pipe(Part::Key), state)
    }

    /// Loads a part of a stage as boxes of all its lines, when it is empty.
    fn load(&self, k: CuteBuilder<'c>, part: Part, unit: &Unit<'c>, from: At<'c>, state: Val<'c>) -> Built<()> {
        let (b, pipe) = (k.builder(), self.pipe(part));
        let Some(map) = self.kernel.map(part) else { return Ok(()) };
        k.acquire(pipe, state)?;
        let full = k.expect(pipe, state, b.c32(self.kernel.part_bytes(part)))?;
        let boxes = self.of_state(k, self.boxes(k, part, TILE)?, "_,_,_,_,0,_", part, state)?;
        for i in 0..self.kernel.tiling.columns(part) / BOX {
            let at = self.coordinate(k, part as usize, unit, [from.line, b.add_c(from.column, BOX * i)])?;
            k.tma_load(self.args[map], at, k.slice(boxes, format!("(_,_,_,_,{i})"), &[])?, full, None)?;
        }
        Ok(())
    }
}
