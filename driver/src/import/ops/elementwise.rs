//! Elementwise operators with attributes, conversions and choices.

use aitmlir_onnx::model::DType;

use super::{
    Operator,
    functions::{hard_sigmoid, sigmoid},
    op,
};
use crate::import::{
    build::normal_axis,
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs, many, one},
    scalar::{Calc, Kind, Scalar, kind_of},
    value::{DTypeExt, Value},
};

pub(super) const ROWS: &[Operator] = &[
    op("BitCast", 26, bit_cast),
    op("BitShift", 28, bit_shift),
    op("Cast", 28, cast),
    op("CastLike", 25, cast_like),
    op("Celu", 28, parametric),
    op("Clip", 13, clip),
    op("Dropout", 22, dropout),
    op("Elu", 22, parametric),
    op("Gelu", 20, gelu),
    op("HardSigmoid", 22, parametric),
    op("IsInf", 20, is_inf),
    op("LeakyRelu", 16, parametric),
    op("Mod", 28, modulo),
    op("Pow", 15, pow),
    op("Selu", 22, parametric),
    op("Shrink", 9, parametric),
    op("SwiGLU", 28, swiglu),
    op("Swish", 24, parametric),
    op("ThresholdedRelu", 22, parametric),
    op("Where", 16, choose),
    Operator { domain: "com.microsoft", ..op("Gelu", 1, gelu) },
    Operator { domain: "com.microsoft", ..op("QuickGelu", 1, parametric) },
    Operator { domain: "com.microsoft", ..op("FastGelu", 1, fast_gelu) },
];

/// Operators of one input with up to two float attributes: name, attributes with defaults, the scalar function.
type Parametric = for<'c> fn(&Calc<'c>, Scalar<'c>, f64, f64) -> Scalar<'c>;
type Row = (&'static str, [(&'static str, f32); 2], Parametric);

const PARAMETRIC: &[Row] = &[
    ("Celu", [("alpha", 1.0), ("", 0.0)], |c, x, alpha, _| {
        let tail = c.mul(c.lit(alpha), c.math("expm1", c.div(x, c.lit(alpha))));
        c.select(c.cmp("lt", x, c.lit(0.0)), tail, x)
    }),
    ("Elu", [("alpha", 1.0), ("", 0.0)], |c, x, alpha, _| {
        c.select(c.cmp("lt", x, c.lit(0.0)), c.mul(c.lit(alpha), c.math("expm1", x)), x)
    }),
    ("HardSigmoid", [("alpha", 0.2), ("beta", 0.5)], hard_sigmoid),
    ("LeakyRelu", [("alpha", 0.01), ("", 0.0)], |c, x, alpha, _| {
        c.select(c.cmp("lt", x, c.lit(0.0)), c.mul(x, c.lit(alpha)), x)
    }),
    ("QuickGelu", [("alpha", 1.702), ("", 0.0)], |c, x, alpha, _| c.mul(x, sigmoid(c, c.mul(x, c.lit(alpha))))),
    ("Selu", [("alpha", 1.673_263_2), ("gamma", 1.050_701)], |c, x, alpha, gamma| {
        let negative = c.mul(c.lit(alpha), c.math("expm1", x));
        c.mul(c.lit(gamma), c.select(c.cmp("gt", x, c.lit(0.0)), x, negative))
    }),
    ("Shrink", [("lambd", 0.5), ("bias", 0.0)], |c, x, lambd, bias| {
        let high = c.select(c.cmp("gt", x, c.lit(lambd)), c.sub(x, c.lit(bias)), c.lit(0.0));
        c.select(c.cmp("lt", x, c.lit(-lambd)), c.add(x, c.lit(bias)), high)
    }),
    ("Swish", [("alpha", 1.0), ("", 0.0)], |c, x, alpha, _| c.mul(x, sigmoid(c, c.mul(x, c.lit(alpha))))),
    ("ThresholdedRelu", [("alpha", 1.0), ("", 0.0)], |c, x, alpha, _| {
        c.select(c.cmp("gt", x, c.lit(alpha)), x, c.lit(0.0))
    }),
];

