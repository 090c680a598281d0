//! Elementwise functions as rows of data: name, newest since-version, the scalar function.

use aitmlir_onnx::model::DType;

use super::{Operator, op};
use crate::import::{
    error::OpResult,
    node::{NodeContext, Outputs, one},
    scalar::{Calc, Kind, Scalar},
};

type Unary = for<'c> fn(&Calc<'c>, Scalar<'c>) -> Scalar<'c>;
type Binary = for<'c> fn(&Calc<'c>, Scalar<'c>, Scalar<'c>) -> Scalar<'c>;

pub(super) const ROWS: &[Operator] = &[
    op("Abs", 13, unary),
    op("Acos", 22, unary),
    op("Acosh", 22, unary),
    op("Add", 14, binary),
    op("And", 7, binary),
    op("Asin", 22, unary),
    op("Asinh", 22, unary),
    op("Atan", 22, unary),
    op("Atanh", 22, unary),
    op("BitwiseAnd", 18, binary),
    op("BitwiseNot", 18, unary),
    op("BitwiseOr", 18, binary),
    op("BitwiseXor", 18, binary),
    op("Ceil", 13, unary),
    op("Cos", 22, unary),
    op("Cosh", 22, unary),
    op("Div", 14, binary),
    op("Equal", 19, compare),
    op("Erf", 13, unary),
    op("Exp", 13, unary),
    op("Floor", 13, unary),
    op("Greater", 13, compare),
    op("GreaterOrEqual", 16, compare),
    op("HardSwish", 22, unary),
    op("IsNaN", 20, is_nan),
    op("Less", 13, compare),
    op("LessOrEqual", 16, compare),
    op("Log", 13, unary),
    op("Max", 13, variadic),
    op("Mean", 13, mean),
    op("Min", 13, variadic),
    op("Mish", 22, unary),
    op("Mul", 14, binary),
    op("Neg", 13, unary),
    op("Not", 1, unary),
    op("Or", 7, binary),
    op("PRelu", 16, binary),
    op("Reciprocal", 13, unary),
    op("Relu", 14, unary),
    op("Round", 22, unary),
    op("Sigmoid", 13, unary),
    op("Sign", 13, unary),
    op("Sin", 22, unary),
    op("Sinh", 22, unary),
    op("Softplus", 22, unary),
    op("Softsign", 22, unary),
    op("Sqrt", 13, unary),
    op("Sub", 14, binary),
    op("Sum", 13, variadic),
    op("Tan", 22, unary),
    op("Tanh", 13, unary),
    op("Xor", 7, binary),
];

const UNARY: &[(&str, Unary)] = &[
    ("Abs", |c, x| c.abs(x)),
    ("Acos", |c, x| c.math("acos", x)),
    ("Acosh", |c, x| c.math("acosh", x)),
    ("Asin", |c, x| c.math("asin", x)),
    ("Asinh", |c, x| c.math("asinh", x)),
    ("Atan", |c, x| c.math("atan", x)),
    ("Atanh", |c, x| c.math("atanh", x)),
    ("BitwiseNot", |c, x| c.not(x)),
    ("Ceil", |c, x| c.math("ceil", x)),
    ("Cos", |c, x| c.math("cos", x)),
    ("Cosh", |c, x| c.math("cosh", x)),
    ("Erf", |c, x| c.math("erf", x)),
    ("Exp", |c, x| c.math("exp", x)),
    ("Floor", |c, x| c.math("floor", x)),
    ("HardSwish", |c, x| c.mul(x, hard_sigmoid(c, x, 1.0 / 6.0, 0.5))),
    ("Log", |c, x| c.math("log", x)),
    ("Mish", |c, x| c.mul(x, c.math("tanh", softplus(c, x)))),
    ("Neg", |c, x| c.neg(x)),
    ("Not", |c, x| c.not(x)),
    ("Reciprocal", |c, x| c.div(c.lit(1.0), x)),
    ("Relu", |c, x| relu(c, x)),
    ("Round", |c, x| c.math("roundeven", x)),
    ("Sigmoid", |c, x| sigmoid(c, x)),
    ("Sign", |c, x| sign(c, x)),
    ("Sin", |c, x| c.math("sin", x)),
    ("Sinh", |c, x| c.math("sinh", x)),
    ("Softplus", |c, x| softplus(c, x)),
    ("Softsign", |c, x| c.div(x, c.add(c.lit(1.0), c.abs(x)))),
    ("Sqrt", |c, x| c.math("sqrt", x)),
    ("Tan", |c, x| c.math("tan", x)),
    ("Tanh", |c, x| c.math("tanh", x)),
];

