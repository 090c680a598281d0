//! Copies of a block of A or B into a stage.

use super::{Frame, config::keeps_lines};
use crate::cuda::{
    emit::{Effect, asm0, asm1, async_copy, i64c, memory, scalar::ScalarOps},
    kernels::problem::Place,
};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

/// One operand as a thread sees it.
#[derive(Clone, Copy)]
pub struct Side<'c> {
    /// 0 for A, then the right operands.
    number: usize,
    /// Its matrix of the batch.
    base: Val<'c>,
    /// The tile's first line.
    first: Val<'c>,
    /// Lines of the operand.
    lines: Val<'c>,
    line_stride: Val<'c>,
    step_stride: Val<'c>,
}

impl<'a, 'c> Frame<'a, 'c> {
    /// Operand `number`. All right operands are contiguous along the same dimension.
    fn place(&self, number: usize) -> &'a Place {
        if number == 0 { &self.gemm.problem.a } else { &self.gemm.problem.b }
    }

    pub(super) fn side(&self, b: Builder<'c>, number: usize) -> Side<'c> {
        let slots = &self.gemm.slots;
        let slot = number.checked_sub(1).map_or(&slots.a, |right| &slots.rights[right]);
        let bytes = i64c(b, self.gemm.problem.dtype.bytes());
        let mut base = self.args[slot.pointer];
        if let Some(offset) = slot.batch.offset(b, self.args, self.batch) {
            base = memory::offset(b, base, b.muli(offset, bytes));
        }
        let (first, lines) = if number == 0 { (self.row, self.m) } else { (self.column, self.n) };
        let (line_stride, step_stride) = (slot.line.i64(b, self.args), slot.step.i64(b, self.args));
        // The dimension that is contiguous has the step; the other one the stride of lines.
        let (line_stride, step_stride) =
            if self.place(number).inner { (line_stride, step_stride) } else { (step_stride, line_stride) };
        Side { number, base, first, lines, line_stride, step_stride }
    }

    /// Copies block `block` of K of one operand into the stage at `at`.
    pub(super) fn load_side(&self, b: Builder<'c>, side: &Side<'c>, block: Val<'c>, at: Val<'c>) {
        let config = &self.gemm.config;
        let [rows, columns] = config.tile().map(i64::from);
        let (tile_lines, offset) = match side.number as i64 {
            0 => (rows, 0),
            right => (columns, (rows + (right - 1) * columns) * 128),
        };
        let bytes = self.gemm.problem.dtype.bytes();
        let copy = i64::from(config.copy_bytes[side.number.min(1)]);
        let at = b.add_c(at, offset);
        let depth = b.mul_c(block, self.gemm.block_k());
        let count = tile_lines * 128 / copy;
        let threads = i64::from(config.threads());
        let per_copy = copy / bytes;
        let one = |b: Builder<'c>, index: Val<'c>| {
            let (line, step, to) = self.piece(b, side, index, tile_lines, per_copy);
            let (line, step) = (b.addi(side.first, line), b.addi(depth, step));
            self.copy(b, side, [line, step], b.addi(at, to), copy);
        };
        // Wide copies are written out; many small ones are a loop.
        if count / threads <= 16 {
            for i in 0..count / threads {
                one(b, b.add_c(self.thread, i * threads));
            }
        } else {
            b.for_(self.thread, b.c32(count), b.c32(threads), &[], |b, index, _| {
                one(b, index);
                vec![]
            });
        }
    }

    /// Line and step of K (in the tile) of copy `index`, and its place in the operand's part of the stage. Neighbouring threads have
    /// neighbouring places in global memory.
    fn piece(
        &self,
        b: Builder<'c>,
        side: &Side<'c>,
        index: Val<'c>,
        tile_lines: i64,
        per_copy: i64,
    ) -> (Val<'c>, Val<'c>, Val<'c>) {
        let (place, dtype) = (self.place(side.number), self.gemm.problem.dtype);
        let bytes = dtype.bytes();
        // A row of 128 bytes and the byte in it.
        let swizzled = |b: Builder<'c>, row: Val<'c>, byte: Val<'c>| {
            let piece = b.xor(b.shr_c(byte, 4), b.and(row, b.c32(7)));
            b.addi(b.mul_c(row, 128), b.or(b.shl_c(piece, 4), b.and(byte, b.c32(15))))
        };
        if keeps_lines(place, dtype) {
            let in_row = 64 / per_copy;
            let (row, column) = (b.div_c(index, in_row), b.mul_c(b.rem_c(index, in_row), per_copy));
            let (box_, step) = (b.div_c(row, 64), b.rem_c(row, 64));
            let to = b.addi(b.mul_c(box_, 8192), swizzled(b, step, b.mul_c(column, bytes)));
            return (b.addi(b.mul_c(box_, 64), column), step, to);
        }
        let (line, step) = if place.inner {
            let in_row = self.gemm.block_k() / per_copy;
            (b.div_c(index, in_row), b.mul_c(b.rem_c(index, in_row), per_copy))
        } else {
            (b.rem_c(index, tile_lines), b.div_c(index, tile_lines))
        };
        (line, step, swizzled(b, line, b.mul_c(step, bytes)))
    }

    /// Copies `copy` bytes from a line and step; zeros where that is outside.
    fn copy(&self, b: Builder<'c>, side: &Side<'c>, [line, step]: [Val<'c>; 2], to: Val<'c>, copy: i64) {
        let bytes = self.gemm.problem.dtype.bytes();
        let inside = b.and(b.cmpi("slt", line, side.lines), b.cmpi("slt", step, self.k));
        let from = b.addi(b.muli(b.wide(line), side.line_stride), b.muli(b.wide(step), side.step_stride));
        let from = memory::offset(b, side.base, b.muli(from, i64c(b, bytes)));
        // A place outside is never read, but its address should be that of something.
        let from = b.op1("llvm.select", &[inside, from, side.base], from.r#type(), &[]);
        if copy < 4 {
            let flag = b.op1("arith.extui", &[inside], b.context().int_type(32), &[]);
            let (kind, letter, ty) = if copy == 2 { ("u16", "h", 16) } else { ("u8", "h", 16) };
            let text =
                format!("{{ .reg .pred p; setp.ne.b32 p, $2, 0; mov.b16 $0, 0; @p ld.global.nc.{kind} $0, [$1]; }}");
            let constraints = format!("=&{letter},l,r");
            let value = asm1(b, &text, &constraints, &[from, flag], b.context().int_type(ty), Effect::Ordered);
            asm0(b, &format!("st.shared.{kind} [$0], $1;"), &format!("r,{letter}"), &[to, value]);
            return;
        }
        let (along, limit) = if self.place(side.number).inner { (step, self.k) } else { (line, side.lines) };
        let left = b.mul_c(b.minsi(b.subi(limit, along), b.c32(copy / bytes)), bytes);
        let filled = b.select(inside, left, b.c32(0));
        async_copy::copy(b, to, from, copy as u32, filled);
    }
}

use melior::ir::ValueLike;
