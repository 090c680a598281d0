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
mod producer;
mod store;
mod tiling;
mod weights;

use super::{
    b2b::{Bias, Code, Illegal, Problem, Side},
    problem::{Int, Params},
    sequences::{Sequence, SequenceSlots},
};
use crate::cuda::{
    emit::{i64c, memory, scalar::ScalarOps, sync, tma},
    kernel::{KernelSpec, dynamic_shared_pointer},
};
use aitmlir_dialects::{
    ait::CausalKind,
    builder::Builder,
    cute::author::{BuildError, Built, CuteBuilder, Pipeline, Tensor, View},
    types::{Types, Val},
};
use kernel_launch::{Expr, KernelLaunch, MapSwizzle, Param, TensorMap};
use melior::{Context, ir::Module};
use tiling::{BOX, Copies, STORED, Tiling};

/// Rows of Q of a CTA, and rows of K and V of a block.
const TILE: i64 = 128;

struct Kernel<'p> {
    problem: &'p Problem,
    tiling: Tiling,
    spec: KernelSpec,
    stages: i64,
    /// Buffers of Q.
    queries: i64,
    /// Tensor maps of what is loaded, by part, and of the result.
    maps: [Option<usize>; 4],
    out: usize,
    /// Those of their operands that all heads, or all batches, have in common; that of the result is at [`OUT`].
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

/// What is loaded, and freed, by itself: Q, and the parts of a stage. Each is a pipeline.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Query,
    Key,
    Value,
    Bias,
}

impl Part {
    const ALL: [Part; 4] = [Part::Query, Part::Key, Part::Value, Part::Bias];
}

/// The number of the result among operands that have tensor maps: after the parts.
const OUT: usize = Part::ALL.len();

/// Stages of the ring, and buffers of Q, at most.
const MOST_STAGES: i64 = 4;
/// Bytes of the barriers of a pipeline, and of all.
const PIPELINE_BYTES: i64 = 16 * MOST_STAGES;
const BARRIER_BYTES: i64 = PIPELINE_BYTES * Part::ALL.len() as i64;

/// What all parts of the kernel see.
#[derive(Clone, Copy)]
struct Frame<'a, 'c> {
    kernel: &'a Kernel<'a>,
    args: &'a [Val<'c>],
    /// Shared memory, an `!llvm.ptr<3>`, and the pipelines of its parts.
    shared: Val<'c>,
    pipes: [Pipeline<'c>; 4],
    m: Val<'c>,
    n: Val<'c>,
    heads: Val<'c>,
    batch: Val<'c>,
    units: Val<'c>,
    code: Code<'a, 'c>,
}

/// A unit of work: rows of one head, and the blocks of keys that they see.
#[derive(Clone, Copy)]
struct Unit<'c> {
    /// The number of the tile of rows, and its first row.
    tile: Val<'c>,
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

impl From<BuildError> for Illegal {
    fn from(error: BuildError) -> Self {
        Illegal(error.to_string())
    }
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
    let mut built = Ok(());
    kernel.spec.emit(context, module, |b, args| built = kernel.body(b, module, args, code));
    built?;
    Ok(kernel.spec.launch())
}

