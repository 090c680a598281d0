//! Arithmetic of floats: the rows, and what an H200 does where a plain operation is not all of it.

use super::alu::{Entry, Row};
use super::bits;
use super::lane::{B, BWide, H, HWide, Lane, Lanes};
use crate::numeric::directed::{add64, divide32, divide64, fused32, fused64, mul64, root32, root64};
use crate::numeric::minifloat::{F16, Round};
use crate::program::Width;
use std::array::from_fn;

/// The lesser, or the greater, as PTX orders them: -0 below +0, a number before a NaN.
macro_rules! choose {
    ($a:expr, $b:expr, $op:tt, $negative:expr) => {{
        let (a, b) = ($a, $b);
        let first = b.is_nan() || a $op b || (a == b && a.is_sign_negative() == $negative);
        if first && !a.is_nan() { a } else { b }
    }};
}

/// `div.full`: a product with the reciprocal where that is in range, as the hardware does it.
fn through_reciprocal(a: f32, b: f32) -> f32 {
    let range = f32::MIN_POSITIVE..1.0 / f32::MIN_POSITIVE;
    if range.contains(&b.abs()) { a * (1.0 / b) } else { a / b }
}

/// Minimum as PTX orders it.
pub fn min32(a: f32, b: f32) -> f32 {
    choose!(a, b, <, true)
}

/// Maximum as PTX orders it.
pub fn max32(a: f32, b: f32) -> f32 {
    choose!(a, b, >, false)
}

fn min64(a: f64, b: f64) -> f64 {
    choose!(a, b, <, true)
}

fn max64(a: f64, b: f64) -> f64 {
    choose!(a, b, >, false)
}

fn nan(a: f32, b: f32, r: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { r }
}

fn relu64(x: f64) -> f64 {
    if x > 0.0 || x.is_nan() { x } else { 0.0 }
}

/// All rows of floats.
pub fn rows() -> Vec<Entry> {
    let mut rows = float_rows();
    rows.extend(rounded_rows());
    rows.extend(extreme_rows());
    rows
}

