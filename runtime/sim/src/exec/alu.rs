//! Arithmetic, a row an instruction. A row's function does a whole warp; masks are applied by the caller.

use super::bits;
use super::lane::{B, BWide, H, HWide, Lane, Lanes};
use crate::numeric::convert::fused32;
use crate::numeric::minifloat::Round;
use std::array::from_fn;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Computes a register of a warp from up to three.
pub type AluFn = fn(&Lanes, &Lanes, &Lanes) -> Lanes;
/// Compares two registers of a warp; one bit a lane.
pub type CmpFn = fn(&Lanes, &Lanes) -> u32;

/// An arithmetic instruction.
#[derive(Clone, Copy)]
pub struct Row {
    /// Source operands.
    pub arity: usize,
    /// What it computes.
    pub f: AluFn,
}

macro_rules! un {
    ($t:ty, |$a:ident| $e:expr) => {
        Row {
            arity: 1,
            f: |a, _, _| {
                from_fn(|i| {
                    let $a = <$t as Lane>::get(a[i]);
                    ($e).put()
                })
            },
        }
    };
}
macro_rules! bin {
    ($t:ty, |$a:ident, $b:ident| $e:expr) => {
        Row {
            arity: 2,
            f: |a, b, _| {
                from_fn(|i| {
                    let ($a, $b) = (<$t as Lane>::get(a[i]), <$t as Lane>::get(b[i]));
                    ($e).put()
                })
            },
        }
    };
}
macro_rules! tri {
    ($t:ty, |$a:ident, $b:ident, $c:ident| $e:expr) => {
        Row {
            arity: 3,
            f: |a, b, c| {
                from_fn(|i| {
                    let ($a, $b, $c) = (<$t as Lane>::get(a[i]), <$t as Lane>::get(b[i]), <$t as Lane>::get(c[i]));
                    ($e).put()
                })
            },
        }
    };
}
/// The third operand has a type of its own.
macro_rules! mix {
    ($t:ty, $u:ty, $v:ty, |$a:ident, $b:ident, $c:ident| $e:expr) => {
        Row {
            arity: 3,
            f: |a, b, c| {
                from_fn(|i| {
                    let ($a, $b, $c) = (<$t as Lane>::get(a[i]), <$u as Lane>::get(b[i]), <$v as Lane>::get(c[i]));
                    ($e).put()
                })
            },
        }
    };
}
macro_rules! shift {
    ($t:ty, |$a:ident, $n:ident| $e:expr) => {
        Row {
            arity: 2,
            f: |a, b, _| {
                from_fn(|i| {
                    let ($a, $n) = (<$t as Lane>::get(a[i]), b[i] as u32);
                    ($e).put()
                })
            },
        }
    };
}
/// Both 16-bit halves of a 32-bit lane.
macro_rules! two {
    ($t:ty, |$a:ident, $b:ident, $c:ident| $e:expr, $n:expr) => {
        Row {
            arity: $n,
            f: |a, b, c| {
                from_fn(|i| {
                    let half = |s: u32| {
                        let ($a, $b, $c) =
                            (<$t as Lane>::get(a[i] >> s), <$t as Lane>::get(b[i] >> s), <$t as Lane>::get(c[i] >> s));
                        let _ = (&$b, &$c);
                        ($e).put() & 0xFFFF
                    };
                    half(0) | half(16) << 16
                })
            },
        }
    };
}

