//! The sequences of jagged rows as a kernel sees them: where each begins, how long it is, and whether the offsets are what they must be.
//!
//! A kernel whose tiles have rows of one sequence does not know how many tiles there are before it runs. It may give sequence s the places (rows of tiles) from `offsets[s] / rows + s` on: they are
//! enough for its rows, they follow those of the sequence before it, and whose a place is, is a matter of a binary search ([`SequenceSlots::find`]). Some places are nobody's.

use super::problem::{Int, Params};
use crate::{
    cpu::runtime::FailCode,
    cuda::{
        emit::{i64c, memory, scalar::ScalarOps},
        entry::record_failure,
    },
};
use aitmlir_dialects::{
    builder::{Builder, results_of},
    types::{Types, Val},
};
use kernel_launch::{Expr, Param};

/// Rows of B sequences (of a grouped product: G groups), one after the other; they begin at `offsets[b]` and end at `offsets[b + 1]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    /// The operand that holds the offsets.
    pub offsets: u32,
    /// Are they i64? Else i32.
    pub wide: bool,
    /// Rows of all sequences.
    pub total: Expr,
    /// Rows that a sequence has at most, where there is a limit.
    pub max_length: Option<i64>,
    /// Sequences.
    pub count: Expr,
    /// The operand that is the record of failed checks.
    pub record: u32,
    /// The site of the launch.
    pub site: Expr,
}

