//! What can go wrong, and where.

use std::fmt;

use crate::{Int, IntTuple};

/// The result of every fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The place of a mode in a tree: `1.0` is the first mode of the second mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(pub Vec<usize>);

impl Path {
    /// The place of mode `index` below this one.
    pub fn child(&self, index: usize) -> Path {
        let mut path = self.0.clone();
        path.push(index);
        Path(path)
    }
}

impl Path {
    /// The place in front of what is said about it; nothing for the whole.
    fn prefix(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!("{self}: ") }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("the whole");
        }
        f.write_str("mode ")?;
        for (i, index) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            write!(f, "{index}")?;
        }
        Ok(())
    }
}

/// An operation's refusal: which operation, which mode, which condition.
///
/// ```
/// # use cute_layout::{Cause, Layout};
/// let a: Layout = "(8,8):(8,1)".parse()?;
/// let error = a.compose(&"(2,4):(8,3)".parse()?).unwrap_err();
/// assert_eq!(error.at.0, [1]);
/// assert!(matches!(*error.cause, Cause::SizeCondition { .. }));
/// assert_eq!(
///     error.to_string(),
///     "composition: mode 1: size 4 at stride 3 is not a multiple of 3, \
///      the part of it that fits mode 0 (size 8) of the left operand",
/// );
/// # Ok::<(), cute_layout::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{op}: {place}{cause}", place = at.prefix())]
pub struct Error {
    /// The operation that refused.
    pub op: &'static str,
    /// The mode that broke the condition: of the right operand in a composition, else of the layout.
    pub at: Path,
    /// The condition.
    pub cause: Box<Cause>,
}

/// The condition that an operand broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The text does not follow the notation.
    #[error("expected {expected} at byte {offset}")]
    Syntax {
        /// Where in the text.
        offset: usize,
        /// What would have been right.
        expected: String,
    },
    /// A number left the range of a 64-bit integer.
    #[error("the result does not fit a 64-bit integer")]
    Overflow,
    /// A divisor is zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A symbolic expression has too many terms to be of use.
    #[error("the symbolic expression has more than {limit} terms")]
    TooManyTerms {
        /// The largest number of terms that is kept.
        limit: usize,
    },
    /// Shape and stride are different trees.
    #[error("shape {shape} and stride {stride} have different structure")]
    Incongruent {
        /// The shape there.
        shape: String,
        /// The stride there.
        stride: String,
    },
    /// Two tuples that must have the same structure differ.
    #[error("{left} and {right} have different structure")]
    Structure {
        /// The left tuple there.
        left: String,
        /// The right tuple there.
        right: String,
    },
    /// A static size is below one.
    #[error("a size must be at least 1, this one is {size}")]
    Size {
        /// The size.
        size: Int,
    },
    /// A tuple has the wrong number of modes.
    #[error("rank {found}, but {expected} is needed")]
    Rank {
        /// How many modes are needed.
        expected: String,
        /// How many there are.
        found: usize,
    },
    /// A mode is named that is not there.
    #[error("there is no mode {index} in {of}")]
    NoMode {
        /// The mode that was asked for.
        index: usize,
        /// The tree it was looked for in.
        of: String,
    },
    /// Composition: a stride neither fits into a left mode nor steps over whole copies of it.
    #[error("stride {stride} neither is below nor is a multiple of the size {size} of {left} of the left operand")]
    StrideCondition {
        /// What is left of the stride at that mode.
        stride: Int,
        /// The mode of the left operand.
        left: Path,
        /// Its size.
        size: Int,
    },
    /// Composition: a size cannot be split over the modes of the left operand.
    #[error(
        "size {size} at stride {stride} is not a multiple of {part}, \
         the part of it that fits {left} (size {left_size}) of the left operand"
    )]
    SizeCondition {
        /// What is left of the size at that mode.
        size: Int,
        /// What is left of the stride there.
        stride: Int,
        /// The part that has to divide it.
        part: Int,
        /// The mode of the left operand.
        left: Path,
        /// Its size.
        left_size: Int,
    },
    /// Composition: a size runs past a left mode that its stride does not divide.
    #[error(
        "size {size} runs past {left} of the left operand, whose size {left_size} is not a multiple of the stride {stride}"
    )]
    Straddles {
        /// What is left of the size at that mode.
        size: Int,
        /// What is left of the stride there.
        stride: Int,
        /// The mode of the left operand.
        left: Path,
        /// Its size.
        left_size: Int,
    },
    /// A stride falls into what the modes of smaller stride cover, so copies of them would overlap
    /// or interleave.
    #[error("stride {stride} is below {reached}, where the modes of smaller stride end")]
    Overlap {
        /// The stride of the mode.
        stride: Int,
        /// Where the modes of smaller stride end.
        reached: Int,
    },
    /// A value must be a multiple of another.
    #[error("{value} is not a multiple of {by}")]
    Indivisible {
        /// The value.
        value: Int,
        /// What has to divide it.
        by: Int,
    },
    /// Sizes must divide one another, either way round.
    #[error("neither of {left} and {right} divides the other")]
    Incommensurable {
        /// The left size.
        left: Int,
        /// The right size.
        right: Int,
    },
    /// There is no such atom.
    #[error("there is no {asked}; there is {offered}")]
    NoAtom {
        /// What was asked for.
        asked: String,
        /// What there is.
        offered: String,
    },
    /// A stride is negative where the operation has no meaning for it.
    #[error("stride {stride} is negative")]
    NegativeStride {
        /// The stride.
        stride: Int,
    },
    /// Two strides must be ordered and what is known about them does not tell.
    #[error("strides {left} and {right} cannot be ordered by what is known about them")]
    Unordered {
        /// One stride.
        left: Int,
        /// The other.
        right: Int,
    },
    /// Strides of different depth are summed: `1` and `1@0`, or `1@0` and `1@0@0`.
    #[error("stride {stride} is of a different depth than the others")]
    MixedBasis {
        /// The stride that does not fit.
        stride: String,
    },
    /// A coordinate does not fit the shape.
    #[error("coordinate {coord} does not fit the shape {shape}")]
    Coordinate {
        /// The coordinate.
        coord: String,
        /// The shape.
        shape: IntTuple,
    },
    /// Numbers that make no swizzle.
    #[error(
        "S<{bits},{base},{shift}> is no swizzle: 0 <= bits <= |shift|, 0 <= base and bits + base + |shift| <= 62 must hold"
    )]
    Swizzle {
        /// How many bits are exchanged.
        bits: i64,
        /// The lowest target bit.
        base: i64,
        /// The distance from target to source.
        shift: i64,
    },
    /// The layout has no mode of stride 1 to take the finer elements.
    #[error("no mode has stride 1, so finer elements have no place")]
    NoUnitStride,
    /// Two swizzles whose composition is no swizzle mask.
    #[error("swizzles of different shift do not compose to a swizzle")]
    SwizzleShift,
    /// What is known about a symbol contradicts itself.
    #[error("facts {{{facts}}} cannot hold")]
    Facts {
        /// The facts.
        facts: String,
    },
    /// The values are needed as numbers, but a leaf is not static.
    #[error("{value} is not static")]
    Dynamic {
        /// The leaf.
        value: Int,
    },
    /// More work or a bigger picture than is reasonable.
    #[error("{size} exceeds the limit of {limit}")]
    TooLarge {
        /// What was asked for.
        size: i64,
        /// What is allowed.
        limit: i64,
    },
    /// The condition may hold, but what is known about the symbols does not prove it.
    #[error("cannot be proven from what is known about the symbols; it would fail if: {0}")]
    Unproven(Box<Cause>),
}

