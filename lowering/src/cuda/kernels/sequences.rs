//! The sequences of jagged rows as a kernel sees them: where each begins, how long it is, and whether the offsets are what they must be.

use super::problem::{Int, Params};
use crate::{
    cpu::runtime::FailCode,
    cuda::{
        emit::{i64c, memory, scalar::ScalarOps},
        entry::record_failure,
    },
};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};
use kernel_launch::{Expr, Param};

/// Rows of B sequences, one after the other; they begin at `offsets[b]` and end at `offsets[b + 1]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    /// The operand that holds the offsets.
    pub offsets: u32,
    /// Are they i64? Else i32.
    pub wide: bool,
    /// Rows of all sequences.
    pub total: Expr,
    /// Rows that a sequence has at most.
    pub max_length: i64,
    /// Sequences.
    pub count: Expr,
    /// The operand that is the record of failed checks.
    pub record: u32,
    /// The site of the launch.
    pub site: Expr,
}

/// Their parameters.
pub struct SequenceSlots {
    offsets: usize,
    wide: bool,
    max_length: i64,
    total: Int,
    count: Int,
    record: usize,
    site: Int,
}

/// One sequence: both i32.
#[derive(Clone, Copy)]
pub struct Sequence<'c> {
    /// Its first row.
    pub start: Val<'c>,
    /// Its rows; 0 where its offsets are wrong.
    pub length: Val<'c>,
}

impl SequenceSlots {
    /// Adds the parameters.
    pub fn new(params: &mut Params, sequences: &Sequences) -> Self {
        let mut pointer = |operand| params.push(Param::Pointer { operand, offset: 0.into() });
        let (offsets, record) = (pointer(sequences.offsets), pointer(sequences.record));
        SequenceSlots {
            offsets,
            wide: sequences.wide,
            max_length: sequences.max_length,
            total: params.long(&sequences.total),
            count: params.int(&sequences.count),
            record,
            site: params.long(&sequences.site),
        }
    }

    /// Sequence `number` (an i32). What is wrong with its offsets is recorded where `reports`.
    pub fn at<'c>(&self, b: Builder<'c>, args: &[Val<'c>], number: Val<'c>, reports: bool) -> Sequence<'c> {
        let (i32, i64) = (b.context().int_type(32), b.context().int_type(64));
        let bytes = if self.wide { 8 } else { 4 };
        let offset = |number: Val<'c>| {
            let address = memory::offset(b, args[self.offsets], b.muli(b.wide(number), i64c(b, bytes)));
            let value = memory::load(b, address, if self.wide { i64 } else { i32 });
            if self.wide { value } else { b.wide(value) }
        };
        let next = b.add_c(number, 1);
        let (start, end) = (offset(number), offset(next));
        let (zero, total) = (i64c(b, 0), self.total.i64(b, args));
        let limit = b.addi(start, i64c(b, self.max_length));
        let first = b.cmpi("eq", number, b.c32(0));
        let last = b.cmpi("eq", next, self.count.i32(b, args));
        let checks = [
            (b.and(first, b.cmpi("ne", start, zero)), FailCode::NotEqual, start, zero),
            (b.cmpi("slt", start, zero), FailCode::TooSmall, start, zero),
            (b.cmpi("slt", end, start), FailCode::TooSmall, end, start),
            (b.cmpi("sgt", end, total), FailCode::TooLarge, end, total),
            (b.and(last, b.cmpi("ne", end, total)), FailCode::NotEqual, end, total),
            (b.cmpi("sgt", end, limit), FailCode::TooLarge, end, limit),
        ];
        let failure = checks.iter().rev().fold([zero; 3], |[code, value, expected], check| {
            let (broken, why, found, limit) = *check;
            let why = i64c(b, why as i64);
            [b.select(broken, why, code), b.select(broken, found, value), b.select(broken, limit, expected)]
        });
        let failed = b.cmpi("ne", failure[0], zero);
        if reports {
            let [code, value, expected] = failure;
            let arguments = [code, self.site.i64(b, args), value, expected];
            b.when(failed, |b| record_failure(b, args[self.record], &arguments));
        }
        let narrow = |value: Val<'c>| b.op1("arith.trunci", &[value], i32, &[]);
        Sequence { start: narrow(start), length: b.select(failed, b.c32(0), narrow(b.subi(end, start))) }
    }
}
