//! Coordinates: evaluating layouts, converting between indices and coordinates, slicing.

use crate::basis::accumulate;
use crate::{Cause, Int, IntTuple, Layout, Result, Stride, Tuple};

/// A leaf of a coordinate.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Slot {
    /// `_`: the whole mode.
    All,
    /// This index into the mode.
    At(Int),
}

/// A coordinate: an index, `_`, or a tuple of coordinates.
pub type Coord = Tuple<Slot>;

impl From<Int> for Slot {
    fn from(index: Int) -> Slot {
        Slot::At(index)
    }
}

impl From<IntTuple> for Coord {
    fn from(indices: IntTuple) -> Coord {
        indices.map(|index| Slot::At(index.clone()))
    }
}

impl From<i64> for Coord {
    fn from(index: i64) -> Coord {
        Tuple::Leaf(Slot::At(index.into()))
    }
}

fn misfit<T>(op: &'static str, coord: &Coord, shape: &IntTuple) -> Result<T> {
    Err(Cause::Coordinate { coord: coord.to_string(), shape: shape.clone() }.of(op))
}

impl Layout {
    /// The offset of a coordinate. `_` counts as 0. An index into a tuple of modes is split over
    /// them, first mode fastest; the last mode takes what remains without a bound, so that a layout
    /// extends beyond its size.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let layout: Layout = "(4,(3,2)):(1,(4,12))".parse()?;
    /// assert_eq!(layout.eval(&"(1,(2,1))".parse()?)?.to_string(), "21");
    /// assert_eq!(layout.eval(&21.into())?.to_string(), "21");
    /// let coordinates: Layout = "(4,8):(1@1,1@0)".parse()?;
    /// assert_eq!(coordinates.eval(&"(1,2)".parse()?)?.to_string(), "(2,1)");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn eval(&self, coord: &Coord) -> Result<IntTuple> {
        let mut offset = self.coprofile()?;
        self.step(coord, &mut |index, stride| accumulate(&mut offset, &stride.basis, &index.mul(&stride.scale)?))?;
        Ok(offset)
    }

    /// The offset of an index as a number; a layout with basis strides has none.
    pub fn offset_of(&self, index: i64) -> Result<i64> {
        let offset = self.eval(&index.into())?;
        match offset.as_leaf() {
            Some(value) => value.need_static("layout"),
            None => Err(Cause::MixedBasis { stride: self.stride().to_string() }.of("layout")),
        }
    }

    fn step(&self, coord: &Coord, visit: &mut dyn FnMut(&Int, &Stride) -> Result<()>) -> Result<()> {
        match (coord, &self.0) {
            (Tuple::Leaf(Slot::All), _) => Ok(()),
            (Tuple::Leaf(Slot::At(index)), Tuple::Leaf(mode)) => visit(index, &mode.stride),
            (Tuple::Leaf(Slot::At(index)), Tuple::Node(_)) => {
                let mut rest = index.clone();
                let modes = self.modes();
                let last = modes.len().saturating_sub(1);
                for (i, mode) in modes.iter().enumerate() {
                    let size = if i < last { mode.size()? } else { Int::ONE };
                    let here = if i < last { rest.rem(&size)? } else { rest.clone() };
                    mode.step(&Tuple::Leaf(Slot::At(here)), visit)?;
                    rest = rest.floor_div(&size)?;
                }
                Ok(())
            }
            (Tuple::Node(coords), Tuple::Node(modes)) if coords.len() == modes.len() => {
                let pairs = coords.iter().zip(self.modes()).enumerate();
                pairs.into_iter().try_for_each(|(i, (c, m))| m.step(c, visit).map_err(|e| e.within(i)))
            }
            _ => misfit("layout", coord, &self.shape()),
        }
    }

    /// The modes under `_`, side by side.
    ///
    /// ```
    /// # use cute_layout::Layout;
    /// let layout: Layout = "((2,4),3):((1,6),2)".parse()?;
    /// assert_eq!(layout.slice(&"((_,1),_)".parse()?)?.to_string(), "(2,3):(1,2)");
    /// assert_eq!(layout.dice(&"((_,1),_)".parse()?)?.to_string(), "(4):(6)");
    /// # Ok::<(), cute_layout::Error>(())
    /// ```
    pub fn slice(&self, coord: &Coord) -> Result<Layout> {
        self.pick(coord, true, "slice")
    }

    /// The modes that are not under `_`, side by side.
    pub fn dice(&self, coord: &Coord) -> Result<Layout> {
        self.pick(coord, false, "dice")
    }

    /// The modes under `_` and the offset of the fixed part.
    pub fn slice_and_offset(&self, coord: &Coord) -> Result<(Layout, IntTuple)> {
        Ok((self.slice(coord)?, self.eval(coord)?))
    }

    fn pick(&self, coord: &Coord, open: bool, op: &'static str) -> Result<Layout> {
        if let Tuple::Leaf(slot) = coord {
            let kept = (*slot == Slot::All) == open;
            return Ok(if kept { self.clone() } else { Layout(Tuple::Node(Vec::new())) });
        }
        let mut picked = Vec::new();
        self.pick_into(coord, open, &mut picked).map_err(|e| e.of(op))?;
        Ok(Layout::from_modes(picked))
    }

    fn pick_into(&self, coord: &Coord, open: bool, picked: &mut Vec<Layout>) -> Result<()> {
        match (coord, &self.0) {
            (Tuple::Leaf(slot), _) => {
                if (*slot == Slot::All) == open {
                    picked.push(self.clone());
                }
                Ok(())
            }
            (Tuple::Node(coords), Tuple::Node(modes)) if coords.len() == modes.len() => {
                let mut pairs = coords.iter().zip(self.modes()).enumerate();
                pairs.try_for_each(|(i, (c, m))| m.pick_into(c, open, picked).map_err(|e| e.within(i)))
            }
            _ => misfit("slice", coord, &self.shape()),
        }
    }
}

