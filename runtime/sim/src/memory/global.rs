//! Global memory: buffers with gaps between them, shared by all CTAs.

use super::address::{BUFFER_BASE, MODULE_BASE};
use crate::check::clock::{ForeignToken, Stamp};
use crate::check::shadow::{Conflict, Page, Touch, pages};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a kernel may do with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Filled by the host, read by the kernel.
    Input,
    /// Written by the kernel, never read before that.
    Output,
    /// Filled by the host, read and written by the kernel.
    InOut,
}

/// Space left between buffers, so that an access past the end hits none.
const GAP: u64 = 1 << 16;
const STRIPES: usize = 64;

#[derive(Debug)]
struct Buffer {
    base: u64,
    bytes: u64,
    name: String,
    usage: Use,
    words: Vec<AtomicU32>,
    shadow: Vec<Mutex<Option<Page>>>,
}

/// A buffer found by an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    index: usize,
    offset: u64,
}

/// All global memory of a run.
#[derive(Debug)]
pub struct GlobalMemory {
    buffers: Vec<Buffer>,
    next: u64,
    /// Atomics take turns, by address.
    stripes: Vec<Mutex<()>>,
    /// What releases to global addresses published.
    tokens: Mutex<HashMap<u64, ForeignToken>>,
    /// What sequentially consistent fences published.
    sequential: Mutex<ForeignToken>,
}

impl Default for GlobalMemory {
    fn default() -> Self {
        GlobalMemory {
            buffers: Vec::new(),
            next: BUFFER_BASE,
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            tokens: Mutex::default(),
            sequential: Mutex::default(),
        }
    }
}

impl GlobalMemory {
    /// A buffer of the host; returns its device address, a multiple of 512.
    pub fn allocate(&mut self, name: &str, bytes: u64, usage: Use) -> u64 {
        let base = self.next;
        self.next = (base + bytes + GAP).next_multiple_of(512);
        self.insert(base, name, bytes, usage);
        base
    }

    /// A variable of the module at a fixed address.
    pub fn place(&mut self, name: &str, address: u64, data: &[u8], constant: bool) {
        debug_assert!(address >= MODULE_BASE);
        self.insert(address, name, data.len() as u64, if constant { Use::Input } else { Use::InOut });
        self.poke(address, data);
    }

    fn insert(&mut self, base: u64, name: &str, bytes: u64, usage: Use) {
        let words = (0..bytes.div_ceil(4)).map(|_| AtomicU32::new(0xFFFF_FFFF)).collect();
        let shadow = (0..bytes.div_ceil(crate::check::shadow::PAGE)).map(|_| Mutex::new(None)).collect();
        let at = self.buffers.partition_point(|b| b.base < base);
        self.buffers.insert(at, Buffer { base, bytes, name: name.to_string(), usage, words, shadow });
    }

    /// Copies host bytes to the device.
    pub fn upload(&self, address: u64, data: &[u8]) -> Result<()> {
        self.find(address, data.len() as u64)
            .map_err(|why| Error::Memory(format!("upload of {} bytes to {address:#x}: {why}", data.len())))?;
        self.poke(address, data);
        self.filled(address, data.len() as u64);
        Ok(())
    }

    /// Marks bytes of the host as written, where that is tracked.
    fn filled(&self, address: u64, len: u64) {
        let Ok(place) = self.find(address, len) else { return };
        let Some(buffer) = self.buffers.get(place.index).filter(|b| b.usage == Use::Output) else { return };
        for (page, offset, n) in pages(place.offset, len) {
            if let Some(slot) = buffer.shadow.get(page) {
                let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
                slot.get_or_insert_with(|| Page::new(false)).fill(offset, n);
            }
        }
    }

