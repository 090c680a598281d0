//! Back-to-back products on sm_90a: out = act(Q K^T, bias) V without softmax.
//!
//! A CTA has 128 rows of Q, 64 for each of two consumer warpgroups; it walks the rows of K and V in blocks of 128, which a producer loads through TMA
//! into a ring; each of their parts is free as soon as it was read. The first product's sums become, through the scalar code, the A operand of the second one in registers. A bias of
//! [M, N] is loaded with the blocks, and read by `ldmatrix` in the layout of the sums; one that TMA does not take, or that broadcasts along M or N, is read
//! element by element. Where there is room Q has two buffers, so that the next rows are on their way before these are done.
//!
//! Of jagged rows a unit of work is a part of one sequence. A block may then hold rows of the next sequence: their scores count as 0, and as what V has there
//! need not be finite, it is overwritten with zeros. Rows of a result that end inside a tile are stored plainly.

mod consumer;

use super::{
    b2b::{Bias, Code, Illegal, Problem, Side},
    problem::{Dtype, Int, Params},
    sequences::SequenceSlots,
};
use crate::cuda::{
    emit::{mbarrier, scalar::ScalarOps, sync, tma},
    kernel::{KernelSpec, dynamic_shared},
};
use aitmlir_dialects::{
    ait::CausalKind,
    builder::Builder,
    types::{Types, Val},
};
use kernel_launch::{Expr, KernelLaunch, MapSwizzle, Param, TensorMap};
use melior::{Context, ir::Module};

/// Rows of Q of a CTA, and rows of K and V of a block.
const TILE: i64 = 128;

struct Kernel<'p> {
    problem: &'p Problem,
    spec: KernelSpec,
    stages: i64,
    /// Buffers of Q.
    queries: i64,
    /// Q, K, V, result, bias.
    maps: [Option<usize>; 5],
    /// Those of their operands that all heads, or all batches, have in common.
    common: [[bool; 2]; 5],
    /// A bias that is read element by element: its address and strides, none where it broadcasts.
    elements: Option<(usize, [Option<Int>; 4])>,
    jagged: Option<Jagged>,
    m: Int,
    n: Int,
    heads: Int,
    batch: Int,
}

/// Parameters of jagged rows: the sequences, and the result for plain stores, its address and the strides of lines and heads.
struct Jagged {
    sequences: SequenceSlots,
    out: usize,
    line: Int,
    head: Int,
}

/// What is loaded, and freed, by itself: Q, and the parts of a stage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Query,
    Key,
    Bias,
    Value,
}

impl Part {
    const ALL: [Part; 4] = [Part::Query, Part::Key, Part::Bias, Part::Value];
}

