//! Quantisation: integers that stand for floats, with a scale and a zero point.

use aitmlir_dialects::ait::{MatrixLayout::Row, ReduceKind};
use aitmlir_onnx::model::DType;

use super::{Operator, conv::convolve, matmul::product, op};
use crate::import::{
    build::{cast_scalar, normal_axis},
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs, many, one},
    scalar::{Calc, Scalar},
    value::{DTypeExt, Value},
};

pub(super) const ROWS: &[Operator] = &[
    op("ConvInteger", 10, conv_integer),
    op("DequantizeLinear", 28, dequantize),
    op("DynamicQuantizeLinear", 11, dynamic_quantize),
    op("MatMulInteger", 10, matmul_integer),
    op("QLinearConv", 10, qlinear_conv),
    op("QLinearMatMul", 21, qlinear_matmul),
    op("QuantizeLinear", 28, quantize),
    Operator { domain: "com.microsoft", ..op("DynamicQuantizeLSTM", 1, dynamic_lstm) },
    Operator { domain: "com.microsoft", ..op("DequantizeLinear", 1, dequantize) },
    Operator { domain: "com.microsoft", ..op("QuantizeLinear", 1, quantize) },
];

/// The least and greatest number of an 8- or 16-bit type.
fn limits(dtype: DType) -> Option<(f64, f64)> {
    Some(match dtype {
        DType::U8 => (0.0, 255.0),
        DType::I8 => (-128.0, 127.0),
        DType::U16 => (0.0, 65535.0),
        DType::I16 => (-32768.0, 32767.0),
        _ => return None,
    })
}

/// A scale or zero point in the shape that broadcasts to `x`: one for all, one an index of `axis`, or one a block of it.
fn spread<'c>(n: &mut NodeContext<'_, 'c>, p: &Value<'c>, x: &Value<'c>) -> OpResult<Value<'c>> {
    let block = n.int("block_size", 0)?;
    if p.rank() == 0 || p.static_len() == Some(1) && p.rank() <= 1 {
        return n.reshape(p, vec![]);
    }
    let axis = normal_axis(n.int("axis", 1)?, x.rank())?;
    if p.rank() == 1 && block == 0 {
        let mut dims = vec![Scalar::Int(1); x.rank() - axis];
        dims[0] = p.dims[0];
        return n.reshape(p, dims);
    }
    if block == 0 || p.rank() != x.rank() {
        return unsupported("a scale that is neither one number, one an index nor one a block");
    }
    let wide = n.unsqueeze(p, &[axis + 1])?;
    let mut dims = wide.dims.clone();
    dims[axis + 1] = Scalar::Int(block);
    let wide = n.expand(&wide, dims)?;
    let mut dims = p.dims.clone();
    dims[axis] = n.index().mul(p.dims[axis], Scalar::Int(block));
    let full = n.reshape(&wide, dims)?;
    n.slice_axis(&full, axis, Scalar::Int(0), x.dims[axis])
}

/// x / scale, rounded to even, shifted and saturated.
fn rounded<'c>(
    c: &Calc<'c>,
    x: Scalar<'c>,
    scale: Scalar<'c>,
    zero: Scalar<'c>,
    (low, high): (f64, f64),
) -> Scalar<'c> {
    let shifted = c.add(c.math("roundeven", c.div(x, scale)), zero);
    let low_bound = c.select(c.cmp("lt", shifted, c.lit(low)), c.lit(low), shifted);
    c.select(c.cmp("gt", low_bound, c.lit(high)), c.lit(high), low_bound)
}

/// A float in the range of an integer type as that type; through i32, which holds all of them.
fn narrowed<'c>(c: &Calc<'c>, x: Scalar<'c>, to: DType) -> Scalar<'c> {
    let wide = cast_scalar(c, x, DType::I32);
    cast_scalar(&c.of(DType::I32), wide, to)
}

fn quantized<'c>(
    n: &mut NodeContext<'_, 'c>,
    x: &Value<'c>,
    scale: &Value<'c>,
    zero: Option<&Value<'c>>,
    to: DType,
) -> OpResult<Value<'c>> {
    let Some(range) = limits(to) else { return unsupported(format!("quantisation to {to}")) };
    let x = n.cast(x, DType::F32)?;
    let scale = n.cast(scale, DType::F32)?;
    let zero = match zero {
        Some(z) => n.cast(z, DType::F32)?,
        None => n.scalar(DType::F32, Scalar::Float(0.0)),
    };
    n.elementwise(&[&x, &scale, &zero], to, |c, a| narrowed(c, rounded(c, a[0], a[1], a[2], range), to))
}

