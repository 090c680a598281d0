//! Copies of blocks of A and B into stages.

use super::Frame;
use crate::cuda::{
    emit::{i64c, memory, scalar::ScalarOps},
    kernels::problem::{Int, Place},
};
use aitmlir_dialects::{
    cute::author::{Built, Coords, CuteBuilder, Tensor, TiledCopy, View},
    types::Val,
};
use cute_layout::atom::Side as End;

/// The largest size of a dimension: a tile beyond it has coordinates of 32 bits yet.
const LARGEST: i64 = i32::MAX as i64 - 0xFFFF;
/// Copies of one thread that are written out; more are a loop.
const WRITTEN_OUT: i64 = 16;
/// Copies of one pass of that loop.
const TOGETHER: i64 = 4;

/// One operand on its way from global to shared memory, as a thread sees it.
#[derive(Clone, Copy)]
pub struct Side<'c> {
    copy: TiledCopy<'c>,
    /// ((values, 1), lines, K, blocks of K) in global memory.
    from: View<'c>,
    /// Where they are in the operand.
    at: Coords<'c>,
    /// ((values, 1), lines, K, stages) in shared memory.
    to: View<'c>,
    /// (lines, K) of the operand.
    shape: Val<'c>,
}

/// A size or a coordinate of at most `max`.
pub(super) fn up_to(max: i64) -> String {
    format!("?{{min=0,max={max}}}")
}

