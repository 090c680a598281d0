//! Matrix products on sm_90a: TMA feeds a ring of stages in shared memory, warpgroups multiply with `wgmma`, results leave through
//! `stmatrix` and TMA stores.
//!
//! One warpgroup produces, one or two consume. Two consumers either share a tile along M (cooperative) or take tiles in turn
//! (ping-pong), so that one's epilogue runs under the other's products. CTAs are persistent: each takes tiles `ctaid`, `ctaid + grid`, ...
//! With stream-K they share the blocks of K of the last waves' tiles evenly instead (see [`stream`]).
//! With `split > 1` the sums of a tile are spread over CTAs along K; they meet through the workspace (see [`split`]).
//! Where rows are grouped ([`Problem::groups`]) the walk goes over the tiles of one group after the other, as it does for the problems of an `ait.group`: see [`walk`].
//! With `swapped` the kernel computes the transposed result, so that a small M becomes the instruction's N.
//!
//! Operands, products and staged results are written in the cute dialect: [`tiling`] says as layouts how a configuration cuts them.

pub mod candidates;
pub mod choose;
mod config;
mod consumer;
mod cost;
mod epilogue;
mod names;
mod producer;
mod split;
mod stream;
mod tiles;
mod tiling;
mod walk;

pub use config::{Config, Illegal, Schedule};

use super::{
    elements::{ElementSlots, Elements},
    members,
    problem::{Fold, Int, Params, Place, Problem, Region, grouped, one_form, operand_names},
    sequences::SequenceSlots,
};
use crate::cuda::{
    emit::{i64c, memory, scalar::ScalarOps, sync, tma},
    kernel::{KernelSpec, dynamic_shared_pointer},
};
use aitmlir_dialects::{
    builder::Builder,
    cute::author::{Built, CuteBuilder, Pipeline, View},
    types::Val,
};
use kernel_launch::{Expr, KernelLaunch, MapSwizzle, Param, TensorMap, Workspace};
use melior::{Context, ir::Module};
use tiling::{Side, Tiling};

/// A kernel that can be emitted: the problem, the configuration and the parameters.
pub(super) struct Gemm<'p> {
    /// The first problem of the group; the others have its form.
    problem: &'p Problem,
    /// Problems of the group.
    members: usize,
    /// Has the batch of each only one matrix?
    single: bool,
    config: Config,
    spec: KernelSpec,
    slots: Slots,
}

/// Where the parameters are.
struct Slots {
    a_map: usize,
    b_map: usize,
    /// Of the second right operand.
    other_map: Option<usize>,
    /// Of the results, where they leave through TMA.
    out_maps: Vec<usize>,
    /// The sizes that columns and the batch of each result are unfolded into.
    folds: Vec<[Vec<Int>; 2]>,
    m: Int,
    n: Int,
    k: Int,
    batch: Int,
    /// Tiles of all problems, of a group.
    all_tiles: Option<Int>,
    /// The borders of groups of rows.
    groups: Option<SequenceSlots>,
    elements: ElementSlots,
    partial: Option<usize>,
    counters: Option<usize>,
}

impl Slots {
    /// Adds the parameters of a problem.
    fn new(params: &mut Params, problem: &Problem, config: &Config) -> Self {
        let [rows, columns] = config.loaded_lines(problem);
        let (left, right) = if config.swapped { (&problem.b, &problem.a) } else { (&problem.a, &problem.b) };
        let (left_lines, right_lines) =
            if config.swapped { (&problem.n, &problem.m) } else { (&problem.m, &problem.n) };
        let a_map = params.push(Param::Map(operand_map(problem, left, left_lines, rows)));
        let b_map = params.push(Param::Map(operand_map(problem, right, right_lines, columns)));
        let (lines, boxed) = if config.swapped { (left_lines, rows) } else { (right_lines, columns) };
        let other_map =
            problem.other.as_ref().map(|other| params.push(Param::Map(operand_map(problem, other, lines, boxed))));
        let stores = config.split == 1 && config.tma_store;
        let outs = problem.outputs().filter(|_| stores).map(|(place, _)| result_map(problem, config, place));
        let out_maps = outs.map(|map| params.push(Param::Map(map))).collect();
        let mut sizes = |folds: &[Fold]| folds.iter().map(|fold| params.int(&fold.size)).collect();
        let folds = problem.outputs().map(|(place, _)| [sizes(&place.columns), sizes(&place.batches)]).collect();
        Slots {
            a_map,
            b_map,
            other_map,
            out_maps,
            folds,
            m: params.int(&problem.m),
            n: params.int(&problem.n),
            k: params.int(&problem.k),
            batch: params.int(&problem.batch),
            all_tiles: None,
            groups: problem.groups.as_ref().map(|groups| SequenceSlots::new(params, groups)),
            // What of a box is not its group's is not stored by TMA.
            elements: ElementSlots::new(params, problem, !stores || problem.groups.is_some()),
            partial: None,
            counters: None,
        }
    }

