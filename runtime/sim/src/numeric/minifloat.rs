//! Float formats narrower than f32, each a row; one encoder with every rounding mode.

use std::sync::OnceLock;

/// How a value between two representable ones is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Round {
    /// To nearest, ties to even.
    #[default]
    Nearest,
    /// To nearest, ties away from zero.
    NearestAway,
    /// Toward zero.
    Zero,
    /// Toward minus infinity.
    Down,
    /// Toward plus infinity.
    Up,
}

/// A binary float format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Exponent bits.
    pub exponent: u32,
    /// Stored mantissa bits.
    pub mantissa: u32,
    /// Whether the largest exponent holds numbers, too, and only all-ones is NaN (e4m3).
    pub finite: bool,
}

/// IEEE half.
pub const F16: Format = Format { exponent: 5, mantissa: 10, finite: false };
/// bfloat16.
pub const BF16: Format = Format { exponent: 8, mantissa: 7, finite: false };
/// TF32, held in the upper 19 bits of 32.
pub const TF32: Format = Format { exponent: 8, mantissa: 10, finite: false };
/// 8-bit float with 4 exponent bits.
pub const E4M3: Format = Format { exponent: 4, mantissa: 3, finite: true };
/// 8-bit float with 5 exponent bits.
pub const E5M2: Format = Format { exponent: 5, mantissa: 2, finite: false };

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// Bits of the largest finite value.
    fn largest(self) -> u32 {
        if self.finite { self.nan() - 1 } else { (((1 << self.exponent) - 1) << self.mantissa) - 1 }
    }

    /// Bits of the canonical NaN.
    pub fn nan(self) -> u32 {
        (1 << (self.exponent + self.mantissa)) - 1
    }

    /// Bits of `x` in this format. Overflow gives infinity (NaN in e4m3), the largest value with `saturate`.
    pub fn encode(self, x: f64, round: Round, saturate: bool) -> u32 {
        let sign = u32::from(x.is_sign_negative()) << (self.exponent + self.mantissa);
        if x.is_nan() {
            return self.nan();
        }
        let a = x.abs();
        let overflow = if self.finite { self.nan() } else { self.largest() + 1 };
        if a.is_infinite() {
            return sign | if saturate { self.largest() } else { overflow };
        }
        if a == 0.0 {
            return sign;
        }
        let exponent = ((a.to_bits() >> 52) as i32 - 1023).max(1 - self.bias());
        // `a` in units of the last place at this exponent; exact, as it only moves the exponent.
        let units = a * pow2(self.mantissa as i32 - exponent);
        let whole = units.floor();
        let rest = units - whole;
        let odd = (whole as u64) & 1 == 1;
        let up = match round {
            Round::Nearest => rest > 0.5 || (rest == 0.5 && odd),
            Round::NearestAway => rest >= 0.5,
            Round::Zero => false,
            Round::Down => sign != 0 && rest > 0.0,
            Round::Up => sign == 0 && rest > 0.0,
        };
        let units = whole as u64 + u64::from(up);
        // A mantissa that overflows carries into the exponent by itself.
        let base = ((exponent + self.bias() - 1) as u64) << self.mantissa;
        let bits = (base + units).min(u64::from(u32::MAX)) as u32;
        if bits > self.largest() {
            let toward_zero =
                round == Round::Zero || (round == Round::Down && sign == 0) || (round == Round::Up && sign != 0);
            return sign | if saturate || toward_zero { self.largest() } else { overflow };
        }
        sign | bits
    }

    /// The value of `bits`.
    pub fn decode(self, bits: u32) -> f64 {
        let magnitude = bits & ((1 << (self.exponent + self.mantissa)) - 1);
        let sign = if bits >> (self.exponent + self.mantissa) & 1 == 1 { -1.0 } else { 1.0 };
        if magnitude > self.largest() {
            let infinite = !self.finite && magnitude == self.largest() + 1;
            return if infinite { sign * f64::INFINITY } else { f64::NAN };
        }
        let field = magnitude >> self.mantissa;
        let fraction = f64::from(magnitude & ((1 << self.mantissa) - 1));
        let unit = pow2(field.max(1) as i32 - self.bias() - self.mantissa as i32);
        let hidden = if field == 0 { 0.0 } else { f64::from(1u32 << self.mantissa) };
        sign * (hidden + fraction) * unit
    }
}

fn pow2(e: i32) -> f64 {
    if (-1022..=1023).contains(&e) { f64::from_bits(((e + 1023) as u64) << 52) } else { 2f64.powi(e) }
}

/// f16 to f32, by table.
pub fn f16_to_f32(bits: u16) -> f32 {
    f16_table()[bits as usize]
}

/// All 65536 halves as f32.
pub fn f16_table() -> &'static [f32; 65536] {
    static TABLE: OnceLock<Box<[f32; 65536]>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Box::new([0.0; 65536]);
        for (bits, value) in table.iter_mut().enumerate() {
            *value = F16.decode(bits as u32) as f32;
        }
        table
    })
}

/// f32 to f16, to nearest even.
pub fn f32_to_f16(x: f32) -> u16 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7FFF_FFFF;
    // Normal halves: rebias and round in integers. The rest takes the general road.
    if (0x3880_0000..0x477F_E000).contains(&magnitude) {
        let rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
        return ((bits >> 16 & 0x8000) | (rounded - 0x3800_0000) >> 13) as u16;
    }
    F16.encode(f64::from(x), Round::Nearest, false) as u16
}

/// bf16 to f32.
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// f32 to bf16, to nearest even.
pub fn f32_to_bf16(x: f32) -> u16 {
    if x.is_nan() {
        return 0x7FFF;
    }
    let bits = x.to_bits();
    ((u64::from(bits) + 0x7FFF + u64::from(bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_round_trip() {
        for bits in 0..=0xFFFFu32 {
            let value = F16.decode(bits);
            if !value.is_nan() {
                assert_eq!(F16.encode(value, Round::Nearest, false), bits, "{bits:#x}");
                assert_eq!(u32::from(f32_to_f16(value as f32)), bits, "{bits:#x}");
            }
        }
    }

    #[test]
    fn fast_and_general_halves_agree() {
        let mut bits = 1u32;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let x = f32::from_bits(bits);
            assert_eq!(u32::from(f32_to_f16(x)), F16.encode(f64::from(x), Round::Nearest, false), "{x}");
            assert_eq!(u32::from(f32_to_bf16(x)), BF16.encode(f64::from(x), Round::Nearest, false), "{x}");
        }
    }

    #[test]
    fn eight_bit_floats() {
        assert_eq!(E4M3.decode(0x7E), 448.0);
        assert_eq!(E4M3.encode(1000.0, Round::Nearest, true), 0x7E);
        assert_eq!(E4M3.encode(1000.0, Round::Nearest, false), 0x7F);
        assert_eq!(E5M2.decode(0x7B), 57344.0);
        assert_eq!(E5M2.encode(-1e9, Round::Nearest, true), 0xFB);
        assert_eq!(E5M2.encode(1e9, Round::Zero, false), 0x7B);
        assert_eq!(TF32.encode(1.0, Round::NearestAway, false), 127 << 10);
    }
}