/// Stages of the ring, and buffers of Q, at most.
const MOST_STAGES: i64 = 4;
/// Bytes of all barriers: full ones, then empty ones.
const BARRIER_BYTES: i64 = 2 * 8 * MOST_STAGES * Part::ALL.len() as i64;

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
    /// Rows of Q, and of K and V, that there are.
    rows: Val<'c>,
    keys: Val<'c>,
    /// Of a jagged product, the first row of the sequence.
    start: Option<Val<'c>>,
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
        let total = problem.sequences.as_ref().map(|sequences| &sequences.total);
        let [queries, keys] = [&problem.m, &problem.n].map(|lines| total.unwrap_or(lines));
        let maps = [
            Some(map(q, problem.depth.into(), queries, TILE as u32)),
            Some(map(k, problem.depth.into(), keys, TILE as u32)),
            Some(map(v, problem.width.into(), keys, TILE as u32)),
            Some(map(out, problem.width.into(), queries, 64)),
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
        let zero = Expr::Const(0);
        let in_common = |side: &Side| [side.head == zero, side.batch == zero];
        let bias = match &problem.bias {
            Some(Bias::Boxes(side)) => in_common(side),
            _ => [false; 2],
        };
        let common = [in_common(q), in_common(k), in_common(v), in_common(out), bias];
        let jagged = problem.sequences.as_ref().map(|sequences| Jagged {
            sequences: SequenceSlots::new(&mut params, sequences),
            out: params.push(Param::Pointer { operand: out.operand, offset: 0.into() }),
            line: params.long(&out.line),
            head: params.long(&out.head),
        });
        let [m, n] = [&problem.m, &problem.n].map(|size| params.int(size));
        let (heads, batch) = (params.int(&problem.heads), params.int(&problem.batch));
        let units = problem.m.clone().ceil_div(TILE) * problem.heads.clone() * problem.batch.clone();
        let spec = KernelSpec::new(name);
        let mut kernel =
            Kernel { problem, spec, stages: 1, queries: 1, maps, common, elements, jagged, m, n, heads, batch };
        let fits = |kernel: &Kernel<'_>, [stages, queries]: [i64; 2]| {
            queries * kernel.q_bytes() + stages * kernel.stage_bytes() + BARRIER_BYTES <= 232_448
        };
        while kernel.stages < MOST_STAGES && fits(&kernel, [kernel.stages + 1, 1]) {
            kernel.stages += 1;
        }
        if fits(&kernel, [kernel.stages, 2]) {
            kernel.queries = 2;
        }
        kernel.spec = KernelSpec {
            dims: problem.dims.clone(),
            operands: problem.operands.clone(),
            params: params.list,
            grid: [units.min(Expr::Sms), 1.into(), 1.into()],
            block: [384, 1, 1],
            smem_bytes: (kernel.barriers() + BARRIER_BYTES) as u32,
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
        let frame = Frame { kernel: self, args, shared, m, n, heads, units, code };
        let warp = b.uniform(b.div_c(b.sreg("tid.x"), 32));
        b.when(b.cmpi("eq", warp, b.c32(0)), |b| {
            b.when(sync::elect(b), |b| {
                for map in self.maps.into_iter().flatten() {
                    tma::prefetch_map(b, args[map]);
                }
                for part in Part::ALL {
                    let (buffers, readers) = if part == Part::Query { (self.queries, 2) } else { (self.stages, 8) };
                    for buffer in 0..buffers {
                        mbarrier::init(b, frame.full(b, part, b.c32(buffer)), 1);
                        mbarrier::init(b, frame.empty(b, part, b.c32(buffer)), readers);
                    }
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
    /// The barrier that says that a part of a buffer is full.
    fn full(&self, b: Builder<'c>, part: Part, buffer: Val<'c>) -> Val<'c> {
        let first = self.kernel.barriers() + 8 * MOST_STAGES * part as i64;
        b.add_c(b.addi(self.shared, b.mul_c(buffer, 8)), first)
    }

    /// The barrier that says that it may be filled.
    fn empty(&self, b: Builder<'c>, part: Part, buffer: Val<'c>) -> Val<'c> {
        b.add_c(self.full(b, part, buffer), BARRIER_BYTES / 2)
    }

    /// Of this CTA's unit number `count`: the buffer of its Q, where that is, and the parity of its phase.
    fn query(&self, b: Builder<'c>, count: Val<'c>) -> [Val<'c>; 3] {
        let queries = self.kernel.queries;
        let buffer = b.rem_c(count, queries);
        let at = b.addi(self.shared, b.mul_c(buffer, self.kernel.q_bytes()));
        [buffer, at, b.and(b.div_c(count, queries), b.c32(1))]
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

    /// Unit number `index`. What is wrong with the offsets of its sequence is recorded where `reports`; it has then no rows.
    fn unit(&self, b: Builder<'c>, index: Val<'c>, reports: bool) -> Unit<'c> {
        let tiles = b.ceil_div_c(self.m, TILE);
        let rest = b.divu(index, tiles);
        let row = b.mul_c(b.remu(index, tiles), TILE);
        let (head, batch) = (b.remu(rest, self.heads), b.divu(rest, self.heads));
        let (start, rows, keys) = match &self.kernel.jagged {
            Some(jagged) => {
                let sequence = jagged.sequences.at(b, self.args, batch, reports);
                (Some(sequence.start), sequence.length, sequence.length)
            }
            None => (None, self.m, self.n),
        };
        let (zero, blocks) = (b.c32(0), b.ceil_div_c(keys, TILE));
        let [first, last] = match self.kernel.problem.causal {
            CausalKind::None => [zero, blocks],
            CausalKind::Upper => [b.div_c(row, TILE), blocks],
            CausalKind::Lower | CausalKind::LowerRight => {
                // One past the last column that the last row sees.
                let end = b.addi(b.add_c(row, TILE), self.shift(b));
                [zero, b.minsi(blocks, b.ceil_div_c(b.maxsi(end, zero), TILE))]
            }
        };
        Unit { row, head, batch, first, last, rows, keys, start }
    }

    /// Runs `work` on every unit of this CTA that has rows; what it yields is carried to the next one.
    fn each_unit(
        &self,
        b: Builder<'c>,
        reports: bool,
        work: impl FnOnce(Builder<'c>, &Unit<'c>, &[Val<'c>]) -> Vec<Val<'c>>,
    ) {
        let state = [b.c32(0); 3];
        b.for_(b.sreg("ctaid.x"), self.units, b.sreg("nctaid.x"), &state, |b, index, state| {
            let unit = self.unit(b, index, reports);
            if unit.start.is_none() {
                return work(b, &unit, state);
            }
            let types = vec![b.context().int_type(32); state.len()];
            let some = b.cmpi("slt", unit.row, unit.rows);
            b.if_(some, &types, |b| work(b, &unit, state), |_| state.to_vec())
        });
    }

    /// How many columns further than its number a row sees. Jagged ones have as many columns as rows.
    fn shift(&self, b: Builder<'c>) -> Val<'c> {
        let right = self.kernel.problem.causal == CausalKind::LowerRight && self.kernel.jagged.is_none();
        if right { b.subi(self.n, self.m) } else { b.c32(0) }
    }

    fn produce(&self, b: Builder<'c>) {
        self.each_unit(b, true, |b, unit, state| {
            let (ring, count) = (&state[..2], state[2]);
            let (first, ring) = if self.kernel.queries > 1 {
                self.load_query(b, unit, count);
                (unit.first, ring.to_vec())
            } else {
                // The only buffer of Q is free when the rows before are done and stored; the first block can be on its way by then.
                let types = [b.context().int_type(32); 2];
                let some = b.cmpi("slt", unit.first, unit.last);
                let ring = b.if_(some, &types, |b| self.load_block(b, unit, unit.first, ring), |_| ring.to_vec());
                self.load_query(b, unit, count);
                (b.add_c(unit.first, 1), ring)
            };
            let ring =
                b.for_(first, unit.last, b.c32(1), &ring, |b, block, ring| self.load_block(b, unit, block, ring));
            vec![ring[0], ring[1], b.add_c(count, 1)]
        });
    }

    /// Loads the rows of Q of this CTA's unit number `count`.
    fn load_query(&self, b: Builder<'c>, unit: &Unit<'c>, count: Val<'c>) {
        let boxes = padded(self.kernel.problem.depth) / 64;
        let [buffer, at, phase] = self.query(b, count);
        let full = self.refill(b, Part::Query, buffer, phase, boxes * TILE * 128);
        self.load(b, 0, at, [b.c32(0), unit.row], unit, boxes, TILE, full);
    }

    /// Waits until a part of a buffer may be filled, with `bytes` bytes; the barrier that they arrive at.
    fn refill(&self, b: Builder<'c>, part: Part, buffer: Val<'c>, phase: Val<'c>, bytes: i64) -> Val<'c> {
        mbarrier::wait(b, self.empty(b, part, buffer), b.xor(phase, b.c32(1)));
        let full = self.full(b, part, buffer);
        mbarrier::expect(b, full, b.c32(bytes));
        full
    }

    /// Loads a block of K, V and the bias into the next stage of the ring, each when its place is free; the ring after it.
    fn load_block(&self, b: Builder<'c>, unit: &Unit<'c>, block: Val<'c>, ring: &[Val<'c>]) -> Vec<Val<'c>> {
        let kernel = self.kernel;
        let [k_bytes, v_bytes, bias_bytes] = kernel.stage_parts();
        let [depth_boxes, width_boxes] = [kernel.problem.depth, kernel.problem.width].map(|n| padded(n) / 64);
        let (stage, phase) = (ring[0], ring[1]);
        let at = self.stage_at(b, stage);
        let (zero, line) = (b.c32(0), b.mul_c(block, TILE));
        let full = self.refill(b, Part::Key, stage, phase, k_bytes);
        self.load(b, 1, at, [zero, line], unit, depth_boxes, TILE, full);
        if kernel.maps[4].is_some() {
            let full = self.refill(b, Part::Bias, stage, phase, bias_bytes);
            for half in 0..2 {
                let row = b.add_c(unit.row, 64 * half);
                let at = b.add_c(at, k_bytes + v_bytes + half * 2 * 64 * 128);
                self.load(b, 4, at, [line, row], unit, 2, 64, full);
            }
        }
        let full = self.refill(b, Part::Value, stage, phase, v_bytes);
        self.load(b, 2, b.add_c(at, k_bytes), [zero, line], unit, width_boxes, TILE, full);
        self.next_stage(b, stage, phase).to_vec()
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
            tma::load(b, at, self.args[map], &self.place(b, which, unit, [b.add_c(column, 64 * i), line]), full);
        }
    }

    /// Coordinates of an element of operand `which`.
    fn place(&self, b: Builder<'c>, which: usize, unit: &Unit<'c>, [column, line]: [Val<'c>; 2]) -> [Val<'c>; 4] {
        let [same_heads, same_batches] = self.kernel.common[which];
        let line = match unit.start.filter(|_| which < 4) {
            Some(start) => b.addi(start, line),
            None => line,
        };
        let (head, batch) =
            (if same_heads { b.c32(0) } else { unit.head }, if same_batches { b.c32(0) } else { unit.batch });
        [column, line, head, batch]
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
