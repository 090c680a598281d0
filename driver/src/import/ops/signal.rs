//! Signals: Fourier transforms and windows.

use aitmlir_dialects::ait::GatherKind;
use aitmlir_onnx::model::DType;

use super::{Operator, op};
use crate::import::{
    build::{cast_scalar, normal_axis},
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs, one},
    scalar::{Calc, Scalar},
    value::{DTypeExt, Dim, Value},
};

pub(super) const ROWS: &[Operator] = &[
    op("BlackmanWindow", 17, window),
    op("DFT", 20, dft),
    op("HammingWindow", 17, window),
    op("HannWindow", 17, window),
    op("MelWeightMatrix", 17, mel),
    op("STFT", 17, stft),
];

/// Cosine sums: name, coefficients of cos(0), cos(2 pi i / N), cos(4 pi i / N).
const WINDOWS: &[(&str, [f64; 3])] = &[
    ("BlackmanWindow", [0.42, -0.5, 0.08]),
    ("HammingWindow", [25.0 / 46.0, -21.0 / 46.0, 0.0]),
    ("HannWindow", [0.5, -0.5, 0.0]),
];

fn window<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let size = n.input(0)?;
    let size = n.element(&size, 0)?;
    n.index().assume_nonnegative(size);
    let dtype = n.dtype("output_datatype")?.unwrap_or(DType::F32);
    let Some((_, [a, b, d])) = WINDOWS.iter().find(|w| w.0 == n.node.op) else {
        return Err(n.wrong("internal error: no such window"));
    };
    let index = n.index();
    let period = if n.flag("periodic", true)? { size } else { index.sub(size, Scalar::Int(1)) };
    let period = n.scalar(DType::I64, period);
    let out = n.map_over(vec![size], &[&period], DType::F32, |c, args, index| {
        let (ints, f) = (c.of(DType::I64), c.of(DType::F64));
        let (i, count) = (cast_scalar(&ints, index(0), DType::F64), cast_scalar(&ints, args[0], DType::F64));
        let angle = f.div(f.mul(i, f.lit(2.0 * std::f64::consts::PI)), count);
        let first = f.add(f.lit(*a), f.mul(f.lit(*b), f.math("cos", angle)));
        let sum = f.add(first, f.mul(f.lit(*d), f.math("cos", f.mul(angle, f.lit(2.0)))));
        cast_scalar(&f, sum, DType::F32)
    })?;
    one(n.cast(&out, dtype)?)
}

/// An `ait.dft` over [B, n, 1 or 2].
fn transform<'c>(
    n: &mut NodeContext<'_, 'c>,
    x: &Value<'c>,
    length: Dim<'c>,
    bins: Dim<'c>,
    out: i64,
    inverse: bool,
) -> OpResult<Value<'c>> {
    let dims = vec![x.dims[0], bins, Scalar::Int(out)];
    let (tensor, stated) = (n.tensor(x)?, n.dynamic(&dims));
    let length = n.index().val(length);
    let attributes = if inverse { vec![("inverse", n.b.unit_attr())] } else { vec![] };
    Ok(n.emit("ait.dft", &[&[tensor], &[length], &stated], x.dtype, dims, &attributes))
}

fn dft<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let rank = x.rank();
    let axis = if n.since >= 20 {
        let Some(axis) = n.optional(2)? else { return one(dft_along(n, &x, rank.saturating_sub(2))?) };
        let axis = n.element(&axis, 0)?;
        let Some(axis) = axis.int() else { return any_axis(n, &x, axis) };
        axis
    } else {
        n.int("axis", 1)?
    };
    let axis = normal_axis(axis, rank)?;
    one(dft_along(n, &x, axis)?)
}

