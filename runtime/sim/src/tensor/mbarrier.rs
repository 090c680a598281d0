//! mbarrier objects: arrivals, bytes, phases, waits.

use crate::check::finding::Kind;
use crate::exec::Flow;
use crate::exec::access::Target;
use crate::machine::barrier::{MBARRIER_MAX, Mbarrier, Wait};
use crate::machine::cluster::{Cluster, What};
use crate::machine::warp::Warp;
use crate::program::{Inst, MbarKind, MbarOp};

/// An mbarrier object of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    /// CTA whose shared memory holds it.
    pub cta: usize,
    /// Its offset there.
    pub offset: u32,
}

/// What an arrival brings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// Arrivals counted off.
    pub count: u32,
    /// Bytes expected (positive) or delivered (negative).
    pub bytes: i64,
    /// Expected arrivals of later phases that go away.
    pub drop: u32,
}

impl Cluster<'_> {
    /// One mbarrier instruction.
    pub fn mbarrier(&mut self, w: &mut Warp, active: u32, inst: &Inst, op: &MbarOp) -> Flow {
        let (addr, arg) = (self.value(w, op.addr), self.value(w, op.arg));
        let mut handles = [None; 32];
        for lane in Warp::lanes(active) {
            if op.kind == MbarKind::PendingCount {
                continue;
            }
            let address = addr[lane].wrapping_add(op.offset as u64);
            match self.locate(w, lane, inst, op.space, address, 8) {
                Some(Target::Shared { cta, offset }) => handles[lane] = Some(Handle { cta, offset: offset as u32 }),
                Some(_) => self.misuse(w, lane, inst, address, "an mbarrier must be in shared memory".into()),
                None => {}
            }
        }
        match op.kind {
            MbarKind::TestState | MbarKind::TestParity | MbarKind::TryState | MbarKind::TryParity => {
                return self.mbarrier_wait(w, active, inst, op, &handles, &arg);
            }
            MbarKind::PendingCount => {
                if let Some(dst) = op.dst {
                    w.set(dst, active, &arg.map(|state| state >> 32));
                }
                return Flow::Next;
            }
            _ => {}
        }
        for lane in Warp::lanes(active) {
            let Some(handle) = handles[lane] else {
                continue;
            };
            let n = arg[lane] as u32;
            let state =
                self.object(w, lane, inst, handle, op.kind).map(|m| u64::from(m.pending) << 32 | u64::from(m.phase));
            match op.kind {
                MbarKind::Init => self.mbarrier_init(w, lane, inst, handle, n),
                MbarKind::Inval => {
                    if let Some(cta) = self.ctas.get_mut(handle.cta) {
                        cta.mbarriers.remove(&handle.offset);
                    }
                }
                kind => self.arrive(w, lane, inst, handle, arrival(kind, n), op.release),
            }
            if let (Some(dst), Some(state)) = (op.dst, state) {
                w.set_lane(dst, lane, state);
            }
        }
        Flow::Next
    }

    fn misuse(&mut self, w: &Warp, lane: usize, inst: &Inst, address: u64, detail: String) {
        if self.grid.launch.checks.barriers {
            self.report(Kind::MbarrierMisuse, w, lane, inst, What { address: Some(address), other_line: None, detail });
        }
    }

    fn mbarrier_init(&mut self, w: &Warp, lane: usize, inst: &Inst, handle: Handle, count: u32) {
        if count == 0 || count > MBARRIER_MAX {
            let detail = format!("a count of {count}; 1 to {MBARRIER_MAX} are possible");
            self.misuse(w, lane, inst, u64::from(handle.offset), detail);
        }
        let agent = self.clocks.agent(false);
        let stamp = self.clocks.stamp(w.base + lane as u32, inst.line, false);
        if let Some(cta) = self.ctas.get_mut(handle.cta) {
            cta.mbarriers.insert(handle.offset, Mbarrier::new(count, agent, stamp));
        }
    }

    /// The object behind a handle, with findings if it is not there or not known to be.
    pub fn object(
        &mut self,
        w: &Warp,
        lane: usize,
        inst: &Inst,
        handle: Handle,
        kind: MbarKind,
    ) -> Option<&mut Mbarrier> {
        if kind == MbarKind::Init {
            return None;
        }
        let found = self.ctas.get(handle.cta).and_then(|c| c.mbarriers.get(&handle.offset)).map(|m| m.init);
        let Some(init) = found else {
            let detail = "no mbarrier.init was executed there".to_string();
            self.misuse(w, lane, inst, u64::from(handle.offset), detail);
            return None;
        };
        if self.grid.launch.checks.races && !self.clocks.saw(w.base + lane as u32, init, false) {
            let line = init.line();
            let detail = format!("nothing orders it after the mbarrier.init at line {line}");
            let what = What { address: Some(u64::from(handle.offset)), other_line: Some(line), detail };
            self.report(Kind::Race, w, lane, inst, what);
        }
        self.ctas.get_mut(handle.cta).and_then(|c| c.mbarriers.get_mut(&handle.offset))
    }

    /// Applies an arrival of a thread.
    pub fn arrive(&mut self, w: &Warp, lane: usize, inst: &Inst, handle: Handle, arrival: Arrival, release: bool) {
        if self.object(w, lane, inst, handle, MbarKind::Arrive).is_none() {
            return;
        }
        let ordered = self.ordered && release && arrival.count > 0;
        let clocks = &mut self.clocks;
        let Some(m) = self.ctas.get_mut(handle.cta).and_then(|c| c.mbarriers.get_mut(&handle.offset)) else {
            return;
        };
        if ordered {
            clocks.release(w.base + lane as u32, &mut m.token);
        }
        m.tx += arrival.bytes;
        m.expected = m.expected.saturating_sub(arrival.drop);
        let over = arrival.count > m.pending;
        m.pending = m.pending.saturating_sub(arrival.count);
        let (expected, phase) = (m.expected, m.phase);
        m.complete();
        if over {
            let detail = format!("more than the {expected} arrivals that phase {phase} expects");
            self.misuse(w, lane, inst, u64::from(handle.offset), detail);
        }
    }

    /// Bytes that an asynchronous operation delivers.
    pub fn deliver(&mut self, handle: Handle, bytes: i64) {
        if let Some(m) = self.ctas.get_mut(handle.cta).and_then(|c| c.mbarriers.get_mut(&handle.offset)) {
            m.tx -= bytes;
            m.complete();
        }
    }

    fn mbarrier_wait(
        &mut self,
        w: &mut Warp,
        active: u32,
        inst: &Inst,
        op: &MbarOp,
        handles: &[Option<Handle>; 32],
        arg: &[u64; 32],
    ) -> Flow {
        let parity = matches!(op.kind, MbarKind::TestParity | MbarKind::TryParity);
        let may_block = matches!(op.kind, MbarKind::TryState | MbarKind::TryParity);
        let (mut done, mut block) = (0u32, None);
        for lane in Warp::lanes(active) {
            // A wait on nothing is reported and goes on.
            let Some(handle) = handles[lane] else {
                done |= 1 << lane;
                continue;
            };
            let Some(m) = self.object(w, lane, inst, handle, op.kind) else {
                done |= 1 << lane;
                continue;
            };
            let (phase, agent) = (m.phase, m.agent);
            let over = if parity { m.parity_done(arg[lane] as u32) } else { phase > arg[lane] as u32 };
            let last = m.last();
            let known = self.clocks.known(w.base + lane as u32, agent);
            let aliased = parity
                && self.ordered
                && self.grid.launch.checks.barriers
                && self.ctas[handle.cta].mbarriers[&handle.offset].aliased(known, arg[lane] as u32);
            if aliased {
                let detail = format!(
                    "parity {}: this thread knows of {known} completed phases, {phase} are complete, so one bit names the wrong one",
                    arg[lane] & 1
                );
                let what = What { address: Some(u64::from(handle.offset)), other_line: None, detail };
                self.report(Kind::ParityAliasing, w, lane, inst, what);
            }
            if over {
                done |= 1 << lane;
                if let Some(token) = last.filter(|_| self.ordered && op.release) {
                    self.clocks.acquire(w.base + lane as u32, &token);
                }
            } else {
                block.get_or_insert(Wait::Mbarrier { cta: handle.cta, offset: handle.offset, phase });
            }
        }
        // Without a lane that may go on, time passes until the phase ends: a try_wait suspends.
        if let (Some(wait), true, 0) = (block, may_block, done) {
            return Flow::Wait(wait);
        }
        if let Some(dst) = op.dst {
            w.set_pred(dst, active, done);
        }
        Flow::Next
    }
}

fn arrival(kind: MbarKind, n: u32) -> Arrival {
    match kind {
        MbarKind::ArriveExpectTx => Arrival { count: 1, bytes: i64::from(n), drop: 0 },
        MbarKind::ExpectTx => Arrival { bytes: i64::from(n), ..Arrival::default() },
        MbarKind::CompleteTx => Arrival { bytes: -i64::from(n), ..Arrival::default() },
        MbarKind::ArriveDrop => Arrival { count: n, bytes: 0, drop: n },
        _ => Arrival { count: n, ..Arrival::default() },
    }
}
