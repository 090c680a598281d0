//! Mathematical functions in kernels: there is no libm on a GPU, so they are written out here.
//!
//! [`fast`] takes those of f32 and narrower types that models use most (`exp`, `tanh`, `erf`) to the GPU's own approximations: the relative error is
//! below 2^-20 for `tanh` and `erf`; of `exp` it is at most 2^-22 plus 2^-23 |x|. [`expand`] writes out what is left after it and `ait-approximate-math`. All are computed in f64 and rounded to their type. In f64 the error is a few units in the last place for `exp`, `log`, `sin`, `cos`
//! and what is made of few of them; of `powf` it is relative and grows with the exponent of the result, to 1e-13 at its ends. `sin`,
//! `cos` and `tan` lose accuracy in proportion beyond |x| = 2^30. Results in f32 and narrower types are thus within one unit in the last place.

use super::emit::scalar::ScalarOps;
use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, blocks_of, erase, operations_of, replace_uses, result_of},
    diagnostics::emit_op_error,
    pass::Failed,
    types::{Blk, Op, TypeExt, Types, Val},
};
use melior::{
    Context,
    ir::{ValueLike, operation::OperationLike},
};

/// Functions that LLVM's code generator has instructions for, or expands.
const NATIVE: &[&str] = &[
    "math.absf",
    "math.absi",
    "math.ceil",
    "math.copysign",
    "math.ctlz",
    "math.ctpop",
    "math.cttz",
    "math.floor",
    "math.fma",
    "math.roundeven",
    "math.sqrt",
    "math.trunc",
];

type Function = for<'c> fn(F<'c>, &[Val<'c>]) -> Val<'c>;

/// Functions written out, on f64 values.
static FUNCTIONS: &[(&str, Function)] = &[
    ("math.acos", |f, x| f.acos(x[0])),
    ("math.acosh", |f, x| f.acosh(x[0])),
    ("math.asin", |f, x| f.asin(x[0])),
    ("math.asinh", |f, x| f.asinh(x[0])),
    ("math.atan", |f, x| f.atan(x[0])),
    ("math.atan2", |f, x| f.atan2(x[0], x[1])),
    ("math.atanh", |f, x| f.atanh(x[0])),
    ("math.cbrt", |f, x| f.cbrt(x[0])),
    ("math.cos", |f, x| f.sin_cos(x[0]).1),
    ("math.cosh", |f, x| f.cosh(x[0])),
    ("math.erf", |f, x| f.erf(x[0])),
    ("math.exp", |f, x| f.exp(x[0])),
    ("math.exp2", |f, x| f.exp(f.mul(x[0], f.number(std::f64::consts::LN_2)))),
    ("math.expm1", |f, x| f.expm1(x[0])),
    ("math.log", |f, x| f.log(x[0])),
    ("math.log10", |f, x| f.mul(f.log(x[0]), f.number(std::f64::consts::LOG10_E))),
    ("math.log1p", |f, x| f.log1p(x[0])),
    ("math.log2", |f, x| f.mul(f.log(x[0]), f.number(std::f64::consts::LOG2_E))),
    ("math.powf", |f, x| f.powf(x[0], x[1])),
    ("math.round", |f, x| f.round(x[0])),
    ("math.rsqrt", |f, x| f.div(f.number(1.0), f.sqrt(x[0]))),
    ("math.sin", |f, x| f.sin_cos(x[0]).0),
    ("math.sinh", |f, x| f.sinh(x[0])),
    ("math.tan", |f, x| {
        let (sin, cos) = f.sin_cos(x[0]);
        f.div(sin, cos)
    }),
    ("math.tanh", |f, x| f.tanh(x[0])),
];

type Fast = for<'c> fn(Builder<'c>, Val<'c>) -> Val<'c>;

/// Functions of an f32 by the GPU's approximate instructions.
static FAST: &[(&str, Fast)] = &[("math.erf", fast_erf), ("math.exp", fast_exp), ("math.tanh", fast_tanh)];

/// Replaces functions of scalars of f32, f16 and bf16 below `op`; those of f16 and bf16 are computed in f32.
pub fn fast<'c>(context: &'c Context, op: Op<'c>) {
    for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
        for op in operations_of(block) {
            fast(context, op);
            let view = OpView(op);
            let name = view.name();
            let Some((_, function)) = FAST.iter().find(|(known, _)| *known == name) else { continue };
            let (x, r#type) = (view.operands()[0], view.results()[0].r#type());
            if !r#type.shape().is_empty() || r#type.bits() > 32 {
                continue;
            }
            let b = Builder::before(context, op);
            let wide = crate::cpu::scalar::resize_float(b, x, context.f32_type());
            let value = crate::cpu::scalar::resize_float(b, function(b, wide), r#type);
            replace_uses(result_of(op, 0), value);
            erase(op);
        }
    }
}

