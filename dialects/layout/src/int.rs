//! Integers that are static numbers, anonymous dynamic values or symbolic expressions.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::poly::{Atom, Poly, gcd, overflow};
use crate::range::Range;
use crate::{Cause, Facts, Function, Result, Swizzle, Symbol};

/// An integer of a shape, a stride, a coordinate or an offset.
///
/// `==` compares structure: two `?` with the same facts are `==`, though they may be different
/// numbers. Ask [`Int::known_eq`] whether the numbers are the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Int {
    /// A number.
    Static(i64),
    /// `?`: a dynamic value without a name. It is never known to equal anything.
    Unknown(Facts),
    /// An expression of named symbols.
    Symbolic(Symbolic),
}

/// An expression of named symbols in normal form: equal expressions are equal values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Symbolic(pub(crate) Arc<Poly>);

impl From<i64> for Int {
    fn from(value: i64) -> Int {
        Int::Static(value)
    }
}

impl From<Symbol> for Int {
    fn from(symbol: Symbol) -> Int {
        Poly::symbol(symbol).into()
    }
}

impl From<Poly> for Int {
    fn from(poly: Poly) -> Int {
        match poly.as_constant() {
            Some(value) => Int::Static(value),
            None => Int::Symbolic(Symbolic(Arc::new(poly))),
        }
    }
}

impl Int {
    /// Zero.
    pub const ZERO: Int = Int::Static(0);
    /// One.
    pub const ONE: Int = Int::Static(1);
    /// `?`, of which nothing is known.
    pub const UNKNOWN: Int = Int::Unknown(Facts::NONE);

    /// A named dynamic integer.
    pub fn symbol(name: &str, facts: Facts) -> Result<Int> {
        Symbol::new(name, facts).map(Int::from)
    }