/// Their parameters.
#[derive(Clone, Debug)]
pub struct SequenceSlots {
    offsets: usize,
    wide: bool,
    max_length: Option<i64>,
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
        self.checked(b, args, number, self.offsets(b, args, number), reports)
    }

    /// Where sequence `number` begins and ends, as the operand says it: for those that ask before they need it.
    pub fn offsets<'c>(&self, b: Builder<'c>, args: &[Val<'c>], number: Val<'c>) -> [Val<'c>; 2] {
        [number, b.add_c(number, 1)].map(|number| self.offset(b, args, number))
    }

    /// Sequence `number` of [`SequenceSlots::offsets`].
    pub fn checked<'c>(
        &self,
        b: Builder<'c>,
        args: &[Val<'c>],
        number: Val<'c>,
        offsets: [Val<'c>; 2],
        reports: bool,
    ) -> Sequence<'c> {
        let (own, failed, failure) = self.examined(b, args, number, offsets);
        if reports {
            b.when(failed, |b| self.record(b, args, failure));
        }
        own
    }

    /// Records a failed check: its code and its two numbers.
    fn record<'c>(&self, b: Builder<'c>, args: &[Val<'c>], [code, value, expected]: [Val<'c>; 3]) {
        let arguments = [code, self.site.i64(b, args), value, expected];
        record_failure(b, args[self.record], &arguments);
    }

    /// Sequence `number` of these offsets, whether they are wrong, and what is wrong with them.
    fn examined<'c>(
        &self,
        b: Builder<'c>,
        args: &[Val<'c>],
        number: Val<'c>,
        offsets: [Val<'c>; 2],
    ) -> (Sequence<'c>, Val<'c>, [Val<'c>; 3]) {
        let [start, end] = offsets.map(|offset| self.long(b, offset));
        let next = b.add_c(number, 1);
        let (zero, total) = (i64c(b, 0), self.total.i64(b, args));
        let first = b.cmpi("eq", number, b.c32(0));
        let last = b.cmpi("eq", next, self.count.i32(b, args));
        let mut checks = vec![
            (b.and(first, b.cmpi("ne", start, zero)), FailCode::NotEqual, start, zero),
            (b.cmpi("slt", start, zero), FailCode::TooSmall, start, zero),
            (b.cmpi("slt", end, start), FailCode::TooSmall, end, start),
            (b.cmpi("sgt", end, total), FailCode::TooLarge, end, total),
            (b.and(last, b.cmpi("ne", end, total)), FailCode::NotEqual, end, total),
        ];
        if let Some(length) = self.max_length {
            let limit = b.addi(start, i64c(b, length));
            checks.push((b.cmpi("sgt", end, limit), FailCode::TooLarge, end, limit));
        }
        let failure = checks.iter().rev().fold([zero; 3], |[code, value, expected], check| {
            let (broken, why, found, limit) = *check;
            let why = i64c(b, why as i64);
            [b.select(broken, why, code), b.select(broken, found, value), b.select(broken, limit, expected)]
        });
        let failed = b.cmpi("ne", failure[0], zero);
        let length = b.select(failed, b.c32(0), narrow(b, b.subi(end, start)));
        (Sequence { start: narrow(b, start), length }, failed, failure)
    }

    /// The rows of tiles that all sequences have, of tiles of `rows` rows, counted by a whole warp: an i32, the same in all lanes. It is 0 where any offset is wrong, which is recorded
    /// where `reports` (an i1).
    pub fn row_tiles<'c>(&self, b: Builder<'c>, args: &[Val<'c>], rows: i64, reports: Val<'c>) -> Val<'c> {
        let lane = b.and(b.sreg("tid.x"), b.c32(31));
        let state = b.for_(lane, self.count(b, args), b.c32(32), &[b.c32(0); 2], |b, number, state| {
            let (own, failed, failure) = self.examined(b, args, number, self.offsets(b, args, number));
            b.when(b.and(failed, reports), |b| self.record(b, args, failure));
            let wrong = b.select(failed, b.c32(1), state[1]);
            vec![b.addi(state[0], b.ceil_div_c(own.length, rows)), wrong]
        });
        let (mut sum, mut wrong) = (state[0], state[1]);
        for mask in [16, 8, 4, 2, 1] {
            sum = b.addi(sum, b.shuffle_xor(sum, mask));
            wrong = b.or(wrong, b.shuffle_xor(wrong, mask));
        }
        b.uniform(b.select(b.cmpi("ne", wrong, b.c32(0)), b.c32(0), sum))
    }

    /// Offset `number` (an i32), as the operand has it.
    fn offset<'c>(&self, b: Builder<'c>, args: &[Val<'c>], number: Val<'c>) -> Val<'c> {
        let bytes = if self.wide { 8 } else { 4 };
        let address = memory::offset(b, args[self.offsets], b.muli(b.wide(number), i64c(b, bytes)));
        memory::load(b, address, b.context().int_type(8 * bytes as u32))
    }

    /// An offset as an i64.
    fn long<'c>(&self, b: Builder<'c>, offset: Val<'c>) -> Val<'c> {
        if self.wide { offset } else { b.wide(offset) }
    }

    /// How many sequences there are, an i32.
    pub fn count<'c>(&self, b: Builder<'c>, args: &[Val<'c>]) -> Val<'c> {
        self.count.i32(b, args)
    }

    /// Records what is wrong with any of the offsets; thread `thread` of `threads` looks at its share of them.
    pub fn check<'c>(&self, b: Builder<'c>, args: &[Val<'c>], thread: Val<'c>, threads: i64) {
        let count = self.count(b, args);
        b.for_(thread, count, b.c32(threads), &[], |b, number, _| {
            self.at(b, args, number, true);
            vec![]
        });
        // Without sequences there must not be rows.
        let (zero, total) = (i64c(b, 0), self.total.i64(b, args));
        let none = b.and(b.cmpi("eq", count, b.c32(0)), b.cmpi("eq", thread, b.c32(0)));
        b.when(b.and(none, b.cmpi("ne", total, zero)), |b| {
            self.record(b, args, [i64c(b, FailCode::NotEqual as i64), zero, total]);
        });
    }

    /// The first place of sequence `number`, of tiles of `rows` rows: an i32. Offsets that are wrong give any place.
    pub fn first_place<'c>(&self, b: Builder<'c>, args: &[Val<'c>], number: Val<'c>, rows: i64) -> Val<'c> {
        let start = b.maxsi(self.long(b, self.offset(b, args, number)), i64c(b, 0));
        let start = narrow(b, b.minsi(start, self.total.i64(b, args)));
        b.addi(b.div_c(start, rows), number)
    }

    /// The sequence that place `place` is of, if it is anybody's: one of those that there are, or 0.
    pub fn find<'c>(&self, b: Builder<'c>, args: &[Val<'c>], place: Val<'c>, rows: i64) -> Val<'c> {
        let types = [b.context().int_type(32); 2];
        // The sequence is in low..high.
        let before = b.region(&types, |b, at| {
            let several = b.cmpi("sgt", b.subi(at[1], at[0]), b.c32(1));
            b.op("scf.condition", &[several, at[0], at[1]], &[], &[], vec![]);
        });
        let after = b.region(&types, |b, at| {
            let middle = b.shr_c(b.addi(at[0], at[1]), 1);
            let later = b.cmpi("sge", place, self.first_place(b, args, middle, rows));
            let next = [b.select(later, middle, at[0]), b.select(later, at[1], middle)];
            b.op("scf.yield", &next, &[], &[], vec![]);
        });
        let from = [b.c32(0), self.count(b, args)];
        results_of(b.op("scf.while", &from, &types, &[], vec![before, after]))[0]
    }
}

fn narrow<'c>(b: Builder<'c>, value: Val<'c>) -> Val<'c> {
    b.op1("arith.trunci", &[value], b.context().int_type(32), &[])
}
