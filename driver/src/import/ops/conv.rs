//! Convolutions.

use aitmlir_dialects::types::{TypeExt, Val};
use aitmlir_onnx::model::DType;
use melior::ir::{Region, ValueLike};

use super::{Operator, op, window::Windows};
use crate::import::{
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs, one},
    scalar::Scalar,
    value::{Dim, Value, type_of},
};

pub(super) const ROWS: &[Operator] =
    &[op("Conv", 22, conv), op("ConvTranspose", 22, conv_transpose), op("DeformConv", 22, deform_conv)];

fn filter_kernel<'c>(n: &NodeContext<'_, 'c>, w: &Value<'c>) -> OpResult<Vec<i64>> {
    let kernel: Option<Vec<i64>> = w.dims.get(2..).unwrap_or(&[]).iter().map(|d| d.int()).collect();
    match (kernel, n.ints("kernel_shape")?) {
        (Some(k), _) | (None, Some(k)) => Ok(k),
        (None, None) => unsupported("a filter whose kernel size is not known"),
    }
}

/// An epilogue that adds a bias, of shape [M, 1, ...], to the accumulator.
fn add_bias<'c>(n: &NodeContext<'_, 'c>, bias: Val<'c>, out: DType) -> Region<'c> {
    let element = bias.r#type().element_type().signless();
    let result = type_of(n.b, out, &[]).element_type().signless();
    let accumulator = result.accumulator();
    n.b.region(&[accumulator, element], |b, args| {
        let wide = if element == accumulator { args[1] } else { b.op1("arith.extf", &[args[1]], accumulator, &[]) };
        let sum = if accumulator.is_float_type() { b.addf(args[0], wide) } else { b.addi(args[0], wide) };
        let sum = if accumulator == result { sum } else { b.op1("arith.truncf", &[sum], result, &[]) };
        b.op("ait.yield", &[sum], &[], &[], vec![]);
    })
}

fn bias_extra<'c>(
    n: &mut NodeContext<'_, 'c>,
    bias: Option<Value<'c>>,
    rank: usize,
    out: DType,
) -> OpResult<(Vec<Val<'c>>, Region<'c>)> {
    let Some(bias) = bias else { return Ok((vec![], Region::new())) };
    let mut dims = vec![bias.dims[0]];
    dims.resize(rank - 1, Scalar::Int(1));
    let column = n.reshape(&bias, dims)?;
    let tensor = n.tensor(&column)?;
    let region = add_bias(n, tensor, out);
    Ok((vec![tensor], region))
}

/// An `ait.conv` of any accumulating type.
pub fn convolve<'c>(
    n: &mut NodeContext<'_, 'c>,
    x: &Value<'c>,
    w: &Value<'c>,
    bias: Option<Value<'c>>,
) -> OpResult<Value<'c>> {
    let kernel = filter_kernel(n, w)?;
    let mut windows = Windows::read(n, x, Some(kernel))?;
    let groups = n.int("group", 1)?;
    let x = if windows.static_pads().is_none() { windows.pad_first(n, x, None)? } else { x.clone() };
    if let (Some(c), Some(f)) = (x.dims[1].int(), w.dims[1].int())
        && c != f * groups
    {
        return Err(n.wrong(format!("{c} channels, a filter of {f} and {groups} groups do not fit")));
    }
    let channels = n.index().mul(w.dims[1], Scalar::Int(groups));
    n.expect_equal("the number of channels", x.dims[1], channels)?;
    let mut dims: Vec<Dim<'c>> = vec![x.dims[0], w.dims[0]];
    for i in 0..windows.kernel.len() {
        dims.push(windows.output(n, i, x.dims[i + 2]));
    }
    if dims.iter().any(|d| d.int().is_some_and(|d| d < 0)) {
        return Err(n.wrong("its windows are larger than the padded input"));
    }
    let pads = windows.static_pads().unwrap_or_default();
    let b = n.b;
    let attributes = [
        ("strides", b.i64s_attr(&windows.strides)),
        ("pads", b.i64s_attr(&pads)),
        ("dilations", b.i64s_attr(&windows.dilations)),
        ("groups", b.i64_attr(groups)),
    ];
    let (extras, epilogue) = bias_extra(n, bias, x.rank(), x.dtype)?;
    let (xt, wt) = (n.tensor(&x)?, n.tensor(w)?);
    let ty = type_of(b, x.dtype, &dims);
    let results = b.ait("ait.conv", &[&[xt], &[wt], &extras], &[ty], &attributes, vec![epilogue]);
    Ok(n.value(x.dtype, dims, results[0]))
}

fn conv<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, w, bias) = (n.input(0)?, n.input(1)?, n.optional(2)?);
    one(convolve(n, &x, &w, bias)?)
}

/// Begins, ends and output paddings of a transposed convolution.
struct Transposed {
    begins: Vec<i64>,
    ends: Vec<i64>,
    output_padding: Vec<i64>,
}

