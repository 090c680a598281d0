//! Symbolic integers as trees: what a compiler emits code from.

use crate::int::Symbolic;
use crate::poly::{Atom, Poly, gcd, overflow};
use crate::{Cause, Facts, Function, Int, Result, Swizzle, Symbol};

/// How an integer is computed.
///
/// ```
/// # use cute_layout::{Expr, Int};
/// let int: Int = "?(4*n+1)".parse()?;
/// let Expr::Sum(terms) = int.expr() else { panic!("a sum") };
/// assert!(matches!(&terms[..], [Expr::Product(_), Expr::Number(1)]));
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A number.
    Number(i64),
    /// A value of which no more is known.
    Unknown(Facts),
    /// A named value.
    Symbol(Symbol),
    /// The sum of at least two terms.
    Sum(Vec<Expr>),
    /// The product of at least two factors; a number comes first.
    Product(Vec<Expr>),
    /// A value divided by a number that is known to divide it.
    Quotient(Box<Expr>, i64),
    /// A function of two values.
    Apply(Function, Box<[Expr; 2]>),
    /// A swizzle of an offset.
    Swizzled(Swizzle, Box<Expr>),
}

impl Int {
    /// How the value is computed from its symbols.
    pub fn expr(&self) -> Expr {
        match self {
            Int::Static(value) => Expr::Number(*value),
            Int::Unknown(facts) => Expr::Unknown(*facts),
            Int::Symbolic(Symbolic(poly)) => sum(poly),
        }
    }
}

impl Expr {
    /// The number for given values of the symbols.
    pub fn eval(&self, value_of: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i64> {
        const OP: &str = "evaluation";
        let each = |parts: &[Expr]| parts.iter().map(|part| part.eval(value_of)).collect::<Result<Vec<_>>>();
        match self {
            Expr::Number(value) => Ok(*value),
            Expr::Unknown(facts) => Int::Unknown(*facts).need_static(OP),
            Expr::Symbol(symbol) => {
                let missing = || Cause::Dynamic { value: symbol.clone().into() }.of(OP);
                value_of(symbol).ok_or_else(missing)
            }
            Expr::Sum(terms) => {
                let sum = each(terms)?.into_iter().try_fold(0i64, i64::checked_add);
                sum.ok_or_else(overflow)
            }
            Expr::Product(factors) => {
                let product = each(factors)?.into_iter().try_fold(1i64, i64::checked_mul);
                product.ok_or_else(overflow)
            }
            Expr::Quotient(value, by) => {
                let value = value.eval(value_of)?;
                let broken = Cause::Indivisible { value: value.into(), by: (*by).into() };
                match value.checked_rem(*by) {
                    Some(0) => value.checked_div(*by).ok_or_else(overflow),
                    _ => Err(broken.of(OP)),
                }
            }
            Expr::Apply(function, args) => {
                let [a, b] = args.as_ref();
                let value = function.apply(a.eval(value_of)?, b.eval(value_of)?);
                value.ok_or_else(|| Cause::DivisionByZero.of(OP))
            }
            Expr::Swizzled(swizzle, value) => Ok(swizzle.apply(value.eval(value_of)?)),
        }
    }
}

/// Terms with symbols first, the constant last.
fn sum(poly: &Poly) -> Expr {
    let constant = poly.0.iter().filter(|(atoms, _)| atoms.is_empty());
    let others = poly.0.iter().filter(|(atoms, _)| !atoms.is_empty());
    let terms = others.chain(constant).map(|(atoms, &c)| product(atoms, c));
    single_or(terms.collect(), Expr::Sum)
}

/// A symbol stands for its known divisor times its unit, so part of the coefficient belongs to it;
/// what is missing is a quotient.
fn product(atoms: &[Atom], coefficient: i64) -> Expr {
    let mut coefficient = coefficient;
    let mut factors = Vec::new();
    for atom in atoms {
        factors.push(match atom {
            Atom::Unit(symbol) => {
                let div = symbol.facts().div;
                let shared = gcd(coefficient, div).max(1);
                coefficient /= shared;
                let symbol = Expr::Symbol(symbol.clone());
                if shared == div { symbol } else { Expr::Quotient(Box::new(symbol), div / shared) }
            }
            Atom::Apply(function, args) => Expr::Apply(*function, Box::new([args.0.expr(), args.1.expr()])),
            Atom::Swizzled(swizzle, value) => Expr::Swizzled(*swizzle, Box::new(value.expr())),
        });
    }
    if coefficient != 1 || factors.is_empty() {
        factors.insert(0, Expr::Number(coefficient));
    }
    single_or(factors, Expr::Product)
}

fn single_or(mut parts: Vec<Expr>, many: impl FnOnce(Vec<Expr>) -> Expr) -> Expr {
    if parts.len() == 1 { parts.remove(0) } else { many(parts) }
}
