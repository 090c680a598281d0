//! Operators that only change shapes, or tell them.

use super::{
    Operator,
    elementwise::axis_up_to,
    op,
    reduce::{marked, unmarked},
};
use crate::import::{
    build::{normal_axes, normal_axis},
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs, many, one},
    scalar::Scalar,
    value::{Dim, Value},
};
use aitmlir_onnx::model::DType;

pub(super) const ROWS: &[Operator] = &[
    op("CenterCropPad", 18, center_crop_pad),
    op("Concat", 13, concat),
    op("DepthToSpace", 28, depth_to_space),
    op("Expand", 13, expand),
    op("Flatten", 25, flatten),
    op("Reshape", 25, reshape),
    op("Shape", 25, shape),
    op("Size", 25, size),
    op("Slice", 13, slice),
    op("SpaceToDepth", 28, space_to_depth),
    op("Split", 18, split),
    op("Squeeze", 25, squeeze),
    op("Tile", 13, tile),
    op("Transpose", 25, transpose),
    op("Unsqueeze", 25, unsqueeze),
];

fn concat<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let inputs = n.inputs()?;
    let Some(first) = inputs.first() else { return Err(n.wrong("it has no inputs")) };
    let axis = n.axis("axis", 1, first.rank())?;
    one(n.concat(&inputs, axis)?)
}

fn transpose<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let permutation: Vec<usize> = match n.ints("perm")? {
        Some(p) => p.iter().map(|i| normal_axis(*i, x.rank())).collect::<OpResult<_>>()?,
        None => (0..x.rank()).rev().collect(),
    };
    let mut sorted = permutation.clone();
    sorted.sort_unstable();
    if sorted.iter().enumerate().any(|(i, p)| i != *p) || sorted.len() != x.rank() {
        return Err(n.wrong(format!("attribute `perm` {permutation:?} is no permutation of {} dimensions", x.rank())));
    }
    one(n.transpose(&x, &permutation)?)
}

fn reshape<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let Some(shape) = n.list(1)? else { return Err(n.wrong("input 1 is missing")) };
    let keep_zero = n.flag("allowzero", false)?;
    let dims = reshaped(n, &x, &shape, keep_zero);
    let made = n.reshape(&x, dims)?;
    n.expect_same_count(&x.dims, &made.dims)?;
    one(made)
}

/// The dims that a Reshape asks for: 0 copies, -1 is the rest.
fn reshaped<'c>(n: &NodeContext<'_, 'c>, x: &Value<'c>, shape: &[Scalar<'c>], keep_zero: bool) -> Vec<Dim<'c>> {
    let index = n.index();
    let copied = |i: usize, s: Scalar<'c>| match x.dims.get(i) {
        Some(d) if !keep_zero => match s.int() {
            Some(0) => *d,
            Some(_) => s,
            None if index.is_nonnegative(s) => s,
            None => index.select(index.cmp("eq", s, Scalar::Int(0)), *d, s),
        },
        _ => s,
    };
    let mut dims: Vec<_> = shape.iter().enumerate().map(|(i, s)| copied(i, *s)).collect();
    if let Some(open) = dims.iter().position(|d| d.int() == Some(-1)) {
        let others: Vec<_> = dims.iter().enumerate().filter(|(i, _)| *i != open).map(|(_, d)| *d).collect();
        dims[open] = quotient(n, &x.dims, &others);
        dims.iter().for_each(|d| index.assume_nonnegative(*d));
        return dims;
    }
    let maybe_open: Vec<usize> =
        (0..dims.len()).filter(|i| dims[*i].int().is_none() && !index.is_nonnegative(dims[*i])).collect();
    if let ([only], Some(total)) = (maybe_open.as_slice(), x.static_len()) {
        // One unknown number beside known ones: whatever it says, the elements must fit.
        let others: Option<i64> = dims.iter().enumerate().filter(|(i, _)| i != only).map(|(_, d)| d.int()).product();
        if let Some(others) = others.filter(|o| *o > 0) {
            dims[*only] = Scalar::Int(total as i64 / others);
            return dims;
        }
    }
    if !maybe_open.is_empty() {
        let total = n.len(&x.dims);
        let open = |d: Scalar<'c>| index.cmp("eq", d, Scalar::Int(-1));
        let known = dims.iter().fold(Scalar::Int(1), |p, d| index.mul(p, index.select(open(*d), Scalar::Int(1), *d)));
        let rest = index.div(total, known);
        for i in maybe_open {
            dims[i] = index.select(open(dims[i]), rest, dims[i]);
            index.assume_nonnegative(dims[i]);
        }
    }
    dims
}