#[rustfmt::skip]
fn float_rows() -> Vec<Entry> {
    vec![
        ("add", "f32x2", Row { arity: 2, f: |a, b, _| from_fn(|i| bits::f32x2(a[i], b[i], 0, |a, b, _| a + b)) }),
        ("mul", "f32x2", Row { arity: 2, f: |a, b, _| from_fn(|i| bits::f32x2(a[i], b[i], 0, |a, b, _| a * b)) }),
        ("fma", "f32x2", Row { arity: 3, f: |a, b, c| from_fn(|i| bits::f32x2(a[i], b[i], c[i], f32::mul_add)) }),
        ("div.full", "f32", bin!(f32, |a, b| through_reciprocal(a, b))), ("div.approx", "f32", bin!(f32, |a, b| a / b)),
        ("rcp.approx", "f32", un!(f32, |a| 1.0 / a)),
        ("rcp.approx", "f64", un!(f64, |a| gross(a, |a| 1.0 / a))),
        ("sqrt.approx", "f32", un!(f32, |a| a.sqrt())),
        ("rsqrt.approx", "f32", un!(f32, |a| (1.0 / f64::from(a).sqrt()) as f32)), ("rsqrt.approx", "f64", un!(f64, |a| gross(a, |a| 1.0 / a.sqrt()))),
        ("sin.approx", "f32", un!(f32, |a| a.sin())), ("cos.approx", "f32", un!(f32, |a| a.cos())),
        ("lg2.approx", "f32", un!(f32, |a| a.log2())), ("ex2.approx", "f32", un!(f32, |a| a.exp2())),
        ("tanh.approx", "f32", un!(f32, |a| a.tanh())),
        ("min", "f64", bin!(f64, |a, b| if a.is_nan() && b.is_nan() { nan64([b; 3], b) } else { min64(a, b) })),
        ("max", "f64", bin!(f64, |a, b| if a.is_nan() && b.is_nan() { nan64([b; 3], b) } else { max64(a, b) })),
        ("abs", "f32", un!(u32, |a| sign_of(a.into(), 0x7F80_0000, 0x7FFF_FFFF, |a| a & 0x7FFF_FFFF))), ("abs", "f64", un!(u64, |a| sign64(a, |a| a & !(1 << 63)))),
        ("neg", "f32", un!(u32, |a| sign_of(a.into(), 0x7F80_0000, 0x7FFF_FFFF, |a| a ^ 1 << 31))), ("neg", "f64", un!(u64, |a| sign64(a, |a| a ^ 1 << 63))),
        ("copysign", "f32", bin!(u32, |a, b| a & 1 << 31 | b & 0x7FFF_FFFF)), ("copysign", "f64", bin!(u64, |a, b| a & 1 << 63 | b & !(1 << 63))),
        ("add", "f16", bin!(H, |a, b| H(a.0 + b.0))), ("add", "bf16", bin!(B, |a, b| B(a.0 + b.0))),
        ("sub", "f16", bin!(H, |a, b| H(a.0 - b.0))), ("sub", "bf16", bin!(B, |a, b| B(a.0 - b.0))),
        ("mul", "f16", bin!(H, |a, b| H(a.0 * b.0))), ("mul", "bf16", bin!(B, |a, b| B(a.0 * b.0))),
        ("fma", "f16", tri!(HWide, |a, b, c| HWide(sticky(a.0, b.0, c.0)))), ("fma", "bf16", tri!(BWide, |a, b, c| BWide(sticky(a.0, b.0, c.0)))),
        ("fma.relu", "f16", tri!(HWide, |a, b, c| HWide(relu64(sticky(a.0, b.0, c.0))))), ("fma.relu", "bf16", tri!(BWide, |a, b, c| BWide(relu64(sticky(a.0, b.0, c.0))))),
        ("ex2.approx", "f16", un!(H, |a| H(a.0.exp2()))), ("ex2.approx", "bf16", un!(B, |a| B(a.0.exp2()))),
        ("tanh.approx", "f16", un!(H, |a| H(a.0.tanh()))), ("tanh.approx", "bf16", un!(B, |a| B(a.0.tanh()))),
        ("abs", "f16", un!(u16, |a| sign_of(a.into(), 0x7C00, 0x7FFF, |a| a & 0x7FFF))), ("neg", "f16", un!(u16, |a| sign_of(a.into(), 0x7C00, 0x7FFF, |a| a ^ 0x8000))),
        ("abs", "bf16", un!(u16, |a| sign_of(a.into(), 0x7F80, 0x7FFF, |a| a & 0x7FFF))), ("neg", "bf16", un!(u16, |a| sign_of(a.into(), 0x7F80, 0x7FFF, |a| a ^ 0x8000))),
        ("abs", "f16x2", two!(u16, |a, _b, _c| sign_of(a.into(), 0x7C00, 0x7FFF, |a| a & 0x7FFF), 1)), ("neg", "f16x2", two!(u16, |a, _b, _c| sign_of(a.into(), 0x7C00, 0x7FFF, |a| a ^ 0x8000), 1)),
        ("abs", "bf16x2", two!(u16, |a, _b, _c| sign_of(a.into(), 0x7F80, 0x7FFF, |a| a & 0x7FFF), 1)), ("neg", "bf16x2", two!(u16, |a, _b, _c| sign_of(a.into(), 0x7F80, 0x7FFF, |a| a ^ 0x8000), 1)),
        ("fma.ftz", "f16", tri!(HWide, |a, b, c| HWide(tiny_half(sticky(a.0, b.0, c.0))))), ("fma.ftz", "f16x2", two!(HWide, |a, b, c| HWide(tiny_half(sticky(a.0, b.0, c.0))), 3)),
        ("fma.relu.ftz", "f16", tri!(HWide, |a, b, c| HWide(relu64(tiny_half(sticky(a.0, b.0, c.0)))))), ("fma.relu.ftz", "f16x2", two!(HWide, |a, b, c| HWide(relu64(tiny_half(sticky(a.0, b.0, c.0)))), 3)),
        ("mul.ftz", "f16", bin!(HWide, |a, b| HWide(tiny_half(a.0 * b.0)))), ("mul.ftz", "f16x2", two!(HWide, |a, b, _c| HWide(tiny_half(a.0 * b.0)), 2)),
        ("add", "f16x2", two!(H, |a, b, _c| H(a.0 + b.0), 2)), ("add", "bf16x2", two!(B, |a, b, _c| B(a.0 + b.0), 2)),
        ("sub", "f16x2", two!(H, |a, b, _c| H(a.0 - b.0), 2)), ("sub", "bf16x2", two!(B, |a, b, _c| B(a.0 - b.0), 2)),
        ("mul", "f16x2", two!(H, |a, b, _c| H(a.0 * b.0), 2)), ("mul", "bf16x2", two!(B, |a, b, _c| B(a.0 * b.0), 2)),
        ("fma", "f16x2", two!(HWide, |a, b, c| HWide(sticky(a.0, b.0, c.0)), 3)), ("fma", "bf16x2", two!(BWide, |a, b, c| BWide(sticky(a.0, b.0, c.0)), 3)),
        ("fma.relu", "f16x2", two!(HWide, |a, b, c| HWide(relu64(sticky(a.0, b.0, c.0))), 3)), ("fma.relu", "bf16x2", two!(BWide, |a, b, c| BWide(relu64(sticky(a.0, b.0, c.0))), 3)),
        ("ex2.approx", "f16x2", two!(H, |a, _b, _c| H(a.0.exp2()), 1)), ("ex2.approx", "bf16x2", two!(B, |a, _b, _c| B(a.0.exp2()), 1)),
        ("tanh.approx", "f16x2", two!(H, |a, _b, _c| H(a.0.tanh()), 1)), ("tanh.approx", "bf16x2", two!(B, |a, _b, _c| B(a.0.tanh()), 1)),
    ]
}

