//! Ops whose result's size depends on data.

use super::{
    Verdict, reject,
    shape::{Tensor, operand, results},
};
use crate::ait::OpView;

/// A rank-0 i64.
fn expect_count(count: &Tensor<'_>) -> Verdict {
    count.expect_rank(0)?;
    count.expect_int(&[64])
}

pub fn nms(op: OpView<'_>) -> Verdict {
    let (boxes, scores, results) = (operand(op, "boxes")?, operand(op, "scores")?, results(op));
    // C1
    boxes.expect_rank(3)?;
    scores.expect_rank(3)?;
    // C2
    let [selected, count] = results.as_slice() else { reject!("expected 2 results, got {}", results.len()) };
    selected.expect_rank(2)?;
    selected.expect_dim(1, 3, "the length of (batch, class, box)")?;
    selected.expect_int(&[64])?;
    expect_count(count)
}

pub fn nonzero(op: OpView<'_>) -> Verdict {
    let (input, results) = (operand(op, "input")?, results(op));
    // C1
    let [indices, count] = results.as_slice() else { reject!("expected 2 results, got {}", results.len()) };
    indices.expect_rank(2)?;
    indices.expect_dim(1, input.rank().max(1) as i64, "the rank of operand 'input'")?;
    indices.expect_int(&[64])?;
    expect_count(count)
}

pub fn unique(op: OpView<'_>) -> Verdict {
    let (input, results) = (operand(op, "input")?, results(op));
    // C1
    input.expect_rank(2)?;
    // C2
    let [first, inverse, counts, count] = results.as_slice() else {
        reject!("expected 4 results, got {}", results.len())
    };
    for result in [first, inverse, counts] {
        result.expect_int(&[64])?;
        result.expect_shape(&input.shape[..1])?;
    }
    expect_count(count)
}