/// The product of `all` over the product of `others`, equal factors cancelled.
pub fn quotient<'c>(n: &NodeContext<'_, 'c>, all: &[Dim<'c>], others: &[Dim<'c>]) -> Dim<'c> {
    let index = n.index();
    let mut above = (1i64, Vec::new());
    let mut below = (1i64, Vec::new());
    for (side, dims) in [(&mut above, all), (&mut below, others)] {
        for dim in dims {
            let (number, factors) = index.factors(*dim);
            side.0 = side.0.wrapping_mul(number);
            side.1.extend(factors);
        }
    }
    below.1.retain(|f| match above.1.iter().position(|a| a == f) {
        Some(at) => {
            above.1.remove(at);
            false
        }
        None => true,
    });
    if below.0 != 0 && above.0 % below.0 == 0 {
        (above.0, below.0) = (above.0 / below.0, 1);
    }
    let product = |(number, factors): (i64, Vec<_>)| {
        factors.into_iter().fold(Scalar::Int(number), |p, f| index.mul(p, Scalar::Dyn(f)))
    };
    let (above, below) = (product(above), product(below));
    index.div(above, below)
}

fn flatten<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let axis = axis_up_to(n.int("axis", 1)?, x.rank())?;
    let dims = vec![n.len(&x.dims[..axis]), n.len(&x.dims[axis..])];
    one(n.reshape(&x, dims)?)
}

/// The axes of Squeeze and Unsqueeze: an attribute before version 13.
fn axes<'c>(n: &mut NodeContext<'_, 'c>) -> OpResult<Option<Vec<Scalar<'c>>>> {
    match n.ints("axes")? {
        Some(list) => Ok(Some(list.into_iter().map(Scalar::Int).collect())),
        None => n.list(1),
    }
}

fn known<'c>(list: &[Scalar<'c>]) -> Option<Vec<i64>> {
    list.iter().map(|s| s.int()).collect()
}

fn squeeze<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let Some(axes) = axes(n)? else {
        let ones: Vec<_> = (0..x.rank()).filter(|i| x.dims[*i].int() == Some(1)).collect();
        return one(n.squeeze(&x, &ones)?);
    };
    if let Some(list) = known(&axes) {
        let axes = normal_axes(&list, x.rank())?;
        if let Some(bad) = axes.iter().find(|a| x.dims[**a].int().is_some_and(|d| d != 1)) {
            return Err(n.wrong(format!("dimension {bad} is squeezed and not 1")));
        }
        return one(n.squeeze(&x, &axes)?);
    }
    let marks = marked(n, &axes, x.rank());
    let dims = unmarked(n, &marks, &x.dims, x.rank().saturating_sub(axes.len()));
    one(n.reshape(&x, dims)?)
}

fn unsqueeze<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let Some(axes) = axes(n)? else { return Err(n.wrong("the axes are missing")) };
    let rank = x.rank() + axes.len();
    if let Some(list) = known(&axes) {
        let axes = normal_axes(&list, rank)?;
        return one(n.unsqueeze(&x, &axes)?);
    }
    let marks = marked(n, &axes, rank);
    let index = n.index();
    let mut place = Scalar::Int(0);
    let mut dims = Vec::new();
    for mark in marks {
        let here = x.dims.iter().enumerate().fold(Scalar::Int(1), |found, (j, d)| {
            index.select(index.cmp("eq", place, Scalar::Int(j as i64)), *d, found)
        });
        let dim = index.select(mark, Scalar::Int(1), here);
        index.assume_nonnegative(dim);
        dims.push(dim);
        place = index.add(place, index.select(mark, Scalar::Int(0), Scalar::Int(1)));
    }
    one(n.reshape(&x, dims)?)
}

fn shape<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let rank = x.rank() as i64;
    let clamp = |v: i64| (if v < 0 { v + rank } else { v }).clamp(0, rank) as usize;
    let (start, end) = (clamp(n.int("start", 0)?), clamp(n.int("end", rank)?));
    let list = if start < end { x.dims[start..end].to_vec() } else { vec![] };
    one(n.int64s(list))
}

fn size<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let len = n.len(&x.dims);
    one(n.scalar(DType::I64, len))
}

