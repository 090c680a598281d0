//! The decoded form: one flat list of instructions per kernel, every name resolved.

mod operations;

use crate::check::finding::Space;
use crate::exec::alu::AluFn;
use crate::exec::atomic::AtomOp;
use crate::exec::compare::CmpFn;
use crate::numeric::convert::Conversion;

pub use operations::{
    BulkDir, BulkOp, BulkType, CpAsyncOp, MatrixOp, MbarKind, MbarOp, MmaOp, WgmmaOp, WmmaMemory, WmmaOp,
};

/// Index of a register in a warp's bank. Predicates have a bank of their own.
pub type Reg = u32;

/// The program counter that no instruction has: where threads that exited are.
pub const END: u32 = u32::MAX;

/// A value an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Src {
    /// A register.
    Reg(Reg),
    /// The same bits in every thread.
    Imm(u64),
    /// A special register.
    Special(Special),
}

/// A predicate an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PredSrc {
    /// A predicate register and whether it is negated.
    Reg(Reg, bool),
    /// A constant.
    Const(bool),
}

/// Special registers. Vectors carry their axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Special {
    /// `%tid`
    Tid(u8),
    /// `%ntid`
    Ntid(u8),
    /// `%ctaid`
    Ctaid(u8),
    /// `%nctaid`
    Nctaid(u8),
    /// `%clusterid`
    Clusterid(u8),
    /// `%nclusterid`
    Nclusterid(u8),
    /// `%cluster_ctaid`
    ClusterCtaid(u8),
    /// `%cluster_nctaid`
    ClusterNctaid(u8),
    /// `%cluster_ctarank`
    ClusterCtarank,
    /// `%cluster_nctarank`
    ClusterNctarank,
    /// `%is_explicit_cluster`
    ExplicitCluster,
    /// `%laneid`
    Laneid,
    /// `%warpid`
    Warpid,
    /// `%nwarpid`
    Nwarpid,
    /// `%smid`
    Smid,
    /// `%nsmid`
    Nsmid,
    /// `%gridid`
    Gridid,
    /// `%clock`, `%clock64`, `%globaltimer`: instructions so far.
    Clock,
    /// `%lanemask_eq`
    LanemaskEq,
    /// `%lanemask_le`
    LanemaskLe,
    /// `%lanemask_lt`
    LanemaskLt,
    /// `%lanemask_ge`
    LanemaskGe,
    /// `%lanemask_gt`
    LanemaskGt,
    /// `%dynamic_smem_size`
    DynamicSmem,
    /// `%total_smem_size`
    TotalSmem,
}

/// The floats in a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// An f32.
    #[default]
    Single,
    /// Two of them.
    SinglePair,
    /// A bf16.
    Brain,
    /// Two of them.
    BrainPair,
    /// An f16.
    Half,
    /// Two of them.
    HalfPair,
}

/// How a float operation treats its inputs and its result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mods {
    /// Flush subnormals to zero.
    pub ftz: bool,
    /// Clamp the result to [0, 1].
    pub sat: bool,
    /// Of what.
    pub width: Width,
}

/// A plain or strong access, for the memory model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Strong: does not race with other strong accesses.
    pub strong: bool,
    /// Acquires what a release published.
    pub acquire: bool,
    /// Publishes what came before.
    pub release: bool,
}

/// A load, store or atomic address with what is moved.
#[derive(Clone, Debug)]
pub struct Access {
    /// State space named by the instruction.
    pub space: Space,
    /// Bytes of one element.
    pub bytes: u32,
    /// Elements moved by a thread.
    pub count: u32,
    /// Whether a loaded element is sign-extended.
    pub signed: bool,
    /// Base address.
    pub base: Src,
    /// Constant added to it.
    pub offset: i64,
    /// Memory order.
    pub order: Order,
}

/// How lanes of a warp exchange a register.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShflMode {
    /// `shfl.up`
    Up,
    /// `shfl.down`
    Down,
    /// `shfl.bfly`
    Bfly,
    /// `shfl.idx`
    Idx,
}

/// What a vote computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VoteMode {
    /// True in all.
    All,
    /// True in any.
    Any,
    /// The same in all.
    Uni,
    /// The mask.
    Ballot,
}