    /// Between two kernels that run one after the other: the next sees all that the last has written.
    pub fn settle(&mut self) {
        for slot in self.buffers.iter().flat_map(|b| &b.shadow) {
            if let Some(page) = slot.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                page.settle();
            }
        }
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.sequential = Mutex::default();
    }

    /// Gives back a buffer of the host: accesses to it are out of bounds from now on. Is there one at that address?
    pub fn free(&mut self, address: u64) -> bool {
        let before = self.buffers.len();
        self.buffers.retain(|b| b.base != address);
        self.buffers.len() < before
    }

    /// Copies device bytes to the host.
    pub fn download(&self, address: u64, bytes: usize) -> Result<Vec<u8>> {
        let place = self
            .find(address, bytes as u64)
            .map_err(|why| Error::Memory(format!("download of {bytes} bytes from {address:#x}: {why}")))?;
        let mut out = vec![0; bytes];
        self.read(place, &mut out);
        Ok(out)
    }

    fn poke(&self, address: u64, data: &[u8]) {
        if let Ok(place) = self.find(address, data.len() as u64) {
            self.write(place, data);
        }
    }

    /// The buffer that holds `bytes` bytes at `address`, or why there is none.
    pub fn find(&self, address: u64, bytes: u64) -> std::result::Result<Place, String> {
        let index = self.buffers.partition_point(|b| b.base <= address).wrapping_sub(1);
        let Some(buffer) = self.buffers.get(index) else {
            return Err("below every buffer".to_string());
        };
        let offset = address - buffer.base;
        if offset.checked_add(bytes).is_some_and(|end| end <= buffer.bytes) {
            return Ok(Place { index, offset });
        }
        let past = offset.saturating_add(bytes).saturating_sub(buffer.bytes);
        Err(format!("ends {past} bytes past `{}` of {} bytes at {:#x}", buffer.name, buffer.bytes, buffer.base))
    }

    /// Whether the kernel may not write there.
    pub fn read_only(&self, place: Place) -> bool {
        self.buffers.get(place.index).is_some_and(|b| b.usage == Use::Input)
    }

    /// Name of a buffer.
    pub fn name(&self, place: Place) -> &str {
        self.buffers.get(place.index).map_or("", |b| &b.name)
    }

    fn word(&self, place: Place, word: u64) -> Option<&AtomicU32> {
        self.buffers.get(place.index)?.words.get(word as usize)
    }

    /// Reads bytes of a place that `find` gave for as many.
    pub fn read(&self, place: Place, out: &mut [u8]) {
        let mut at = place.offset;
        let mut rest = out;
        while !rest.is_empty() {
            let skip = (at % 4) as usize;
            let n = (4 - skip).min(rest.len());
            let (head, tail) = rest.split_at_mut(n);
            let word = self.word(place, at / 4).map_or(0, |w| w.load(Ordering::Relaxed));
            for (i, b) in head.iter_mut().enumerate() {
                *b = (word >> (8 * (skip + i))) as u8;
            }
            at += n as u64;
            rest = tail;
        }
    }

    /// Writes bytes of a place that `find` gave for as many.
    pub fn write(&self, place: Place, data: &[u8]) {
        let mut at = place.offset;
        let mut rest = data;
        while !rest.is_empty() {
            let skip = (at % 4) as usize;
            let n = (4 - skip).min(rest.len());
            let (head, tail) = rest.split_at(n);
            let (mut value, mut mask) = (0u32, 0u32);
            for (i, &b) in head.iter().enumerate() {
                value |= u32::from(b) << (8 * (skip + i));
                mask |= 0xFF << (8 * (skip + i));
            }
            if let Some(word) = self.word(place, at / 4) {
                if mask == u32::MAX {
                    word.store(value, Ordering::Relaxed);
                } else {
                    // Other CTAs may write the other bytes of the word.
                    let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(old & !mask | value));
                }
            }
            at += n as u64;
            rest = tail;
        }
    }

    /// Holds off other atomics at the same place.
    pub fn lock(&self, place: Place) -> Option<MutexGuard<'_, ()>> {
        let stripe = self.stripes.get((place.offset / 16) as usize % STRIPES)?;
        Some(stripe.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Holds off all other atomics, for an update of many elements.
    pub fn lock_all(&self) -> Vec<MutexGuard<'_, ()>> {
        self.stripes.iter().map(|s| s.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Marks a touch; returns the first conflict and its address.
    pub fn touch(
        &self,
        place: Place,
        len: u64,
        touch: Touch,
        stamp: Stamp,
        saw: &dyn Fn(Stamp, bool) -> bool,
    ) -> Option<(u64, Conflict)> {
        let buffer = self.buffers.get(place.index)?;
        // Nobody may write an input: its reads race with nothing.
        if buffer.usage == Use::Input && !touch.write {
            return None;
        }
        let mut found = None;
        for (page, offset, n) in pages(place.offset, len) {
            let Some(slot) = buffer.shadow.get(page) else {
                continue;
            };
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            let marks = slot.get_or_insert_with(|| Page::new(buffer.usage != Use::Output));
            if let Some((at, conflict)) = marks.touch(offset, n, touch, stamp, saw) {
                let address = buffer.base + page as u64 * crate::check::shadow::PAGE + at;
                found.get_or_insert((address, conflict));
            }
        }
        found
    }

    /// Publishes a token at an address. A plain release replaces what was there, an atomic adds to it.
    pub fn publish(&self, address: u64, token: ForeignToken, add: bool) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if add {
            tokens.entry(address).or_default().join(&token);
        } else {
            tokens.insert(address, token);
        }
    }

    /// A sequentially consistent fence: adds its token to those of all before it and gives them.
    pub fn sequential_fence(&self, token: ForeignToken) -> ForeignToken {
        let mut all = self.sequential.lock().unwrap_or_else(PoisonError::into_inner);
        all.join(&token);
        all.clone()
    }

    /// What was published at an address.
    pub fn published(&self, address: u64) -> Option<ForeignToken> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(&address).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip_and_bounds_are_exact() {
        let mut m = GlobalMemory::default();
        let a = m.allocate("a", 10, Use::InOut);
        let b = m.allocate("b", 4, Use::InOut);
        assert!(b > a + 10);
        assert!(m.upload(a + 1, &[1, 2, 3, 4, 5, 6]).is_ok());
        assert_eq!(m.download(a + 2, 4).ok(), Some(vec![2, 3, 4, 5]));
        assert!(m.find(a, 10).is_ok());
        assert_eq!(
            m.find(a + 8, 4).err().as_deref(),
            Some(format!("ends 2 bytes past `a` of 10 bytes at {a:#x}").as_str())
        );
    }
}
