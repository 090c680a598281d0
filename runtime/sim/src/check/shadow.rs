//! Shadow memory: for each granule of bytes, the last write and the reads since.
//!
//! A granule starts at 16 bytes and is halved, page by page, whenever a smaller access comes: bytes are told apart
//! exactly, and kernels that move 16 bytes at a time pay for one mark each.

use super::clock::Stamp;

/// Bytes of a page.
pub const PAGE: u64 = 4096;

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Stamp,
    read: Stamp,
    /// 1 + index of further reads in the page.
    more: u32,
}

/// Marks of one page.
#[derive(Clone, Debug)]
pub struct Page {
    shift: u32,
    cells: Vec<Cell>,
    more: Vec<Vec<Stamp>>,
    free: Vec<u32>,
}

/// How memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Reads.
    pub read: bool,
    /// Writes.
    pub write: bool,
    /// Whether reads need marks: not where nobody may write.
    pub track_reads: bool,
}

/// What a touch ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Memory that nobody wrote.
    Uninitialised,
    /// An earlier access that is not ordered before this one; whether that one was a write.
    Unordered(Stamp, bool),
}

impl Page {
    /// A page that nobody wrote, or that the host filled.
    pub fn new(filled: bool) -> Self {
        let write = if filled { Stamp::host() } else { Stamp::default() };
        Page {
            shift: 4,
            cells: vec![Cell { write, ..Cell::default() }; (PAGE >> 4) as usize],
            more: Vec::new(),
            free: Vec::new(),
        }
    }

    fn refine(&mut self, shift: u32) {
        while self.shift > shift {
            self.shift -= 1;
            let mut cells = Vec::with_capacity(self.cells.len() * 2);
            for &cell in &self.cells {
                let mut twin = cell;
                if let Some(list) = cell.more.checked_sub(1).and_then(|i| self.more.get(i as usize)) {
                    self.more.push(list.clone());
                    twin.more = self.more.len() as u32;
                }
                cells.push(cell);
                cells.push(twin);
            }
            self.cells = cells;
        }
    }

    /// Marks `len` bytes from `offset` as touched by `stamp`; `saw` tells whether an earlier access (a write if true) is ordered before.
    /// The first conflict is returned with its offset.
    pub fn touch(
        &mut self,
        offset: u64,
        len: u64,
        touch: Touch,
        stamp: Stamp,
        saw: &dyn Fn(Stamp, bool) -> bool,
    ) -> Option<(u64, Conflict)> {
        if len == 0 {
            return None;
        }
        self.refine((offset | len).trailing_zeros().min(4));
        let first = (offset >> self.shift) as usize;
        let last = ((offset + len - 1) >> self.shift) as usize;
        let mut found = None;
        for i in first..=last {
            if let Some(conflict) = self.touch_cell(i, touch, stamp, saw) {
                found.get_or_insert((((i as u64) << self.shift).max(offset), conflict));
            }
        }
        found
    }

    fn touch_cell(
        &mut self,
        i: usize,
        touch: Touch,
        stamp: Stamp,
        saw: &dyn Fn(Stamp, bool) -> bool,
    ) -> Option<Conflict> {
        let cell = self.cells.get(i).copied()?;
        let ordered = |s: Stamp, wrote| s.epoch == 0 || (s.strong() && stamp.strong()) || saw(s, wrote);
        let mut found = None;
        if touch.read && cell.write.epoch == 0 {
            found = Some(Conflict::Uninitialised);
        } else if !ordered(cell.write, true) {
            found = Some(Conflict::Unordered(cell.write, true));
        }
        if touch.write {
            if found.is_none() {
                let more = cell.more.checked_sub(1).and_then(|m| self.more.get(m as usize));
                let mut reads = std::iter::once(&cell.read).chain(more.into_iter().flatten());
                found = reads.find(|r| !ordered(**r, false)).map(|r| Conflict::Unordered(*r, false));
            }
            self.set_write(i, cell, stamp);
        } else if touch.track_reads {
            self.add_read(i, cell, stamp, saw);
        }
        found
    }

    fn set_write(&mut self, i: usize, cell: Cell, stamp: Stamp) {
        if let Some(index) = cell.more.checked_sub(1) {
            if let Some(list) = self.more.get_mut(index as usize) {
                list.clear();
            }
            self.free.push(index);
        }
        if let Some(slot) = self.cells.get_mut(i) {
            *slot = Cell { write: stamp, read: Stamp::default(), more: 0 };
        }
    }

