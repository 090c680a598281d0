//! Matrix products on sm_80 and later: `cp.async` fills a ring of stages in shared memory, warps multiply with `mma.sync`, or with FMA where f32 is
//! to stay f32. It takes any size, alignment, stride and contiguous dimension; what is not aligned is copied in smaller pieces.
//!
//! The kernel is written in the cute dialect: [`tiling`] says as layouts how tiles lie in shared memory and how threads share their work; [`load`], [`multiply`] and the epilogue
//! are copies and products of the parts that a thread has by them.
//!
//! A stage holds rows of 128 bytes, whose 16-byte pieces are swizzled by the row's number, so that `ldmatrix` has no bank conflicts. Rows are lines of
//! the operand along K; where a 16-bit operand is contiguous along its lines, rows are steps of K, in blocks of 64 lines, and `ldmatrix`
//! transposes.
//!
//! Where rows are grouped ([`Problem::groups`]), there are as many CTAs as tiles can be. Each finds its group by a binary search, and counts rows from the group's first one on: the rest is as for
//! a matrix that has the group's rows.

pub mod choose;
mod config;
mod cost;
mod load;
mod multiply;
mod names;
mod tiling;

pub use config::{Config, Kind};
pub use names::parse;

use super::{
    elements::{ElementSlots, Elements, Pair},
    gemm_sm90::Illegal,
    members,
    problem::{BatchSlot, Int, Params, Place, Problem, Region, grouped, one_form, operand_names},
    sequences::SequenceSlots,
};
use crate::cuda::{
    emit::{async_copy, i64c, memory, scalar::ScalarOps, sync},
    kernel::{KernelSpec, dynamic_shared_pointer},
};
use aitmlir_dialects::{
    builder::Builder,
    cute::author::{Built, CuteBuilder, View},
    types::Val,
};
use kernel_launch::{KernelLaunch, Param};
use load::Side;
use melior::{Context, ir::Module};
use multiply::Product;
use tiling::Tiling;

/// A kernel that can be emitted.
struct Gemm<'p> {
    /// The first problem of the group; the others have its form.
    problem: &'p Problem,
    /// Problems of the group.
    members: usize,
    /// Has the batch of each only one matrix?
    single: bool,
    config: Config,
    tiling: Tiling,
    spec: KernelSpec,
    slots: Slots,
}

struct Slots {
    a: OperandSlot,
    rights: Vec<OperandSlot>,
    m: Int,
    n: Int,
    k: Int,
    batch: Int,
    groups: Option<SequenceSlots>,
    elements: ElementSlots,
}

impl Slots {
    /// Adds the parameters of a problem.
    fn new(params: &mut Params, problem: &Problem) -> Self {
        Slots {
            a: OperandSlot::new(params, problem, &problem.a),
            rights: problem.rights().map(|place| OperandSlot::new(params, problem, place)).collect(),
            m: params.int(&problem.m),
            n: params.int(&problem.n),
            k: params.int(&problem.k),
            batch: params.int(&problem.batch),
            groups: problem.groups.as_ref().map(|groups| SequenceSlots::new(params, groups)),
            elements: ElementSlots::new(params, problem, true),
        }
    }
}

/// Parameters of A or B.
struct OperandSlot {
    pointer: usize,
    line: Int,
    step: Int,
    batch: BatchSlot,
}

/// What all parts of the kernel see.
#[derive(Clone, Copy)]
struct Frame<'a, 'c> {
    gemm: &'a Gemm<'a>,
    args: &'a [Val<'c>],
    /// The stages, an `!llvm.ptr<3>`.
    shared: Val<'c>,
    m: Val<'c>,
    n: Val<'c>,
    k: Val<'c>,
    /// Blocks of K.
    blocks: Val<'c>,
    /// The tile's number along M and N, and its matrix of the batch.
    row: Val<'c>,
    column: Val<'c>,
    batch: Val<'c>,
    /// The thread.
    thread: Val<'c>,
    region: Region<'a, 'c>,
}

/// Emits the kernel into `module` and returns how to start it.
pub fn emit<'c>(
    context: &'c Context,
    module: &Module<'c>,
    name: &str,
    problem: &Problem,
    config: Config,
    region: Region<'_, 'c>,
) -> Result<KernelLaunch, Illegal> {
    emit_group(context, module, name, std::slice::from_ref(problem), config, region)
}

/// The same for a group of problems that are all of one form ([`Problem::has_form_of`]), in one launch.
pub fn emit_group<'c>(
    context: &'c Context,
    module: &Module<'c>,
    name: &str,
    problems: &[Problem],
    config: Config,
    region: Region<'_, 'c>,
) -> Result<KernelLaunch, Illegal> {
    one_form(problems)?;
    problems.iter().try_for_each(|problem| config.check(problem))?;
    let gemm = Gemm::new(name, problems, config);
    let mut built = Ok(());
    gemm.spec.emit(context, module, |b, args| built = gemm.body(b, module, args, region));
    built?;
    Ok(gemm.spec.launch())
}

