//! `cvt`: one conversion between any two scalar types, as data.

use super::minifloat::{BF16, E4M3, E5M2, F16, Format, Round, TF32};

/// A scalar type of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Signed integer of so many bits.
    Int(u32),
    /// Unsigned integer of so many bits.
    UInt(u32),
    /// IEEE half.
    F16,
    /// bfloat16.
    Bf16,
    /// TF32 in 32 bits.
    Tf32,
    /// Single.
    F32,
    /// Double.
    F64,
    /// Two halves in 32 bits.
    F16x2,
    /// Two bfloat16 in 32 bits.
    Bf16x2,
    /// Two e4m3 in 16 bits.
    E4m3x2,
    /// Two e5m2 in 16 bits.
    E5m2x2,
}

impl Scalar {
    /// The type of a name such as `s32`.
    pub fn parse(name: &str) -> Option<Scalar> {
        Some(match name {
            "f16" => Scalar::F16,
            "bf16" => Scalar::Bf16,
            "tf32" => Scalar::Tf32,
            "f32" => Scalar::F32,
            "f64" => Scalar::F64,
            "f16x2" => Scalar::F16x2,
            "bf16x2" => Scalar::Bf16x2,
            "e4m3x2" => Scalar::E4m3x2,
            "e5m2x2" => Scalar::E5m2x2,
            _ => {
                let bits: u32 = name.get(1..)?.parse().ok()?;
                if ![8, 16, 32, 64].contains(&bits) {
                    return None;
                }
                match name.get(..1)? {
                    "s" => Scalar::Int(bits),
                    "u" | "b" => Scalar::UInt(bits),
                    _ => return None,
                }
            }
        })
    }

    /// Size in bits of a register of this type.
    pub fn bits(self) -> u32 {
        match self {
            Scalar::Int(b) | Scalar::UInt(b) => b,
            Scalar::F16 | Scalar::Bf16 | Scalar::E4m3x2 | Scalar::E5m2x2 => 16,
            Scalar::Tf32 | Scalar::F32 | Scalar::F16x2 | Scalar::Bf16x2 => 32,
            Scalar::F64 => 64,
        }
    }

    /// Whether it is an integer.
    pub fn integer(self) -> bool {
        matches!(self, Scalar::Int(_) | Scalar::UInt(_))
    }

    /// The format of one half of a packed type, or of a narrow float.
    pub fn format(self) -> Option<Format> {
        match self {
            Scalar::F16 | Scalar::F16x2 => Some(F16),
            Scalar::Bf16 | Scalar::Bf16x2 => Some(BF16),
            Scalar::Tf32 => Some(TF32),
            Scalar::E4m3x2 => Some(E4M3),
            Scalar::E5m2x2 => Some(E5M2),
            _ => None,
        }
    }

    /// Whether a register holds two values.
    pub fn packed(self) -> bool {
        matches!(self, Scalar::F16x2 | Scalar::Bf16x2 | Scalar::E4m3x2 | Scalar::E5m2x2)
    }

    /// The value of a non-packed float's bits.
    pub fn float(self, bits: u64) -> f64 {
        match self {
            Scalar::F64 => f64::from_bits(bits),
            Scalar::F32 => f64::from(f32::from_bits(bits as u32)),
            Scalar::Tf32 => f64::from(f32::from_bits(bits as u32 & 0xFFFF_E000)),
            other => other.format().map_or(0.0, |f| f.decode(bits as u32)),
        }
    }
}

/// A conversion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conversion {
    /// Destination type.
    pub to: Scalar,
    /// Source type.
    pub from: Scalar,
    /// Rounding.
    pub round: Round,
    /// Rounds to an integral value (`.rni`, ...).
    pub integral: bool,
    /// Flushes f32 subnormals.
    pub ftz: bool,
    /// `.sat` or `.satfinite`.
    pub saturate: bool,
    /// Negative results become zero.
    pub relu: bool,
}

impl Conversion {
    /// Converts `a` (for a packed destination from f32, `a` is the upper and `b` the lower half).
    pub fn apply(&self, a: u64, b: u64) -> u64 {
        if self.to.packed() && self.from == Scalar::F32 {
            let bits = self.to.bits() / 2;
            return self.narrow(a) << bits | self.narrow(b);
        }
        if self.from.packed() {
            let (from, to) = (self.from.bits() / 2, self.to.bits() / 2);
            let half = |x: u64| self.from.format().map_or(0.0, |f| f.decode(x as u32));
            let mask = (1u64 << from) - 1;
            let put = |v: f64| self.put_narrow(v);
            return put(half(a >> from & mask)) << to | put(half(a & mask));
        }
        match (self.from.integer(), self.to.integer()) {
            (true, true) => self.int_to_int(a),
            (true, false) => self.int_to_float(a),
            (false, true) => self.float_to_int(a),
            (false, false) => self.float_to_float(a),
        }
    }

