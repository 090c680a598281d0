//! From sums to elements of the results: what the epilogue reads beside a sum, its scalar code, rounding, and plain stores.
//!
//! Kernels see the result as a matrix of `m` rows and `n` columns; `swapped` ones compute its transpose.

use super::problem::{BatchSlot, Dtype, Fold, Int, Params, Problem, Region};
use crate::cuda::emit::{i32c, i64c, memory, scalar::ScalarOps};
use aitmlir_dialects::{
    builder::{Builder, defining_op, operands_of},
    types::{TypeExt, Types, Val, vector_type},
};
use kernel_launch::{Expr, Param};
use melior::ir::{ValueLike, operation::OperationLike};

/// Parameters of the extras, and of the results where they are stored plainly.
#[derive(Clone, Debug)]
pub struct ElementSlots {
    extras: Vec<ExtraSlot>,
    outs: Vec<OutSlot>,
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
    bytes: i64,
    rows: Along,
    columns: Along,
    batch: BatchSlot,
}

/// How a number of a row or column becomes a place.
#[derive(Clone, Debug)]
enum Along {
    /// By a stride.
    Stride(Int),
    /// Through sizes and strides, outermost first.
    Folds(Vec<(Int, Int)>),
}

impl Along {
    fn new(params: &mut Params, stride: &Expr, folds: &[Fold]) -> Self {
        match folds {
            [] => Along::Stride(params.long(stride)),
            _ => Along::Folds(folds.iter().map(|f| (params.int(&f.size), params.long(&f.stride))).collect()),
        }
    }

    /// Elements (an i64) from number 0 to `number`.
    fn offset<'c>(&self, b: Builder<'c>, args: &[Val<'c>], number: Val<'c>) -> Val<'c> {
        match self {
            Along::Stride(stride) => b.muli(b.wide(number), stride.i64(b, args)),
            Along::Folds(folds) => {
                let (mut rest, mut sum) = (number, i64c(b, 0));
                for (i, (size, stride)) in folds.iter().enumerate().rev() {
                    let size = size.i32(b, args);
                    let index = if i == 0 { rest } else { b.remu(rest, size) };
                    sum = b.addi(sum, b.muli(b.wide(index), stride.i64(b, args)));
                    if i > 0 {
                        rest = b.divu(rest, size);
                    }
                }
                sum
            }
        }
    }
}

impl ElementSlots {
    /// Adds the parameters; those of the results where `stores`.
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
        let outs = problem.outputs().filter(|_| stores).map(|(place, dtype)| OutSlot {
            pointer: pointer(params, place.operand, &place.offset, dtype),
            bytes: dtype.bytes(),
            rows: Along::new(params, &place.line, &place.rows),
            columns: Along::new(params, &place.step, &place.columns),
            batch: BatchSlot::of_result(params, place),
        });
        let outs = outs.collect();
        ElementSlots { extras, outs }
    }

    /// Lets rows be counted from row `first` (an i32) on: moves the addresses among the parameters.
    pub fn count_from<'c>(&self, b: Builder<'c>, problem: &Problem, args: &mut [Val<'c>], first: Val<'c>) {
        let moved = |args: &[Val<'c>], pointer: usize, elements: Val<'c>, bytes: i64| {
            memory::offset(b, args[pointer], b.muli(elements, i64c(b, bytes)))
        };
        for (slot, extra) in self.extras.iter().zip(&problem.extras) {
            if let Some(row) = slot.row {
                let elements = b.muli(b.wide(first), row.i64(b, args));
                args[slot.pointer] = moved(args, slot.pointer, elements, extra.dtype.bytes());
            }
        }
        for out in &self.outs {
            let elements = out.rows.offset(b, args, first);
            args[out.pointer] = moved(args, out.pointer, elements, out.bytes);
        }
    }
}

/// The results as a kernel sees them.
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
    /// The sums with the second right operand, where there is one.
    pub others: Option<[Val<'c>; 2]>,
}

