//! The shared-memory layouts that `wgmma` and TMA read and write.

use std::fmt;

use super::Element;
use crate::{Cause, ComposedLayout, IntTuple, Layout, Result, Swizzle};

/// The contiguous mode of a matrix in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Major {
    /// K is contiguous.
    K,
    /// M (of A) or N (of B) is contiguous.
    MN,
}

impl Major {
    /// The major of the name `k` or `mn`.
    pub fn parse(name: &str) -> Option<Major> {
        [Major::K, Major::MN].into_iter().find(|major| major.to_string() == name)
    }
}

impl fmt::Display for Major {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Major::K { "k" } else { "mn" })
    }
}

/// How 16-byte pieces of a row are permuted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SharedSwizzle {
    /// Not at all.
    None,
    /// Within 32 bytes.
    B32,
    /// Within 64 bytes.
    B64,
    /// Within 128 bytes.
    B128,
}

impl SharedSwizzle {
    /// From the widest to none.
    pub const ALL: [SharedSwizzle; 4] =
        [SharedSwizzle::B128, SharedSwizzle::B64, SharedSwizzle::B32, SharedSwizzle::None];

    /// How many address bits are XORed: 0 to 3.
    pub fn bits(self) -> u32 {
        match self {
            SharedSwizzle::None => 0,
            SharedSwizzle::B32 => 1,
            SharedSwizzle::B64 => 2,
            SharedSwizzle::B128 => 3,
        }
    }

    /// How many bytes a row of the atom has.
    pub fn width(self) -> i64 {
        16 << self.bits()
    }

    /// The swizzle of byte addresses.
    pub fn of_bytes(self) -> Result<Swizzle> {
        Swizzle::new(self.bits().into(), 4, 3)
    }

    /// The swizzle that a swizzle of byte addresses is.
    pub fn parse(bytes: &Swizzle) -> Option<SharedSwizzle> {
        let fits = bytes.is_identity() || (bytes.base() == 4 && bytes.shift() == 3);
        SharedSwizzle::ALL.into_iter().find(|s| fits && s.bits() == bytes.bits())
    }
}

/// A shared-memory atom: 8 rows of a swizzle's width.
///
/// ```
/// # use cute_layout::atom::{Element, Major, SharedAtom};
/// let atom = SharedAtom::widest(Element::F16, Major::K, 64)?;
/// assert_eq!(atom.layout()?.to_string(), "S<3,3,3> o 0 o (8,64):(64,1)");
/// let tile = atom.tile_to_shape(&"(128,64)".parse()?)?;
/// assert_eq!(tile.to_string(), "S<3,3,3> o 0 o ((8,16),(64,1)):((64,512),(1,8192))");
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedAtom {
    /// What is stored.
    pub element: Element,
    /// The contiguous mode.
    pub major: Major,
    /// The permutation.
    pub swizzle: SharedSwizzle,
}

impl SharedAtom {
    /// The atom with the widest swizzle whose row divides the extent of the contiguous mode.
    pub fn widest(element: Element, major: Major, extent: i64) -> Result<SharedAtom> {
        let atoms = SharedSwizzle::ALL.into_iter().map(|swizzle| SharedAtom { element, major, swizzle });
        let fit = |atom: &SharedAtom| extent > 0 && extent % atom.row() == 0;
        let least = 128 / i64::from(element.bits());
        let cause = || Cause::Indivisible { value: extent.into(), by: least.into() }.of("shared atom");
        atoms.into_iter().find(fit).ok_or_else(cause)
    }

    /// How many elements a row has.
    pub fn row(&self) -> i64 {
        8 * self.swizzle.width() / i64::from(self.element.bits())
    }

    /// The atom over (M or N, K), as offsets in elements.
    pub fn layout(&self) -> Result<ComposedLayout> {
        let row = self.row();
        let outer: Layout = match self.major {
            Major::K => format!("(8,{row}):({row},1)").parse()?,
            Major::MN => format!("({row},8):(1,{row})").parse()?,
        };
        let bytes = (self.element.bits() / 8).trailing_zeros();
        Ok(ComposedLayout::swizzled(self.swizzle.of_bytes()?.upcast(bytes)?, outer))
    }

    /// The atom repeated over a shape, first mode fastest.
    pub fn tile_to_shape(&self, shape: &IntTuple) -> Result<ComposedLayout> {
        self.layout()?.map(|outer| outer.tile_to_shape(shape, None))
    }
}
