//! The result of a unit: through where its rows of Q were, or plainly where its sequence ends before the tile.

use super::{
    Frame, Jagged, Part, TILE, Unit,
    consumer::{Consumer, GROUP_BARRIER},
    tiling::{BOX, STORED, Tiling},
};
use crate::cuda::emit::{i64c, memory, scalar::ScalarOps, sync, tma};
use aitmlir_dialects::{
    cute::author::{Built, CuteBuilder},
    types::Val,
};
use cute_layout::atom::{Operand, Side};

impl<'c> Frame<'_, 'c> {
    /// Stores 64 rows of a warpgroup through where its part of Q was; plainly where the sequence ends before them.
    pub(super) fn store(
        &self,
        k: CuteBuilder<'c>,
        consumer: &Consumer<'c>,
        unit: &Unit<'c>,
        query: Val<'c>,
    ) -> Built<()> {
        let (b, thread) = (k.builder(), &consumer.thread);
        // All warps have multiplied with Q.
        sync::named_barrier(b, b.add_c(thread.group, GROUP_BARRIER), 128);
        k.convert(consumer.sums, consumer.halves)?;
        let Some(jagged) = &self.kernel.jagged else { return self.store_boxes(k, consumer, unit, query) };
        let end = b.addi(unit.row, b.mul_c(b.add_c(thread.group, 1), STORED));
        k.if_(
            b.cmpi("sle", end, unit.rows),
            &[],
            |k| self.store_boxes(k, consumer, unit, query).map(|()| vec![]),
            |k| self.store_rows(k, consumer, unit, jagged).map(|()| vec![]),
        )?;
        Ok(())
    }

    fn store_boxes(&self, k: CuteBuilder<'c>, consumer: &Consumer<'c>, unit: &Unit<'c>, query: Val<'c>) -> Built<()> {
        let (b, thread, tiling) = (k.builder(), &consumer.thread, &self.kernel.tiling);
        let copies = self.kernel.copies(Part::Query);
        let buffers = self.shared(k, Part::Query, Tiling::matrix(tiling.width(), copies))?;
        let copy = k.tiled_copy_for("stmatrix.x4", tiling.element(), consumer.result, Operand::C)?;
        let to = k.copy_part(copy, Side::Destination, buffers, thread.number)?;
        k.copy(copy, k.retile(copy, consumer.halves)?, self.of_state(k, to, "_,_,_", Part::Query, query)?)?;
        sync::fence_async_shared(b);
        sync::named_barrier(b, b.add_c(thread.group, GROUP_BARRIER), 128);
        k.when(thread.first, |k| {
            let boxes = self.shared(k, Part::Query, Tiling::boxes(tiling.width(), STORED, copies))?;
            let boxes = self.of_state(k, boxes, "_,_,_,_,_,_", Part::Query, query)?;
            let line = b.addi(unit.row, b.mul_c(thread.group, STORED));
            for i in 0..tiling.width() / BOX {
                let from = format!("(_,_,_,_,?{{min=0,max=1}},{i})");
                let at = self.coordinate(k, super::OUT, unit, [line, b.c32(BOX * i)])?;
                k.tma_store(self.args[self.kernel.out], at, k.slice(boxes, from, &[thread.group])?)?;
            }
            tma::commit(k.builder());
            Ok(())
        })
    }

    /// Stores those of 64 rows that the sequence has, two elements at a time.
    fn store_rows(&self, k: CuteBuilder<'c>, consumer: &Consumer<'c>, unit: &Unit<'c>, jagged: &Jagged) -> Built<()> {
        let (b, problem, tiling) = (k.builder(), self.kernel.problem, &self.kernel.tiling);
        let Some(start) = unit.start else { return Ok(()) };
        // Lines and heads are multiples of 16 bytes apart, as TMA asks. Columns come in whole eights.
        let line = jagged.line.i64(b, self.args);
        let head = b.muli(b.wide(unit.head), jagged.head.i64(b, self.args));
        let first = b.addi(b.muli(b.wide(b.addi(start, unit.row)), line), head);
        let pointer = memory::offset(b, self.args[jagged.out], b.muli(first, i64c(b, problem.dtype.bytes())));
        let layout = format!("({TILE},{}):(?{{i64,div=8}},1)", tiling.width());
        let tile = k.global(pointer, tiling.element(), 16, layout, &[line])?;
        let to = k.mma_part(consumer.result, Operand::C, tile, consumer.thread.number)?;
        let places = k.identity(k.make("shape", format!("({TILE},{})", tiling.width()), &[])?)?;
        let places = k.mma_part(consumer.result, Operand::C, places, consumer.thread.number)?;
        let pair = k.atom("universal.32", tiling.element())?;
        let left = b.subi(unit.rows, unit.row);
        for half in 0..2 {
            let row = k.place(places, format!("((0,{half},0),0,0)"))?[0];
            k.when(b.cmpi("slt", row, left), |k| {
                (0..problem.width / 8).try_for_each(|columns| {
                    let at = format!("((_,{half},{columns}),0,0)");
                    k.copy(pair, k.slice(consumer.halves, &at, &[])?, k.slice(to, &at, &[])?)
                })
            })?;
        }
        Ok(())
    }
}
