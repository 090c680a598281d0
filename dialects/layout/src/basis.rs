//! Strides, and codomains with several coordinates.
//!
//! A stride is an integer times a basis vector. `4` steps in a plain offset, `4@1` steps by 4 in
//! the second coordinate, `4@0@1` in the first coordinate of the second one.

use crate::{Cause, Error, Int, IntTuple, Path, Result, Tuple};

/// The stride of one mode: `scale` times the basis vector at `basis`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stride {
    /// How far a step goes.
    pub scale: Int,
    /// In which coordinate, outermost first; empty for a plain offset. `1@0@2` has `[2, 0]`.
    pub basis: Vec<usize>,
}

impl From<Int> for Stride {
    fn from(scale: Int) -> Stride {
        Stride {
            scale,
            basis: Vec::new(),
        }
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
        let basis = if scale.is(0) {
            Vec::new()
        } else {
            self.basis.clone()
        };
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
    pub fn as_arithmetic_tuple(&self) -> IntTuple {
        self.basis
            .iter()
            .rev()
            .fold(Tuple::Leaf(self.scale.clone()), |inner, &index| {
                let mut modes = vec![Tuple::Leaf(Int::ZERO); index];
                modes.push(inner);
                Tuple::Node(modes)
            })
    }
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

/// No codomain has a coordinate as far out as this.
const MAX_INDEX: usize = 1 << 12;

/// The codomain of some strides as a tuple of zeros. Plain zero strides fit any codomain.
pub fn coprofile(strides: &Tuple<Stride>) -> Result<IntTuple> {
    let mut profile = Profile::Unseen;
    let mut error: Option<Error> = None;
    strides.visit(&Path::default(), &mut |at, stride| {
        let plain_zero = stride.is_zero() && stride.basis.is_empty();
        let cause = match stride.basis.iter().max() {
            Some(&index) if index > MAX_INDEX => Cause::TooLarge {
                size: i64::try_from(index).unwrap_or(i64::MAX),
                limit: MAX_INDEX as i64,
            },
            _ => Cause::MixedBasis {
                stride: stride.to_string(),
            },
        };
        let too_large = matches!(cause, Cause::TooLarge { .. });
        if error.is_none() && (too_large || (!plain_zero && !profile.insert(&stride.basis))) {
            error = Some(cause.at("codomain", at));
        }
    });
    error.map_or_else(|| Ok(profile.zeros()), Err)
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
