//! Layouts: functions from coordinates to offsets, given by a size and a stride for every leaf.

use crate::basis::{accumulate, coprofile};
use crate::{Cause, Int, IntTuple, Path, Result, Stride, Tuple};

/// One leaf of a layout: `size` steps of `stride`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// How many coordinates there are.
    pub size: Int,
    /// How far apart their offsets are.
    pub stride: Stride,
}

/// A layout: a tree of modes. Shape and stride have the same structure by construction.
///
/// ```
/// # use cute_layout::{Int, Layout};
/// let layout: Layout = "((2,4),3):((1,6),2)".parse()?;
/// assert_eq!(layout.rank(), 2);
/// assert_eq!(layout.shape().to_string(), "((2,4),3)");
/// assert_eq!(layout.size()?, Int::from(24));
/// assert_eq!(layout.cosize()?, Int::from(24));
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout(pub(crate) Tuple<Mode>);

/// A leaf of a layout that is worked on as a list; it remembers where it came from.
#[derive(Clone, Debug)]
pub(crate) struct Flat {
    pub(crate) at: Path,
    pub(crate) size: Int,
    pub(crate) stride: Stride,
}

impl Flat {
    pub(crate) fn mode(&self) -> Mode {
        Mode { size: self.size.clone(), stride: self.stride.clone() }
    }
}

impl Layout {
    /// The layout with this shape and stride, which must have the same structure.
    pub fn new(shape: &IntTuple, stride: &Tuple<Stride>) -> Result<Layout> {
        let layout = Layout(pair(shape, stride)?);
        layout.check_sizes()?;
        Ok(layout)
    }

    /// The layout of one mode.
    pub fn leaf(size: impl Into<Int>, stride: impl Into<Stride>) -> Result<Layout> {
        let layout = Layout(Tuple::Leaf(Mode { size: size.into(), stride: stride.into() }));
        layout.check_sizes()?;
        Ok(layout)
    }

    fn check_sizes(&self) -> Result<()> {
        self.0.try_map(|mode| match mode.size.as_static() {
            Some(size) if size < 1 => Err(Cause::Size { size: mode.size.clone() }.of("layout")),
            _ => Ok(()),
        })?;
        Ok(())
    }

    /// `1:0`, the layout that any layout can be padded with.
    pub fn unit() -> Layout {
        Layout(Tuple::Leaf(Mode { size: Int::ONE, stride: Stride::zero() }))
    }

    /// The modes side by side as one layout; a single one is wrapped too.
    pub fn from_modes(modes: impl IntoIterator<Item = Layout>) -> Layout {
        Layout(modes.into_iter().map(|layout| layout.0).collect())
    }

    pub(crate) fn from_flat(modes: Vec<Mode>) -> Layout {
        Layout(Tuple::from_flat(modes))
    }

    /// The tree of modes.
    pub fn tree(&self) -> &Tuple<Mode> {
        &self.0
    }

    /// The sizes.
    pub fn shape(&self) -> IntTuple {
        self.0.map(|mode| mode.size.clone())
    }

    /// The strides.
    pub fn stride(&self) -> Tuple<Stride> {
        self.0.map(|mode| mode.stride.clone())
    }

    /// How many top-level modes there are.
    pub fn rank(&self) -> usize {
        self.0.rank()
    }

    /// How deep the tree is.
    pub fn depth(&self) -> usize {
        self.0.depth()
    }

    /// The top-level modes as layouts.
    pub fn modes(&self) -> Vec<Layout> {
        self.0.modes().iter().cloned().map(Layout).collect()
    }

    /// The mode at a place.
    pub fn get(&self, path: &[usize]) -> Result<Layout> {
        let missing = || Cause::NoMode { index: path.last().copied().unwrap_or(0), of: self.to_string() };
        self.0.get(path).cloned().map(Layout).ok_or_else(|| missing().at("get", &Path(path.to_vec())))
    }

    /// The listed modes side by side.
    pub fn select(&self, modes: &[usize]) -> Result<Layout> {
        let missing = || Cause::NoMode { index: modes.iter().max().copied().unwrap_or(0), of: self.to_string() };
        self.0.select(modes).map(Layout).ok_or_else(|| missing().of("select"))
    }