impl Error {
    pub(crate) fn new(op: &'static str, at: Path, cause: Cause) -> Error {
        Error { op, at, cause: Box::new(cause) }
    }

    /// The same error, seen from the tuple that has the failing one as mode `index`.
    pub(crate) fn within(mut self, index: usize) -> Error {
        self.at.0.insert(0, index);
        self
    }

    /// The same error, seen from the tree that has the failing one at `path`.
    pub(crate) fn below(mut self, path: &Path) -> Error {
        let inner = std::mem::replace(&mut self.at, path.clone());
        self.at.0.extend(inner.0);
        self
    }

    /// The same error under the name of the operation that the caller asked for.
    pub(crate) fn of(mut self, op: &'static str) -> Error {
        self.op = op;
        self
    }
}

impl Cause {
    pub(crate) fn of(self, op: &'static str) -> Error {
        Error::new(op, Path::default(), self)
    }

    pub(crate) fn at(self, op: &'static str, at: &Path) -> Error {
        Error::new(op, at.clone(), self)
    }

    /// Fails when the condition is known to be broken, or when it is neither known to hold nor may
    /// be assumed. It is assumed when an anonymous leaf without facts takes part: such a leaf says
    /// nothing, so nothing could ever be proven about it.
    pub(crate) fn unless(self, holds: Option<bool>, involved: &[&Int]) -> std::result::Result<(), Box<Cause>> {
        match holds {
            Some(true) => Ok(()),
            Some(false) => Err(Box::new(self)),
            None if involved.iter().any(|i| i.is_assumed()) => Ok(()),
            None => Err(Box::new(Cause::Unproven(Box::new(self)))),
        }
    }
}
