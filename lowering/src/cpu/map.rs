//! `ait.map`: loops over the result with the region at their heart.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast::{Elementwise, elements, views},
};
use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, blocks_of, erase, inline_block, operations_of, replace_uses, result_of},
    types::{Blk, Op, Val},
};
use melior::ir::operation::OperationLike;

pub static ROW: KernelRow = KernelRow { op: "ait.map", extent: elements, body };

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let Some(block) = k.op.block(0) else { return Ok(()) };
    let (outs, inputs) = (views(k.b, &k.outs), views(k.b, &k.group("inputs")));
    let mut pinned = vec![false; outs[0].axes.len()];
    for_each_index(block, &mut |_, axis| {
        if let Some(pin) = pinned.get_mut(axis) {
            *pin = true;
        }
    });
    let derived = k.group("dims").is_empty();
    Elementwise { outs: &outs, inputs: &inputs, derived, pinned: &pinned }.emit(
        k.b,
        (lo, hi),
        &|b, coordinates, values| inline_at(b, block, values, coordinates),
    );
    Ok(())
}

/// Inlines a region's block for the element at `coordinates`, which take the place of its `ait.index` ops.
pub fn inline_at<'c>(b: Builder<'c>, block: Blk<'c>, arguments: &[Val<'c>], coordinates: &[Val<'c>]) -> Vec<Val<'c>> {
    let before = operations_of(b.block()).len();
    let values = inline_block(b, block, arguments);
    for op in operations_of(b.block()).into_iter().skip(before) {
        in_op(op, &mut |index, axis| {
            if let Some(coordinate) = coordinates.get(axis) {
                replace_uses(result_of(index, 0), *coordinate);
                erase(index);
            }
        });
    }
    values
}

/// Visits the `ait.index` ops of a block and of all that is nested in it, each with its axis.
pub fn for_each_index<'c>(block: Blk<'c>, visit: &mut dyn FnMut(Op<'c>, usize)) {
    for op in operations_of(block) {
        in_op(op, visit);
    }
}

fn in_op<'c>(op: Op<'c>, visit: &mut dyn FnMut(Op<'c>, usize)) {
    for region in 0..op.region_count() {
        for block in blocks_of(op, region) {
            for_each_index(block, visit);
        }
    }
    let view = OpView(op);
    if view.name() == "ait.index" {
        visit(op, view.i64("dim").and_then(|d| usize::try_from(d).ok()).unwrap_or(0));
    }
}