    /// The modes `begin..end` wrapped into one.
    pub fn group_modes(&self, begin: usize, end: usize) -> Result<Layout> {
        let missing = || Cause::NoMode { index: begin.max(end), of: self.to_string() };
        self.0.group(begin, end).map(Layout).ok_or_else(|| missing().of("group_modes"))
    }

    /// The leaves as one tuple.
    pub fn flatten(&self) -> Layout {
        Layout(self.0.flatten())
    }

    /// The layout padded at its end with `1:0` to `rank` modes.
    pub fn append_to_rank(&self, rank: usize) -> Result<Layout> {
        check_rank(rank)?;
        Ok(Layout(self.0.append(rank, &Layout::unit().0)))
    }

    /// The layout padded at its front with `1:0` to `rank` modes.
    pub fn prepend_to_rank(&self, rank: usize) -> Result<Layout> {
        check_rank(rank)?;
        Ok(Layout(self.0.prepend(rank, &Layout::unit().0)))
    }

    /// How many coordinates there are.
    pub fn size(&self) -> Result<Int> {
        self.shape().product()
    }

    /// One more than the largest offset in every coordinate of the codomain.
    pub fn coshape(&self) -> Result<IntTuple> {
        let mut reach = self.coprofile()?.map(|_| Int::ONE);
        for mode in self.0.leaves() {
            let steps = mode.size.sub(&Int::ONE)?;
            accumulate(&mut reach, &mode.stride.basis, &steps.mul(&mode.stride.scale.abs()?)?)?;
        }
        Ok(reach)
    }

    /// How many offsets there are from the smallest to the largest, ends included.
    pub fn cosize(&self) -> Result<Int> {
        self.coshape()?.product()
    }

    /// The structure of the codomain, as zeros: `0` for plain strides, `(0,0)` for `1@0` and `1@1`.
    pub fn coprofile(&self) -> Result<IntTuple> {
        coprofile(&self.stride())
    }

    /// Whether every size and stride is a number.
    pub fn is_static(&self) -> bool {
        self.0.leaves().iter().all(|m| m.size.as_static().is_some() && m.stride.scale.as_static().is_some())
    }

    /// The layout with `f` applied to every size and every stride.
    pub fn map_ints(&self, f: &mut dyn FnMut(&Int) -> Int) -> Layout {
        Layout(self.0.map(|mode| {
            let size = f(&mode.size);
            Mode { size, stride: Stride { scale: f(&mode.stride.scale), basis: mode.stride.basis.clone() } }
        }))
    }

    pub(crate) fn flat(&self) -> Vec<Flat> {
        let mut flat = Vec::new();
        self.0.visit(&Path::default(), &mut |at, mode| {
            flat.push(Flat { at: at.clone(), size: mode.size.clone(), stride: mode.stride.clone() });
        });
        flat
    }
}

/// More modes than any layout has.
const MAX_RANK: usize = 1 << 12;

fn check_rank(rank: usize) -> Result<()> {
    let size = i64::try_from(rank).unwrap_or(i64::MAX);
    let cause = Cause::TooLarge { size, limit: MAX_RANK as i64 };
    if rank > MAX_RANK { Err(cause.of("padding")) } else { Ok(()) }
}

/// Joins shape and stride leaf by leaf.
fn pair(shape: &IntTuple, stride: &Tuple<Stride>) -> Result<Tuple<Mode>> {
    match (shape, stride) {
        (Tuple::Leaf(size), Tuple::Leaf(stride)) => {
            Ok(Tuple::Leaf(Mode { size: size.clone(), stride: stride.clone() }))
        }
        (Tuple::Node(sizes), Tuple::Node(strides)) if sizes.len() == strides.len() => {
            let pairs = sizes.iter().zip(strides).enumerate();
            pairs.map(|(i, (size, stride))| pair(size, stride).map_err(|e| e.within(i))).collect()
        }
        _ => Err(Cause::Incongruent { shape: shape.to_string(), stride: stride.to_string() }.of("layout")),
    }
}