/// Columns rounded up to whole boxes.
fn padded(columns: i64) -> i64 {
    (columns + BOX - 1) / BOX * BOX
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
        let [query, key, value] = [
            map(q, problem.depth.into(), queries, TILE as u32),
            map(k, problem.depth.into(), keys, TILE as u32),
            map(v, problem.width.into(), keys, TILE as u32),
        ]
        .map(Some);
        let result = map(out, problem.width.into(), queries, STORED as u32);
        let boxed = match &problem.bias {
            Some(Bias::Boxes(bias)) => Some(map(bias, problem.n.clone(), &problem.m, TILE as u32)),
            _ => None,
        };
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
        let common = [in_common(q), in_common(k), in_common(v), bias, in_common(out)];
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
        let mut kernel = Kernel {
            problem,
            tiling: Tiling::new(problem),
            spec,
            stages: 1,
            queries: 1,
            maps: [query, key, value, boxed],
            out: result,
            common,
            elements,
            jagged,
            m,
            n,
            heads,
            batch,
        };
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

    /// The tensor map of a part, of one that there is.
    fn map(&self, part: Part) -> Option<usize> {
        self.maps[part as usize]
    }

    /// Bytes that are loaded of a part.
    fn part_bytes(&self, part: Part) -> i64 {
        match self.map(part) {
            Some(_) => self.tiling.columns(part) * TILE * 2,
            None => 0,
        }
    }

    /// Bytes of a buffer of Q, in which there is room for the result.
    fn q_bytes(&self) -> i64 {
        self.part_bytes(Part::Query).max(self.tiling.width() * TILE * 2)
    }

    /// Bytes of K, V and the bias in a stage.
    fn stage_bytes(&self) -> i64 {
        [Part::Key, Part::Value, Part::Bias].map(|part| self.part_bytes(part)).iter().sum()
    }

    /// Where the first copy of a part is in shared memory: buffers of Q, then stages.
    fn first(&self, part: Part) -> i64 {
        let ring = self.queries * self.q_bytes();
        match part {
            Part::Query => 0,
            Part::Key => ring,
            Part::Value => ring + self.part_bytes(Part::Key),
            Part::Bias => ring + self.part_bytes(Part::Key) + self.part_bytes(Part::Value),
        }
    }

    /// The copies of a part in shared memory.
    fn copies(&self, part: Part) -> Copies {
        match part {
            Part::Query => Copies { count: self.queries, step: self.q_bytes() / 2 },
            _ => Copies { count: self.stages, step: self.stage_bytes() / 2 },
        }
    }

    /// Where the barriers are: behind Q and the ring.
    fn barriers(&self) -> i64 {
        self.queries * self.q_bytes() + self.stages * self.stage_bytes()
    }

    fn body<'c>(&self, b: Builder<'c>, module: &Module<'c>, args: &[Val<'c>], code: Code<'_, 'c>) -> Built<()> {
        let k = CuteBuilder::new(b);
        let shared = dynamic_shared_pointer(b, module);
        let (m, n) = (self.m.i32(b, args), self.n.i32(b, args));
        let (heads, batch) = (self.heads.i32(b, args), self.batch.i32(b, args));
        let units = b.muli(b.muli(b.ceil_div_c(m, TILE), heads), batch);
        let pipe = |part: Part| {
            let at = memory::offset(b, shared, i64c(b, self.barriers() + PIPELINE_BYTES * part as i64));
            // A warpgroup is done with Q as one, when it has stored; of what is in the ring each warp by itself.
            k.pipeline(at, self.copies(part).count, 1, if part == Part::Query { 2 } else { 8 })
        };
        let [query, key, value, bias] = Part::ALL.map(pipe);
        let pipes = [query?, key?, value?, bias?];
        let frame = Frame { kernel: self, args, shared, pipes, m, n, heads, batch, units, code };
        let warp = b.uniform(b.div_c(b.sreg("tid.x"), 32));
        k.when(b.cmpi("eq", warp, b.c32(0)), |k| k.when(sync::elect(k.builder()), |k| frame.begin(k)))?;
        sync::barrier(b);
        let group = b.div_c(warp, 4);
        k.if_(
            b.cmpi("eq", group, b.c32(0)),
            &[],
            |k| {
                let b = k.builder();
                sync::fewer_registers(b, 40);
                k.when(b.cmpi("eq", warp, b.c32(0)), |k| k.when(sync::elect(k.builder()), |k| frame.produce(k)))?;
                Ok(vec![])
            },
            |k| {
                let b = k.builder();
                sync::more_registers(b, 232);
                frame.consume(k, b.add_c(group, -1))?;
                Ok(vec![])
            },
        )?;
        Ok(())
    }
}

impl<'a, 'c> Frame<'a, 'c> {
    /// What one thread does first.
    fn begin(&self, k: CuteBuilder<'c>) -> Built<()> {
        for map in self.kernel.maps.into_iter().flatten().chain([self.kernel.out]) {
            tma::prefetch_map(k.builder(), self.args[map]);
        }
        self.pipes.iter().try_for_each(|pipe| k.pipeline_init(*pipe))
    }

