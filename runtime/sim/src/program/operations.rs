//! Operands of the larger operations: mbarriers, copies, matrices.

use super::{PredSrc, Reg, Src};
use crate::check::finding::Space;
use crate::exec::atomic::AtomOp;
use crate::tensor::mma::MmaShape;
use crate::tensor::wgmma::WgmmaShape;
use crate::tensor::wmma::WmmaFragment;

/// An operation on an mbarrier object.
#[derive(Clone, Debug)]
pub struct MbarOp {
    /// What it does.
    pub kind: MbarKind,
    /// Space of the address.
    pub space: Space,
    /// Address of the object, with a constant offset.
    pub addr: Src,
    /// Constant added to the address.
    pub offset: i64,
    /// Register or predicate that takes the result.
    pub dst: Option<Reg>,
    /// Count, bytes, state token or parity.
    pub arg: Src,
    /// Whether it publishes (`.relaxed` does not).
    pub release: bool,
}

/// What an mbarrier instruction does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MbarKind {
    /// `mbarrier.init`
    Init,
    /// `mbarrier.inval`
    Inval,
    /// `mbarrier.arrive`
    Arrive,
    /// `mbarrier.arrive.noComplete`
    ArriveNoComplete,
    /// `mbarrier.arrive_drop`
    ArriveDrop,
    /// `mbarrier.arrive.expect_tx`
    ArriveExpectTx,
    /// `mbarrier.expect_tx`
    ExpectTx,
    /// `mbarrier.complete_tx`
    CompleteTx,
    /// `mbarrier.test_wait` by state token
    TestState,
    /// `mbarrier.test_wait.parity`
    TestParity,
    /// `mbarrier.try_wait` by state token
    TryState,
    /// `mbarrier.try_wait.parity`
    TryParity,
    /// `mbarrier.pending_count`
    PendingCount,
}

/// Where a bulk copy reads and writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BulkDir {
    /// Global memory into shared memory of the cluster.
    Load,
    /// Shared memory into global memory.
    Store,
    /// Shared memory combined into global memory.
    Reduce(AtomOp, BulkType),
    /// Shared memory into shared memory of another CTA.
    Dsmem,
    /// Into the L2.
    Prefetch,
}

/// Element type of a bulk reduction that is not a tensor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkType {
    /// Taken from the tensor map.
    OfMap,
    /// 16-bit float.
    F16,
    /// bfloat16.
    Bf16,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// Unsigned 32-bit.
    U32,
    /// Signed 32-bit.
    S32,
    /// Unsigned 64-bit.
    U64,
    /// Signed 64-bit.
    S64,
}

/// `cp.async.bulk` and `cp.async.bulk.tensor`.
#[derive(Clone, Debug)]
pub struct BulkOp {
    /// Direction.
    pub dir: BulkDir,
    /// Address in shared memory.
    pub shared: Src,
    /// Constant added to it.
    pub shared_offset: i64,
    /// Address in global memory, of the tensor map, or of the other shared memory.
    pub other: Src,
    /// Constant added to it.
    pub other_offset: i64,
    /// Bytes, of a copy without a tensor map.
    pub size: Option<Src>,
    /// Coordinates, innermost first, of a tensor.
    pub coords: Vec<Src>,
    /// Offsets of an im2col load.
    pub im2col: Option<Vec<Src>>,
    /// The mbarrier that is told.
    pub mbar: Option<Src>,
    /// Constant added to its address.
    pub mbar_offset: i64,
    /// CTAs of the cluster that receive the data.
    pub multicast: Option<Src>,
}

/// `wgmma.mma_async`.
#[derive(Clone, Debug)]
pub struct WgmmaOp {
    /// Shape, types and register counts.
    pub shape: WgmmaShape,
    /// Accumulators.
    pub acc: Vec<Reg>,
    /// A from registers.
    pub a_regs: Vec<Reg>,
    /// A's descriptor.
    pub a_desc: Src,
    /// B's descriptor.
    pub b_desc: Src,
    /// Whether the accumulators are added.
    pub scale_d: PredSrc,
    /// Whether A and B are negated.
    pub negate: [bool; 2],
    /// Whether A and B are stored with M or N contiguous.
    pub transposed: [bool; 2],
}

/// `cp.async` of 4, 8 or 16 bytes.
#[derive(Clone, Debug)]
pub struct CpAsyncOp {
    /// Shared address.
    pub dst: Src,
    /// Constant added to it.
    pub dst_offset: i64,
    /// Global address.
    pub src: Src,
    /// Constant added to it.
    pub src_offset: i64,
    /// Bytes written.
    pub bytes: u32,
    /// Bytes read; the rest is zero.
    pub src_bytes: Option<Src>,
    /// Reads nothing where true.
    pub ignore: Option<PredSrc>,
}

/// `mma.sync`.
#[derive(Clone, Debug)]
pub struct MmaOp {
    /// Shape and types.
    pub shape: MmaShape,
    /// Result registers.
    pub d: Vec<Reg>,
    /// A fragment.
    pub a: Vec<Src>,
    /// B fragment.
    pub b: Vec<Src>,
    /// C fragment.
    pub c: Vec<Src>,
    /// Integer saturation.
    pub satfinite: bool,
}

/// `wmma.load` and `wmma.store`.
#[derive(Clone, Debug)]
pub struct WmmaMemory {
    /// How the matrix lies in registers.
    pub fragment: WmmaFragment,
    /// Registers of the fragment.
    pub regs: Vec<Src>,
    /// Whether it stores.
    pub store: bool,
    /// Whether columns are contiguous.
    pub by_column: bool,
    /// State space of the address.
    pub space: Space,
    /// Address of the first element.
    pub addr: Src,
    /// Constant added to it.
    pub offset: i64,
    /// Elements between two rows or columns; the matrix's own where it is not given.
    pub stride: Option<Src>,
}

/// `wmma.mma`.
#[derive(Clone, Debug)]
pub struct WmmaOp {
    /// Fragments of D, A, B and C.
    pub fragments: [WmmaFragment; 4],
    /// Result registers.
    pub d: Vec<Reg>,
    /// A fragment.
    pub a: Vec<Src>,
    /// B fragment.
    pub b: Vec<Src>,
    /// C fragment.
    pub c: Vec<Src>,
    /// Integer saturation.
    pub satfinite: bool,
}

/// `ldmatrix` and `stmatrix`.
#[derive(Clone, Debug)]
pub struct MatrixOp {
    /// Registers of the matrices.
    pub regs: Vec<Src>,
    /// Whether rows and columns change places.
    pub trans: bool,
    /// Whether it stores.
    pub store: bool,
    /// Row addresses.
    pub addr: Src,
    /// Constant added to them.
    pub offset: i64,
}
