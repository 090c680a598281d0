//! Swizzles: offsets with some bits exchanged, against bank conflicts.

use crate::{Cause, Result};

/// `S<bits,base,shift>`: the `bits` bits above `base` are XORed with the `bits` bits that lie
/// `shift` above them (below them for a negative shift). Applied twice it is the identity.
///
/// ```
/// # use cute_layout::Swizzle;
/// let swizzle: Swizzle = "S<3,4,3>".parse()?;
/// assert_eq!(swizzle.apply(0b101_000_0000), 0b101_101_0000);
/// assert_eq!(swizzle.apply(swizzle.apply(12345)), 12345);
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: i32,
}

impl Swizzle {
    /// A swizzle; `0 <= bits <= |shift|`, `0 <= base` and all bits within 62 must hold.
    pub fn new(bits: i64, base: i64, shift: i64) -> Result<Swizzle> {
        let small = |n: i64| u32::try_from(n).ok().filter(|&n| n <= 62);
        let distance = i64::try_from(shift.unsigned_abs()).ok().and_then(small);
        match (small(bits), small(base), distance) {
            (Some(b), Some(m), Some(s)) if b <= s && b + m + s <= 62 => {
                let signed = if shift < 0 { -(s as i32) } else { s as i32 };
                Ok(Swizzle { bits: b, base: m, shift: signed })
            }
            _ => Err(Cause::Swizzle { bits, base, shift }.of("swizzle")),
        }
    }

    /// How many bits are XORed.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// How many low bits stay in place.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// How far the source bits are above the target bits.
    pub fn shift(&self) -> i32 {
        self.shift
    }

    /// Whether it changes nothing.
    pub fn is_identity(&self) -> bool {
        self.bits == 0
    }

    /// The bits that are read.
    pub fn source_mask(&self) -> i64 {
        self.ones() << (self.base + self.shift.max(0).unsigned_abs())
    }

    /// The bits that change.
    pub fn target_mask(&self) -> i64 {
        self.ones() << (self.base + self.shift.min(0).unsigned_abs())
    }

    /// After how many offsets it repeats itself: an offset that is that much larger goes that much farther.
    pub fn pattern(&self) -> i64 {
        1i64 << (self.bits + self.base + self.shift.unsigned_abs())
    }

    fn ones(&self) -> i64 {
        (1i64 << self.bits) - 1
    }

    /// Where an offset goes.
    pub fn apply(&self, offset: i64) -> i64 {
        let source = offset & self.source_mask();
        offset ^ if self.shift >= 0 { source >> self.shift } else { source << self.shift.unsigned_abs() }
    }

    /// The swizzle that is this one after `other`: with the same shift the masks XOR, and where the
    /// result is no contiguous mask it is no swizzle.
    pub fn compose(&self, other: &Swizzle) -> Result<Swizzle> {
        let fail = || Cause::SwizzleShift.of("swizzle composition");
        if self.is_identity() || other.is_identity() {
            return Ok(if self.is_identity() { *other } else { *self });
        }
        if self.shift != other.shift || self.source_mask() & other.target_mask() != 0 {
            return Err(fail());
        }
        let mask = self.target_mask() ^ other.target_mask();
        if mask == 0 {
            return Swizzle::new(0, i64::from(self.base), i64::from(self.shift));
        }
        let low = mask.trailing_zeros();
        let bits = (mask >> low).trailing_ones();
        if (mask >> low) >> bits != 0 {
            return Err(fail());
        }
        let base = i64::from(low) - i64::from(self.shift.min(0).unsigned_abs());
        Swizzle::new(bits.into(), base, self.shift.into())
    }

    /// The swizzle on elements `1 << log2` times as large: bits below the element are gone.
    pub(crate) fn upcast(&self, log2: u32) -> Result<Swizzle> {
        let below = log2.saturating_sub(self.base);
        let bits = self.bits.saturating_sub(below);
        Swizzle::new(bits.into(), self.base.saturating_sub(log2).into(), self.shift.into())
    }

    /// The swizzle on elements `1 << log2` times as small.
    pub(crate) fn downcast(&self, log2: u32) -> Result<Swizzle> {
        Swizzle::new(self.bits.into(), i64::from(self.base) + i64::from(log2), self.shift.into())
    }
}
