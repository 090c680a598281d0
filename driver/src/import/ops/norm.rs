//! Normalisations.

use aitmlir_dialects::ait::{EnumAttribute, NormKind, PoolKind, ReduceKind};
use aitmlir_onnx::model::DType;

use super::{Operator, op};
use crate::import::{
    build::normal_axes,
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs, many, one},
    scalar::Scalar,
    value::{DTypeExt, Value},
};

pub(super) const ROWS: &[Operator] = &[
    op("BatchNormalization", 15, batch),
    op("GroupNormalization", 21, group),
    op("InstanceNormalization", 22, instance),
    op("LRN", 13, lrn),
    op("LayerNormalization", 17, layer),
    Operator { domain: "com.microsoft", ..op("LayerNormalization", 1, layer) },
    op("MeanVarianceNormalization", 13, mean_variance),
    op("RMSNormalization", 23, rms),
    op("SimplifiedLayerNormalization", 1, rms),
    Operator { domain: "com.microsoft", ..op("SkipLayerNormalization", 1, skip_layer) },
    Operator { domain: "com.microsoft", ..op("SkipSimplifiedLayerNormalization", 1, skip_layer) },
];

/// A per-channel vector [C] as [C, 1, ...] beside an input of `rank`.
fn channels<'c>(n: &mut NodeContext<'_, 'c>, v: &Value<'c>, rank: usize) -> OpResult<Value<'c>> {
    let mut dims = v.dims.clone();
    dims.resize(rank.saturating_sub(1).max(1), Scalar::Int(1));
    n.reshape(v, dims)
}

fn batch<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let [scale, bias, mean, variance] = [n.input(1)?, n.input(2)?, n.input(3)?, n.input(4)?];
    let epsilon = n.float("epsilon", 1e-5)?;
    if n.since < 9 && n.int("spatial", 1)? == 0 {
        return unsupported("statistics per activation (attribute `spatial` is 0)");
    }
    if !n.flag("training_mode", false)? {
        return one(affine(n, &x, [&scale, &bias, &mean, &variance], epsilon)?);
    }
    let momentum = n.float("momentum", 0.9)?;
    let axes: Vec<usize> = (0..x.rank()).filter(|i| *i != 1).collect();
    let now = n.reduce(ReduceKind::Mean, &x, &axes, false)?;
    let wide = channels(n, &now, x.rank())?;
    let centred = n.elementwise(&[&x, &wide], x.dtype, |c, a| c.sub(a[0], a[1]))?;
    let squares = n.elementwise(&[&centred], x.dtype, |c, a| c.mul(a[0], a[0]))?;
    let spread = n.reduce(ReduceKind::Mean, &squares, &axes, false)?;
    let mut blend = |old: &Value<'c>, new: &Value<'c>| {
        n.elementwise(&[old, new], old.dtype, |c, a| {
            c.add(c.mul(a[0], c.lit(momentum)), c.mul(a[1], c.lit(1.0 - momentum)))
        })
    };
    let (mean, variance) = (blend(&mean, &now)?, blend(&variance, &spread)?);
    let y = affine(n, &x, [&scale, &bias, &now, &spread], epsilon)?;
    many(vec![y, mean, variance])
}

/// x * a + c with a and c computed from the per-channel vectors alone, which folds where these are constant.
fn affine<'c>(
    n: &mut NodeContext<'_, 'c>,
    x: &Value<'c>,
    [scale, bias, mean, variance]: [&Value<'c>; 4],
    epsilon: f64,
) -> OpResult<Value<'c>> {
    let wide = if variance.dtype.bits() > scale.dtype.bits() { variance.dtype } else { scale.dtype };
    let a = n.elementwise(&[scale, variance], wide, |c, v| {
        let k = c.of(wide);
        k.div(v[0], k.math("sqrt", k.add(v[1], k.lit(epsilon))))
    })?;
    let shift = n.elementwise(&[bias, mean, &a], wide, |c, v| {
        let k = c.of(wide);
        k.sub(v[0], k.mul(v[1], v[2]))
    })?;
    let (a, shift) = (channels(n, &a, x.rank())?, channels(n, &shift, x.rank())?);
    n.elementwise(&[x, &a, &shift], x.dtype, |c, v| c.add(c.mul(v[0], v[1]), v[2]))
}

/// An `ait.norm`.
pub fn normalise<'c>(
    n: &mut NodeContext<'_, 'c>,
    kind: NormKind,
    x: &Value<'c>,
    params: &[Value<'c>],
    epsilon: f64,
    (axis, groups): (usize, i64),
) -> OpResult<Value<'c>> {
    let mut operands = Vec::new();
    for p in params {
        operands.push(n.tensor(p)?);
    }
    let tensor = n.tensor(x)?;
    let attributes = [
        ("kind", n.b.i32_attr(kind.code())),
        ("epsilon", n.b.f64_attr(epsilon)),
        ("axis", n.b.i64_attr(axis as i64)),
        ("groups", n.b.i64_attr(groups)),
    ];
    Ok(n.emit("ait.norm", &[&[tensor], &operands], x.dtype, x.dims.clone(), &attributes))
}

fn instance<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, scale, bias) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let epsilon = n.float("epsilon", 1e-5)?;
    one(normalise(n, NormKind::Instance, &x, &[scale, bias], epsilon, (0, 1))?)
}

