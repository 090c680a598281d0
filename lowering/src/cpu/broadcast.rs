//! Loops over elements of broadcast operands, and the kernels that are little else: `ait.expand` and `ait.where`.
//!
//! Where a dimension of an operand is not known to be 1 or the result's, its stride is chosen once (0 if it is 1). Since equal shapes are
//! what mostly comes, the code is emitted twice then: for operands with the result's sizes, whose axes merge, and for any.

use super::{
    Kernel, KernelRow, Unsupported,
    domain::Domain,
    view::{Axis, View},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, Val},
};

pub static EXPAND: KernelRow = KernelRow { op: "ait.expand", extent: elements, body: expand };
pub static WHERE: KernelRow = KernelRow { op: "ait.where", extent: elements, body: choose };

/// The parallel range of most kernels: the elements of the first result.
pub fn elements<'c>(k: &Kernel<'c>) -> Val<'c> {
    super::view::product(k.b, &k.b.dims(k.outs[0]))
}

/// The scalar code of an elementwise loop: from coordinates, one for each axis that is `pinned` (0 for others), and one element of each input to one element of each result.
pub type ScalarCode<'a, 'c> = dyn Fn(Builder<'c>, &[Val<'c>], &[Val<'c>]) -> Vec<Val<'c>> + 'a;

/// What an elementwise loop runs over.
pub struct Elementwise<'a, 'c> {
    /// The results, all of one shape.
    pub outs: &'a [View<'c>],
    /// The inputs, which broadcast to it.
    pub inputs: &'a [View<'c>],
    /// Are the result's dimensions those of the broadcast inputs, and nothing else?
    pub derived: bool,
    /// The axes whose coordinates the code asks for.
    pub pinned: &'a [bool],
}

