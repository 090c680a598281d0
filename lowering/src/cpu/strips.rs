//! Reductions over an axis that is not the innermost: a strip of neighbouring columns is carried in a small array, so that the innermost
//! loop runs along contiguous memory and vectorises.

use super::{Kernel, runtime::local};
use aitmlir_dialects::{builder::Builder, types::Val};
use melior::ir::Type;

/// Columns in a strip: the arrays stay in the first-level cache.
const COLUMNS: i64 = 256;

/// Loops over strips of the columns [c0, c1). `body` gets the first column of a strip and how many it has.
pub fn strips<'c>(b: Builder<'c>, (c0, c1): (Val<'c>, Val<'c>), body: impl FnOnce(Builder<'c>, Val<'c>, Val<'c>)) {
    let step = b.index(COLUMNS);
    b.for_(c0, c1, step, &[], |b, start, _| {
        let length = b.minsi(step, b.subi(c1, start));
        body(b, start, length);
        vec![]
    });
}

/// Values carried for the columns of a strip.
#[derive(Clone, Copy)]
pub struct Columns<'c>(Val<'c>);

impl<'c> Columns<'c> {
    /// Room on the kernel's stack.
    pub fn new(k: &Kernel<'c>, element: Type<'c>) -> Self {
        Self(local(k, element, COLUMNS))
    }

    /// The value of column `j` of the strip.
    pub fn get(self, b: Builder<'c>, j: Val<'c>) -> Val<'c> {
        b.load(self.0, &[j])
    }

    /// Sets it.
    pub fn set(self, b: Builder<'c>, j: Val<'c>, value: Val<'c>) {
        b.store(value, self.0, &[j]);
    }
}
