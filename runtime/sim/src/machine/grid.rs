//! Launching a grid: clusters run in parallel on the host's cores, each on one thread at a time.

use super::cluster::Cluster;
use crate::check::Checks;
use crate::check::finding::{Finding, Findings};
use crate::counters::Counters;
use crate::error::{Error, Result};
use crate::memory::global::GlobalMemory;
use crate::program::Program;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// How a kernel is started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster; the kernel's own directive comes first.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Bytes of the parameters.
    pub params: Vec<u8>,
    /// Checks that run.
    pub checks: Checks,
    /// Whether accesses are counted.
    pub counters: bool,
    /// Host threads; 0 for all cores.
    pub threads: usize,
    /// Warp instructions of a cluster after which it is given up.
    pub step_limit: u64,
}

impl Default for Launch {
    fn default() -> Self {
        Launch {
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            dynamic_shared: 0,
            params: Vec::new(),
            checks: Checks::ALL,
            counters: false,
            threads: 0,
            step_limit: 1 << 32,
        }
    }
}

/// What a run gave besides the memory it wrote.
#[derive(Debug)]
pub struct Outcome {
    /// What is wrong with the kernel.
    pub findings: Vec<Finding>,
    /// Counters by instruction.
    pub counters: Counters,
    /// Warp instructions executed.
    pub steps: u64,
}

/// Shared memory a CTA may have (sm_90).
pub const SHARED_LIMIT: u32 = 232_448;
/// Registers of an SM.
pub const REGISTER_FILE: u32 = 65_536;
/// Steps after which a cluster lets others run: enough to finish most.
const TURN: u64 = 1 << 18;

/// What all clusters of a run share.
#[derive(Debug)]
pub struct Grid<'a> {
    /// The kernel.
    pub program: &'a Program,
    /// How it was started.
    pub launch: &'a Launch,
    /// Global memory.
    pub global: &'a GlobalMemory,
    /// CTAs of a cluster.
    pub cluster: [u32; 3],
}

fn volume(d: [u32; 3]) -> Option<u32> {
    d.iter().try_fold(1u32, |a, &b| a.checked_mul(b)).filter(|&v| v > 0)
}

/// Runs a kernel to its end.
pub fn run(program: &Program, launch: &Launch, global: &GlobalMemory) -> Result<Outcome> {
    let grid = validate(program, launch, global)?;
    let clusters: u32 = (0..3).map(|i| launch.grid[i] / grid.cluster[i]).product();
    let cores = if launch.threads > 0 {
        launch.threads
    } else {
        std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
    };
    let queue = Queue { next: Mutex::new(0), clusters };
    let total = Mutex::new((Findings::default(), Counters::new(program.insts.len()), 0u64));
    if cores.min(clusters as usize) <= 1 {
        work(&grid, &queue, &total);
    } else {
        std::thread::scope(|scope| {
            for _ in 0..cores.min(clusters as usize) {
                scope.spawn(|| work(&grid, &queue, &total));
            }
        });
    }
    let (findings, counters, steps) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Outcome { findings: findings.into_sorted(), counters, steps })
}

/// Clusters not started. A started cluster stays on its host thread: it is not `Send`, as its tokens are counted without
/// atomics.
struct Queue {
    next: Mutex<u32>,
    clusters: u32,
}

impl Queue {
    fn start(&self) -> Option<u32> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let index = *next;
        *next = index.saturating_add(1);
        (index < self.clusters).then_some(index)
    }
}

type Total = Mutex<(Findings, Counters, u64)>;

fn work(grid: &Grid<'_>, queue: &Queue, total: &Total) {
    let mut running: VecDeque<Cluster<'_>> = VecDeque::new();
    let mut fruitless = 0;
    loop {
        // Few clusters are in memory at once: another starts when all of them had a turn and none came to its end, as
        // they may wait for it.
        let fresh = if fruitless >= running.len() { queue.start() } else { None };
        fruitless = if fresh.is_some() { 0 } else { fruitless };
        let Some(mut cluster) = fresh.map(|i| Cluster::new(grid, i)).or_else(|| running.pop_front()) else { return };
        if cluster.run(TURN) {
            fruitless = running.len();
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            total.2 += cluster.steps;
            total.1.merge(&cluster.counters);
            total.0.merge(cluster.findings);
        } else {
            fruitless += 1;
            running.push_back(cluster);
        }
    }
}

fn validate<'a>(program: &'a Program, launch: &'a Launch, global: &'a GlobalMemory) -> Result<Grid<'a>> {
    let fail = |what: String| Err(Error::Launch { kernel: program.name.clone(), what });
    let (Some(threads), Some(_)) = (volume(launch.block), volume(launch.grid)) else {
        return fail(format!("grid {:?} of blocks {:?} has no threads", launch.grid, launch.block));
    };
    if threads > 1024 {
        return fail(format!("{threads} threads a CTA; at most 1024 are possible"));
    }
    if let Some(required) = program.reqntid.filter(|r| *r != launch.block) {
        return fail(format!("blocks of {:?}, but the kernel requires {required:?}", launch.block));
    }
    if let Some(most) = program.maxntid.filter(|m| threads > *m) {
        return fail(format!("{threads} threads a CTA, but the kernel allows {most}"));
    }
    let shared = program.shared_bytes + launch.dynamic_shared;
    if shared > SHARED_LIMIT {
        return fail(format!("{shared} bytes of shared memory; at most {SHARED_LIMIT} are possible"));
    }
    if launch.params.len() != program.param_bytes as usize {
        return fail(format!("{} bytes of parameters; it takes {}", launch.params.len(), program.param_bytes));
    }
    let cluster = program.cluster.or(launch.cluster).unwrap_or([1; 3]);
    if volume(cluster).is_none_or(|v| v > 16) || (0..3).any(|i| !launch.grid[i].is_multiple_of(cluster[i].max(1))) {
        return fail(format!("clusters of {cluster:?} do not divide the grid {:?} or exceed 16 CTAs", launch.grid));
    }
    Ok(Grid { program, launch, global, cluster })
}
