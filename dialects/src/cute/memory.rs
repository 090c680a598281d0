//! Pointers and views.

use cute_layout::{ComposedLayout, Coord, Inner, Int, IntTuple, Layout, Result, Tuple, atom::Element};
use std::fmt;

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Any of the others.
    Generic,
    /// Global memory.
    Global,
    /// A CTA's shared memory.
    Shared,
    /// A thread's registers.
    Register,
}

impl Space {
    const NAMES: [(Space, &'static str); 4] =
        [(Space::Generic, "generic"), (Space::Global, "gmem"), (Space::Shared, "smem"), (Space::Register, "rmem")];

    /// The space of a name in a type.
    pub fn parse(name: &str) -> Option<Space> {
        Self::NAMES.iter().find(|(_, n)| *n == name).map(|(space, _)| *space)
    }

    /// The number of the LLVM address space; a thread's registers are generic.
    pub fn address_space(self) -> u32 {
        match self {
            Space::Generic | Space::Register => 0,
            Space::Global => 1,
            Space::Shared => 3,
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(space, _)| space == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}

/// A pointer: what a type says, and how far it has moved from the SSA value it came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ptr {
    /// What it points to.
    pub element: Element,
    /// Where.
    pub space: Space,
    /// What its address before the move is a multiple of, in bytes.
    pub align: i64,
    /// The move in elements; zero in a type.
    pub offset: Int,
}

impl Ptr {
    /// How many bytes an element has.
    pub fn element_bytes(&self) -> i64 {
        i64::from(self.element.bits() / 8)
    }

    /// The same pointer, moved.
    pub fn moved(&self, by: &Int) -> Result<Ptr> {
        Ok(Ptr { offset: self.offset.add(by)?, ..self.clone() })
    }

    /// What the address after the move is a multiple of.
    pub fn moved_align(&self) -> i64 {
        // A multiple of zero is zero, which keeps any alignment.
        let step = self.offset.facts().div.checked_mul(self.element_bytes()).unwrap_or(0);
        gcd(self.align, step)
    }

    /// The pointer after the move, as a type says it.
    pub fn settled(&self) -> Ptr {
        Ptr { align: self.moved_align(), offset: Int::ZERO, ..self.clone() }
    }
}

impl fmt::Display for Ptr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, align<{}>", self.element, self.space, self.moved_align())
    }
}

/// The greatest common divisor.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The layout of a view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ViewLayout {
    /// Offsets from the pointer.
    Plain(Layout),
    /// Offsets through a swizzle (or another layout).
    Composed(ComposedLayout),
}

impl ViewLayout {
    /// The layout that takes coordinates.
    pub fn outer(&self) -> &Layout {
        match self {
            ViewLayout::Plain(layout) => layout,
            ViewLayout::Composed(composed) => &composed.outer,
        }
    }

    /// The same with the layout that takes coordinates changed.
    pub fn map(&self, f: impl FnOnce(&Layout) -> Result<Layout>) -> Result<ViewLayout> {
        Ok(match self {
            ViewLayout::Plain(layout) => ViewLayout::Plain(f(layout)?),
            ViewLayout::Composed(composed) => ViewLayout::Composed(composed.map(f)?),
        })
    }

    /// The offset of a coordinate, in elements.
    pub fn eval(&self, coord: &Coord) -> Result<IntTuple> {
        match self {
            ViewLayout::Plain(layout) => layout.eval(coord),
            ViewLayout::Composed(composed) => composed.eval(coord),
        }
    }
}

impl fmt::Display for ViewLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ViewLayout::Plain(layout) => layout.fmt(f),
            ViewLayout::Composed(composed) => composed.fmt(f),
        }
    }
}

/// A pointer and a layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// Where the elements start.
    pub ptr: Ptr,
    /// Where they lie from there.
    pub layout: ViewLayout,
}

impl View {
    /// The same pointer with another layout of the coordinates.
    pub fn map(&self, f: impl FnOnce(&Layout) -> Result<Layout>) -> Result<View> {
        Ok(View { ptr: self.ptr.clone(), layout: self.layout.map(f)? })
    }

    /// The modes under `_`: the fixed part moves the pointer, or the offset under a swizzle.
    pub fn slice(&self, coord: &Coord) -> Result<View> {
        match &self.layout {
            ViewLayout::Plain(layout) => {
                let (layout, offset) = layout.slice_and_offset(coord)?;
                Ok(View { ptr: self.ptr.moved(&plain(&offset))?, layout: ViewLayout::Plain(layout) })
            }
            ViewLayout::Composed(composed) => {
                Ok(View { ptr: self.ptr.clone(), layout: ViewLayout::Composed(composed.slice(coord)?) })
            }
        }
    }

    /// A piece of a plain layout, or the composed layout that stands for one.
    pub fn piece(
        &self,
        of_plain: impl FnOnce(&Layout) -> Result<cute_layout::Piece>,
        of_composed: impl FnOnce(&ComposedLayout) -> Result<ComposedLayout>,
    ) -> Result<View> {
        match &self.layout {
            ViewLayout::Plain(layout) => {
                let piece = of_plain(layout)?;
                Ok(View { ptr: self.ptr.moved(&plain(&piece.offset))?, layout: ViewLayout::Plain(piece.layout) })
            }
            ViewLayout::Composed(composed) => {
                let layout = ViewLayout::Composed(of_composed(composed)?);
                Ok(View { ptr: self.ptr.clone(), layout })
            }
        }
    }

    /// The swizzle of offsets; `None` where there is none or another layout stands in its place.
    pub fn swizzle(&self) -> Option<cute_layout::Swizzle> {
        match &self.layout {
            ViewLayout::Composed(ComposedLayout { inner: Inner::Swizzle(swizzle), .. }) => Some(*swizzle),
            _ => None,
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, \"{}\"", self.ptr, self.layout)
    }
}

/// The offset as one number; views of coordinates do not exist, so a tuple cannot occur.
fn plain(offset: &IntTuple) -> Int {
    match offset {
        Tuple::Leaf(offset) => offset.clone(),
        Tuple::Node(_) => Int::ZERO,
    }
}