/// A result of `.ftz`: flushed where it was rounded up to the least normal number, but would be below it if exponents had no end.
/// `scaled` is the result times `UP`.
fn tiny(r: f32, scaled: impl Fn() -> f32) -> f32 {
    if r.abs() == f32::MIN_POSITIVE && scaled().abs() < f32::MIN_POSITIVE * UP { 0f32.copysign(r) } else { r }
}

const UP: f32 = (1u32 << 24) as f32;

/// Two factors, the smaller one times `UP`.
fn scale(a: f32, b: f32) -> (f32, f32) {
    if a.abs() < b.abs() { (a * UP, b) } else { (a, b * UP) }
}

fn multiply_ftz(a: f32, b: f32, round: Round) -> f32 {
    tiny(multiply(a, b, round), || {
        let (a, b) = scale(a, b);
        multiply(a, b, round)
    })
}

fn fused_ftz(a: f32, b: f32, c: f32, round: Round) -> f32 {
    tiny(fused32(a, b, c, round), || {
        let (a, b) = scale(a, b);
        fused32(a, b, c * UP, round)
    })
}

fn divide_ftz(a: f32, b: f32, round: Round) -> f32 {
    tiny(divide32(a, b, round), || divide32(a * UP, b, round))
}

/// The NaN of an f64 operation: the first of `order` that is one, made quiet, or the one that the operation makes itself. The
/// ISA leaves it open; this is an H200's.
fn nan64(order: [f64; 3], r: f64) -> f64 {
    match order.into_iter().find(|x| x.is_nan()) {
        Some(x) => f64::from_bits(x.to_bits() | QUIET64),
        None if r.is_nan() => f64::from_bits(0xFFF8_0000_0000_0000),
        None => r,
    }
}

const QUIET64: u64 = 1 << 51;

/// `abs` and `neg` of f64, which leave the sign of a NaN.
fn sign64(a: u64, f: fn(u64) -> u64) -> u64 {
    if f64::from_bits(a).is_nan() { a | QUIET64 } else { f(a) }
}

