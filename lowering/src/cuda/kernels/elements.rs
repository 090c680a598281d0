//! From sums to elements of the result: what the epilogue reads beside a sum, its scalar code, rounding, and plain stores.
//!
//! Kernels see the result as a matrix of `m` rows and `n` columns; `swapped` ones compute its transpose.

use super::problem::{BatchSlot, Dtype, Int, Params, Problem, Region};
use crate::cuda::emit::{i32c, i64c, memory, scalar::ScalarOps};
use aitmlir_dialects::{
    builder::{Builder, defining_op, operands_of},
    types::{TypeExt, Types, Val, vector_type},
};
use kernel_launch::{Expr, Param};
use melior::ir::{ValueLike, operation::OperationLike};

/// Parameters of the extras, and of the result where it is stored plainly.
#[derive(Clone, Debug)]
pub struct ElementSlots {
    extras: Vec<ExtraSlot>,
    out: Option<OutSlot>,
}

#[derive(Clone, Debug)]
struct ExtraSlot {
    pointer: usize,
    row: Option<Int>,
    column: Option<Int>,
    batch: BatchSlot,
}

#[derive(Clone, Debug)]
struct OutSlot {
    pointer: usize,
    line: Int,
    step: Int,
    batch: BatchSlot,
}

impl ElementSlots {
    /// Adds the parameters; those of the result where `stores`.
    pub fn new(params: &mut Params, problem: &Problem, stores: bool) -> Self {
        let pointer = |params: &mut Params, operand: u32, offset: &Expr, dtype: Dtype| {
            params.push(Param::Pointer { operand, offset: offset.clone() * dtype.bytes() })
        };
        let extras = problem.extras.iter().map(|extra| ExtraSlot {
            pointer: pointer(params, extra.operand, &extra.offset, extra.dtype),
            row: extra.row.as_ref().map(|row| params.long(row)),
            column: extra.column.as_ref().map(|column| params.long(column)),
            batch: BatchSlot::new(params, problem, extra.batch.as_ref(), &extra.spread),
        });
        let extras = extras.collect();
        let out = stores.then(|| OutSlot {
            pointer: pointer(params, problem.out.operand, &problem.out.offset, problem.out_dtype),
            line: params.long(&problem.out.line),
            step: params.long(&problem.out.step),
            batch: BatchSlot::new(params, problem, problem.out.batch.as_ref(), &problem.out.spread),
        });
        ElementSlots { extras, out }
    }
}

/// The result as a kernel sees it.
#[derive(Clone, Copy)]
pub struct Elements<'a, 'c> {
    /// The problem.
    pub problem: &'a Problem,
    /// Its parameters.
    pub slots: &'a ElementSlots,
    /// The kernel's arguments.
    pub args: &'a [Val<'c>],
    /// Rows of the kernel's matrix.
    pub m: Val<'c>,
    /// Columns of the kernel's matrix.
    pub n: Val<'c>,
    /// Is that the transpose of the result?
    pub swapped: bool,
    /// The epilogue's code.
    pub region: Region<'a, 'c>,
}

/// Neighbouring elements of a row of the kernel's matrix.
#[derive(Clone, Copy)]
pub struct Pair<'c> {
    /// The row.
    pub row: Val<'c>,
    /// The column of the first; that of the second is one more.
    pub column: Val<'c>,
    /// The sums.
    pub sums: [Val<'c>; 2],
}