fn group<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, mut scale, mut bias) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let (epsilon, groups) = (n.float("epsilon", 1e-5)?, n.node.int("num_groups")?);
    if n.since < 21 {
        // One scale a group: repeated for its channels.
        let each = n.index().div(x.dims[1], Scalar::Int(groups));
        for v in [&mut scale, &mut bias] {
            let column = n.reshape(v, vec![Scalar::Int(groups), Scalar::Int(1)])?;
            let wide = n.expand(&column, vec![Scalar::Int(groups), each])?;
            *v = n.reshape(&wide, vec![x.dims[1]])?;
        }
    }
    one(normalise(n, NormKind::Group, &x, &[scale, bias], epsilon, (0, groups))?)
}

fn layer<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, scale, bias) = (n.input(0)?, n.input(1)?, n.optional(2)?);
    let axis = n.axis("axis", -1, x.rank())?;
    let epsilon = n.float("epsilon", 1e-5)?;
    let params: Vec<_> = std::iter::once(scale).chain(bias).collect();
    let y = normalise(n, NormKind::Layer, &x, &params, epsilon, (axis, 1))?;
    if !n.wants(1) && !n.wants(2) {
        return one(y);
    }
    let wide = if x.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let x = n.cast(&x, wide)?;
    let axes: Vec<usize> = (axis..x.rank()).collect();
    let mean = n.reduce(ReduceKind::Mean, &x, &axes, true)?;
    let centred = n.elementwise(&[&x, &mean], wide, |c, a| c.sub(a[0], a[1]))?;
    let squares = n.elementwise(&[&centred], wide, |c, a| c.mul(a[0], a[0]))?;
    let variance = n.reduce(ReduceKind::Mean, &squares, &axes, true)?;
    let inverse =
        n.elementwise(&[&variance], wide, |c, a| c.div(c.lit(1.0), c.math("sqrt", c.add(a[0], c.lit(epsilon)))))?;
    many(vec![y, mean, inverse])
}

fn rms<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, scale) = (n.input(0)?, n.input(1)?);
    let axis = n.axis("axis", -1, x.rank())?;
    let epsilon = n.float("epsilon", 1e-5)?;
    one(normalise(n, NormKind::Rms, &x, &[scale], epsilon, (axis, 1))?)
}

/// The norm of a sum: input, skip, gamma, (beta,) bias.
fn skip_layer<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let simplified = n.node.op.contains("Simplified");
    let (x, skip, gamma) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let beta = if simplified { None } else { n.optional(3)? };
    let bias = n.optional(if simplified { 3 } else { 4 })?;
    let epsilon = n.float("epsilon", 1e-12)?;
    let mut sum = n.elementwise(&[&x, &skip], x.dtype, |c, a| c.add(a[0], a[1]))?;
    if let Some(bias) = bias {
        sum = n.elementwise(&[&sum, &bias], x.dtype, |c, a| c.add(a[0], a[1]))?;
    }
    let kind = if simplified { NormKind::Rms } else { NormKind::Layer };
    let params: Vec<_> = std::iter::once(gamma).chain(beta).collect();
    let y = normalise(n, kind, &sum, &params, epsilon, (sum.rank() - 1, 1))?;
    if n.wants(1) || n.wants(2) {
        return unsupported("its outputs of mean and deviation");
    }
    many(vec![y, sum.clone(), sum.clone(), sum])
}

/// x / (bias + alpha * mean of x^2 over neighbouring channels)^beta
fn lrn<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let (alpha, beta, bias) = (n.float("alpha", 1e-4)?, n.float("beta", 0.75)?, n.float("bias", 1.0)?);
    let size = n.node.int("size")?;
    if x.rank() < 2 {
        return Err(n.wrong("its input has no channels"));
    }
    let squares = n.elementwise(&[&x], x.dtype, |c, a| c.mul(a[0], a[0]))?;
    let plane = n.len(&x.dims[2..]);
    let view = n.reshape(&squares, vec![x.dims[0], Scalar::Int(1), x.dims[1], plane])?;
    let tensor = n.tensor(&view)?;
    let b = n.b;
    let attributes = [
        ("kind", b.i32_attr(PoolKind::Average.code())),
        ("kernel", b.i64s_attr(&[size, 1])),
        ("strides", b.i64s_attr(&[1, 1])),
        ("pads", b.i64s_attr(&[(size - 1) / 2, 0, size / 2, 0])),
        ("dilations", b.i64s_attr(&[1, 1])),
        ("count_include_pad", b.unit_attr()),
    ];
    let means = n.emit("ait.pool", &[&[tensor]], x.dtype, view.dims.clone(), &attributes);
    let means = n.reshape(&means, x.dims.clone())?;
    one(n.elementwise(&[&x, &means], x.dtype, |c, a| {
        let base = c.add(c.lit(bias), c.mul(c.lit(alpha), a[1]));
        c.div(a[0], c.math2("powf", base, c.lit(beta)))
    })?)
}

fn mean_variance<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    if !x.dtype.is_floating() {
        return unsupported(format!("an input of {}", x.dtype));
    }
    let axes = normal_axes(&n.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]), x.rank())?;
    let mean = n.reduce(ReduceKind::Mean, &x, &axes, true)?;
    let centred = n.elementwise(&[&x, &mean], x.dtype, |c, a| c.sub(a[0], a[1]))?;
    let squares = n.elementwise(&[&centred], x.dtype, |c, a| c.mul(a[0], a[0]))?;
    let variance = n.reduce(ReduceKind::Mean, &squares, &axes, true)?;
    one(n.elementwise(&[&centred, &variance], x.dtype, |c, a| c.div(a[0], c.add(c.math("sqrt", a[1]), c.lit(1e-9))))?)
}
