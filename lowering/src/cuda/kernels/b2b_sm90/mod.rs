//! Back-to-back products on sm_90a: out = act(Q K^T, bias) V without softmax.
//!
//! A CTA has 128 rows of Q, 64 for each of two consumer warpgroups; it walks the rows of K and V in blocks of 128, which a producer loads through TMA
//! into a ring. The first product's sums become, through the scalar code, the A operand of the second one in registers. A bias of
//! [M, N] is loaded with the blocks, and read by `ldmatrix` in the layout of the sums; one that TMA does not take, or that broadcasts along M or N, is read
//! element by element. Where there is room Q has two buffers, so that the next rows are on their way before these are done.

mod consumer;

use super::problem::{Dtype, Int, Params};
use crate::cuda::{
    emit::{mbarrier, scalar::ScalarOps, sync, tma},
    kernel::{KernelSpec, dynamic_shared},
};
use aitmlir_dialects::{ait::CausalKind, builder::Builder, types::Val};
use kernel_launch::{Expr, KernelLaunch, MapSwizzle, Param, TensorMap};
use melior::{Context, ir::Module};

/// Rows of Q of a CTA, and rows of K and V of a block.
const TILE: i64 = 128;

/// One operand [B, H, lines, width], contiguous along its width: strides in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The operand.
    pub operand: u32,
    /// From a line to the next: a multiple of 8.
    pub line: Expr,
    /// From a head to the next: a multiple of 8, 0 where all are the same.
    pub head: Expr,
    /// From a batch to the next: a multiple of 8, 0 where all are the same.
    pub batch: Expr,
}

/// A bias of [B, H, M, N].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bias {
    /// Of the operands' type, contiguous along N, with lines for all rows: it is loaded as they are.
    Boxes(Side),
    /// Of any float type and layout.
    Elements {
        /// The operand.
        operand: u32,
        /// Its element type.
        dtype: Dtype,
        /// Strides along B, H, M and N in elements; 0 where all are the same.
        strides: [Expr; 4],
    },
}

/// What is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// f16 or bf16, of all operands.
    pub dtype: Dtype,
    /// Batches.
    pub batch: Expr,
    /// Heads.
    pub heads: Expr,
    /// Rows of Q.
    pub m: Expr,
    /// Rows of K and V.
    pub n: Expr,
    /// Columns of Q and K, up to 128.
    pub depth: i64,
    /// Columns of V, up to 128.
    pub width: i64,
    /// Q, K, V, the result.
    pub sides: [Side; 4],
    /// The bias.
    pub bias: Option<Bias>,
    /// Which scores count.
    pub causal: CausalKind,
    /// Names of the run-time integers.
    pub dims: Vec<String>,
    /// Names of the operands.
    pub operands: Vec<String>,
}

/// Scalar code from a score and an element of the bias, both f32, and the length N (an i32) to an f32.
pub type Code<'a, 'c> = &'a dyn Fn(Builder<'c>, Val<'c>, Option<Val<'c>>, Val<'c>) -> Val<'c>;

/// Why the kernel does not compute a problem.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Illegal(pub String);

struct Kernel<'p> {
    problem: &'p Problem,
    spec: KernelSpec,
    stages: i64,
    /// Buffers of Q.
    queries: i64,
    /// Q, K, V, result, bias.
    maps: [Option<usize>; 5],
    /// A bias that is read element by element: its address and strides, none where it broadcasts.
    elements: Option<(usize, [Option<Int>; 4])>,
    m: Int,
    n: Int,
    heads: Int,
    batch: Int,
}

/// What all parts of the kernel see.
#[derive(Clone, Copy)]
struct Frame<'a, 'c> {
    kernel: &'a Kernel<'a>,
    args: &'a [Val<'c>],
    shared: Val<'c>,
    m: Val<'c>,
    n: Val<'c>,
    heads: Val<'c>,
    units: Val<'c>,
    blocks: Val<'c>,
    code: Code<'a, 'c>,
}

/// A unit of work: rows of one head, and the blocks of keys that they see.
#[derive(Clone, Copy)]
struct Unit<'c> {
    row: Val<'c>,
    head: Val<'c>,
    batch: Val<'c>,
    first: Val<'c>,
    last: Val<'c>,
}