fn parametric<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let Some((_, attributes, f)) = PARAMETRIC.iter().find(|r| r.0 == n.node.op) else {
        return Err(n.wrong("internal error: no scalar function for this operator"));
    };
    let [a, b] = *attributes;
    let (a, b) = (n.float(a.0, a.1)?, n.float(b.0, b.1)?);
    let x = n.input(0)?;
    one(n.elementwise(&[&x], x.dtype, |c, args| f(c, args[0], a, b))?)
}

/// x * (1 + erf(x / sqrt 2)) / 2
pub fn gelu_exact<'c>(c: &Calc<'c>, x: Scalar<'c>) -> Scalar<'c> {
    let erf = c.math("erf", c.mul(x, c.lit(std::f64::consts::FRAC_1_SQRT_2)));
    c.mul(c.mul(c.lit(0.5), x), c.add(c.lit(1.0), erf))
}

/// x * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2
pub fn gelu_tanh<'c>(c: &Calc<'c>, x: Scalar<'c>) -> Scalar<'c> {
    let cube = c.mul(c.mul(x, x), x);
    let inner = c.mul(c.lit((2.0 / std::f64::consts::PI).sqrt()), c.add(x, c.mul(c.lit(0.044715), cube)));
    c.mul(c.mul(c.lit(0.5), x), c.add(c.lit(1.0), c.math("tanh", inner)))
}

fn gelu<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let f = match n.string("approximate", "none")?.as_str() {
        "none" => gelu_exact,
        "tanh" => gelu_tanh,
        other => return Err(n.wrong(format!("attribute `approximate` is `{other}`, expected `none` or `tanh`"))),
    };
    one(n.elementwise(&[&x], x.dtype, |c, args| f(c, args[0]))?)
}

fn fast_gelu<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let mut x = n.input(0)?;
    if let Some(bias) = n.optional(1)? {
        x = n.elementwise(&[&x, &bias], x.dtype, |c, args| c.add(args[0], args[1]))?;
    }
    one(n.elementwise(&[&x], x.dtype, |c, args| gelu_tanh(c, args[0]))?)
}

/// a * swish(alpha a) * b with a and b the halves of the last dimension, or two inputs.
fn swiglu<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let alpha = n.float("alpha", 1.0)?;
    let x = n.input(0)?;
    if n.optional(1)?.is_some() {
        return unsupported("a second input");
    }
    let axis = n.axis("axis", -1, x.rank())?;
    let half = n.index().div(x.dims[axis], Scalar::Int(2));
    let parts = n.split(&x, axis, &[half, half])?;
    one(n.elementwise(&[&parts[0], &parts[1]], x.dtype, |c, args| {
        let gate = c.mul(args[0], sigmoid(c, c.mul(args[0], c.lit(alpha))));
        c.mul(gate, args[1])
    })?)
}

/// The unsigned type of the same width.
fn unsigned(dtype: DType) -> DType {
    match dtype {
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        DType::I32 => DType::U32,
        DType::I64 => DType::U64,
        other => other,
    }
}

fn bit_shift<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (a, b) = (n.input(0)?, n.input(1)?);
    let right = n.string("direction", "")? == "RIGHT";
    let (width, signed) = (a.dtype.bits() as f64, kind_of(a.dtype) == Some(Kind::Signed));
    one(n.elementwise(&[&a, &b], a.dtype, |c, args| {
        let name = match (right, signed) {
            (false, _) => "arith.shli",
            (true, true) => "arith.shrsi",
            (true, false) => "arith.shrui",
        };
        // A shift by the width or more, or a negative one, is undefined in arith: it shifts everything out.
        let inside = c.of(unsigned(c.dtype)).cmp("lt", args[1], c.lit(width));
        let amount = c.select(inside, args[1], c.lit(0.0));
        let shifted = Scalar::Dyn(c.emit(name, &[c.val(args[0]), c.val(amount)], c.ty(), &[]));
        let negative = if right && signed { c.cmp("lt", args[0], c.lit(0.0)) } else { Scalar::Int(0) };
        c.select(inside, shifted, c.select(negative, c.lit(-1.0), c.lit(0.0)))
    })?)
}

