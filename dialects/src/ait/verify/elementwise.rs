//! Elementwise ops.

use super::{
    Verdict, reject,
    shape::{Tensor, expect_dims, operand, operands, region_arguments, region_results, result, results, shapes_agree},
};
use crate::{ait::OpView, types::TypeExt};

pub fn cast(op: OpView<'_>) -> Verdict {
    // C1
    result(op)?.expect_shape(&operand(op, "input")?.shape)
}

pub fn expand(op: OpView<'_>) -> Verdict {
    let (input, result) = (operand(op, "input")?, result(op)?);
    // C1, C2
    input.expect_broadcast_to(&result.shape)?;
    // C3
    expect_dims(op, &result)
}

pub fn map(op: OpView<'_>) -> Verdict {
    let (inputs, results) = (operands(op, "inputs"), results(op));
    let Some(first) = results.first() else { reject!("expected at least one result") };
    // C1
    inputs.iter().try_for_each(|input| input.expect_broadcast_to(&first.shape))?;
    let Some(block) = op.block(0) else { reject!("region: expected one block") };
    // C2
    let arguments: Vec<_> = inputs.iter().map(|i| (format!("the element type of {}", i.name), i.element)).collect();
    region_arguments(block, &arguments)?;
    // C3
    let elements: Vec<_> = results.iter().map(|r| r.element).collect();
    region_results(block, &elements)?;
    // C4
    if let Some(other) = results.iter().find(|r| !shapes_agree(&r.shape, &first.shape)) {
        other.expect_shape(&first.shape)?;
    }
    // C5
    if op.group("dims").is_empty() { determined(first, &inputs) } else { expect_dims(op, first) }
}

/// Each `?` of the result must come from an input.
fn determined(result: &Tensor<'_>, inputs: &[Tensor<'_>]) -> Verdict {
    for (dim, size) in result.shape.iter().enumerate() {
        let from_end = result.rank() - dim;
        let given = inputs.iter().any(|i| i.rank() >= from_end && i.dim(i.rank() - from_end) != 1);
        if *size < 0 && !given {
            reject!("{}: dimension {dim} is '?', which no operand determines", result.name);
        }
    }
    Ok(())
}

pub fn random(op: OpView<'_>) -> Verdict {
    let result = result(op)?;
    // C1
    expect_dims(op, &result)?;
    // C2
    if !result.element.is_float_type() {
        reject!("result: expected a float element type, got {}", result.element);
    }
    Ok(())
}

pub fn where_(op: OpView<'_>) -> Verdict {
    let condition = operand(op, "condition")?;
    let (on_true, on_false, result) = (operand(op, "on_true")?, operand(op, "on_false")?, result(op)?);
    // C1
    condition.expect_int(&[1])?;
    // C2
    on_false.expect_element_of(&on_true)?;
    result.expect_element_of(&on_true)?;
    // C3
    let inputs = [condition, on_true, on_false];
    inputs.iter().try_for_each(|input| input.expect_broadcast_to(&result.shape))?;
    determined(&result, &inputs)
}