fn dequantized<'c>(
    n: &mut NodeContext<'_, 'c>,
    x: &Value<'c>,
    scale: &Value<'c>,
    zero: Option<&Value<'c>>,
) -> OpResult<Value<'c>> {
    let (from, to) = (x.dtype, scale.dtype);
    let mut inputs = vec![x, scale];
    inputs.extend(zero);
    let has_zero = zero.is_some();
    n.elementwise(&inputs, to, |c, a| {
        let wide = |v| cast_scalar(&c.of(from), v, DType::I32);
        let ints = c.of(DType::I32);
        let difference = if has_zero { ints.sub(wide(a[0]), wide(a[2])) } else { wide(a[0]) };
        let f = c.of(to);
        f.mul(cast_scalar(&ints, difference, to), a[1])
    })
}

fn quantize<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, scale, zero) = (n.input(0)?, n.input(1)?, n.optional(2)?);
    let given = n.dtype("output_dtype")?;
    let to = zero.as_ref().map(|z| z.dtype).or(given).unwrap_or(DType::U8);
    let scale = spread(n, &scale, &x)?;
    let zero = match zero {
        Some(z) => Some(spread(n, &z, &x)?),
        None => None,
    };
    one(quantized(n, &x, &scale, zero.as_ref(), to)?)
}

fn dequantize<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, scale, zero) = (n.input(0)?, n.input(1)?, n.optional(2)?);
    if !x.dtype.is_integral() || x.dtype.bits() < 8 {
        return unsupported(format!("an input of {}", x.dtype));
    }
    let out = n.dtype("output_dtype")?.unwrap_or(scale.dtype);
    let scale = spread(n, &scale, &x)?;
    let zero = match zero {
        Some(z) => Some(spread(n, &z, &x)?),
        None => None,
    };
    let y = dequantized(n, &x, &scale, zero.as_ref())?;
    one(n.cast(&y, out)?)
}

/// Scale and zero point from the range of the data, which always holds 0.
fn dynamic_scale<'c>(n: &mut NodeContext<'_, 'c>, x: &Value<'c>) -> OpResult<(Value<'c>, Value<'c>)> {
    let axes: Vec<usize> = (0..x.rank()).collect();
    let low = n.reduce(ReduceKind::Min, x, &axes, false)?;
    let high = n.reduce(ReduceKind::Max, x, &axes, false)?;
    let zero = |c: &Calc<'c>, v: Scalar<'c>, predicate: &str| c.select(c.cmp(predicate, v, c.lit(0.0)), c.lit(0.0), v);
    let scale = n.elementwise(&[&low, &high], DType::F32, |c, a| {
        let (low, high) = (zero(c, a[0], "gt"), zero(c, a[1], "lt"));
        c.div(c.sub(high, low), c.lit(255.0))
    })?;
    let point = n.elementwise(&[&low, &scale], DType::U8, |c, a| {
        let low = zero(c, a[0], "gt");
        // A range of nothing has scale 0: its zero point is 0.
        let exact = c.div(c.sub(c.lit(0.0), low), a[1]);
        let exact = c.select(c.cmp("eq", a[1], c.lit(0.0)), c.lit(0.0), exact);
        narrowed(c, rounded(c, exact, c.lit(1.0), c.lit(0.0), (0.0, 255.0)), DType::U8)
    })?;
    Ok((scale, point))
}

fn dynamic_quantize<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let (scale, point) = dynamic_scale(n, &x)?;
    let y = n.elementwise(&[&x, &scale, &point], DType::U8, |c, a| {
        let zero = cast_scalar(&c.of(DType::U8), a[2], DType::F32);
        let divisor = c.select(c.cmp("eq", a[1], c.lit(0.0)), c.lit(1.0), a[1]);
        narrowed(c, rounded(c, a[0], divisor, zero, (0.0, 255.0)), DType::U8)
    })?;
    many(vec![y, scale, point])
}

/// The integers minus their zero point, as `int32`; the point's one dimension, if any, is dimension `axis` from the end.
fn centred<'c>(
    n: &mut NodeContext<'_, 'c>,
    x: &Value<'c>,
    zero: Option<Value<'c>>,
    from_end: usize,
) -> OpResult<Value<'c>> {
    let from = x.dtype;
    let Some(zero) = zero else { return n.cast(x, DType::I32) };
    let zero = if zero.rank() == 1 && zero.static_len() != Some(1) {
        let mut dims = vec![zero.dims[0]];
        dims.resize(from_end, Scalar::Int(1));
        n.reshape(&zero, dims)?
    } else if zero.rank() <= 1 {
        n.reshape(&zero, vec![])?
    } else {
        zero
    };
    n.elementwise(&[x, &zero], DType::I32, |c, a| {
        let wide = |v| cast_scalar(&c.of(from), v, DType::I32);
        c.of(DType::I32).sub(wide(a[0]), wide(a[1]))
    })
}

