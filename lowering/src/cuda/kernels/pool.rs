//! `ait.pool`: one thread an element of the result. Neighbours read overlapping windows, which the first-level cache serves.

use super::{Body, BodyRow, How, KernelRow, grid_of, threads::grid_stride};
use crate::cpu::{Kernel, Unsupported, broadcast::elements, pool::element};
use aitmlir_dialects::types::Val;

pub const ROW: KernelRow =
    KernelRow { op: "ait.pool", how: How::Body(BodyRow { extent_count: |_| 1, extents: |k| vec![elements(k)], body }) };

/// Threads of a CTA.
const THREADS: u32 = 256;

fn body<'c>(k: &Kernel<'c>, extents: &[Val<'c>]) -> Result<Body, Unsupported> {
    let (first, step) = grid_stride(k.b, THREADS);
    k.b.for_(first, extents[0], step, &[], |b, i, _| {
        element(&k.at(b), i);
        vec![]
    });
    Ok(Body::new([THREADS, 1, 1], |extent| grid_of(extent(0), THREADS)))
}
