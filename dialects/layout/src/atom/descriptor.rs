//! The 64-bit shared-memory matrix descriptor of `wgmma`.

use super::{Element, Major, SharedSwizzle};
use crate::{Cause, ComposedLayout, Inner, Layout, Result, Tile, Tuple};

const OP: &str = "matrix descriptor";

/// The layout field of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DescriptorMode(pub SharedSwizzle);

impl DescriptorMode {
    /// What bits 62 and 63 hold.
    pub fn code(self) -> u64 {
        match self.0 {
            SharedSwizzle::None => 0,
            SharedSwizzle::B128 => 1,
            SharedSwizzle::B64 => 2,
            SharedSwizzle::B32 => 3,
        }
    }
}

/// Everything of a matrix descriptor but the start address.
///
/// ```
/// # use cute_layout::atom::{Descriptor, Element, Major, SharedAtom};
/// let tile = SharedAtom::widest(Element::F16, Major::K, 64)?.tile_to_shape(&"(128,64)".parse()?)?;
/// let descriptor = Descriptor::of_layout(&tile, Element::F16, Major::K)?;
/// assert_eq!(descriptor.bits(0), 1 << 16 | 64 << 32 | 1 << 62);
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// The leading byte offset in 16-byte units.
    pub leading: u16,
    /// The stride byte offset in 16-byte units.
    pub stride: u16,
    /// The swizzle.
    pub mode: DescriptorMode,
}

impl Descriptor {
    /// The descriptor of a tile over (M or N, K), whose offsets are in elements. Fails where the hardware
    /// cannot read the tile, saying which mode breaks the pattern.
    pub fn of_layout(tile: &ComposedLayout, element: Element, major: Major) -> Result<Descriptor> {
        let mode = DescriptorMode(swizzle_of(tile, element)?);
        let units = tile.outer.recast(128, element.bits().into()).map_err(|e| e.of(OP))?;
        // One swizzled row in 16-byte units.
        let row = mode.0.width() / 16;
        let (outer, inner) = match major {
            Major::K => (8, 2),
            Major::MN => (row, 8),
        };
        let cut = Tile::Modes(vec![leaf(outer)?.into(), leaf(inner)?.into()]);
        let canonical = units.logical_divide(&cut).map_err(|e| e.of(OP))?;
        let stride = |path: [usize; 2]| mode_stride(&canonical, path);
        let plain = mode.0 == SharedSwizzle::None;
        let (leading, stride_bytes) = match (major, plain) {
            (Major::K, false) => {
                expect(&canonical, [0, 0], row)?;
                expect(&canonical, [1, 0], 1)?;
                (1, stride([0, 1])?)
            }
            (Major::K, true) => {
                expect(&canonical, [0, 0], 1)?;
                (stride([1, 0])?, stride([0, 1])?)
            }
            (Major::MN, false) => {
                expect(&canonical, [0, 0], 1)?;
                expect(&canonical, [1, 0], row)?;
                (stride([0, 1])?, stride([1, 1])?)
            }
            (Major::MN, true) => {
                expect(&canonical, [1, 0], 1)?;
                (stride([1, 1])?, stride([0, 1])?)
            }
        };
        Ok(Descriptor { leading: field(leading)?, stride: field(stride_bytes)?, mode })
    }

    /// The descriptor for a start address in bytes.
    pub fn bits(&self, address: u64) -> u64 {
        ((address & 0x3FFFF) >> 4) | self.constant()
    }

    /// The descriptor without its start address.
    pub fn constant(&self) -> u64 {
        u64::from(self.leading) << 16 | u64::from(self.stride) << 32 | self.mode.code() << 62
    }
}

fn leaf(size: i64) -> Result<Layout> {
    Layout::leaf(size, 1)
}

/// The swizzle of byte addresses behind a swizzle of element offsets.
fn swizzle_of(tile: &ComposedLayout, element: Element) -> Result<SharedSwizzle> {
    let refuse = |found: String| {
        let offered = "S<0..3,4,3> of byte addresses".to_string();
        Cause::NoAtom { asked: format!("matrix descriptor of {found}"), offered }.of(OP)
    };
    match &tile.inner {
        Inner::Swizzle(swizzle) => {
            let bytes = swizzle.downcast((element.bits() / 8).trailing_zeros())?;
            SharedSwizzle::parse(&bytes).ok_or_else(|| refuse(format!("{bytes} of byte addresses")))
        }
        Inner::Layout(_) => Err(refuse(tile.to_string())),
    }
}

/// The stride of a mode; a mode of size 1 has none, for which 0 stands.
fn mode_stride(layout: &Layout, path: [usize; 2]) -> Result<i64> {
    let flat = match layout.get(&path) {
        Ok(mode) => mode.coalesce()?,
        Err(_) => return Ok(0),
    };
    match flat.tree() {
        Tuple::Leaf(mode) if mode.size.is(1) => Ok(0),
        Tuple::Leaf(mode) => mode.stride.scale.need_static(OP),
        Tuple::Node(_) => Err(Cause::Rank { expected: "one stride".into(), found: flat.rank() }
            .of(OP)
            .within(path[1])
            .within(path[0])),
    }
}

fn expect(layout: &Layout, path: [usize; 2], stride: i64) -> Result<()> {
    let found = mode_stride(layout, path)?;
    let one = layout.get(&path)?.size()?.is(1);
    if found == stride || one {
        return Ok(());
    }
    let asked = format!("descriptor with stride {found} there (in 16-byte units)");
    let cause = Cause::NoAtom { asked, offered: format!("stride {stride}") };
    Err(cause.of(OP).within(path[1]).within(path[0]))
}

fn field(value: i64) -> Result<u16> {
    let fits = u16::try_from(value).ok().filter(|v| *v < 1 << 14);
    fits.ok_or_else(|| Cause::TooLarge { size: value, limit: (1 << 14) - 1 }.of(OP))
}
