//! Counters of each instruction, and what they say together.

use crate::program::Program;
use serde::Serialize;
use std::collections::BTreeMap;

/// Counters of one instruction.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Line {
    /// Times a warp executed it.
    pub warps: u64,
    /// Threads that did.
    pub threads: u64,
    /// Warp accesses to shared memory.
    pub shared_requests: u64,
    /// Passes over the banks that they took.
    pub shared_passes: u64,
    /// Passes that an access without conflicts takes.
    pub shared_ideal: u64,
    /// Bytes of shared memory asked for.
    pub shared_bytes: u64,
    /// Warp accesses to global memory.
    pub global_requests: u64,
    /// 32-byte sectors that they touched.
    pub sectors: u64,
    /// Bytes of global memory asked for.
    pub global_bytes: u64,
    /// Matrix instructions.
    pub mma: u64,
}

impl Line {
    /// Ways of the worst access on average: 1 has no conflicts.
    pub fn conflict_ways(&self) -> f64 {
        if self.shared_ideal == 0 { 1.0 } else { self.shared_passes as f64 / self.shared_ideal as f64 }
    }

    fn add(&mut self, o: &Line) {
        self.warps += o.warps;
        self.threads += o.threads;
        self.shared_requests += o.shared_requests;
        self.shared_passes += o.shared_passes;
        self.shared_ideal += o.shared_ideal;
        self.shared_bytes += o.shared_bytes;
        self.global_requests += o.global_requests;
        self.sectors += o.sectors;
        self.global_bytes += o.global_bytes;
        self.mma += o.mma;
    }
}

/// Counters of a run, by instruction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counters {
    /// One of each instruction; empty when nothing was counted.
    pub lines: Vec<Line>,
}

const BANKS: u64 = 32;

/// Passes over the banks that an access takes, and that it must take at least.
pub fn bank_passes(offsets: &[Option<u64>; 32], bytes: u32) -> (u64, u64) {
    // Lanes of wide accesses go in groups that together ask for 128 bytes.
    let group = (128 / bytes.max(4)).clamp(1, 32) as usize;
    let (mut passes, mut ideal) = (0, 0);
    for lanes in offsets.chunks(group) {
        let mut words: Vec<u64> = Vec::with_capacity(BANKS as usize);
        for offset in lanes.iter().flatten() {
            for word in offset / 4..(offset + u64::from(bytes)).div_ceil(4) {
                words.push(word);
            }
        }
        if words.is_empty() {
            continue;
        }
        words.sort_unstable();
        words.dedup();
        let mut load = [0u64; BANKS as usize];
        for word in words {
            if let Some(slot) = load.get_mut((word % BANKS) as usize) {
                *slot += 1;
            }
        }
        passes += load.iter().max().copied().unwrap_or(0);
        ideal += 1;
    }
    (passes, ideal)
}

/// 32-byte sectors that an access touches.
pub fn sectors(addresses: &[Option<u64>; 32], bytes: u32) -> u64 {
    let mut touched: Vec<u64> = Vec::with_capacity(64);
    for address in addresses.iter().flatten() {
        touched.extend(address / 32..=(address + u64::from(bytes.max(1)) - 1) / 32);
    }
    touched.sort_unstable();
    touched.dedup();
    touched.len() as u64
}

impl Counters {
    /// Counters of `n` instructions.
    pub fn new(n: usize) -> Self {
        Counters { lines: vec![Line::default(); n] }
    }

    fn line(&mut self, index: u32) -> &mut Line {
        let index = index as usize;
        if self.lines.len() <= index {
            self.lines.resize(index + 1, Line::default());
        }
        &mut self.lines[index]
    }

    /// A warp executed an instruction.
    pub fn executed(&mut self, index: u32, active: u32) {
        let line = self.line(index);
        line.warps += 1;
        line.threads += u64::from(active.count_ones());
    }

    /// An access to shared memory.
    pub fn shared(&mut self, index: u32, offsets: &[Option<u64>; 32], bytes: u32) {
        let lanes = offsets.iter().flatten().count() as u64;
        if lanes == 0 {
            return;
        }
        let (passes, ideal) = bank_passes(offsets, bytes);
        let line = self.line(index);
        line.shared_requests += 1;
        line.shared_passes += passes;
        line.shared_ideal += ideal;
        line.shared_bytes += lanes * u64::from(bytes);
    }

    /// An access to global memory.
    pub fn global(&mut self, index: u32, addresses: &[Option<u64>; 32], bytes: u32) {
        let lanes = addresses.iter().flatten().count() as u64;
        if lanes == 0 {
            return;
        }
        let touched = sectors(addresses, bytes);
        let line = self.line(index);
        line.global_requests += 1;
        line.sectors += touched;
        line.global_bytes += lanes * u64::from(bytes);
    }

    /// A bulk copy of contiguous bytes.
    pub fn bulk(&mut self, index: u32, bytes: u64) {
        let line = self.line(index);
        line.global_requests += 1;
        line.sectors += bytes.div_ceil(32);
        line.global_bytes += bytes;
    }

    /// A matrix instruction.
    pub fn mma(&mut self, index: u32) {
        self.line(index).mma += 1;
    }

    /// Adds those of another part of the run.
    pub fn merge(&mut self, other: &Counters) {
        for (i, line) in other.lines.iter().enumerate() {
            self.line(i as u32).add(line);
        }
    }

    /// All lines together.
    pub fn total(&self) -> Line {
        let mut total = Line::default();
        self.lines.iter().for_each(|l| total.add(l));
        total
    }

    /// Executions by opcode, without its modifiers.
    pub fn mix(&self, program: &Program) -> BTreeMap<String, u64> {
        let mut mix = BTreeMap::new();
        for (inst, line) in program.insts.iter().zip(&self.lines) {
            let opcode = program.opcodes.get(inst.opcode as usize).map_or("", String::as_str);
            let stem = opcode.split('.').next().unwrap_or_default();
            *mix.entry(stem.to_string()).or_default() += line.warps;
        }
        mix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(f: impl Fn(u64) -> u64) -> [Option<u64>; 32] {
        std::array::from_fn(|i| Some(f(i as u64)))
    }

    #[test]
    fn conflicts_by_pattern() {
        assert_eq!(bank_passes(&lanes(|i| i * 4), 4), (1, 1));
        assert_eq!(bank_passes(&lanes(|_| 64), 4), (1, 1));
        assert_eq!(bank_passes(&lanes(|i| i * 8), 4), (2, 1));
        assert_eq!(bank_passes(&lanes(|i| i * 128), 4), (32, 1));
        assert_eq!(bank_passes(&lanes(|i| i * 16), 16), (4, 4));
        // Rows of 128 bytes read by ldmatrix: all eight rows in the same banks.
        assert_eq!(bank_passes(&lanes(|i| i * 128), 16), (32, 4));
        // The same, swizzled.
        assert_eq!(bank_passes(&lanes(|i| i * 128 + (i % 8) * 16), 16), (4, 4));
    }

    #[test]
    fn sectors_by_pattern() {
        assert_eq!(sectors(&lanes(|i| i * 4), 4), 4);
        assert_eq!(sectors(&lanes(|i| i * 128), 4), 32);
        assert_eq!(sectors(&lanes(|i| 16 + i * 4), 4), 5);
    }
}