/// Emits the kernel into `module` and returns how to start it.
pub fn emit<'c>(
    context: &'c Context,
    module: &Module<'c>,
    name: &str,
    problem: &Problem,
    code: Code<'_, 'c>,
) -> Result<KernelLaunch, Illegal> {
    let fail = |what: String| Err(Illegal(what));
    if !problem.dtype.half() {
        return fail(format!("operands of {} are not f16 or bf16", problem.dtype.name()));
    }
    for size in [problem.depth, problem.width] {
        if !(8..=128).contains(&size) || size % 8 != 0 {
            return fail(format!("{size} columns; multiples of 8 up to 128 are possible"));
        }
    }
    let kernel = Kernel::new(name, problem);
    kernel.spec.emit(context, module, |b, args| kernel.body(b, module, args, code));
    Ok(kernel.spec.launch())
}

/// Columns rounded up to whole boxes.
fn padded(columns: i64) -> i64 {
    (columns + 63) / 64 * 64
}

impl<'p> Kernel<'p> {
    fn new(name: &str, problem: &'p Problem) -> Self {
        let mut params = Params::default();
        let [q, k, v, out] = &problem.sides;
        let mut map = |side: &Side, width: Expr, lines: &Expr, rows: u32| {
            params.push(Param::Map(tensor_map(problem, side, width, lines, rows)))
        };
        let maps = [
            Some(map(q, problem.depth.into(), &problem.m, TILE as u32)),
            Some(map(k, problem.depth.into(), &problem.n, TILE as u32)),
            Some(map(v, problem.width.into(), &problem.n, TILE as u32)),
            Some(map(out, problem.width.into(), &problem.m, 64)),
            match &problem.bias {
                Some(Bias::Boxes(bias)) => Some(map(bias, problem.n.clone(), &problem.m, 64)),
                _ => None,
            },
        ];
        let elements = match &problem.bias {
            Some(Bias::Elements { operand, strides, .. }) => {
                let pointer = params.push(Param::Pointer { operand: *operand, offset: 0.into() });
                let stride = |s: &Expr| (*s != Expr::Const(0)).then(|| params.long(s));
                Some((pointer, strides.each_ref().map(stride)))
            }
            _ => None,
        };
        let [m, n] = [&problem.m, &problem.n].map(|size| params.int(size));
        let (heads, batch) = (params.int(&problem.heads), params.int(&problem.batch));
        let units = problem.m.clone().ceil_div(TILE) * problem.heads.clone() * problem.batch.clone();
        let spec = KernelSpec::new(name);
        let mut kernel = Kernel { problem, spec, stages: 1, queries: 1, maps, elements, m, n, heads, batch };
        let fits = |kernel: &Kernel<'_>| kernel.barriers() + 256 <= 232_448;
        while kernel.stages < 4 && fits(&Kernel { stages: kernel.stages + 1, spec: KernelSpec::new(name), ..kernel }) {
            kernel.stages += 1;
        }
        if fits(&Kernel { queries: 2, spec: KernelSpec::new(name), ..kernel }) {
            kernel.queries = 2;
        }
        kernel.spec = KernelSpec {
            dims: problem.dims.clone(),
            operands: problem.operands.clone(),
            params: params.list,
            grid: [units.min(Expr::Sms), 1.into(), 1.into()],
            block: [384, 1, 1],
            smem_bytes: (kernel.barriers() + 256) as u32,
            alignment: 16,
            ..KernelSpec::new(name)
        };
        kernel
    }

    /// Bytes of Q, which are also those of the staged result.
    fn q_bytes(&self) -> i64 {
        padded(self.problem.depth).max(padded(self.problem.width)) / 64 * TILE * 128
    }

    /// Bytes of K, V and the bias in a stage.
    fn stage_parts(&self) -> [i64; 3] {
        let boxes = |columns: i64| padded(columns) / 64 * TILE * 128;
        let bias = if self.maps[4].is_some() { boxes(TILE) } else { 0 };
        [boxes(self.problem.depth), boxes(self.problem.width), bias]
    }

    fn stage_bytes(&self) -> i64 {
        self.stage_parts().iter().sum()
    }

    /// Where the barriers are: behind Q and the ring.
    fn barriers(&self) -> i64 {
        self.queries * self.q_bytes() + self.stages * self.stage_bytes()
    }