    fn pipe(&self, part: Part) -> Pipeline<'c> {
        self.pipes[part as usize]
    }

    /// All copies of a part in shared memory, as a layout of [`Tiling`] sees them.
    fn shared(&self, k: CuteBuilder<'c>, part: Part, layout: String) -> Built<View<'c>> {
        let b = k.builder();
        let pointer = memory::offset(b, self.shared, i64c(b, self.kernel.first(part)));
        k.shared(pointer, self.kernel.tiling.element(), 1024, layout)
    }

    /// The boxes of a part, of `lines` lines each.
    fn boxes(&self, k: CuteBuilder<'c>, part: Part, lines: i64) -> Built<View<'c>> {
        self.shared(k, part, Tiling::boxes(self.kernel.tiling.columns(part), lines, self.kernel.copies(part)))
    }

    /// Of a view whose last mode is the copies of a part, the one of a pipeline's state; `modes` is the coordinate of the others.
    fn of_state<T: Tensor<'c>>(
        &self,
        k: CuteBuilder<'c>,
        view: T,
        modes: &str,
        part: Part,
        state: Val<'c>,
    ) -> Built<T> {
        match self.kernel.copies(part).count {
            1 => k.slice(view, format!("({modes},0)"), &[]),
            count => {
                let stage = k.stage(self.pipe(part), state)?;
                k.slice(view, format!("({modes},?{{min=0,max={}}})", count - 1), &[stage])
            }
        }
    }

    /// Where element (line, column) of operand `which` is, in the modes of its tensor map: (line, column, head, batch).
    fn coordinate(
        &self,
        k: CuteBuilder<'c>,
        which: usize,
        unit: &Unit<'c>,
        [line, column]: [Val<'c>; 2],
    ) -> Built<Val<'c>> {
        let b = k.builder();
        let [same_heads, same_batches] = self.kernel.common[which];
        // A bias has rows for each sequence, the others the rows of all.
        let line = match unit.start.filter(|_| which != Part::Bias as usize) {
            Some(start) => b.addi(start, line),
            None => line,
        };
        let (head, batch) =
            (if same_heads { b.c32(0) } else { unit.head }, if same_batches { b.c32(0) } else { unit.batch });
        k.make("int_tuple", "(?,?,?,?)", &[line, column, head, batch])
    }

    /// The sequence, or batch, of unit number `index`.
    fn batch_of(&self, b: Builder<'c>, index: Val<'c>) -> Val<'c> {
        b.divu(b.divu(index, b.ceil_div_c(self.m, TILE)), self.heads)
    }

    /// Unit number `index`, of jagged rows in this sequence.
    fn unit(&self, b: Builder<'c>, index: Val<'c>, sequence: Option<Sequence<'c>>) -> Unit<'c> {
        let tiles = b.ceil_div_c(self.m, TILE);
        let (tile, rest) = (b.remu(index, tiles), b.divu(index, tiles));
        let row = b.mul_c(tile, TILE);
        let (head, batch) = (b.remu(rest, self.heads), b.divu(rest, self.heads));
        let (rows, keys) = sequence.map_or((self.m, self.n), |sequence| (sequence.length, sequence.length));
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
        Unit { tile, row, head, batch, first, last, rows, keys, start: sequence.map(|sequence| sequence.start) }
    }

    /// Runs `work` on every unit of this CTA that has rows, with the states of the ring and of Q; what it yields are those of the next one.
    /// What is wrong with the offsets of a sequence is recorded where `reports`; it has then no rows.
    fn each_unit(
        &self,
        k: CuteBuilder<'c>,
        reports: bool,
        work: impl FnOnce(CuteBuilder<'c>, &Unit<'c>, [Val<'c>; 2]) -> Built<[Val<'c>; 2]>,
    ) -> Built<()> {
        let b = k.builder();
        let [begin, step] = ["ctaid.x", "nctaid.x"].map(|name| b.sreg(name));
        let range = [begin, self.units, step];
        let zero = b.c32(0);
        let Some(jagged) = &self.kernel.jagged else {
            k.for_(range, &[zero; 2], |k, index, state| {
                let unit = self.unit(k.builder(), index, None);
                Ok(work(k, &unit, [state[0], state[1]])?.to_vec())
            })?;
            return Ok(());
        };
        let (sequences, args) = (&jagged.sequences, self.args);
        // Where there are no units there may be no offsets.
        k.when(b.cmpi("slt", begin, self.units), |k| {
            let b = k.builder();
            let offsets = sequences.offsets(b, args, self.batch_of(b, begin));
            k.for_(range, &[zero, zero, offsets[0], offsets[1]], |k, index, state| {
                let b = k.builder();
                // The next unit's offsets are on their way during this one.
                let next = b.minsi(b.addi(index, step), b.add_c(self.units, -1));
                let ahead = sequences.offsets(b, args, self.batch_of(b, next));
                let sequence = sequences.checked(b, args, self.batch_of(b, index), [state[2], state[3]], reports);
                let unit = self.unit(b, index, Some(sequence));
                let (now, types) = ([state[0], state[1]], [b.context().int_type(32); 2]);
                let some = b.cmpi("slt", unit.row, unit.rows);
                let then = k.if_(some, &types, |k| Ok(work(k, &unit, now)?.to_vec()), |_| Ok(now.to_vec()))?;
                Ok(vec![then[0], then[1], ahead[0], ahead[1]])
            })?;
            Ok(())
        })
    }

    /// How many columns further than its number a row sees. Jagged ones have as many columns as rows.
    fn shift(&self, b: Builder<'c>) -> Val<'c> {
        let right = self.kernel.problem.causal == CausalKind::LowerRight && self.kernel.jagged.is_none();
        if right { b.subi(self.n, self.m) } else { b.c32(0) }
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
        boxes: vec![BOX as u32, rows, 1, 1],
        swizzle: MapSwizzle::B128,
    }
}