/// An axis that is known only at run time: the transform along each, of which one is chosen. Their shapes must be equal.
fn any_axis<'c>(n: &mut NodeContext<'_, 'c>, x: &Value<'c>, axis: Scalar<'c>) -> Outputs<'c> {
    if n.flag("onesided", false)? || n.optional(1)?.is_some() {
        return unsupported("an axis that is known only at run time, with a length or one side");
    }
    let rank = x.rank() as i64;
    let index = n.index();
    let axis = index.select(index.cmp("lt", axis, Scalar::Int(0)), index.add(axis, Scalar::Int(rank)), axis);
    let axis = n.scalar(DType::I64, axis);
    let mut chosen = dft_along(n, x, 0)?;
    for i in 1..rank - 1 {
        let other = dft_along(n, x, i as usize)?;
        let dtype = x.dtype;
        chosen = n.elementwise(&[&axis, &other, &chosen], dtype, |c, a| {
            c.of(dtype).select(c.cmp("eq", a[0], Scalar::Int(i)), a[1], a[2])
        })?;
    }
    one(chosen)
}

fn dft_along<'c>(n: &mut NodeContext<'_, 'c>, x: &Value<'c>, axis: usize) -> OpResult<Value<'c>> {
    let rank = x.rank();
    let Some(parts @ 1..=2) = x.dims[rank - 1].int() else {
        return Err(n.wrong("its input's last dimension is neither 1 (real) nor 2 (complex)"));
    };
    if axis + 1 >= rank {
        return Err(n.wrong("the axis is the one of real and imaginary parts"));
    }
    let (inverse, onesided) = (n.flag("inverse", false)?, n.flag("onesided", false)?);
    let index = n.index();
    let length = match n.optional(1)? {
        Some(length) => n.element(&length, 0)?,
        None if inverse && onesided => index.mul(Scalar::Int(2), index.sub(x.dims[axis], Scalar::Int(1))),
        None => x.dims[axis],
    };
    index.assume_nonnegative(length);
    let bins = if onesided && !inverse { index.add(index.div(length, Scalar::Int(2)), Scalar::Int(1)) } else { length };
    let out = if onesided && inverse { 1 } else { 2 };
    let mut order: Vec<usize> = (0..rank - 1).filter(|i| *i != axis).collect();
    order.extend([axis, rank - 1]);
    let moved = n.transpose(x, &order)?;
    let outer = moved.dims[..rank - 2].to_vec();
    let batch = n.len(&outer);
    let flat = n.reshape(&moved, vec![batch, x.dims[axis], Scalar::Int(parts)])?;
    let y = transform(n, &flat, length, bins, out, inverse)?;
    let mut dims = outer;
    dims.extend([bins, Scalar::Int(out)]);
    let y = n.reshape(&y, dims)?;
    let mut back = vec![0; rank];
    order.iter().enumerate().for_each(|(i, o)| back[*o] = i);
    n.transpose(&y, &back)
}

/// Frames of a signal, windowed and transformed: [batch, frames, bins, 2].
fn stft<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, step, window, length) = (n.input(0)?, n.input(1)?, n.optional(2)?, n.optional(3)?);
    let step = n.element(&step, 0)?;
    let length = match (&window, length) {
        (_, Some(length)) => n.element(&length, 0)?,
        (Some(window), None) => window.dims[0],
        (None, None) => return Err(n.wrong("neither a window nor a frame length is given")),
    };
    let index = n.index();
    index.assume_nonnegative(length);
    index.assume_nonnegative(step);
    let x = if x.rank() == 2 { n.unsqueeze(&x, &[2])? } else { x };
    let Some(parts @ 1..=2) = x.dims[2].int() else { return Err(n.wrong("its signal is neither real nor complex")) };
    let span = index.sub(x.dims[1], length);
    let frames = index.add(index.floor_div(span, step), Scalar::Int(1));
    index.assume_nonnegative(frames);
    let step = n.scalar(DType::I64, step);
    let places =
        n.map_over(vec![frames, length], &[&step], DType::I64, |c, a, index| c.add(c.mul(index(0), a[0]), index(1)))?;
    let dims = vec![x.dims[0], frames, length, x.dims[2]];
    let mut framed = n.gather_op(GatherKind::Slices, &x, &places, 1, 0, dims.clone())?;
    if let Some(window) = window {
        let window = n.reshape(&window, vec![window.dims[0], Scalar::Int(1)])?;
        framed = n.elementwise(&[&framed, &window], x.dtype, |c, a| c.mul(a[0], a[1]))?;
    }
    let batch = index.mul(x.dims[0], frames);
    let flat = n.reshape(&framed, vec![batch, length, Scalar::Int(parts)])?;
    let onesided = n.flag("onesided", true)?;
    let bins = if onesided { index.add(index.div(length, Scalar::Int(2)), Scalar::Int(1)) } else { length };
    let y = transform(n, &flat, length, bins, 2, false)?;
    one(n.reshape(&y, vec![x.dims[0], frames, bins, Scalar::Int(2)])?)
}

