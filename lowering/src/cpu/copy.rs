//! Copies between views, and the kernels that are copies of views: `ait.concat`, `ait.reshape`, `ait.slice`, `ait.split`, `ait.transpose`.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast::{elements, views},
    domain::{Domain, ceil_div, decode, rescaled},
    view::{Axis, View, is_row_major, product},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, Val},
};
use melior::ir::ValueLike;

pub static CONCAT: KernelRow = KernelRow { op: "ait.concat", extent: elements, body: concat };
pub static RESHAPE: KernelRow = KernelRow { op: "ait.reshape", extent: elements, body: reshape };
pub static SLICE: KernelRow = KernelRow { op: "ait.slice", extent: elements, body: slice };
pub static SPLIT: KernelRow = KernelRow { op: "ait.split", extent: input_elements, body: split };
pub static TRANSPOSE: KernelRow = KernelRow { op: "ait.transpose", extent: elements, body: transpose };

/// The edge of the tiles in which an axis that is contiguous in the source and one that is in the destination are walked.
const TILE: i64 = 16;

/// Emits the copy of the elements [lo, hi), counted row-major in `to`, which has the shape of `from`.
pub fn copy<'c>(b: Builder<'c>, to: View<'c>, from: View<'c>, range: (Val<'c>, Val<'c>)) {
    let domain = Domain::new(b, vec![to, from], |_| false);
    let groups: Vec<_> = (0..domain.groups.len()).collect();
    let contiguous = |v: usize| groups.iter().copied().find(|g| domain.axis(v, *g).static_stride == 1);
    match (contiguous(0), contiguous(1)) {
        (Some(to), Some(from)) if to != from => tiled(b, &domain, to, from, range),
        _ => domain.range(b, &groups, range, &mut |b, _, offsets| {
            let value = domain.views[1].load(b, offsets[1]);
            domain.views[0].store(b, value, offsets[0]);
        }),
    }
}

/// A copy in tiles of group `inner` (contiguous in the destination) by group `across` (contiguous in the source).
fn tiled<'c>(b: Builder<'c>, domain: &Domain<'c>, inner: usize, across: usize, range: (Val<'c>, Val<'c>)) {
    let (one, tile) = (b.index(1), b.index(TILE));
    let others: Vec<_> = (0..domain.groups.len()).filter(|g| *g != inner && *g != across).collect();
    let strips = ceil_div(b, domain.sizes[across], tile);
    let mut sizes: Vec<_> = others.iter().map(|g| domain.sizes[*g]).collect();
    sizes.push(strips);
    let (lo, hi) = rescaled(b, range, product(b, &domain.sizes), product(b, &sizes));
    b.for_(lo, hi, one, &[], |b, task, _| {
        let coordinates = decode(b, task, &sizes);
        let offsets =
            others.iter().zip(&coordinates).fold(domain.origin(), |offsets, (g, c)| domain.step(b, *g, *c, &offsets));
        let start = b.muli(coordinates[others.len()], tile);
        let end = b.minsi(b.addi(start, tile), domain.sizes[across]);
        let zero = b.index(0);
        b.for_(zero, domain.sizes[inner], tile, &[], |b, column, _| {
            let column_end = b.minsi(b.addi(column, tile), domain.sizes[inner]);
            b.for_(start, end, one, &[], |b, i, _| {
                let offsets = domain.step(b, across, i, &offsets);
                b.for_(column, column_end, one, &[], |b, j, _| {
                    let at = domain.step(b, inner, j, &offsets);
                    let value = domain.views[1].load(b, at[1]);
                    domain.views[0].store(b, value, at[0]);
                    vec![]
                });
                vec![]
            });
            vec![]
        });
        vec![]
    });
}

/// Emits copies of several pairs (destination, source) of one shape each; the range runs over the elements of all of them.
pub fn copies<'c>(b: Builder<'c>, pairs: Vec<(View<'c>, View<'c>)>, (lo, hi): (Val<'c>, Val<'c>)) {
    let zero = b.index(0);
    let mut start = zero;
    for (to, from) in pairs {
        let count = to.elements(b);
        let clamp = |x| b.minsi(b.maxsi(b.subi(x, start), zero), count);
        copy(b, to, from, (clamp(lo), clamp(hi)));
        start = b.addi(start, count);
    }
}

fn input_elements<'c>(k: &Kernel<'c>) -> Val<'c> {
    product(k.b, &k.b.dims(k.operand("input")))
}

fn axis_of(k: &Kernel<'_>) -> usize {
    k.op.i64("axis").and_then(|a| usize::try_from(a).ok()).unwrap_or(0)
}

