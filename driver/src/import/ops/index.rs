//! Reading and writing by index.

use aitmlir_dialects::ait::{EnumAttribute, GatherKind, ScatterKind, ScatterReduction};
use aitmlir_onnx::model::DType;

use super::{Operator, op};
use crate::import::{
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs, many, one},
    scalar::Scalar,
    value::{Value, type_of},
};

pub(super) const ROWS: &[Operator] = &[
    op("Compress", 28, compress),
    op("Gather", 13, gather),
    op("GatherElements", 13, gather_elements),
    op("GatherND", 13, gather_nd),
    op("NonZero", 13, non_zero),
    op("OneHot", 28, one_hot),
    op("ReverseSequence", 28, reverse_sequence),
    op("Scatter", 11, scatter_elements),
    op("ScatterElements", 18, scatter_elements),
    op("ScatterND", 18, scatter_nd),
    op("TensorScatter", 24, tensor_scatter),
    op("Trilu", 14, trilu),
    op("Unique", 28, unique),
];

fn gather<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, indices) = (n.input(0)?, n.input(1)?);
    let axis = n.axis("axis", 0, x.rank())?;
    one(n.gather(&x, &indices, axis)?)
}

fn gather_elements<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, indices) = (n.input(0)?, n.input(1)?);
    let axis = n.axis("axis", 0, x.rank())?;
    let dims = indices.dims.clone();
    one(n.gather_op(GatherKind::Elements, &x, &indices, axis, 0, dims)?)
}

fn gather_nd<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, indices) = (n.input(0)?, n.input(1)?);
    let batch = n.int("batch_dims", 0)? as usize;
    let (Some((last, outer)), true) = (indices.dims.split_last(), batch < indices.rank()) else {
        return Err(n.wrong("its indices have too few dimensions"));
    };
    let Some(depth) = last.int() else { return unsupported("indices whose last dimension is not known") };
    if batch + depth as usize > x.rank() {
        return Err(n.wrong(format!(
            "indices of {depth} numbers behind {batch} batch dimensions for a tensor of rank {}",
            x.rank()
        )));
    }
    let dims = outer.iter().chain(&x.dims[batch + depth as usize..]).copied().collect();
    one(n.gather_op(GatherKind::Nd, &x, &indices, 0, batch, dims)?)
}

/// An `ait.scatter`.
pub fn scatter_op<'c>(
    n: &mut NodeContext<'_, 'c>,
    kind: ScatterKind,
    data: &Value<'c>,
    indices: &Value<'c>,
    updates: &Value<'c>,
    axis: usize,
    reduction: ScatterReduction,
) -> OpResult<Value<'c>> {
    let indices = n.index_tensor(indices)?;
    let operands = [n.tensor(data)?, n.tensor(&indices)?, n.tensor(updates)?];
    let attributes = [
        ("kind", n.b.i32_attr(kind.code())),
        ("axis", n.b.i64_attr(axis as i64)),
        ("reduction", n.b.i32_attr(reduction.code())),
    ];
    let groups: [&[_]; 3] = [&operands[..1], &operands[1..2], &operands[2..]];
    Ok(n.emit("ait.scatter", &groups, data.dtype, data.dims.clone(), &attributes))
}

fn reduction(n: &NodeContext<'_, '_>) -> OpResult<ScatterReduction> {
    Ok(match n.string("reduction", "none")?.as_str() {
        "none" => ScatterReduction::None,
        "add" => ScatterReduction::Add,
        "mul" => ScatterReduction::Mul,
        "max" => ScatterReduction::Max,
        "min" => ScatterReduction::Min,
        other => {
            return Err(n.wrong(format!("attribute `reduction` is `{other}`, expected none, add, mul, max or min")));
        }
    })
}

fn scatter_elements<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, indices, updates) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let axis = n.axis("axis", 0, x.rank())?;
    let reduction = reduction(n)?;
    one(scatter_op(n, ScatterKind::Elements, &x, &indices, &updates, axis, reduction)?)
}

fn scatter_nd<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, indices, updates) = (n.input(0)?, n.input(1)?, n.input(2)?);
    if let Some(folded) = fold_scatter(n, &x, &indices, &updates) {
        return one(folded);
    }
    let reduction = reduction(n)?;
    one(scatter_op(n, ScatterKind::Nd, &x, &indices, &updates, 0, reduction)?)
}