    /// The map of the first right operand.
    fn right_map(&self, config: &Config) -> usize {
        if config.swapped { self.a_map } else { self.b_map }
    }
}

/// What all parts of the kernel see. Parameters and sizes are those of one problem: inside [`Frame::within`], of the unit's.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a, 'c> {
    gemm: &'a Gemm<'a>,
    /// The kernel's parameters.
    params: &'a [Val<'c>],
    /// Those of the problem.
    args: &'a [Val<'c>],
    /// The problem's (or group's) first tile; none where it is the only problem.
    first: Option<Val<'c>>,
    /// Of rows that are grouped, the unit's group, and the group's first row.
    group: Option<[Val<'c>; 2]>,
    /// Tiles of all groups of rows, as they were counted.
    counted: Option<Val<'c>>,
    /// The dynamic shared memory, an `!llvm.ptr<3>`.
    shared: Val<'c>,
    /// The stages.
    ring: Pipeline<'c>,
    /// Rows and columns of the tiles' matrix (not swapped back) and blocks of K.
    m: Val<'c>,
    n: Val<'c>,
    batch: Val<'c>,
    blocks: Val<'c>,
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
    if config.stream && problems.len() > 1 {
        return Err(Illegal("stream-K divides the blocks of one problem, not of a group".to_owned()));
    }
    problems.iter().try_for_each(|problem| config.check(problem))?;
    let gemm = Gemm::new(name, problems, config);
    let mut built = Ok(());
    gemm.spec.emit(context, module, |b, args| built = gemm.body(CuteBuilder::new(b), module, args, region));
    built?;
    Ok(gemm.spec.launch())
}

impl<'p> Gemm<'p> {
    fn new(name: &str, problems: &'p [Problem], config: Config) -> Self {
        let problem = &problems[0];
        let (mut slots, list) = grouped(problems, |params, problem| Slots::new(params, problem, &config));
        let mut params = Params::of(list);
        if problems.len() > 1 {
            slots.all_tiles = Some(params.int(&config.tiles(problems)));
        }
        if config.uses_workspace() {
            slots.partial = Some(params.push(Param::Workspace { offset: config.counter_bytes(problems) }));
            slots.counters = Some(params.push(Param::Workspace { offset: 0.into() }));
        }
        let spec = KernelSpec {
            dims: problem.dims.clone(),
            operands: operand_names(problems),
            params: params.list,
            grid: [config.grid(problems), 1.into(), 1.into()],
            block: [128 * (1 + config.consumers), 1, 1],
            cluster: [if config.cluster { config.split } else { config.sharers() }, 1, 1],
            min_ctas: config.ctas_per_sm,
            smem_bytes: config.shared_bytes(problem),
            alignment: 16,
            overlaps: config.overlap,
            workspace: config.uses_workspace().then(|| Workspace {
                bytes: config.counter_bytes(problems) + config.partial_bytes(problems),
                zeroed: config.counter_bytes(problems),
            }),
            ..KernelSpec::new(name)
        };
        let single = problems.iter().all(Problem::single);
        Gemm { problem, members: problems.len(), single, config, spec, slots }
    }

    fn tiling(&self) -> Tiling<'p> {
        Tiling::new(self.config, self.problem)
    }

    /// Rows and columns of the tiles' matrix, matrices of the batch and blocks of K, from the parameters of a problem.
    fn sizes<'c>(&self, b: Builder<'c>, args: &[Val<'c>]) -> [Val<'c>; 4] {
        let (m, n) = (self.slots.m.i32(b, args), self.slots.n.i32(b, args));
        let blocks = b.ceil_div_c(self.slots.k.i32(b, args), self.config.block_k(self.problem));
        let (m, n) = if self.config.swapped { (n, m) } else { (m, n) };
        [m, n, self.slots.batch.i32(b, args), blocks]
    }

    fn body<'c>(
        &self,
        k: CuteBuilder<'c>,
        module: &Module<'c>,
        params: &[Val<'c>],
        region: Region<'_, 'c>,
    ) -> Built<()> {
        let (b, config) = (k.builder(), &self.config);
        let shared = dynamic_shared_pointer(b, module);
        let barriers = memory::offset(b, shared, i64c(b, config.barrier_offset(self.problem)));
        let ring = k.pipeline(barriers, config.stages.into(), 1, config.releasing_warps().into())?;
        // Of a group, those of the first problem.
        let own = members::arguments(b, &self.spec.params, params, b.c32(0));
        let [m, n, batch, blocks] = self.sizes(b, &own);
        let (args, first) = (own.as_slice(), None);
        let (group, counted) = (None, None);
        let frame =
            Frame { gemm: self, params, args, first, group, counted, shared, ring, m, n, batch, blocks, region };
        let warp = b.uniform(b.div_c(b.sreg("tid.x"), 32));
        k.when(b.cmpi("eq", warp, b.c32(0)), |k| {
            k.when(sync::elect(k.builder()), |k| {
                self.prefetch_maps(k.builder(), params);
                k.pipeline_init(ring)
            })
        })?;
        // The next kernel's CTAs may come as soon as there is room for them: all of this one's are there then.
        sync::start_next_kernel(b);
        if config.overlap {
            // What follows touches memory of others.
            sync::wait_for_earlier_kernels(b);
        }
        let frame = Frame { counted: frame.counted_tiles(b, warp), ..frame };
        if config.sharers() > 1 {
            sync::cluster_barrier(b);
        } else {
            sync::barrier(b);
        }
        let group = b.div_c(warp, 4);
        k.if_(
            b.cmpi("eq", group, b.c32(0)),
            &[],
            |k| {
                let b = k.builder();
                if let Some([few, _]) = config.registers() {
                    sync::fewer_registers(b, few);
                }
                k.when(b.cmpi("eq", warp, b.c32(0)), |k| k.when(sync::elect(k.builder()), |k| frame.produce(k)))?;
                Ok(vec![])
            },
            |k| {
                let b = k.builder();
                if let Some([_, many]) = config.registers() {
                    sync::more_registers(b, many);
                }
                frame.consume(k, b.add_c(group, -1))?;
                Ok(vec![])
            },
        )?;
        Ok(())
    }

    /// Brings the tensor maps near that all problems have in common.
    fn prefetch_maps<'c>(&self, b: Builder<'c>, params: &[Val<'c>]) {
        let operands = [Some(self.slots.a_map), Some(self.slots.b_map), self.slots.other_map];
        let maps = operands.into_iter().flatten().chain(self.slots.out_maps.iter().copied());
        for map in maps.filter(|map| matches!(self.spec.params[*map], Param::Map(_))) {
            tma::prefetch_map(b, params[map]);
        }
    }
}

