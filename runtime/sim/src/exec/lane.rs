//! How a value of each type is read from and written to a 64-bit register lane.

use crate::numeric::minifloat::{BF16, F16, Round, bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// Threads of a warp.
pub const LANES: usize = 32;
/// One register of a warp.
pub type Lanes = [u64; LANES];

/// A type that a register lane can hold. Lanes are zero-extended.
pub trait Lane: Copy {
    /// From a lane.
    fn get(bits: u64) -> Self;
    /// To a lane.
    fn put(self) -> u64;
}

macro_rules! integers {
    ($($t:ty, $u:ty;)*) => {$(
        impl Lane for $t {
            fn get(bits: u64) -> Self {
                bits as $t
            }
            fn put(self) -> u64 {
                self as $u as u64
            }
        }
    )*};
}

integers! { u16, u16; i16, u16; u32, u32; i32, u32; u64, u64; i64, u64; }

impl Lane for f32 {
    fn get(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
    /// Arithmetic makes the one canonical NaN.
    fn put(self) -> u64 {
        u64::from(if self.is_nan() { 0x7FFF_FFFF } else { self.to_bits() })
    }
}

impl Lane for f64 {
    fn get(bits: u64) -> Self {
        f64::from_bits(bits)
    }
    fn put(self) -> u64 {
        self.to_bits()
    }
}

/// A half, computed with in f32: exact for one add, subtract or multiply before rounding.
#[derive(Clone, Copy)]
pub struct H(pub f32);

impl Lane for H {
    fn get(bits: u64) -> Self {
        H(f16_to_f32(bits as u16))
    }
    fn put(self) -> u64 {
        u64::from(f32_to_f16(self.0))
    }
}

/// A bfloat16, computed with in f32.
#[derive(Clone, Copy)]
pub struct B(pub f32);

impl Lane for B {
    fn get(bits: u64) -> Self {
        B(bf16_to_f32(bits as u16))
    }
    fn put(self) -> u64 {
        u64::from(f32_to_bf16(self.0))
    }
}

/// A half result computed in f64, for fused operations.
#[derive(Clone, Copy)]
pub struct HWide(pub f64);

impl Lane for HWide {
    fn get(bits: u64) -> Self {
        HWide(f64::from(f16_to_f32(bits as u16)))
    }
    fn put(self) -> u64 {
        u64::from(F16.encode(self.0, Round::Nearest, false))
    }
}

/// A bfloat16 result computed in f64.
#[derive(Clone, Copy)]
pub struct BWide(pub f64);

impl Lane for BWide {
    fn get(bits: u64) -> Self {
        BWide(f64::from(bf16_to_f32(bits as u16)))
    }
    fn put(self) -> u64 {
        u64::from(BF16.encode(self.0, Round::Nearest, false))
    }
}
