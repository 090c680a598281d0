//! Bit manipulation that takes more than an expression.

use crate::program::MadCarry;

/// Place and length of a bit field. The ISA restricts both to 8 bits; beyond them an H200 cuts off for 32 bits and stops at
/// the end for 64.
fn field(pos: u32, len: u32, width: u32) -> (u32, u32) {
    if width == 32 { (pos & 0xFF, len & 0xFF) } else { (pos.min(0xFF), len.min(0xFF)) }
}

/// `bfe`: `len` bits of `a` from `pos`, sign-extended if asked.
pub fn extract(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let (pos, len) = field(pos, len, width);
    if len == 0 {
        return 0;
    }
    let top = (pos + len - 1).min(width - 1);
    let sign = signed && a >> top & 1 == 1;
    let mut out = 0;
    for i in 0..width {
        let bit = if i < len && pos + i < width { a >> (pos + i) & 1 == 1 } else { sign };
        out |= u64::from(bit) << i;
    }
    out
}

/// `bfi`: the low `len` bits of `a` into `b` at `pos`.
pub fn insert(a: u64, b: u64, pos: u32, len: u32, width: u32) -> u64 {
    let (pos, len) = field(pos, len, width);
    if pos >= width || len == 0 {
        return b;
    }
    let len = len.min(width - pos);
    let mask = (u64::MAX >> (64 - len)) << pos;
    (b & !mask) | (a << pos & mask)
}

/// `bmsk.clamp`: `len` ones from `pos`.
pub fn mask(pos: u32, len: u32) -> u32 {
    if pos >= 32 || len == 0 {
        return 0;
    }
    (u32::MAX >> (32 - len.min(32))) << pos
}

/// `prmt` in its default mode.
pub fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let mut out = 0;
    for i in 0..4 {
        let s = selector >> (4 * i) & 0xF;
        let byte = (bytes >> (8 * (s & 7)) & 0xFF) as u32;
        let value = if s & 8 == 0 {
            byte
        } else if byte & 0x80 != 0 {
            0xFF
        } else {
            0
        };
        out |= value << (8 * i);
    }
    out
}

/// `prmt` in another mode: the bytes that each place of the selector picks, the lowest first.
pub fn permute_mode(a: u32, b: u32, selector: u32, places: [u32; 4]) -> u32 {
    let nibbles = places[(selector & 3) as usize];
    permute(a, b, nibbles)
}

/// `dp2a`: two products of a 16-bit and an 8-bit element added to `c`; the bytes are those from `first`.
pub fn dot2(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool, first: u32) -> u32 {
    (0..2).fold(c, |sum, i| {
        let (x, y) = ((a >> (16 * i)) as u16, (b >> (8 * (first + i))) as u8);
        let x = if a_signed { i32::from(x as i16) } else { i32::from(x) };
        let y = if b_signed { i32::from(y as i8) } else { i32::from(y) };
        sum.wrapping_add((x * y) as u32)
    })
}

/// `mad.cc` and `madc`: the result and its carry.
pub fn mad_carry(src: [u64; 3], carry: bool, kind: MadCarry) -> (u64, bool) {
    let unused = 128 - kind.bits;
    let keep = u64::MAX >> (64 - kind.bits);
    let wide = |x: u64| {
        let x = u128::from(x & keep);
        if kind.signed { (x << unused) as i128 >> unused } else { x as i128 }
    };
    let product = wide(src[0]).wrapping_mul(wide(src[1]));
    let part = if kind.high { product >> kind.bits } else { product } as u64 & keep;
    let sum = u128::from(part) + u128::from(src[2] & keep) + u128::from(carry);
    (sum as u64 & keep, sum >> kind.bits & 1 == 1)
}

/// `lop3`: a table of all combinations of three bits.
pub fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    (0..8).filter(|i| table >> i & 1 == 1).fold(0, |out, i| {
        let pick = |x: u32, bit: u32| if i & bit != 0 { x } else { !x };
        out | (pick(a, 4) & pick(b, 2) & pick(c, 1))
    })
}

/// `dp4a`: four byte products added to `c`.
pub fn dot4(a: u32, b: u32, c: u32, a_signed: bool, b_signed: bool) -> u32 {
    let byte = |x: u32, i: u32, signed: bool| {
        let v = (x >> (8 * i)) as u8;
        if signed { i32::from(v as i8) } else { i32::from(v) }
    };
    (0..4).fold(c, |sum, i| sum.wrapping_add((byte(a, i, a_signed) * byte(b, i, b_signed)) as u32))
}

/// An f32 operation on both halves of a 64-bit lane.
pub fn f32x2(a: u64, b: u64, c: u64, f: fn(f32, f32, f32) -> f32) -> u64 {
    let half = |s: u32| {
        let get = |x: u64| f32::from_bits((x >> s) as u32);
        u64::from(f(get(a), get(b), get(c)).to_bits())
    };
    half(0) | half(32) << 32
}
