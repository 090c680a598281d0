//! Iteration over the coordinates that several views share.
//!
//! Axes that every view walks alike are merged, so that inner loops are long and, where memory is contiguous, of stride 1. The unit of
//! a parallel range is one element: a range may begin and end inside a row.

use super::view::{Axis, View};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, Val},
};

/// Emits the body of a fold: it gets the offsets of the views and the carried values, and gives the next ones.
pub type Fold<'a, 'c> = &'a mut dyn FnMut(Builder<'c>, &[Val<'c>], &[Val<'c>]) -> Vec<Val<'c>>;
/// Emits what is done at an element: it gets the coordinates and the offsets of the views.
pub type Each<'a, 'c> = &'a mut dyn FnMut(Builder<'c>, &[Val<'c>], &[Val<'c>]);
/// Emits what is done with part of a row: it gets the outer coordinates, the offsets of the row's start, and the part's begin and end.
pub type Row<'a, 'c> = &'a mut dyn FnMut(Builder<'c>, &[Val<'c>], &[Val<'c>], Val<'c>, Val<'c>);

/// Several axes walked as one.
#[derive(Clone, Debug)]
pub struct Group {
    /// The axes of the domain, outermost first.
    pub axes: Vec<usize>,
}

/// A domain of iteration.
pub struct Domain<'c> {
    /// What is walked, all of one rank.
    pub views: Vec<View<'c>>,
    /// The merged axes, outermost first; axes of static size 1 are in no group.
    pub groups: Vec<Group>,
    /// The size of each group.
    pub sizes: Vec<Val<'c>>,
}

impl<'c> Domain<'c> {
    /// Merges the axes of the views, whose sizes agree. Axis i is not merged with its successor where `cut(i)` says so.
    pub fn new(b: Builder<'c>, views: Vec<View<'c>>, cut: impl Fn(usize) -> bool) -> Self {
        let rank = views[0].axes.len();
        let mut groups: Vec<Group> = Vec::new();
        let mut barrier = true;
        for i in 0..rank {
            if views[0].axes[i].static_size != 1 {
                let merged = match groups.last_mut() {
                    Some(group) if !barrier && views.iter().all(|v| merges(v, group.axes[group.axes.len() - 1], i)) => {
                        group.axes.push(i);
                        true
                    }
                    _ => false,
                };
                if !merged {
                    groups.push(Group { axes: vec![i] });
                }
                barrier = false;
            }
            barrier |= cut(i);
        }
        let sizes = groups
            .iter()
            .map(|g| super::view::product(b, &g.axes.iter().map(|a| views[0].axes[*a].size).collect::<Vec<_>>()))
            .collect();
        Self { views, groups, sizes }
    }

    /// The same without merging: one group an axis, those of size 1 too.
    pub fn unmerged(views: Vec<View<'c>>) -> Self {
        let groups = (0..views[0].axes.len()).map(|i| Group { axes: vec![i] }).collect();
        let sizes = views[0].sizes();
        Self { views, groups, sizes }
    }