impl<'a, 'c> Elements<'a, 'c> {
    /// The epilogue's results for the two elements of a pair of matrix `batch`.
    pub fn results(&self, b: Builder<'c>, batch: Val<'c>, pair: &Pair<'c>) -> [Vec<Val<'c>>; 2] {
        let extras: Vec<[Val<'c>; 2]> =
            (0..self.problem.extras.len()).map(|i| self.extra(b, batch, pair.row, pair.column, i)).collect();
        [0, 1].map(|i| {
            let scalars: Vec<_> = pair.others.iter().chain(&extras).map(|pair| pair[i]).collect();
            (self.region)(b, pair.sums[i], &scalars)
        })
    }

    /// The epilogue's results for one element, from its sums.
    pub fn result(
        &self,
        b: Builder<'c>,
        batch: Val<'c>,
        row: Val<'c>,
        column: Val<'c>,
        sums: &[Val<'c>],
    ) -> Vec<Val<'c>> {
        let extras = (0..self.problem.extras.len()).map(|i| self.extra(b, batch, row, column, i)[0]);
        let scalars: Vec<_> = sums[1..].iter().copied().chain(extras).collect();
        (self.region)(b, sums[0], &scalars)
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
        let [first, second] = self.results(b, batch, pair);
        for (which, values) in first.into_iter().zip(second).enumerate() {
            let values = [values.0, values.1];
            if self.problem.out_pairs && !self.swapped && self.dtype(which).half() {
                self.store_word(b, which, batch, pair, values);
                continue;
            }
            for (i, value) in values.into_iter().enumerate() {
                self.store(b, which, batch, pair.row, b.add_c(pair.column, i as i64), value);
            }
        }
    }

    /// Stores a value of result `which`, if its place is inside.
    pub fn store(&self, b: Builder<'c>, which: usize, batch: Val<'c>, row: Val<'c>, column: Val<'c>, value: Val<'c>) {
        let inside = b.and(b.cmpi("slt", row, self.m), b.cmpi("slt", column, self.n));
        b.when(inside, |b| {
            let place = self.out_place(b, which, batch, row, column);
            memory::store(b, place, self.rounded(b, which, value));
        });
    }

    /// Stores two values as one word, if they are inside; both are or neither is.
    fn store_word(&self, b: Builder<'c>, which: usize, batch: Val<'c>, pair: &Pair<'c>, values: [Val<'c>; 2]) {
        let word = self.packed(b, which, values);
        let inside = b.and(b.cmpi("slt", pair.row, self.m), b.cmpi("slt", pair.column, self.n));
        b.when(inside, |b| {
            let place = self.out_place(b, which, batch, pair.row, pair.column);
            memory::store_words(b, place, &[word]);
        });
    }

    /// The address of an element of result `which`.
    fn out_place(&self, b: Builder<'c>, which: usize, batch: Val<'c>, row: Val<'c>, column: Val<'c>) -> Val<'c> {
        let out = &self.slots.outs[which];
        let (m, n) = if self.swapped { (column, row) } else { (row, column) };
        let mut place = b.addi(out.rows.offset(b, self.args, m), out.columns.offset(b, self.args, n));
        if let Some(offset) = out.batch.offset(b, self.args, batch) {
            place = b.addi(place, offset);
        }
        memory::offset(b, self.args[out.pointer], b.muli(place, i64c(b, out.bytes)))
    }

    /// The element type of result `which`.
    fn dtype(&self, which: usize) -> Dtype {
        if which == 0 { self.problem.out_dtype } else { self.problem.more[which - 1].dtype }
    }

    /// A value of the type of result `which`.
    pub fn rounded(&self, b: Builder<'c>, which: usize, value: Val<'c>) -> Val<'c> {
        let r#type = self.dtype(which).mlir(b);
        if value.r#type() == r#type { value } else { b.op1("arith.truncf", &[value], r#type, &[]) }
    }

    /// A result in f32: what it was rounded from, where it was rounded.
    pub fn unrounded(&self, b: Builder<'c>, value: Val<'c>) -> Val<'c> {
        unrounded(value).unwrap_or_else(|| b.op1("arith.extf", &[value], b.context().f32_type(), &[]))
    }

    /// Two 16-bit results in one word, by one instruction where both were rounded from f32.
    pub fn packed(&self, b: Builder<'c>, which: usize, values: [Val<'c>; 2]) -> Val<'c> {
        let bf16 = self.dtype(which) == Dtype::Bf16;
        if let [Some(low), Some(high)] = values.map(unrounded) {
            return b.pack_halves(low, high, bf16);
        }
        let (i16, i32) = (b.context().int_type(16), b.context().int_type(32));
        let [low, high] = values.map(|value| {
            let bits = b.op1("arith.bitcast", &[self.rounded(b, which, value)], i16, &[]);
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