const BINARY: &[(&str, Binary)] = &[
    ("Add", |c, a, b| c.add(a, b)),
    ("And", |c, a, b| c.and(a, b)),
    ("BitwiseAnd", |c, a, b| c.and(a, b)),
    ("BitwiseOr", |c, a, b| c.or(a, b)),
    ("BitwiseXor", |c, a, b| c.xor(a, b)),
    ("Div", |c, a, b| c.div(a, b)),
    ("Max", |c, a, b| c.max(a, b)),
    ("Min", |c, a, b| c.min(a, b)),
    ("Mul", |c, a, b| c.mul(a, b)),
    ("Or", |c, a, b| c.or(a, b)),
    ("PRelu", |c, x, slope| c.select(c.cmp("lt", x, c.lit(0.0)), c.mul(x, slope), x)),
    ("Sub", |c, a, b| c.sub(a, b)),
    ("Sum", |c, a, b| c.add(a, b)),
    ("Xor", |c, a, b| c.xor(a, b)),
];

const PREDICATES: &[(&str, &str)] =
    &[("Equal", "eq"), ("Greater", "gt"), ("GreaterOrEqual", "ge"), ("Less", "lt"), ("LessOrEqual", "le")];

/// The larger of x and 0; a NaN stays.
pub fn relu<'c>(c: &Calc<'c>, x: Scalar<'c>) -> Scalar<'c> {
    c.select(c.cmp("lt", x, c.lit(0.0)), c.lit(0.0), x)
}

/// 1 / (1 + exp(-x))
pub fn sigmoid<'c>(c: &Calc<'c>, x: Scalar<'c>) -> Scalar<'c> {
    c.div(c.lit(1.0), c.add(c.lit(1.0), c.math("exp", c.neg(x))))
}

/// log(1 + exp(x)), without overflow.
pub fn softplus<'c>(c: &Calc<'c>, x: Scalar<'c>) -> Scalar<'c> {
    let tail = c.math("log1p", c.math("exp", c.neg(c.abs(x))));
    c.add(relu(c, x), tail)
}

/// alpha * x + beta, clamped to [0, 1].
pub fn hard_sigmoid<'c>(c: &Calc<'c>, x: Scalar<'c>, alpha: f64, beta: f64) -> Scalar<'c> {
    let line = c.add(c.mul(x, c.lit(alpha)), c.lit(beta));
    let low = relu(c, line);
    c.select(c.cmp("gt", low, c.lit(1.0)), c.lit(1.0), low)
}

fn sign<'c>(c: &Calc<'c>, x: Scalar<'c>) -> Scalar<'c> {
    let positive = c.select(c.cmp("gt", x, c.lit(0.0)), c.lit(1.0), c.lit(0.0));
    if c.kind() == Kind::Unsigned {
        return positive;
    }
    c.select(c.cmp("lt", x, c.lit(0.0)), c.lit(-1.0), positive)
}

fn row<'r, T>(rows: &'r [(&str, T)], n: &NodeContext<'_, '_>) -> OpResult<&'r T> {
    let found = rows.iter().find(|r| r.0 == n.node.op).map(|r| &r.1);
    found.ok_or_else(|| n.wrong("internal error: no scalar function for this operator"))
}

fn unary<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let f = *row(UNARY, n)?;
    let x = n.input(0)?;
    one(n.elementwise(&[&x], x.dtype, |c, args| f(c, args[0]))?)
}

fn is_nan<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    one(n.elementwise(&[&x], DType::Bool, |c, args| c.cmp("ne", args[0], args[0]))?)
}

fn binary<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let f = *row(BINARY, n)?;
    let (a, b) = (n.input(0)?, n.input(1)?);
    if a.dtype != b.dtype {
        return Err(n.wrong(format!("its inputs are of {} and {}, expected one type", a.dtype, b.dtype)));
    }
    one(n.elementwise(&[&a, &b], a.dtype, |c, args| f(c, args[0], args[1]))?)
}

fn compare<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let predicate = *row(PREDICATES, n)?;
    let (a, b) = (n.input(0)?, n.input(1)?);
    if a.dtype != b.dtype {
        return Err(n.wrong(format!("its inputs are of {} and {}, expected one type", a.dtype, b.dtype)));
    }
    one(n.elementwise(&[&a, &b], DType::Bool, |c, args| c.cmp(predicate, args[0], args[1]))?)
}

fn variadic<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let f = *row(BINARY, n)?;
    let inputs = n.inputs()?;
    let Some(first) = inputs.first() else { return Err(n.wrong("it has no inputs")) };
    let refs: Vec<_> = inputs.iter().collect();
    one(n.elementwise(&refs, first.dtype, |c, args| args[1..].iter().fold(args[0], |a, b| f(c, a, *b)))?)
}

fn mean<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let inputs = n.inputs()?;
    let Some(first) = inputs.first() else { return Err(n.wrong("it has no inputs")) };
    let refs: Vec<_> = inputs.iter().collect();
    let count = inputs.len() as f64;
    one(n.elementwise(&refs, first.dtype, |c, args| {
        let sum = args[1..].iter().fold(args[0], |a, b| c.add(a, *b));
        c.div(sum, c.lit(count))
    })?)
}
