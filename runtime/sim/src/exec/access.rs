//! The one road of all accesses: where an address leads, whether it may be touched, and the bytes themselves.

use crate::check::clock::Stamp;
use crate::check::finding::{Kind, Space};
use crate::check::shadow::{Conflict, Touch, pages};
use crate::machine::cluster::{Cluster, What};
use crate::machine::warp::Warp;
use crate::memory::address::{RANK_SHIFT, SHARED_BASE, from_generic};
use crate::memory::global::Place;
use crate::program::Inst;

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Shared memory of a CTA of the cluster.
    Shared {
        /// Its rank.
        cta: usize,
        /// Byte offset.
        offset: usize,
    },
    /// A global buffer.
    Global(Place),
    /// Local memory of the lane.
    Local(usize),
    /// A kernel parameter.
    Param(usize),
}

/// A read.
pub const READ: Touch = Touch { read: true, write: false, track_reads: true };
/// A write.
pub const WRITE: Touch = Touch { read: false, write: true, track_reads: true };
/// Both at once.
pub const UPDATE: Touch = Touch { read: true, write: true, track_reads: true };

/// Who performs an access, for the checks.
#[derive(Clone, Copy, Debug)]
pub struct Actor {
    /// Lane that issued it.
    pub lane: usize,
    /// Its mark.
    pub stamp: Stamp,
    /// Whether it goes through the async proxy.
    pub proxy: bool,
}

