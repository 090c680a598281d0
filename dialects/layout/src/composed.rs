//! Composed layouts: a layout, an offset, and a swizzle or a layout after it.

use crate::coord::Coord;
use crate::recast::Ratio;
use crate::{Cause, Int, IntTuple, Layout, Result, Swizzle, Tile, Tuple};

/// The last step of a composed layout.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Inner {
    /// A swizzle of the offset.
    Swizzle(Swizzle),
    /// A layout whose coordinate the offset is.
    Layout(Layout),
}

/// `inner o offset o outer`: the coordinate goes through `outer`, the offset is added, then `inner`
/// is applied. The shape is the one of `outer`, and the algebra works on it alone.
///
/// ```
/// # use cute_layout::{ComposedLayout, Tile};
/// let shared: ComposedLayout = "S<3,4,3> o 0 o (8,64):(64,1)".parse()?;
/// assert_eq!(shared.eval(&"(1,0)".parse()?)?.to_string(), "64");
/// assert_eq!(shared.eval(&"(2,0)".parse()?)?.to_string(), "144");
/// let tile: Tile = "[4:1;16:1]".parse()?;
/// assert_eq!(
///     shared.map(|domain| domain.zipped_divide(&tile))?.to_string(),
///     "S<3,4,3> o 0 o ((4,16),(2,4)):((64,1),(256,16))",
/// );
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ComposedLayout {
    /// Applied last.
    pub inner: Inner,
    /// Added in between.
    pub offset: IntTuple,
    /// Applied first: its shape is the shape of the whole.
    pub outer: Layout,
}

impl ComposedLayout {
    /// A swizzled layout.
    pub fn swizzled(swizzle: Swizzle, outer: Layout) -> ComposedLayout {
        ComposedLayout { inner: Inner::Swizzle(swizzle), offset: 0.into(), outer }
    }

    /// The same with the outer layout replaced: how every operation of the algebra applies.
    pub fn map(&self, f: impl FnOnce(&Layout) -> Result<Layout>) -> Result<ComposedLayout> {
        Ok(ComposedLayout { outer: f(&self.outer)?, ..self.clone() })
    }

    /// How many coordinates there are.
    pub fn size(&self) -> Result<Int> {
        self.outer.size()
    }

    /// The reach of the outer layout.
    pub fn cosize(&self) -> Result<Int> {
        self.outer.cosize()
    }

    /// The offset of a coordinate.
    pub fn eval(&self, coord: &Coord) -> Result<IntTuple> {
        self.finish(&self.outer.eval(coord)?)
    }

    /// The offset of an index as a number.
    pub fn offset_of(&self, index: i64) -> Result<i64> {
        let offset = self.eval(&index.into())?;
        let mixed = || Cause::MixedBasis { stride: offset.to_string() }.of("composed layout");
        offset.as_leaf().ok_or_else(mixed)?.need_static("composed layout")
    }

    fn finish(&self, outer: &IntTuple) -> Result<IntTuple> {
        let moved = self.offset.add(outer)?;
        match (&self.inner, &moved) {
            (Inner::Swizzle(swizzle), Tuple::Leaf(offset)) => Ok(Tuple::Leaf(offset.swizzled(*swizzle))),
            (Inner::Swizzle(_), Tuple::Node(_)) => {
                Err(Cause::MixedBasis { stride: self.outer.stride().to_string() }.of("swizzle"))
            }
            (Inner::Layout(inner), _) => inner.eval(&moved.into()),
        }
    }

    /// The composition with a layout on the right.
    pub fn compose(&self, rhs: &Layout) -> Result<ComposedLayout> {
        self.map(|outer| outer.compose(rhs))
    }

    /// The composition with a tile on the right.
    pub fn compose_tile(&self, tile: &Tile) -> Result<ComposedLayout> {
        self.map(|outer| outer.compose_tile(tile))
    }

