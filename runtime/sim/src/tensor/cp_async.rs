//! `cp.async`: each thread's copies are one stream, done in the order of their groups.

use super::mbarrier::{Arrival, Handle};
use crate::check::finding::Space;
use crate::exec::access::{Actor, READ, Target, WRITE};
use crate::machine::cluster::Cluster;
use crate::machine::warp::{Stream, Warp};
use crate::program::{CpAsyncOp, Inst, MbarKind, Src};

impl Cluster<'_> {
    /// The stream of a lane, with its agent.
    fn copies<'w>(&mut self, w: &'w mut Warp, lane: usize) -> Option<&'w mut Stream> {
        if w.copies.is_empty() {
            w.copies.resize(32, Stream::default());
        }
        let stream = w.copies.get_mut(lane)?;
        if stream.agent.is_none() {
            // Copies write through the generic proxy.
            stream.agent = Some(self.clocks.agent(true));
            stream.epoch = 1;
        }
        Some(stream)
    }

    /// Copies at once; when it counts as done is a matter of the clocks.
    pub fn cp_async(&mut self, w: &mut Warp, active: u32, inst: &Inst, op: &CpAsyncOp) {
        let (dst, src) = (self.value(w, op.dst), self.value(w, op.src));
        let size = op.src_bytes.map(|s| self.value(w, s));
        let ignored = op.ignore.map_or(0, |p| w.pred(p));
        let n = op.bytes as usize;
        let (mut shared, mut global) = ([None; 32], [None; 32]);
        for lane in Warp::lanes(active) {
            let ignore = ignored >> lane & 1 == 1;
            let read = if ignore { 0 } else { size.map_or(n, |s| (s[lane] as usize).min(n)) };
            let address = dst[lane].wrapping_add(op.dst_offset as u64);
            let Some(to) = self.locate(w, lane, inst, Space::Shared, Self::shared_address(address), n as u64) else {
                continue;
            };
            let thread = w.base + lane as u32;
            let mut buffer = [0u8; 16];
            let from = src[lane].wrapping_add(op.src_offset as u64);
            if let (true, Some(out)) = (read > 0, buffer.get_mut(..read)) {
                // The source must be aligned for the whole copy, read in full or not.
                let Some(place) = self.locate_part(w, lane, inst, from, n as u64, read as u64) else {
                    continue;
                };
                let stamp = self.clocks.stamp(thread, inst.line, false);
                self.touch(w, Actor { lane, stamp, proxy: false }, inst, place, read as u64, READ, None);
                self.read(w, lane, place, out);
                global[lane] = Some(from);
            }
            let Some((agent, epoch)) = self.copies(w, lane).and_then(|s| Some((s.agent?, s.epoch))) else {
                continue;
            };
            let stamp = self.clocks.agent_stamp(agent, epoch, inst.line);
            let data = buffer.get(..n).unwrap_or(&buffer);
            self.touch(w, Actor { lane, stamp, proxy: false }, inst, to, n as u64, WRITE, Some(data));
            if let Target::Shared { offset, .. } = to {
                shared[lane] = Some(offset as u64);
            }
            self.write(w, lane, to, data);
        }
        if self.grid.launch.counters {
            self.counters.shared(inst.index, &shared, op.bytes);
            self.counters.global(inst.index, &global, op.bytes);
        }
    }

    fn locate_part(
        &mut self,
        w: &Warp,
        lane: usize,
        inst: &Inst,
        address: u64,
        align: u64,
        bytes: u64,
    ) -> Option<Target> {
        if self.grid.launch.checks.align && !address.is_multiple_of(align) {
            return self.locate(w, lane, inst, Space::Global, address, align);
        }
        match self.resolve(w, Space::Global, address, bytes) {
            Ok(target) => Some(target),
            Err(_) => self.locate(w, lane, inst, Space::Global, address, bytes),
        }
    }

    /// `cp.async.commit_group`
    pub fn cp_async_commit(&mut self, w: &mut Warp, active: u32) {
        for lane in Warp::lanes(active) {
            if let Some(stream) = self.copies(w, lane) {
                stream.groups.push_back(stream.epoch);
                stream.epoch += 1;
            }
        }
    }

    /// `cp.async.wait_group` and, with `u32::MAX`, `cp.async.wait_all`.
    pub fn cp_async_wait(&mut self, w: &mut Warp, active: u32, pending: u32) {
        if pending == u32::MAX {
            self.cp_async_commit(w, active);
        }
        let keep = if pending == u32::MAX { 0 } else { pending as usize };
        for lane in Warp::lanes(active) {
            let thread = w.base + lane as u32;
            let Some(stream) = w.copies.get_mut(lane) else {
                continue;
            };
            let mut done = None;
            while stream.groups.len() > keep {
                done = stream.groups.pop_front();
            }
            if let (Some(epoch), Some(agent), true) = (done, stream.agent, self.ordered) {
                self.clocks.learn(thread, agent, epoch);
            }
        }
    }

    /// `cp.async.mbarrier.arrive`: all copies of the thread so far arrive when they are done.
    pub fn cp_async_mbarrier(
        &mut self,
        w: &mut Warp,
        active: u32,
        inst: &Inst,
        (addr, offset): (Src, i64),
        noinc: bool,
    ) {
        let addr = self.value(w, addr);
        for lane in Warp::lanes(active) {
            let address = Self::shared_address(addr[lane].wrapping_add(offset as u64));
            let Some(Target::Shared { cta, offset }) = self.locate(w, lane, inst, Space::Shared, address, 8) else {
                continue;
            };
            let handle = Handle { cta, offset: offset as u32 };
            let Some(stream) = self.copies(w, lane) else {
                continue;
            };
            let (agent, epoch) = (stream.agent, stream.epoch);
            // Later copies are not covered.
            stream.epoch += 1;
            if let (Some(m), Some(agent)) = (self.object(w, lane, inst, handle, MbarKind::Arrive), agent) {
                m.token.raise(agent, epoch);
                if !noinc {
                    m.pending += 1;
                }
            }
            self.arrive(w, lane, inst, handle, Arrival { count: 1, ..Arrival::default() }, false);
        }
    }
}
