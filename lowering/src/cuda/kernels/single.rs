//! Kernels of one thread, for ops whose steps depend on each other: the loops for the CPU, with scratch memory from the workspace. They keep a
//! model on the device; they are not fast.

use super::{Body, BodyRow, How, KernelRow};
use crate::cpu::{self, Kernel, Unsupported, view::View};
use aitmlir_dialects::types::Val;

/// Bytes of an index in scratch memory.
const INDEX: i64 = 8;

/// Scratch memory is carved at multiples of this.
const ALIGNMENT: i64 = 64;

const fn row(op: &'static str, extents: for<'c> fn(&Kernel<'c>) -> Vec<Val<'c>>) -> KernelRow {
    KernelRow { op, how: How::Body(BodyRow { extent_count: |_| 2, extents, body }) }
}

/// Two arrays of indices along the axis.
pub const TOPK: KernelRow = row("ait.topk", |k| {
    let axis = k.op.i64("axis").and_then(|a| usize::try_from(a).ok()).unwrap_or(0);
    steps_and_scratch(k, View::of(k.b, k.operand("input")).axes[axis].size, 2 * INDEX, 2)
});

/// Three arrays of indices of rows.
pub const UNIQUE: KernelRow =
    row("ait.unique", |k| steps_and_scratch(k, View::of(k.b, k.operand("input")).axes[0].size, 3 * INDEX, 3));

/// A byte a box.
pub const NMS: KernelRow =
    row("ait.nms", |k| steps_and_scratch(k, View::of(k.b, k.operand("boxes")).axes[1].size, 1, 1));

/// The steps of the loops, and `each` bytes of scratch for `count` elements of `arrays` arrays.
fn steps_and_scratch<'c>(k: &Kernel<'c>, count: Val<'c>, each: i64, arrays: i64) -> Vec<Val<'c>> {
    let b = k.b;
    let steps = cpu::row(&k.op.name()).map(|row| (row.extent)(k));
    let bytes = b.addi(b.muli(count, b.index(each)), b.index(arrays * ALIGNMENT));
    steps.into_iter().chain([bytes]).collect()
}

fn body<'c>(k: &Kernel<'c>, extents: &[Val<'c>]) -> Result<Body, Unsupported> {
    let row = cpu::row(&k.op.name()).ok_or_else(|| Unsupported(format!("{} has no loops", k.op.name())))?;
    (row.body)(k, k.b.index(0), extents[0])?;
    Ok(Body { scratch: Some(1), ..Body::new([1, 1, 1], |_| [1.into(), 1.into(), 1.into()]) })
}