    fn narrow(&self, bits: u64) -> u64 {
        self.put_narrow(f64::from(self.f32(bits)))
    }

    fn put_narrow(&self, x: f64) -> u64 {
        let x = if self.relu && (x <= 0.0 || x.is_nan()) && !x.is_nan() { 0.0 } else { x };
        u64::from(self.to.format().map_or(0, |f| f.encode(x, self.round, self.saturate)))
    }

    fn f32(&self, bits: u64) -> f32 {
        let x = f32::from_bits(bits as u32);
        if self.ftz && x.is_subnormal() { 0f32.copysign(x) } else { x }
    }

    /// The integer a register of the source type holds.
    fn integer(&self, bits: u64) -> i128 {
        match self.from {
            Scalar::Int(n) => i128::from((bits as i64) << (64 - n) >> (64 - n)),
            _ => i128::from(bits << (64 - self.from.bits()) >> (64 - self.from.bits())),
        }
    }

    fn range(&self) -> (i128, i128) {
        match self.to {
            Scalar::Int(n) => (-(1i128 << (n - 1)), (1i128 << (n - 1)) - 1),
            other => (0, (1i128 << other.bits()) - 1),
        }
    }

    fn int_to_int(&self, bits: u64) -> u64 {
        let mut x = self.integer(bits);
        if self.saturate {
            let (low, high) = self.range();
            x = x.clamp(low, high);
        }
        let n = self.to.bits();
        match self.to {
            // A destination register may be wider than the type: the sign goes all the way.
            Scalar::Int(_) => ((x as i64) << (64 - n) >> (64 - n)) as u64,
            _ => (x as u64) << (64 - n) >> (64 - n),
        }
    }

    fn int_to_float(&self, bits: u64) -> u64 {
        let x = self.integer(bits);
        match self.to {
            Scalar::F64 => directed64(x, self.round).to_bits(),
            Scalar::F32 if self.saturate => u64::from((x.clamp(0, 1) as f32).to_bits()),
            Scalar::F32 => u64::from(directed32(x, self.round).to_bits()),
            // An odd last bit tells that something was lost, so that it is rounded once.
            _ => {
                let toward_zero = directed64(x, Round::Zero);
                let sticky = u64::from(toward_zero as i128 != x);
                self.put_narrow(f64::from_bits(toward_zero.to_bits() | sticky))
            }
        }
    }

    fn float_to_int(&self, bits: u64) -> u64 {
        let x = if self.from == Scalar::F32 { f64::from(self.f32(bits)) } else { self.from.float(bits) };
        let width = self.to.bits();
        if x.is_nan() {
            // Zero, but from f64 and to 64 bits the sign bit alone.
            let marked = self.from == Scalar::F64 || width == 64;
            let sign = if matches!(self.to, Scalar::Int(_)) { u64::MAX << (width - 1) } else { 1 << (width - 1) };
            return if marked { sign & (u64::MAX >> (64 - width.max(32))) } else { 0 };
        }
        let (low, high) = self.range();
        let r = (round_integral(x, self.round) as i128).clamp(low, high);
        r as u64 & (u64::MAX >> (64 - self.to.bits().max(32)))
    }

    fn float_to_float(&self, bits: u64) -> u64 {
        let mut x = if self.from == Scalar::F32 { f64::from(self.f32(bits)) } else { self.from.float(bits) };
        if x.is_nan()
            && let Some(nan) = self.kept_nan(bits)
        {
            return nan;
        }
        if self.integral {
            x = round_integral(x, self.round);
        }
        if self.saturate && self.to.format().is_none() {
            // A negative zero becomes a positive one.
            x = if x > 0.0 { x.min(1.0) } else { 0.0 };
        }
        match self.to {
            Scalar::F64 => x.to_bits(),
            Scalar::F32 => {
                let r = round32(x, self.round);
                let r = if self.ftz && r.is_subnormal() { 0f32.copysign(r) } else { r };
                u64::from(if r.is_nan() { 0x7FFF_FFFF } else { r.to_bits() })
            }
            // TF32 lives in the upper bits of an f32.
            Scalar::Tf32 => self.put_narrow(x) << 13,
            _ if self.integral => u64::from(self.to.format().map_or(0, |f| f.encode(x, Round::Nearest, false))),
            _ => self.put_narrow(x),
        }
    }
}

