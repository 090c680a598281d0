//! Arithmetic on tuples of integers.

use crate::{Cause, Error, Int, Result, Tile, Tuple};

/// A shape, an index or an offset: an integer or a tuple of them.
pub type IntTuple = Tuple<Int>;

impl From<i64> for IntTuple {
    fn from(value: i64) -> IntTuple {
        Tuple::Leaf(value.into())
    }
}

impl IntTuple {
    /// The product of all leaves; 1 for an empty tuple.
    pub fn product(&self) -> Result<Int> {
        self.leaves().into_iter().try_fold(Int::ONE, |product, leaf| product.mul(leaf))
    }

    /// The product of every top-level mode.
    pub fn product_each(&self) -> Result<IntTuple> {
        self.modes().iter().map(|mode| mode.product().map(Tuple::Leaf)).collect()
    }

    /// The sum, mode by mode; the shorter tuple is filled up with zeros.
    pub fn add(&self, other: &IntTuple) -> Result<IntTuple> {
        self.sum(other, "tuple_add", &|a, b| a.add(b))
    }

    /// The difference, mode by mode; a mode that only the right tuple has is kept as it is there.
    pub fn sub(&self, other: &IntTuple) -> Result<IntTuple> {
        self.sum(other, "tuple_sub", &|a, b| a.sub(b))
    }

    fn sum(&self, other: &IntTuple, op: &'static str, f: &dyn Fn(&Int, &Int) -> Result<Int>) -> Result<IntTuple> {
        match (self, other) {
            (Tuple::Leaf(a), Tuple::Leaf(b)) => f(a, b).map(Tuple::Leaf).map_err(|e| e.of(op)),
            (Tuple::Leaf(zero), any) | (any, Tuple::Leaf(zero)) if zero.is(0) => Ok(any.clone()),
            (Tuple::Node(a), Tuple::Node(b)) => {
                let longest = a.len().max(b.len());
                let modes = (0..longest).map(|i| match (a.get(i), b.get(i)) {
                    (Some(a), Some(b)) => a.sum(b, op, f).map_err(|e| e.within(i)),
                    (Some(only), None) | (None, Some(only)) => Ok(only.clone()),
                    (None, None) => Ok(Tuple::Node(Vec::new())),
                });
                modes.collect()
            }
            _ => Err(self.unlike(other, op)),
        }
    }

    fn unlike(&self, other: &IntTuple, op: &'static str) -> Error {
        Cause::Structure { left: self.to_string(), right: other.to_string() }.of(op)
    }

    /// How many tiles of `other` cover this shape. A tuple tiles mode by mode. An integer tiles the
    /// leaves from the first on, and what is left of it after one leaf, rounded up, goes to the next:
    /// the count is right where the sizes divide one another.
    pub fn ceil_div(&self, other: &IntTuple) -> Result<IntTuple> {
        self.divide(other, "ceil_div", &|a, b| a.size_ceil_div(b))
    }

