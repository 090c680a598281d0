//! Places buffers in the arena.

/// Alignment of every buffer, in bytes: a cache line and the widest vector.
pub const ALIGNMENT: i64 = 64;

/// A buffer to place: bytes, and the first and last op during which it lives.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Its size.
    pub bytes: i64,
    /// The op that writes it.
    pub start: usize,
    /// The last op that reads it.
    pub end: usize,
}

/// Offsets of the blocks and what they cost.
#[derive(Debug)]
pub struct Layout {
    /// One for each block.
    pub offsets: Vec<i64>,
    /// The size of the arena.
    pub bytes: i64,
    /// The largest sum of sizes alive at once: no arena is smaller.
    pub lower_bound: i64,
    /// The sum of all sizes: what it takes without reuse.
    pub naive: i64,
}

/// Rounds up to the alignment.
pub fn align(bytes: i64) -> i64 {
    (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT
}

/// Places the largest block first, each at the lowest offset at which it meets no block that lives at the same time.
pub fn place(blocks: &[Block]) -> Layout {
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(blocks[*i].bytes), blocks[*i].start));
    let mut offsets = vec![0; blocks.len()];
    let mut placed: Vec<usize> = Vec::new();
    for i in order {
        let size = align(blocks[i].bytes);
        let mut taken: Vec<(i64, i64)> = placed
            .iter()
            .filter(|j| meet(&blocks[i], &blocks[**j]))
            .map(|j| (offsets[*j], offsets[*j] + align(blocks[*j].bytes)))
            .collect();
        taken.sort_unstable();
        let mut offset = 0;
        for (begin, end) in taken {
            if offset + size <= begin {
                break;
            }
            offset = offset.max(end);
        }
        offsets[i] = offset;
        placed.push(i);
    }
    let bytes = (0..blocks.len()).map(|i| offsets[i] + align(blocks[i].bytes)).max().unwrap_or(0);
    let lower_bound = blocks
        .iter()
        .map(|at| blocks.iter().filter(|b| b.start <= at.start && at.start <= b.end).map(|b| align(b.bytes)).sum())
        .max()
        .unwrap_or(0);
    Layout { offsets, bytes, lower_bound, naive: blocks.iter().map(|b| align(b.bytes)).sum() }
}

fn meet(a: &Block, b: &Block) -> bool {
    a.start <= b.end && b.start <= a.end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(bytes: i64, start: usize, end: usize) -> Block {
        Block { bytes, start, end }
    }

    #[test]
    fn a_chain_needs_two_buffers() {
        let layout = place(&[block(100, 0, 1), block(100, 1, 2), block(100, 2, 3)]);
        assert_eq!((layout.bytes, layout.lower_bound, layout.naive), (256, 256, 384));
    }

    #[test]
    fn blocks_that_live_together_do_not_overlap() {
        let blocks: Vec<_> = (0..40).map(|i| block(i64::from(i * 37 % 11) * 50, i as usize / 2, i as usize)).collect();
        let layout = place(&blocks);
        for i in 0..blocks.len() {
            for j in 0..i {
                let apart = layout.offsets[i] + align(blocks[i].bytes) <= layout.offsets[j]
                    || layout.offsets[j] + align(blocks[j].bytes) <= layout.offsets[i];
                assert!(apart || !meet(&blocks[i], &blocks[j]), "{i} and {j} overlap: {layout:?}");
            }
        }
        assert!(layout.bytes >= layout.lower_bound && layout.bytes <= layout.naive);
    }
}