/// The copies, destination and source, that the op is; none where it is no copy of views.
pub fn pairs<'c>(k: &Kernel<'c>) -> Option<Vec<(View<'c>, View<'c>)>> {
    match k.op.name().as_str() {
        "ait.concat" => Some(concat_pairs(k)),
        "ait.reshape" => reshape_pair(k).map(|pair| vec![pair]),
        "ait.slice" => Some(vec![slice_pair(k)]),
        "ait.split" => Some(split_pairs(k)),
        "ait.transpose" => Some(vec![transpose_pair(k)]),
        _ => None,
    }
}

/// The elements of all the copies.
pub fn total<'c>(k: &Kernel<'c>) -> Val<'c> {
    if k.op.name() == "ait.split" { input_elements(k) } else { elements(k) }
}

fn concat<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    copies(k.b, concat_pairs(k), (lo, hi));
    Ok(())
}

fn concat_pairs<'c>(k: &Kernel<'c>) -> Vec<(View<'c>, View<'c>)> {
    let (b, axis) = (k.b, axis_of(k));
    let (out, one) = (View::of(b, k.outs[0]), b.index(1));
    let mut start = b.index(0);
    let mut pairs = Vec::new();
    for input in views(b, &k.group("inputs")) {
        let Axis { size, static_size, .. } = input.axes[axis];
        pairs.push((out.sliced(b, axis, start, one, size, static_size), input));
        start = b.addi(start, size);
    }
    pairs
}

fn split<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    copies(k.b, split_pairs(k), (lo, hi));
    Ok(())
}

fn split_pairs<'c>(k: &Kernel<'c>) -> Vec<(View<'c>, View<'c>)> {
    let (b, axis) = (k.b, axis_of(k));
    let (input, one) = (View::of(b, k.operand("input")), b.index(1));
    let mut start = b.index(0);
    let mut pairs = Vec::new();
    for out in views(b, &k.outs) {
        let Axis { size, static_size, .. } = out.axes[axis];
        pairs.push((out, input.sliced(b, axis, start, one, size, static_size)));
        start = b.addi(start, size);
    }
    pairs
}

/// The values of a list of which some entries are static, the others operands.
pub fn mixed<'c>(b: Builder<'c>, fixed: &[i64], dynamic: &[Val<'c>]) -> Vec<Val<'c>> {
    let mut dynamic = dynamic.iter();
    fixed
        .iter()
        .map(
            |value| {
                if *value == DYNAMIC { dynamic.next().copied().unwrap_or_else(|| b.index(0)) } else { b.index(*value) }
            },
        )
        .collect()
}

fn slice<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let (out, input) = slice_pair(k);
    copy(k.b, out, input, (lo, hi));
    Ok(())
}

fn slice_pair<'c>(k: &Kernel<'c>) -> (View<'c>, View<'c>) {
    let b = k.b;
    let list = |name: &str| mixed(b, &k.op.i64s(&format!("static_{name}")), &k.group(name));
    let (offsets, strides) = (list("offsets"), list("strides"));
    let (out, mut input) = (View::of(b, k.outs[0]), View::of(b, k.operand("input")));
    for i in 0..out.axes.len() {
        let Axis { size, static_size, .. } = out.axes[i];
        input = input.sliced(b, i, offsets[i], strides[i], size, static_size);
    }
    (out, input)
}

fn transpose<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let (out, input) = transpose_pair(k);
    copy(k.b, out, input, (lo, hi));
    Ok(())
}

fn transpose_pair<'c>(k: &Kernel<'c>) -> (View<'c>, View<'c>) {
    let input = View::of(k.b, k.operand("input")).permuted(&k.op.i64s("permutation"));
    (View::of(k.b, k.outs[0]), input)
}

/// Where one side is row-major it takes the shape of the other.
fn reshape_pair<'c>(k: &Kernel<'c>) -> Option<(View<'c>, View<'c>)> {
    let b = k.b;
    let (source, target) = (k.operand("input"), k.outs[0]);
    let (input, out) = (View::of(b, source), View::of(b, target));
    if is_row_major(source.r#type()) {
        Some((out.clone(), input.reshaped(b, &out.axes)))
    } else if is_row_major(target.r#type()) {
        Some((out.reshaped(b, &input.axes), input))
    } else {
        None
    }
}

fn reshape<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    if let Some((out, input)) = reshape_pair(k) {
        copy(b, out, input, (lo, hi));
    } else {
        let (input, out) = (View::of(b, k.operand("input")), View::of(b, k.outs[0]));
        b.for_(lo, hi, b.index(1), &[], |b, i, _| {
            let from = input.at(b, &decode(b, i, &input.sizes()));
            let to = out.at(b, &decode(b, i, &out.sizes()));
            out.store(b, input.load(b, from), to);
            vec![]
        });
    }
    Ok(())
}