/// The lesser, or the greater, as PTX orders them: -0 below +0, a number before a NaN.
macro_rules! choose {
    ($a:expr, $b:expr, $op:tt, $negative:expr) => {{
        let (a, b) = ($a, $b);
        let first = b.is_nan() || a $op b || (a == b && a.is_sign_negative() == $negative);
        if first && !a.is_nan() { a } else { b }
    }};
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

/// Opcode without rounding and flush modifiers, its types, and what it does.
type Entry = (&'static str, &'static str, Row);

#[rustfmt::skip]
fn integer_rows() -> Vec<Entry> {
    vec![
        ("add", "u16 s16", bin!(u16, |a, b| a.wrapping_add(b))),
        ("add", "u32 s32 b32", bin!(u32, |a, b| a.wrapping_add(b))),
        ("add", "u64 s64 b64", bin!(u64, |a, b| a.wrapping_add(b))),
        ("add.sat", "s32", bin!(i32, |a, b| a.saturating_add(b))),
        ("sub", "u16 s16", bin!(u16, |a, b| a.wrapping_sub(b))),
        ("sub", "u32 s32", bin!(u32, |a, b| a.wrapping_sub(b))),
        ("sub", "u64 s64", bin!(u64, |a, b| a.wrapping_sub(b))),
        ("sub.sat", "s32", bin!(i32, |a, b| a.saturating_sub(b))),
        ("add", "u16x2 s16x2", two!(u16, |a, b, _c| a.wrapping_add(b), 2)),
        ("mul.lo", "u16 s16", bin!(u16, |a, b| a.wrapping_mul(b))),
        ("mul.lo", "u32 s32", bin!(u32, |a, b| a.wrapping_mul(b))),
        ("mul.lo", "u64 s64", bin!(u64, |a, b| a.wrapping_mul(b))),
        ("mul.hi", "u16", bin!(u16, |a, b| ((u32::from(a) * u32::from(b)) >> 16) as u16)),
        ("mul.hi", "s16", bin!(i16, |a, b| ((i32::from(a) * i32::from(b)) >> 16) as i16)),
        ("mul.hi", "u32", bin!(u32, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32)),
        ("mul.hi", "s32", bin!(i32, |a, b| ((i64::from(a) * i64::from(b)) >> 32) as i32)),
        ("mul.hi", "u64", bin!(u64, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64)),
        ("mul.hi", "s64", bin!(i64, |a, b| ((i128::from(a) * i128::from(b)) >> 64) as i64)),
        ("mul.wide", "u16", bin!(u16, |a, b| u32::from(a) * u32::from(b))),
        ("mul.wide", "s16", bin!(i16, |a, b| i32::from(a) * i32::from(b))),
        ("mul.wide", "u32", bin!(u32, |a, b| u64::from(a) * u64::from(b))),
        ("mul.wide", "s32", bin!(i32, |a, b| i64::from(a) * i64::from(b))),
        ("mul24.lo", "u32 s32", bin!(u32, |a, b| (a << 8 >> 8).wrapping_mul(b << 8 >> 8))),
        ("mad.lo", "u16 s16", tri!(u16, |a, b, c| a.wrapping_mul(b).wrapping_add(c))),
        ("mad.lo", "u32 s32", tri!(u32, |a, b, c| a.wrapping_mul(b).wrapping_add(c))),
        ("mad.lo", "u64 s64", tri!(u64, |a, b, c| a.wrapping_mul(b).wrapping_add(c))),
        ("mad.hi", "u32", tri!(u32, |a, b, c| (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c))),
        ("mad.hi", "s32", tri!(i32, |a, b, c| (((i64::from(a) * i64::from(b)) >> 32) as i32).wrapping_add(c))),
        ("mad.hi", "u64", tri!(u64, |a, b, c| (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c))),
        ("mad.wide", "u16", mix!(u16, u16, u32, |a, b, c| (u32::from(a) * u32::from(b)).wrapping_add(c))),
        ("mad.wide", "s16", mix!(i16, i16, i32, |a, b, c| (i32::from(a) * i32::from(b)).wrapping_add(c))),
        ("mad.wide", "u32", mix!(u32, u32, u64, |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c))),
        ("mad.wide", "s32", mix!(i32, i32, i64, |a, b, c| (i64::from(a) * i64::from(b)).wrapping_add(c))),
        // Division by zero has no defined result; all ones is what the hardware's sequence gives.
        ("div", "u16", bin!(u16, |a, b| a.checked_div(b).unwrap_or(u16::MAX))),
        ("div", "s16", bin!(i16, |a, b| if b == 0 { -1 } else { a.wrapping_div(b) })),
        ("div", "u32", bin!(u32, |a, b| a.checked_div(b).unwrap_or(u32::MAX))),
        ("div", "s32", bin!(i32, |a, b| if b == 0 { -1 } else { a.wrapping_div(b) })),
        ("div", "u64", bin!(u64, |a, b| a.checked_div(b).unwrap_or(u64::MAX))),
        ("div", "s64", bin!(i64, |a, b| if b == 0 { -1 } else { a.wrapping_div(b) })),
        ("rem", "u16", bin!(u16, |a, b| a.checked_rem(b).unwrap_or(a))),
        ("rem", "s16", bin!(i16, |a, b| if b == 0 { a } else { a.wrapping_rem(b) })),
        ("rem", "u32", bin!(u32, |a, b| a.checked_rem(b).unwrap_or(a))),
        ("rem", "s32", bin!(i32, |a, b| if b == 0 { a } else { a.wrapping_rem(b) })),
        ("rem", "u64", bin!(u64, |a, b| a.checked_rem(b).unwrap_or(a))),
        ("rem", "s64", bin!(i64, |a, b| if b == 0 { a } else { a.wrapping_rem(b) })),
        ("min", "u16", bin!(u16, |a, b| a.min(b))), ("max", "u16", bin!(u16, |a, b| a.max(b))),
        ("min", "s16", bin!(i16, |a, b| a.min(b))), ("max", "s16", bin!(i16, |a, b| a.max(b))),
        ("min", "u32", bin!(u32, |a, b| a.min(b))), ("max", "u32", bin!(u32, |a, b| a.max(b))),
        ("min", "s32", bin!(i32, |a, b| a.min(b))), ("max", "s32", bin!(i32, |a, b| a.max(b))),
        ("min", "u64", bin!(u64, |a, b| a.min(b))), ("max", "u64", bin!(u64, |a, b| a.max(b))),
        ("min", "s64", bin!(i64, |a, b| a.min(b))), ("max", "s64", bin!(i64, |a, b| a.max(b))),
        ("min", "u16x2", two!(u16, |a, b, _c| a.min(b), 2)), ("max", "u16x2", two!(u16, |a, b, _c| a.max(b), 2)),
        ("min", "s16x2", two!(i16, |a, b, _c| a.min(b), 2)), ("max", "s16x2", two!(i16, |a, b, _c| a.max(b), 2)),
        ("min.relu", "s32", bin!(i32, |a, b| a.min(b).max(0))), ("max.relu", "s32", bin!(i32, |a, b| a.max(b).max(0))),
        ("abs", "s16", un!(i16, |a| a.wrapping_abs())),
        ("abs", "s32", un!(i32, |a| a.wrapping_abs())),
        ("abs", "s64", un!(i64, |a| a.wrapping_abs())),
        ("neg", "s16", un!(i16, |a| a.wrapping_neg())),
        ("neg", "s32", un!(i32, |a| a.wrapping_neg())),
        ("neg", "s64", un!(i64, |a| a.wrapping_neg())),
        ("sad", "u32", tri!(u32, |a, b, c| a.abs_diff(b).wrapping_add(c))),
        ("sad", "s32", tri!(i32, |a, b, c| (a.abs_diff(b) as i32).wrapping_add(c))),
        ("and", "b16", bin!(u16, |a, b| a & b)), ("and", "b32", bin!(u32, |a, b| a & b)), ("and", "b64", bin!(u64, |a, b| a & b)),
        ("or", "b16", bin!(u16, |a, b| a | b)), ("or", "b32", bin!(u32, |a, b| a | b)), ("or", "b64", bin!(u64, |a, b| a | b)),
        ("xor", "b16", bin!(u16, |a, b| a ^ b)), ("xor", "b32", bin!(u32, |a, b| a ^ b)), ("xor", "b64", bin!(u64, |a, b| a ^ b)),
        ("not", "b16", un!(u16, |a| !a)), ("not", "b32", un!(u32, |a| !a)), ("not", "b64", un!(u64, |a| !a)),
        ("cnot", "b16", un!(u16, |a| u16::from(a == 0))), ("cnot", "b32", un!(u32, |a| u32::from(a == 0))), ("cnot", "b64", un!(u64, |a| u64::from(a == 0))),
        ("shl", "b16", shift!(u16, |a, n| a.checked_shl(n).unwrap_or(0))),
        ("shl", "b32", shift!(u32, |a, n| a.checked_shl(n).unwrap_or(0))),
        ("shl", "b64", shift!(u64, |a, n| a.checked_shl(n).unwrap_or(0))),
        ("shr", "u16 b16", shift!(u16, |a, n| a.checked_shr(n).unwrap_or(0))),
        ("shr", "u32 b32", shift!(u32, |a, n| a.checked_shr(n).unwrap_or(0))),
        ("shr", "u64 b64", shift!(u64, |a, n| a.checked_shr(n).unwrap_or(0))),
        ("shr", "s16", shift!(i16, |a, n| a >> n.min(15))),
        ("shr", "s32", shift!(i32, |a, n| a >> n.min(31))),
        ("shr", "s64", shift!(i64, |a, n| a >> n.min(63))),
        ("shf.l.wrap", "b32", tri!(u32, |a, b, c| (((u64::from(b) << 32 | u64::from(a)) << (c & 31)) >> 32) as u32)),
        ("shf.r.wrap", "b32", tri!(u32, |a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32)),
        ("shf.l.clamp", "b32", tri!(u32, |a, b, c| (((u64::from(b) << 32 | u64::from(a)) << c.min(32)) >> 32) as u32)),
        ("shf.r.clamp", "b32", tri!(u32, |a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32)),
        ("popc", "b32", un!(u32, |a| a.count_ones())), ("popc", "b64", un!(u64, |a| a.count_ones())),
        ("clz", "b32", un!(u32, |a| a.leading_zeros())), ("clz", "b64", un!(u64, |a| a.leading_zeros())),
        ("brev", "b32", un!(u32, |a| a.reverse_bits())), ("brev", "b64", un!(u64, |a| a.reverse_bits())),
        ("bfind", "u32", un!(u32, |a| 31u32.wrapping_sub(a.leading_zeros()))),
        ("bfind", "u64", un!(u64, |a| 63u32.wrapping_sub(a.leading_zeros()))),
        ("bfind", "s32", un!(i32, |a| 31u32.wrapping_sub((a ^ a >> 31).leading_zeros()))),
        ("bfind.shiftamt", "u32", un!(u32, |a| if a == 0 { u32::MAX } else { a.leading_zeros() })),
        ("bfe", "u32", tri!(u32, |a, b, c| bits::extract(u64::from(a), b, c, 32, false) as u32)),
        ("bfe", "s32", tri!(u32, |a, b, c| bits::extract(u64::from(a), b, c, 32, true) as u32)),
        ("bfe", "u64", mix!(u64, u32, u32, |a, b, c| bits::extract(a, b, c, 64, false))),
        ("bfe", "s64", mix!(u64, u32, u32, |a, b, c| bits::extract(a, b, c, 64, true))),
        ("bmsk.clamp", "b32", bin!(u32, |a, b| bits::mask(a, b))),
        ("szext.clamp", "u32", bin!(u32, |a, n| if n >= 32 { a } else { a & !(u32::MAX << n) })),
        ("szext.clamp", "s32", bin!(i32, |a, n| if n as u32 == 0 { 0 } else if n as u32 >= 32 { a } else { a << (32 - n) >> (32 - n) })),
        ("prmt", "b32", tri!(u32, |a, b, c| bits::permute(a, b, c))),
        ("mov", "b16 u16 s16 f16 bf16", un!(u16, |a| a)),
        ("mov", "b32 u32 s32 f32 f16x2 bf16x2", un!(u32, |a| a)),
        ("mov", "b64 u64 s64 f64", un!(u64, |a| a)),
        ("dp4a", "u32.u32", tri!(u32, |a, b, c| bits::dot4(a, b, c, false, false))),
        ("dp4a", "s32.s32", tri!(u32, |a, b, c| bits::dot4(a, b, c, true, true))),
        ("dp4a", "u32.s32", tri!(u32, |a, b, c| bits::dot4(a, b, c, false, true))),
        ("dp4a", "s32.u32", tri!(u32, |a, b, c| bits::dot4(a, b, c, true, false))),
    ]
}

