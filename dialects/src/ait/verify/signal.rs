//! Signals and images.

use super::{
    Verdict, reject,
    shape::{expect_length, operand, result},
};
use crate::ait::{GridMode, OpView};

pub fn col2im(op: OpView<'_>) -> Verdict {
    let (input, result) = (operand(op, "input")?, result(op)?);
    // C1
    input.expect_rank(3)?;
    // C2
    let spatial = result.rank().saturating_sub(2);
    for name in ["block", "strides", "dilations"] {
        expect_length(op, name, spatial, "one a spatial dimension")?;
    }
    expect_length(op, "pads", 2 * spatial, "two a spatial dimension")
}

pub fn dft(op: OpView<'_>) -> Verdict {
    // C1
    for tensor in [operand(op, "input")?, result(op)?] {
        tensor.expect_rank(3)?;
        if !matches!(tensor.dim(2), 1 | 2) && tensor.dim(2) >= 0 {
            reject!("{}: expected 1 or 2 in dimension 2, got {}", tensor.name, tensor.dim(2));
        }
    }
    Ok(())
}

pub fn grid_sample(op: OpView<'_>) -> Verdict {
    let (input, grid, result) = (operand(op, "input")?, operand(op, "grid")?, result(op)?);
    // C1
    input.expect_rank_in(4, 5)?;
    grid.expect_rank(input.rank())?;
    result.expect_rank(input.rank())?;
    // C2
    grid.expect_dim(grid.rank() - 1, input.rank() as i64 - 2, "the spatial rank")?;
    // C3
    if input.rank() != 4 && op.kind::<GridMode>("mode") == Some(GridMode::Cubic) {
        reject!("operand 'input': expected rank 4 with cubic, got {}", input.rank());
    }
    Ok(())
}

pub fn resize(op: OpView<'_>) -> Verdict {
    let (input, result) = (operand(op, "input")?, result(op)?);
    // C1
    let (scales, roi) = (op.group("scales").len(), op.group("roi").len());
    if scales != input.rank() {
        reject!("operand 'scales': expected {} values, one a dimension, got {scales}", input.rank());
    }
    // C2
    if roi != 0 && roi != 2 * input.rank() {
        reject!("operand 'roi': expected no values or {}, two a dimension, got {roi}", 2 * input.rank());
    }
    // C3
    result.expect_rank(input.rank())?;
    result.expect_element_of(&input)
}

pub fn roi_align(op: OpView<'_>) -> Verdict {
    // C1
    operand(op, "input")?.expect_rank(4)?;
    operand(op, "rois")?.expect_rank(2)?;
    operand(op, "batch_indices")?.expect_rank(1)?;
    result(op)?.expect_rank(4)
}