/// What a CTA barrier instruction does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BarMode {
    /// Wait for the others.
    Sync,
    /// Do not wait.
    Arrive,
    /// Wait, and count the true predicates.
    RedPopc,
    /// Wait, and whether all are true.
    RedAnd,
    /// Wait, and whether any is true.
    RedOr,
}

/// A fence of the memory model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fence {
    /// Orders generic accesses.
    Thread,
    /// The same, and all such fences of the device take place one after another.
    Sequential,
    /// Makes generic writes visible to the async proxy.
    ProxyAsync,
    /// Makes mbarrier initialisation visible to the cluster.
    MbarrierInit,
    /// Makes generic writes of a tensor map visible to the tensor-map proxy.
    ProxyTensormap,
}

/// What an instruction does.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // each variant names its PTX instruction, each field its operand
pub enum Op {
    Alu {
        f: AluFn,
        dst: Reg,
        src: [Src; 3],
        mods: Mods,
    },
    Carry {
        dst: Reg,
        a: Src,
        b: Src,
        bits: u32,
        subtract: bool,
        carry_in: bool,
        carry_out: bool,
    },
    /// `mad.cc` and `madc`
    MadCarry {
        dst: Reg,
        src: [Src; 3],
        kind: MadCarry,
    },
    Cvt {
        conv: Conversion,
        dst: Reg,
        src: [Src; 2],
    },
    Setp {
        f: CmpFn,
        dst: Option<Reg>,
        inverse: Option<Reg>,
        a: Src,
        b: Src,
        combine: Option<(LogicOp, PredSrc)>,
        ftz: bool,
    },
    /// `setp` on both halves of a register: the low one's predicate, the high one's.
    SetpPair {
        f: CmpFn,
        dst: [Option<Reg>; 2],
        src: [Src; 2],
        combine: Option<(LogicOp, PredSrc)>,
    },
    Set {
        f: CmpFn,
        dst: Reg,
        a: Src,
        b: Src,
        /// What true is, of the whole register or of a half.
        one: u64,
        halves: bool,
        combine: Option<(LogicOp, PredSrc)>,
        ftz: bool,
    },
    Selp {
        dst: Reg,
        a: Src,
        b: Src,
        p: PredSrc,
    },
    Logic {
        op: LogicOp,
        dst: Reg,
        a: PredSrc,
        b: PredSrc,
    },
    PredFromTest {
        dst: Reg,
        src: Src,
        test: FloatTest,
    },
    Bfi {
        dst: Reg,
        src: [Src; 4],
        bits: u32,
    },
    Lop3 {
        dst: Reg,
        src: [Src; 3],
        table: u32,
    },
    Isspacep {
        dst: Reg,
        src: Src,
        space: Space,
    },
    Pack {
        dst: Reg,
        src: Vec<Src>,
        bits: u32,
    },
    Unpack {
        dst: Vec<Option<Reg>>,
        src: Src,
        bits: u32,
    },
    Bra {
        target: u32,
        join: u32,
    },
    Brx {
        index: Src,
        targets: Vec<u32>,
        join: u32,
    },
    Exit,
    Trap,
    Nop,
    Ld {
        access: Access,
        dst: Vec<Option<Reg>>,
    },
    St {
        access: Access,
        src: Vec<Src>,
    },
    Atom {
        access: Access,
        op: AtomOp,
        dst: Option<Reg>,
        b: Src,
        c: Src,
    },
    Shfl {
        mode: ShflMode,
        dst: Reg,
        pred: Option<Reg>,
        a: Src,
        b: Src,
        c: Src,
        mask: Src,
    },
    Vote {
        mode: VoteMode,
        dst: Reg,
        p: PredSrc,
        mask: Src,
    },
    Match {
        all: bool,
        dst: Option<Reg>,
        pred: Option<Reg>,
        a: Src,
        bits: u32,
        mask: Src,
    },
    Redux {
        f: AluFn,
        dst: Reg,
        a: Src,
        mask: Src,
    },
    Activemask {
        dst: Reg,
    },
    Elect {
        dst: Option<Reg>,
        pred: Reg,
        mask: Src,
    },
    BarWarp {
        mask: Src,
    },
    Bar {
        mode: BarMode,
        id: Src,
        count: Option<Src>,
        aligned: bool,
        dst: Option<Reg>,
        pred: PredSrc,
    },
    Fence {
        kind: Fence,
    },
    ClusterArrive {
        release: bool,
        aligned: bool,
    },
    ClusterWait {
        acquire: bool,
        aligned: bool,
    },
    Mapa {
        dst: Reg,
        addr: Src,
        rank: Src,
        generic: bool,
    },
    GetCtaRank {
        dst: Reg,
        addr: Src,
        generic: bool,
    },
    Mma(Box<MmaOp>),
    WmmaMemory(Box<WmmaMemory>),
    Wmma(Box<WmmaOp>),
    Matrix(Box<MatrixOp>),
    Movmatrix {
        dst: Reg,
        src: Src,
    },
    CpAsync(Box<CpAsyncOp>),
    CpAsyncCommit,
    CpAsyncWait {
        pending: u32,
    },
    CpAsyncMbar {
        addr: Src,
        offset: i64,
        noinc: bool,
    },
    Mbar(Box<MbarOp>),
    Bulk(Box<BulkOp>),
    BulkCommit,
    BulkWait {
        pending: u32,
        read: bool,
    },
    WgmmaFence,
    WgmmaCommit,
    WgmmaWait {
        pending: u32,
    },
    Wgmma(Box<WgmmaOp>),
    SetMaxNReg {
        registers: u32,
        increase: bool,
    },
}