/// `abs` and `neg` of floats of fewer bits: a NaN becomes the canonical one.
fn sign_of(a: u64, infinity: u64, canonical: u64, f: fn(u64) -> u64) -> u64 {
    if a & canonical > infinity { canonical } else { f(a) }
}

/// The operations that have a rounding, in one of them.
#[rustfmt::skip]
macro_rules! rounded {
    ($rows:ident, $suffix:literal, $round:expr) => {
        let rows: [(&str, &str, Row); 18] = [
            (concat!("add", $suffix), "f32", bin!(f32, |a, b| fused32(a, 1.0, b, $round))),
            (concat!("sub", $suffix), "f32", bin!(f32, |a, b| fused32(a, 1.0, -b, $round))),
            (concat!("mul", $suffix), "f32", bin!(f32, |a, b| multiply(a, b, $round))),
            (concat!("fma", $suffix), "f32", tri!(f32, |a, b, c| fused32(a, b, c, $round))),
            (concat!("mad", $suffix), "f32", tri!(f32, |a, b, c| fused32(a, b, c, $round))),
            (concat!("div", $suffix), "f32", bin!(f32, |a, b| divide32(a, b, $round))),
            (concat!("rcp", $suffix), "f32", un!(f32, |a| divide32(1.0, a, $round))),
            (concat!("sqrt", $suffix), "f32", un!(f32, |a| root32(a, $round))),
            (concat!("mul", $suffix, ".ftz"), "f32", bin!(f32, |a, b| multiply_ftz(a, b, $round))),
            (concat!("fma", $suffix, ".ftz"), "f32", tri!(f32, |a, b, c| fused_ftz(a, b, c, $round))),
            (concat!("div", $suffix, ".ftz"), "f32", bin!(f32, |a, b| divide_ftz(a, b, $round))),
            (concat!("add", $suffix), "f64", bin!(f64, |a, b| nan64([b, a, a], add64(a, b, $round)))),
            (concat!("sub", $suffix), "f64", bin!(f64, |a, b| nan64([b, a, a], add64(a, -b, $round)))),
            (concat!("mul", $suffix), "f64", bin!(f64, |a, b| nan64([b, a, a], mul64(a, b, $round)))),
            (concat!("fma", $suffix), "f64", tri!(f64, |a, b, c| nan64([b, c, a], fused64(a, b, c, $round)))),
            (concat!("div", $suffix), "f64", bin!(f64, |a, b| nan64([a, b, b], divide64(a, b, $round)))),
            (concat!("rcp", $suffix), "f64", un!(f64, |a| nan64([a; 3], divide64(1.0, a, $round)))),
            (concat!("sqrt", $suffix), "f64", un!(f64, |a| nan64([a; 3], root64(a, $round)))),
        ];
        $rows.extend(rows);
    };
}

/// A product; added to no zero, which would change the sign of its own.
fn multiply(a: f32, b: f32, round: Round) -> f32 {
    let sign = if a.is_sign_negative() == b.is_sign_negative() { 0.0 } else { -0.0 };
    fused32(a, b, sign, round)
}