fn expand<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let Some(shape) = n.list(1)? else { return Err(n.wrong("input 1 is missing")) };
    shape.iter().for_each(|d| n.index().assume_nonnegative(*d));
    let dims = n.broadcast(&[&shape, &x.dims])?;
    one(n.expand(&x, dims)?)
}

fn tile<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let Some(repeats) = n.list(1)? else { return Err(n.wrong("input 1 is missing")) };
    if repeats.len() != x.rank() {
        return unsupported(format!("{} repeats for {} dimensions", repeats.len(), x.rank()));
    }
    let index = n.index();
    repeats.iter().for_each(|r| index.assume_nonnegative(*r));
    let split: Vec<_> = x.dims.iter().flat_map(|d| [Scalar::Int(1), *d]).collect();
    let wide: Vec<_> = repeats.iter().zip(&x.dims).flat_map(|(r, d)| [*r, *d]).collect();
    let dims: Vec<_> = repeats.iter().zip(&x.dims).map(|(r, d)| index.mul(*r, *d)).collect();
    let view = n.reshape(&x, split)?;
    let view = n.expand(&view, wide)?;
    one(n.reshape(&view, dims)?)
}

/// Start, end and step of one dimension.
type Bounds<'c> = (Scalar<'c>, Scalar<'c>, Scalar<'c>);

fn slice<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let ints = |list: Option<Vec<i64>>| list.map(|l| l.into_iter().map(Scalar::Int).collect::<Vec<_>>());
    let (starts, ends, axes, steps) = if n.since < 10 {
        (ints(n.ints("starts")?), ints(n.ints("ends")?), ints(n.ints("axes")?), None)
    } else {
        (n.list(1)?, n.list(2)?, n.list(3)?, n.list(4)?)
    };
    let (Some(starts), Some(ends)) = (starts, ends) else { return Err(n.wrong("starts or ends are missing")) };
    let axes = axes.unwrap_or_else(|| (0..starts.len() as i64).map(Scalar::Int).collect());
    let steps = steps.unwrap_or_else(|| vec![Scalar::Int(1); starts.len()]);
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        return Err(n.wrong("starts, ends, axes and steps differ in length"));
    }
    let rank = x.rank();
    let index = n.index();
    let mut bounds: Vec<Bounds<'c>> = x.dims.iter().map(|d| (Scalar::Int(0), *d, Scalar::Int(1))).collect();
    for (k, axis) in axes.iter().enumerate() {
        if let Some(axis) = axis.int() {
            bounds[normal_axis(axis, rank)?] = (starts[k], ends[k], steps[k]);
            continue;
        }
        for (bound, hit) in bounds.iter_mut().zip(marked(n, &[*axis], rank)) {
            let pick = |a, b| index.select(hit, a, b);
            *bound = (pick(starts[k], bound.0), pick(ends[k], bound.1), pick(steps[k], bound.2));
        }
    }
    let mut lists = (vec![], vec![], vec![]);
    for (bound, dim) in bounds.into_iter().zip(&x.dims) {
        let (offset, size, step) = window(n, bound, *dim);
        lists.0.push(offset);
        lists.1.push(size);
        lists.2.push(step);
    }
    one(n.slice(&x, &lists.0, &lists.1, &lists.2)?)
}

/// NumPy's rule for one dimension: offset, size and step.
fn window<'c>(
    n: &NodeContext<'_, 'c>,
    (start, end, step): Bounds<'c>,
    dim: Dim<'c>,
) -> (Scalar<'c>, Dim<'c>, Scalar<'c>) {
    let index = n.index();
    if start.int() == Some(0) && step.int() == Some(1) && end == dim {
        return (start, dim, step);
    }
    let (zero, one) = (Scalar::Int(0), Scalar::Int(1));
    let backward = index.cmp("lt", step, zero);
    let from_end = |v: Scalar<'c>| index.select(index.cmp("lt", v, zero), index.add(v, dim), v);
    let clamp = |v, low, high| index.max(index.min(v, high), low);
    let last = index.sub(dim, one);
    let start = clamp(from_end(start), zero, index.select(backward, last, dim));
    let end = clamp(from_end(end), index.select(backward, Scalar::Int(-1), zero), index.select(backward, last, dim));
    let span = index.select(backward, index.sub(start, end), index.sub(end, start));
    let pace = index.select(backward, index.sub(zero, step), step);
    let count = index.floor_div(index.add(span, index.sub(pace, one)), pace);
    let size = index.max(count, zero);
    index.assume_nonnegative(size);
    if size.int() == Some(0) { (zero, size, one) } else { (index.max(start, zero), size, step) }
}