impl<'a, 'c> Elements<'a, 'c> {
    /// The epilogue's results for a pair of matrix `batch`.
    pub fn results(&self, b: Builder<'c>, batch: Val<'c>, pair: &Pair<'c>) -> [Val<'c>; 2] {
        let extras: Vec<[Val<'c>; 2]> =
            (0..self.problem.extras.len()).map(|i| self.extra(b, batch, pair.row, pair.column, i)).collect();
        [0, 1].map(|i| {
            let elements: Vec<_> = extras.iter().map(|extra| extra[i]).collect();
            (self.region)(b, pair.sums[i], &elements)[0]
        })
    }

    /// The epilogue's result for one element.
    pub fn result(&self, b: Builder<'c>, batch: Val<'c>, row: Val<'c>, column: Val<'c>, sum: Val<'c>) -> Val<'c> {
        let elements: Vec<_> =
            (0..self.problem.extras.len()).map(|i| self.extra(b, batch, row, column, i)[0]).collect();
        (self.region)(b, sum, &elements)[0]
    }

    /// Elements of an extra. Places outside the result are moved inside: what is computed from them is not stored.
    fn extra(&self, b: Builder<'c>, batch: Val<'c>, row: Val<'c>, column: Val<'c>, index: usize) -> [Val<'c>; 2] {
        let (extra, slot) = (&self.problem.extras[index], &self.slots.extras[index]);
        let r#type = extra.dtype.mlir(b);
        let place = |b: Builder<'c>, m: Option<Val<'c>>, n: Option<Val<'c>>| {
            let mut place = i64c(b, 0);
            if let (Some(row), Some(m)) = (slot.row, m) {
                place = b.addi(place, b.muli(b.wide(m), row.i64(b, self.args)));
            }
            if let Some(offset) = slot.batch.offset(b, self.args, batch) {
                place = b.addi(place, offset);
            }
            if let (Some(column), Some(n)) = (slot.column, n) {
                place = b.addi(place, b.muli(b.wide(n), column.i64(b, self.args)));
            }
            memory::offset(b, self.args[slot.pointer], b.muli(place, i64c(b, extra.dtype.bytes())))
        };
        let row = b.minsi(row, b.add_c(self.m, -1));
        let columns = [0, 1].map(|i| b.minsi(b.add_c(column, i), b.add_c(self.n, -1)));
        if !self.swapped && extra.pairs && extra.dtype.half() {
            let column = b.minsi(column, b.add_c(self.n, -2));
            let word = memory::load_words(b, place(b, Some(row), Some(column)), 1)[0];
            let both = b.op1("llvm.bitcast", &[word], vector_type(2, r#type), &[]);
            return [0, 1].map(|i| b.op1("llvm.extractelement", &[both, i32c(b, i)], r#type, &[]));
        }
        let element = |i: usize| {
            let (m, n) = if self.swapped { (columns[i], row) } else { (row, columns[i]) };
            memory::load(b, place(b, Some(m), Some(n)), r#type)
        };
        let varies = if self.swapped { extra.row.is_some() } else { extra.column.is_some() };
        let one = element(0);
        [one, if varies { element(1) } else { one }]
    }

    /// Stores what of a pair's results is inside.
    pub fn store_pair(&self, b: Builder<'c>, batch: Val<'c>, pair: &Pair<'c>) {
        let values = self.results(b, batch, pair);
        for (i, value) in values.into_iter().enumerate() {
            self.store(b, batch, pair.row, b.add_c(pair.column, i as i64), value);
        }
    }

    /// Stores a value, if its place is inside.
    pub fn store(&self, b: Builder<'c>, batch: Val<'c>, row: Val<'c>, column: Val<'c>, value: Val<'c>) {
        let Some(out) = &self.slots.out else { return };
        let inside = b.and(b.cmpi("slt", row, self.m), b.cmpi("slt", column, self.n));
        b.when(inside, |b| {
            let (m, n) = if self.swapped { (column, row) } else { (row, column) };
            let along = b.muli(b.wide(n), out.step.i64(b, self.args));
            let mut place = b.addi(b.muli(b.wide(m), out.line.i64(b, self.args)), along);
            if let Some(offset) = out.batch.offset(b, self.args, batch) {
                place = b.addi(place, offset);
            }
            let bytes = i64c(b, self.problem.out_dtype.bytes());
            let place = memory::offset(b, self.args[out.pointer], b.muli(place, bytes));
            memory::store(b, place, self.rounded(b, value));
        });
    }

    /// A value of the result's type.
    pub fn rounded(&self, b: Builder<'c>, value: Val<'c>) -> Val<'c> {
        let r#type = self.problem.out_dtype.mlir(b);
        if value.r#type() == r#type { value } else { b.op1("arith.truncf", &[value], r#type, &[]) }
    }

    /// Two 16-bit results in one word, by one instruction where both were rounded from f32.
    pub fn packed(&self, b: Builder<'c>, values: [Val<'c>; 2]) -> Val<'c> {
        let bf16 = self.problem.out_dtype == Dtype::Bf16;
        if let [Some(low), Some(high)] = values.map(unrounded) {
            return b.pack_halves(low, high, bf16);
        }
        let (i16, i32) = (b.context().int_type(16), b.context().int_type(32));
        let [low, high] = values.map(|value| {
            let bits = b.op1("arith.bitcast", &[self.rounded(b, value)], i16, &[]);
            b.op1("arith.extui", &[bits], i32, &[])
        });
        b.or(low, b.shl_c(high, 16))
    }
}

/// The f32 that a value is, or was rounded from.
fn unrounded<'c>(value: Val<'c>) -> Option<Val<'c>> {
    let is_f32 = |value: Val<'c>| value.r#type().is_float_type() && value.r#type().bits() == 32;
    if is_f32(value) {
        return Some(value);
    }
    let op = defining_op(value)?;
    let name = op.name();
    let rounds = name.as_string_ref().as_str() == Ok("arith.truncf");
    let source = rounds.then(|| operands_of(op).first().copied()).flatten()?;
    is_f32(source).then_some(source)
}
