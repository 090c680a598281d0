//! Intervals of integers, for what is known about a symbolic value.

use crate::Function;

/// All integers from `lo` to `hi`; an absent bound is infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) lo: Option<i128>,
    pub(crate) hi: Option<i128>,
}

impl Range {
    pub(crate) const ANY: Range = Range { lo: None, hi: None };

    pub(crate) fn new(lo: Option<i64>, hi: Option<i64>) -> Range {
        Range { lo: lo.map(i128::from), hi: hi.map(i128::from) }
    }

    pub(crate) fn point(value: i64) -> Range {
        Range::new(Some(value), Some(value))
    }

    pub(crate) fn map(self, f: impl Fn(i128) -> i128) -> Range {
        Range { lo: self.lo.map(&f), hi: self.hi.map(&f) }
    }

    pub(crate) fn add(self, other: Range) -> Range {
        let sum = |a: Option<i128>, b: Option<i128>| a?.checked_add(b?);
        Range { lo: sum(self.lo, other.lo), hi: sum(self.hi, other.hi) }
    }

    pub(crate) fn mul(self, other: Range) -> Range {
        let negated = |r: Range| Range { lo: r.hi.and_then(i128::checked_neg), hi: r.lo.and_then(i128::checked_neg) };
        match (self.sign(), other.sign()) {
            (Some(true), Some(true)) => self.mul_positive(other),
            (Some(false), Some(true)) => negated(negated(self).mul_positive(other)),
            (Some(true), Some(false)) => negated(self.mul_positive(negated(other))),
            (Some(false), Some(false)) => negated(self).mul_positive(negated(other)),
            _ => self.mul_finite(other),
        }
    }

    /// Whether it is known not to be negative (`true`) or not to be positive (`false`).
    fn sign(self) -> Option<bool> {
        match (self.lo, self.hi) {
            (Some(lo), _) if lo >= 0 => Some(true),
            (_, Some(hi)) if hi <= 0 => Some(false),
            _ => None,
        }
    }

    fn mul_positive(self, other: Range) -> Range {
        let product = |a: Option<i128>, b: Option<i128>| a?.checked_mul(b?);
        let zero = self.hi == Some(0) || other.hi == Some(0);
        let hi = if zero { Some(0) } else { product(self.hi, other.hi) };
        Range { lo: product(self.lo, other.lo), hi }
    }

    fn mul_finite(self, other: Range) -> Range {
        let corners = |a: Range, b: Range| {
            let pairs = [(a.lo?, b.lo?), (a.lo?, b.hi?), (a.hi?, b.lo?), (a.hi?, b.hi?)];
            let products: Option<Vec<i128>> = pairs.iter().map(|(x, y)| x.checked_mul(*y)).collect();
            let products = products?;
            Some(Range { lo: products.iter().min().copied(), hi: products.iter().max().copied() })
        };
        corners(self, other).unwrap_or(Range::ANY)
    }

    pub(crate) fn apply(self, function: Function, other: Range) -> Range {
        match function {
            Function::Min => Range {
                lo: self.lo.zip(other.lo).map(|(a, b)| a.min(b)),
                hi: [self.hi, other.hi].into_iter().flatten().min(),
            },
            Function::Max => Range {
                lo: [self.lo, other.lo].into_iter().flatten().max(),
                hi: self.hi.zip(other.hi).map(|(a, b)| a.max(b)),
            },
            Function::Mod => match other.lo {
                Some(lo) if lo > 0 => Range { lo: Some(0), hi: other.hi.map(|hi| hi - 1) },
                _ => Range::ANY,
            },
            Function::FloorDiv | Function::CeilDiv => self.div(other, function == Function::CeilDiv),
        }
    }

    /// The quotient by a positive divisor; for a divisor that is no point only the sign is kept.
    fn div(self, other: Range, ceil: bool) -> Range {
        match (other.lo, other.hi) {
            (Some(b), Some(hi)) if b == hi && b > 0 => {
                self.map(|a| a.div_euclid(b) + i128::from(ceil && a.rem_euclid(b) != 0))
            }
            (Some(lo), _) if lo > 0 && self.lo.is_some_and(|a| a >= 0) => {
                let least = if ceil && self.lo.is_some_and(|a| a > 0) { 1 } else { 0 };
                Range { lo: Some(least), hi: self.hi }
            }
            _ => Range::ANY,
        }
    }
}
