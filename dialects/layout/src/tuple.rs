//! Trees: the structure that shapes, strides, coordinates and layouts share.

use std::slice;

use crate::{Path, Result};

/// A leaf, or a tuple of trees.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tuple<T> {
    /// A single value. It has rank 1: its only mode is itself.
    Leaf(T),
    /// A tuple of any number of modes, none included.
    Node(Vec<Tuple<T>>),
}

impl<T> Tuple<T> {
    /// The top-level modes; a leaf is its own only mode.
    pub fn modes(&self) -> &[Tuple<T>] {
        match self {
            Tuple::Leaf(_) => slice::from_ref(self),
            Tuple::Node(modes) => modes,
        }
    }

    /// How many top-level modes there are.
    pub fn rank(&self) -> usize {
        self.modes().len()
    }

    /// How deep the tree is: 0 for a leaf.
    pub fn depth(&self) -> usize {
        match self {
            Tuple::Leaf(_) => 0,
            Tuple::Node(modes) => 1 + modes.iter().map(Tuple::depth).max().unwrap_or(0),
        }
    }

    /// The leaf, if this is one.
    pub fn as_leaf(&self) -> Option<&T> {
        match self {
            Tuple::Leaf(leaf) => Some(leaf),
            Tuple::Node(_) => None,
        }
    }

    /// The tree at a place, if there is one.
    pub fn get(&self, path: &[usize]) -> Option<&Tuple<T>> {
        path.iter().try_fold(self, |tree, &index| tree.modes().get(index))
    }

    /// The leaves, left to right.
    pub fn leaves(&self) -> Vec<&T> {
        let mut leaves = Vec::new();
        self.visit(&Path::default(), &mut |_, leaf| leaves.push(leaf));
        leaves
    }

    /// Calls `f` with every leaf and its place, left to right.
    pub fn visit<'a>(&'a self, at: &Path, f: &mut dyn FnMut(&Path, &'a T)) {
        match self {
            Tuple::Leaf(leaf) => f(at, leaf),
            Tuple::Node(modes) => {
                for (i, mode) in modes.iter().enumerate() {
                    mode.visit(&at.child(i), f);
                }
            }
        }
    }

    /// The tree of the same structure with `f` applied to every leaf.
    pub fn map<U>(&self, mut f: impl FnMut(&T) -> U) -> Tuple<U> {
        self.map_dyn(&mut f)
    }

    fn map_dyn<U>(&self, f: &mut dyn FnMut(&T) -> U) -> Tuple<U> {
        match self {
            Tuple::Leaf(leaf) => Tuple::Leaf(f(leaf)),
            Tuple::Node(modes) => Tuple::Node(modes.iter().map(|m| m.map_dyn(f)).collect()),
        }
    }

    /// The tree with every leaf replaced by the tree that `f` makes of it and its place.
    pub fn try_expand<U>(&self, mut f: impl FnMut(&Path, &T) -> Result<Tuple<U>>) -> Result<Tuple<U>> {
        self.expand_dyn(&Path::default(), &mut f)
    }

    fn expand_dyn<U>(&self, at: &Path, f: &mut dyn FnMut(&Path, &T) -> Result<Tuple<U>>) -> Result<Tuple<U>> {
        match self {
            Tuple::Leaf(leaf) => f(at, leaf),
            Tuple::Node(modes) => {
                let modes = modes.iter().enumerate();
                modes.map(|(i, m)| m.expand_dyn(&at.child(i), f)).collect::<Result<_>>().map(Tuple::Node)
            }
        }
    }

    /// The tree of the same structure with `f` applied to every leaf, stopping at the first error.
    pub fn try_map<U>(&self, mut f: impl FnMut(&T) -> Result<U>) -> Result<Tuple<U>> {
        self.try_expand(|at, leaf| f(leaf).map(Tuple::Leaf).map_err(|e| e.below(at)))
    }

    /// Whether both trees have the same structure.
    pub fn congruent<U>(&self, other: &Tuple<U>) -> bool {
        match (self, other) {
            (Tuple::Leaf(_), Tuple::Leaf(_)) => true,
            (Tuple::Node(a), Tuple::Node(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.congruent(b)),
            _ => false,
        }
    }

    /// Whether `other` refines this structure: a leaf is refined by any tree.
    pub fn weakly_congruent<U>(&self, other: &Tuple<U>) -> bool {
        match (self, other) {
            (Tuple::Leaf(_), _) => true,
            (Tuple::Node(a), Tuple::Node(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.weakly_congruent(b))
            }
            _ => false,
        }
    }

    /// A leaf where there is only one mode, a tuple otherwise.
    pub(crate) fn from_flat(mut leaves: Vec<T>) -> Tuple<T> {
        match leaves.pop() {
            Some(only) if leaves.is_empty() => Tuple::Leaf(only),
            Some(last) => {
                leaves.push(last);
                Tuple::Node(leaves.into_iter().map(Tuple::Leaf).collect())
            }
            None => Tuple::Node(Vec::new()),
        }
    }
}

impl<T: Clone> Tuple<T> {
    /// The leaves as one tuple; a leaf stays a leaf.
    pub fn flatten(&self) -> Tuple<T> {
        match self {
            Tuple::Leaf(_) => self.clone(),
            Tuple::Node(_) => Tuple::Node(self.leaves().into_iter().cloned().map(Tuple::Leaf).collect()),
        }
    }

    /// The listed top-level modes as a tuple, `None` if one is not there. A mode may be listed twice.
    pub fn select(&self, modes: &[usize]) -> Option<Tuple<T>> {
        modes.iter().map(|&i| self.modes().get(i).cloned()).collect::<Option<_>>().map(Tuple::Node)
    }

    /// The modes `begin..end` wrapped into one, `None` if the range is not within the modes.
    pub fn group(&self, begin: usize, end: usize) -> Option<Tuple<T>> {
        let modes = self.modes();
        let mut grouped = modes.get(..begin)?.to_vec();
        grouped.push(Tuple::Node(modes.get(begin..end)?.to_vec()));
        grouped.extend_from_slice(modes.get(end..)?);
        Some(Tuple::Node(grouped))
    }

    /// The tuple with copies of `mode` at its end until it has `rank` modes.
    pub(crate) fn append(&self, rank: usize, mode: &Tuple<T>) -> Tuple<T> {
        if self.rank() >= rank {
            return self.clone();
        }
        let mut modes = self.modes().to_vec();
        modes.resize(rank, mode.clone());
        Tuple::Node(modes)
    }

    /// The tuple with copies of `mode` at its front until it has `rank` modes.
    pub(crate) fn prepend(&self, rank: usize, mode: &Tuple<T>) -> Tuple<T> {
        if self.rank() >= rank {
            return self.clone();
        }
        let mut modes = vec![mode.clone(); rank - self.rank()];
        modes.extend_from_slice(self.modes());
        Tuple::Node(modes)
    }
}

impl<T> From<T> for Tuple<T> {
    fn from(leaf: T) -> Tuple<T> {
        Tuple::Leaf(leaf)
    }
}

impl<T> FromIterator<Tuple<T>> for Tuple<T> {
    fn from_iter<I: IntoIterator<Item = Tuple<T>>>(modes: I) -> Tuple<T> {
        Tuple::Node(modes.into_iter().collect())
    }
}
