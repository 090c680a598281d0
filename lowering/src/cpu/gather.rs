//! `ait.gather`: the index is read and checked once for each run of elements that it addresses.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast::elements,
    domain::Domain,
    runtime::checked_index,
    view::{Axis, View},
};
use aitmlir_dialects::{
    ait::enums::GatherKind,
    builder::Builder,
    types::{DYNAMIC, Val},
};

pub static ROW: KernelRow = KernelRow { op: "ait.gather", extent: elements, body };

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let (data, indices, out) =
        (View::of(b, k.operand("input")), View::of(b, k.operand("indices")), View::of(b, k.outs[0]));
    let number = |name: &str| k.op.i64(name).and_then(|a| usize::try_from(a).ok()).unwrap_or(0);
    let address = match k.op.kind("kind") {
        Some(GatherKind::Slices) => slices(b, data, indices, &out, number("axis")),
        Some(GatherKind::Elements) => of_elements(b, data, indices, &out, number("axis")),
        Some(GatherKind::Nd) => nd(b, data, indices, &out, number("batch_dims")),
        None => return Err(Unsupported("has no kind".to_owned())),
    };
    address.walk(k, out, (lo, hi), &|b, out, to, data, from| out.store(b, data.load(b, from), to));
    Ok(())
}

/// How positions of a result (or of updates) address data.
pub struct Address<'c> {
    /// The data with the axes of the result: stretched on those that only choose an index.
    pub data: View<'c>,
    /// The indices with the axes of the result: stretched on those of a slice.
    pub indices: View<'c>,
    /// The axes of data that indices choose from.
    pub chosen: Vec<Axis<'c>>,
    /// The step from one index of a tuple to the next.
    pub tuple_stride: Val<'c>,
}

/// Emits what is done with an element: (builder, result view, its offset, data view, its offset).
pub type ElementCode<'a, 'c> = dyn Fn(Builder<'c>, &View<'c>, Val<'c>, &View<'c>, Val<'c>) + 'a;

impl<'c> Address<'c> {
    /// Loops over the elements [lo, hi) of `out`.
    pub fn walk(&self, k: &Kernel<'c>, out: View<'c>, range: (Val<'c>, Val<'c>), code: &ElementCode<'_, 'c>) {
        let b = k.b;
        let domain = Domain::new(b, vec![out, self.data.clone(), self.indices.clone()], |_| false);
        let groups: Vec<_> = (0..domain.groups.len()).collect();
        let (one, views) = (b.index(1), &domain.views);
        match groups.last() {
            Some(last) if domain.axis(2, *last).static_stride == 0 => {
                domain.rows(b, &groups, range, &mut |b, _, offsets, c0, c1| {
                    let some = b.cmpi("slt", c0, c1);
                    b.when(some, |b| {
                        let start = b.addi(offsets[1], self.chosen_offset(k, b, offsets[2]));
                        b.for_(c0, c1, one, &[], |b, c, _| {
                            let at = domain.step(b, *last, c, &[offsets[0], start, offsets[2]]);
                            code(b, &views[0], at[0], &views[1], at[1]);
                            vec![]
                        });
                    });
                });
            }
            _ => domain.range(b, &groups, range, &mut |b, _, offsets| {
                let from = b.addi(offsets[1], self.chosen_offset(k, b, offsets[2]));
                code(b, &views[0], offsets[0], &views[1], from);
            }),
        }
    }

    fn chosen_offset(&self, k: &Kernel<'c>, b: Builder<'c>, at: Val<'c>) -> Val<'c> {
        self.chosen.iter().enumerate().fold(b.index(0), |sum, (i, axis)| {
            let at = b.addi(at, b.muli(b.index(i as i64), self.tuple_stride));
            let index = checked_index(k, b, self.indices.load(b, at), axis.size);
            b.addi(sum, b.muli(index, axis.stride))
        })
    }
}

fn slices<'c>(b: Builder<'c>, data: View<'c>, indices: View<'c>, out: &View<'c>, axis: usize) -> Address<'c> {
    let stretched = |i: usize| Axis::stretched(b, out.axes[i].size, out.axes[i].static_size);
    let count = indices.axes.len();
    let mut from = data.axes[..axis].to_vec();
    unchain(&mut from);
    from.extend((axis..axis + count).map(stretched));
    from.extend_from_slice(&data.axes[axis + 1..]);
    let mut which: Vec<_> = (0..axis).map(stretched).collect();
    which.extend_from_slice(&indices.axes);
    which.extend((axis + count..out.axes.len()).map(stretched));
    Address {
        chosen: vec![data.axes[axis]],
        data: View { axes: from, ..data },
        indices: View { axes: which, ..indices },
        tuple_stride: b.index(0),
    }
}

/// Elements: data is walked along with the indices on all axes but one.
pub fn of_elements<'c>(b: Builder<'c>, data: View<'c>, indices: View<'c>, out: &View<'c>, axis: usize) -> Address<'c> {
    let mut axes = data.axes.clone();
    for (i, own) in axes.iter_mut().enumerate() {
        let target = &out.axes[i];
        let next_whole = out
            .axes
            .get(i + 1)
            .is_some_and(|next| next.static_size != DYNAMIC && next.static_size == data.axes[i + 1].static_size);
        *own = Axis { size: target.size, static_size: target.static_size, chained: own.chained && next_whole, ..*own };
    }
    axes[axis] = Axis::stretched(b, out.axes[axis].size, out.axes[axis].static_size);
    Address { chosen: vec![data.axes[axis]], data: View { axes, ..data }, indices, tuple_stride: b.index(0) }
}

/// Tuples: the last dimension of the indices addresses data behind the first `batch` dimensions.
pub fn nd<'c>(b: Builder<'c>, data: View<'c>, indices: View<'c>, out: &View<'c>, batch: usize) -> Address<'c> {
    let stretched = |i: usize| Axis::stretched(b, out.axes[i].size, out.axes[i].static_size);
    let mut which = indices.axes.clone();
    let tuple = which.pop();
    unchain(&mut which);
    let positions = which.len();
    let slice = out.axes.len() - positions;
    let rest = data.axes.len() - slice;
    let mut from = data.axes[..batch].to_vec();
    unchain(&mut from);
    from.extend((batch..positions).map(stretched));
    from.extend_from_slice(&data.axes[rest..]);
    which.extend((positions..out.axes.len()).map(stretched));
    Address {
        chosen: data.axes[batch..rest].to_vec(),
        data: View { axes: from, ..data },
        indices: View { axes: which, ..indices },
        tuple_stride: tuple.map_or_else(|| b.index(0), |t| t.stride),
    }
}

/// The last axis no longer meets the one it was chained to.
fn unchain(axes: &mut [Axis<'_>]) {
    if let Some(last) = axes.last_mut() {
        last.chained = false;
    }
}