    fn add_read(&mut self, i: usize, cell: Cell, stamp: Stamp, saw: &dyn Fn(Stamp, bool) -> bool) {
        let Some(slot) = self.cells.get_mut(i) else {
            return;
        };
        let same = |r: &Stamp| r.agent == stamp.agent && r.cluster == stamp.cluster;
        // A strong read may run beside strong writes, a weak one may not: keep the weak one.
        let replaces = |r: &Stamp| r.epoch == 0 || ((same(r) || saw(*r, false)) && (r.strong() || !stamp.strong()));
        if replaces(&slot.read) {
            slot.read = stamp;
            return;
        }
        if cell.more == 0 {
            let index = self.free.pop().unwrap_or_else(|| {
                self.more.push(Vec::new());
                self.more.len() as u32 - 1
            });
            slot.more = index + 1;
        }
        if let Some(list) = slot.more.checked_sub(1).and_then(|m| self.more.get_mut(m as usize)) {
            match list.iter_mut().find(|r| replaces(r)) {
                Some(r) => *r = stamp,
                None => list.push(stamp),
            }
        }
    }

    /// Marks bytes as filled by the host.
    pub fn fill(&mut self, offset: u64, len: u64) {
        self.refine((offset | len).trailing_zeros().min(4));
        let (first, last) = ((offset >> self.shift) as usize, ((offset + len - 1) >> self.shift) as usize);
        if let Some(cells) = self.cells.get_mut(first..=last) {
            cells.fill(Cell { write: Stamp::host(), ..Cell::default() });
        }
    }

    /// The kernels so far are done: what they wrote comes before all that follows, and their reads are forgotten.
    pub fn settle(&mut self) {
        for cell in &mut self.cells {
            let write = if cell.write.epoch == 0 { Stamp::default() } else { Stamp::host() };
            *cell = Cell { write, ..Cell::default() };
        }
        self.more.clear();
        self.free.clear();
    }

    /// Marks bytes as never written.
    pub fn forget(&mut self, offset: u64, len: u64) {
        self.refine((offset | len).trailing_zeros().min(4));
        let (first, last) = ((offset >> self.shift) as usize, ((offset + len - 1) >> self.shift) as usize);
        if let Some(cells) = self.cells.get_mut(first..=last) {
            cells.fill(Cell::default());
        }
    }
}

/// Splits a range at page borders: page, offset in it, length.
pub fn pages(offset: u64, len: u64) -> impl Iterator<Item = (usize, u64, u64)> {
    let mut at = offset;
    let end = offset + len;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let inside = at % PAGE;
        let n = (PAGE - inside).min(end - at);
        let item = ((at / PAGE) as usize, inside, n);
        at += n;
        Some(item)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Touch = Touch { read: true, write: false, track_reads: true };
    const WRITE: Touch = Touch { read: false, write: true, track_reads: true };

    fn stamp(agent: u32, line: u32) -> Stamp {
        Stamp::new(0, agent, 1, line, false)
    }

    #[test]
    fn neighbouring_bytes_are_told_apart() {
        let mut page = Page::new(false);
        let never = |_: Stamp, _: bool| false;
        assert_eq!(page.touch(0, 1, WRITE, stamp(0, 1), &never), None);
        assert_eq!(page.touch(1, 1, WRITE, stamp(1, 2), &never), None);
        assert_eq!(
            page.touch(0, 2, READ, stamp(0, 3), &|s, _| s.agent == 0),
            Some((1, Conflict::Unordered(stamp(1, 2), true)))
        );
        assert_eq!(page.touch(2, 1, READ, stamp(0, 3), &never), Some((2, Conflict::Uninitialised)));
    }

    #[test]
    fn every_reader_is_remembered_until_the_write() {
        let mut page = Page::new(true);
        for agent in 0..3 {
            assert_eq!(page.touch(16, 16, READ, stamp(agent, 1), &|s, _| s.agent == crate::check::clock::HOST), None);
        }
        let hit = page.touch(16, 4, WRITE, stamp(9, 2), &|s, _| s.agent != 2);
        assert_eq!(hit, Some((16, Conflict::Unordered(stamp(2, 1), false))));
        assert_eq!(page.touch(16, 4, WRITE, stamp(9, 3), &|s, _| s.agent == 9), None);
    }
}