#[rustfmt::skip]
fn float_rows() -> Vec<Entry> {
    vec![
        ("add", "f32", bin!(f32, |a, b| a + b)), ("add", "f64", bin!(f64, |a, b| a + b)),
        ("sub", "f32", bin!(f32, |a, b| a - b)), ("sub", "f64", bin!(f64, |a, b| a - b)),
        ("mul", "f32", bin!(f32, |a, b| a * b)), ("mul", "f64", bin!(f64, |a, b| a * b)),
        ("fma", "f32", tri!(f32, |a, b, c| a.mul_add(b, c))), ("fma", "f64", tri!(f64, |a, b, c| a.mul_add(b, c))),
        ("mad", "f32", tri!(f32, |a, b, c| a.mul_add(b, c))), ("mad", "f64", tri!(f64, |a, b, c| a.mul_add(b, c))),
        ("add", "f32x2", Row { arity: 2, f: |a, b, _| from_fn(|i| bits::f32x2(a[i], b[i], 0, |a, b, _| a + b)) }),
        ("mul", "f32x2", Row { arity: 2, f: |a, b, _| from_fn(|i| bits::f32x2(a[i], b[i], 0, |a, b, _| a * b)) }),
        ("fma", "f32x2", Row { arity: 3, f: |a, b, c| from_fn(|i| bits::f32x2(a[i], b[i], c[i], f32::mul_add)) }),
        ("div", "f32", bin!(f32, |a, b| a / b)), ("div", "f64", bin!(f64, |a, b| a / b)),
        ("div.full", "f32", bin!(f32, |a, b| a / b)), ("div.approx", "f32", bin!(f32, |a, b| a / b)),
        ("rcp", "f32", un!(f32, |a| 1.0 / a)), ("rcp.approx", "f32", un!(f32, |a| 1.0 / a)),
        ("rcp", "f64", un!(f64, |a| 1.0 / a)), ("rcp.approx", "f64", un!(f64, |a| 1.0 / a)),
        ("sqrt", "f32", un!(f32, |a| a.sqrt())), ("sqrt.approx", "f32", un!(f32, |a| a.sqrt())), ("sqrt", "f64", un!(f64, |a| a.sqrt())),
        ("rsqrt.approx", "f32", un!(f32, |a| (1.0 / f64::from(a).sqrt()) as f32)), ("rsqrt.approx", "f64", un!(f64, |a| 1.0 / a.sqrt())),
        ("sin.approx", "f32", un!(f32, |a| a.sin())), ("cos.approx", "f32", un!(f32, |a| a.cos())),
        ("lg2.approx", "f32", un!(f32, |a| a.log2())), ("ex2.approx", "f32", un!(f32, |a| a.exp2())),
        ("tanh.approx", "f32", un!(f32, |a| a.tanh())),
        ("min", "f32", bin!(f32, |a, b| min32(a, b))), ("max", "f32", bin!(f32, |a, b| max32(a, b))),
        ("min.NaN", "f32", bin!(f32, |a, b| nan(a, b, min32(a, b)))), ("max.NaN", "f32", bin!(f32, |a, b| nan(a, b, max32(a, b)))),
        ("min", "f64", bin!(f64, |a, b| min64(a, b))), ("max", "f64", bin!(f64, |a, b| max64(a, b))),
        ("abs", "f32", un!(u32, |a| a & 0x7FFF_FFFF)), ("abs", "f64", un!(u64, |a| a & !(1 << 63))),
        ("neg", "f32", un!(u32, |a| a ^ 1 << 31)), ("neg", "f64", un!(u64, |a| a ^ 1 << 63)),
        ("copysign", "f32", bin!(u32, |a, b| a & 1 << 31 | b & 0x7FFF_FFFF)), ("copysign", "f64", bin!(u64, |a, b| a & 1 << 63 | b & !(1 << 63))),
        ("add", "f16", bin!(H, |a, b| H(a.0 + b.0))), ("add", "bf16", bin!(B, |a, b| B(a.0 + b.0))),
        ("sub", "f16", bin!(H, |a, b| H(a.0 - b.0))), ("sub", "bf16", bin!(B, |a, b| B(a.0 - b.0))),
        ("mul", "f16", bin!(H, |a, b| H(a.0 * b.0))), ("mul", "bf16", bin!(B, |a, b| B(a.0 * b.0))),
        ("fma", "f16", tri!(HWide, |a, b, c| HWide(a.0.mul_add(b.0, c.0)))), ("fma", "bf16", tri!(BWide, |a, b, c| BWide(a.0.mul_add(b.0, c.0)))),
        ("fma.relu", "f16", tri!(HWide, |a, b, c| HWide(relu64(a.0.mul_add(b.0, c.0))))), ("fma.relu", "bf16", tri!(BWide, |a, b, c| BWide(relu64(a.0.mul_add(b.0, c.0))))),
        ("min", "f16", bin!(H, |a, b| H(min32(a.0, b.0)))), ("min", "bf16", bin!(B, |a, b| B(min32(a.0, b.0)))),
        ("max", "f16", bin!(H, |a, b| H(max32(a.0, b.0)))), ("max", "bf16", bin!(B, |a, b| B(max32(a.0, b.0)))),
        ("min.NaN", "f16", bin!(H, |a, b| H(nan(a.0, b.0, min32(a.0, b.0))))), ("min.NaN", "bf16", bin!(B, |a, b| B(nan(a.0, b.0, min32(a.0, b.0))))),
        ("max.NaN", "f16", bin!(H, |a, b| H(nan(a.0, b.0, max32(a.0, b.0))))), ("max.NaN", "bf16", bin!(B, |a, b| B(nan(a.0, b.0, max32(a.0, b.0))))),
        ("ex2.approx", "f16", un!(H, |a| H(a.0.exp2()))), ("ex2.approx", "bf16", un!(B, |a| B(a.0.exp2()))),
        ("tanh.approx", "f16", un!(H, |a| H(a.0.tanh()))), ("tanh.approx", "bf16", un!(B, |a| B(a.0.tanh()))),
        ("abs", "f16 bf16", un!(u16, |a| a & 0x7FFF)), ("neg", "f16 bf16", un!(u16, |a| a ^ 0x8000)),
        ("abs", "f16x2 bf16x2", un!(u32, |a| a & 0x7FFF_7FFF)), ("neg", "f16x2 bf16x2", un!(u32, |a| a ^ 0x8000_8000)),
        ("add", "f16x2", two!(H, |a, b, _c| H(a.0 + b.0), 2)), ("add", "bf16x2", two!(B, |a, b, _c| B(a.0 + b.0), 2)),
        ("sub", "f16x2", two!(H, |a, b, _c| H(a.0 - b.0), 2)), ("sub", "bf16x2", two!(B, |a, b, _c| B(a.0 - b.0), 2)),
        ("mul", "f16x2", two!(H, |a, b, _c| H(a.0 * b.0), 2)), ("mul", "bf16x2", two!(B, |a, b, _c| B(a.0 * b.0), 2)),
        ("fma", "f16x2", two!(HWide, |a, b, c| HWide(a.0.mul_add(b.0, c.0)), 3)), ("fma", "bf16x2", two!(BWide, |a, b, c| BWide(a.0.mul_add(b.0, c.0)), 3)),
        ("fma.relu", "f16x2", two!(HWide, |a, b, c| HWide(relu64(a.0.mul_add(b.0, c.0))), 3)), ("fma.relu", "bf16x2", two!(BWide, |a, b, c| BWide(relu64(a.0.mul_add(b.0, c.0))), 3)),
        ("min", "f16x2", two!(H, |a, b, _c| H(min32(a.0, b.0)), 2)), ("min", "bf16x2", two!(B, |a, b, _c| B(min32(a.0, b.0)), 2)),
        ("max", "f16x2", two!(H, |a, b, _c| H(max32(a.0, b.0)), 2)), ("max", "bf16x2", two!(B, |a, b, _c| B(max32(a.0, b.0)), 2)),
        ("max.NaN", "f16x2", two!(H, |a, b, _c| H(nan(a.0, b.0, max32(a.0, b.0))), 2)), ("max.NaN", "bf16x2", two!(B, |a, b, _c| B(nan(a.0, b.0, max32(a.0, b.0))), 2)),
        ("ex2.approx", "f16x2", two!(H, |a, _b, _c| H(a.0.exp2()), 1)), ("ex2.approx", "bf16x2", two!(B, |a, _b, _c| B(a.0.exp2()), 1)),
        ("tanh.approx", "f16x2", two!(H, |a, _b, _c| H(a.0.tanh()), 1)), ("tanh.approx", "bf16x2", two!(B, |a, _b, _c| B(a.0.tanh()), 1)),
        ("add.rz", "f32", bin!(f32, |a, b| fused32(a, 1.0, b, Round::Zero))), ("sub.rz", "f32", bin!(f32, |a, b| fused32(a, 1.0, -b, Round::Zero))),
        ("mul.rz", "f32", bin!(f32, |a, b| fused32(a, b, -0.0, Round::Zero))), ("fma.rz", "f32", tri!(f32, |a, b, c| fused32(a, b, c, Round::Zero))),
        ("add.rm", "f32", bin!(f32, |a, b| fused32(a, 1.0, b, Round::Down))), ("sub.rm", "f32", bin!(f32, |a, b| fused32(a, 1.0, -b, Round::Down))),
        ("mul.rm", "f32", bin!(f32, |a, b| fused32(a, b, -0.0, Round::Down))), ("fma.rm", "f32", tri!(f32, |a, b, c| fused32(a, b, c, Round::Down))),
        ("add.rp", "f32", bin!(f32, |a, b| fused32(a, 1.0, b, Round::Up))), ("sub.rp", "f32", bin!(f32, |a, b| fused32(a, 1.0, -b, Round::Up))),
        ("mul.rp", "f32", bin!(f32, |a, b| fused32(a, b, -0.0, Round::Up))), ("fma.rp", "f32", tri!(f32, |a, b, c| fused32(a, b, c, Round::Up))),
    ]
}