fn split<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let axis = n.axis("axis", 0, x.rank())?;
    let given = match n.ints("split")? {
        Some(list) => Some(list.into_iter().map(Scalar::Int).collect()),
        None => n.list(1)?,
    };
    let count = n.node.outputs.len();
    let parts = match given {
        Some(parts) => parts,
        None => {
            let index = n.index();
            let count = Scalar::Int(n.int("num_outputs", count as i64)?);
            let part = index.ceil_div(x.dims[axis], count);
            let mut left = x.dims[axis];
            let mut parts = Vec::new();
            for _ in 0..n.node.outputs.len() {
                let size = index.min(part, left);
                parts.push(size);
                left = index.max(index.sub(left, size), Scalar::Int(0));
            }
            parts
        }
    };
    if parts.len() != count {
        return Err(n.wrong(format!("{} parts for {count} outputs", parts.len())));
    }
    parts.iter().for_each(|p| n.index().assume_nonnegative(*p));
    if let (Some(sizes), Some(d)) = (known(&parts), x.dims[axis].int())
        && sizes.iter().sum::<i64>() != d
    {
        return Err(n.wrong(format!("parts {sizes:?} do not add up to {d}")));
    }
    many(n.split(&x, axis, &parts)?)
}

fn depth_to_space<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let [batch, c, h, w] = x.dims[..] else { return Err(n.wrong("the input's rank is not 4")) };
    let block = Scalar::Int(n.node.int("blocksize")?);
    let index = n.index();
    let depth = index.div(c, index.mul(block, block));
    let crd = n.string("mode", "DCR")? == "CRD";
    let view = if crd { vec![batch, depth, block, block, h, w] } else { vec![batch, block, block, depth, h, w] };
    let order = if crd { [0, 1, 4, 2, 5, 3] } else { [0, 3, 4, 1, 5, 2] };
    let view = n.reshape(&x, view)?;
    let moved = n.transpose(&view, &order)?;
    one(n.reshape(&moved, vec![batch, depth, index.mul(h, block), index.mul(w, block)])?)
}

fn space_to_depth<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let [batch, c, h, w] = x.dims[..] else { return Err(n.wrong("the input's rank is not 4")) };
    let block = Scalar::Int(n.node.int("blocksize")?);
    let crd = n.string("mode", "DCR")? == "CRD";
    let index = n.index();
    let (h, w) = (index.div(h, block), index.div(w, block));
    let view = n.reshape(&x, vec![batch, c, h, block, w, block])?;
    let order = if crd { [0, 1, 3, 5, 2, 4] } else { [0, 3, 5, 1, 2, 4] };
    let moved = n.transpose(&view, &order)?;
    let depth = index.mul(c, index.mul(block, block));
    one(n.reshape(&moved, vec![batch, depth, h, w])?)
}

fn center_crop_pad<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let Some(shape) = n.list(1)? else { return Err(n.wrong("input 1 is missing")) };
    let axes = match n.ints("axes")? {
        Some(list) => list.iter().map(|a| normal_axis(*a, x.rank())).collect::<OpResult<Vec<_>>>()?,
        None => (0..x.rank()).collect(),
    };
    let index = n.index();
    let (zero, two) = (Scalar::Int(0), Scalar::Int(2));
    let mut offsets = vec![zero; x.rank()];
    let mut sizes = x.dims.clone();
    let (mut low, mut high) = (vec![zero; x.rank()], vec![zero; x.rank()]);
    for (axis, target) in axes.into_iter().zip(shape) {
        let dim = x.dims[axis];
        index.assume_nonnegative(target);
        let (cut, grown) = (index.max(index.sub(dim, target), zero), index.max(index.sub(target, dim), zero));
        index.assume_nonnegative(cut);
        index.assume_nonnegative(grown);
        offsets[axis] = index.div(cut, two);
        sizes[axis] = index.min(dim, target);
        low[axis] = index.div(grown, two);
        high[axis] = index.sub(grown, low[axis]);
    }
    let ones = vec![Scalar::Int(1); x.rank()];
    let cropped = n.slice(&x, &offsets, &sizes, &ones)?;
    one(n.pad(aitmlir_dialects::ait::PadMode::Constant, &cropped, &low, &high, None)?)
}
