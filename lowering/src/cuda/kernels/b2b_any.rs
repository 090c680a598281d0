//! Back-to-back products of operands at any address and of any strides: a warp a row. A lane computes the score of one key of 32, then columns of the
//! weighted sum of their values. For what the tensor cores' kernels do not take.

use super::{
    b2b::{Bias, Code, Problem, Side},
    problem::{Dtype, Int, Params},
    sequences::SequenceSlots,
};
use crate::cuda::{
    emit::{i64c, memory, scalar::ScalarOps},
    kernel::KernelSpec,
};
use aitmlir_dialects::{
    ait::CausalKind,
    builder::Builder,
    types::{Types, Val},
};
use kernel_launch::{Expr, KernelLaunch, Param};
use melior::{Context, ir::Module};

/// Warps of a CTA.
const WARPS: i64 = 8;
/// CTAs for each multiprocessor.
const WAVES: i64 = 16;

/// A tensor [B, H, lines, columns]: its address and strides, none where all are the same.
struct Slot {
    pointer: usize,
    dtype: Dtype,
    strides: [Option<Int>; 4],
}

impl Slot {
    fn new(params: &mut Params, operand: u32, dtype: Dtype, strides: [&Expr; 4]) -> Self {
        let pointer = params.push(Param::Pointer { operand, offset: 0.into() });
        let stride = |stride: &Expr| (*stride != Expr::Const(0)).then(|| params.long(stride));
        Slot { pointer, dtype, strides: strides.map(stride) }
    }

    fn of_side(params: &mut Params, problem: &Problem, side: &Side) -> Self {
        let strides = [&side.batch, &side.head, &side.line, &side.column];
        Slot::new(params, side.operand, problem.dtype, strides)
    }
}

struct Kernel<'p> {
    problem: &'p Problem,
    /// Q, K, V, the result.
    sides: [Slot; 4],
    bias: Option<Slot>,
    sequences: Option<SequenceSlots>,
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
    lane: Val<'c>,
    /// Rows of Q and of K, as stated.
    m: Val<'c>,
    n: Val<'c>,
    code: Code<'a, 'c>,
}

/// A row of scores: where it is, and the rows of K and V that there are.
#[derive(Clone, Copy)]
struct Row<'c> {
    batch: Val<'c>,
    head: Val<'c>,
    row: Val<'c>,
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
) -> KernelLaunch {
    let mut params = Params::default();
    let kernel = Kernel {
        problem,
        sides: problem.sides.each_ref().map(|side| Slot::of_side(&mut params, problem, side)),
        bias: problem.bias.as_ref().map(|bias| match bias {
            Bias::Boxes(side) => Slot::of_side(&mut params, problem, side),
            Bias::Elements { operand, dtype, strides } => Slot::new(&mut params, *operand, *dtype, strides.each_ref()),
        }),
        sequences: problem.sequences.as_ref().map(|sequences| SequenceSlots::new(&mut params, sequences)),
        m: params.int(&problem.m),
        n: params.int(&problem.n),
        heads: params.int(&problem.heads),
        batch: params.int(&problem.batch),
    };
    let rows = problem.m.clone() * problem.heads.clone() * problem.batch.clone();
    let spec = KernelSpec {
        dims: problem.dims.clone(),
        operands: problem.operands.clone(),
        params: params.list,
        grid: [rows.ceil_div(WARPS).min(Expr::Sms.times(WAVES)), 1.into(), 1.into()],
        block: [32 * WARPS as u32, 1, 1],
        ..KernelSpec::new(name)
    };
    spec.emit(context, module, |b, args| kernel.body(b, args, code));
    spec.launch()
}

impl Kernel<'_> {
    fn body<'c>(&self, b: Builder<'c>, args: &[Val<'c>], code: Code<'_, 'c>) {
        let thread = b.sreg("tid.x");
        let (m, n) = (self.m.i32(b, args), self.n.i32(b, args));
        let (heads, batch) = (self.heads.i32(b, args), self.batch.i32(b, args));
        let frame = Frame { kernel: self, args, lane: b.and(thread, b.c32(31)), m, n, code };
        let first = b.addi(b.mul_c(b.sreg("ctaid.x"), WARPS), b.uniform(b.shr_c(thread, 5)));
        let rows = b.muli(b.muli(m, heads), batch);
        b.for_(first, rows, b.mul_c(b.sreg("nctaid.x"), WARPS), &[], |b, index, _| {
            let rest = b.divu(index, m);
            let (row, head, batch) = (b.remu(index, m), b.remu(rest, heads), b.divu(rest, heads));
            match &self.sequences {
                Some(sequences) => {
                    let sequence = sequences.at(b, args, batch, true);
                    b.when(b.cmpi("slt", row, sequence.length), |b| {
                        let (keys, start) = (sequence.length, Some(sequence.start));
                        frame.row(b, &Row { batch, head, row, keys, start });
                    });
                }
                None => frame.row(b, &Row { batch, head, row, keys: n, start: None }),
            }
            vec![]
        });
    }
}