/// The row of an opcode such as `mul.wide` with type `u32`.
pub fn find(name: &str, ty: &str) -> Option<Row> {
    static TABLE: OnceLock<HashMap<String, Row>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table = HashMap::new();
        for (name, types, row) in integer_rows().into_iter().chain(float_rows()) {
            for ty in types.split(' ') {
                table.insert(format!("{name}.{ty}"), row);
            }
        }
        table
    });
    table.get(&format!("{name}.{ty}")).copied()
}

macro_rules! cmp {
    ($t:ty, |$a:ident, $b:ident| $e:expr) => {
        |a, b| {
            let mut mask = 0;
            for i in 0..a.len() {
                let ($a, $b) = (<$t as Lane>::get(a[i]), <$t as Lane>::get(b[i]));
                mask |= u32::from($e) << i;
            }
            mask
        }
    };
}
macro_rules! integer_compare {
    ($op:expr, $t:ty) => {
        match $op {
            "eq" => Some(cmp!($t, |a, b| a == b)),
            "ne" => Some(cmp!($t, |a, b| a != b)),
            "lt" | "lo" => Some(cmp!($t, |a, b| a < b)),
            "le" | "ls" => Some(cmp!($t, |a, b| a <= b)),
            "gt" | "hi" => Some(cmp!($t, |a, b| a > b)),
            "ge" | "hs" => Some(cmp!($t, |a, b| a >= b)),
            _ => None,
        }
    };
}
macro_rules! float_compare {
    ($op:expr, $t:ty, $f:tt) => {
        match $op {
            "eq" => Some(cmp!($t, |a, b| a.$f == b.$f)),
            "ne" => Some(cmp!($t, |a, b| a.$f != b.$f && !a.$f.is_nan() && !b.$f.is_nan())),
            "lt" => Some(cmp!($t, |a, b| a.$f < b.$f)),
            "le" => Some(cmp!($t, |a, b| a.$f <= b.$f)),
            "gt" => Some(cmp!($t, |a, b| a.$f > b.$f)),
            "ge" => Some(cmp!($t, |a, b| a.$f >= b.$f)),
            "equ" => Some(cmp!($t, |a, b| a.$f == b.$f || a.$f.is_nan() || b.$f.is_nan())),
            "neu" => Some(cmp!($t, |a, b| a.$f != b.$f)),
            "ltu" => Some(cmp!($t, |a, b| a.$f < b.$f || a.$f.is_nan() || b.$f.is_nan())),
            "leu" => Some(cmp!($t, |a, b| a.$f <= b.$f || a.$f.is_nan() || b.$f.is_nan())),
            "gtu" => Some(cmp!($t, |a, b| a.$f > b.$f || a.$f.is_nan() || b.$f.is_nan())),
            "geu" => Some(cmp!($t, |a, b| a.$f >= b.$f || a.$f.is_nan() || b.$f.is_nan())),
            "num" => Some(cmp!($t, |a, b| !a.$f.is_nan() && !b.$f.is_nan())),
            "nan" => Some(cmp!($t, |a, b| a.$f.is_nan() || b.$f.is_nan())),
            _ => None,
        }
    };
}

