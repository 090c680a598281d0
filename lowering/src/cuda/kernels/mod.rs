//! The kernels for NVIDIA GPUs, one file each.

pub mod gemm_sm90;
mod per_thread;
pub mod problem;

use super::Chip;
use crate::cpu::{Kernel, Unsupported};
use aitmlir_dialects::{ait::OpView, types::Val};
use kernel_launch::Expr;

/// The shape of a kernel's launches.
pub struct Body {
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub smem_bytes: u32,
    /// The grid, from the extents.
    pub grid: fn(extent: &dyn Fn(usize) -> Expr) -> [Expr; 3],
}

/// How an op becomes a kernel.
pub struct KernelRow {
    /// "ait.map"
    pub op: &'static str,
    /// How many extents there are.
    pub extent_count: for<'c> fn(OpView<'c>) -> usize,
    /// Emits the extents of the work from the buffers' dimensions, where the host program launches the kernel.
    pub extents: for<'c> fn(&Kernel<'c>) -> Vec<Val<'c>>,
    /// Emits the kernel's body, which gets the extents.
    pub body: for<'c> fn(&Kernel<'c>, extents: &[Val<'c>]) -> Result<Body, Unsupported>,
}

/// Every op that has a kernel, sorted by name.
pub static KERNELS: &[KernelRow] = &[
    per_thread::row("ait.argreduce"),
    per_thread::row("ait.cast"),
    per_thread::row("ait.col2im"),
    per_thread::row("ait.concat"),
    per_thread::row("ait.expand"),
    per_thread::row("ait.gather"),
    per_thread::row("ait.grid_sample"),
    per_thread::row("ait.jagged_to_padded"),
    per_thread::row("ait.map"),
    per_thread::row("ait.norm"),
    per_thread::row("ait.pad"),
    per_thread::row("ait.padded_to_jagged"),
    per_thread::row("ait.random"),
    per_thread::row("ait.reduce"),
    per_thread::row("ait.reshape"),
    per_thread::row("ait.roi_align"),
    per_thread::row("ait.scan"),
    per_thread::row("ait.slice"),
    per_thread::row("ait.softmax"),
    per_thread::row("ait.split"),
    per_thread::row("ait.transpose"),
    per_thread::row("ait.where"),
];

/// The row of an op.
pub fn row(op: &str) -> Option<&'static KernelRow> {
    KERNELS.iter().find(|row| row.op == op)
}

/// Is there a kernel for this op on that GPU? The error says what there is not.
pub fn supported(chip: &Chip, op: OpView<'_>) -> Result<(), Unsupported> {
    match row(&op.name()) {
        Some(_) => Ok(()),
        None => Err(Unsupported(format!("has no kernel for cuda:{}", chip.name))),
    }
}