/// 2595 log10(1 + f / 700)
fn hertz_to_mel<'c>(c: &Calc<'c>, f: Scalar<'c>) -> Scalar<'c> {
    let log = c.math("log", c.add(c.lit(1.0), c.div(f, c.lit(700.0))));
    c.mul(c.lit(2595.0 / std::f64::consts::LN_10), log)
}

/// Triangular filters between bins that are equally spaced in mel.
fn mel<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let inputs = n.inputs()?;
    let [bins, length, rate, low, high] = inputs.as_slice() else {
        return Err(n.wrong(format!("{} inputs, expected 5", inputs.len())));
    };
    let dtype = n.dtype("output_datatype")?.unwrap_or(DType::F32);
    if !dtype.is_floating() {
        return unsupported(format!("an output of {dtype}"));
    }
    let (count, size) = (n.element(bins, 0)?, n.element(length, 0)?);
    let index = n.index();
    let rows = index.add(index.div(size, Scalar::Int(2)), Scalar::Int(1));
    [count, rows].into_iter().for_each(|d| index.assume_nonnegative(d));
    let mut scalars = Vec::new();
    for value in [bins, length, rate, low, high] {
        let wide = n.cast(value, DType::F64)?;
        scalars.push(n.reshape(&wide, vec![])?);
    }
    let refs: Vec<_> = scalars.iter().collect();
    // The edges of the filters, as numbers of spectrum bins.
    let edges = n.map_over(vec![index.add(count, Scalar::Int(2))], &refs, DType::F64, |c, a, index| {
        let [bins, size, rate, low, high] = [a[0], a[1], a[2], a[3], a[4]];
        let i = cast_scalar(&c.of(DType::I64), index(0), DType::F64);
        let (low, high) = (hertz_to_mel(c, low), hertz_to_mel(c, high));
        let pace = c.div(c.sub(high, low), c.add(bins, c.lit(2.0)));
        let place = c.add(low, c.mul(i, pace));
        let exponent = c.mul(c.div(place, c.lit(2595.0)), c.lit(std::f64::consts::LN_10));
        let hertz = c.mul(c.lit(700.0), c.sub(c.math("exp", exponent), c.lit(1.0)));
        c.math("floor", c.div(c.mul(c.add(size, c.lit(1.0)), hertz), rate))
    })?;
    let mut parts = Vec::new();
    for offset in 0..3 {
        parts.push(n.slice_axis(&edges, 0, Scalar::Int(offset), count)?);
    }
    let out = n.map_over(vec![rows, count], &[&parts[0], &parts[1], &parts[2]], DType::F64, |c, a, index| {
        let [left, centre, right] = [a[0], a[1], a[2]];
        let i = cast_scalar(&c.of(DType::I64), index(0), DType::F64);
        let bools = c.of(DType::Bool);
        let (rise, fall) = (c.sub(centre, left), c.sub(right, centre));
        let peak = c.cmp("eq", rise, c.lit(0.0));
        let up = c.div(c.sub(i, left), c.select(peak, c.lit(1.0), rise));
        let flat = c.cmp("eq", fall, c.lit(0.0));
        let down = c.div(c.sub(right, i), c.select(flat, c.lit(1.0), fall));
        let rising = bools.and(c.cmp("ge", i, left), c.cmp("lt", i, centre));
        let falling = bools.and(c.cmp("ge", i, centre), c.cmp("lt", i, right));
        let at_peak = bools.and(peak, c.cmp("eq", i, centre));
        let value = c.select(falling, down, c.select(rising, up, c.lit(0.0)));
        c.select(at_peak, c.lit(1.0), value)
    })?;
    one(n.cast(&out, dtype)?)
}
