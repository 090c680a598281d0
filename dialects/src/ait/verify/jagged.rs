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

fn pair<'c>(starts: &Tensor<'c>, jagged: &Tensor<'c>, padded: &Tensor<'c>) -> Verdict {
    // C1
    offsets(starts)?;
    // C2
    padded.expect_rank(jagged.rank() + 1)?;
    // C1
    let batch = padded.dim(0);
    starts.expect_dim(0, if batch < 0 { batch } else { batch + 1 }, "one more than the batch")
}

/// Where the rows of a jagged tensor begin, and the end of the last one.
pub fn offsets(offsets: &Tensor<'_>) -> Verdict {
    offsets.expect_rank(1)?;
    offsets.expect_int(&[32, 64])?;
    if offsets.dim(0) == 0 {
        return Err(format!("{}: expected at least one, the end of the last row, got none", offsets.name));
    }
    Ok(())
}
