//! `ld` and `st`.

use super::access::{Actor, READ, Target, WRITE};
use crate::check::finding::Space;
use crate::machine::cluster::Cluster;
use crate::machine::warp::Warp;
use crate::program::{Access, Inst, Order, Reg, Src};

/// Most bytes a thread moves with one instruction.
pub const MAX_BYTES: usize = 32;

impl Cluster<'_> {
    /// `ld`
    pub fn load(&mut self, w: &mut Warp, active: u32, inst: &Inst, a: &Access, dst: &[Option<Reg>]) {
        let base = self.value(w, a.base);
        let n = (a.bytes * a.count) as usize;
        let mut buffer = [0u8; MAX_BYTES];
        let mut lines = [None; 32];
        for lane in Warp::lanes(active) {
            let address = base[lane].wrapping_add(a.offset as u64);
            let Some(target) = self.locate(w, lane, inst, a.space, address, n as u64) else {
                continue;
            };
            lines[lane] = Some((target, address));
            let Some(out) = buffer.get_mut(..n) else {
                continue;
            };
            if matches!(target, Target::Shared { .. } | Target::Global(_)) {
                let stamp = self.clocks.stamp(w.base + lane as u32, inst.line, a.order.strong);
                self.touch(w, Actor { lane, stamp, proxy: false }, inst, target, n as u64, READ, None);
            }
            self.read(w, lane, target, out);
            // After the read: writers on other host threads publish before they write.
            if a.order.strong && matches!(target, Target::Shared { .. } | Target::Global(_)) {
                self.observe(w, lane, target, address, a.order.acquire);
            }
            for (i, d) in dst.iter().enumerate() {
                let Some(d) = d else { continue };
                w.set_lane(*d, lane, element(&buffer, i, a.bytes as usize, a.signed));
            }
        }
        self.count(inst, a, &lines);
    }

    /// `st`
    pub fn store(&mut self, w: &mut Warp, active: u32, inst: &Inst, a: &Access, src: &[Src]) {
        let base = self.value(w, a.base);
        let values: Vec<_> = src.iter().map(|s| self.value(w, *s)).collect();
        let n = (a.bytes * a.count) as usize;
        let mut buffer = [0u8; MAX_BYTES];
        let mut lines = [None; 32];
        for lane in Warp::lanes(active) {
            let address = base[lane].wrapping_add(a.offset as u64);
            let Some(target) = self.locate(w, lane, inst, a.space, address, n as u64) else {
                continue;
            };
            lines[lane] = Some((target, address));
            for (chunk, value) in buffer.chunks_exact_mut(a.bytes as usize).zip(&values) {
                let bytes = value[lane].to_le_bytes();
                chunk.copy_from_slice(bytes.get(..chunk.len()).unwrap_or(&bytes));
            }
            let data = buffer.get(..n).unwrap_or(&buffer);
            if matches!(target, Target::Shared { .. } | Target::Global(_)) {
                let stamp = self.clocks.stamp(w.base + lane as u32, inst.line, a.order.strong);
                self.touch(w, Actor { lane, stamp, proxy: false }, inst, target, n as u64, WRITE, Some(data));
                if a.order.strong {
                    self.publish(w, lane, target, address, a.order, false);
                }
            }
            self.write(w, lane, target, data);
        }
        self.count(inst, a, &lines);
    }

    /// A strong read of a place that strong writes publish at.
    pub fn observe(&mut self, w: &Warp, lane: usize, target: Target, address: u64, acquire: bool) {
        if !self.ordered {
            return;
        }
        let thread = w.base + lane as u32;
        match target {
            Target::Shared { cta, offset } => {
                if let Some(token) = self.tokens.get(&(cta, offset as u64)).cloned() {
                    self.clocks.observe(thread, &token, acquire);
                }
            }
            Target::Global(_) => {
                if let Some(token) = self.grid.global.published(address) {
                    self.clocks.observe_foreign(thread, &token, acquire);
                }
            }
            _ => {}
        }
    }

    /// A strong write publishes what its thread released. An atomic adds to what is there (a release sequence).
    pub fn publish(&mut self, w: &Warp, lane: usize, target: Target, address: u64, order: Order, atomic: bool) {
        if !self.ordered {
            return;
        }
        let Some(token) = self.clocks.publish(w.base + lane as u32, order.release) else {
            return;
        };
        match target {
            Target::Shared { cta, offset } => {
                let slot = self.tokens.entry((cta, offset as u64)).or_default();
                if atomic {
                    slot.join(&token);
                } else {
                    *slot = token;
                }
            }
            Target::Global(_) => self.grid.global.publish(address, self.clocks.export(&token), atomic),
            _ => {}
        }
    }

    fn count(&mut self, inst: &Inst, a: &Access, lines: &[Option<(Target, u64)>; 32]) {
        if !self.grid.launch.counters {
            return;
        }
        let bytes = a.bytes * a.count;
        let mut shared = [None; 32];
        let mut global = [None; 32];
        for (lane, line) in lines.iter().enumerate() {
            match line {
                Some((Target::Shared { offset, .. }, _)) => shared[lane] = Some(*offset as u64),
                Some((Target::Global(_), address)) if a.space != Space::Const => global[lane] = Some(*address),
                _ => {}
            }
        }
        if shared.iter().any(Option::is_some) {
            self.counters.shared(inst.index, &shared, bytes);
        }
        if global.iter().any(Option::is_some) {
            self.counters.global(inst.index, &global, bytes);
        }
    }
}

/// Element `i` of what was read.
pub fn element(buffer: &[u8], i: usize, bytes: usize, signed: bool) -> u64 {
    let mut raw = [0u8; 8];
    let from = buffer.get(i * bytes..(i + 1) * bytes).unwrap_or_default();
    if let Some(to) = raw.get_mut(..from.len()) {
        to.copy_from_slice(from);
    }
    let value = u64::from_le_bytes(raw);
    let unused = 64 - 8 * bytes as u32;
    if signed && unused > 0 { ((value << unused) as i64 >> unused) as u64 } else { value }
}