impl OperandSlot {
    fn new(params: &mut Params, problem: &Problem, place: &Place) -> Self {
        let offset = place.offset.clone() * problem.dtype.bytes();
        OperandSlot {
            pointer: params.push(Param::Pointer { operand: place.operand, offset }),
            line: params.long(&place.line),
            step: params.long(&place.step),
            batch: BatchSlot::new(params, problem, place.batch.as_ref(), &place.spread),
        }
    }
}

impl<'p> Gemm<'p> {
    fn new(name: &str, problems: &'p [Problem], config: Config) -> Self {
        let problem = &problems[0];
        let (slots, params) = grouped(problems, Slots::new);
        let [rows, columns] = config.tile().map(i64::from);
        let tiles = |problem: &Problem| problem.row_tiles(rows) * problem.n.clone().ceil_div(columns);
        let tiles = problems.iter().map(tiles).reduce(|sum, tiles| sum + tiles).unwrap_or(0.into());
        let spec = KernelSpec {
            dims: problem.dims.clone(),
            operands: operand_names(problems),
            params,
            grid: [tiles, 1.into(), 1.into()],
            block: [config.threads(), 1, 1],
            smem_bytes: config.shared_bytes(problem),
            alignment: config.alignment(problem),
            ..KernelSpec::new(name)
        };
        let (members, single) = (problems.len(), problems.iter().all(Problem::single));
        Gemm { problem, members, single, config, tiling: Tiling::new(config, problem), spec, slots }
    }

    /// The parameters of the CTA's problem, and the number of its tile there.
    fn arguments<'c>(&self, b: Builder<'c>, params: &[Val<'c>]) -> (Vec<Val<'c>>, Val<'c>) {
        let index = b.sreg("ctaid.x");
        if self.members == 1 {
            return (params.to_vec(), index);
        }
        let of = |b: Builder<'c>, problem: Val<'c>| members::arguments(b, &self.spec.params, params, problem);
        let [rows, columns] = self.config.tile().map(i64::from);
        let at = members::find(b, index, b.c32(self.members as i64), [b.c32(0), b.c32(0)], |b, problem| {
            let args = of(b, problem);
            let (m, n) = (self.slots.m.i32(b, &args), self.slots.n.i32(b, &args));
            b.muli(b.muli(b.ceil_div_c(m, rows), b.ceil_div_c(n, columns)), self.slots.batch.i32(b, &args))
        });
        (of(b, at[0]), b.subi(index, at[1]))
    }

    fn body<'c>(&self, b: Builder<'c>, module: &Module<'c>, params: &[Val<'c>], region: Region<'_, 'c>) -> Built<()> {
        let [rows, columns] = self.config.tile().map(i64::from);
        let shared = dynamic_shared_pointer(b, module);
        if let Some(groups) = &self.slots.groups {
            return self.in_group(b, groups, shared, params, region);
        }
        let (args, index) = self.arguments(b, params);
        let (m, n) = (self.slots.m.i32(b, &args), self.slots.n.i32(b, &args));
        let (batch, tile) = if self.single {
            (b.c32(0), index)
        } else {
            let each = b.muli(b.ceil_div_c(m, rows), b.ceil_div_c(n, columns));
            (b.divu(index, each), b.remu(index, each))
        };
        self.frame(b, shared, &args, [m, batch, tile], region).run(CuteBuilder::new(b))
    }

    /// The CTA finds its group by the offsets, and computes a tile of it, if there is one for it.
    fn in_group<'c>(
        &self,
        b: Builder<'c>,
        groups: &SequenceSlots,
        shared: Val<'c>,
        params: &[Val<'c>],
        region: Region<'_, 'c>,
    ) -> Built<()> {
        let [rows, columns] = self.config.tile().map(i64::from);
        let index = b.sreg("ctaid.x");
        b.when(b.cmpi("eq", index, b.c32(0)), |b| {
            groups.check(b, params, b.sreg("tid.x"), i64::from(self.config.threads()));
        });
        let tiles_n = b.ceil_div_c(self.slots.n.i32(b, params), columns);
        let mut built = Ok(());
        b.when(b.cmpi("sgt", groups.count(b, params), b.c32(0)), |b| {
            let group = groups.find(b, params, b.divu(index, tiles_n), rows);
            let own = groups.at(b, params, group, false);
            let first = b.muli(groups.first_place(b, params, group, rows), tiles_n);
            let tile = b.subi(index, first);
            let tiles = b.muli(b.ceil_div_c(own.length, rows), tiles_n);
            let mut args = params.to_vec();
            self.count_from(b, &mut args, own.start);
            b.when(b.cmpi("ult", tile, tiles), |b| {
                let frame = self.frame(b, shared, &args, [own.length, group, tile], region);
                built = frame.run(CuteBuilder::new(b));
            });
        });
        built
    }

    /// Lets rows of A, of extras and of the results be counted from row `first` on.
    fn count_from<'c>(&self, b: Builder<'c>, args: &mut [Val<'c>], first: Val<'c>) {
        let slot = &self.slots.a;
        let stride = if self.problem.a.inner { slot.line } else { slot.step };
        let bytes = b.muli(b.muli(b.wide(first), stride.i64(b, args)), i64c(b, self.problem.dtype.bytes()));
        args[slot.pointer] = memory::offset(b, args[slot.pointer], bytes);
        self.slots.elements.count_from(b, self.problem, args, first);
    }

    /// What tile `tile` of matrix `batch`, of `m` rows, needs.
    fn frame<'a, 'c>(
        &'a self,
        b: Builder<'c>,
        shared: Val<'c>,
        args: &'a [Val<'c>],
        [m, batch, tile]: [Val<'c>; 3],
        region: Region<'a, 'c>,
    ) -> Frame<'a, 'c> {
        let [rows, columns] = self.config.tile().map(i64::from);
        let (n, k) = (self.slots.n.i32(b, args), self.slots.k.i32(b, args));
        let (tiles_m, tiles_n) = (b.ceil_div_c(m, rows), b.ceil_div_c(n, columns));
        // Tiles are walked in groups of rows of tiles, so that what runs together shares operands in the L2.
        let group = i64::from(self.config.group);
        let group_tiles = b.mul_c(tiles_n, group);
        let first_row = b.mul_c(b.divu(tile, group_tiles), group);
        let group_rows = b.minsi(b.subi(tiles_m, first_row), b.c32(group));
        let in_group = b.remu(tile, group_tiles);
        let row = b.addi(first_row, b.remu(in_group, group_rows));
        let column = b.divu(in_group, group_rows);
        let blocks = b.ceil_div_c(k, self.tiling.block_k);
        let thread = b.sreg("tid.x");
        Frame { gemm: self, args, shared, m, n, k, blocks, row, column, batch, thread, region }
    }
}