/// f32 and f64 behind a field, as the half types are.
#[derive(Clone, Copy)]
struct F<T>(T);

impl Lane for F<f32> {
    fn get(bits: u64) -> Self {
        F(f32::get(bits))
    }
    fn put(self) -> u64 {
        self.0.put()
    }
}

impl Lane for F<f64> {
    fn get(bits: u64) -> Self {
        F(f64::get(bits))
    }
    fn put(self) -> u64 {
        self.0.put()
    }
}

/// The comparison `op` (such as `ltu`) on `ty`.
pub fn compare(op: &str, ty: &str) -> Option<CmpFn> {
    match ty {
        "u16" | "b16" => integer_compare!(op, u16),
        "s16" => integer_compare!(op, i16),
        "u32" | "b32" => integer_compare!(op, u32),
        "s32" => integer_compare!(op, i32),
        "u64" | "b64" => integer_compare!(op, u64),
        "s64" => integer_compare!(op, i64),
        "f16" => float_compare!(op, H, 0),
        "bf16" => float_compare!(op, B, 0),
        "f32" => float_compare!(op, F<f32>, 0),
        "f64" => float_compare!(op, F<f64>, 0),
        _ => None,
    }
}

/// Flushes f32 subnormals of a register to zero.
pub fn flush(x: &mut Lanes) {
    for v in x.iter_mut() {
        if *v & 0x7F80_0000 == 0 {
            *v &= 0x8000_0000;
        }
    }
}