    fn body<'c>(&self, b: Builder<'c>, module: &Module<'c>, args: &[Val<'c>], code: Code<'_, 'c>) {
        let shared = dynamic_shared(b, module);
        let (m, n) = (self.m.i32(b, args), self.n.i32(b, args));
        let (heads, batch) = (self.heads.i32(b, args), self.batch.i32(b, args));
        let units = b.muli(b.muli(b.ceil_div_c(m, TILE), heads), batch);
        let blocks = b.ceil_div_c(n, TILE);
        let frame = Frame { kernel: self, args, shared, m, n, heads, units, blocks, code };
        let warp = b.uniform(b.div_c(b.sreg("tid.x"), 32));
        b.when(b.cmpi("eq", warp, b.c32(0)), |b| {
            b.when(sync::elect(b), |b| {
                for map in self.maps.into_iter().flatten() {
                    tma::prefetch_map(b, args[map]);
                }
                for stage in 0..self.stages + self.queries {
                    mbarrier::init(b, frame.full(b, b.c32(stage)), 1);
                    mbarrier::init(b, frame.empty(b, b.c32(stage)), if stage >= self.stages { 2 } else { 8 });
                }
                mbarrier::fence_init(b);
            });
        });
        sync::barrier(b);
        let group = b.div_c(warp, 4);
        b.if_(
            b.cmpi("eq", group, b.c32(0)),
            &[],
            |b| {
                sync::fewer_registers(b, 40);
                b.when(b.cmpi("eq", warp, b.c32(0)), |b| {
                    b.when(sync::elect(b), |b| frame.produce(b));
                });
                vec![]
            },
            |b| {
                sync::more_registers(b, 232);
                frame.consume(b, b.add_c(group, -1));
                vec![]
            },
        );
    }
}

