//! Ops that give the same elements another place or shape.

use super::{
    Verdict, reject,
    shape::{Tensor, agree, axis, expect_dims, operand, operands, result, results, shapes_agree},
};
use crate::{
    ait::{GatherKind, OpView, ScatterKind},
    types::DYNAMIC,
};

pub fn concat(op: OpView<'_>) -> Verdict {
    let (inputs, result) = (operands(op, "inputs"), result(op)?);
    // C1
    if inputs.is_empty() {
        reject!("operand 'inputs': expected at least one, got none");
    }
    // C2
    for input in &inputs {
        input.expect_rank(result.rank())?;
        input.expect_element_of(&result)?;
    }
    // C3
    let axis = axis(op, result.rank())?;
    // C4
    for input in &inputs {
        for dim in (0..result.rank()).filter(|d| *d != axis) {
            input.expect_dim(dim, result.dim(dim), "the result's size")?;
        }
    }
    result.expect_dim(axis, sum(inputs.iter().map(|i| i.dim(axis))), "the sum of the inputs' sizes")
}

/// The sum, dynamic where a part is.
fn sum(mut parts: impl Iterator<Item = i64>) -> i64 {
    parts.try_fold(0, |total, part| (part >= 0).then_some(total + part)).unwrap_or(DYNAMIC)
}

pub fn gather(op: OpView<'_>) -> Verdict {
    let (input, indices, result) = (operand(op, "input")?, operand(op, "indices")?, result(op)?);
    // C1
    indices.expect_int(&[32, 64])?;
    // C2
    let kind = op.kind::<GatherKind>("kind").unwrap_or(GatherKind::Slices);
    let axis = axis_of(op, &input, kind == GatherKind::Nd)?;
    // C3
    result.expect_element_of(&input)?;
    let expected = match kind {
        GatherKind::Elements => {
            indices.expect_rank(input.rank())?;
            indices.shape.clone()
        }
        GatherKind::Slices => [&input.shape[..axis], &indices.shape, &input.shape[axis + 1..]].concat(),
        GatherKind::Nd => nd_shape(op, &input, &indices, &result)?,
    };
    result.expect_shape(&expected)
}

fn axis_of(op: OpView<'_>, input: &Tensor<'_>, nd: bool) -> Result<usize, String> {
    if !nd {
        return axis(op, input.rank());
    }
    match op.i64("axis").unwrap_or(0) {
        0 => Ok(0),
        other => Err(format!("attribute 'axis': expected 0 with nd, got {other}")),
    }
}

/// indices.shape[:-1] and what of the data's shape the indices do not address.
fn nd_shape(op: OpView<'_>, input: &Tensor<'_>, indices: &Tensor<'_>, result: &Tensor<'_>) -> Result<Vec<i64>, String> {
    let batch = op.i64("batch_dims").unwrap_or(0);
    let Some((depth, outer)) = indices.shape.split_last() else {
        reject!("operand 'indices': expected rank 1 or more, got 0")
    };
    let Some(batch) = usize::try_from(batch).ok().filter(|b| *b <= outer.len() && *b <= input.rank()) else {
        reject!("attribute 'batch_dims': expected a value in [0, {}], got {batch}", outer.len().min(input.rank()))
    };
    let Ok(depth) = usize::try_from(*depth) else {
        // The rank of the result tells how deep the indices reach.
        return Ok(vec![DYNAMIC; result.rank()]);
    };
    if batch + depth > input.rank() {
        reject!("operand 'indices': expected at most {} in the last dimension, got {depth}", input.rank() - batch);
    }
    Ok([outer, &input.shape[batch + depth..]].concat())
}

pub fn pad(op: OpView<'_>) -> Verdict {
    let (input, result) = (operand(op, "input")?, result(op)?);
    let (low, high) = (mixed(op, "low", "static_low", input.rank())?, mixed(op, "high", "static_high", input.rank())?);
    // C2
    result.expect_rank(input.rank())?;
    result.expect_element_of(&input)?;
    // C3
    for (dim, (low, high)) in low.iter().zip(&high).enumerate() {
        if input.dim(dim) >= 0 && *low != DYNAMIC && *high != DYNAMIC {
            result.expect_dim(dim, input.dim(dim) + low + high, "the padded size")?;
        }
    }
    Ok(())
}

