//! Integer code for dynamic leaves: 32 bits where the ranges say that nothing leaves them, 64 bits elsewhere.

use super::leaves::limits;
use crate::{
    builder::Builder,
    types::{TypeExt, Types, Val},
};
use cute_layout::{Expr, Function, Int, Symbol};
use melior::ir::ValueLike;

/// The SSA values of named leaves.
#[derive(Clone, Default)]
pub struct Scope<'c> {
    values: Vec<(String, Val<'c>)>,
}

impl<'c> Scope<'c> {
    /// Binds a name to an i32 or i64; a later binding of the name wins.
    pub fn bind(&mut self, name: &str, value: Val<'c>) {
        self.values.push((name.to_string(), value));
    }

    fn get(&self, symbol: &Symbol) -> Result<Val<'c>, String> {
        let found = self.values.iter().rev().find(|(name, _)| name == symbol.name());
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("has a leaf named {}, which no value in scope has", symbol.name()))
    }
}

/// What to do where the ranges do not show that a result fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// An error that says what would have to be known.
    Refuse,
    /// Wrap around: the offset of an element from a pointer is right modulo 2^64 whatever its parts are.
    Wrap,
}

/// Numbers from `lo` to `hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    lo: i128,
    hi: i128,
}

impl Span {
    fn of(corners: [i128; 4]) -> Span {
        let (lo, hi) = corners.iter().fold((i128::MAX, i128::MIN), |(lo, hi), c| (lo.min(*c), hi.max(*c)));
        Span { lo, hi }
    }

    fn within(self, wide: bool) -> bool {
        let (lo, hi) = limits(wide);
        self.lo >= lo.into() && self.hi <= hi.into()
    }
}

/// Beyond any 64-bit number, and small enough for sums of products of such.
const FAR: i128 = 1 << 100;

fn clamp(span: Span) -> Span {
    Span { lo: span.lo.clamp(-FAR, FAR), hi: span.hi.clamp(-FAR, FAR) }
}

/// What an expression can be. `widest` collects whether every part of it fits 32 bits, or 64.
fn span(expr: &Expr, fits: &mut [bool; 2]) -> Span {
    let found = clamp(match expr {
        Expr::Number(value) => Span { lo: (*value).into(), hi: (*value).into() },
        Expr::Unknown(facts) => {
            let (lo, hi) = limits(facts.wide);
            Span { lo: facts.min.unwrap_or(lo).into(), hi: facts.max.unwrap_or(hi).into() }
        }
        Expr::Symbol(symbol) => span(&Expr::Unknown(symbol.facts()), fits),
        Expr::Sum(terms) => {
            let mut sum = Span { lo: 0, hi: 0 };
            for term in terms {
                let term = span(term, fits);
                sum = clamp(Span { lo: sum.lo + term.lo, hi: sum.hi + term.hi });
                note(sum, fits);
            }
            sum
        }
        Expr::Product(factors) => {
            let mut product = Span { lo: 1, hi: 1 };
            for factor in factors {
                let (a, b) = (product, span(factor, fits));
                let by = |x: i128, y: i128| x.saturating_mul(y);
                product = clamp(Span::of([by(a.lo, b.lo), by(a.lo, b.hi), by(a.hi, b.lo), by(a.hi, b.hi)]));
                note(product, fits);
            }
            product
        }
        Expr::Quotient(value, by) => {
            let (a, by) = (span(value, fits), i128::from(*by));
            Span::of([a.lo / by, a.hi / by, a.lo / by, a.hi / by])
        }
        Expr::Apply(function, args) => apply(*function, span(&args[0], fits), span(&args[1], fits)),
        Expr::Swizzled(_, value) => {
            let a = span(value, fits);
            let ones = |hi: i128| (hi + 1).max(1).checked_next_power_of_two_i128() - 1;
            if a.lo >= 0 { Span { lo: 0, hi: ones(a.hi) } } else { Span { lo: -FAR, hi: FAR } }
        }
    });
    note(found, fits);
    found
}

trait NextPower {
    fn checked_next_power_of_two_i128(self) -> i128;
}

impl NextPower for i128 {
    fn checked_next_power_of_two_i128(self) -> i128 {
        let power = u128::try_from(self).ok().and_then(u128::checked_next_power_of_two);
        power.and_then(|p| i128::try_from(p).ok()).unwrap_or(FAR)
    }
}

fn note(span: Span, fits: &mut [bool; 2]) {
    fits[0] &= span.within(false);
    fits[1] &= span.within(true);
}

fn apply(function: Function, a: Span, b: Span) -> Span {
    match function {
        Function::Min => Span { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) },
        Function::Max => Span { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) },
        Function::Mod if b.lo > 0 => Span { lo: 0, hi: if a.lo >= 0 { a.hi.min(b.hi - 1) } else { b.hi - 1 } },
        Function::Mod => Span { lo: -FAR, hi: FAR },
        Function::FloorDiv | Function::CeilDiv => {
            let far = a.lo.abs().max(a.hi.abs());
            if b.lo > 0 {
                let up = i128::from(function == Function::CeilDiv);
                Span { lo: if a.lo >= 0 { 0 } else { a.lo }, hi: if a.hi >= 0 { a.hi / b.lo + up } else { 0 } }
            } else {
                Span { lo: -far, hi: far }
            }
        }
    }
}

