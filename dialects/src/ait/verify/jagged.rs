//! Jagged tensors.

use super::{
    Verdict,
    shape::{Tensor, expect_dims, operand, result},
};
use crate::ait::OpView;

pub fn jagged_to_padded(op: OpView<'_>) -> Verdict {
    let (values, offsets, result) = (operand(op, "values")?, operand(op, "offsets")?, result(op)?);
    pair(&offsets, &values, &result)?;
    // C3
    expect_dims(op, &result)
}

pub fn padded_to_jagged(op: OpView<'_>) -> Verdict {
    let (input, offsets, result) = (operand(op, "input")?, operand(op, "offsets")?, result(op)?);
    pair(&offsets, &result, &input)?;
    // C3
    expect_dims(op, &result)
}

fn pair<'c>(offsets: &Tensor<'c>, jagged: &Tensor<'c>, padded: &Tensor<'c>) -> Verdict {
    // C1
    offsets.expect_rank(1)?;
    // C2
    padded.expect_rank(jagged.rank() + 1)
}