/// Single elements of a tracked vector replaced: shape arithmetic of exporters.
fn fold_scatter<'c>(
    n: &NodeContext<'_, 'c>,
    x: &Value<'c>,
    indices: &Value<'c>,
    updates: &Value<'c>,
) -> Option<Value<'c>> {
    let (data, places, new) = (x.scalars()?, indices.ints()?, updates.scalars()?);
    if x.rank() != 1
        || x.is_weight()
        || places.len() != new.len()
        || indices.dims.last()?.int()? != 1
        || n.node.has("reduction")
    {
        return None;
    }
    let mut data = data.to_vec();
    let len = data.len() as i64;
    for (place, value) in places.into_iter().zip(new) {
        let place = if place < 0 { place + len } else { place };
        *data.get_mut(usize::try_from(place).ok()?)? = *value;
    }
    Some(n.constant(x.dtype, &[len], data))
}

fn one_hot<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (indices, depth, values) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let axis = n.axis("axis", -1, indices.rank() + 1)?;
    let depth = n.element(&depth, 0)?;
    let depth = match depth {
        Scalar::Float(v) => Scalar::Int(v as i64),
        other => crate::import::build::cast_scalar(&n.host(n.input(1)?.dtype), other, DType::I64),
    };
    n.index().assume_nonnegative(depth);
    let wide = n.cast(&indices, DType::I64)?;
    let wide = n.unsqueeze(&wide, &[axis])?;
    let mut dims = wide.dims.clone();
    dims[axis] = depth;
    let depth = n.scalar(DType::I64, depth);
    let off = n.slice_axis(&values, 0, Scalar::Int(0), Scalar::Int(1))?;
    let on = n.slice_axis(&values, 0, Scalar::Int(1), Scalar::Int(1))?;
    one(n.map_over(dims, &[&wide, &depth, &off, &on], values.dtype, |c, args, index| {
        let negative = c.cmp("lt", args[0], Scalar::Int(0));
        let hot = c.select(negative, c.add(args[0], args[1]), args[0]);
        let hit = c.cmp("eq", hot, index(axis));
        c.of(values.dtype).select(hit, args[3], args[2])
    })?)
}

/// Coordinates of the elements that are not zero: `[count, rank]`.
fn non_zero_rows<'c>(n: &mut NodeContext<'_, 'c>, x: &Value<'c>) -> OpResult<Value<'c>> {
    let len = n.len(&x.dims);
    let rank = Scalar::Int(x.rank().max(1) as i64);
    let tensor = n.tensor(x)?;
    let stated = n.dynamic(&[len]);
    let types = [type_of(n.b, DType::I64, &[len, rank]), type_of(n.b, DType::I64, &[])];
    let results = n.b.ait("ait.nonzero", &[&[tensor], &stated], &types, &[], vec![]);
    let all = n.value(DType::I64, vec![len, rank], results[0]);
    let count = n.value(DType::I64, vec![], results[1]);
    prefix(n, &all, &count)
}

/// The first `count` entries of a buffer of data-dependent use.
pub fn prefix<'c>(n: &mut NodeContext<'_, 'c>, all: &Value<'c>, count: &Value<'c>) -> OpResult<Value<'c>> {
    let count = n.element(count, 0)?;
    n.index().assume_nonnegative(count);
    n.slice_axis(all, 0, Scalar::Int(0), count)
}

fn non_zero<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    if let (Some(elements), 1) = (x.ints(), x.rank()) {
        let places: Vec<_> =
            (0..elements.len() as i64).filter(|i| elements[*i as usize] != 0).map(Scalar::Int).collect();
        return one(n.constant(DType::I64, &[1, places.len() as i64], places));
    }
    let rows = non_zero_rows(n, &x)?;
    one(n.transpose(&rows, &[1, 0])?)
}

fn compress<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, condition) = (n.input(0)?, n.input(1)?);
    let rows = non_zero_rows(n, &condition)?;
    let picked = n.squeeze(&rows, &[1])?;
    if n.node.has("axis") {
        let axis = n.axis("axis", 0, x.rank())?;
        return one(n.gather(&x, &picked, axis)?);
    }
    let len = n.len(&x.dims);
    let flat = n.reshape(&x, vec![len])?;
    one(n.gather(&flat, &picked, 0)?)
}