/// The index of a coordinate in a shape, first mode fastest.
pub fn crd2idx(coord: &Coord, shape: &IntTuple) -> Result<Int> {
    let index = Layout::col_major(shape)?.eval(coord).map_err(|e| e.of("crd2idx"))?;
    Ok(index.as_leaf().cloned().unwrap_or(Int::ZERO))
}

/// The coordinate of an index in a shape; the last mode takes what remains without a bound.
pub fn idx2crd(index: &IntTuple, shape: &IntTuple) -> Result<IntTuple> {
    match (index, shape) {
        (Tuple::Leaf(_), Tuple::Leaf(_)) => Ok(index.clone()),
        (Tuple::Leaf(index), Tuple::Node(modes)) => {
            let mut rest = index.clone();
            let last = modes.len().saturating_sub(1);
            let split = modes.iter().enumerate().map(|(i, mode)| {
                let size = mode.product()?;
                let here = if i < last { rest.rem(&size)? } else { rest.clone() };
                rest = rest.floor_div(&size)?;
                idx2crd(&Tuple::Leaf(here), mode)
            });
            split.collect()
        }
        (Tuple::Node(indices), Tuple::Node(modes)) if indices.len() == modes.len() => {
            let pairs = indices.iter().zip(modes).enumerate();
            pairs.map(|(i, (index, mode))| idx2crd(index, mode).map_err(|e| e.within(i))).collect()
        }
        _ => misfit("idx2crd", &index.clone().into(), shape),
    }
}

/// The coordinate after this one, first leaf fastest; the last leaf has no bound.
pub fn increment_coord(coord: &IntTuple, shape: &IntTuple) -> Result<IntTuple> {
    if !coord.congruent(shape) {
        return misfit("increment_coord", &coord.clone().into(), shape);
    }
    let sizes = shape.leaves();
    let last = sizes.len().saturating_sub(1);
    let mut carry = Int::ONE;
    let mut next = 0;
    coord.try_map(|index| {
        let moved = index.add(&carry)?;
        let size = sizes.get(next).copied().filter(|_| next < last);
        next += 1;
        let Some(size) = size.filter(|_| !carry.is(0)) else {
            return Ok(moved);
        };
        carry = moved.floor_div(size)?;
        moved.rem(size)
    })
}