fn bit_cast<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let Some(to) = n.dtype("to")? else { return Err(n.wrong("attribute `to` is missing")) };
    if x.dtype.bits() != to.bits() || x.dtype.bits() < 8 {
        return Err(n.wrong(format!("{} and {to} differ in size", x.dtype)));
    }
    if x.dtype == DType::Bool || to == DType::Bool || [x.dtype, to].iter().any(|d| d.is_floating() && d.bits() == 16) {
        return unsupported(format!("a bit cast from {} to {to}", x.dtype));
    }
    let dims = x.dims.clone();
    one(n.map_over(dims, &[&x], to, |c, args, _| {
        let (value, target) = (c.val(args[0]), c.of(to).ty());
        let same = c.ty() == target;
        Scalar::Dyn(if same { value } else { c.emit("arith.bitcast", &[value], target, &[]) })
    })?)
}

fn cast<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let Some(to) = n.dtype("to")? else { return Err(n.wrong("attribute `to` is missing")) };
    one(n.cast(&x, to)?)
}

fn cast_like<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, like) = (n.input(0)?, n.input(1)?);
    one(n.cast(&x, like.dtype)?)
}

/// A bound of Clip: an attribute before version 11.
fn bound<'c>(n: &mut NodeContext<'_, 'c>, name: &str, i: usize, dtype: DType) -> OpResult<Option<Value<'c>>> {
    if n.since >= 11 {
        return n.optional(i);
    }
    Ok(n.node.opt_float(name)?.map(|v| n.scalar(dtype, Scalar::Float(f64::from(v)))))
}

fn clip<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let low = bound(n, "min", 1, x.dtype)?;
    let high = bound(n, "max", 2, x.dtype)?;
    let known = |v: &Option<Value<'c>>| {
        v.as_ref().and_then(|v| v.scalars()).and_then(|s| s.first()).copied().filter(|s| s.is_known())
    };
    let (known_low, known_high) = (known(&low), known(&high));
    let mut inputs = vec![&x];
    inputs.extend(low.as_ref().filter(|_| known_low.is_none()));
    inputs.extend(high.as_ref().filter(|_| known_high.is_none()));
    let (has_low, has_high) = (low.is_some(), high.is_some());
    one(n.elementwise(&inputs, x.dtype, |c, args| {
        let mut rest = args[1..].iter().copied();
        let mut out = args[0];
        if has_low {
            let low = known_low.or_else(|| rest.next()).unwrap_or(out);
            out = c.select(c.cmp("lt", out, low), low, out);
        }
        if has_high {
            let high = known_high.or_else(|| rest.next()).unwrap_or(out);
            out = c.select(c.cmp("gt", out, high), high, out);
        }
        out
    })?)
}

fn is_inf<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let (negative, positive) = (n.flag("detect_negative", true)?, n.flag("detect_positive", true)?);
    one(n.elementwise(&[&x], DType::Bool, |c, args| {
        let bools = c.of(DType::Bool);
        let is = |wanted: bool, v: f64| if wanted { c.cmp("eq", args[0], c.lit(v)) } else { Scalar::Int(0) };
        let (a, b) = (is(negative, f64::NEG_INFINITY), is(positive, f64::INFINITY));
        match (a, b) {
            (Scalar::Int(0), other) | (other, Scalar::Int(0)) => other,
            (a, b) => bools.or(a, b),
        }
    })?)
}

fn modulo<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (a, b) = (n.input(0)?, n.input(1)?);
    let truncate = n.flag("fmod", false)?;
    one(n.elementwise(&[&a, &b], a.dtype, |c, args| {
        let rem = c.rem(args[0], args[1]);
        if truncate || c.kind() == Kind::Unsigned {
            return rem;
        }
        // The remainder takes the divisor's sign.
        let bools = c.of(DType::Bool);
        let opposite = bools.xor(c.cmp("lt", rem, c.lit(0.0)), c.cmp("lt", args[1], c.lit(0.0)));
        let wrong = bools.and(opposite, c.cmp("ne", rem, c.lit(0.0)));
        c.select(wrong, c.add(rem, args[1]), rem)
    })?)
}

