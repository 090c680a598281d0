//! `cp.async.bulk`: copies told to mbarriers, and bulk groups of a thread.

use super::map::Element;
use super::mbarrier::Handle;
use super::tma::Destinations;
use crate::check::clock::{Agent, Stamp};
use crate::check::finding::{Kind, Space};
use crate::exec::access::{Actor, READ, Target, WRITE};
use crate::exec::atomic::{AtomOp, find};
use crate::machine::cluster::{Cluster, What};
use crate::machine::warp::{Stream, Warp};
use crate::memory::address::RANK_SHIFT;
use crate::program::{BulkDir, BulkOp, BulkType, Inst, MbarKind};

/// Agents of the reads and writes of a thread's bulk group that is being gathered.
#[derive(Clone, Copy, Debug)]
pub struct GroupIds {
    /// Reads shared memory.
    pub reader: Agent,
    /// Writes global memory.
    pub writer: Agent,
    /// Epoch of the group.
    pub epoch: u32,
}

impl Cluster<'_> {
    fn bulk_stream<'w>(&mut self, w: &'w mut Warp, lane: usize) -> Option<&'w mut Stream> {
        if w.bulk.is_empty() {
            w.bulk.resize(32, Stream::default());
        }
        let stream = w.bulk.get_mut(lane)?;
        if stream.agent.is_none() {
            stream.agent = Some(self.clocks.agent(false));
            stream.reader = Some(self.clocks.agent(false));
            stream.epoch = 1;
        }
        Some(stream)
    }

    /// A bulk instruction, of each of its lanes.
    pub fn bulk(&mut self, w: &mut Warp, active: u32, inst: &Inst, op: &BulkOp) {
        for lane in Warp::lanes(active) {
            let stream = self.bulk_stream(w, lane);
            let ids = stream.and_then(|s| Some(GroupIds { reader: s.reader?, writer: s.agent?, epoch: s.epoch }));
            let Some(ids) = ids else { continue };
            if op.size.is_none() {
                self.tensor_copy(w, lane, inst, op, ids);
            } else {
                self.bulk_copy(w, lane, inst, op, ids);
            }
        }
    }

    fn bulk_copy(&mut self, w: &mut Warp, lane: usize, inst: &Inst, op: &BulkOp, ids: GroupIds) {
        let shared = Self::shared_address(self.value(w, op.shared)[lane].wrapping_add(op.shared_offset as u64));
        let other = self.value(w, op.other)[lane].wrapping_add(op.other_offset as u64);
        let size = op.size.map_or(0, |s| u64::from(self.value(w, s)[lane] as u32));
        if op.dir == BulkDir::Prefetch {
            return;
        }
        if self.grid.launch.checks.align && !(shared | other | size).is_multiple_of(16) {
            let detail = format!("{size} bytes at {shared:#x} and {other:#x}: bulk copies need multiples of 16");
            self.report(Kind::Misaligned, w, lane, inst, What { address: Some(other), other_line: None, detail });
        }
        let mut data = vec![0; size as usize];
        if self.grid.launch.counters {
            self.counters.bulk(inst.index, size);
        }
        match op.dir {
            BulkDir::Load | BulkDir::Dsmem => {
                let space = if op.dir == BulkDir::Load { Space::Global } else { Space::Shared };
                let from = if op.dir == BulkDir::Load { other } else { Self::shared_address(other) };
                let Some(source) = self.locate_bulk(w, lane, inst, space, from, size) else {
                    return;
                };
                let stamp = self.clocks.stamp(w.base + lane as u32, inst.line, false);
                self.touch(w, Actor { lane, stamp, proxy: true }, inst, source, size, READ, None);
                self.read(w, lane, source, &mut data);
                if self.locate_bulk(w, lane, inst, Space::SharedCluster, shared, size).is_none() {
                    return;
                }
                let Some(places) = self.destinations(w, lane, inst, op, shared) else {
                    return;
                };
                for &(cta, handle) in &places.ctas {
                    let Some(stamp) = self.phase_stamp(handle, inst) else {
                        continue;
                    };
                    let target = Target::Shared { cta, offset: places.offset as usize };
                    self.touch(w, Actor { lane, stamp, proxy: true }, inst, target, size, WRITE, None);
                    self.write(w, lane, target, &data);
                    self.deliver(handle, size as i64);
                }
            }
            _ => {
                let Some(source) = self.locate_bulk(w, lane, inst, Space::Shared, shared, size) else {
                    return;
                };
                let stamp = self.clocks.agent_stamp(ids.reader, ids.epoch, inst.line);
                self.touch(w, Actor { lane, stamp, proxy: true }, inst, source, size, READ, None);
                self.read(w, lane, source, &mut data);
                let Some(target) = self.locate_bulk(w, lane, inst, Space::Global, other, size) else {
                    return;
                };
                let stamp = self.clocks.agent_stamp(ids.writer, ids.epoch, inst.line);
                self.put_global(w, lane, inst, op, None, target, &data, stamp);
            }
        }
    }

    /// Where a bulk copy reads or writes; alignment is the caller's matter.
    pub fn locate_bulk(
        &mut self,
        w: &Warp,
        lane: usize,
        inst: &Inst,
        space: Space,
        address: u64,
        size: u64,
    ) -> Option<Target> {
        match self.resolve(w, space, address, size) {
            Ok(target) => Some(target),
            Err(why) => {
                let detail = format!("a bulk copy of {size} bytes in {space} memory {why}");
                self.report(
                    Kind::OutOfBounds,
                    w,
                    lane,
                    inst,
                    What { address: Some(address), other_line: None, detail },
                );
                None
            }
        }
    }

    /// Mark of the writes that the current phase of an mbarrier announces.
    pub fn phase_stamp(&self, handle: Handle, inst: &Inst) -> Option<Stamp> {
        let m = self.ctas.get(handle.cta)?.mbarriers.get(&handle.offset)?;
        Some(self.clocks.agent_stamp(m.agent, m.phase + 1, inst.line))
    }

    /// The CTAs that a load writes to, each with the mbarrier that is told.
    pub fn destinations(
        &mut self,
        w: &Warp,
        lane: usize,
        inst: &Inst,
        op: &BulkOp,
        shared: u64,
    ) -> Option<Destinations> {
        let low = (1u64 << RANK_SHIFT) - 1;
        let mbar = Self::shared_address(self.value(w, op.mbar?)[lane].wrapping_add(op.mbar_offset as u64));
        let rank = |a: u64| (a >> RANK_SHIFT).checked_sub(1).map_or(w.cta, |r| r as usize);
        let mask = op.multicast.map(|m| self.value(w, m)[lane] as u32 & 0xFFFF);
        let ranks: Vec<usize> = match mask {
            Some(mask) => (0..16).filter(|r| mask >> r & 1 == 1).collect(),
            None => vec![rank(shared)],
        };
        let mut ctas = Vec::new();
        for cta in ranks {
            if cta >= self.ctas.len() {
                let detail = format!("CTA {cta} of a cluster of {}", self.ctas.len());
                self.report(Kind::OutOfBounds, w, lane, inst, What { address: Some(shared), other_line: None, detail });
                continue;
            }
            // Multicast tells the mbarrier at the same place of each CTA.
            let owner = if mask.is_some() { cta } else { rank(mbar) };
            let handle = Handle { cta: owner, offset: (mbar & low) as u32 };
            if self.object(w, lane, inst, handle, MbarKind::CompleteTx).is_some() {
                ctas.push((cta, handle));
            }
        }
        Some(Destinations { ctas, offset: shared & low })
    }

    /// `cp.async.bulk.commit_group`
    pub fn bulk_commit(&mut self, w: &mut Warp, active: u32) {
        for lane in Warp::lanes(active) {
            if let Some(stream) = self.bulk_stream(w, lane) {
                stream.groups.push_back(stream.epoch);
                stream.epoch += 1;
            }
        }
    }

    /// `cp.async.bulk.wait_group`
    pub fn bulk_wait(&mut self, w: &mut Warp, active: u32, pending: u32, read: bool) {
        for lane in Warp::lanes(active) {
            let thread = w.base + lane as u32;
            let Some(stream) = w.bulk.get_mut(lane) else {
                continue;
            };
            let done =
                stream.groups.len().checked_sub(pending as usize + 1).and_then(|i| stream.groups.get(i)).copied();
            let (Some(epoch), true) = (done, self.ordered) else {
                continue;
            };
            if let Some(reader) = stream.reader {
                self.clocks.learn(thread, reader, epoch);
            }
            if let (Some(writer), false) = (stream.agent, read) {
                self.clocks.learn(thread, writer, epoch);
                stream.groups.retain(|g| *g > epoch);
            }
        }
    }
}

/// The row of a bulk reduction: its type is its own or the tensor map's.
pub fn reduction(atom: AtomOp, ty: BulkType, element: Option<Element>) -> Option<AtomOp> {
    let name = match (ty, element) {
        (BulkType::F16, _) | (_, Some(Element::F16)) => "f16",
        (BulkType::Bf16, _) | (_, Some(Element::Bf16)) => "bf16",
        (BulkType::F32, _) | (_, Some(Element::F32 | Element::Tf32)) => "f32",
        (BulkType::F64, _) | (_, Some(Element::F64)) => "f64",
        (BulkType::S32, _) | (_, Some(Element::S32)) => "s32",
        (BulkType::U64, _) | (_, Some(Element::U64)) => "u64",
        (BulkType::S64, _) | (_, Some(Element::S64)) => "s64",
        _ => "u32",
    };
    let verb = atom.name.split('.').next()?;
    if matches!(verb, "and" | "or" | "xor") {
        let bits = if name.ends_with("64") { "b64" } else { "b32" };
        return find(&format!("{verb}.{bits}"));
    }
    find(&format!("{verb}.{name}"))
}
