//! Reductions, softmax, scans and sorting.

use aitmlir_dialects::ait::{ArgReduceKind, EnumAttribute, ReduceKind, ScanKind, SoftmaxKind};
use aitmlir_onnx::model::DType;

use super::{Operator, op};
use crate::import::{
    build::{normal_axes, reduced},
    error::OpResult,
    node::{NodeContext, Outputs, many, one},
    scalar::Scalar,
    value::{Dim, Value, type_of},
};

pub(super) const ROWS: &[Operator] = &[
    op("ArgMax", 13, arg_reduce),
    op("ArgMin", 13, arg_reduce),
    op("CumProd", 26, scan),
    op("CumSum", 14, scan),
    op("Hardmax", 13, hardmax),
    op("LogSoftmax", 13, softmax),
    op("LpNormalization", 22, lp_normalization),
    op("ReduceL1", 18, reduce),
    op("ReduceL2", 18, reduce),
    op("ReduceLogSum", 28, reduce),
    op("ReduceLogSumExp", 28, reduce),
    op("ReduceMax", 20, reduce),
    op("ReduceMean", 18, reduce),
    op("ReduceMin", 20, reduce),
    op("ReduceProd", 18, reduce),
    op("ReduceSum", 13, reduce),
    op("ReduceSumSquare", 18, reduce),
    op("Softmax", 13, softmax),
    op("TopK", 24, top_k),
];

fn kind(name: &str) -> Option<ReduceKind> {
    Some(match name {
        "ReduceL1" => ReduceKind::L1,
        "ReduceL2" => ReduceKind::L2,
        "ReduceLogSum" => ReduceKind::LogSum,
        "ReduceLogSumExp" => ReduceKind::LogSumExp,
        "ReduceMax" => ReduceKind::Max,
        "ReduceMean" => ReduceKind::Mean,
        "ReduceMin" => ReduceKind::Min,
        "ReduceProd" => ReduceKind::Prod,
        "ReduceSum" => ReduceKind::Sum,
        "ReduceSumSquare" => ReduceKind::SumSquare,
        _ => return None,
    })
}

fn reduce<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let Some(kind) = kind(&n.node.op) else { return Err(n.wrong("internal error: no such reduction")) };
    let input = n.input(0)?;
    let keepdims = n.flag("keepdims", true)?;
    let x = if input.dtype == DType::Bool { n.cast(&input, DType::U8)? } else { input.clone() };
    let out = reduce_value(n, kind, &x, keepdims)?;
    one(n.cast(&out, input.dtype)?)
}

fn reduce_value<'c>(
    n: &mut NodeContext<'_, 'c>,
    kind: ReduceKind,
    x: &Value<'c>,
    keepdims: bool,
) -> OpResult<Value<'c>> {
    let axes = match n.ints("axes")? {
        Some(list) => Some(list.into_iter().map(Scalar::Int).collect()),
        None => n.list(1)?,
    };
    let axes = axes.filter(|a| !a.is_empty());
    let Some(axes) = axes else {
        if n.flag("noop_with_empty_axes", false)? {
            return n.reduce(kind, x, &[], true);
        }
        let all: Vec<_> = (0..x.rank()).collect();
        return n.reduce(kind, x, &all, keepdims);
    };
    if let Some(known) = axes.iter().map(|a| a.int()).collect::<Option<Vec<_>>>() {
        let axes = normal_axes(&known, x.rank())?;
        return n.reduce(kind, x, &axes, keepdims);
    }
    let marks = marked(n, &axes, x.rank());
    let index = n.index();
    let dims: Vec<Dim<'c>> = marks.iter().zip(&x.dims).map(|(m, d)| index.select(*m, Scalar::Int(1), *d)).collect();
    dims.iter().for_each(|d| index.assume_nonnegative(*d));
    let Some(list) = n.optional(1)? else { return Err(n.wrong("input 1 is missing")) };
    let operands = [n.tensor(x)?, n.tensor(&list)?];
    let stated = n.dynamic(&dims);
    let attributes = [("kind", n.b.i32_attr(kind.code())), ("axes", n.b.i64s_attr(&[])), ("keepdims", n.b.unit_attr())];
    let kept = n.emit("ait.reduce", &[&[operands[0]], &[operands[1]], &stated], x.dtype, dims, &attributes);
    if keepdims {
        return Ok(kept);
    }
    let dims = unmarked(n, &marks, &x.dims, x.rank().saturating_sub(axes.len()));
    n.reshape(&kept, dims)
}

/// For each dimension, is it among the axes (a truth value that may be known only at run time)?
pub fn marked<'c>(n: &NodeContext<'_, 'c>, axes: &[Scalar<'c>], rank: usize) -> Vec<Scalar<'c>> {
    let (index, bools) = (n.index(), n.host(DType::Bool));
    (0..rank as i64)
        .map(|i| {
            axes.iter().fold(Scalar::Int(0), |found, axis| {
                let hit = bools
                    .or(index.cmp("eq", *axis, Scalar::Int(i)), index.cmp("eq", *axis, Scalar::Int(i - rank as i64)));
                if found == Scalar::Int(0) { hit } else { bools.or(found, hit) }
            })
        })
        .collect()
}