/// Emits the value of a leaf as an integer of 32 or 64 bits.
pub fn emit<'c>(
    b: Builder<'c>,
    int: &Int,
    bits: u32,
    scope: &Scope<'c>,
    overflow: Overflow,
) -> Result<Val<'c>, String> {
    let expr = int.expr();
    let mut fits = [true; 2];
    let range = span(&expr, &mut fits);
    if overflow == Overflow::Refuse && !(fits[1] && range.within(bits == 64)) {
        let of = if bits == 64 || !fits[1] { 64 } else { 32 };
        return Err(format!(
            "may overflow: the leaf {int} is {} to {}, beyond {of} bits; state max= where its parts enter, as in {{min=0,max=4096}}{}",
            bound(range.lo),
            bound(range.hi),
            if of == 32 { ", or make it 64 bits wide, {i64}" } else { "" }
        ));
    }
    let width = if fits[0] { 32 } else { 64 };
    let value = Emitter { b, scope, width }.value(&expr)?;
    Ok(resize(b, value, bits))
}

fn bound(value: i128) -> String {
    if value.abs() >= FAR { "unbounded".into() } else { value.to_string() }
}

/// The same signed number with another width.
pub fn resize<'c>(b: Builder<'c>, value: Val<'c>, bits: u32) -> Val<'c> {
    let to = b.context().int_type(bits);
    let from = value.r#type();
    if from.is_index_type() {
        return b.index_cast(value, to);
    }
    match from.bits() {
        have if have < bits => b.op1("arith.extsi", &[value], to, &[]),
        have if have > bits => b.op1("arith.trunci", &[value], to, &[]),
        _ => value,
    }
}

struct Emitter<'a, 'c> {
    b: Builder<'c>,
    scope: &'a Scope<'c>,
    width: u32,
}

impl<'c> Emitter<'_, 'c> {
    fn number(&self, value: i64) -> Val<'c> {
        self.b.int(self.b.context().int_type(self.width), value)
    }

    fn value(&self, expr: &Expr) -> Result<Val<'c>, String> {
        let b = self.b;
        let fold = |parts: &[Expr], name: &str| -> Result<Val<'c>, String> {
            let mut parts = parts.iter();
            let first = parts.next().map_or_else(|| Ok(self.number(0)), |part| self.value(part))?;
            parts.try_fold(first, |sum, part| Ok(b.binary(name, sum, self.value(part)?)))
        };
        Ok(match expr {
            Expr::Number(value) => self.number(*value),
            Expr::Unknown(_) => return Err("has a leaf of which no value is known".into()),
            Expr::Symbol(symbol) => resize(b, self.scope.get(symbol)?, self.width),
            Expr::Sum(terms) => fold(terms, "arith.addi")?,
            Expr::Product(factors) => fold(factors, "arith.muli")?,
            Expr::Quotient(value, by) => b.divsi(self.value(value)?, self.number(*by)),
            Expr::Apply(function, args) => self.apply(*function, &args[0], &args[1])?,
            Expr::Swizzled(swizzle, value) => {
                let value = self.value(value)?;
                let source = b.binary("arith.andi", value, self.number(swizzle.source_mask()));
                let by = self.number(swizzle.shift().unsigned_abs().into());
                let moved = if swizzle.shift() >= 0 { "arith.shrui" } else { "arith.shli" };
                b.binary("arith.xori", value, b.binary(moved, source, by))
            }
        })
    }

    fn apply(&self, function: Function, left: &Expr, right: &Expr) -> Result<Val<'c>, String> {
        let b = self.b;
        let (a, by) = (self.value(left)?, self.value(right)?);
        let natural = span(left, &mut [true; 2]).lo >= 0 && span(right, &mut [true; 2]).lo > 0;
        let zero = self.number(0);
        Ok(match function {
            Function::Min => b.minsi(a, by),
            Function::Max => b.maxsi(a, by),
            Function::FloorDiv if natural => b.binary("arith.divui", a, by),
            Function::Mod if natural => b.binary("arith.remui", a, by),
            Function::CeilDiv if natural => {
                let (q, r) = (b.binary("arith.divui", a, by), b.binary("arith.remui", a, by));
                let more = b.cmpi("ne", r, zero);
                b.addi(q, b.op1("arith.extui", &[more], q.r#type(), &[]))
            }
            // Division rounds to zero: step down (or up) where a remainder and the signs say so.
            Function::FloorDiv | Function::CeilDiv | Function::Mod => {
                let (q, r) = (b.divsi(a, by), b.remsi(a, by));
                let inexact = b.cmpi("ne", r, zero);
                let signs = b.binary("arith.xori", r, by);
                let predicate = if function == Function::CeilDiv { "sge" } else { "slt" };
                let step = b.binary("arith.andi", inexact, b.cmpi(predicate, signs, zero));
                let one = self.number(1);
                match function {
                    Function::FloorDiv => b.select(step, b.subi(q, one), q),
                    Function::CeilDiv => b.select(step, b.addi(q, one), q),
                    _ => b.select(step, b.addi(r, by), r),
                }
            }
        })
    }
}