fn pow<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, y) = (n.input(0)?, n.input(1)?);
    let exponents = y.floats();
    let all = |v: f64| exponents.as_ref().is_some_and(|e| !e.is_empty() && e.iter().all(|e| *e == v));
    let single = y.rank() == 0 || y.static_len() == Some(1);
    if x.dtype.is_floating() && single && y.rank() <= x.rank() {
        for (exponent, f) in POWERS {
            if all(*exponent) {
                let out = n.elementwise(&[&x], x.dtype, |c, args| f(c, args[0]))?;
                return one(out);
            }
        }
    }
    if x.dtype.is_floating() {
        let y = n.cast(&y, x.dtype)?;
        return one(n.elementwise(&[&x, &y], x.dtype, |c, args| c.math2("powf", args[0], args[1]))?);
    }
    let (wide_x, wide_y) = (n.cast(&x, DType::F64)?, n.cast(&y, DType::F64)?);
    let out = n.elementwise(&[&wide_x, &wide_y], DType::F64, |c, args| c.math2("powf", args[0], args[1]))?;
    one(n.cast(&out, x.dtype)?)
}

type Power = for<'c> fn(&Calc<'c>, Scalar<'c>) -> Scalar<'c>;

const POWERS: &[(f64, Power)] = &[
    (1.0, |_, x| x),
    (2.0, |c, x| c.mul(x, x)),
    (3.0, |c, x| c.mul(c.mul(x, x), x)),
    (0.5, |c, x| c.math("sqrt", x)),
    (-1.0, |c, x| c.div(c.lit(1.0), x)),
    (-0.5, |c, x| c.div(c.lit(1.0), c.math("sqrt", x))),
];

fn choose<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (condition, a, b) = (n.input(0)?, n.input(1)?, n.input(2)?);
    one(n.elementwise(&[&condition, &a, &b], a.dtype, |c, args| c.of(a.dtype).select(args[0], args[1], args[2]))?)
}

/// Dropout drops only where `training_mode` says so when it runs.
fn dropout<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let mask_type = if n.since >= 10 { DType::Bool } else { x.dtype };
    let training = n.optional(2)?;
    let idle = match &training {
        None => true,
        Some(t) => t.ints().is_some_and(|v| v == [0]),
    };
    if idle {
        let mask = if n.wants(1) { n.fill(mask_type, Scalar::Int(1), x.dims.clone())? } else { x.clone() };
        return many(vec![x, mask]);
    }
    let (Some(training), ratio) = (training, n.optional(1)?) else { return many(vec![x]) };
    let ratio = match ratio {
        Some(r) => n.cast(&r, DType::F32)?,
        None => n.scalar(DType::F32, Scalar::Float(0.5)),
    };
    let seed = match n.node.opt_int("seed")? {
        Some(seed) => seed,
        None => n.next_seed(),
    };
    let noise = super::structure::random(n, 0, 0.0, 1.0, seed, DType::F32, x.dims.clone())?;
    let mask = n.elementwise(&[&noise, &ratio, &training], DType::Bool, |c, args| {
        let bools = c.of(DType::Bool);
        bools.or(c.cmp("ge", args[0], args[1]), bools.not(args[2]))
    })?;
    let out = n.elementwise(&[&x, &mask, &ratio, &training], x.dtype, |c, args| {
        let f32s = c.of(DType::F32);
        let keep = f32s.select(args[3], f32s.sub(f32s.lit(1.0), args[2]), f32s.lit(1.0));
        let keep = crate::import::build::cast_scalar(&f32s, keep, c.dtype);
        c.select(args[1], c.div(args[0], keep), c.lit(0.0))
    })?;
    many(vec![out, mask])
}

/// An axis attribute that is also allowed to be the rank (Flatten).
pub fn axis_up_to(axis: i64, rank: usize) -> OpResult<usize> {
    if axis == rank as i64 { Ok(rank) } else { normal_axis(axis, rank) }
}
