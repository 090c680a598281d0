//! Barriers and fences of CTAs and clusters.

use super::{Flow, separate};
use crate::check::finding::Kind;
use crate::machine::barrier::Wait;
use crate::machine::cluster::{Cluster, What};
use crate::machine::grid::REGISTER_FILE;
use crate::machine::warp::Warp;
use crate::program::{BarMode, Fence, Inst, Op, PredSrc, Src};

impl Cluster<'_> {
    /// Instructions that order or wait.
    pub fn synchronise(&mut self, w: &mut Warp, f: usize, pc: u32, mask: u32, active: u32, inst: &Inst) -> Flow {
        match &inst.op {
            Op::Shfl { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Redux { .. }
            | Op::Elect { .. }
            | Op::BarWarp { .. } => return self.warp_wide(w, f, pc, mask, active, &inst.op),
            Op::Bar { mode, id, count, aligned, pred, .. } => {
                let bar = BarOperands { mode: *mode, id: *id, count: *count, pred: *pred };
                if *aligned {
                    self.check_aligned(w, active, inst);
                }
                return self.bar(w, (f, pc, mask, active), inst, bar);
            }
            Op::Fence { kind } => self.fence(w, active, *kind),
            Op::ClusterArrive { release, aligned } => {
                if *aligned {
                    self.check_aligned(w, active, inst);
                }
                self.cluster_arrive(w, active, *release);
            }
            Op::ClusterWait { aligned, .. } => {
                return self.cluster_wait(w, (f, pc, mask, active), inst, *aligned);
            }
            Op::Mbar(op) => return self.mbarrier(w, active, inst, op),
            Op::CpAsync(op) => self.cp_async(w, active, inst, op),
            Op::CpAsyncCommit => self.cp_async_commit(w, active),
            Op::CpAsyncWait { pending } => self.cp_async_wait(w, active, *pending),
            Op::CpAsyncMbar { addr, offset, noinc } => {
                self.cp_async_mbarrier(w, active, inst, (*addr, *offset), *noinc)
            }
            Op::Bulk(op) => self.bulk(w, active, inst, op),
            Op::BulkCommit => self.bulk_commit(w, active),
            Op::BulkWait { pending, read } => self.bulk_wait(w, active, *pending, *read),
            Op::WgmmaFence => self.wgmma_fence(w, active, inst),
            Op::WgmmaCommit => self.wgmma_commit(w, active, inst),
            Op::WgmmaWait { pending } => self.wgmma_wait(w, active, inst, *pending),
            Op::Wgmma(op) => return self.wgmma(w, (f, pc, mask, active), inst, op),
            Op::SetMaxNReg { registers, increase } => self.set_max_registers(w, inst, *registers, *increase),
            _ => {}
        }
        Flow::Next
    }

    /// An `.aligned` instruction must be executed by all lanes of the warp at once.
    pub fn check_aligned(&mut self, w: &Warp, active: u32, inst: &Inst) {
        if self.grid.launch.checks.barriers && active != w.live {
            let missing = w.live & !active;
            let lane = active.trailing_zeros() as usize;
            let detail = format!("an aligned instruction without lanes {missing:#010x} of its warp");
            self.report(Kind::BarrierDivergence, w, lane, inst, What::text(detail));
        }
    }

    fn bar(&mut self, w: &mut Warp, at: (usize, u32, u32, u32), inst: &Inst, bar: BarOperands) -> Flow {
        let (f, pc, mask, active) = at;
        let waits = bar.mode != BarMode::Arrive;
        if waits && active != mask {
            return separate(w, f, pc, mask, active);
        }
        let lane = active.trailing_zeros() as usize;
        let id = self.value(w, bar.id)[lane] as usize;
        let count = bar.count.map(|c| self.value(w, c)[lane] as u32);
        if self.grid.launch.checks.barriers && count.is_some_and(|c| c == 0 || !c.is_multiple_of(32)) {
            let detail = format!("{} threads; a barrier counts whole warps", count.unwrap_or(0));
            self.report(Kind::BarrierDivergence, w, lane, inst, What::text(detail));
        }
        let yes = w.pred(bar.pred) & active;
        // A warp counts whole where a count is given, as lanes that exited never come.
        let threads = if active == w.live && count.is_some() { 32 } else { active.count_ones() };
        let Some(cta) = self.ctas.get_mut(w.cta) else {
            return Flow::Next;
        };
        let live = cta.live;
        let Some(barrier) = cta.barriers.get_mut(id) else {
            self.report(Kind::Limits, w, lane, inst, What::text(format!("barrier {id}; a CTA has 16")));
            return Flow::Next;
        };
        let mismatch = barrier.arrived > 0 && barrier.expected != count;
        let before = barrier.expected;
        barrier.arrived += threads;
        barrier.expected = count;
        barrier.popc += yes.count_ones();
        barrier.any_false |= yes != active;
        let generation = barrier.generation;
        if self.ordered {
            for lane in Warp::lanes(active) {
                self.clocks.release(w.base + lane as u32, &mut barrier.token);
            }
        }
        barrier.complete(live);
        if mismatch && self.grid.launch.checks.barriers {
            let show = |c: Option<u32>| c.map_or("all".to_string(), |c| c.to_string());
            let detail = format!("barrier {id} is used with {} and with {} threads", show(before), show(count));
            self.report(Kind::BarrierDivergence, w, lane, inst, What::text(detail));
        }
        if !waits {
            return Flow::Next;
        }
        if let Some(fragment) = w.fragment_mut(f) {
            fragment.pc = pc + 1;
        }
        Flow::Wait(Wait::Named { id, generation })
    }

    /// Wakes a fragment if its barrier is through; its program counter is already past it.
    pub fn wake_named(&mut self, w: &mut Warp, f: usize, id: usize, generation: u32) -> bool {
        let finished = self.ctas.get(w.cta).and_then(|c| c.barriers.get(id)).and_then(|b| b.finished(generation));
        let (Some(finished), Some(fragment)) = (finished.cloned(), w.fragment(f)) else {
            return false;
        };
        let (pc, mask) = (fragment.pc, fragment.mask);
        if self.ordered {
            for lane in Warp::lanes(mask) {
                self.clocks.acquire_whole(w.base + lane as u32, &finished.token);
            }
        }
        let inst = pc.checked_sub(1).and_then(|p| self.grid.program.insts.get(p as usize));
        if let Some(Op::Bar { mode, dst: Some(dst), .. }) = inst.map(|i| &i.op) {
            let all = |yes: bool| if yes { u32::MAX } else { 0 };
            match mode {
                BarMode::RedPopc => w.set(*dst, mask, &[u64::from(finished.popc); 32]),
                BarMode::RedAnd => w.set_pred(*dst, mask, all(finished.all)),
                BarMode::RedOr => w.set_pred(*dst, mask, all(finished.popc > 0)),
                _ => {}
            }
        }
        self.resume(w, f);
        true
    }

    /// A fragment goes on; it may have arrived where it joins its parent.
    fn resume(&mut self, w: &mut Warp, f: usize) {
        if let Some(fragment) = w.fragment_mut(f) {
            fragment.state = crate::machine::warp::State::Ready;
            if fragment.pc == fragment.join {
                w.settle(f);
            }
        }
    }

    fn fence(&mut self, w: &Warp, active: u32, kind: Fence) {
        if !self.ordered {
            return;
        }
        for lane in Warp::lanes(active) {
            let thread = w.base + lane as u32;
            match kind {
                Fence::Thread => self.clocks.fence(thread),
                Fence::Sequential => {
                    self.clocks.fence(thread);
                    let token = self.clocks.publish(thread, true).map(|t| self.clocks.export(&t));
                    let earlier = self.grid.global.sequential_fence(token.unwrap_or_default());
                    self.clocks.observe_foreign(thread, &earlier, true);
                    self.clocks.fence(thread);
                }
                Fence::ProxyAsync => self.clocks.fence_proxy(thread),
                Fence::MbarrierInit | Fence::ProxyTensormap => {}
            }
        }
    }

    fn cluster_arrive(&mut self, w: &Warp, active: u32, release: bool) {
        let live = self.ctas.iter().map(|c| c.live).sum();
        self.barrier.inner.arrived += active.count_ones();
        if self.ordered && release {
            for lane in Warp::lanes(active) {
                self.clocks.release(w.base + lane as u32, &mut self.barrier.inner.token);
            }
        }
        self.barrier.inner.complete(live);
    }

    fn cluster_wait(&mut self, w: &mut Warp, at: (usize, u32, u32, u32), inst: &Inst, aligned: bool) -> Flow {
        let (f, pc, mask, active) = at;
        if aligned {
            self.check_aligned(w, active, inst);
        }
        if active != mask {
            return separate(w, f, pc, mask, active);
        }
        // A thread arrives once a generation, so its waits count generations.
        let waits = w.cluster_waits[active.trailing_zeros() as usize];
        for lane in Warp::lanes(active) {
            w.cluster_waits[lane] += 1;
        }
        if let Some(fragment) = w.fragment_mut(f) {
            fragment.pc = pc + 1;
        }
        Flow::Wait(Wait::Cluster { generation: waits })
    }

    /// Wakes a fragment if the cluster barrier is through.
    pub fn wake_cluster(&mut self, w: &mut Warp, f: usize, generation: u32) -> bool {
        let Some(finished) = self.barrier.inner.finished(generation).cloned() else {
            return false;
        };
        let Some(fragment) = w.fragment(f) else {
            return false;
        };
        let (pc, mask) = (fragment.pc, fragment.mask);
        let inst = pc.checked_sub(1).and_then(|p| self.grid.program.insts.get(p as usize));
        let acquire = !matches!(inst.map(|i| &i.op), Some(Op::ClusterWait { acquire: false, .. }));
        if self.ordered && acquire {
            for lane in Warp::lanes(mask) {
                self.clocks.acquire(w.base + lane as u32, &finished.token);
            }
        }
        self.resume(w, f);
        true
    }

    fn set_max_registers(&mut self, w: &mut Warp, inst: &Inst, registers: u32, increase: bool) {
        let checks = self.grid.launch.checks;
        let before = w.max_registers.replace(registers).or(self.grid.program.maxnreg);
        let wrong_way = before.is_some_and(|b| if increase { registers < b } else { registers > b });
        if checks.limits && wrong_way {
            let verb = if increase { "raises" } else { "lowers" };
            let detail = format!("{verb} {} registers to {registers}", before.unwrap_or(0));
            self.report(Kind::Limits, w, 0, inst, What::text(detail));
        }
        let others = self.ctas.get(w.cta).into_iter().flat_map(|c| c.warps.iter().flatten());
        let held = |m: Option<u32>| m.unwrap_or(0) * 32;
        let total: u32 = others.map(|o| held(o.max_registers)).sum::<u32>() + held(w.max_registers);
        if checks.limits && total > REGISTER_FILE {
            let detail = format!("warps of the CTA now hold {total} registers; an SM has {REGISTER_FILE}");
            self.report(Kind::Limits, w, 0, inst, What::text(detail));
        }
    }
}

#[derive(Clone, Copy)]
struct BarOperands {
    mode: BarMode,
    id: Src,
    count: Option<Src>,
    pred: PredSrc,
}
