//! Padding and resampling.

use aitmlir_dialects::ait::{CoordinateMode, EnumAttribute, NearestMode, PadMode, ResizeMode};
use aitmlir_onnx::model::DType;

use super::{Operator, op, reduce::marked};
use crate::import::{
    build::{cast_scalar, normal_axis},
    error::OpResult,
    node::{NodeContext, Outputs, one},
    scalar::Scalar,
    value::{Dim, Value},
};

pub(super) const ROWS: &[Operator] = &[op("Pad", 25, pad), op("Resize", 19, resize), op("Upsample", 10, upsample)];

fn pad<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let mode = match n.string("mode", "constant")?.as_str() {
        "constant" => PadMode::Constant,
        "reflect" => PadMode::Reflect,
        "edge" => PadMode::Edge,
        "wrap" => PadMode::Wrap,
        other => {
            return Err(n.wrong(format!("attribute `mode` is `{other}`, expected constant, reflect, edge or wrap")));
        }
    };
    let pads = match n.ints("pads")? {
        Some(list) => list.into_iter().map(Scalar::Int).collect(),
        None => n.list(1)?.unwrap_or_default(),
    };
    let axes = match n.list(3)? {
        Some(axes) => axes,
        None => (0..x.rank() as i64).map(Scalar::Int).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(n.wrong(format!("{} paddings for {} axes", pads.len(), axes.len())));
    }
    let value = match n.node.opt_float("value")? {
        Some(v) => Some(n.scalar(x.dtype, Scalar::Float(f64::from(v)))),
        None => match n.optional(2)? {
            Some(v) => Some(n.reshape(&v, vec![])?),
            None => None,
        },
    };
    let index = n.index();
    let (mut low, mut high) = (vec![Scalar::Int(0); x.rank()], vec![Scalar::Int(0); x.rank()]);
    for (k, axis) in axes.iter().enumerate() {
        let (begin, end) = (pads[k], pads[axes.len() + k]);
        if let Some(axis) = axis.int() {
            let axis = normal_axis(axis, x.rank())?;
            (low[axis], high[axis]) = (begin, end);
            continue;
        }
        for (i, hit) in marked(n, &[*axis], x.rank()).into_iter().enumerate() {
            low[i] = index.select(hit, begin, low[i]);
            high[i] = index.select(hit, end, high[i]);
        }
    }
    let value = value.filter(|_| mode == PadMode::Constant);
    one(n.pad(mode, &x, &low, &high, value.as_ref())?)
}

/// What an `ait.resize` needs beside its input.
struct Plan<'c> {
    mode: ResizeMode,
    coordinate: CoordinateMode,
    nearest: NearestMode,
    scales: Vec<Scalar<'c>>,
    roi: Vec<Scalar<'c>>,
    dims: Vec<Dim<'c>>,
}

fn resize_mode(n: &NodeContext<'_, '_>) -> OpResult<ResizeMode> {
    Ok(match n.string("mode", "nearest")?.as_str() {
        "nearest" => ResizeMode::Nearest,
        "linear" | "bilinear" => ResizeMode::Linear,
        "cubic" => ResizeMode::Cubic,
        other => return Err(n.wrong(format!("attribute `mode` is `{other}`, expected nearest, linear or cubic"))),
    })
}

/// The case of an enum attribute that a string attribute names.
fn case<E: EnumAttribute>(n: &NodeContext<'_, '_>, name: &str, default: &str) -> OpResult<E> {
    let text = n.string(name, default)?;
    let found = E::CASES.iter().copied().find(|c| c.text() == text);
    found.ok_or_else(|| n.wrong(format!("attribute `{name}` is `{text}`, which is no such mode")))
}

/// The elements of a float list as f64 scalars.
fn floats<'c>(n: &mut NodeContext<'_, 'c>, value: &Value<'c>) -> OpResult<Vec<Scalar<'c>>> {
    let calc = n.host(value.dtype);
    let list = n.elements(value)?;
    Ok(list.into_iter().map(|s| cast_scalar(&calc, s, DType::F64)).collect())
}

/// floor(dim * scale)
fn scaled<'c>(n: &NodeContext<'_, 'c>, dim: Dim<'c>, scale: Scalar<'c>) -> Dim<'c> {
    let (index, real) = (n.index(), n.host(DType::F64));
    let product = real.mul(cast_scalar(&index, dim, DType::F64), scale);
    let out = cast_scalar(&real, real.math("floor", product), DType::I64);
    index.assume_nonnegative(out);
    out
}

/// out / in as f64.
fn ratio<'c>(n: &NodeContext<'_, 'c>, out: Dim<'c>, dim: Dim<'c>) -> Scalar<'c> {
    let (index, real) = (n.index(), n.host(DType::F64));
    if out == dim {
        return Scalar::Float(1.0);
    }
    real.div(cast_scalar(&index, out, DType::F64), cast_scalar(&index, dim, DType::F64))
}

/// Sizes that keep the aspect ratio: one scale for all axes, the least or the greatest, and sizes rounded half up.
fn keep_aspect<'c>(
    n: &NodeContext<'_, 'c>,
    x: &Value<'c>,
    axes: &[usize],
    sizes: &mut [Dim<'c>],
    least: bool,
) -> Option<Scalar<'c>> {
    let (index, real) = (n.index(), n.host(DType::F64));
    let ratios: Vec<_> = axes
        .iter()
        .zip(sizes.iter())
        .map(|(a, s)| real.div(cast_scalar(&index, *s, DType::F64), cast_scalar(&index, x.dims[*a], DType::F64)))
        .collect();
    let scale = ratios.iter().copied().reduce(|a, b| if least { real.min(a, b) } else { real.max(a, b) })?;
    for (axis, size) in axes.iter().zip(sizes) {
        let exact = real.mul(cast_scalar(&index, x.dims[*axis], DType::F64), scale);
        *size = cast_scalar(&real, real.math("floor", real.add(exact, Scalar::Float(0.5))), DType::I64);
        index.assume_nonnegative(*size);
    }
    Some(scale)
}

