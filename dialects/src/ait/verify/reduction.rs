//! Reductions, normalisations, scans and orders along an axis.

use super::{
    Verdict, reject,
    shape::{axis, expect_dims, operand, operands, result, results},
};
use crate::{
    ait::{NormKind, OpView},
    types::{DYNAMIC, TypeExt},
};

/// The shape without the dimensions of `axes`, or with 1 there.
fn reduced(shape: &[i64], axes: &[usize], keepdims: bool) -> Vec<i64> {
    shape
        .iter()
        .enumerate()
        .filter_map(|(i, size)| match axes.contains(&i) {
            true => keepdims.then_some(1),
            false => Some(*size),
        })
        .collect()
}

pub fn argreduce(op: OpView<'_>) -> Verdict {
    let (input, result) = (operand(op, "input")?, result(op)?);
    // C1
    let axis = axis(op, input.rank())?;
    // C2
    result.expect_int(&[64])?;
    result.expect_shape(&reduced(&input.shape, &[axis], op.has("keepdims")))
}

pub fn norm(op: OpView<'_>) -> Verdict {
    let (input, result) = (operand(op, "input")?, result(op)?);
    // C1
    result.expect_type_of(&input)?;
    // C2
    let kind = op.kind::<NormKind>("kind");
    let axis = axis(op, input.rank())?;
    if axis != 0 && !matches!(kind, Some(NormKind::Layer | NormKind::Rms)) {
        reject!("attribute 'axis': expected only with layer or rms, got {axis}");
    }
    // C3
    let groups = op.i64("groups").unwrap_or(1);
    if groups != 1 && kind != Some(NormKind::Group) {
        reject!("attribute 'groups': expected only with group, got {groups}");
    }
    let channels = input.dim(1);
    if groups < 1 || (kind == Some(NormKind::Group) && channels >= 0 && channels % groups != 0) {
        reject!("attribute 'groups': expected a divisor of the {channels} channels, got {groups}");
    }
    // C4
    let params = operands(op, "params").len();
    if params > 2 {
        reject!("operand 'params': expected at most 2, got {params}");
    }
    Ok(())
}

pub fn reduce(op: OpView<'_>) -> Verdict {
    let (input, result) = (operand(op, "input")?, result(op)?);
    // C1
    let mut axes = Vec::new();
    for axis in op.i64s("axes") {
        match usize::try_from(axis) {
            Ok(axis) if axis < input.rank() && !axes.contains(&axis) => axes.push(axis),
            Ok(axis) if axis < input.rank() => {
                reject!("attribute 'axes': expected unique entries, got {axis} twice")
            }
            _ => reject!("attribute 'axes': expected entries in [0, {}), got {axis}", input.rank()),
        }
    }
    // C2
    result.expect_element_of(&input)?;
    let dynamic = op.operand("dynamic_axes").is_some();
    if dynamic {
        result.expect_rank(input.rank())?;
    } else {
        result.expect_shape(&reduced(&input.shape, &axes, op.has("keepdims")))?;
    }
    // C3
    if dynamic && !axes.is_empty() {
        reject!("operand 'dynamic_axes': expected none beside the attribute 'axes'");
    }
    Ok(())
}

pub fn scan(op: OpView<'_>) -> Verdict {
    // C1
    result(op)?.expect_type_of(&operand(op, "input")?)
}

pub fn softmax(op: OpView<'_>) -> Verdict {
    let (input, result) = (operand(op, "input")?, result(op)?);
    // C1
    axis(op, input.rank())?;
    // C2
    if !input.element.is_float_type() {
        reject!("operand 'input': expected a float element type, got {}", input.element);
    }
    result.expect_type_of(&input)
}

pub fn topk(op: OpView<'_>) -> Verdict {
    let input = operand(op, "input")?;
    // C1
    let axis = axis(op, input.rank())?;
    // C2
    let mut expected = input.shape.clone();
    expected[axis] = DYNAMIC;
    let results = results(op);
    let [values, indices] = results.as_slice() else { reject!("expected 2 results, got {}", results.len()) };
    values.expect_element_of(&input)?;
    values.expect_shape(&expected)?;
    indices.expect_int(&[64])?;
    indices.expect_shape(&expected)?;
    indices.expect_dim(axis, values.dim(axis), "k of result #0")?;
    // C3
    expect_dims(op, values)
}
