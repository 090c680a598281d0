//! Comparisons: a function a type and operator.

use super::lane::{B, H, Lane, Lanes};

/// Compares two registers of a warp; one bit a lane.
pub type CmpFn = fn(&Lanes, &Lanes) -> u32;

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

#[cfg(test)]
mod tests {
    use super::*;

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