    /// The number, if it is static.
    pub fn as_static(&self) -> Option<i64> {
        match self {
            Int::Static(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn need_static(&self, op: &'static str) -> Result<i64> {
        self.as_static().ok_or_else(|| Cause::Dynamic { value: self.clone() }.of(op))
    }

    /// Whether it is this static number.
    pub fn is(&self, value: i64) -> bool {
        self.as_static() == Some(value)
    }

    /// Whether it can never be known to equal another value: a `?`, or an expression of traced symbols.
    pub fn is_anonymous(&self) -> bool {
        match self {
            Int::Static(_) => false,
            Int::Unknown(_) => true,
            Int::Symbolic(_) => self.fold_symbols(false, &|seen, s| seen || s.is_traced()),
        }
    }

    /// Whether it is anonymous and without facts, so that conditions on it are assumed to hold.
    pub fn is_assumed(&self) -> bool {
        match self {
            Int::Static(_) => false,
            Int::Unknown(facts) => facts.is_bare(),
            Int::Symbolic(_) => self.fold_symbols(false, &|seen, s| seen || (s.is_traced() && s.facts().is_bare())),
        }
    }

    /// What is known about it: 0 as the divisor of zero.
    pub fn facts(&self) -> Facts {
        match self {
            Int::Static(value) => Facts { div: gcd(*value, 0), min: Some(*value), max: Some(*value), wide: false },
            Int::Unknown(facts) => *facts,
            Int::Symbolic(Symbolic(poly)) => {
                let wide = self.fold_symbols(false, &|wide, s| wide || s.facts().wide);
                if self.is_assumed() {
                    return Facts { wide, ..Facts::NONE };
                }
                let Range { lo, hi } = poly.range();
                let bound = |b: Option<i128>| b.and_then(|b| i64::try_from(b).ok());
                Facts { div: poly.content(), min: bound(lo), max: bound(hi), wide }
            }
        }
    }

    pub(crate) fn range(&self) -> Range {
        let Facts { min, max, .. } = self.facts();
        Range::new(min, max)
    }

    pub(crate) fn fold_symbols<T>(&self, start: T, f: &dyn Fn(T, &Symbol) -> T) -> T {
        match self {
            Int::Symbolic(Symbolic(poly)) => poly.fold_symbols(start, f),
            _ => start,
        }
    }

    /// Every symbol in it, in order of appearance.
    pub fn symbols(&self) -> Vec<Symbol> {
        self.fold_symbols(Vec::new(), &|mut seen, s| {
            if !seen.contains(s) {
                seen.push(s.clone());
            }
            seen
        })
    }

    /// The number for given values of the symbols. Fails on a `?`, a symbol without a value, a value
    /// that breaks its symbol's divisibility, an overflow or a division by zero.
    pub fn eval(&self, value_of: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i64> {
        match self {
            Int::Static(value) => Ok(*value),
            Int::Unknown(_) => self.need_static("evaluation"),
            Int::Symbolic(Symbolic(poly)) => poly.eval(value_of),
        }
    }

    /// The same value with names forgotten: a static number, or `?` with what is known.
    pub fn anonymous(&self) -> Int {
        match self {
            Int::Symbolic(_) => Int::Unknown(self.facts()),
            _ => self.clone(),
        }
    }

    fn poly(&self) -> Option<Poly> {
        match self {
            Int::Static(value) => Some(Poly::constant(*value)),
            Int::Unknown(_) => None,
            Int::Symbolic(Symbolic(poly)) => Some(Poly::clone(poly)),
        }
    }

    /// The `?` that an operation gives when an operand is a `?`: bare operands say nothing, so their
    /// results do not either.
    fn unknown(a: &Int, b: &Int, div: i64, range: Range) -> Int {
        let (fa, fb) = (a.facts(), b.facts());
        let wide = fa.wide || fb.wide;
        let bare = |i: &Int, f: Facts| i.as_static().is_some() || f.is_bare();
        if bare(a, fa) && bare(b, fb) {
            return Int::Unknown(Facts { wide, ..Facts::NONE });
        }
        let bound = |b: Option<i128>| b.and_then(|b| i64::try_from(b).ok());
        Int::Unknown(Facts { div: div.max(1), min: bound(range.lo), max: bound(range.hi), wide })
    }

    /// The sum.
    pub fn add(&self, other: &Int) -> Result<Int> {
        self.sum(other, 1)
    }

    /// The difference.
    pub fn sub(&self, other: &Int) -> Result<Int> {
        self.sum(other, -1)
    }

    fn sum(&self, other: &Int, sign: i64) -> Result<Int> {
        if other.is(0) {
            return Ok(self.clone());
        }
        match (self.poly(), other.poly()) {
            (Some(a), Some(b)) => Ok(a.add(&b, sign)?.into()),
            _ => {
                let range = self.range().add(other.range().mul(Range::point(sign)));
                Ok(Int::unknown(self, other, gcd(self.facts().div, other.facts().div), range))
            }
        }
    }

    /// The product.
    pub fn mul(&self, other: &Int) -> Result<Int> {
        match (self, other) {
            (Int::Static(0), _) | (_, Int::Static(0)) => return Ok(Int::ZERO),
            (Int::Static(1), x) | (x, Int::Static(1)) => return Ok(x.clone()),
            (Int::Static(a), Int::Static(b)) => {
                return a.checked_mul(*b).map(Int::Static).ok_or_else(overflow);
            }
            _ => {}
        }
        match (self.poly(), other.poly()) {
            (Some(a), Some(b)) => Ok(a.mul(&b)?.into()),
            _ => {
                let div = self.facts().div.checked_mul(other.facts().div).unwrap_or(1);
                Ok(Int::unknown(self, other, div, self.range().mul(other.range())))
            }
        }
    }

    /// The negated value.
    pub fn neg(&self) -> Result<Int> {
        Int::ZERO.sub(self)
    }

    /// The absolute value.
    pub fn abs(&self) -> Result<Int> {
        match self.known_cmp(&Int::ZERO) {
            Some(Ordering::Less) => self.neg(),
            Some(_) => Ok(self.clone()),
            None if self.poly().is_none() => Ok(self.clone()),
            None => self.max(&self.neg()?),
        }
    }

    /// The quotient rounded to minus infinity.
    pub fn floor_div(&self, other: &Int) -> Result<Int> {
        self.apply(Function::FloorDiv, other)
    }

    /// The quotient rounded to plus infinity.
    pub fn ceil_div(&self, other: &Int) -> Result<Int> {
        self.apply(Function::CeilDiv, other)
    }

    /// The remainder of [`Int::floor_div`].
    pub fn rem(&self, other: &Int) -> Result<Int> {
        self.apply(Function::Mod, other)
    }

    /// The smaller value.
    pub fn min(&self, other: &Int) -> Result<Int> {
        self.apply(Function::Min, other)
    }

    /// The larger value.
    pub fn max(&self, other: &Int) -> Result<Int> {
        self.apply(Function::Max, other)
    }

    /// The quotient if the divisor is known to divide; a symbolic divisor is taken not to be zero.
    pub fn exact_div(&self, other: &Int) -> Option<Int> {
        match (self, other) {
            (_, Int::Static(0)) => None,
            (_, Int::Static(1)) => Some(self.clone()),
            (Int::Unknown(facts), Int::Static(by)) if facts.div.checked_rem(*by) == Some(0) => {
                let bound = |b: Option<i64>| b.and_then(|b| b.checked_div(*by));
                let (min, max) = (bound(facts.min), bound(facts.max));
                let (min, max) = if *by < 0 { (max, min) } else { (min, max) };
                let div = gcd(facts.div.checked_div(*by)?, 0);
                Some(Int::Unknown(Facts { div, min, max, ..*facts }))
            }
            _ if self.is_assumed() || other.is_assumed() => None,
            _ => self.poly()?.exact_div(&other.poly()?).map(Int::from),
        }
    }

    /// Applies a function that is no polynomial.
    pub fn apply(&self, function: Function, other: &Int) -> Result<Int> {
        if let (Some(a), Some(b)) = (self.as_static(), other.as_static()) {
            let cause = if b == 0 { Cause::DivisionByZero } else { Cause::Overflow };
            return function.apply(a, b).map(Int::Static).ok_or_else(|| cause.of("arithmetic"));
        }
        match function {
            Function::Min | Function::Max => self.select(function, other),
            Function::FloorDiv | Function::CeilDiv | Function::Mod => self.divide(function, other),
        }
    }

    fn select(&self, function: Function, other: &Int) -> Result<Int> {
        let smaller_is_self = match self.known_cmp(other) {
            Some(order) => order != Ordering::Greater,
            None if self.poly().is_none() || other.poly().is_none() => {
                let range = self.range().apply(function, other.range());
                return Ok(Int::unknown(self, other, gcd(self.facts().div, other.facts().div), range));
            }
            None => return self.reduced(function, other),
        };
        Ok(if smaller_is_self == (function == Function::Min) { self.clone() } else { other.clone() })
    }

    fn divide(&self, function: Function, other: &Int) -> Result<Int> {
        if other.is(0) {
            return Err(Cause::DivisionByZero.of("arithmetic"));
        }
        if self.is(0) {
            return Ok(Int::ZERO);
        }
        if let Some(quotient) = self.exact_div(other) {
            return Ok(if function == Function::Mod { Int::ZERO } else { quotient });
        }
        let (Some(a), Some(_)) = (self.poly(), other.poly()) else {
            return Ok(Int::unknown(self, other, 1, self.range().apply(function, other.range())));
        };
        if self.is_assumed() || other.is_assumed() {
            return Ok(Int::opaque(function, self, other));
        }
        if self.known_cmp(&Int::ZERO).is_some_and(Ordering::is_ge) && self.known_cmp(other) == Some(Ordering::Less) {
            match function {
                Function::Mod => return Ok(self.clone()),
                Function::FloorDiv => return Ok(Int::ZERO),
                _ => {}
            }
        }
        let Some(by) = other.as_static() else {
            return self.reduced(function, other);
        };
        let (quotient, rest) = a.split(by);
        let rest = Int::from(rest);
        if quotient.as_constant() == Some(0) {
            return rest.reduced(function, other);
        }
        let rest = rest.apply(function, other)?;
        if function == Function::Mod { Ok(rest) } else { Int::from(quotient).add(&rest) }
    }

    /// The function as an atom, with the common divisor of its arguments taken out.
    fn reduced(&self, function: Function, other: &Int) -> Result<Int> {
        if self.is_assumed() || other.is_assumed() {
            return Ok(Int::opaque(function, self, other));
        }
        let (Some(a), Some(b)) = (self.poly(), other.poly()) else {
            return Ok(Int::unknown(self, other, 1, Range::ANY));
        };
        let common = gcd(a.content(), b.content()).max(1);
        let atom = Int::opaque(function, &a.shrink(common).into(), &b.shrink(common).into());
        match function {
            Function::FloorDiv | Function::CeilDiv => Ok(atom),
            _ => atom.mul(&Int::Static(common)),
        }
    }

    fn opaque(function: Function, a: &Int, b: &Int) -> Int {
        Poly::atom(Atom::Apply(function, Arc::new((a.clone(), b.clone())))).into()
    }

    pub(crate) fn swizzled(&self, swizzle: Swizzle) -> Int {
        match self {
            Int::Static(value) => Int::Static(swizzle.apply(*value)),
            Int::Unknown(facts) => Int::Unknown(Facts { wide: facts.wide, ..Facts::NONE }),
            Int::Symbolic(_) if swizzle.is_identity() => self.clone(),
            Int::Symbolic(_) => {
                // Whole patterns pass by: only what is within one goes through the swizzle.
                let (whole, within) = self.by_pattern(swizzle);
                let within = match within.as_static() {
                    Some(value) => Int::Static(swizzle.apply(value)),
                    None => Poly::atom(Atom::Swizzled(swizzle, Arc::new(within))).into(),
                };
                // A sum that overflows is one that the swizzle of all of it says as well.
                let opaque = || Poly::atom(Atom::Swizzled(swizzle, Arc::new(self.clone()))).into();
                whole.add(&within).unwrap_or_else(|_| opaque())
            }
        }
    }

    /// The terms that are multiples of a swizzle's pattern, which it moves as they are, and the others.
    ///
    /// ```
    /// # use cute_layout::{Facts, Int};
    /// let (stage, row) = (Int::symbol("stage", Facts::div(512))?, Int::symbol("row", Facts::div(64))?);
    /// assert_eq!(stage.add(&row)?.by_pattern("S<3,3,3>".parse()?), (stage, row));
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn by_pattern(&self, swizzle: Swizzle) -> (Int, Int) {
        match self.poly() {
            Some(poly) => {
                let (quotient, within) = poly.split(swizzle.pattern());
                match Int::from(quotient).mul(&Int::Static(swizzle.pattern())) {
                    Ok(whole) => (whole, within.into()),
                    Err(_) => (Int::ZERO, self.clone()),
                }
            }
            None => (Int::ZERO, self.clone()),
        }
    }

    /// An order of expressions for the normal form, which says nothing about their values. `Int` is
    /// not `Ord` so that nobody takes it for the order of the values.
    pub(crate) fn structural_cmp(&self, other: &Int) -> Ordering {
        let (a, b) = match (self, other) {
            (Int::Static(a), Int::Static(b)) => return a.cmp(b),
            (Int::Unknown(a), Int::Unknown(b)) => return a.cmp(b),
            (Int::Symbolic(a), Int::Symbolic(b)) => return a.0.cmp(&b.0),
            (a, b) => (a, b),
        };
        let kind = |i: &Int| match i {
            Int::Static(_) => 0,
            Int::Unknown(_) => 1,
            Int::Symbolic(_) => 2,
        };
        kind(a).cmp(&kind(b))
    }

    /// How the two values compare, if that is known.
    pub fn known_cmp(&self, other: &Int) -> Option<Ordering> {
        let range = match (self.is_anonymous() || other.is_anonymous(), self.poly(), other.poly()) {
            (false, Some(a), Some(b)) => a.add(&b, -1).ok()?.range(),
            _ => self.range().add(other.range().mul(Range::point(-1))),
        };
        match (range.lo, range.hi) {
            (Some(0), Some(0)) => Some(Ordering::Equal),
            (Some(lo), _) if lo > 0 => Some(Ordering::Greater),
            (_, Some(hi)) if hi < 0 => Some(Ordering::Less),
            _ => None,
        }
    }

    /// Whether the two values are the same, if that is known.
    pub fn known_eq(&self, other: &Int) -> Option<bool> {
        if !self.is_anonymous() && self == other {
            return Some(true);
        }
        self.known_cmp(other).map(Ordering::is_eq)
    }

    /// Whether it divides `other`, if that is known.
    pub fn divides(&self, other: &Int) -> Option<bool> {
        if let (Some(by), Some(value)) = (self.as_static(), other.as_static()) {
            return Some(value.checked_rem(by).is_some_and(|r| r == 0));
        }
        if other.is(0) || other.exact_div(self).is_some() {
            return Some(true);
        }
        let (Some(by), Some(poly), false) = (self.as_static(), other.poly(), other.is_assumed()) else {
            return None;
        };
        let rest = poly.split(by).1.as_constant()?;
        Some(rest == 0)
    }

    /// Whether `self <= other` for two positive values, if that is known: a divisor is not larger.
    pub(crate) fn size_le(&self, other: &Int) -> Option<bool> {
        match self.known_cmp(other) {
            Some(order) => Some(order.is_le()),
            None if self.divides(other) == Some(true) => Some(true),
            None if other.divides(self) == Some(true) => Some(self == other),
            None => None,
        }
    }

    /// The smaller of two positive values.
    pub(crate) fn size_min(&self, other: &Int) -> Result<Int> {
        match (self.size_le(other), other.size_le(self)) {
            (Some(true), _) => Ok(self.clone()),
            (_, Some(true)) => Ok(other.clone()),
            _ => self.min(other),
        }
    }

    /// [`Int::ceil_div`] of two positive values.
    pub(crate) fn size_ceil_div(&self, other: &Int) -> Result<Int> {
        match self.divides(other) {
            Some(true) if !self.is(0) => Ok(Int::ONE),
            _ => self.ceil_div(other),
        }
    }
}
