//! A cluster: its CTAs, and the scheduler that runs their warps in turn.

use super::barrier::{ClusterBarrier, Mbarrier, NamedBarrier, Wait};
use super::grid::Grid;
use super::warp::{State, Warp};
use crate::check::clock::{Clocks, Token};
use crate::check::finding::{Finding, Findings, Kind};
use crate::check::shadow::{PAGE, Page};
use crate::counters::Counters;
use crate::exec::Flow;
use crate::exec::lane::LANES;
use crate::program::Inst;
use std::collections::HashMap;

/// A CTA.
#[derive(Debug)]
pub struct Cta {
    /// `%ctaid`
    pub id: [u32; 3],
    /// Position in the cluster.
    pub in_cluster: [u32; 3],
    /// Warps; one that runs is taken out.
    pub warps: Vec<Option<Warp>>,
    /// Shared memory.
    pub shared: Vec<u8>,
    /// Its marks.
    pub shadow: Vec<Page>,
    /// Named barriers.
    pub barriers: Vec<NamedBarrier>,
    /// mbarrier objects by offset.
    pub mbarriers: HashMap<u32, Mbarrier>,
    /// Threads that have not exited.
    pub live: u32,
}

/// A cluster of a grid while it runs.
#[derive(Debug)]
pub struct Cluster<'a> {
    /// What it shares with others.
    pub grid: &'a Grid<'a>,
    /// Its index in the grid.
    pub index: u32,
    /// Position in the grid, in clusters.
    pub id: [u32; 3],
    /// Its CTAs by rank.
    pub ctas: Vec<Cta>,
    /// Happens-before.
    pub clocks: Clocks,
    /// Whether clocks are kept.
    pub ordered: bool,
    /// What was found.
    pub findings: Findings,
    /// What was counted.
    pub counters: Counters,
    /// The cluster barrier.
    pub barrier: ClusterBarrier,
    /// What strong stores to shared memory published, by CTA and offset.
    pub tokens: HashMap<(usize, u64), Token>,
    /// Warp instructions so far.
    pub steps: u64,
    stopped: bool,
}

/// Instructions a warp runs before the next has its turn.
const QUANTUM: u32 = 256;

fn split(index: u32, dims: [u32; 3]) -> [u32; 3] {
    [index % dims[0], index / dims[0] % dims[1], index / dims[0] / dims[1]]
}

impl<'a> Cluster<'a> {
    /// Cluster `index` of the grid, ready to start.
    pub fn new(grid: &'a Grid<'a>, index: u32) -> Self {
        let clusters = std::array::from_fn(|i| grid.launch.grid[i] / grid.cluster[i]);
        let id = split(index, clusters);
        let ranks: u32 = grid.cluster.iter().product();
        let block: u32 = grid.launch.block.iter().product();
        let checks = grid.launch.checks;
        let counted = if grid.launch.counters { grid.program.insts.len() } else { 0 };
        Cluster {
            grid,
            index,
            id,
            ctas: (0..ranks).map(|rank| Cta::new(grid, id, rank, block)).collect(),
            clocks: Clocks::new(index, ranks * block),
            ordered: checks.races || checks.barriers,
            findings: Findings::default(),
            counters: Counters::new(counted),
            barrier: ClusterBarrier::default(),
            tokens: HashMap::new(),
            steps: 0,
            stopped: false,
        }
    }

    /// Runs for about `turn` steps; true when the cluster is finished.
    pub fn run(&mut self, turn: u64) -> bool {
        let until = self.steps.saturating_add(turn);
        while self.steps < until && !self.stopped {
            let (mut alive, mut progress) = (false, false);
            for c in 0..self.ctas.len() {
                for w in 0..self.ctas[c].warps.len() {
                    let Some(mut warp) = self.ctas[c].warps[w].take() else {
                        continue;
                    };
                    if !warp.done() {
                        progress |= self.run_warp(&mut warp);
                        alive |= !warp.done();
                    }
                    self.ctas[c].warps[w] = Some(warp);
                }
            }
            if !alive {
                self.finish();
                return true;
            }
            if !progress {
                self.report_deadlock();
                return true;
            }
            if self.steps > self.grid.launch.step_limit {
                self.report_no_progress();
                return true;
            }
        }
        self.stopped
    }

