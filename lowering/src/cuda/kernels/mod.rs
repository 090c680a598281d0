//! The kernels for NVIDIA GPUs, one file each.

pub mod b2b;
mod b2b_any;
mod b2b_gemm;
pub mod b2b_sm90;
mod chunks;
mod columns;
mod conv;
mod copy;
pub mod elements;
mod gemm;
mod gemm_groups;
pub mod gemm_kernel;
pub mod gemm_sm80;
pub mod gemm_sm90;
pub mod group;
mod map;
pub mod members;
mod norm;
mod per_thread;
mod pool;
pub mod problem;
mod reduce;
mod rows;
pub mod sequences;
mod single;
pub mod sizes;
mod softmax;
mod threads;

use super::{Chip, tuning::Tuning};
use crate::cpu::{Kernel, Unsupported};
use aitmlir_dialects::{ait::OpView, types::Val};
use kernel_launch::{Expr, KernelLaunch};
use melior::{
    Context,
    ir::{Module, Type},
};

/// The grid from the extents.
pub type Grid = dyn Fn(&dyn Fn(usize) -> Expr) -> [Expr; 3];

/// The shape of a kernel's launches.
pub struct Body {
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub smem_bytes: u32,
    /// The grid, from the extents.
    pub grid: Box<Grid>,
    /// The extent that is the bytes of the scratch memory that the kernel's one thread asks for.
    pub scratch: Option<usize>,
}

impl Body {
    /// A kernel without shared and scratch memory.
    pub fn new(block: [u32; 3], grid: impl Fn(&dyn Fn(usize) -> Expr) -> [Expr; 3] + 'static) -> Self {
        Self { block, smem_bytes: 0, grid: Box::new(grid), scratch: None }
    }
}

/// How an op becomes a kernel.
pub struct KernelRow {
    /// "ait.map"
    pub op: &'static str,
    /// Who emits what.
    pub how: How,
}

/// What a row emits.
pub enum How {
    /// A body on buffers, as kernels for the CPU are; the entry is made around it.
    Body(BodyRow),
    /// The whole kernel with its parameters.
    Whole {
        /// Is there a kernel for such an op on that GPU?
        supported: for<'c> fn(&Chip, OpView<'c>) -> Result<(), Unsupported>,
        /// Emits it.
        emit: for<'a, 'c> fn(&Whole<'a, 'c>) -> Result<KernelLaunch, Unsupported>,
    },
}

/// A kernel on buffers.
pub struct BodyRow {
    /// How many extents there are.
    pub extent_count: for<'c> fn(OpView<'c>) -> usize,
    /// Emits the extents of the work from the buffers' dimensions, where the host program launches the kernel.
    pub extents: for<'c> fn(&Kernel<'c>) -> Vec<Val<'c>>,
    /// Emits the kernel's body, which gets the extents.
    pub body: for<'c> fn(&Kernel<'c>, extents: &[Val<'c>]) -> Result<Body, Unsupported>,
}

/// What a whole kernel is made from.
#[derive(Clone, Copy)]
pub struct Whole<'a, 'c> {
    /// The context.
    pub context: &'c Context,
    /// The GPU.
    pub chip: &'static Chip,
    /// The module of kernels.
    pub module: &'a Module<'c>,
    /// The kernel's symbol.
    pub name: &'a str,
    /// The op on tensors.
    pub op: OpView<'c>,
    /// The buffers of its operands, then of its results.
    pub operands: &'a [Operand<'c>],
    /// Names of the integers of the launch.
    pub dims: &'a [String],
    /// What was measured.
    pub tuning: &'a Tuning,
}

/// A buffer of a launch.
#[derive(Clone)]
pub struct Operand<'c> {
    /// Its number among the addresses.
    pub number: u32,
    /// The element type, with its signedness.
    pub element: Type<'c>,
    /// What the address of its first element is known to be a multiple of, in bytes; at most 16.
    pub alignment: i64,
    /// Its dimensions.
    pub sizes: Vec<Expr>,
    /// Elements from one index to the next, a dimension.
    pub strides: Vec<Expr>,
}

impl Operand<'_> {
    /// Row-major without gaps, as far as is known at compile time?
    pub fn is_dense(&self) -> bool {
        let mut expected = Expr::Const(1);
        (0..self.sizes.len()).rev().all(|d| {
            let fits = self.sizes[d] == Expr::Const(1) || self.strides[d] == expected;
            expected = expected.clone() * self.sizes[d].clone();
            fits
        })
    }
}

/// Every op that has a kernel, sorted by name.
pub static KERNELS: &[KernelRow] = &[
    per_thread::row("ait.argreduce"),
    KernelRow { op: "ait.b2b_gemm", how: How::Whole { supported: b2b_gemm::supported, emit: b2b_gemm::emit } },
    per_thread::row("ait.cast"),
    per_thread::row("ait.col2im"),
    copy::row("ait.concat"),
    conv::ROW,
    per_thread::row("ait.expand"),
    per_thread::row("ait.gather"),
    KernelRow { op: "ait.gemm", how: How::Whole { supported: gemm::supported, emit: gemm::emit } },
    per_thread::row("ait.grid_sample"),
    KernelRow { op: "ait.group", how: How::Whole { supported: group::supported, emit: group::emit } },
    per_thread::row("ait.jagged_to_padded"),
    map::ROW,
    single::NMS,
    per_thread::row("ait.nonzero"),
    norm::ROW,
    per_thread::row("ait.pad"),
    per_thread::row("ait.padded_to_jagged"),
    pool::ROW,
    per_thread::row("ait.random"),
    reduce::ROW,
    copy::row("ait.reshape"),
    per_thread::row("ait.roi_align"),
    per_thread::row("ait.scan"),
    per_thread::row("ait.scatter"),
    copy::row("ait.slice"),
    softmax::ROW,
    copy::row("ait.split"),
    single::TOPK,
    copy::row("ait.transpose"),
    single::UNIQUE,
    per_thread::row("ait.where"),
];

/// A grid of CTAs of `threads` threads for `work` steps: a few for each multiprocessor where there is much to do; then a thread does many steps.
pub fn grid_of(work: Expr, threads: u32) -> [Expr; 3] {
    let ctas = work.ceil_div(i64::from(threads)).min(Expr::Sms.times(WAVES));
    [ctas, 1.into(), 1.into()]
}

/// CTAs for each multiprocessor.
const WAVES: i64 = 16;

/// The row of an op.
pub fn row(op: &str) -> Option<&'static KernelRow> {
    KERNELS.iter().find(|row| row.op == op)
}

/// Is there a kernel for this op on that GPU? The error says what there is not.
pub fn supported(chip: &Chip, op: OpView<'_>) -> Result<(), Unsupported> {
    match row(&op.name()).map(|row| &row.how) {
        Some(How::Body(_)) => Ok(()),
        Some(How::Whole { supported, .. }) => supported(chip, op),
        None => Err(Unsupported(format!("has no kernel for cuda:{}", chip.name))),
    }
}