fn resize<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let mode = resize_mode(n)?;
    if n.since < 11 {
        let scales = n.input(1)?;
        let scales = floats(n, &scales)?;
        return old_resize(n, &x, mode, scales);
    }
    let rank = x.rank();
    let axes = match n.ints("axes")? {
        Some(list) => list.iter().map(|a| normal_axis(*a, rank)).collect::<OpResult<Vec<_>>>()?,
        None => (0..rank).collect(),
    };
    let coordinate: CoordinateMode = case(n, "coordinate_transformation_mode", "half_pixel")?;
    let nearest: NearestMode = case(n, "nearest_mode", "round_prefer_floor")?;
    let mut plan =
        Plan { mode, coordinate, nearest, scales: vec![Scalar::Float(1.0); rank], roi: vec![], dims: x.dims.clone() };
    let empty = |v: &Value<'c>| v.static_len() == Some(0);
    let scales = n.optional(2)?.filter(|v| !empty(v));
    let sizes = n.optional(3)?.filter(|v| !empty(v));
    match (scales, sizes) {
        (Some(scales), None) => {
            for (axis, scale) in axes.iter().zip(floats(n, &scales)?) {
                plan.dims[*axis] =
                    if scale.float() == Some(1.0) { x.dims[*axis] } else { scaled(n, x.dims[*axis], scale) };
                plan.scales[*axis] = scale;
            }
        }
        (None, Some(sizes)) => {
            let mut sizes = n.elements(&sizes)?;
            sizes.iter().for_each(|s| n.index().assume_nonnegative(*s));
            let policy = n.string("keep_aspect_ratio_policy", "stretch")?;
            let common =
                if policy == "stretch" { None } else { keep_aspect(n, &x, &axes, &mut sizes, policy == "not_larger") };
            for (axis, size) in axes.iter().zip(sizes) {
                plan.dims[*axis] = size;
                plan.scales[*axis] = common.unwrap_or_else(|| ratio(n, size, x.dims[*axis]));
            }
        }
        _ => return Err(n.wrong("exactly one of the inputs `scales` and `sizes` is expected")),
    }
    if coordinate == CoordinateMode::TfCropAndResize {
        let Some(roi) = n.optional(1)? else { return Err(n.wrong("input `roi` is missing")) };
        let list = floats(n, &roi)?;
        plan.roi = [vec![Scalar::Float(0.0); rank], vec![Scalar::Float(1.0); rank]].concat();
        for (k, axis) in axes.iter().enumerate() {
            if let (Some(start), Some(end)) = (list.get(k), list.get(axes.len() + k)) {
                (plan.roi[*axis], plan.roi[rank + *axis]) = (*start, *end);
            }
        }
    }
    one(emit_resize(n, &x, plan)?)
}

fn emit_resize<'c>(n: &mut NodeContext<'_, 'c>, x: &Value<'c>, plan: Plan<'c>) -> OpResult<Value<'c>> {
    let b = n.b;
    let mut attributes = vec![
        ("mode", b.i32_attr(plan.mode.code())),
        ("coordinate", b.i32_attr(plan.coordinate.code())),
        ("nearest", b.i32_attr(plan.nearest.code())),
        ("cubic_coeff", b.f64_attr(n.float("cubic_coeff_a", -0.75)?)),
        ("extrapolation", b.f64_attr(n.float("extrapolation_value", 0.0)?)),
    ];
    for name in ["exclude_outside", "antialias"] {
        if n.flag(name, false)? {
            attributes.push((name, b.unit_attr()));
        }
    }
    let real = n.host(DType::F64);
    let values = |list: &[Scalar<'c>]| list.iter().map(|s| real.val(*s)).collect::<Vec<_>>();
    let (scales, roi, stated) = (values(&plan.scales), values(&plan.roi), n.dynamic(&plan.dims));
    let tensor = n.tensor(x)?;
    Ok(n.emit("ait.resize", &[&[tensor], &scales, &roi, &stated], x.dtype, plan.dims, &attributes))
}

/// Resize 10 and Upsample: coordinates scale from 0, nearest rounds down.
fn old_resize<'c>(
    n: &mut NodeContext<'_, 'c>,
    x: &Value<'c>,
    mode: ResizeMode,
    scales: Vec<Scalar<'c>>,
) -> Outputs<'c> {
    if scales.len() != x.rank() {
        return Err(n.wrong(format!("{} scales for {} dimensions", scales.len(), x.rank())));
    }
    let dims =
        x.dims.iter().zip(&scales).map(|(d, s)| if s.float() == Some(1.0) { *d } else { scaled(n, *d, *s) }).collect();
    let plan =
        Plan { mode, coordinate: CoordinateMode::Asymmetric, nearest: NearestMode::Floor, scales, roi: vec![], dims };
    one(emit_resize(n, x, plan)?)
}

fn upsample<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let mode = resize_mode(n)?;
    let scales = match n.node.opt_floats("scales")? {
        Some(list) => list.iter().map(|s| Scalar::Float(f64::from(*s))).collect(),
        None => {
            let scales = n.input(1)?;
            floats(n, &scales)?
        }
    };
    old_resize(n, &x, mode, scales)
}