    /// The modes under `_`; what the fixed part of the coordinate contributes goes to the offset, so
    /// the swizzle is kept.
    ///
    /// ```
    /// # use cute_layout::ComposedLayout;
    /// let shared: ComposedLayout = "S<3,4,3> o 0 o (10,2):(2,1)".parse()?;
    /// assert_eq!(shared.slice(&"(3,_)".parse()?)?.to_string(), "S<3,4,3> o 6 o (2):(1)");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn slice(&self, coord: &Coord) -> Result<ComposedLayout> {
        let (outer, fixed) = self.outer.slice_and_offset(coord)?;
        Ok(ComposedLayout { inner: self.inner.clone(), offset: self.offset.add(&fixed)?, outer })
    }

    /// The same memory as elements of another width. The swizzle is of the offset in elements.
    pub fn recast(&self, new_bits: i64, old_bits: i64) -> Result<ComposedLayout> {
        const OP: &str = "recast_layout";
        let Ratio { num, den } = Ratio::of_bits(new_bits, old_bits)?;
        let inner = match &self.inner {
            Inner::Layout(layout) => Inner::Layout(layout.recast(new_bits, old_bits)?),
            Inner::Swizzle(swizzle) => Inner::Swizzle(swizzle.upcast(log2(num)?)?.downcast(log2(den)?)?),
        };
        let (by, times) = (Int::from(num), Int::from(den));
        let offset = self.offset.try_map(|offset| {
            let whole = Cause::Indivisible { value: offset.clone(), by: by.clone() };
            whole.unless(by.divides(offset), &[offset]).map_err(|cause| cause.of(OP))?;
            offset.floor_div(&by)?.mul(&times)
        })?;
        Ok(ComposedLayout { inner, offset, outer: self.outer.recast(new_bits, old_bits)? })
    }

    /// The map that undoes this one where the right inverses do: its steps in reverse order.
    pub fn right_inverse(&self) -> Result<InverseMap> {
        self.inverse(&|layout| layout.right_inverse())
    }

    /// The quasi-inverse: the left inverses of the steps in reverse order.
    pub fn left_inverse(&self) -> Result<InverseMap> {
        self.inverse(&|layout| layout.left_inverse())
    }

    fn inverse(&self, f: &dyn Fn(&Layout) -> Result<Layout>) -> Result<InverseMap> {
        let first = match &self.inner {
            Inner::Layout(layout) => Inner::Layout(f(layout)?),
            swizzle => swizzle.clone(),
        };
        Ok(InverseMap { first, offset: self.offset.try_map(Int::neg)?, last: f(&self.outer)? })
    }
}

/// The inverse of a composed layout: `first`, then the negated offset is added, then `last`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct InverseMap {
    /// The inverse of the inner step; a swizzle is its own.
    pub first: Inner,
    /// The negated offset.
    pub offset: IntTuple,
    /// The inverse of the outer layout.
    pub last: Layout,
}

impl InverseMap {
    /// The index that an offset comes from.
    pub fn eval(&self, offset: &IntTuple) -> Result<IntTuple> {
        let undone = match (&self.first, offset) {
            (Inner::Swizzle(swizzle), Tuple::Leaf(offset)) => Tuple::Leaf(offset.swizzled(*swizzle)),
            (Inner::Swizzle(_), Tuple::Node(_)) => {
                return Err(Cause::MixedBasis { stride: offset.to_string() }.of("swizzle"));
            }
            (Inner::Layout(layout), _) => layout.eval(&offset.clone().into())?,
        };
        self.last.eval(&undone.add(&self.offset)?.into())
    }
}

/// The exponent of a power of two.
fn log2(factor: i64) -> Result<u32> {
    match factor > 0 && factor.count_ones() == 1 {
        true => Ok(factor.trailing_zeros()),
        false => Err(Cause::Indivisible { value: factor.into(), by: 2.into() }.of("recast_layout")),
    }
}