fn matmul_integer<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (a, b, az, bz) = (n.input(0)?, n.input(1)?, n.optional(2)?, n.optional(3)?);
    let (a, b) = (centred(n, &a, az, 2)?, centred(n, &b, bz, 1)?);
    one(product(n, &a, &b, (Row, Row), 1.0)?)
}

fn conv_integer<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, w, xz, wz) = (n.input(0)?, n.input(1)?, n.optional(2)?, n.optional(3)?);
    let rank = w.rank();
    let (x, w) = (centred(n, &x, xz, 1)?, centred(n, &w, wz, rank)?);
    one(convolve(n, &x, &w, None)?)
}

/// An accumulated product back in quantised form: acc * scale, rounded and shifted.
fn requantized<'c>(
    n: &mut NodeContext<'_, 'c>,
    acc: &Value<'c>,
    scales: [&Value<'c>; 3],
    zero: &Value<'c>,
    rank: usize,
) -> OpResult<Value<'c>> {
    let Some(range) = limits(zero.dtype) else { return unsupported(format!("quantisation to {}", zero.dtype)) };
    let mut wide = Vec::new();
    for (i, scale) in scales.into_iter().enumerate() {
        let scale = n.cast(scale, DType::F32)?;
        // Only the scale of the weights has one number a channel.
        wide.push(if scale.static_len() == Some(1) {
            n.reshape(&scale, vec![])?
        } else if scale.rank() == 1 && i == 1 && rank > 0 {
            let mut dims = vec![scale.dims[0]];
            dims.resize(rank - 1, Scalar::Int(1));
            n.reshape(&scale, dims)?
        } else {
            scale
        });
    }
    let zero = if zero.static_len() == Some(1) { n.reshape(zero, vec![])? } else { zero.clone() };
    let to = zero.dtype;
    n.elementwise(&[acc, &wide[0], &wide[1], &wide[2], &zero], to, |c, a| {
        let f = c.of(DType::F32);
        let factor = f.div(f.mul(a[1], a[2]), a[3]);
        let value = f.mul(cast_scalar(c, a[0], DType::F32), factor);
        let zero = cast_scalar(&c.of(to), a[4], DType::F32);
        narrowed(&f, rounded(&f, value, f.lit(1.0), zero, range), to)
    })
}

fn qlinear_matmul<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let inputs = n.inputs()?;
    let [a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero] = inputs.as_slice() else {
        return Err(n.wrong(format!("{} inputs, expected 8", inputs.len())));
    };
    let (x, w) = (centred(n, a, Some(a_zero.clone()), 2)?, centred(n, b, Some(b_zero.clone()), 1)?);
    let acc = product(n, &x, &w, (Row, Row), 1.0)?;
    one(requantized(n, &acc, [a_scale, b_scale, y_scale], y_zero, 0)?)
}

fn qlinear_conv<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, x_scale, x_zero) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let (w, w_scale, w_zero) = (n.input(3)?, n.input(4)?, n.input(5)?);
    let (y_scale, y_zero, bias) = (n.input(6)?, n.input(7)?, n.optional(8)?);
    let rank = x.rank();
    let (x, w) = (centred(n, &x, Some(x_zero), 1)?, centred(n, &w, Some(w_zero), rank)?);
    let acc = convolve(n, &x, &w, bias)?;
    one(requantized(n, &acc, [&x_scale, &w_scale, &y_scale], &y_zero, rank)?)
}

/// An LSTM with quantised weights: these are dequantised, W [D, I, 4H] and R [D, H, 4H] transposed, and the layer runs in float.
fn dynamic_lstm<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let mut weights = Vec::new();
    for (i, scale) in [(1, 8), (2, 10)] {
        let (w, scale, zero) = (n.input(i)?, n.input(scale)?, n.optional(scale + 1)?);
        let spread = |n: &mut NodeContext<'_, 'c>, p: &Value<'c>| match p.rank() {
            // One number a direction, or one a direction and column.
            1 => n.reshape(p, vec![p.dims[0], Scalar::Int(1), Scalar::Int(1)]),
            2 => n.reshape(p, vec![p.dims[0], Scalar::Int(1), p.dims[1]]),
            _ => Ok(p.clone()),
        };
        let scale = spread(n, &scale)?;
        let zero = match zero {
            Some(z) => Some(spread(n, &z)?),
            None => None,
        };
        let real = dequantized(n, &w, &scale, zero.as_ref())?;
        weights.push(n.transpose(&real, &[0, 2, 1])?);
    }
    let optional = [n.optional(3)?, n.optional(4)?, n.optional(5)?, n.optional(6)?, n.optional(7)?];
    let [w, r] = [weights[0].clone(), weights[1].clone()];
    super::rnn::layer(n, aitmlir_dialects::ait::RnnKind::Lstm, &["Sigmoid", "Tanh", "Tanh"], [x, w, r], optional)
}