#[rustfmt::skip]
fn rounded_rows() -> Vec<Entry> {
    let mut rows: Vec<Entry> = vec![
        ("add", "f32", bin!(f32, |a, b| a + b)), ("add", "f64", bin!(f64, |a, b| nan64([b, a, a], a + b))),
        ("sub", "f32", bin!(f32, |a, b| a - b)), ("sub", "f64", bin!(f64, |a, b| nan64([b, a, a], a - b))),
        ("mul", "f32", bin!(f32, |a, b| a * b)), ("mul", "f64", bin!(f64, |a, b| nan64([b, a, a], a * b))),
        ("fma", "f32", tri!(f32, |a, b, c| a.mul_add(b, c))), ("fma", "f64", tri!(f64, |a, b, c| nan64([b, c, a], a.mul_add(b, c)))),
        ("mad", "f32", tri!(f32, |a, b, c| a.mul_add(b, c))), ("mad", "f64", tri!(f64, |a, b, c| nan64([b, c, a], a.mul_add(b, c)))),
        ("div", "f32", bin!(f32, |a, b| a / b)), ("div", "f64", bin!(f64, |a, b| nan64([a, b, b], a / b))),
        ("rcp", "f32", un!(f32, |a| 1.0 / a)), ("rcp", "f64", un!(f64, |a| nan64([a; 3], 1.0 / a))),
        ("sqrt", "f32", un!(f32, |a| a.sqrt())), ("sqrt", "f64", un!(f64, |a| nan64([a; 3], a.sqrt()))),
        ("mul.ftz", "f32", bin!(f32, |a, b| multiply_ftz(a, b, Round::Nearest))),
        ("fma.ftz", "f32", tri!(f32, |a, b, c| fused_ftz(a, b, c, Round::Nearest))),
        ("div.ftz", "f32", bin!(f32, |a, b| divide_ftz(a, b, Round::Nearest))),
    ];
    rounded!(rows, ".rz", Round::Zero);
    rounded!(rows, ".rm", Round::Down);
    rounded!(rows, ".rp", Round::Up);
    rows
}

/// Both of two numbers' signs, for `.xorsign`.
fn crossed(a: f32, b: f32, r: f32) -> f32 {
    if r.is_nan() { r } else { f32::from_bits(r.to_bits() & 0x7FFF_FFFF | (a.to_bits() ^ b.to_bits()) & 0x8000_0000) }
}

/// The same of halves, of whose NaNs only the bits know the sign.
fn crossed_half<T: Lane>(a: u16, b: u16, f: impl Fn(T, T) -> T) -> u16 {
    let r = f(T::get(u64::from(a & 0x7FFF)), T::get(u64::from(b & 0x7FFF))).put() as u16;
    // Only a NaN of both is the canonical one.
    if r == 0x7FFF { r } else { r & 0x7FFF | (a ^ b) & 0x8000 }
}

/// A half of `.ftz` before it is rounded: zero where it would stay below the least normal half if exponents had no end.
fn tiny_half(exact: f64) -> f64 {
    const LEAST: f64 = 1.0 / 16_384.0;
    let stays = || F16.decode(F16.encode(exact.abs() * 2048.0, Round::Nearest, false)) < LEAST * 2048.0;
    if exact.abs() < LEAST && stays() { 0f64.copysign(exact) } else { exact }
}

/// `a * b + c` of halves, exact but for an odd last bit that tells that it is not: it rounds to a half as the exact sum does.
fn sticky(a: f64, b: f64, c: f64) -> f64 {
    let (product, sum) = (a * b, a.mul_add(b, c));
    if !sum.is_finite() || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let back = sum - product;
    let lost = (product - (sum - back)) + (c - back);
    if lost > 0.0 {
        sum.next_up()
    } else if lost < 0.0 {
        sum.next_down()
    } else {
        sum
    }
}

/// `min` and `max` of one type of halves, with all their modifiers, on one value and on two.
macro_rules! half_extremes {
    ($rows:ident, $op:literal, $f:ident, $half:ident, $one:literal, $two:literal) => {
        let rows: [(&str, &str, Row); 8] = [
            ($op, $one, bin!($half, |a, b| $half($f(a.0, b.0)))),
            ($op, $two, two!($half, |a, b, _c| $half($f(a.0, b.0)), 2)),
            (concat!($op, ".NaN"), $one, bin!($half, |a, b| $half(nan(a.0, b.0, $f(a.0, b.0))))),
            (concat!($op, ".NaN"), $two, two!($half, |a, b, _c| $half(nan(a.0, b.0, $f(a.0, b.0))), 2)),
            (
                concat!($op, ".xorsign.abs"),
                $one,
                bin!(u16, |a, b| crossed_half(a, b, |x: $half, y: $half| $half($f(x.0, y.0)))),
            ),
            (
                concat!($op, ".xorsign.abs"),
                $two,
                two!(u16, |a, b, _c| crossed_half(a, b, |x: $half, y: $half| $half($f(x.0, y.0))), 2),
            ),
            (
                concat!($op, ".NaN.xorsign.abs"),
                $one,
                bin!(u16, |a, b| crossed_half(a, b, |x: $half, y: $half| $half(nan(x.0, y.0, $f(x.0, y.0))))),
            ),
            (
                concat!($op, ".NaN.xorsign.abs"),
                $two,
                two!(u16, |a, b, _c| crossed_half(a, b, |x: $half, y: $half| $half(nan(x.0, y.0, $f(x.0, y.0)))), 2),
            ),
        ];
        $rows.extend(rows);
    };
}