impl<'a, 'c> Frame<'a, 'c> {
    /// The result, element by element.
    fn elements(&self) -> Elements<'a, 'c> {
        Elements {
            problem: self.gemm.problem,
            slots: &self.gemm.slots.elements,
            args: self.args,
            m: self.m,
            n: self.n,
            swapped: self.gemm.config.swapped,
            region: self.region,
        }
    }

    /// (lines, K, stages) of an operand in shared memory, with `more` modes of one element behind K.
    fn stages(&self, k: CuteBuilder<'c>, side: Side, more: usize) -> Built<View<'c>> {
        let (b, tiling) = (k.builder(), self.gemm.tiling());
        let before = if side == Side::Left { 0 } else { self.gemm.config.stage_bytes()[0] };
        let pointer = memory::offset(b, self.shared, i64c(b, before));
        k.shared(pointer, tiling.element(), 1024, tiling.stages(side, more))
    }
}

/// The map of A or B: boxes of 128 bytes along the contiguous dimension.
fn operand_map(problem: &Problem, place: &Place, lines: &Expr, tile_lines: u32) -> TensorMap {
    let bytes = problem.dtype.bytes();
    let inner = (128 / bytes) as u32;
    let (mut dims, mut boxes) = if place.inner {
        (vec![problem.k.clone(), lines.clone()], vec![inner, tile_lines.min(256)])
    } else {
        (vec![lines.clone(), problem.k.clone()], vec![inner, inner])
    };
    let mut strides = vec![place.line.clone() * bytes];
    if let Some(batch) = &place.batch {
        dims.push(problem.batch.clone());
        strides.push(batch.clone() * bytes);
        boxes.push(1);
    }
    TensorMap {
        operand: place.operand,
        offset: place.offset.clone() * bytes,
        dtype: problem.dtype.map_type(),
        dims,
        strides,
        boxes,
        swizzle: MapSwizzle::B128,
    }
}

/// The map of a result: boxes as the epilogue stages them. Dimensions that columns are unfolded into come first and after the rows, then the batch.
fn result_map(problem: &Problem, config: &Config, place: &Place) -> TensorMap {
    let bytes = problem.out_dtype.bytes();
    let (inner, outer) = match place.columns.split_last() {
        Some((inner, outer)) => (inner.size.clone(), outer),
        None => (problem.n.clone(), &[][..]),
    };
    let mut dims = vec![inner, problem.m.clone()];
    let mut strides = vec![place.line.clone() * bytes];
    let mut boxes = vec![(128 / bytes) as u32, if config.swapped { config.columns } else { 64 }];
    let batch = place.batch.as_ref().map(|batch| (problem.batch.clone(), batch.clone()));
    let folds = outer.iter().rev().chain(place.batches.iter().rev());
    for (size, stride) in folds.map(|fold| (fold.size.clone(), fold.stride.clone())).chain(batch) {
        dims.push(size);
        strides.push(stride * bytes);
        boxes.push(1);
    }
    TensorMap {
        operand: place.operand,
        offset: place.offset.clone() * bytes,
        dtype: problem.out_dtype.map_type(),
        dims,
        strides,
        boxes,
        swizzle: MapSwizzle::B128,
    }
}