impl<'a, 'c> Frame<'a, 'c> {
    /// The ring: `stages - 1` blocks are under way while one is multiplied.
    fn run(&self, k: CuteBuilder<'c>) -> Built<()> {
        let b = k.builder();
        let stages = i64::from(self.gemm.config.stages);
        let count = 1 + self.gemm.problem.products() as usize;
        let stage_views = (0..count).map(|number| self.stages(k, number)).collect::<Built<Vec<_>>>()?;
        let sides = stage_views.iter().enumerate().map(|(number, view)| self.side(k, number, *view));
        let sides = sides.collect::<Built<Vec<_>>>()?;
        for stage in 0..stages - 1 {
            self.fill(k, &sides, b.c32(stage), b.c32(stage))?;
        }
        let product = self.product(k, &stage_views)?;
        let state = [b.c32(0), b.c32(stages - 1)];
        k.for_([b.c32(0), self.blocks, b.c32(1)], &state, |k, block, ring| {
            let b = k.builder();
            async_copy::wait(b, (stages - 2) as u32);
            sync::barrier(b);
            self.fill(k, &sides, b.add_c(block, stages - 1), ring[1])?;
            self.multiply(k, &product, ring[0])?;
            let next = |stage: Val<'c>| {
                let next = b.add_c(stage, 1);
                b.select(b.cmpi("eq", next, b.c32(stages)), b.c32(0), next)
            };
            Ok(vec![next(ring[0]), next(ring[1])])
        })?;
        async_copy::wait(b, 0);
        self.finish(k, &product)
    }

    /// Starts the copies of a block, as one group; none past the last block.
    fn fill(&self, k: CuteBuilder<'c>, sides: &[Side<'c>], block: Val<'c>, stage: Val<'c>) -> Built<()> {
        let b = k.builder();
        k.when(b.cmpi("slt", block, self.blocks), |k| {
            sides.iter().try_for_each(|side| self.load(k, side, block, stage))
        })?;
        async_copy::commit(b);
        Ok(())
    }

    /// Hands the sums to the epilogue and stores its results.
    fn finish(&self, k: CuteBuilder<'c>, product: &Product<'c>) -> Built<()> {
        let b = k.builder();
        let elements = self.elements();
        for place in product.places() {
            let at = k.place(product.at, &place[0])?;
            let (row, column) = (at[0], at[1]);
            let load = |sums: &View<'c>| place.iter().map(|coord| k.load(*sums, coord)).collect::<Built<Vec<_>>>();
            let sums = product.sums.iter().map(load).collect::<Built<Vec<_>>>()?;
            match sums.as_slice() {
                [first, others @ ..] if place.len() == 2 => {
                    let two = |sums: &Vec<Val<'c>>| [sums[0], sums[1]];
                    let pair = Pair { row, column, sums: two(first), others: others.first().map(two) };
                    elements.store_pair(b, self.batch, &pair);
                }
                _ => {
                    let all: Vec<_> = sums.iter().map(|sums| sums[0]).collect();
                    for (which, value) in elements.result(b, self.batch, row, column, &all).into_iter().enumerate() {
                        elements.store(b, which, self.batch, row, column, value);
                    }
                }
            }
        }
        Ok(())
    }

    fn elements(&self) -> Elements<'a, 'c> {
        Elements {
            problem: self.gemm.problem,
            slots: &self.gemm.slots.elements,
            args: self.args,
            m: self.m,
            n: self.n,
            swapped: false,
            region: self.region,
        }
    }
}