impl Cluster<'_> {
    /// Where `bytes` bytes at `address` of `space` lie, for a lane of `w`; or why nowhere.
    pub fn resolve(&self, w: &Warp, space: Space, address: u64, bytes: u64) -> Result<Target, String> {
        let (space, address) = if space == Space::Generic { from_generic(address) } else { (space, address) };
        // Addresses of these windows have 32 bits: a negative offset wraps around.
        let window = matches!(space, Space::Shared | Space::SharedCluster | Space::Local | Space::Param);
        let address = if window { address & 0xFFFF_FFFF } else { address };
        match space {
            Space::Shared | Space::SharedCluster => self.resolve_shared(w, space, address, bytes),
            Space::Local => {
                let end = address.saturating_add(bytes);
                let limit = u64::from(self.grid.program.local_bytes);
                if end > limit {
                    return Err(format!("ends {} bytes past the {limit} bytes of local memory", end - limit));
                }
                Ok(Target::Local(address as usize))
            }
            Space::Param => {
                let limit = self.grid.launch.params.len() as u64;
                if address.saturating_add(bytes) > limit {
                    return Err(format!("past the {limit} bytes of parameters"));
                }
                Ok(Target::Param(address as usize))
            }
            Space::Global | Space::Const | Space::Generic => self.grid.global.find(address, bytes).map(Target::Global),
        }
    }

    fn resolve_shared(&self, w: &Warp, space: Space, address: u64, bytes: u64) -> Result<Target, String> {
        let rank = address >> RANK_SHIFT;
        let offset = address & ((1 << RANK_SHIFT) - 1);
        if rank > self.ctas.len() as u64 {
            return Err(format!("no CTA of this cluster has shared memory there ({} CTAs)", self.ctas.len()));
        }
        let cta = if rank == 0 { w.cta } else { rank as usize - 1 };
        if space == Space::Shared && cta != w.cta {
            return Err(format!("shared memory of CTA {cta} in the cluster, through a shared::cta access"));
        }
        let limit = self.ctas.get(cta).map_or(0, |c| c.shared.len() as u64);
        let end = offset + bytes;
        if end > limit {
            return Err(format!("ends {} bytes past the {limit} bytes of shared memory", end - limit));
        }
        Ok(Target::Shared { cta, offset: offset as usize })
    }

    /// As `resolve`, with findings for what is out of bounds or misaligned.
    pub fn locate(
        &mut self,
        w: &Warp,
        lane: usize,
        inst: &Inst,
        space: Space,
        address: u64,
        bytes: u64,
    ) -> Option<Target> {
        if self.grid.launch.checks.align && bytes.is_power_of_two() && !address.is_multiple_of(bytes) {
            let detail = format!("a {space} access of {bytes} bytes must be aligned to {bytes}");
            self.report(Kind::Misaligned, w, lane, inst, What { address: Some(address), other_line: None, detail });
        }
        match self.resolve(w, space, address, bytes) {
            Ok(target) => Some(target),
            Err(why) => {
                let detail = format!("a {space} access of {bytes} bytes {why}");
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

    /// Reads bytes of a target.
    pub fn read(&self, w: &Warp, lane: usize, target: Target, out: &mut [u8]) {
        let from = match target {
            Target::Shared { cta, offset } => self.ctas.get(cta).and_then(|c| c.shared.get(offset..offset + out.len())),
            Target::Local(offset) => {
                let at = lane * self.grid.program.local_bytes as usize + offset;
                w.local.get(at..at + out.len())
            }
            Target::Param(offset) => self.grid.launch.params.get(offset..offset + out.len()),
            Target::Global(place) => {
                self.grid.global.read(place, out);
                return;
            }
        };
        if let Some(from) = from {
            out.copy_from_slice(from);
        }
    }

    /// Writes bytes of a target.
    pub fn write(&mut self, w: &mut Warp, lane: usize, target: Target, data: &[u8]) {
        let to = match target {
            Target::Shared { cta, offset } => {
                self.ctas.get_mut(cta).and_then(|c| c.shared.get_mut(offset..offset + data.len()))
            }
            Target::Local(offset) => {
                let at = lane * self.grid.program.local_bytes as usize + offset;
                w.local.get_mut(at..at + data.len())
            }
            Target::Param(_) => None,
            Target::Global(place) => {
                if !self.grid.global.read_only(place) {
                    self.grid.global.write(place, data);
                }
                return;
            }
        };
        if let Some(to) = to {
            to.copy_from_slice(data);
        }
    }

    /// Marks an access and reports what it ran into. `data` is what a write is about to put there.
    pub fn touch(
        &mut self,
        w: &Warp,
        actor: Actor,
        inst: &Inst,
        target: Target,
        len: u64,
        touch: Touch,
        data: Option<&[u8]>,
    ) {
        if let Target::Global(place) = target
            && touch.write
            && self.grid.global.read_only(place)
        {
            let detail = format!("`{}` was given as an input", self.grid.global.name(place));
            self.report(Kind::WriteToInput, w, actor.lane, inst, What::text(detail));
            return;
        }
        if !self.grid.launch.checks.shadow() {
            return;
        }
        let thread = w.base + actor.lane as u32;
        let clocks = &self.clocks;
        // Reads need no proxy fence before an async write: order is enough.
        let saw = |s: Stamp, wrote: bool| clocks.saw(thread, s, actor.proxy && wrote);
        let hit = match target {
            Target::Shared { cta, offset } => {
                let Some(cta) = self.ctas.get_mut(cta) else {
                    return;
                };
                let mut hit = None;
                for (page, at, n) in pages(offset as u64, len) {
                    let Some(marks) = cta.shadow.get_mut(page) else {
                        continue;
                    };
                    if let Some((o, conflict)) = marks.touch(at, n, touch, actor.stamp, &saw) {
                        hit.get_or_insert((page as u64 * crate::check::shadow::PAGE + o, conflict));
                    }
                }
                hit
            }
            Target::Global(place) => self.grid.global.touch(place, len, touch, actor.stamp, &saw),
            Target::Local(_) | Target::Param(_) => None,
        };
        if let Some((address, conflict)) = hit {
            self.conflict(w, actor, inst, target, address, conflict, data);
        }
    }

    fn conflict(
        &mut self,
        w: &Warp,
        actor: Actor,
        inst: &Inst,
        target: Target,
        address: u64,
        conflict: Conflict,
        data: Option<&[u8]>,
    ) {
        let checks = self.grid.launch.checks;
        let space = if matches!(target, Target::Global(_)) { Space::Global } else { Space::Shared };
        let what = |detail, other_line| What { address: Some(address), other_line, detail };
        match conflict {
            Conflict::Uninitialised if checks.uninit => {
                let detail = format!("{space} memory that nobody has written");
                self.report(Kind::UninitialisedRead, w, actor.lane, inst, what(detail, None));
            }
            Conflict::Unordered(other, wrote) if checks.races => {
                if self.harmless(w, inst, other, target, data) {
                    return;
                }
                let thread = w.base + actor.lane as u32;
                let unfenced = actor.proxy && self.clocks.saw(thread, other, false);
                let line = other.line();
                let verb = if wrote { "write" } else { "read" };
                let same = if wrote && data.is_some_and(|d| self.holds(w, target, d)) {
                    ", with the bytes that are there"
                } else {
                    ""
                };
                let (kind, detail) = if unfenced {
                    (
                        Kind::MissingProxyFence,
                        format!("the {verb} at line {line} needs a fence.proxy.async on its way here"),
                    )
                } else {
                    let who = self.who(other);
                    (Kind::Race, format!("nothing orders it after the {verb} at line {line} by {who}{same}"))
                };
                self.report(kind, w, actor.lane, inst, what(detail, Some(line)));
            }
            _ => {}
        }
    }

    /// Lanes of one instruction that write the same bytes to the same place: one of them wins, all the same.
    fn harmless(&self, w: &Warp, inst: &Inst, other: Stamp, target: Target, data: Option<&[u8]>) -> bool {
        let mates = other.cluster == self.index && (w.base..w.base + 32).contains(&other.agent);
        mates && other.line() == inst.line && data.is_some_and(|data| self.holds(w, target, data))
    }

    /// Whether memory holds these bytes.
    fn holds(&self, w: &Warp, target: Target, data: &[u8]) -> bool {
        let mut now = vec![0; data.len()];
        self.read(w, 0, target, &mut now);
        now == data
    }

    fn who(&self, s: Stamp) -> String {
        let block: u32 = self.grid.launch.block.iter().product();
        let threads = block * self.ctas.len() as u32;
        let at = if s.cluster == self.index { String::new() } else { format!(" of cluster {}", s.cluster) };
        if s.agent < threads {
            return format!("thread {} of CTA {} in the cluster{at}", s.agent % block, s.agent / block);
        }
        format!("an asynchronous operation{at}")
    }

    /// The `shared::cluster` address behind an address that may be generic.
    pub fn shared_address(address: u64) -> u64 {
        if address >= SHARED_BASE { address - SHARED_BASE } else { address }
    }
}
