//! Short forms for kernels that are mostly index and float arithmetic.

use super::{Kernel, broadcast::elements, scalar::resize_float};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};
use melior::ir::Type;

/// Arithmetic with constants, and loops that fold values.
pub trait Ext<'c>: Sized {
    /// x + n
    fn plus(self, x: Val<'c>, n: i64) -> Val<'c>;
    /// x * n
    fn times(self, x: Val<'c>, n: i64) -> Val<'c>;
    /// min(max(x, lo), hi)
    fn clamp(self, x: Val<'c>, lo: Val<'c>, hi: Val<'c>) -> Val<'c>;
    /// Both.
    fn and(self, x: Val<'c>, y: Val<'c>) -> Val<'c>;
    /// Either.
    fn or(self, x: Val<'c>, y: Val<'c>) -> Val<'c>;
    /// An index as a float.
    fn to_float(self, x: Val<'c>, to: Type<'c>) -> Val<'c>;
    /// A float that holds an integer as an index.
    fn to_index(self, x: Val<'c>) -> Val<'c>;
    /// `for i in lo..hi`
    fn each(self, lo: Val<'c>, hi: Val<'c>, body: impl FnOnce(Builder<'c>, Val<'c>));
    /// Folds values over `0..n`.
    fn folded(
        self,
        n: Val<'c>,
        init: &[Val<'c>],
        body: impl FnOnce(Builder<'c>, Val<'c>, &[Val<'c>]) -> Vec<Val<'c>>,
    ) -> Vec<Val<'c>>;
    /// Repeats while the condition holds: `step` gives the condition and the next values; those of the last step are the result.
    fn repeat(
        self,
        init: &[Val<'c>],
        step: impl FnOnce(Builder<'c>, &[Val<'c>]) -> (Val<'c>, Vec<Val<'c>>),
    ) -> Vec<Val<'c>>;
}

impl<'c> Ext<'c> for Builder<'c> {
    fn plus(self, x: Val<'c>, n: i64) -> Val<'c> {
        self.addi(x, self.index(n))
    }
    fn times(self, x: Val<'c>, n: i64) -> Val<'c> {
        self.muli(x, self.index(n))
    }
    fn clamp(self, x: Val<'c>, lo: Val<'c>, hi: Val<'c>) -> Val<'c> {
        self.minsi(self.maxsi(x, lo), hi)
    }
    fn and(self, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        self.binary("arith.andi", x, y)
    }
    fn or(self, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        self.binary("arith.ori", x, y)
    }
    fn to_float(self, x: Val<'c>, to: Type<'c>) -> Val<'c> {
        let wide = self.op1("arith.sitofp", &[self.index_cast(x, self.context().int_type(64))], to, &[]);
        resize_float(self, wide, to)
    }
    fn to_index(self, x: Val<'c>) -> Val<'c> {
        let int = super::scalar::clamped_int(self, x, self.context().int_type(64), false);
        self.index_cast(int, self.context().index_type())
    }
    fn each(self, lo: Val<'c>, hi: Val<'c>, body: impl FnOnce(Builder<'c>, Val<'c>)) {
        self.for_(lo, hi, self.index(1), &[], |b, i, _| {
            body(b, i);
            vec![]
        });
    }
    fn folded(
        self,
        n: Val<'c>,
        init: &[Val<'c>],
        body: impl FnOnce(Builder<'c>, Val<'c>, &[Val<'c>]) -> Vec<Val<'c>>,
    ) -> Vec<Val<'c>> {
        self.for_(self.index(0), n, self.index(1), init, body)
    }
    fn repeat(
        self,
        init: &[Val<'c>],
        step: impl FnOnce(Builder<'c>, &[Val<'c>]) -> (Val<'c>, Vec<Val<'c>>),
    ) -> Vec<Val<'c>> {
        use melior::ir::ValueLike;
        let types: Vec<_> = init.iter().map(|v| v.r#type()).collect();
        let before = self.region(&types, |b, args| {
            let (condition, next) = step(b, args);
            let operands: Vec<_> = std::iter::once(condition).chain(next).collect();
            b.op("scf.condition", &operands, &[], &[], vec![]);
        });
        let after = self.region(&types, |b, args| {
            b.op("scf.yield", args, &[], &[], vec![]);
        });
        aitmlir_dialects::builder::results_of(self.op("scf.while", init, &types, &[], vec![before, after]))
    }
}

/// A parallel range of one: for kernels that run on one thread.
pub fn single<'c>(k: &Kernel<'c>) -> Val<'c> {
    let one = k.b.index(1);
    // Nothing is to be done for an empty result, and the range must then be empty, too.
    k.b.minsi(elements(k), one)
}

/// A parallel range of one, run even where the result is empty.
pub fn always<'c>(k: &Kernel<'c>) -> Val<'c> {
    k.b.index(1)
}

/// An attribute that counts or names an axis.
pub fn number(k: &Kernel<'_>, name: &str) -> usize {
    k.op.i64(name).and_then(|a| usize::try_from(a).ok()).unwrap_or(0)
}