/// `min` and `max` with all their modifiers, of f32 and of halves.
macro_rules! extremes {
    ($rows:ident, $op:literal, $f:ident) => {
        let rows: [(&str, &str, Row); 4] = [
            ($op, "f32", bin!(f32, |a, b| $f(a, b))),
            (concat!($op, ".NaN"), "f32", bin!(f32, |a, b| nan(a, b, $f(a, b)))),
            (concat!($op, ".xorsign.abs"), "f32", bin!(f32, |a, b| crossed(a, b, $f(a.abs(), b.abs())))),
            (concat!($op, ".NaN.xorsign.abs"), "f32", bin!(f32, |a, b| nan(a, b, crossed(a, b, $f(a.abs(), b.abs()))))),
        ];
        $rows.extend(rows);
        half_extremes!($rows, $op, $f, H, "f16", "f16x2");
        half_extremes!($rows, $op, $f, B, "bf16", "bf16x2");
    };
}

fn extreme_rows() -> Vec<Entry> {
    let mut rows = Vec::new();
    extremes!(rows, "min", min32);
    extremes!(rows, "max", max32);
    rows
}

/// A gross approximation of f64: only the upper word of the operand is read, and of the result is given.
fn gross(a: f64, f: fn(f64) -> f64) -> f64 {
    let upper = |x: f64| f64::from_bits(x.to_bits() & !0xFFFF_FFFF);
    let flushed = |x: f64| if x.is_subnormal() { 0f64.copysign(x) } else { x };
    flushed(upper(f(flushed(upper(a)))))
}

/// Applies `f` to every float of a register, as bits of `bits`.
fn each(x: &mut Lanes, width: Width, f: fn(u64, u32) -> u64) {
    for v in x.iter_mut() {
        *v = match width {
            Width::Single => f(*v & 0xFFFF_FFFF, 32),
            // As the upper half of an f32.
            Width::Brain => f((*v & 0xFFFF) << 16, 32) >> 16,
            Width::BrainPair => f((*v & 0xFFFF) << 16, 32) >> 16 | f(*v & 0xFFFF_0000, 32),
            Width::SinglePair => f(*v & 0xFFFF_FFFF, 32) | f(*v >> 32, 32) << 32,
            Width::Half => f(*v & 0xFFFF, 16),
            Width::HalfPair => f(*v & 0xFFFF, 16) | f(*v >> 16 & 0xFFFF, 16) << 16,
        };
    }
}

/// Flushes subnormals of a register to zero.
pub fn flush(x: &mut Lanes, width: Width) {
    each(x, width, |v, bits| {
        let (exponent, sign) = if bits == 32 { (0x7F80_0000, 0x8000_0000) } else { (0x7C00, 0x8000) };
        if v & exponent == 0 { v & sign } else { v }
    });
}

/// Clamps floats of a register to [0, 1]; NaN becomes 0.
pub fn saturate(x: &mut Lanes, width: Width) {
    each(x, width, |v, bits| {
        let (one, sign) = if bits == 32 { (0x3F80_0000, 0x8000_0000) } else { (0x3C00, 0x8000) };
        let infinity = if bits == 32 { 0x7F80_0000 } else { 0x7C00 };
        if v & sign != 0 || v & (sign - 1) > infinity { 0 } else { v.min(one) }
    });
}