impl<'a, 'c> Frame<'a, 'c> {
    /// The barrier of a full stage; those from number `stages` on are those of Q.
    fn full(&self, b: Builder<'c>, stage: Val<'c>) -> Val<'c> {
        b.add_c(b.addi(self.shared, b.mul_c(stage, 8)), self.kernel.barriers())
    }

    /// The barrier of an empty stage; those from number `stages` on are those of Q.
    fn empty(&self, b: Builder<'c>, stage: Val<'c>) -> Val<'c> {
        b.add_c(self.full(b, stage), 8 * (self.kernel.stages + self.kernel.queries))
    }

    /// Of this CTA's unit number `count`: the stage of its Q, where that is, and the parity of its phase.
    fn query(&self, b: Builder<'c>, count: Val<'c>) -> [Val<'c>; 3] {
        let queries = self.kernel.queries;
        let buffer = b.rem_c(count, queries);
        let at = b.addi(self.shared, b.mul_c(buffer, self.kernel.q_bytes()));
        [b.add_c(buffer, self.kernel.stages), at, b.and(b.div_c(count, queries), b.c32(1))]
    }

    fn next_stage(&self, b: Builder<'c>, stage: Val<'c>, phase: Val<'c>) -> [Val<'c>; 2] {
        let next = b.add_c(stage, 1);
        let wraps = b.cmpi("eq", next, b.c32(self.kernel.stages));
        [b.select(wraps, b.c32(0), next), b.select(wraps, b.xor(phase, b.c32(1)), phase)]
    }

    fn stage_at(&self, b: Builder<'c>, stage: Val<'c>) -> Val<'c> {
        let ring = self.kernel.queries * self.kernel.q_bytes();
        b.add_c(b.addi(self.shared, b.mul_c(stage, self.kernel.stage_bytes())), ring)
    }

    fn unit(&self, b: Builder<'c>, index: Val<'c>) -> Unit<'c> {
        let tiles = b.ceil_div_c(self.m, TILE);
        let rest = b.divu(index, tiles);
        let row = b.mul_c(b.remu(index, tiles), TILE);
        let (zero, blocks) = (b.c32(0), self.blocks);
        let [first, last] = match self.kernel.problem.causal {
            CausalKind::None => [zero, blocks],
            CausalKind::Upper => [b.div_c(row, TILE), blocks],
            CausalKind::Lower | CausalKind::LowerRight => {
                // One past the last column that the last row sees.
                let end = b.addi(b.add_c(row, TILE), self.shift(b));
                [zero, b.minsi(blocks, b.ceil_div_c(b.maxsi(end, zero), TILE))]
            }
        };
        Unit { row, head: b.remu(rest, self.heads), batch: b.divu(rest, self.heads), first, last }
    }

    /// How many columns further than its number a row sees.
    fn shift(&self, b: Builder<'c>) -> Val<'c> {
        let right = self.kernel.problem.causal == CausalKind::LowerRight;
        if right { b.subi(self.n, self.m) } else { b.c32(0) }
    }

    fn produce(&self, b: Builder<'c>) {
        let kernel = self.kernel;
        let zero = b.c32(0);
        let [k_bytes, v_bytes, _] = kernel.stage_parts();
        let depth_boxes = padded(kernel.problem.depth) / 64;
        let width_boxes = padded(kernel.problem.width) / 64;
        b.for_(b.sreg("ctaid.x"), self.units, b.sreg("nctaid.x"), &[zero, zero, zero], |b, index, state| {
            let unit = self.unit(b, index);
            let [q_stage, q_at, q_phase] = self.query(b, state[2]);
            mbarrier::wait(b, self.empty(b, q_stage), b.xor(q_phase, b.c32(1)));
            let full = self.full(b, q_stage);
            mbarrier::expect(b, full, b.c32(depth_boxes * TILE * 128));
            self.load(b, 0, q_at, [zero, unit.row], &unit, depth_boxes, TILE, full);
            let ring = b.for_(unit.first, unit.last, b.c32(1), &state[..2], |b, block, ring| {
                mbarrier::wait(b, self.empty(b, ring[0]), b.xor(ring[1], b.c32(1)));
                let full = self.full(b, ring[0]);
                mbarrier::expect(b, full, b.c32(kernel.stage_bytes()));
                let at = self.stage_at(b, ring[0]);
                let line = b.mul_c(block, TILE);
                self.load(b, 1, at, [zero, line], &unit, depth_boxes, TILE, full);
                self.load(b, 2, b.add_c(at, k_bytes), [zero, line], &unit, width_boxes, TILE, full);
                if kernel.maps[4].is_some() {
                    for half in 0..2 {
                        let row = b.add_c(unit.row, 64 * half);
                        let at = b.add_c(at, k_bytes + v_bytes + half * 2 * 64 * 128);
                        self.load(b, 4, at, [line, row], &unit, 2, 64, full);
                    }
                }
                self.next_stage(b, ring[0], ring[1]).to_vec()
            });
            vec![ring[0], ring[1], b.add_c(state[2], 1)]
        });
    }

    /// Loads `boxes` boxes of 64 columns and `lines` lines of operand `which`, one after the other.
    #[allow(clippy::too_many_arguments)] // the place of boxes in global and shared memory
    fn load(
        &self,
        b: Builder<'c>,
        which: usize,
        at: Val<'c>,
        [column, line]: [Val<'c>; 2],
        unit: &Unit<'c>,
        boxes: i64,
        lines: i64,
        full: Val<'c>,
    ) {
        let Some(map) = self.kernel.maps[which] else { return };
        for i in 0..boxes {
            let at = b.add_c(at, i * lines * 128);
            tma::load(b, at, self.args[map], &[b.add_c(column, 64 * i), line, unit.head, unit.batch], full);
        }
    }
}

/// The map of an operand: boxes of 64 columns and `rows` lines.
fn tensor_map(problem: &Problem, side: &Side, width: Expr, lines: &Expr, rows: u32) -> TensorMap {
    let one_if_same =
        |stride: &Expr, size: &Expr| if *stride == Expr::Const(0) { Expr::Const(1) } else { size.clone() };
    // A dimension of size 1 takes any legal stride.
    let legal = |stride: &Expr| if *stride == Expr::Const(0) { side.line.clone() } else { stride.clone() };
    let bytes = problem.dtype.bytes();
    TensorMap {
        operand: side.operand,
        offset: 0.into(),
        dtype: problem.dtype.map_type(),
        dims: vec![
            width,
            lines.clone(),
            one_if_same(&side.head, &problem.heads),
            one_if_same(&side.batch, &problem.batch),
        ],
        strides: vec![side.line.clone() * bytes, legal(&side.head) * bytes, legal(&side.batch) * bytes],
        boxes: vec![64, rows, 1, 1],
        swizzle: MapSwizzle::B128,
    }
}