    /// Ends the run of this cluster after a fault that leaves no way on.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    fn run_warp(&mut self, warp: &mut Warp) -> bool {
        self.wake(warp);
        let mut left = QUANTUM;
        let insts = &self.grid.program.insts;
        while left > 0 && !self.stopped {
            let Some(f) = warp.pick() else { break };
            while left > 0 && !self.stopped {
                let Some(fragment) = warp.fragment(f) else {
                    break;
                };
                if fragment.state != State::Ready {
                    break;
                }
                let (pc, mask) = (fragment.pc, fragment.mask);
                let Some(inst) = insts.get(pc as usize) else {
                    self.leave(warp, f, mask);
                    break;
                };
                left -= 1;
                self.steps += 1;
                if !self.step(warp, f, pc, mask, inst) {
                    break;
                }
            }
        }
        if left == 0 {
            warp.rotate();
        }
        left < QUANTUM
    }

    /// One instruction of a fragment; false when it blocked, ended or split.
    fn step(&mut self, warp: &mut Warp, f: usize, pc: u32, mask: u32, inst: &Inst) -> bool {
        let active = mask & warp.pred(inst.guard);
        if self.grid.launch.counters {
            self.counters.executed(pc, active);
        }
        match self.execute(warp, f, pc, mask, active, inst) {
            Flow::Next => {
                let Some(fragment) = warp.fragment_mut(f) else {
                    return false;
                };
                fragment.pc = pc + 1;
                if fragment.pc == fragment.join {
                    warp.settle(f);
                    return false;
                }
                true
            }
            Flow::Jumped => true,
            Flow::Left => false,
            Flow::Wait(wait) => {
                if let Some(fragment) = warp.fragment_mut(f) {
                    fragment.state = State::Waiting(wait);
                }
                false
            }
        }
    }

    /// Lanes exit.
    pub fn leave(&mut self, warp: &mut Warp, f: usize, mask: u32) {
        warp.exit(f, mask);
        if let Some(cta) = self.ctas.get_mut(warp.cta) {
            cta.live -= mask.count_ones();
            let live = cta.live;
            // Barriers of all threads do not wait for those that left.
            for barrier in &mut cta.barriers {
                barrier.complete(live);
            }
        }
        let live = self.ctas.iter().map(|c| c.live).sum();
        self.barrier.inner.complete(live);
    }

    /// Wakes fragments whose wait is over.
    fn wake(&mut self, warp: &mut Warp) {
        for f in 0..warp.fragments().len() {
            let Some(State::Waiting(wait)) = warp.fragment(f).map(|x| x.state.clone()) else {
                continue;
            };
            let over = match wait {
                Wait::Named { id, generation } => self.wake_named(warp, f, id, generation),
                Wait::Cluster { generation } => self.wake_cluster(warp, f, generation),
                Wait::Mbarrier { cta, offset, phase } => {
                    let object = self.ctas.get(cta).and_then(|c| c.mbarriers.get(&offset));
                    object.is_none_or(|m| m.phase != phase)
                }
                Wait::Lanes { mask } => {
                    // Exits may have completed the set.
                    let pc = warp.fragment(f).map(|x| x.pc);
                    let here = warp.fragments().iter().filter(|x| x.state == State::Waiting(wait) && Some(x.pc) == pc);
                    mask & warp.live & !here.fold(0, |m, x| m | x.mask) == 0
                }
            };
            let in_place = matches!(wait, Wait::Mbarrier { .. } | Wait::Lanes { .. });
            if over
                && in_place
                && let Some(fragment) = warp.fragment_mut(f)
            {
                fragment.state = State::Ready;
            }
        }
    }

    /// Reports a finding at an instruction.
    pub fn report(&mut self, kind: Kind, warp: &Warp, lane: usize, inst: &Inst, what: What) {
        let program = self.grid.program;
        let (cta, block) = (self.ctas.get(warp.cta).map_or([0; 3], |c| c.id), self.grid.launch.block);
        self.findings.add(kind, inst.line, what.other_line, || Finding {
            kind,
            kernel: program.name.clone(),
            line: inst.line,
            opcode: program.opcodes.get(inst.opcode as usize).cloned().unwrap_or_default(),
            source: source(program, inst),
            cta,
            thread: split(warp.index * LANES as u32 + lane as u32, block),
            address: what.address,
            other_line: what.other_line,
            detail: what.detail,
            count: 1,
        });
    }

    /// Fragments that wait, with a lane and the instruction of each.
    fn waiting(&self) -> Vec<(usize, usize, usize, u32, Wait)> {
        let mut out = Vec::new();
        for (c, cta) in self.ctas.iter().enumerate() {
            for (w, warp) in cta.warps.iter().enumerate() {
                for fragment in warp.iter().flat_map(|w| w.fragments()) {
                    if let State::Waiting(wait) = fragment.state {
                        out.push((c, w, fragment.mask.trailing_zeros() as usize, fragment.pc, wait));
                    }
                }
            }
        }
        out
    }

    fn report_deadlock(&mut self) {
        for (c, w, lane, pc, wait) in self.waiting() {
            let detail = self.describe(c, wait);
            // A fragment at a barrier is already past it.
            let pc = if matches!(wait, Wait::Named { .. } | Wait::Cluster { .. }) { pc.saturating_sub(1) } else { pc };
            let Some(inst) = self.grid.program.insts.get(pc as usize) else {
                continue;
            };
            let Some(warp) = self.ctas.get_mut(c).and_then(|x| x.warps.get_mut(w)).and_then(Option::take) else {
                continue;
            };
            let address = match wait {
                Wait::Mbarrier { offset, .. } => Some(u64::from(offset)),
                _ => None,
            };
            self.report(Kind::Deadlock, &warp, lane, inst, What { address, other_line: None, detail });
            self.ctas[c].warps[w] = Some(warp);
        }
    }

    fn describe(&self, c: usize, wait: Wait) -> String {
        match wait {
            Wait::Named { id, .. } => {
                let barrier = self.ctas.get(c).and_then(|x| x.barriers.get(id));
                let (arrived, expected) = barrier.map_or((0, None), |b| (b.arrived, b.expected));
                let live = self.ctas.get(c).map_or(0, |x| x.live);
                format!("barrier {id} has {arrived} of {} threads and no thread can run", expected.unwrap_or(live))
            }
            Wait::Lanes { mask } => {
                format!("lanes {mask:#010x} never meet here and no thread can run")
            }
            Wait::Mbarrier { cta, offset, phase } => {
                let object = self.ctas.get(cta).and_then(|x| x.mbarriers.get(&offset));
                let (pending, tx) = object.map_or((0, 0), |m| (m.pending, m.tx));
                format!(
                    "mbarrier at {offset:#x} of CTA {cta}: phase {phase} lacks {pending} arrivals and {tx} bytes, and no thread can run"
                )
            }
            Wait::Cluster { .. } => {
                format!("the cluster barrier has {} arrivals and no thread can run", self.barrier.inner.arrived)
            }
        }
    }

    fn report_no_progress(&mut self) {
        let limit = self.grid.launch.step_limit;
        for c in 0..self.ctas.len() {
            for w in 0..self.ctas[c].warps.len() {
                let Some(warp) = self.ctas[c].warps[w].take() else {
                    continue;
                };
                let place = warp.fragments().iter().find(|f| f.state != State::Free).map(|f| f.pc);
                if let Some(inst) =
                    place.and_then(|pc| self.grid.program.insts.get(pc as usize)).filter(|_| !warp.done())
                {
                    let detail = format!("still here after {limit} steps of the cluster");
                    self.report(Kind::NoProgress, &warp, 0, inst, What { detail, ..What::default() });
                }
                self.ctas[c].warps[w] = Some(warp);
            }
        }
    }

    /// What must hold when all threads have left.
    fn finish(&mut self) {
        if !self.grid.launch.checks.barriers {
            return;
        }
        for c in 0..self.ctas.len() {
            let stuck = self.ctas[c].barriers.iter().position(|b| b.arrived > 0);
            let Some(id) = stuck else { continue };
            let (arrived, expected) = (self.ctas[c].barriers[id].arrived, self.ctas[c].barriers[id].expected);
            let Some(warp) = self.ctas[c].warps.first_mut().and_then(Option::take) else {
                continue;
            };
            let insts = &self.grid.program.insts;
            let place = insts.iter().find(|i| matches!(i.op, crate::program::Op::Bar { .. }));
            if let Some(inst) = place {
                let expected = expected.unwrap_or(0);
                let detail = format!("the kernel ends with {arrived} of {expected} threads at barrier {id}");
                self.report(Kind::BarrierDivergence, &warp, 0, inst, What { detail, ..What::default() });
            }
            self.ctas[c].warps[0] = Some(warp);
        }
    }
}

