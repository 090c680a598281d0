//! Tensor memory accelerator copies: one instruction moves a box of a tensor.

use super::{Element, SharedSwizzle};
use crate::{Cause, ComposedLayout, Inner, Result, Stride};

const OP: &str = "tma";

/// What a tensor copy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TmaKind {
    /// Global to shared memory, completing on an mbarrier; to several CTAs of a cluster where `multicast`.
    Load {
        /// Whether the box goes to the CTAs of a mask.
        multicast: bool,
    },
    /// Shared to global memory.
    Store,
    /// Shared memory is combined into global memory by this PTX operation (`add`, `min`, ...).
    Reduce(&'static str),
}

/// The operations of a reducing tensor copy.
pub const REDUCTIONS: &[&str] = &["add", "min", "max", "inc", "dec", "and", "or", "xor"];

impl TmaKind {
    /// The kind of the name `load`, `load.multicast`, `store` or `reduce.OP`.
    pub fn parse(name: &str) -> Option<TmaKind> {
        match name {
            "load" => Some(TmaKind::Load { multicast: false }),
            "load.multicast" => Some(TmaKind::Load { multicast: true }),
            "store" => Some(TmaKind::Store),
            _ => {
                let op = name.strip_prefix("reduce.")?;
                REDUCTIONS.iter().find(|r| **r == op).map(|r| TmaKind::Reduce(r))
            }
        }
    }
}

/// The box of a tensor map: what one tensor copy moves, contiguous dimension first.
///
/// ```
/// # use cute_layout::atom::{Element, Major, SharedAtom, TmaBox};
/// let tile = SharedAtom::widest(Element::F16, Major::K, 64)?.tile_to_shape(&"(128,64)".parse()?)?;
/// let tma = TmaBox::of_shared(&tile, Element::F16)?;
/// assert_eq!((tma.extents.as_slice(), tma.bytes()), (&[64, 128][..], 16384));
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TmaBox {
    /// The extent of each dimension in elements, contiguous first.
    pub extents: Vec<i64>,
    /// For each dimension the mode of the shared tile that it is.
    pub modes: Vec<usize>,
    /// What is moved.
    pub element: Element,
    /// The permutation in shared memory.
    pub swizzle: SharedSwizzle,
}

impl TmaBox {
    /// The box that fills a tile of shared memory in one copy. The tile must be the box in order: each mode
    /// compact (swizzled) after the one before.
    pub fn of_shared(tile: &ComposedLayout, element: Element) -> Result<TmaBox> {
        let swizzle = match &tile.inner {
            Inner::Swizzle(s) => {
                let bytes = s.downcast((element.bits() / 8).trailing_zeros())?;
                SharedSwizzle::parse(&bytes)
            }
            Inner::Layout(_) => None,
        };
        let none = || Cause::NoAtom { asked: format!("box of {tile}"), offered: "S<0..3,4,3> of bytes".into() }.of(OP);
        let swizzle = swizzle.ok_or_else(none)?;
        let mut dims = Vec::new();
        for (mode, layout) in tile.outer.modes().into_iter().enumerate() {
            let flat = layout.coalesce()?;
            let leaf = flat.tree().as_leaf().ok_or_else(|| {
                Cause::Rank { expected: "1 after coalescing".into(), found: flat.rank() }.of(OP).within(mode)
            })?;
            let Stride { scale, .. } = &leaf.stride;
            dims.push((scale.need_static(OP)?, leaf.size.need_static(OP)?, mode));
        }
        dims.sort_by_key(|dim| if dim.1 == 1 { i64::MAX } else { dim.0 });
        let mut next = 1;
        for (stride, size, mode) in &dims {
            if *size != 1 && *stride != next {
                let cause = Cause::NoAtom {
                    asked: format!("box with stride {stride} there"),
                    offered: format!("the compact stride {next}"),
                };
                return Err(cause.of(OP).within(*mode));
            }
            next *= size;
        }
        let extents = dims.iter().map(|dim| dim.1).collect();
        let made = TmaBox { extents, modes: dims.iter().map(|dim| dim.2).collect(), element, swizzle };
        made.check()?;
        Ok(made)
    }

    /// Checks what the hardware asks of a box.
    fn check(&self) -> Result<()> {
        let too_large = |size: i64, limit: i64| Err(Cause::TooLarge { size, limit }.of(OP));
        if self.extents.len() > 5 {
            return Err(Cause::Rank { expected: "at most 5".into(), found: self.extents.len() }.of(OP));
        }
        for &extent in &self.extents {
            if extent > 256 {
                return too_large(extent, 256);
            }
        }
        let inner = self.extents.first().copied().unwrap_or(1) * i64::from(self.element.bits()) / 8;
        if self.swizzle != SharedSwizzle::None && inner > self.swizzle.width() {
            return too_large(inner, self.swizzle.width());
        }
        if inner % 16 != 0 {
            return Err(Cause::Indivisible { value: inner.into(), by: 16.into() }.of(OP));
        }
        Ok(())
    }

    /// How many bytes one copy moves.
    pub fn bytes(&self) -> i64 {
        self.extents.iter().product::<i64>() * i64::from(self.element.bits()) / 8
    }

    /// What the start address in shared memory must be a multiple of, in bytes.
    pub fn shared_alignment(&self) -> i64 {
        if self.swizzle == SharedSwizzle::None { 128 } else { 8 * self.swizzle.width() }
    }
}
