//! Pooling.

use aitmlir_dialects::ait::{EnumAttribute, PoolKind, ReduceKind, ScatterKind, ScatterReduction};
use aitmlir_onnx::model::DType;

use super::{Operator, op, window::Windows};
use crate::import::{
    error::unsupported,
    node::{NodeContext, Outputs, many, one},
    scalar::Scalar,
    value::{Dim, type_of},
};

pub(super) const ROWS: &[Operator] = &[
    op("AveragePool", 22, pool),
    op("GlobalAveragePool", 22, global),
    op("GlobalLpPool", 22, global),
    op("GlobalMaxPool", 22, global),
    op("LpPool", 22, pool),
    op("MaxPool", 22, pool),
    op("MaxUnpool", 22, max_unpool),
];

fn pool<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let mut x = n.input(0)?;
    let kind = match n.node.op.as_str() {
        "MaxPool" => PoolKind::Max,
        "AveragePool" => PoolKind::Average,
        _ => PoolKind::Lp,
    };
    let mut windows = Windows::read(n, &x, None)?;
    let include = n.flag("count_include_pad", false)?;
    if windows.static_pads().is_none() {
        if kind == PoolKind::Average && !include || n.wants(1) {
            return unsupported("SAME padding of a run-time size together with a stride");
        }
        let with = match kind {
            PoolKind::Max => Some(n.scalar(x.dtype, Scalar::Float(f64::NEG_INFINITY))),
            _ => None,
        };
        x = windows.pad_first(n, &x, with.as_ref())?;
    }
    let mut dims: Vec<Dim<'c>> = x.dims[..2].to_vec();
    for i in 0..windows.kernel.len() {
        dims.push(windows.output(n, i, x.dims[i + 2]));
    }
    let b = n.b;
    let mut attributes = vec![
        ("kind", b.i32_attr(kind.code())),
        ("kernel", b.i64s_attr(&windows.kernel)),
        ("strides", b.i64s_attr(&windows.strides)),
        ("pads", b.i64s_attr(&windows.static_pads().unwrap_or_default())),
        ("dilations", b.i64s_attr(&windows.dilations)),
    ];
    for (name, set) in
        [("ceil", windows.ceil), ("count_include_pad", include), ("storage_order", n.flag("storage_order", false)?)]
    {
        if set {
            attributes.push((name, b.unit_attr()));
        }
    }
    if kind == PoolKind::Lp {
        attributes.push(("p", b.i64_attr(n.int("p", 2)?)));
    }
    let tensor = n.tensor(&x)?;
    let mut types = vec![type_of(b, x.dtype, &dims)];
    if n.wants(1) {
        types.push(type_of(b, DType::I64, &dims));
    }
    let results = b.ait("ait.pool", &[&[tensor]], &types, &attributes, vec![]);
    let mut out = vec![n.value(x.dtype, dims.clone(), results[0])];
    if let Some(indices) = results.get(1) {
        out.push(n.value(DType::I64, dims, *indices));
    }
    many(out)
}

fn global<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let axes: Vec<usize> = (2..x.rank()).collect();
    let kind = match n.node.op.as_str() {
        "GlobalAveragePool" => ReduceKind::Mean,
        "GlobalMaxPool" => ReduceKind::Max,
        _ => match n.int("p", 2)? {
            1 => ReduceKind::L1,
            2 => ReduceKind::L2,
            p => {
                let powers =
                    n.elementwise(&[&x], x.dtype, |c, args| c.math2("powf", c.abs(args[0]), c.lit(p as f64)))?;
                let sum = n.reduce(ReduceKind::Sum, &powers, &axes, true)?;
                return one(n.elementwise(&[&sum], x.dtype, |c, args| c.math2("powf", args[0], c.lit(1.0 / p as f64)))?);
            }
        },
    };
    one(n.reduce(kind, &x, &axes, true)?)
}

/// The inverse of MaxPool: each value goes to its index in the larger, else zero, output.
fn max_unpool<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, indices, shape) = (n.input(0)?, n.input(1)?, n.list(2)?);
    let windows = Windows::read(n, &x, None)?;
    let index = n.index();
    let mut default = x.dims[..2].to_vec();
    for i in 0..windows.kernel.len() {
        let steps = index.mul(index.sub(x.dims[i + 2], Scalar::Int(1)), Scalar::Int(windows.strides[i]));
        let pads = index.add(windows.begins[i], windows.ends[i]);
        default.push(index.sub(index.add(steps, Scalar::Int(windows.kernel[i])), pads));
    }
    let dims = match shape {
        Some(shape) => {
            shape.iter().for_each(|d| index.assume_nonnegative(*d));
            shape
        }
        None => default,
    };
    let (count, total) = (n.len(&x.dims), n.len(&dims));
    let values = n.reshape(&x, vec![count])?;
    let places = n.reshape(&indices, vec![count])?;
    let zeros = n.fill(x.dtype, Scalar::Float(0.0), vec![total])?;
    let flat = super::index::scatter_op(n, ScatterKind::Elements, &zeros, &places, &values, 0, ScatterReduction::None)?;
    one(n.reshape(&flat, dims)?)
}
