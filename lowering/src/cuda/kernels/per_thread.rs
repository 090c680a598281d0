//! Kernels made from those for the CPU: a thread does single steps of the parallel range, and neighbours do neighbouring steps.
//!
//! This is right for ops whose step is one element of the result, or a short row, and which need no scratch memory: movement of data,
//! gathers, small reductions.

use super::{Body, BodyRow, How, KernelRow, grid_of, threads::grid_stride};
use crate::cpu::{self, Kernel, Unsupported};
use aitmlir_dialects::types::Val;
use kernel_launch::Expr;

/// Threads of a CTA.
const THREADS: u32 = 256;

/// The row of an op that has a kernel for the CPU.
pub const fn row(op: &'static str) -> KernelRow {
    KernelRow { op, how: How::Body(BodyRow { extent_count: |_| 1, extents, body }) }
}

fn extents<'c>(k: &Kernel<'c>) -> Vec<Val<'c>> {
    cpu::row(&k.op.name()).map(|row| (row.extent)(k)).into_iter().collect()
}

fn body<'c>(k: &Kernel<'c>, extents: &[Val<'c>]) -> Result<Body, Unsupported> {
    loops(k, extents[0], |extent| extent(0))
}

/// The steps [0, extent) of the kernel for the CPU; `steps` is that extent as a formula.
pub fn loops<'c>(k: &Kernel<'c>, extent: Val<'c>, steps: Steps) -> Result<Body, Unsupported> {
    let row = cpu::row(&k.op.name()).ok_or_else(|| Unsupported(format!("{} has no loops", k.op.name())))?;
    let mut status = Ok(());
    let (first, step) = grid_stride(k.b, THREADS);
    k.b.for_(first, extent, step, &[], |b, i, _| {
        let next = b.addi(i, b.index(1));
        status = (row.body)(&k.at(b), i, next);
        vec![]
    });
    status?;
    Ok(Body::new([THREADS, 1, 1], move |extent| grid_of(steps(extent), THREADS)))
}

/// A formula of the extents.
pub type Steps = fn(extent: &dyn Fn(usize) -> Expr) -> Expr;
