//! Strides, and codomains with several coordinates.
//!
//! A stride is an integer times a basis vector. `4` steps in a plain offset, `4@1` steps by 4 in
//! the second coordinate, `4@0@1` in the first coordinate of the second one.

use crate::{Cause, Int, IntTuple, Result, Tuple};

/// The stride of one mode: `scale` times the basis vector at `basis`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Stride {
    /// How far a step goes.
    pub scale: Int,
    /// In which coordinate, outermost first; empty for a plain offset. `1@0@2` has `[2, 0]`.
    pub basis: Vec<usize>,
}

impl From<Int> for Stride {
    fn from(scale: Int) -> Stride {
        Stride { scale, basis: Vec::new() }
    }
}

impl From<i64> for Stride {
    fn from(scale: i64) -> Stride {
        Int::Static(scale).into()
    }
}

impl Stride {
    /// The stride of nothing: plain 0.
    pub fn zero() -> Stride {
        Int::ZERO.into()
    }

    /// Whether a step is known to go nowhere.
    pub fn is_zero(&self) -> bool {
        self.scale.is(0)
    }

    /// The same direction, `by` times as far.
    pub fn scaled(&self, by: &Int) -> Result<Stride> {
        let scale = self.scale.mul(by)?;
        let basis = if scale.is(0) { Vec::new() } else { self.basis.clone() };
        Ok(Stride { scale, basis })
    }

    /// Whether both go equally far in the same direction, if that is known.
    pub fn known_eq(&self, other: &Stride) -> Option<bool> {
        match self.basis == other.basis {
            true => self.scale.known_eq(&other.scale),
            false => Some(false),
        }
    }

    /// The stride as coordinates: `3@1` is `(0,3)`.
    pub fn as_arithmetic_tuple(&self) -> Result<IntTuple> {
        self.basis.iter().rev().try_fold(Tuple::Leaf(self.scale.clone()), |inner, &index| {
            check_index(index)?;
            let mut modes = vec![Tuple::Leaf(Int::ZERO); index];
            modes.push(inner);
            Ok(Tuple::Node(modes))
        })
    }
}

/// No codomain has a coordinate as far out as this.
const MAX_INDEX: usize = 1 << 12;

fn check_index(index: usize) -> Result<()> {
    let size = i64::try_from(index).unwrap_or(i64::MAX);
    let cause = Cause::TooLarge { size, limit: MAX_INDEX as i64 };
    if index > MAX_INDEX { Err(cause.of("codomain")) } else { Ok(()) }
}

/// A codomain under construction: strides that were seen decide its structure.
#[derive(Clone)]
enum Profile {
    Unseen,
    Value,
    Modes(Vec<Profile>),
}

impl Profile {
    /// Makes room for a basis vector; `false` if the structure is already a different one.
    fn insert(&mut self, basis: &[usize]) -> bool {
        match (basis.split_first(), &mut *self) {
            (None, Profile::Modes(_)) => false,
            (None, _) => {
                *self = Profile::Value;
                true
            }
            (Some(_), Profile::Value) => false,
            (Some(_), Profile::Unseen) => {
                *self = Profile::Modes(Vec::new());
                self.insert(basis)
            }
            (Some((&index, rest)), Profile::Modes(modes)) => {
                if modes.len() <= index {
                    modes.resize(index + 1, Profile::Unseen);
                }
                modes.get_mut(index).is_some_and(|mode| mode.insert(rest))
            }
        }
    }

    fn zeros(&self) -> IntTuple {
        match self {
            Profile::Unseen | Profile::Value => Tuple::Leaf(Int::ZERO),
            Profile::Modes(modes) => modes.iter().map(Profile::zeros).collect(),
        }
    }
}

/// The codomain of some strides as a tuple of zeros. Plain zero strides fit any codomain.
pub fn coprofile(strides: &Tuple<Stride>) -> Result<IntTuple> {
    let mut profile = Profile::Unseen;
    strides.try_map(|stride| {
        stride.basis.iter().try_for_each(|&index| check_index(index))?;
        let plain_zero = stride.is_zero() && stride.basis.is_empty();
        match plain_zero || profile.insert(&stride.basis) {
            true => Ok(()),
            false => Err(Cause::MixedBasis { stride: stride.to_string() }.of("codomain")),
        }
    })?;
    Ok(profile.zeros())
}

/// Adds `value` in the direction of `basis` to coordinates of the right structure.
pub(crate) fn accumulate(coords: &mut IntTuple, basis: &[usize], value: &Int) -> Result<()> {
    match (coords, basis.split_first()) {
        (Tuple::Leaf(sum), None) => {
            *sum = sum.add(value)?;
            Ok(())
        }
        (Tuple::Node(modes), Some((&index, rest))) => match modes.get_mut(index) {
            Some(mode) => accumulate(mode, rest, value),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