impl Conversion {
    /// What a NaN becomes where its sign and payload are kept. The ISA leaves them open; these are an H200's.
    fn kept_nan(&self, bits: u64) -> Option<u64> {
        const QUIET: u64 = 0x7FF8_0000_0000_0000;
        let sign = |from: u32, to: u32| (bits >> (from - 1) & 1) << (to - 1);
        let payload = bits & 0x0007_FFFF_FFFF_FFFF;
        match (self.from, self.to) {
            _ if self.saturate && self.to.format().is_none() => None,
            (Scalar::F64, Scalar::F64) => Some(bits | QUIET),
            (Scalar::F64, Scalar::F32) => Some(sign(64, 32) | 0x7FC0_0000 | payload >> 29),
            (Scalar::F64, Scalar::F16) => Some(sign(64, 16) | 0x7E00 | payload >> 42),
            (Scalar::F16, Scalar::F64) => Some(sign(16, 64) | QUIET | (bits & 0x3FF) << 42),
            (Scalar::Bf16, Scalar::F64) => Some(sign(16, 64) | QUIET | (bits & 0x7F) << 45),
            (Scalar::Bf16, Scalar::F32) => Some(bits << 16 & 0xFFFF_FFFF),
            (Scalar::F32, Scalar::Tf32) if self.round == Round::NearestAway => Some(bits & 0xFFFF_E000),
            _ => None,
        }
    }
}

/// Rounds to an integral value.
pub fn round_integral(x: f64, round: Round) -> f64 {
    match round {
        Round::Nearest => x.round_ties_even(),
        Round::NearestAway => x.round(),
        Round::Zero => x.trunc(),
        Round::Down => x.floor(),
        Round::Up => x.ceil(),
    }
}

/// Rounds a double to single.
pub fn round32(x: f64, round: Round) -> f32 {
    let r = x as f32;
    let back = f64::from(r);
    if back == x || x.is_nan() || round == Round::Nearest || round == Round::NearestAway || x.is_infinite() {
        return r;
    }
    let down = match round {
        Round::Down => true,
        Round::Up => false,
        _ => x > 0.0,
    };
    match (down, back > x) {
        (true, true) => r.next_down(),
        (false, false) => r.next_up(),
        _ => r,
    }
}

fn directed32(x: i128, round: Round) -> f32 {
    let r = x as f32;
    let back = r as i128;
    step(r, back, x, round, f32::next_down, f32::next_up)
}

fn directed64(x: i128, round: Round) -> f64 {
    let r = x as f64;
    let back = r as i128;
    step(r, back, x, round, f64::next_down, f64::next_up)
}

fn step<F: Copy>(r: F, back: i128, x: i128, round: Round, down: fn(F) -> F, up: fn(F) -> F) -> F {
    let lower = match round {
        Round::Nearest | Round::NearestAway => return r,
        Round::Down => true,
        Round::Up => false,
        Round::Zero => x > 0,
    };
    match (lower, back.cmp(&x)) {
        (true, std::cmp::Ordering::Greater) => down(r),
        (false, std::cmp::Ordering::Less) => up(r),
        _ => r,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conv(to: &str, from: &str, round: Round) -> Conversion {
        let parse = |s| Scalar::parse(s).unwrap_or(Scalar::F64);
        Conversion {
            to: parse(to),
            from: parse(from),
            round,
            integral: false,
            ftz: false,
            saturate: false,
            relu: false,
        }
    }

    fn f(x: f32) -> u64 {
        u64::from(x.to_bits())
    }

    #[test]
    fn integers_wrap_extend_and_saturate() {
        assert_eq!(conv("s64", "s32", Round::Zero).apply(0xFFFF_FFFF, 0), u64::MAX);
        assert_eq!(conv("u64", "u32", Round::Zero).apply(0xFFFF_FFFF, 0), 0xFFFF_FFFF);
        assert_eq!(conv("u8", "u32", Round::Zero).apply(0x1FF, 0), 0xFF);
        let sat = Conversion { saturate: true, ..conv("s8", "s32", Round::Zero) };
        assert_eq!(sat.apply(1000, 0), 127);
    }

    #[test]
    fn floats_to_integers() {
        assert_eq!(conv("s32", "f32", Round::Zero).apply(f(-2.7), 0) as u32 as i32, -2);
        assert_eq!(conv("s32", "f32", Round::Nearest).apply(f(2.5), 0), 2);
        assert_eq!(conv("u32", "f32", Round::Zero).apply(f(-5.0), 0), 0);
        assert_eq!(conv("s32", "f32", Round::Zero).apply(f(1e20), 0), 0x7FFF_FFFF);
        assert_eq!(conv("s32", "f32", Round::Zero).apply(f(f32::NAN), 0), 0);
    }

    #[test]
    fn directed_rounding() {
        let x = 1.0f64 + 1e-12;
        assert_eq!(round32(x, Round::Up), 1.0f32.next_up());
        assert_eq!(round32(x, Round::Down), 1.0);
        assert_eq!(conv("f32", "s32", Round::Zero).apply(16_777_217, 0), f(16_777_216.0));
        assert_eq!(conv("f32", "s32", Round::Up).apply(16_777_217, 0), f(16_777_218.0));
    }

    #[test]
    fn packed_halves() {
        assert_eq!(conv("f16x2", "f32", Round::Nearest).apply(f(1.0), f(2.0)), 0x3C00_4000);
        assert_eq!(conv("f16x2", "e4m3x2", Round::Nearest).apply(0x3840, 0), 0x3C00_4000);
    }
}