/// What a finding adds to its place.
#[derive(Clone, Debug, Default)]
pub struct What {
    /// Address.
    pub address: Option<u64>,
    /// Line of the other access.
    pub other_line: Option<u32>,
    /// The rest.
    pub detail: String,
}

impl What {
    /// Words only.
    pub fn text(detail: impl Into<String>) -> Self {
        What { detail: detail.into(), ..What::default() }
    }
}

fn source(program: &crate::program::Program, inst: &Inst) -> Option<(String, u32)> {
    let (file, line) = inst.location;
    let name = program.files.iter().find(|f| f.0 == file)?;
    (line > 0).then(|| (name.1.clone(), line))
}

impl Cta {
    fn new(grid: &Grid<'_>, cluster: [u32; 3], rank: u32, block: u32) -> Self {
        let in_cluster = split(rank, grid.cluster);
        let bytes = (grid.program.shared_bytes + grid.launch.dynamic_shared) as usize;
        let shadow = grid.launch.checks.shadow();
        let pages = if shadow { (bytes as u64).div_ceil(PAGE) } else { 0 };
        let warps = (0..block.div_ceil(32)).map(|w| {
            let count = (block - w * 32).min(32);
            let tid = std::array::from_fn(|axis| {
                std::array::from_fn(|lane| u64::from(split(w * 32 + lane as u32, grid.launch.block)[axis]))
            });
            let exists = u32::MAX >> (32 - count);
            Some(Warp::new(grid.program, rank as usize, w, rank * block + w * 32, exists, tid))
        });
        Cta {
            id: std::array::from_fn(|i| cluster[i] * grid.cluster[i] + in_cluster[i]),
            in_cluster,
            warps: warps.collect(),
            // Poison: a pattern that is a NaN in f32 and f16.
            shared: vec![0xFF; bytes],
            shadow: (0..pages).map(|_| Page::new(false)).collect(),
            barriers: vec![NamedBarrier::default(); 16],
            mbarriers: HashMap::new(),
            live: block,
        }
    }
}
