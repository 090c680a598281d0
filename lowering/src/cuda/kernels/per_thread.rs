//! Kernels made from those for the CPU: a thread does single steps of the parallel range, and neighbours do neighbouring steps.
//!
//! This is right for ops whose step is one element of the result, or a short row, and which need no scratch memory: movement of data,
//! gathers, small reductions.

use super::{Body, KernelRow};
use crate::cpu::{self, Kernel, Unsupported};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

/// Threads of a CTA.
const THREADS: u32 = 256;
/// CTAs for each multiprocessor: enough to fill it; each thread does several steps of a longer range.
const WAVES: i64 = 16;

/// The row of an op that has a kernel for the CPU.
pub const fn row(op: &'static str) -> KernelRow {
    KernelRow { op, extent_count: |_| 1, extents, body }
}

fn extents<'c>(k: &Kernel<'c>) -> Vec<Val<'c>> {
    cpu::row(&k.op.name()).map(|row| (row.extent)(k)).into_iter().collect()
}

fn body<'c>(k: &Kernel<'c>, extents: &[Val<'c>]) -> Result<Body, Unsupported> {
    let row = cpu::row(&k.op.name()).ok_or_else(|| Unsupported(format!("{} has no loops", k.op.name())))?;
    let mut status = Ok(());
    grid_stride(k.b, extents[0], |b, i| {
        let next = b.addi(i, b.index(1));
        status = (row.body)(&k.at(b), i, next);
    });
    status?;
    let grid = |extent: &dyn Fn(usize) -> kernel_launch::Expr| {
        let blocks = extent(0).ceil_div(i64::from(THREADS)).min(kernel_launch::Expr::Sms.times(WAVES));
        [blocks, 1.into(), 1.into()]
    };
    Ok(Body { block: [THREADS, 1, 1], smem_bytes: 0, grid })
}

/// Loops over the steps of this thread: `for (i = thread of the grid; i < extent; i += threads of the grid)`.
pub fn grid_stride<'c>(b: Builder<'c>, extent: Val<'c>, body: impl FnOnce(Builder<'c>, Val<'c>)) {
    let read = |name: &str| {
        let value = b.op1(name, &[], b.context().int_type(32), &[]);
        b.op1("arith.index_castui", &[value], b.context().index_type(), &[])
    };
    let (cta, thread) = (read("nvvm.read.ptx.sreg.ctaid.x"), read("nvvm.read.ptx.sreg.tid.x"));
    let (ctas, threads) = (read("nvvm.read.ptx.sreg.nctaid.x"), b.index(i64::from(THREADS)));
    let start = b.addi(b.muli(cta, threads), thread);
    let step = b.muli(ctas, threads);
    b.for_(start, extent, step, &[], |b, i, _| {
        body(b, i);
        vec![]
    });
}