/// How `mad.cc` and `madc` multiply and carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MadCarry {
    /// Bits of the type.
    pub bits: u32,
    /// The upper half of the product.
    pub high: bool,
    /// Signed factors.
    pub signed: bool,
    /// Adds the carry flag.
    pub carry_in: bool,
    /// Sets the carry flag.
    pub carry_out: bool,
}

/// Operations on predicates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LogicOp {
    /// Both.
    And,
    /// Either.
    Or,
    /// One of the two.
    Xor,
    /// The first, as it is.
    Mov,
}

impl LogicOp {
    /// Applies it to lane masks.
    pub fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            LogicOp::And => a & b,
            LogicOp::Or => a | b,
            LogicOp::Xor => a ^ b,
            LogicOp::Mov => a,
        }
    }
}

/// `testp`, on f32 (`wide` = false) or f64.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the names are the instruction's
pub enum FloatClass {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// A class and the width it is tested on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatTest {
    /// The class.
    pub class: FloatClass,
    /// f64 instead of f32.
    pub wide: bool,
}

/// One decoded instruction.
#[derive(Clone, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// Guard predicate.
    pub guard: PredSrc,
    /// Line of the PTX text.
    pub line: u32,
    /// Index into [`Program::opcodes`].
    pub opcode: u32,
    /// Source file number and line, from `.loc`.
    pub location: (u32, u32),
    /// Its own index in the program.
    pub index: u32,
    /// Registers it reads and writes, where the kernel has asynchronous register use to watch.
    pub uses: Uses,
}

/// Value registers of an instruction.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// Read.
    pub reads: Vec<Reg>,
    /// Written.
    pub writes: Vec<Reg>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Bytes from the start of the parameters.
    pub offset: u32,
    /// Its size.
    pub bytes: u32,
    /// Element type.
    pub ty: String,
}

/// A kernel ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name of the kernel.
    pub name: String,
    /// Instructions; execution starts at the first.
    pub insts: Vec<Inst>,
    /// Value registers a warp needs.
    pub registers: u32,
    /// Predicate registers a warp needs.
    pub predicates: u32,
    /// Parameters.
    pub params: Vec<Param>,
    /// Bytes of all parameters.
    pub param_bytes: u32,
    /// Bytes of static shared memory; dynamic shared memory follows.
    pub shared_bytes: u32,
    /// Local memory of a thread.
    pub local_bytes: u32,
    /// `.reqntid`
    pub reqntid: Option<[u32; 3]>,
    /// `.maxntid`, as a product.
    pub maxntid: Option<u32>,
    /// `.maxnreg`
    pub maxnreg: Option<u32>,
    /// `.reqnctapercluster`
    pub cluster: Option<[u32; 3]>,
    /// Opcodes as written, for reports.
    pub opcodes: Vec<String>,
    /// `.file` numbers and names.
    pub files: Vec<(u32, String)>,
}
