//! Views whose elements are coordinates, and pipelines of stages: the types of the dialect beside layouts and memory.

use cute_layout::{Coord, Int, IntTuple, Layout, Piece, Slot, Tuple};
use std::fmt;

/// A start and a layout that steps in coordinates from there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CoordView {
    /// The element at coordinate 0.
    pub start: IntTuple,
    /// How coordinates step in coordinates.
    pub layout: Layout,
}

impl CoordView {
    /// The view; an error where the layout steps in coordinates that the start has not, or in plain offsets.
    pub fn new(start: IntTuple, layout: Layout) -> Result<CoordView, String> {
        let profile = layout.coprofile().map_err(|error| error.to_string())?;
        let plain = layout.stride().leaves().iter().any(|stride| stride.basis.is_empty() && !stride.is_zero());
        if plain || matches!(start, Tuple::Leaf(_)) || sum(&start, &profile).is_none() {
            return Err(format!(
                "needs a layout whose strides step in the coordinates {start}, as 1@0 and 1@1 do, got {layout}"
            ));
        }
        Ok(CoordView { start, layout })
    }

    /// The view of a shape whose elements are their own coordinates.
    pub fn identity(shape: &IntTuple) -> Result<CoordView, String> {
        match shape {
            Tuple::Leaf(_) => Err(format!("needs a shape of several modes, as ({shape},1), got {shape}")),
            Tuple::Node(_) => CoordView::new(shape.map(|_| Int::ZERO), Layout::identity(shape)),
        }
    }

    /// The same start with another layout.
    pub fn map(&self, f: impl FnOnce(&Layout) -> Result<Layout, String>) -> Result<CoordView, String> {
        CoordView::new(self.start.clone(), f(&self.layout)?)
    }

    /// A piece of the layout, which starts elsewhere.
    pub fn piece(&self, piece: Piece) -> Result<CoordView, String> {
        let start = sum(&self.start, &piece.offset)
            .ok_or_else(|| format!("steps by {} from {}, which has other coordinates", piece.offset, self.start))?;
        Ok(CoordView { start, layout: piece.layout })
    }

    /// The modes under `_`.
    pub fn slice(&self, coord: &Coord) -> Result<CoordView, String> {
        let (layout, offset) = self.layout.slice_and_offset(coord).map_err(|error| error.to_string())?;
        self.piece(Piece { layout, offset })
    }

    /// The element at a coordinate.
    pub fn at(&self, coord: &Coord) -> Result<IntTuple, String> {
        if coord.leaves().iter().any(|slot| **slot == Slot::All) {
            return Err(format!("the coordinate {coord} leaves a mode open; slice the view instead"));
        }
        let offset = self.layout.eval(coord).map_err(|error| error.to_string())?;
        sum(&self.start, &offset)
            .ok_or_else(|| format!("steps by {offset} from {}, which has other coordinates", self.start))
    }
}

impl fmt::Display for CoordView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\", \"{}\"", self.start, self.layout)
    }
}

/// Coordinates and a step in some of them: what the step does not reach stays. `None` where the step is in others, or the sum overflows.
fn sum(start: &IntTuple, step: &IntTuple) -> Option<IntTuple> {
    match (start, step) {
        (Tuple::Leaf(a), Tuple::Leaf(b)) => a.add(b).ok().map(Tuple::Leaf),
        (_, Tuple::Leaf(b)) if b.is(0) => Some(start.clone()),
        (Tuple::Node(a), Tuple::Node(b)) if b.len() <= a.len() => {
            let zero = Tuple::Leaf(Int::ZERO);
            let modes = a.iter().zip(b.iter().chain(std::iter::repeat(&zero)));
            modes.map(|(a, b)| sum(a, b)).collect::<Option<Vec<_>>>().map(Tuple::Node)
        }
        _ => None,
    }
}

/// Stages that producers fill and consumers empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pipeline {
    /// How many stages there are.
    pub stages: u32,
    /// Arrivals that end a phase of a full barrier.
    pub full: u32,
    /// Arrivals that end a phase of an empty barrier.
    pub empty: u32,
}

impl Pipeline {
    /// The most stages: what more would wait for has no shared memory.
    const MOST_STAGES: u32 = 64;
    /// The most arrivals that a barrier counts.
    const MOST_ARRIVALS: u32 = (1 << 20) - 1;

    /// Reads `4`, `full<1>` and `empty<2>`.
    pub fn parse(stages: &str, full: &str, empty: &str) -> Result<Pipeline, String> {
        let number = |text: &str, name: &str, most: u32| {
            let inner = if name == "stages" {
                Some(text)
            } else {
                text.strip_prefix(name).and_then(|t| t.strip_prefix('<')).and_then(|t| t.strip_suffix('>'))
            };
            let number = inner.and_then(|t| t.trim().parse::<u32>().ok()).filter(|n| (1..=most).contains(n));
            number.ok_or_else(|| {
                format!("'{name}' of a pipeline is a number from 1 to {most}, written as in {EXAMPLE}, got '{text}'")
            })
        };
        Ok(Pipeline {
            stages: number(stages, "stages", Self::MOST_STAGES)?,
            full: number(full, "full", Self::MOST_ARRIVALS)?,
            empty: number(empty, "empty", Self::MOST_ARRIVALS)?,
        })
    }
}

/// How a pipeline is written.
pub const EXAMPLE: &str = "pipeline<4, full<1>, empty<2>>";

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, full<{}>, empty<{}>", self.stages, self.full, self.empty)
    }
}