    /// The axis of view `v` that steps through group `g`.
    pub fn axis(&self, v: usize, g: usize) -> Axis<'c> {
        let axes = &self.groups[g].axes;
        self.views[v].axes[axes[axes.len() - 1]]
    }

    /// The groups whose axes are all in `which`.
    pub fn groups_of(&self, which: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.groups.len()).filter(|g| self.groups[*g].axes.iter().all(|a| which(*a))).collect()
    }

    /// The views' offsets of their first elements.
    pub fn origin(&self) -> Vec<Val<'c>> {
        self.views.iter().map(|v| v.offset).collect()
    }

    /// The offsets after a step to `coordinate` of group `g`.
    pub fn step(&self, b: Builder<'c>, g: usize, coordinate: Val<'c>, offsets: &[Val<'c>]) -> Vec<Val<'c>> {
        offsets
            .iter()
            .enumerate()
            .map(|(v, offset)| {
                let axis = self.axis(v, g);
                match axis.static_stride {
                    0 => *offset,
                    1 => b.addi(*offset, coordinate),
                    _ => b.addi(*offset, b.muli(coordinate, axis.stride)),
                }
            })
            .collect()
    }

    /// Loops over all of `groups` with values carried from step to step.
    pub fn fold(
        &self,
        b: Builder<'c>,
        groups: &[usize],
        offsets: &[Val<'c>],
        carried: &[Val<'c>],
        body: Fold<'_, 'c>,
    ) -> Vec<Val<'c>> {
        let Some((g, rest)) = groups.split_first() else { return body(b, offsets, carried) };
        let (zero, one) = (b.index(0), b.index(1));
        b.for_(zero, self.sizes[*g], one, carried, |b, iv, carried| {
            let offsets = self.step(b, *g, iv, offsets);
            self.fold(b, rest, &offsets, carried, body)
        })
    }

    /// Loops over the elements [lo, hi) of `groups`, row-major. `body` gets the coordinates, one for each of these groups, and the offsets.
    pub fn range(&self, b: Builder<'c>, groups: &[usize], (lo, hi): (Val<'c>, Val<'c>), body: Each<'_, 'c>) {
        let one = b.index(1);
        let Some((last, _)) = groups.split_last() else {
            b.for_(lo, hi, one, &[], |b, _, _| {
                body(b, &[], &self.origin());
                vec![]
            });
            return;
        };
        self.rows(b, groups, (lo, hi), &mut |b, outer, offsets, c0, c1| {
            b.for_(c0, c1, one, &[], |b, c, _| {
                let coordinates: Vec<_> = outer.iter().copied().chain([c]).collect();
                body(b, &coordinates, &self.step(b, *last, c, offsets));
                vec![]
            });
        });
    }

    /// Loops over the rows that the elements [lo, hi) of `groups` (at least one) lie in. `body` gets the outer coordinates, the offsets of the
    /// row's start, and the part [c0, c1) of the row.
    pub fn rows(&self, b: Builder<'c>, groups: &[usize], (lo, hi): (Val<'c>, Val<'c>), body: Row<'_, 'c>) {
        let (last, outer) = match groups.split_last() {
            Some((last, outer)) => (*last, outer),
            None => return,
        };
        if outer.is_empty() {
            body(b, &[], &self.origin(), lo, hi);
            return;
        }
        let (zero, one) = (b.index(0), b.index(1));
        let size = self.sizes[last];
        let divisor = b.maxsi(size, one);
        let first = b.binary("arith.divui", lo, divisor);
        let end = ceil_div(b, hi, divisor);
        let sizes: Vec<_> = outer.iter().map(|g| self.sizes[*g]).collect();
        let carried = if outer.len() > 1 { decode(b, first, &sizes) } else { vec![] };
        b.for_(first, end, one, &carried, |b, row, carried| {
            let coordinates = if outer.len() > 1 { carried.to_vec() } else { vec![row] };
            let offsets =
                outer.iter().zip(&coordinates).fold(self.origin(), |offsets, (g, c)| self.step(b, *g, *c, &offsets));
            let start = b.muli(row, size);
            let c0 = b.maxsi(b.subi(lo, start), zero);
            let c1 = b.minsi(b.subi(hi, start), size);
            body(b, &coordinates, &offsets, c0, c1);
            if outer.len() > 1 { next(b, carried, &sizes) } else { vec![] }
        });
    }
}

fn merges(view: &View<'_>, a: usize, c: usize) -> bool {
    let (outer, inner) = (view.axes[a], view.axes[c]);
    let stretched = outer.static_stride == 0 && inner.static_stride == 0;
    let chained = (a..c).all(|i| view.axes[i].chained);
    let known = ![outer.static_stride, inner.static_stride, inner.static_size].contains(&DYNAMIC)
        && outer.static_stride == inner.static_stride * inner.static_size
        && outer.static_stride != 0;
    stretched || ((chained || known) && outer.static_stride != 0 && inner.static_stride != 0)
}

/// ceil(x / y) of indices that are not negative, `y` not 0.
pub fn ceil_div<'c>(b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
    let one = b.index(1);
    b.binary("arith.divui", b.addi(x, b.subi(y, one)), y)
}

/// The part of a range of length `to` that answers to the part [lo, hi) of a range of length `from`: parts that together cover the one cover
/// the other.
pub fn rescaled<'c>(b: Builder<'c>, (lo, hi): (Val<'c>, Val<'c>), from: Val<'c>, to: Val<'c>) -> (Val<'c>, Val<'c>) {
    let divisor = b.maxsi(from, b.index(1));
    let scaled = |x| b.binary("arith.divui", b.muli(x, to), divisor);
    (scaled(lo), scaled(hi))
}

/// The coordinates of linear index `i` in a row-major space.
pub fn decode<'c>(b: Builder<'c>, mut i: Val<'c>, sizes: &[Val<'c>]) -> Vec<Val<'c>> {
    let one = b.index(1);
    let mut coordinates = Vec::new();
    for (k, size) in sizes.iter().enumerate().rev() {
        if k == 0 {
            coordinates.push(i);
        } else {
            let divisor = b.maxsi(*size, one);
            coordinates.push(b.binary("arith.remui", i, divisor));
            i = b.binary("arith.divui", i, divisor);
        }
    }
    coordinates.reverse();
    coordinates
}

/// The coordinates one element further.
fn next<'c>(b: Builder<'c>, coordinates: &[Val<'c>], sizes: &[Val<'c>]) -> Vec<Val<'c>> {
    let (zero, one) = (b.index(0), b.index(1));
    let mut carry: Option<Val<'c>> = None;
    let mut out = Vec::new();
    for (c, size) in coordinates.iter().zip(sizes).rev() {
        let moved = match carry {
            None => b.addi(*c, one),
            Some(carry) => b.select(carry, b.addi(*c, one), *c),
        };
        let wraps = b.cmpi("eq", moved, *size);
        out.push(b.select(wraps, zero, moved));
        carry = Some(wraps);
    }
    out.reverse();
    out
}