fn f32_of<'c>(b: Builder<'c>, value: f64) -> Val<'c> {
    b.float(b.context().f32_type(), value)
}

/// c[0] + z (c[1] + z (...)), of f32.
fn horner<'c>(b: Builder<'c>, z: Val<'c>, coefficients: &[f64]) -> Val<'c> {
    let mut rest = coefficients.iter().rev();
    let start = f32_of(b, rest.next().copied().unwrap_or(0.0));
    rest.fold(start, |sum, c| b.op1("math.fma", &[sum, z, f32_of(b, *c)], z.r#type(), &[]))
}

/// e^x = 2^(x log2 e)
fn fast_exp<'c>(b: Builder<'c>, x: Val<'c>) -> Val<'c> {
    b.approximate("ex2.approx.f32", b.mulf(x, f32_of(b, std::f64::consts::LOG2_E)))
}

/// 1 - 2 / (e^(2|x|) + 1) with the sign of x; near 0, where that cancels, a polynomial.
fn fast_tanh<'c>(b: Builder<'c>, x: Val<'c>) -> Val<'c> {
    let a = b.unary("math.absf", x);
    let e = b.approximate("ex2.approx.f32", b.mulf(a, f32_of(b, 2.0 * std::f64::consts::LOG2_E)));
    let inverse = b.approximate("rcp.approx.ftz.f32", b.addf(e, f32_of(b, 1.0)));
    let far = b.op1("math.fma", &[inverse, f32_of(b, -2.0), f32_of(b, 1.0)], x.r#type(), &[]);
    let z = b.mulf(x, x);
    let series = [1.0, -1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0, 62.0 / 2835.0, -1382.0 / 155_925.0];
    let near = b.mulf(a, horner(b, z, &series));
    let value = b.select(b.cmpf("olt", a, f32_of(b, 0.3)), near, far);
    b.binary("math.copysign", value, x)
}

/// 1 - P(t) e^(-x^2) with t = 1 / (1 + p |x|) (Abramowitz and Stegun, 7.1.26); near 0, where that cancels, a polynomial.
fn fast_erf<'c>(b: Builder<'c>, x: Val<'c>) -> Val<'c> {
    let a = b.unary("math.absf", x);
    let z = b.mulf(x, x);
    let denominator = b.op1("math.fma", &[a, f32_of(b, 0.327_591_1), f32_of(b, 1.0)], x.r#type(), &[]);
    let t = b.approximate("rcp.approx.ftz.f32", denominator);
    let e = b.approximate("ex2.approx.f32", b.mulf(z, f32_of(b, -std::f64::consts::LOG2_E)));
    let p = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let tail = b.mulf(b.mulf(t, horner(b, t, &p)), e);
    let far = b.subf(f32_of(b, 1.0), tail);
    // x^(2n+1) / (n! (2n+1)), alternating, times 2 / sqrt(pi).
    let series: Vec<f64> =
        (0..9u32).map(|n| std::f64::consts::FRAC_2_SQRT_PI * sign(n) / (factorial(n) * f64::from(2 * n + 1))).collect();
    let near = b.mulf(a, horner(b, z, &series));
    let value = b.select(b.cmpf("olt", a, f32_of(b, 0.8)), near, far);
    b.binary("math.copysign", value, x)
}

/// Writes out the functions of the math dialect in all functions below `op`.
pub fn expand<'c>(context: &'c Context, op: Op<'c>) -> Result<(), Failed> {
    let mut missing = false;
    for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
        missing |= expand_block(context, block).is_err();
    }
    if missing { Err(Failed) } else { Ok(()) }
}

fn expand_block<'c>(context: &'c Context, block: Blk<'c>) -> Result<(), Failed> {
    let mut missing = false;
    for op in operations_of(block) {
        missing |= expand(context, op).is_err();
        let view = OpView(op);
        let name = view.name();
        if !name.starts_with("math.") || NATIVE.contains(&name.as_str()) {
            continue;
        }
        let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
            emit_op_error(op, "has no code for a GPU");
            missing = true;
            continue;
        };
        let b = Builder::before(context, op);
        let (f, r#type) = (F(b), view.results()[0].r#type());
        let wide: Vec<_> = view.operands().into_iter().map(|x| f.to_f64(x)).collect();
        let value = crate::cpu::scalar::resize_float(b, function(f, &wide), r#type);
        replace_uses(result_of(op, 0), value);
        erase(op);
    }
    if missing { Err(Failed) } else { Ok(()) }
}

/// Functions of f64 values.
#[derive(Clone, Copy)]
struct F<'c>(Builder<'c>);

/// ln 2 in two parts: the first has 21 trailing zero bits, so that small multiples are exact.
const LN2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// pi / 2 in three parts of 33 bits.
const HALF_PI: [f64; 3] = [
    f64::from_bits(0x3FF9_21FB_5440_0000),
    f64::from_bits(0x3DD0_B461_1A60_0000),
    f64::from_bits(0x3BA3_198A_2E03_7073),
];

impl<'c> F<'c> {
    fn number(self, value: f64) -> Val<'c> {
        self.0.float(self.0.context().f64_type(), value)
    }
    fn to_f64(self, x: Val<'c>) -> Val<'c> {
        crate::cpu::scalar::resize_float(self.0, x, self.0.context().f64_type())
    }
    fn add(self, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        self.0.addf(x, y)
    }
    fn sub(self, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        self.0.subf(x, y)
    }
    fn mul(self, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        self.0.mulf(x, y)
    }
    fn div(self, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        self.0.divf(x, y)
    }
    fn scaled(self, x: Val<'c>, by: f64) -> Val<'c> {
        self.mul(x, self.number(by))
    }
    /// x * y + z in one rounding.
    fn fma(self, x: Val<'c>, y: Val<'c>, z: Val<'c>) -> Val<'c> {
        self.0.op1("math.fma", &[x, y, z], x.r#type(), &[])
    }
    fn sqrt(self, x: Val<'c>) -> Val<'c> {
        self.0.unary("math.sqrt", x)
    }
    fn abs(self, x: Val<'c>) -> Val<'c> {
        self.0.unary("math.absf", x)
    }
    /// |magnitude| with the sign of `sign`.
    fn signed(self, magnitude: Val<'c>, sign: Val<'c>) -> Val<'c> {
        self.0.binary("math.copysign", magnitude, sign)
    }
    fn select(self, condition: Val<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        self.0.select(condition, x, y)
    }
    fn is(self, predicate: &str, x: Val<'c>, y: f64) -> Val<'c> {
        self.0.cmpf(predicate, x, self.number(y))
    }
    fn nearest(self, x: Val<'c>) -> Val<'c> {
        self.0.unary("math.roundeven", x)
    }
    fn to_int(self, x: Val<'c>) -> Val<'c> {
        self.0.op1("arith.fptosi", &[x], self.0.context().int_type(64), &[])
    }
    fn int(self, value: i64) -> Val<'c> {
        self.0.int(self.0.context().int_type(64), value)
    }
    fn bits(self, x: Val<'c>) -> Val<'c> {
        self.0.op1("arith.bitcast", &[x], self.0.context().int_type(64), &[])
    }
    fn bits_to_float(self, x: Val<'c>) -> Val<'c> {
        self.0.op1("arith.bitcast", &[x], self.0.context().f64_type(), &[])
    }
    /// c[0] + x * (c[1] + x * (...))
    fn polynomial(self, x: Val<'c>, coefficients: impl DoubleEndedIterator<Item = f64>) -> Val<'c> {
        let mut rest = coefficients.rev();
        let start = self.number(rest.next().unwrap_or(0.0));
        rest.fold(start, |sum, c| self.fma(sum, x, self.number(c)))
    }
    /// x clamped to a range; NaN gives the lower bound.
    fn clamped(self, x: Val<'c>, low: f64, high: f64) -> Val<'c> {
        let x = self.select(self.is("ogt", x, low), x, self.number(low));
        self.select(self.is("olt", x, high), x, self.number(high))
    }
    /// 2^k for an integer k in -1022..=1023.
    fn power_of_two(self, k: Val<'c>) -> Val<'c> {
        let biased = self.0.addi(k, self.int(1023));
        self.bits_to_float(self.0.binary("arith.shli", biased, self.int(52)))
    }

    /// The multiple k of ln 2 next to x, as an integer, and x - k ln 2.
    fn reduced(self, x: Val<'c>) -> (Val<'c>, Val<'c>) {
        let k = self.nearest(self.scaled(x, std::f64::consts::LOG2_E));
        let r = self.fma(k, self.number(-LN2_HIGH), x);
        (self.to_int(k), self.fma(k, self.number(-LN2_LOW), r))
    }

    /// value * 2^k in two steps, so that subnormal results come out right.
    fn times_power(self, value: Val<'c>, k: Val<'c>) -> Val<'c> {
        let half = self.0.binary("arith.shrsi", k, self.int(1));
        let rest = self.0.subi(k, half);
        self.mul(self.mul(value, self.power_of_two(half)), self.power_of_two(rest))
    }

    fn exp(self, x: Val<'c>) -> Val<'c> {
        let (k, r) = self.reduced(self.clamped(x, -750.0, 710.0));
        let value = self.times_power(self.polynomial(r, inverse_factorials(0, 14)), k);
        self.select(self.0.cmpf("uno", x, x), x, value)
    }

    /// e^x - 1, accurate near 0.
    fn expm1(self, x: Val<'c>) -> Val<'c> {
        let small = self.mul(x, self.polynomial(x, inverse_factorials(1, 17)));
        let large = self.sub(self.exp(x), self.number(1.0));
        self.select(self.is("olt", self.abs(x), 0.35), small, large)
    }

    fn log(self, x: Val<'c>) -> Val<'c> {
        let tiny = self.is("olt", x, f64::MIN_POSITIVE);
        let scaled = self.select(tiny, self.scaled(x, (1u64 << 54) as f64), x);
        let bits = self.bits(scaled);
        let exponent = self.0.subi(self.0.binary("arith.shrui", bits, self.int(52)), self.int(1023));
        let fraction = self.0.binary("arith.andi", bits, self.int((1 << 52) - 1));
        let m = self.bits_to_float(self.0.binary("arith.ori", fraction, self.int(1023 << 52)));
        let high = self.is("ogt", m, std::f64::consts::SQRT_2);
        let m = self.select(high, self.scaled(m, 0.5), m);
        let extra = self.0.op1("arith.extui", &[high], self.0.context().int_type(64), &[]);
        let exponent = self.0.addi(exponent, extra);
        let exponent = self.select(tiny, self.0.subi(exponent, self.int(54)), exponent);
        let e = self.0.op1("arith.sitofp", &[exponent], self.0.context().f64_type(), &[]);
        let one = self.number(1.0);
        let s = self.div(self.sub(m, one), self.add(m, one));
        let z = self.mul(s, s);
        // log m = 2 (s + s^3 / 3 + s^5 / 5 + ...)
        let series = self.polynomial(z, (0..12).map(|i| 2.0 / f64::from(2 * i + 1)));
        let value = self.fma(e, self.number(LN2_LOW), self.mul(s, series));
        let value = self.fma(e, self.number(LN2_HIGH), value);
        let value = self.select(self.is("oeq", x, 0.0), self.number(f64::NEG_INFINITY), value);
        let value = self.select(self.is("olt", x, 0.0), self.number(f64::NAN), value);
        let end = self.0.binary("arith.ori", self.is("oeq", x, f64::INFINITY), self.0.cmpf("uno", x, x));
        self.select(end, x, value)
    }

    /// log(1 + x), accurate near 0.
    fn log1p(self, x: Val<'c>) -> Val<'c> {
        let u = self.add(x, self.number(1.0));
        let d = self.sub(u, self.number(1.0));
        let value = self.mul(self.log(u), self.div(x, d));
        let value = self.select(self.is("oeq", d, 0.0), x, value);
        // Where u is infinite or negative the quotient says nothing.
        let plain = self.0.binary("arith.ori", self.is("oeq", u, f64::INFINITY), self.is("ole", u, 0.0));
        self.select(plain, self.log(u), value)
    }

    /// x^y with the special cases of C.
    fn powf(self, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        let magnitude = self.exp(self.mul(y, self.log(self.abs(x))));
        let whole = self.0.cmpf("oeq", self.0.unary("math.floor", y), y);
        let half = self.scaled(y, 0.5);
        let even = self.0.cmpf("oeq", self.0.unary("math.floor", half), half);
        let no = self.0.binary("arith.xori", even, self.0.int(self.0.context().int_type(1), -1));
        let odd = self.0.binary("arith.andi", whole, no);
        let value = self.select(odd, self.signed(magnitude, x), magnitude);
        let (negative, finite) = (self.is("olt", x, 0.0), self.is("one", x, f64::NEG_INFINITY));
        let fractional = self.0.binary("arith.xori", whole, self.0.int(self.0.context().int_type(1), -1));
        let bad = self.0.binary("arith.andi", self.0.binary("arith.andi", negative, finite), fractional);
        let value = self.select(bad, self.number(f64::NAN), value);
        let both = self.0.binary("arith.ori", self.0.cmpf("uno", x, x), self.0.cmpf("uno", y, y));
        let value = self.select(both, self.add(x, y), value);
        // |x| = 1 to an infinite power, and anything to the power 0, are 1.
        let infinite = self.is("oeq", self.abs(y), f64::INFINITY);
        let unit = self.0.binary("arith.andi", self.is("oeq", self.abs(x), 1.0), infinite);
        let one = self.0.binary(
            "arith.ori",
            self.0.binary("arith.ori", unit, self.is("oeq", y, 0.0)),
            self.is("oeq", x, 1.0),
        );
        self.select(one, self.number(1.0), value)
    }

    fn sin_cos(self, x: Val<'c>) -> (Val<'c>, Val<'c>) {
        let k = self.nearest(self.scaled(x, std::f64::consts::FRAC_2_PI));
        let r = HALF_PI.iter().fold(x, |r, part| self.fma(k, self.number(-part), r));
        let z = self.mul(r, r);
        let alternating = |first: u32| (0..9u32).map(move |i| sign(i) / factorial(2 * i + first));
        let sin = self.mul(r, self.polynomial(z, alternating(1)));
        let cos = self.polynomial(z, alternating(0));
        let quadrant = self.to_int(self.clamped(k, -9e18, 9e18));
        let bit = |n: i64, of: Val<'c>| {
            let masked = self.0.binary("arith.andi", of, self.int(n));
            self.0.cmpi("ne", masked, self.int(0))
        };
        let swap = bit(1, quadrant);
        let (s, c) = (self.select(swap, cos, sin), self.select(swap, sin, cos));
        let negated = |value: Val<'c>, when: Val<'c>| self.select(when, self.scaled(value, -1.0), value);
        let s = negated(s, bit(2, quadrant));
        let c = negated(c, bit(2, self.0.addi(quadrant, self.int(1))));
        // Infinities have no sine; x - x is NaN for them.
        let odd = self.is("uge", self.abs(x), f64::INFINITY);
        let nan = self.sub(x, x);
        let s = self.select(self.is("oeq", x, 0.0), x, s);
        (self.select(odd, nan, s), self.select(odd, nan, c))
    }

    fn atan(self, x: Val<'c>) -> Val<'c> {
        let a = self.abs(x);
        let one = self.number(1.0);
        let inverted = self.is("ogt", a, 1.0);
        let t = self.select(inverted, self.div(one, a), a);
        // Beyond tan(pi / 8): atan t = pi / 4 + atan((t - 1) / (t + 1))
        let shifted = self.is("ogt", t, 0.414_213_562_373_095_03);
        let u = self.select(shifted, self.div(self.sub(t, one), self.add(t, one)), t);
        let z = self.mul(u, u);
        let series = self.mul(u, self.polynomial(z, (0..23u32).map(|i| sign(i) / f64::from(2 * i + 1))));
        let v = self.select(shifted, self.add(series, self.number(std::f64::consts::FRAC_PI_4)), series);
        let v = self.select(inverted, self.sub(self.number(std::f64::consts::FRAC_PI_2), v), v);
        self.signed(v, x)
    }

    fn atan2(self, y: Val<'c>, x: Val<'c>) -> Val<'c> {
        let (a, c) = (self.abs(y), self.abs(x));
        let equal = self.0.cmpf("oeq", a, c);
        let ratio = self.div(a, c);
        // 0 / 0 and infinity / infinity.
        let ratio = self.select(self.0.binary("arith.andi", equal, self.is("oeq", c, 0.0)), self.number(0.0), ratio);
        let both = self.0.binary("arith.andi", equal, self.is("oeq", c, f64::INFINITY));
        let angle = self.atan(self.select(both, self.number(1.0), ratio));
        let behind = self.0.cmpi("slt", self.bits(x), self.int(0));
        let angle = self.select(behind, self.sub(self.number(std::f64::consts::PI), angle), angle);
        let nan = self.0.binary("arith.ori", self.0.cmpf("uno", x, x), self.0.cmpf("uno", y, y));
        self.select(nan, self.add(x, y), self.signed(angle, y))
    }

    fn asin(self, x: Val<'c>) -> Val<'c> {
        let one = self.number(1.0);
        let root = self.sqrt(self.mul(self.sub(one, x), self.add(one, x)));
        self.atan2(x, root)
    }

    fn acos(self, x: Val<'c>) -> Val<'c> {
        let one = self.number(1.0);
        let (up, down) = (self.sqrt(self.sub(one, x)), self.sqrt(self.add(one, x)));
        self.scaled(self.atan2(up, down), 2.0)
    }

    fn sinh(self, x: Val<'c>) -> Val<'c> {
        let a = self.abs(x);
        let e = self.expm1(a);
        // (e^a - e^-a) / 2 = (e + e / (e + 1)) / 2 with e = e^a - 1
        let small = self.scaled(self.add(e, self.div(e, self.add(e, self.number(1.0)))), 0.5);
        let large = self.far(a);
        self.signed(self.select(self.is("ogt", a, 22.0), large, small), x)
    }

    /// e^a / 2, for large a also where e^a overflows.
    fn far(self, a: Val<'c>) -> Val<'c> {
        let root = self.exp(self.scaled(a, 0.5));
        self.mul(self.scaled(root, 0.5), root)
    }

    fn cosh(self, x: Val<'c>) -> Val<'c> {
        let a = self.abs(x);
        let e = self.exp(a);
        let small = self.scaled(self.add(e, self.div(self.number(1.0), e)), 0.5);
        self.select(self.is("ogt", a, 22.0), self.far(a), small)
    }

    fn tanh(self, x: Val<'c>) -> Val<'c> {
        let a = self.abs(x);
        let e = self.expm1(self.scaled(a, 2.0));
        let value = self.div(e, self.add(e, self.number(2.0)));
        let value = self.select(self.is("ogt", a, 22.0), self.number(1.0), value);
        self.signed(value, x)
    }

    fn asinh(self, x: Val<'c>) -> Val<'c> {
        let a = self.abs(x);
        let root = self.sqrt(self.fma(a, a, self.number(1.0)));
        // log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(a^2 + 1)))
        let near = self.log1p(self.add(a, self.div(self.mul(a, a), self.add(root, self.number(1.0)))));
        let far = self.add(self.log(a), self.number(std::f64::consts::LN_2));
        self.signed(self.select(self.is("ogt", a, 1e9), far, near), x)
    }

    fn acosh(self, x: Val<'c>) -> Val<'c> {
        let t = self.sub(x, self.number(1.0));
        // log(x + sqrt(x^2 - 1)) = log1p(t + sqrt(2 t + t^2)) with t = x - 1
        let near = self.log1p(self.add(t, self.sqrt(self.fma(t, t, self.scaled(t, 2.0)))));
        let far = self.add(self.log(x), self.number(std::f64::consts::LN_2));
        self.select(self.is("ogt", x, 1e9), far, near)
    }

    fn atanh(self, x: Val<'c>) -> Val<'c> {
        let quotient = self.div(self.scaled(x, 2.0), self.sub(self.number(1.0), x));
        self.scaled(self.log1p(quotient), 0.5)
    }

    fn cbrt(self, x: Val<'c>) -> Val<'c> {
        let a = self.abs(x);
        let guess = self.exp(self.div(self.log(a), self.number(3.0)));
        // One step of Newton's method.
        let square = self.mul(guess, guess);
        let step = self.div(self.sub(guess, self.div(a, square)), self.number(3.0));
        let value = self.sub(guess, step);
        let plain = self.0.binary("arith.ori", self.is("oeq", a, 0.0), self.is("uge", a, f64::INFINITY));
        self.signed(self.select(plain, a, value), x)
    }

    /// To the nearest integer, halves away from zero.
    fn round(self, x: Val<'c>) -> Val<'c> {
        let a = self.abs(x);
        let whole = self.0.unary("math.floor", a);
        let up = self.is("oge", self.sub(a, whole), 0.5);
        self.signed(self.select(up, self.add(whole, self.number(1.0)), whole), x)
    }

    /// 2 / sqrt(pi) e^(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...): all terms have one sign.
    fn erf(self, x: Val<'c>) -> Val<'c> {
        let a = self.clamped(self.abs(x), 0.0, 6.0);
        let square = self.mul(a, a);
        let b = self.0;
        // At 6, the end, 2^n 6^(2n) / (2n + 1)!! has fallen below the last place of the sum after 110 terms.
        let (start, end, one) = (b.index(1), b.index(110), b.index(1));
        let sums = b.for_(start, end, one, &[a, a], |b, i, carried| {
            let f = F(b);
            let n = b.op1("arith.uitofp", &[b.index_cast(i, b.context().int_type(64))], b.context().f64_type(), &[]);
            let divisor = f.add(f.scaled(n, 2.0), f.number(1.0));
            let term = f.div(f.mul(carried[0], f.scaled(square, 2.0)), divisor);
            vec![term, f.add(carried[1], term)]
        });
        let factor = self.scaled(self.exp(self.scaled(square, -1.0)), std::f64::consts::FRAC_2_SQRT_PI);
        let value = self.signed(self.mul(sums[1], factor), x);
        self.select(self.0.cmpf("uno", x, x), x, value)
    }
}

fn sign(i: u32) -> f64 {
    if i.is_multiple_of(2) { 1.0 } else { -1.0 }
}

fn factorial(n: u32) -> f64 {
    (1..=n).map(f64::from).product()
}

/// 1 / n! for n from `first` on.
fn inverse_factorials(first: u32, count: u32) -> impl DoubleEndedIterator<Item = f64> {
    (first..first + count).map(|n| 1.0 / factorial(n))
}