impl<'a, 'c> Frame<'a, 'c> {
    /// Operand `number`: 0 for A, then the right operands, which are all contiguous along the same dimension.
    pub(super) fn operand(&self, number: usize) -> &'a Place {
        if number == 0 { &self.gemm.problem.a } else { &self.gemm.problem.b }
    }

    /// Lines of a tile of an operand.
    fn lines(&self, number: usize) -> i64 {
        i64::from(self.gemm.config.tile()[number.min(1)])
    }

    /// The coordinate of this CTA's tile along M (0) or N (1), where a tile may be taken: `(?,_)`.
    pub(super) fn tile_number(&self, along: usize) -> (String, Val<'c>) {
        let tile = i64::from(self.gemm.config.tile()[along]);
        (up_to(LARGEST / tile), [self.row, self.column][along])
    }

    /// A shape with these sizes, for coordinates.
    pub(super) fn sizes() -> String {
        format!("({0},{0})", up_to(LARGEST))
    }

    /// (lines, K, stages) of an operand in shared memory.
    pub(super) fn stages(&self, k: CuteBuilder<'c>, number: usize) -> Built<View<'c>> {
        let (b, gemm) = (k.builder(), self.gemm);
        let before: i64 = (0..number).map(|other| self.lines(other)).sum();
        let pointer = memory::offset(b, self.shared, i64c(b, before * 128));
        let stage_bytes = gemm.config.stage_bytes(gemm.problem);
        let layout = gemm.tiling.stages(self.operand(number), self.lines(number), stage_bytes);
        k.shared(pointer, gemm.tiling.element(), 1024, layout)
    }

    /// The whole operand: (lines, K) of this CTA's matrix of the batch.
    fn tensor(&self, k: CuteBuilder<'c>, number: usize, values: i64) -> Built<View<'c>> {
        let (b, gemm) = (k.builder(), self.gemm);
        let slot = number.checked_sub(1).map_or(&gemm.slots.a, |right| &gemm.slots.rights[right]);
        let bytes = gemm.problem.dtype.bytes();
        let mut pointer = self.args[slot.pointer];
        if let Some(offset) = slot.batch.offset(b, self.args, self.batch) {
            pointer = memory::offset(b, pointer, b.muli(offset, i64c(b, bytes)));
        }
        let mut leaves = vec![if number == 0 { self.m } else { self.n }, self.k];
        // The dimension that is contiguous has the step; the other one the stride of lines, which keeps copies aligned.
        let mut stride = |int: Int, divisor: i64| match int {
            Int::Known(value) => value.to_string(),
            Int::Param(_) => {
                leaves.push(int.i64(b, self.args));
                if divisor > 1 { format!("?{{i64,div={divisor}}}") } else { "?{i64}".to_owned() }
            }
        };
        let strides = match self.operand(number).inner {
            true => [stride(slot.line, values), stride(slot.step, 1)],
            false => [stride(slot.step, 1), stride(slot.line, values)],
        };
        let layout = format!("{}:({})", Self::sizes(), strides.join(","));
        k.global(pointer, gemm.tiling.element(), values * bytes, layout, &leaves)
    }

    /// What a thread copies of an operand into its stages.
    pub(super) fn side(&self, k: CuteBuilder<'c>, number: usize, stages: View<'c>) -> Built<Side<'c>> {
        let (place, lines, tiling) = (self.operand(number), self.lines(number), &self.gemm.tiling);
        let bytes = self.gemm.config.copy_bytes[number.min(1)];
        let values = i64::from(bytes) / self.gemm.problem.dtype.bytes();
        let shape = k.make("shape", Self::sizes(), &[if number == 0 { self.m } else { self.n }, self.k])?;
        let tile = format!("[{lines}:1;{}:1]", tiling.block_k);
        let (first, row) = self.tile_number(number.min(1));
        let coord = format!("({first},_)");
        let from = k.tile(self.tensor(k, number, values)?, &tile, &coord, &[row])?;
        let at = k.tile(k.identity(shape)?, &tile, &coord, &[row])?;
        let atom = match bytes {
            16 => "cp.async.cg.16",
            8 => "cp.async.ca.8",
            4 => "cp.async.ca.4",
            2 => "universal.16",
            _ => "universal.8",
        };
        let [threads, each] = tiling.copies(place, lines, bytes);
        let copy = k.tiled_copy(atom, tiling.element(), threads, each)?;
        Ok(Side {
            copy,
            from: k.copy_part(copy, End::Source, from, self.thread)?,
            at: k.copy_part(copy, End::Source, at, self.thread)?,
            to: k.copy_part(copy, End::Destination, stages, self.thread)?,
            shape,
        })
    }

    /// Copies block `block` of K of an operand into stage `stage`.
    pub(super) fn load(&self, k: CuteBuilder<'c>, side: &Side<'c>, block: Val<'c>, stage: Val<'c>) -> Built<()> {
        let b = k.builder();
        let of_block = format!("(_,_,_,{})", up_to(LARGEST / self.gemm.tiling.block_k));
        let of_stage = format!("(_,_,_,{})", up_to(i64::from(self.gemm.config.stages) - 1));
        let (from, at) = (k.slice(side.from, &of_block, &[block])?, k.slice(side.at, &of_block, &[block])?);
        let to = k.slice(side.to, of_stage, &[stage])?;
        let [along_lines, along_k] = [1, 2].map(|mode| to.size(mode).unwrap_or(1));
        if along_lines * along_k <= WRITTEN_OUT {
            return k.load_within(side.copy, from, to, at, side.shape);
        }
        // A few at a time along the longer mode, whose loads are then all under way.
        let longer = usize::from(along_k >= along_lines);
        let mut sizes = [along_lines, along_k];
        let together = if sizes[longer] % TOGETHER == 0 { TOGETHER } else { 1 };
        let count = sizes[longer] / together;
        sizes[longer] = together;
        let tile = format!("[{}:1;{}:1;{}:1]", to.size(0).unwrap_or(1), sizes[0], sizes[1]);
        let number = up_to(count - 1);
        let coord = if longer == 0 { format!("(0,{number},0)") } else { format!("(0,0,{number})") };
        k.for_([b.c32(0), b.c32(count), b.c32(1)], &[], |k, i, _| {
            let (from, to) = (k.tile(from, &tile, &coord, &[i])?, k.tile(to, &tile, &coord, &[i])?);
            k.load_within(side.copy, from, to, k.tile(at, &tile, &coord, &[i])?, side.shape)?;
            Ok(vec![])
        })?;
        Ok(())
    }
}
