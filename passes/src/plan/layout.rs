//! Places buffers in the arena.

/// Alignment of every buffer, in bytes: a cache line and the widest vector.
pub const ALIGNMENT: i64 = 64;

/// A buffer to place: its size, and the first and last op during which it lives.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Its size, in bytes or in any other unit that all blocks have.
    pub bytes: i64,
    /// The op that writes it.
    pub start: usize,
    /// The last op that reads it.
    pub end: usize,
}

/// Offsets of the blocks and what they cost.
#[derive(Clone, Debug)]
pub struct Layout {
    /// One for each block.
    pub offsets: Vec<i64>,
    /// The size of the arena.
    pub bytes: i64,
    /// The largest sum of sizes alive at once: no arena is smaller.
    pub lower_bound: i64,
}

/// Rounds up to a multiple.
pub fn align(bytes: i64, alignment: i64) -> i64 {
    (bytes + alignment - 1) / alignment * alignment
}

/// Places block by block, each at the lowest offset (a multiple of `alignment`) at which it meets no block that lives at the same time. Of
/// several orders the one that takes least: the largest first, those that live longest first, those that take most of both first, by time.
pub fn place(blocks: &[Block], alignment: i64) -> Layout {
    let sizes: Vec<i64> = blocks.iter().map(|block| align(block.bytes, alignment)).collect();
    let alive = |at: usize| blocks.iter().zip(&sizes).filter(move |(b, _)| b.start <= at && at <= b.end);
    let lower_bound = blocks.iter().map(|b| alive(b.start).map(|(_, size)| size).sum()).max().unwrap_or(0);
    let span = |b: &Block| (b.end - b.start) as i64 + 1;
    let keys: [&dyn Fn(&Block) -> i64; 4] =
        [&|b| -b.bytes, &|b| -span(b), &|b| b.bytes.saturating_mul(-span(b)), &|b| b.start as i64];
    let mut best: Option<Layout> = None;
    for first in keys {
        if best.as_ref().is_some_and(|layout| layout.bytes == lower_bound) {
            break;
        }
        let mut order: Vec<usize> = (0..blocks.len()).collect();
        order.sort_by_key(|i| (first(&blocks[*i]), -blocks[*i].bytes, blocks[*i].start));
        let (offsets, bytes) = in_order(blocks, &sizes, order);
        if best.as_ref().is_none_or(|layout| bytes < layout.bytes) {
            best = Some(Layout { offsets, bytes, lower_bound });
        }
    }
    best.unwrap_or(Layout { offsets: Vec::new(), bytes: 0, lower_bound })
}

/// The offsets of blocks that are placed in that order, and what they take.
fn in_order(blocks: &[Block], sizes: &[i64], order: Vec<usize>) -> (Vec<i64>, i64) {
    let mut offsets = vec![0; blocks.len()];
    let mut placed: Vec<usize> = Vec::new();
    for i in order {
        let mut taken: Vec<(i64, i64)> = placed
            .iter()
            .filter(|j| meet(&blocks[i], &blocks[**j]))
            .map(|j| (offsets[*j], offsets[*j] + sizes[*j]))
            .collect();
        taken.sort_unstable();
        let mut offset = 0;
        for (begin, end) in taken {
            if offset + sizes[i] <= begin {
                break;
            }
            offset = offset.max(end);
        }
        offsets[i] = offset;
        placed.push(i);
    }
    let bytes = offsets.iter().zip(sizes).map(|(offset, size)| offset + size).max().unwrap_or(0);
    (offsets, bytes)
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
        let chain = [block(100, 0, 1), block(100, 1, 2), block(100, 2, 3)];
        let layout = place(&chain, ALIGNMENT);
        assert_eq!((layout.bytes, layout.lower_bound), (256, 256));
        let layout = place(&chain, 1);
        assert_eq!((layout.bytes, layout.lower_bound), (200, 200));
    }

    #[test]
    fn the_largest_first_is_not_always_best() {
        // The third lives with the second, which is above the first, and with the last: below it there is no room.
        let blocks = [block(4, 0, 1), block(2, 1, 2), block(2, 2, 3), block(3, 3, 5)];
        assert_eq!(place(&blocks, 1).bytes, 6);
    }

    #[test]
    fn blocks_that_live_together_do_not_overlap() {
        let blocks: Vec<_> = (0..40).map(|i| block(i64::from(i * 37 % 11) * 50, i as usize / 2, i as usize)).collect();
        for alignment in [1, ALIGNMENT] {
            let layout = place(&blocks, alignment);
            for i in 0..blocks.len() {
                for j in 0..i {
                    let apart = layout.offsets[i] + align(blocks[i].bytes, alignment) <= layout.offsets[j]
                        || layout.offsets[j] + align(blocks[j].bytes, alignment) <= layout.offsets[i];
                    assert!(apart || !meet(&blocks[i], &blocks[j]), "{i} and {j} overlap: {layout:?}");
                }
            }
            let naive = blocks.iter().map(|b| align(b.bytes, alignment)).sum();
            assert!(layout.bytes >= layout.lower_bound && layout.bytes <= naive);
        }
    }
}
