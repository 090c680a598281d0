//! Convolutions and pooling: ops with windows.

use super::{
    Verdict, reject,
    shape::{epilogue, expect_at_least, expect_length, operand, operands, result, results},
};
use crate::{
    ait::{OpView, PoolKind},
    types::DYNAMIC,
};

/// Lengths and ranges of the window attributes over `spatial` dimensions.
fn window(op: OpView<'_>, spatial: usize, one_each: &[&str]) -> Verdict {
    for name in one_each {
        expect_length(op, name, spatial, "one a spatial dimension")?;
        expect_at_least(op, name, 1)?;
    }
    expect_length(op, "pads", 2 * spatial, "two a spatial dimension")
}

pub fn conv(op: OpView<'_>) -> Verdict {
    let (input, filter, result) = (operand(op, "input")?, operand(op, "filter")?, result(op)?);
    // C1
    input.expect_rank_in(3, 5)?;
    filter.expect_rank(input.rank())?;
    result.expect_rank(input.rank())?;
    // C2
    let spatial = input.rank() - 2;
    window(op, spatial, &["strides", "dilations"])?;
    if op.has("output_padding") {
        expect_length(op, "output_padding", spatial, "one a spatial dimension")?;
    }
    // C3
    let groups = op.i64("groups").unwrap_or(1);
    for tensor in [&input, &result] {
        let channels = tensor.dim(1);
        if groups < 1 || (channels >= 0 && channels % groups != 0) {
            reject!(
                "attribute 'groups': expected a divisor of the {channels} channels of {}, got {groups}",
                tensor.name
            );
        }
    }
    // C4
    let transposed = op.has("transposed");
    let per_group = |channels: i64| {
        if channels < 0 { DYNAMIC } else { channels / groups }
    };
    if transposed {
        filter.expect_dim(0, input.dim(1), "the channels of operand 'input'")?;
    } else {
        filter.expect_dim(1, per_group(input.dim(1)), "channels / groups")?;
    }
    // C5
    result.expect_dim(0, input.dim(0), "N of operand 'input'")?;
    if transposed {
        filter.expect_dim(1, per_group(result.dim(1)), "result channels / groups")?;
    } else {
        result.expect_dim(1, filter.dim(0), "M of operand 'filter'")?;
    }
    for i in 0..spatial {
        let size = conv_size(op, i, spatial, input.dim(2 + i), filter.dim(2 + i));
        result.expect_dim(2 + i, size, "the computed size")?;
    }
    // C6
    epilogue(op, input.element, 1)?;
    // C7
    operands(op, "extras").iter().try_for_each(|extra| extra.expect_broadcast_to(&result.shape))
}

/// The size of spatial dimension `i` of a convolution's result.
fn conv_size(op: OpView<'_>, i: usize, spatial: usize, size: i64, kernel: i64) -> i64 {
    if size < 0 || kernel < 0 {
        return DYNAMIC;
    }
    let (stride, dilation, pads) = (op.i64s("strides")[i], op.i64s("dilations")[i], op.i64s("pads"));
    let (padding, span) = (pads[i] + pads[spatial + i], dilation * (kernel - 1) + 1);
    if op.has("transposed") {
        let extra = op.i64s("output_padding").get(i).copied().unwrap_or(0);
        stride * (size - 1) + extra + span - padding
    } else {
        (size + padding - span).div_euclid(stride) + 1
    }
}

pub fn deform_conv(op: OpView<'_>) -> Verdict {
    let (input, filter, offset, result) =
        (operand(op, "input")?, operand(op, "filter")?, operand(op, "offset")?, result(op)?);
    // C1
    [&input, &filter, &offset, &result].into_iter().try_for_each(|t| t.expect_rank(4))?;
    // C2
    let kernel = if filter.dim(2) < 0 || filter.dim(3) < 0 { DYNAMIC } else { filter.dim(2) * filter.dim(3) };
    let channels = if kernel < 0 { DYNAMIC } else { 2 * op.i64("offset_groups").unwrap_or(1) * kernel };
    offset.expect_dim(1, channels, "2 * offset_groups * kh * kw")
}

pub fn pool(op: OpView<'_>) -> Verdict {
    let (input, results) = (operand(op, "input")?, results(op));
    // C1
    input.expect_rank_in(3, 5)?;
    results.iter().try_for_each(|r| r.expect_rank(input.rank()))?;
    // C2
    window(op, input.rank() - 2, &["kernel", "strides", "dilations"])?;
    // C3
    let kind = op.kind::<PoolKind>("kind");
    let most = if kind == Some(PoolKind::Max) { 2 } else { 1 };
    if results.is_empty() || results.len() > most {
        reject!("expected {} results, got {}", if most == 2 { "1 or 2" } else { "1" }, results.len());
    }
    // C4
    let p = op.i64("p").unwrap_or(2);
    if p != 2 && kind != Some(PoolKind::Lp) {
        reject!("attribute 'p': expected only with lp, got {p}");
    }
    Ok(())
}