/// The `count` dims that are not marked, in order.
pub fn unmarked<'c>(n: &NodeContext<'_, 'c>, marks: &[Scalar<'c>], dims: &[Dim<'c>], count: usize) -> Vec<Dim<'c>> {
    let (index, bools) = (n.index(), n.host(DType::Bool));
    let mut out = vec![Scalar::Int(1); count];
    let mut place = Scalar::Int(0);
    for (mark, dim) in marks.iter().zip(dims) {
        for (j, o) in out.iter_mut().enumerate() {
            let here = index.cmp("eq", place, Scalar::Int(j as i64));
            let kept = bools.and(here, bools.not(*mark));
            *o = index.select(kept, *dim, *o);
        }
        place = index.add(place, index.select(*mark, Scalar::Int(0), Scalar::Int(1)));
    }
    out.iter().for_each(|d| index.assume_nonnegative(*d));
    out
}

/// An `ait.argreduce`.
pub fn arg_extreme<'c>(
    n: &mut NodeContext<'_, 'c>,
    kind: ArgReduceKind,
    x: &Value<'c>,
    axis: usize,
    keepdims: bool,
    last: bool,
) -> OpResult<Value<'c>> {
    let tensor = n.tensor(x)?;
    let mut attributes = vec![("kind", n.b.i32_attr(kind.code())), ("axis", n.b.i64_attr(axis as i64))];
    if keepdims {
        attributes.push(("keepdims", n.b.unit_attr()));
    }
    if last {
        attributes.push(("select_last", n.b.unit_attr()));
    }
    let dims = reduced(&x.dims, &[axis], keepdims);
    Ok(n.emit("ait.argreduce", &[&[tensor]], DType::I64, dims, &attributes))
}

fn arg_reduce<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let kind = if n.node.op == "ArgMax" { ArgReduceKind::Max } else { ArgReduceKind::Min };
    let axis = n.axis("axis", 0, x.rank())?;
    let (keepdims, last) = (n.flag("keepdims", true)?, n.flag("select_last_index", false)?);
    one(arg_extreme(n, kind, &x, axis, keepdims, last)?)
}

/// Before version 13 the input is seen as a matrix, cut at the axis. Returns that view and the axis in it.
fn matrix_view<'c>(n: &mut NodeContext<'_, 'c>, x: &Value<'c>) -> OpResult<(Value<'c>, usize)> {
    let axis = n.axis("axis", if n.since >= 13 { -1 } else { 1 }, x.rank())?;
    if n.since >= 13 || axis + 1 == x.rank() {
        return Ok((x.clone(), axis));
    }
    let (rows, columns) = (n.len(&x.dims[..axis]), n.len(&x.dims[axis..]));
    Ok((n.reshape(x, vec![rows, columns])?, 1))
}

fn softmax<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let kind = if n.node.op == "Softmax" { SoftmaxKind::Softmax } else { SoftmaxKind::LogSoftmax };
    let (view, axis) = matrix_view(n, &x)?;
    let out = n.softmax(kind, &view, axis)?;
    one(n.reshape(&out, x.dims.clone())?)
}

fn hardmax<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let (view, axis) = matrix_view(n, &x)?;
    let best = arg_extreme(n, ArgReduceKind::Max, &view, axis, true, false)?;
    let out = n.map_over(view.dims.clone(), &[&best], x.dtype, |c, args, index| {
        let hit = c.cmp("eq", args[0], index(axis));
        c.of(x.dtype).select(hit, Scalar::Float(1.0), Scalar::Float(0.0))
    })?;
    one(n.reshape(&out, x.dims.clone())?)
}

fn lp_normalization<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let axis = n.axis("axis", -1, x.rank())?;
    let kind = match n.int("p", 2)? {
        1 => ReduceKind::L1,
        2 => ReduceKind::L2,
        p => return Err(n.wrong(format!("attribute `p` is {p}, expected 1 or 2"))),
    };
    let norm = n.reduce(kind, &x, &[axis], true)?;
    one(n.elementwise(&[&x, &norm], x.dtype, |c, args| {
        let zero = c.cmp("eq", args[1], c.lit(0.0));
        c.select(zero, c.lit(0.0), c.div(args[0], args[1]))
    })?)
}

fn scan<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let kind = if n.node.op == "CumSum" { ScanKind::Sum } else { ScanKind::Prod };
    let list = n.input(1)?;
    let axis = n.element(&list, 0)?;
    let index = n.index();
    let negative = index.cmp("lt", axis, Scalar::Int(0));
    let axis = index.select(negative, index.add(axis, Scalar::Int(x.rank() as i64)), axis);
    let mut attributes = vec![("kind", n.b.i32_attr(kind.code()))];
    for name in ["exclusive", "reverse"] {
        if n.flag(name, false)? {
            attributes.push((name, n.b.unit_attr()));
        }
    }
    let (tensor, axis) = (n.tensor(&x)?, index.val(axis));
    one(n.emit("ait.scan", &[&[tensor], &[axis]], x.dtype, x.dims.clone(), &attributes))
}

fn top_k<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let axis = n.axis("axis", -1, x.rank())?;
    let k = match n.node.opt_int("k")? {
        Some(k) => Scalar::Int(k),
        None => {
            let k = n.input(1)?;
            n.element(&k, 0)?
        }
    };
    n.index().assume_nonnegative(k);
    let mut dims = x.dims.clone();
    dims[axis] = k;
    let tensor = n.tensor(&x)?;
    let stated = n.dynamic(&dims);
    let mut attributes = vec![("axis", n.b.i64_attr(axis as i64))];
    if !n.flag("largest", true)? {
        attributes.push(("smallest", n.b.unit_attr()));
    }
    let types = [type_of(n.b, x.dtype, &dims), type_of(n.b, DType::I64, &dims)];
    let results = n.b.ait("ait.topk", &[&[tensor], &stated], &types, &attributes, vec![]);
    let values = n.value(x.dtype, dims.clone(), results[0]);
    let indices = n.value(DType::I64, dims, results[1]);
    many(vec![values, indices])
}