/// Clamps f32 lanes to [0, 1]; NaN becomes 0.
pub fn saturate(x: &mut Lanes) {
    for v in x.iter_mut() {
        let f = f32::get(*v);
        *v = if f.is_nan() { 0 } else { f.clamp(0.0, 1.0).put() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(name: &str, ty: &str, a: u64, b: u64, c: u64) -> u64 {
        find(name, ty).map_or(u64::MAX, |row| (row.f)(&[a; 32], &[b; 32], &[c; 32])[7])
    }

    #[test]
    fn integers() {
        assert_eq!(eval("mul.wide", "s32", u64::from(-3i32 as u32), 5, 0), (-15i64) as u64);
        assert_eq!(eval("mul.hi", "u32", 0xFFFF_FFFF, 0xFFFF_FFFF, 0), 0xFFFF_FFFE);
        assert_eq!(eval("shr", "s32", 0x8000_0000, 40, 0), 0xFFFF_FFFF);
        assert_eq!(eval("shf.l.wrap", "b32", 0x8000_0000, 1, 1), 3);
        assert_eq!(eval("bfind", "u32", 0, 0, 0), 0xFFFF_FFFF);
        assert_eq!(eval("prmt", "b32", 0x3322_1100, 0x7766_5544, 0x7531), 0x7755_3311);
    }

    #[test]
    fn floats() {
        let f = |x: f32| u64::from(x.to_bits());
        assert_eq!(eval("min", "f32", f(f32::NAN), f(2.0), 0), f(2.0));
        assert_eq!(eval("max.NaN", "f32", f(f32::NAN), f(2.0), 0), 0x7FFF_FFFF);
        assert_eq!(eval("min", "f32", f(0.0), f(-0.0), 0), f(-0.0));
        assert_eq!(eval("fma", "f16x2", 0x3C00_4000, 0x4000_4000, 0x3C00_3C00), 0x4200_4500);
    }

    #[test]
    fn unordered_comparisons() {
        let nan = [u64::from(f32::NAN.to_bits()); 32];
        let one = [u64::from(1f32.to_bits()); 32];
        let test = |op| compare(op, "f32").map(|f| f(&nan, &one));
        assert_eq!(test("lt"), Some(0));
        assert_eq!(test("ltu"), Some(u32::MAX));
        assert_eq!(test("ne"), Some(0));
        assert_eq!(test("neu"), Some(u32::MAX));
    }
}
