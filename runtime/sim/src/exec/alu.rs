//! Arithmetic, a row an instruction. A row's function does a whole warp; masks are applied by the caller.

use super::bits;
use super::lane::{Lane, Lanes};
use std::array::from_fn;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Computes a register of a warp from up to three.
pub type AluFn = fn(&Lanes, &Lanes, &Lanes) -> Lanes;
/// An arithmetic instruction.
#[derive(Clone, Copy)]
pub struct Row {
    /// Source operands.
    pub arity: usize,
    /// What it computes.
    pub f: AluFn,
}

/// Opcode without rounding and flush modifiers, its types, and what it does.
pub type Entry = (&'static str, &'static str, Row);

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
        ("mul24.lo", "u32", bin!(u32, |a, b| (a << 8 >> 8).wrapping_mul(b << 8 >> 8))), ("mul24.lo", "s32", bin!(i32, |a, b| (a << 8 >> 8).wrapping_mul(b << 8 >> 8))),
        ("mul24.hi", "u32", bin!(u32, |a, b| ((u64::from(a << 8 >> 8) * u64::from(b << 8 >> 8)) >> 16) as u32)),
        ("mul24.hi", "s32", bin!(i32, |a, b| ((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) >> 16) as i32)),
        ("mad24.lo", "u32", tri!(u32, |a, b, c| (a << 8 >> 8).wrapping_mul(b << 8 >> 8).wrapping_add(c))), ("mad24.lo", "s32", tri!(i32, |a, b, c| (a << 8 >> 8).wrapping_mul(b << 8 >> 8).wrapping_add(c))),
        ("mad.hi", "u16", tri!(u16, |a, b, c| (((u32::from(a) * u32::from(b)) >> 16) as u16).wrapping_add(c))),
        ("mad.hi", "s16", tri!(i16, |a, b, c| (((i32::from(a) * i32::from(b)) >> 16) as i16).wrapping_add(c))),
        ("mad.hi", "s64", tri!(i64, |a, b, c| (((i128::from(a) * i128::from(b)) >> 64) as i64).wrapping_add(c))),
        ("mad.hi.sat", "s32", tri!(i32, |a, b, c| (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c))),
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
        ("min.relu", "s16x2", two!(i16, |a, b, _c| a.min(b).max(0), 2)), ("max.relu", "s16x2", two!(i16, |a, b, _c| a.max(b).max(0), 2)),
        ("min.relu", "s32", bin!(i32, |a, b| a.min(b).max(0))), ("max.relu", "s32", bin!(i32, |a, b| a.max(b).max(0))),
        ("abs", "s16", un!(i16, |a| a.wrapping_abs())),
        ("abs", "s32", un!(i32, |a| a.wrapping_abs())),
        ("abs", "s64", un!(i64, |a| a.wrapping_abs())),
        ("neg", "s16", un!(i16, |a| a.wrapping_neg())),
        ("neg", "s32", un!(i32, |a| a.wrapping_neg())),
        ("neg", "s64", un!(i64, |a| a.wrapping_neg())),
        ("sad", "u16", tri!(u16, |a, b, c| a.abs_diff(b).wrapping_add(c))), ("sad", "s16", tri!(i16, |a, b, c| (a.abs_diff(b) as i16).wrapping_add(c))),
        ("sad", "u64", tri!(u64, |a, b, c| a.abs_diff(b).wrapping_add(c))), ("sad", "s64", tri!(i64, |a, b, c| (a.abs_diff(b) as i64).wrapping_add(c))),
        ("slct", "b16.s32 u16.s32 s16.s32 f16.s32 b32.s32 u32.s32 s32.s32 f32.s32 b64.s32 u64.s32 s64.s32 f64.s32", mix!(u64, u64, i32, |a, b, c| if c >= 0 { a } else { b })),
        ("slct", "b16.f32 u16.f32 s16.f32 f16.f32 b32.f32 u32.f32 s32.f32 f32.f32 b64.f32 u64.f32 s64.f32 f64.f32", mix!(u64, u64, f32, |a, b, c| if c >= 0.0 { a } else { b })),
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
        ("bfind", "s64", un!(i64, |a| 63u32.wrapping_sub((a ^ a >> 63).leading_zeros()))),
        ("bfind.shiftamt", "u32", un!(u32, |a| if a == 0 { u32::MAX } else { a.leading_zeros() })),
        ("bfind.shiftamt", "u64", un!(u64, |a| if a == 0 { u32::MAX } else { a.leading_zeros() })),
        ("bfind.shiftamt", "s32", un!(i32, |a| match a ^ a >> 31 { 0 => u32::MAX, x => x.leading_zeros() })),
        ("bfind.shiftamt", "s64", un!(i64, |a| match a ^ a >> 63 { 0 => u32::MAX, x => x.leading_zeros() })),
        ("bfe", "u32", tri!(u32, |a, b, c| bits::extract(u64::from(a), b, c, 32, false) as u32)),
        ("bfe", "s32", tri!(u32, |a, b, c| bits::extract(u64::from(a), b, c, 32, true) as u32)),
        ("bfe", "u64", mix!(u64, u32, u32, |a, b, c| bits::extract(a, b, c, 64, false))),
        ("bfe", "s64", mix!(u64, u32, u32, |a, b, c| bits::extract(a, b, c, 64, true))),
        ("bmsk.clamp", "b32", bin!(u32, |a, b| bits::mask(a, b))),
        ("bmsk.wrap", "b32", bin!(u32, |a, b| bits::mask(a & 31, b & 31))),
        ("szext.wrap", "u32", bin!(u32, |a, n| a & !(u32::MAX << (n & 31)))),
        ("szext.wrap", "s32", bin!(i32, |a, n| if n & 31 == 0 { 0 } else { a << (32 - (n & 31)) >> (32 - (n & 31)) })),
        ("szext.clamp", "u32", bin!(u32, |a, n| if n >= 32 { a } else { a & !(u32::MAX << n) })),
        ("szext.clamp", "s32", bin!(i32, |a, n| if n as u32 == 0 { 0 } else if n as u32 >= 32 { a } else { a << (32 - n) >> (32 - n) })),
        ("prmt", "b32", tri!(u32, |a, b, c| bits::permute(a, b, c))),
        ("prmt.f4e", "b32", tri!(u32, |a, b, c| bits::permute_mode(a, b, c, [0x3210, 0x4321, 0x5432, 0x6543]))),
        ("prmt.b4e", "b32", tri!(u32, |a, b, c| bits::permute_mode(a, b, c, [0x5670, 0x6701, 0x7012, 0x0123]))),
        ("prmt.rc8", "b32", tri!(u32, |a, b, c| bits::permute_mode(a, b, c, [0x0000, 0x1111, 0x2222, 0x3333]))),
        ("prmt.ecl", "b32", tri!(u32, |a, b, c| bits::permute_mode(a, b, c, [0x3210, 0x3211, 0x3222, 0x3333]))),
        ("prmt.ecr", "b32", tri!(u32, |a, b, c| bits::permute_mode(a, b, c, [0x0000, 0x1110, 0x2210, 0x3210]))),
        ("prmt.rc16", "b32", tri!(u32, |a, b, c| bits::permute_mode(a, b, c, [0x1010, 0x3232, 0x1010, 0x3232]))),
        ("mov", "b16 u16 s16 f16 bf16", un!(u16, |a| a)),
        ("mov", "b32 u32 s32 f32 f16x2 bf16x2", un!(u32, |a| a)),
        ("mov", "b64 u64 s64 f64", un!(u64, |a| a)),
        ("dp2a.lo", "u32.u32", tri!(u32, |a, b, c| bits::dot2(a, b, c, false, false, 0))), ("dp2a.hi", "u32.u32", tri!(u32, |a, b, c| bits::dot2(a, b, c, false, false, 2))),
        ("dp2a.lo", "s32.s32", tri!(u32, |a, b, c| bits::dot2(a, b, c, true, true, 0))), ("dp2a.hi", "s32.s32", tri!(u32, |a, b, c| bits::dot2(a, b, c, true, true, 2))),
        ("dp2a.lo", "u32.s32", tri!(u32, |a, b, c| bits::dot2(a, b, c, false, true, 0))), ("dp2a.hi", "u32.s32", tri!(u32, |a, b, c| bits::dot2(a, b, c, false, true, 2))),
        ("dp2a.lo", "s32.u32", tri!(u32, |a, b, c| bits::dot2(a, b, c, true, false, 0))), ("dp2a.hi", "s32.u32", tri!(u32, |a, b, c| bits::dot2(a, b, c, true, false, 2))),
        ("dp4a", "u32.u32", tri!(u32, |a, b, c| bits::dot4(a, b, c, false, false))),
        ("dp4a", "s32.s32", tri!(u32, |a, b, c| bits::dot4(a, b, c, true, true))),
        ("dp4a", "u32.s32", tri!(u32, |a, b, c| bits::dot4(a, b, c, false, true))),
        ("dp4a", "s32.u32", tri!(u32, |a, b, c| bits::dot4(a, b, c, true, false))),
    ]
}

/// The row of an opcode such as `mul.wide` with type `u32`.
pub fn find(name: &str, ty: &str) -> Option<Row> {
    static TABLE: OnceLock<HashMap<String, Row>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table = HashMap::new();
        for (name, types, row) in integer_rows().into_iter().chain(super::float::rows()) {
            for ty in types.split_whitespace() {
                table.insert(format!("{name}.{ty}"), row);
            }
        }
        table
    });
    table.get(&format!("{name}.{ty}")).copied()
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
}