/// C1 of pad and slice: a list of constants and index operands, one an input dimension; the constants.
fn mixed(op: OpView<'_>, group: &str, attribute: &str, rank: usize) -> Result<Vec<i64>, String> {
    let constants = op.i64s(attribute);
    if constants.len() != rank {
        reject!("'{group}': expected {rank} entries, one a dimension of operand 'input', got {}", constants.len());
    }
    let (expected, got) = (constants.iter().filter(|c| **c == DYNAMIC).count(), op.group(group).len());
    if expected != got {
        reject!("operand '{group}': expected {expected} values, one for each dynamic entry, got {got}");
    }
    Ok(constants)
}

pub fn reshape(op: OpView<'_>) -> Verdict {
    let (input, result) = (operand(op, "input")?, result(op)?);
    // C1
    if input.dynamic() == 0 && result.dynamic() == 0 {
        let count = |t: &Tensor<'_>| t.shape.iter().product::<i64>();
        if count(&input) != count(&result) {
            reject!("result: expected {} elements, as operand 'input' has, got {}", count(&input), count(&result));
        }
    }
    // C2
    expect_dims(op, &result)?;
    // C3
    result.expect_element_of(&input)
}

pub fn scatter(op: OpView<'_>) -> Verdict {
    let (input, indices, updates, result) =
        (operand(op, "input")?, operand(op, "indices")?, operand(op, "updates")?, result(op)?);
    // C1
    indices.expect_int(&[32, 64])?;
    // C2
    result.expect_type_of(&input)?;
    updates.expect_element_of(&input)?;
    // C3
    axis_of(op, &input, op.kind::<ScatterKind>("kind") == Some(ScatterKind::Nd))?;
    Ok(())
}

pub fn slice(op: OpView<'_>) -> Verdict {
    let (input, result) = (operand(op, "input")?, result(op)?);
    // C1
    let offsets = mixed(op, "offsets", "static_offsets", input.rank())?;
    let sizes = mixed(op, "sizes", "static_sizes", input.rank())?;
    let strides = mixed(op, "strides", "static_strides", input.rank())?;
    // C2
    result.expect_element_of(&input)?;
    if !shapes_agree(&sizes, &result.shape) {
        result.expect_shape(&sizes)?;
    }
    // C3
    if let Some(dim) = strides.iter().position(|s| *s == 0) {
        reject!("'strides': expected no 0, got one for dimension {dim}");
    }
    // C4
    for dim in 0..input.rank() {
        let (offset, size, stride) = (offsets[dim], sizes[dim], strides[dim]);
        if input.dim(dim) < 0 || [offset, size, stride].contains(&DYNAMIC) {
            continue;
        }
        let last = offset + (size - 1) * stride;
        let inside = |i: i64| i >= 0 && i < input.dim(dim);
        if size < 0 || (size > 0 && !(inside(offset) && inside(last))) {
            reject!(
                "expected elements in [0, {}) of dimension {dim} of operand 'input', got {offset} to {last}",
                input.dim(dim)
            );
        }
    }
    Ok(())
}

pub fn split(op: OpView<'_>) -> Verdict {
    let (input, results) = (operand(op, "input")?, results(op));
    // C1
    if results.is_empty() {
        reject!("expected at least one result");
    }
    // C2
    let axis = axis(op, input.rank())?;
    // C3
    for result in &results {
        result.expect_element_of(&input)?;
        let mut expected = input.shape.clone();
        expected[axis] = DYNAMIC;
        result.expect_shape(&expected)?;
    }
    let total = sum(results.iter().map(|r| r.dim(axis)));
    if !agree(total, input.dim(axis)) {
        reject!("expected the parts to add up to {} in dimension {axis}, got {total}", input.dim(axis));
    }
    // C4
    let (expected, got) = (results.iter().filter(|r| r.dim(axis) < 0).count(), op.group("dims").len());
    if expected != got {
        reject!(
            "operand 'dims': expected {expected} values, one for each result that is '?' in dimension {axis}, got {got}"
        );
    }
    Ok(())
}

pub fn transpose(op: OpView<'_>) -> Verdict {
    let (input, result) = (operand(op, "input")?, result(op)?);
    // C1
    let permutation = op.i64s("permutation");
    let mut sorted = permutation.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..input.rank() as i64) {
        reject!(
            "attribute 'permutation': expected a permutation of 0 to {}, got {permutation:?}",
            input.rank().saturating_sub(1)
        );
    }
    // C2
    result.expect_element_of(&input)?;
    let expected: Vec<_> = permutation.iter().filter_map(|p| usize::try_from(*p).ok()).map(|p| input.dim(p)).collect();
    result.expect_shape(&expected)
}