impl<'c> Elementwise<'_, 'c> {
    /// Emits the loops for the elements [lo, hi) of the result.
    pub fn emit(&self, b: Builder<'c>, range: (Val<'c>, Val<'c>), code: &ScalarCode<'_, 'c>) {
        self.domains(b, &|b, domain| self.loops(b, domain, range, code));
    }

    /// Emits `walk` over the domain of results, then inputs: once, or for operands of equal sizes and for any.
    pub fn domains(&self, b: Builder<'c>, walk: &dyn Fn(Builder<'c>, &Domain<'c>)) {
        let mut equal: Option<Val<'c>> = None;
        for (i, input) in self.inputs.iter().enumerate() {
            let skip = self.outs[0].axes.len() - input.axes.len();
            for (at, stretch) in self.stretches(i).into_iter().enumerate().skip(skip) {
                if stretch == Stretch::Unknown {
                    let same = b.cmpi("eq", input.axes[at - skip].size, self.outs[0].axes[at].size);
                    equal = Some(equal.map_or(same, |all| b.binary("arith.andi", all, same)));
                }
            }
        }
        match equal {
            None => walk(b, &self.domain(b, true)),
            Some(equal) => {
                b.if_(
                    equal,
                    &[],
                    |b| {
                        walk(b, &self.domain(b, true));
                        vec![]
                    },
                    |b| {
                        walk(b, &self.domain(b, false));
                        vec![]
                    },
                );
            }
        }
    }

    fn domain(&self, b: Builder<'c>, equal: bool) -> Domain<'c> {
        let inputs = (0..self.inputs.len()).map(|i| self.stretched(b, i, equal));
        let views: Vec<_> = self.outs.iter().cloned().chain(inputs).collect();
        let pinned = |i: usize| self.pinned.get(i).copied().unwrap_or(false);
        Domain::new(b, views, |i| pinned(i) || pinned(i + 1))
    }

    /// The coordinate of each axis that is pinned, from those of a domain's groups; 0 of the others.
    pub fn pinned_coordinates(&self, b: Builder<'c>, domain: &Domain<'c>, coordinates: &[Val<'c>]) -> Vec<Val<'c>> {
        let zero = b.index(0);
        (0..domain.views[0].axes.len())
            .map(|axis| domain.groups.iter().position(|g| g.axes == [axis]).map_or(zero, |g| coordinates[g]))
            .collect()
    }

    fn loops(&self, b: Builder<'c>, domain: &Domain<'c>, range: (Val<'c>, Val<'c>), code: &ScalarCode<'_, 'c>) {
        let outs = self.outs.len();
        let groups: Vec<_> = (0..domain.groups.len()).collect();
        domain.range(b, &groups, range, &mut |b, coordinates, offsets| {
            let at = self.pinned_coordinates(b, domain, coordinates);
            let values: Vec<_> =
                domain.views[outs..].iter().zip(&offsets[outs..]).map(|(v, offset)| v.load(b, *offset)).collect();
            for ((value, view), offset) in code(b, &at, &values).into_iter().zip(&domain.views).zip(offsets) {
                view.store(b, value, *offset);
            }
        });
    }

    /// How input `i` meets each axis of the result.
    fn stretches(&self, i: usize) -> Vec<Stretch> {
        let result = &self.outs[0].axes;
        let size = |view: &View<'c>, axis: usize| match (axis + view.axes.len()).checked_sub(result.len()) {
            Some(own) => view.axes[own].static_size,
            None => 1,
        };
        (0..result.len())
            .map(|axis| match (size(&self.inputs[i], axis), result[axis].static_size) {
                (1, 1) => Stretch::No,
                (1, _) | (DYNAMIC, 1) => Stretch::Yes,
                (DYNAMIC, _) => {
                    let alone = self.inputs.iter().filter(|v| size(v, axis) != 1).count() == 1;
                    if self.derived && alone { Stretch::No } else { Stretch::Unknown }
                }
                _ => Stretch::No,
            })
            .collect()
    }

    fn stretched(&self, b: Builder<'c>, i: usize, equal: bool) -> View<'c> {
        let (input, result) = (&self.inputs[i], &self.outs[0].axes);
        let skip = result.len() - input.axes.len();
        let mut axes: Vec<Axis<'c>> = Vec::new();
        for (at, stretch) in self.stretches(i).into_iter().enumerate() {
            let whole = |mut axis: Axis<'c>| {
                (axis.size, axis.static_size) = (result[at].size, result[at].static_size);
                axis
            };
            let axis = match stretch {
                _ if at < skip => Axis::stretched(b, result[at].size, result[at].static_size),
                Stretch::Yes => Axis::stretched(b, result[at].size, result[at].static_size),
                Stretch::Unknown if !equal => {
                    let own = input.axes[at - skip];
                    let one = b.cmpi("eq", own.size, b.index(1));
                    let stride = b.select(one, b.index(0), own.stride);
                    if let Some(before) = axes.last_mut() {
                        before.chained = false;
                    }
                    whole(Axis { stride, static_stride: DYNAMIC, chained: false, ..own })
                }
                _ => whole(input.axes[at - skip]),
            };
            axes.push(axis);
        }
        View { axes, ..input.clone() }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Stretch {
    Yes,
    No,
    Unknown,
}

/// A view that broadcasts to `result`, with its axes. Where it is not known whether an axis is stretched, its stride is chosen at run time.
pub fn stretched_to<'c>(b: Builder<'c>, view: &View<'c>, result: &View<'c>) -> View<'c> {
    let (outs, inputs) = (std::slice::from_ref(result), std::slice::from_ref(view));
    Elementwise { outs, inputs, derived: false, pinned: &[] }.stretched(b, 0, false)
}

/// Views of all buffers.
pub fn views<'c>(b: Builder<'c>, buffers: &[Val<'c>]) -> Vec<View<'c>> {
    buffers.iter().map(|buffer| View::of(b, *buffer)).collect()
}

fn expand<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let (outs, inputs) = (views(k.b, &k.outs), views(k.b, &k.group("input")));
    Elementwise { outs: &outs, inputs: &inputs, derived: false, pinned: &[] }
        .emit(k.b, (lo, hi), &|_, _, x| x.to_vec());
    Ok(())
}

fn choose<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let (outs, inputs) = (views(k.b, &k.outs), views(k.b, &k.operands));
    Elementwise { outs: &outs, inputs: &inputs, derived: true, pinned: &[] }
        .emit(k.b, (lo, hi), &|b, _, x| vec![b.select(x[0], x[1], x[2])]);
    Ok(())
}