fn transposed_pads<'c>(n: &NodeContext<'_, 'c>, x: &Value<'c>, windows: &Windows<'c>) -> OpResult<Transposed> {
    let spatial = windows.kernel.len();
    let output_padding = n.ints("output_padding")?.unwrap_or_else(|| vec![0; spatial]);
    let auto = n.string("auto_pad", "NOTSET")?;
    let wanted = n.ints("output_shape")?.map(|shape| shape[shape.len().saturating_sub(spatial)..].to_vec());
    let explicit = n.ints("pads")?.unwrap_or_else(|| vec![0; 2 * spatial]);
    let mut out = Transposed { begins: vec![], ends: vec![], output_padding };
    for i in 0..spatial {
        let (stride, span) = (windows.strides[i], windows.span(i));
        let total = match (&wanted, auto.as_str()) {
            (Some(shape), _) => {
                let Some(size) = x.dims[i + 2].int() else {
                    return unsupported("an output_shape with a run-time input size");
                };
                let Some(shape) = shape.get(i) else { return Err(n.wrong("attribute `output_shape` is too short")) };
                stride * (size - 1) + out.output_padding[i] + span - shape
            }
            // The output is the input times the stride.
            (None, "SAME_UPPER" | "SAME_LOWER") => span + out.output_padding[i] - stride,
            (None, "VALID") => 0,
            _ => {
                out.begins.push(explicit[i]);
                out.ends.push(explicit[spatial + i]);
                continue;
            }
        };
        if total < 0 {
            out.output_padding[i] -= total;
        }
        let total = total.max(0);
        let small = total / 2;
        let (begin, end) =
            if auto == "SAME_UPPER" || auto == "NOTSET" { (small, total - small) } else { (total - small, small) };
        out.begins.push(begin);
        out.ends.push(end);
    }
    Ok(out)
}

fn conv_transpose<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, w, bias) = (n.input(0)?, n.input(1)?, n.optional(2)?);
    let kernel = filter_kernel(n, &w)?;
    let windows = Windows::read(n, &x, Some(kernel))?;
    let groups = n.int("group", 1)?;
    let pads = transposed_pads(n, &x, &windows)?;
    let index = n.index();
    let mut dims = vec![x.dims[0], index.mul(w.dims[1], Scalar::Int(groups))];
    for i in 0..windows.kernel.len() {
        let steps = index.mul(index.sub(x.dims[i + 2], Scalar::Int(1)), Scalar::Int(windows.strides[i]));
        let extra = pads.output_padding[i] + windows.span(i) - pads.begins[i] - pads.ends[i];
        let dim = index.add(steps, Scalar::Int(extra));
        index.assume_nonnegative(dim);
        dims.push(dim);
    }
    let b = n.b;
    let all_pads: Vec<i64> = pads.begins.iter().chain(&pads.ends).copied().collect();
    let attributes = [
        ("strides", b.i64s_attr(&windows.strides)),
        ("pads", b.i64s_attr(&all_pads)),
        ("dilations", b.i64s_attr(&windows.dilations)),
        ("groups", b.i64_attr(groups)),
        ("transposed", b.unit_attr()),
        ("output_padding", b.i64s_attr(&pads.output_padding)),
    ];
    let (extras, epilogue) = bias_extra(n, bias, x.rank(), x.dtype)?;
    let (xt, wt) = (n.tensor(&x)?, n.tensor(&w)?);
    let ty = type_of(b, x.dtype, &dims);
    let results = b.ait("ait.conv", &[&[xt], &[wt], &extras], &[ty], &attributes, vec![epilogue]);
    one(n.value(x.dtype, dims, results[0]))
}

fn deform_conv<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, w, offset) = (n.input(0)?, n.input(1)?, n.input(2)?);
    if x.rank() != 4 {
        return unsupported(format!("an input of rank {}, expected 4", x.rank()));
    }
    let kernel = filter_kernel(n, &w)?;
    let windows = Windows::read(n, &x, Some(kernel))?;
    let Some(pads) = windows.static_pads() else { return unsupported("padding that depends on run-time sizes") };
    let mut params = Vec::new();
    for i in [3, 4] {
        if let Some(p) = n.optional(i)? {
            params.push(n.tensor(&p)?);
        }
    }
    let b = n.b;
    let attributes = [
        ("strides", b.i64s_attr(&windows.strides)),
        ("pads", b.i64s_attr(&pads)),
        ("dilations", b.i64s_attr(&windows.dilations)),
        ("groups", b.i64_attr(n.int("group", 1)?)),
        ("offset_groups", b.i64_attr(n.int("offset_group", 1)?)),
    ];
    let dims = vec![x.dims[0], w.dims[0], offset.dims[2], offset.dims[3]];
    let operands = [n.tensor(&x)?, n.tensor(&w)?, n.tensor(&offset)?];
    one(n.emit(
        "ait.deform_conv",
        &[&[operands[0]], &[operands[1]], &[operands[2]], &params],
        x.dtype,
        dims,
        &attributes,
    ))
}