/// The first `length` steps of each batch entry in reverse.
fn reverse_sequence<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, lengths) = (n.input(0)?, n.input(1)?);
    let (time, batch) = (n.int("time_axis", 0)?, n.int("batch_axis", 1)?);
    if x.rank() < 2 || (time, batch) != (0, 1) && (time, batch) != (1, 0) {
        return Err(n.wrong(format!("time axis {time} and batch axis {batch}, expected 0 and 1")));
    }
    let mut swapped: Vec<usize> = (0..x.rank()).collect();
    swapped.swap(0, 1);
    let by_batch = if time == 0 { n.transpose(&x, &swapped)? } else { x.clone() };
    let lengths = n.unsqueeze(&lengths, &[1, 2])?;
    let dims = vec![by_batch.dims[0], by_batch.dims[1], Scalar::Int(1)];
    let places = n.map_over(dims, &[&lengths], DType::I64, |c, args, index| {
        let c = c.of(DType::I64);
        let inside = c.cmp("lt", index(1), args[0]);
        c.select(inside, c.sub(c.sub(args[0], Scalar::Int(1)), index(1)), index(1))
    })?;
    let dims = by_batch.dims.clone();
    let out = n.gather_op(GatherKind::Nd, &by_batch, &places, 0, 1, dims)?;
    one(if time == 0 { n.transpose(&out, &swapped)? } else { out })
}

/// A copy of the cache with the update written from `write_indices` on, modulo the length where it is circular.
fn tensor_scatter<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (past, update) = (n.input(0)?, n.input(1)?);
    let axis = n.axis("axis", -2, past.rank())?;
    let circular = match n.string("mode", "linear")?.as_str() {
        "linear" => false,
        "circular" => true,
        other => return Err(n.wrong(format!("attribute `mode` is `{other}`, expected linear or circular"))),
    };
    let start = match n.optional(2)? {
        Some(start) => n.cast(&start, DType::I64)?,
        None => n.scalar(DType::I64, Scalar::Int(0)),
    };
    let start = if start.rank() == 1 {
        let mut dims = vec![Scalar::Int(1); update.rank()];
        dims[0] = start.dims[0];
        n.reshape(&start, dims)?
    } else {
        start
    };
    let length = n.scalar(DType::I64, past.dims[axis]);
    let places = n.map_over(update.dims.clone(), &[&start, &length], DType::I64, |c, args, index| {
        let place = c.add(args[0], index(axis));
        if circular { c.rem(place, args[1]) } else { place }
    })?;
    one(scatter_op(n, ScatterKind::Elements, &past, &places, &update, axis, ScatterReduction::None)?)
}

fn trilu<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let k = match n.optional(1)? {
        Some(k) => n.reshape(&k, vec![])?,
        None => n.scalar(DType::I64, Scalar::Int(0)),
    };
    let upper = n.flag("upper", true)?;
    let rank = x.rank();
    if rank < 2 {
        return Err(n.wrong("its input is no matrix"));
    }
    one(n.map_over(x.dims.clone(), &[&x, &k], x.dtype, |c, args, index| {
        let ints = c.of(DType::I64);
        let edge = ints.add(index(rank - 2), args[1]);
        let kept = ints.cmp(if upper { "ge" } else { "le" }, index(rank - 1), edge);
        c.select(kept, args[0], c.lit(0.0))
    })?)
}

/// Rows are compared: the axis comes first, the rest is one dimension.
fn unique<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let sorted = n.flag("sorted", true)?;
    let axis = if n.node.has("axis") { Some(n.axis("axis", 0, x.rank())?) } else { None };
    let len = n.len(&x.dims);
    let (moved, order) = match axis {
        None => (n.reshape(&x, vec![len])?, vec![0]),
        Some(axis) => {
            let order: Vec<usize> = std::iter::once(axis).chain((0..x.rank()).filter(|i| *i != axis)).collect();
            (n.transpose(&x, &order)?, order)
        }
    };
    let rest = n.len(&moved.dims[1..]);
    let rows = n.reshape(&moved, vec![moved.dims[0], rest])?;
    let tensor = n.tensor(&rows)?;
    let attributes = if sorted { vec![("sorted", n.b.unit_attr())] } else { vec![] };
    let list = type_of(n.b, DType::I64, &rows.dims[..1]);
    let types = [list, list, list, type_of(n.b, DType::I64, &[])];
    let results = n.b.ait("ait.unique", &[&[tensor]], &types, &attributes, vec![]);
    let lists: Vec<_> = results[..3].iter().map(|r| n.value(DType::I64, vec![rows.dims[0]], *r)).collect();
    let count = n.value(DType::I64, vec![], results[3]);
    let first = prefix(n, &lists[0], &count)?;
    let counts = prefix(n, &lists[2], &count)?;
    let picked = n.gather(&moved, &first, 0)?;
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, o)| back[*o] = i);
    let y = n.transpose(&picked, &back)?;
    many(vec![y, first, lists[1].clone(), counts])
}
