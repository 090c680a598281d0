//! The normal form of symbolic integers: polynomials with integer coefficients.
//!
//! A symbol that is known to be a multiple of `d` enters as `d` times its unit, so the divisibility
//! of any expression is the greatest common divisor of its coefficients, and dividing by a known
//! divisor is exact. What is no polynomial (a rounding division, a remainder, a minimum) is an atom.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::range::Range;
use crate::{Cause, Facts, Int, Result, Swizzle, Symbol};

/// More terms than any sensible index expression has.
const MAX_TERMS: usize = 256;

/// A sum of products of atoms, each with a coefficient that is not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Poly(pub(crate) BTreeMap<Vec<Atom>, i64>);

/// A factor of a term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Atom {
    /// The symbol divided by its known divisor.
    Unit(Symbol),
    /// A function that does not distribute over sums.
    Apply(Function, Arc<(Int, Int)>),
    /// A swizzle of an offset.
    Swizzled(Swizzle, Arc<Int>),
}

impl Ord for Atom {
    fn cmp(&self, other: &Atom) -> Ordering {
        match (self, other) {
            (Atom::Unit(a), Atom::Unit(b)) => a.cmp(b),
            (Atom::Apply(f, a), Atom::Apply(g, b)) => {
                let first = f.cmp(g).then_with(|| a.0.structural_cmp(&b.0));
                first.then_with(|| a.1.structural_cmp(&b.1))
            }
            (Atom::Swizzled(s, a), Atom::Swizzled(t, b)) => s.cmp(t).then_with(|| a.structural_cmp(b)),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

impl PartialOrd for Atom {
    fn partial_cmp(&self, other: &Atom) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Functions of two integers that are no polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Function {
    /// The quotient rounded to minus infinity.
    FloorDiv,
    /// The quotient rounded to plus infinity.
    CeilDiv,
    /// The remainder that goes with [`Function::FloorDiv`].
    Mod,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
}

impl Function {
    /// The value for two numbers, `None` for a zero divisor or an overflow.
    pub fn apply(self, a: i64, b: i64) -> Option<i64> {
        let floor = |a: i64, b: i64| {
            let q = a.checked_div(b)?;
            Some(if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q })
        };
        match self {
            Function::FloorDiv => floor(a, b),
            Function::CeilDiv => {
                floor(a, b).and_then(|q| if q.checked_mul(b)? == a { Some(q) } else { q.checked_add(1) })
            }
            Function::Mod => floor(a, b).and_then(|q| a.checked_sub(q.checked_mul(b)?)),
            Function::Min => Some(a.min(b)),
            Function::Max => Some(a.max(b)),
        }
    }
}

impl Poly {
    pub(crate) fn constant(value: i64) -> Poly {
        Poly::default().with(Vec::new(), value)
    }

    pub(crate) fn atom(atom: Atom) -> Poly {
        Poly::default().with(vec![atom], 1)
    }

    pub(crate) fn symbol(symbol: Symbol) -> Poly {
        let div = symbol.facts().div;
        Poly::default().with(vec![Atom::Unit(symbol)], div)
    }

    fn with(mut self, atoms: Vec<Atom>, coefficient: i64) -> Poly {
        if coefficient != 0 {
            self.0.insert(atoms, coefficient);
        }
        self
    }

    pub(crate) fn as_constant(&self) -> Option<i64> {
        let mut terms = self.0.iter();
        match (terms.next(), terms.next()) {
            (None, _) => Some(0),
            (Some((atoms, &value)), None) if atoms.is_empty() => Some(value),
            _ => None,
        }
    }

    pub(crate) fn add(&self, other: &Poly, sign: i64) -> Result<Poly> {
        let mut sum = self.clone();
        for (atoms, &coefficient) in &other.0 {
            let term = coefficient.checked_mul(sign).ok_or_else(overflow)?;
            sum.accumulate(atoms.clone(), term)?;
        }
        sum.limited()
    }

    pub(crate) fn mul(&self, other: &Poly) -> Result<Poly> {
        let mut product = Poly::default();
        for (left, &a) in &self.0 {
            for (right, &b) in &other.0 {
                let mut atoms = [left.as_slice(), right.as_slice()].concat();
                atoms.sort();
                product.accumulate(atoms, a.checked_mul(b).ok_or_else(overflow)?)?;
            }
            product = product.limited()?;
        }
        Ok(product)
    }

    fn accumulate(&mut self, atoms: Vec<Atom>, coefficient: i64) -> Result<()> {
        let sum = self.0.get(&atoms).copied().unwrap_or(0).checked_add(coefficient).ok_or_else(overflow)?;
        if sum == 0 {
            self.0.remove(&atoms);
        } else {
            self.0.insert(atoms, sum);
        }
        Ok(())
    }

    fn limited(self) -> Result<Poly> {
        match self.0.len() > MAX_TERMS {
            true => Err(Cause::TooManyTerms { limit: MAX_TERMS }.of("symbolic arithmetic")),
            false => Ok(self),
        }
    }

    /// The largest number known to divide the value: the gcd of the coefficients, 0 for zero.
    pub(crate) fn content(&self) -> i64 {
        self.0.values().fold(0, |g, &c| gcd(g, c))
    }

    /// Every coefficient divided by a divisor of all of them.
    pub(crate) fn shrink(&self, by: i64) -> Poly {
        Poly(self.0.iter().filter_map(|(atoms, c)| Some((atoms.clone(), c.checked_div(by)?))).collect())
    }

    /// `(q, r)` with `self = by * q + r`, where `q` takes every multiple of `by` in the coefficients.
    pub(crate) fn split(&self, by: i64) -> (Poly, Poly) {
        let (mut quotient, mut rest) = (Poly::default(), Poly::default());
        for (atoms, &c) in &self.0 {
            let q = if atoms.is_empty() {
                Function::FloorDiv.apply(c, by).unwrap_or(0)
            } else {
                c.checked_div(by).unwrap_or(0)
            };
            let q = if atoms.is_empty() || q.wrapping_mul(by) == c { q } else { 0 };
            quotient = quotient.with(atoms.clone(), q);
            rest = rest.with(atoms.clone(), c.wrapping_sub(q.wrapping_mul(by)));
        }
        (quotient, rest)
    }

    /// The quotient, where the divisor divides term by term; a symbolic divisor is taken not to be zero.
    pub(crate) fn exact_div(&self, by: &Poly) -> Option<Poly> {
        if self == by {
            return Some(Poly::constant(1));
        }
        let mut terms = by.0.iter();
        let (Some((divisor, &scale)), None) = (terms.next(), terms.next()) else {
            return self.ratio(by);
        };
        let mut quotient = Poly::default();
        for (atoms, &c) in &self.0 {
            if c.checked_rem(scale)? != 0 {
                return None;
            }
            let mut left = atoms.clone();
            for atom in divisor {
                let found = left.iter().position(|a| a == atom)?;
                left.remove(found);
            }
            quotient.accumulate(left, c.checked_div(scale)?).ok()?;
        }
        Some(quotient)
    }

    /// The number `k` with `self = k * by`, as a polynomial.
    fn ratio(&self, by: &Poly) -> Option<Poly> {
        let (first, second) = (self.0.values().next()?, by.0.values().next()?);
        let k = first.checked_div(*second)?;
        let scaled = by.mul(&Poly::constant(k)).ok()?;
        (scaled == *self).then(|| Poly::constant(k))
    }

    pub(crate) fn range(&self) -> Range {
        let term = |(atoms, &c): (&Vec<Atom>, &i64)| atoms.iter().map(Atom::range).fold(Range::point(c), Range::mul);
        self.0.iter().map(term).fold(Range::point(0), Range::add)
    }

    /// What holds of every symbol in it: 64 bits if one has them, nothing known if one is assumed.
    pub(crate) fn fold_symbols<T>(&self, start: T, f: &dyn Fn(T, &Symbol) -> T) -> T {
        self.0.keys().flatten().fold(start, |acc, atom| atom.fold_symbols(acc, f))
    }

    pub(crate) fn eval(&self, env: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i64> {
        let mut sum = 0i64;
        for (atoms, &c) in &self.0 {
            let mut term = c;
            for atom in atoms {
                term = term.checked_mul(atom.eval(env)?).ok_or_else(overflow)?;
            }
            sum = sum.checked_add(term).ok_or_else(overflow)?;
        }
        Ok(sum)
    }
}

impl Atom {
    fn kind(&self) -> u8 {
        match self {
            Atom::Unit(_) => 0,
            Atom::Apply(..) => 1,
            Atom::Swizzled(..) => 2,
        }
    }

    fn range(&self) -> Range {
        match self {
            Atom::Unit(symbol) => {
                let Facts { div, min, max, .. } = symbol.facts();
                Range::new(min, max).map(|bound| bound.div_euclid(i128::from(div)))
            }
            Atom::Apply(function, args) => args.0.range().apply(*function, args.1.range()),
            Atom::Swizzled(..) => Range::ANY,
        }
    }

    fn fold_symbols<T>(&self, start: T, f: &dyn Fn(T, &Symbol) -> T) -> T {
        match self {
            Atom::Unit(symbol) => f(start, symbol),
            Atom::Apply(_, args) => args.1.fold_symbols(args.0.fold_symbols(start, f), f),
            Atom::Swizzled(_, arg) => arg.fold_symbols(start, f),
        }
    }

    fn eval(&self, env: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i64> {
        match self {
            Atom::Unit(symbol) => {
                let missing = || Cause::Dynamic { value: Int::from(symbol.clone()) }.of("evaluation");
                let value = env(symbol).ok_or_else(missing)?;
                let div = symbol.facts().div;
                let broken = Cause::Indivisible { value: value.into(), by: div.into() };
                if value % div == 0 { Ok(value / div) } else { Err(broken.of("evaluation")) }
            }
            Atom::Apply(function, args) => {
                let value = function.apply(args.0.eval(env)?, args.1.eval(env)?);
                value.ok_or_else(|| Cause::DivisionByZero.of("evaluation"))
            }
            Atom::Swizzled(swizzle, arg) => Ok(swizzle.apply(arg.eval(env)?)),
        }
    }
}

pub(crate) fn overflow() -> crate::Error {
    Cause::Overflow.of("arithmetic")
}

/// The greatest common divisor; 0 only for two zeros.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}