    /// The shape that is left when `other` is taken out from the first leaf on. Unlike
    /// [`IntTuple::ceil_div`] the sizes must divide one another.
    pub fn shape_div(&self, other: &IntTuple) -> Result<IntTuple> {
        self.divide(other, "shape_div", &|a, b| {
            let fits = match (b.divides(a), a.divides(b)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
            let cause = Cause::Incommensurable { left: a.clone(), right: b.clone() };
            cause.unless(fits, &[a, b]).map_err(|cause| cause.of("shape_div"))?;
            a.size_ceil_div(b)
        })
    }

    fn divide(&self, other: &IntTuple, op: &'static str, f: &dyn Fn(&Int, &Int) -> Result<Int>) -> Result<IntTuple> {
        match (self, other) {
            (Tuple::Node(a), Tuple::Node(b)) => {
                if b.len() > a.len() {
                    return Err(Cause::Rank { expected: format!("at least {}", b.len()), found: a.len() }.of(op));
                }
                let modes = a.iter().enumerate().map(|(i, a)| match b.get(i) {
                    Some(b) => a.divide(b, op, f).map_err(|e| e.within(i)),
                    None => Ok(a.clone()),
                });
                modes.collect()
            }
            (Tuple::Leaf(_), Tuple::Node(_)) => self.divide(&Tuple::Leaf(other.product()?), op, f),
            (_, Tuple::Leaf(by)) => {
                let mut rest = by.clone();
                self.try_map(|leaf| {
                    let quotient = f(leaf, &rest)?;
                    rest = f(&rest, leaf)?;
                    Ok(quotient)
                })
                .map_err(|e| e.of(op))
            }
        }
    }

    /// How many tiles cover this shape: a layout as a tile covers what its complement leaves over.
    pub fn ceil_div_tile(&self, tile: &Tile) -> Result<IntTuple> {
        match tile {
            Tile::All => Ok(Tuple::Leaf(Int::ONE)),
            Tile::Layout(layout) => Ok(layout.complement(self)?.shape()),
            Tile::Modes(tiles) => {
                let modes = self.modes();
                if tiles.len() > modes.len() {
                    let expected = format!("at least {}", tiles.len());
                    return Err(Cause::Rank { expected, found: modes.len() }.of("ceil_div"));
                }
                let divided = modes.iter().enumerate().map(|(i, mode)| match tiles.get(i) {
                    Some(tile) => mode.ceil_div_tile(tile).map_err(|e| e.within(i)),
                    None => Ok(mode.clone()),
                });
                divided.collect()
            }
        }
    }

    /// Whether this shape can be used wherever `other` can: every coordinate of it is one of `other`.
    pub fn compatible(&self, other: &IntTuple) -> Option<bool> {
        match (self, other) {
            (Tuple::Leaf(a), _) => a.known_eq(&other.product().ok()?),
            (Tuple::Node(a), Tuple::Node(b)) if a.len() == b.len() => {
                all_known(a.iter().zip(b).map(|(a, b)| a.compatible(b)))
            }
            _ => Some(false),
        }
    }

    /// Whether tiles of shape `tiler` cover this shape without a remainder.
    pub fn evenly_divides(&self, tiler: &IntTuple) -> Result<Option<bool>> {
        let covered = tiler.product()?.mul(&self.ceil_div(tiler)?.product()?)?;
        Ok(self.product()?.known_eq(&covered))
    }

    /// Whether every leaf is below the one of `other`, if that is known.
    pub fn elem_less(&self, other: &IntTuple) -> Result<Option<bool>> {
        self.each(other, "elem_less", &|a, b| Some(a.known_cmp(b)?.is_lt()))
    }

    /// Whether every leaf equals the one of `other`, if that is known.
    pub fn equal(&self, other: &IntTuple) -> Result<Option<bool>> {
        self.each(other, "equal", &|a, b| a.known_eq(b))
    }

    fn each(&self, other: &IntTuple, op: &'static str, f: &dyn Fn(&Int, &Int) -> Option<bool>) -> Result<Option<bool>> {
        if !self.congruent(other) {
            return Err(self.unlike(other, op));
        }
        Ok(all_known(self.leaves().into_iter().zip(other.leaves()).map(|(a, b)| f(a, b))))
    }

    /// Neighbouring sizes multiplied where that loses nothing: a static size and an anonymous one
    /// stay apart, since their product would be anonymous.
    pub(crate) fn merged(&self) -> Result<IntTuple> {
        let mut merged: Vec<Int> = Vec::new();
        for leaf in self.leaves() {
            match merged.last_mut() {
                Some(last) if last.is(1) => *last = leaf.clone(),
                Some(_) if leaf.is(1) => {}
                Some(last) if last.is_anonymous() == leaf.is_anonymous() => *last = last.mul(leaf)?,
                _ => merged.push(leaf.clone()),
            }
        }
        Ok(Tuple::from_flat(merged))
    }
}

/// Three-valued conjunction.
fn all_known(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = Some(true);
    for part in parts {
        match part {
            Some(false) => return Some(false),
            None => known = None,
            Some(true) => {}
        }
    }
    known
}