impl<'c> Frame<'_, 'c> {
    fn row(&self, b: Builder<'c>, row: &Row<'c>) {
        let [first, last] = self.seen(b, row);
        let columns = (self.kernel.problem.width + 31) / 32;
        let zeros = vec![b.float(b.context().f32_type(), 0.0); columns as usize];
        let sums = b.for_(first, last, b.c32(32), &zeros, |b, base, sums| {
            let key = b.addi(base, self.lane);
            let inside = b.cmpi("slt", key, last);
            let weight = self.weight(b, row, b.minsi(key, b.add_c(last, -1)));
            let weight = b.select(inside, weight, b.float(b.context().f32_type(), 0.0));
            let count = b.minsi(b.subi(last, base), b.c32(32));
            b.for_(b.c32(0), count, b.c32(1), sums, |b, i, sums| {
                let weight = b.shuffle_f32(weight, i);
                let line = b.addi(base, i);
                let add = |(c, sum): (usize, &Val<'c>)| {
                    let column = b.minsi(self.column(b, c), b.c32(self.kernel.problem.width - 1));
                    let value = self.element(b, &self.kernel.sides[2], row, line, column);
                    b.op1("math.fma", &[weight, value, *sum], b.context().f32_type(), &[])
                };
                sums.iter().enumerate().map(add).collect()
            })
        });
        for (c, sum) in sums.into_iter().enumerate() {
            let column = self.column(b, c);
            b.when(b.cmpi("slt", column, b.c32(self.kernel.problem.width)), |b| {
                let at = self.address(b, &self.kernel.sides[3], row, row.row, column);
                memory::store(b, at, self.rounded(b, sum));
            });
        }
    }

    /// Column number `c` of this lane.
    fn column(&self, b: Builder<'c>, c: usize) -> Val<'c> {
        b.add_c(self.lane, 32 * c as i64)
    }

    /// The keys that a row sees.
    fn seen(&self, b: Builder<'c>, row: &Row<'c>) -> [Val<'c>; 2] {
        let (zero, next) = (b.c32(0), b.add_c(row.row, 1));
        match self.kernel.problem.causal {
            CausalKind::None => [zero, row.keys],
            CausalKind::Upper => [row.row, row.keys],
            // Jagged ones have as many keys as rows.
            CausalKind::LowerRight if row.start.is_none() => {
                let end = b.addi(next, b.subi(self.n, self.m));
                [zero, b.minsi(end, row.keys)]
            }
            CausalKind::Lower | CausalKind::LowerRight => [zero, b.minsi(next, row.keys)],
        }
    }

    /// The weight of one key, rounded as the tensor cores take it.
    fn weight(&self, b: Builder<'c>, row: &Row<'c>, key: Val<'c>) -> Val<'c> {
        let [query, keys, ..] = &self.kernel.sides;
        let f32 = b.context().f32_type();
        let depth = b.c32(self.kernel.problem.depth);
        let score = b.for_(b.c32(0), depth, b.c32(1), &[b.float(f32, 0.0)], |b, d, sum| {
            let (q, k) = (self.element(b, query, row, row.row, d), self.element(b, keys, row, key, d));
            vec![b.op1("math.fma", &[q, k, sum[0]], f32, &[])]
        })[0];
        let bias = self.kernel.bias.as_ref().map(|bias| {
            // A bias is not jagged.
            let place = Row { start: None, ..*row };
            self.element(b, bias, &place, row.row, key)
        });
        let weight = self.rounded(b, (self.code)(b, score, bias, self.n));
        extended(b, weight, self.kernel.problem.dtype)
    }

    fn rounded(&self, b: Builder<'c>, value: Val<'c>) -> Val<'c> {
        match self.kernel.problem.dtype {
            Dtype::F32 => value,
            dtype => b.op1("arith.truncf", &[value], dtype.mlir(b), &[]),
        }
    }

    /// An element as f32.
    fn element(&self, b: Builder<'c>, slot: &Slot, row: &Row<'c>, line: Val<'c>, column: Val<'c>) -> Val<'c> {
        let value = memory::load(b, self.address(b, slot, row, line, column), slot.dtype.mlir(b));
        extended(b, value, slot.dtype)
    }

    fn address(&self, b: Builder<'c>, slot: &Slot, row: &Row<'c>, line: Val<'c>, column: Val<'c>) -> Val<'c> {
        let line = row.start.map_or(line, |start| b.addi(start, line));
        let mut place = i64c(b, 0);
        for (at, stride) in [row.batch, row.head, line, column].into_iter().zip(slot.strides) {
            if let Some(stride) = stride {
                place = b.addi(place, b.muli(b.wide(at), stride.i64(b, self.args)));
            }
        }
        memory::offset(b, self.args[slot.pointer], b.muli(place, i64c(b, slot.dtype.bytes())))
    }
}

/// A float as f32.
fn extended<'c>(b: Builder<'c>, value: Val<'c>, dtype: Dtype) -> Val<'c> {
    if dtype == Dtype::F32 { value } else { b.op1("arith.extf", &[value], b.context().f32_type(), &[]) }
}
