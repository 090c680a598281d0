//! Stream-K: the CTAs share the blocks of K of the tiles that do not fill a whole wave evenly, so that none has a tile more than others.
//!
//! With T tiles and G CTAs, all but the last T mod G + G tiles (all T where T < G, none where G divides T) are units of their own, as without
//! stream-K. The blocks of K of the others lie in a row, tile after tile; each CTA takes an equal range of them, which may begin and end
//! inside a tile. A CTA's first unit may be the later part of a tile: its sums go to the workspace. Whoever has a tile's first block waits for the
//! sums of those that have the rest, adds them in the order of K, and finishes the tile; so results do not depend on who came first.
//!
//! Ranges are numbered against the CTAs: whoever waits waits for CTAs of lower numbers, and what these give they give first. So a launch ends
//! even where not all of its CTAs run at once. Flags are left at zero.

use super::{
    Frame,
    consumer::{GROUP_BARRIER, Product, Thread},
    tiles::Unit,
};
use crate::cuda::emit::{i64c, memory, scalar::ScalarOps, sync};
use aitmlir_dialects::{
    builder::Builder,
    cute::author::{Built, CuteBuilder},
    types::Val,
};

/// Blocks of K that a CTA has at least, where there are fewer tiles than CTAs: less is not worth a meeting.
pub(super) const LEAST_BLOCKS: i64 = 4;

/// How the work is divided.
#[derive(Clone, Copy)]
struct Division<'c> {
    /// Tiles whose blocks are shared: the first ones.
    shared: Val<'c>,
    /// The first block of this CTA's range, counted through those tiles.
    start: Val<'c>,
    /// One past its last block.
    end: Val<'c>,
    /// Blocks of every range, and how many ranges have one more: the first ones.
    base: Val<'c>,
    extra: Val<'c>,
    /// Units in the range.
    parts: Val<'c>,
    /// Whole tiles that this CTA has after them.
    whole: Val<'c>,
}

impl<'a, 'c> Frame<'a, 'c> {
    fn division(&self, b: Builder<'c>) -> Division<'c> {
        let (zero, one) = (b.c32(0), b.c32(1));
        let (tiles, grid) = (self.tiles(b), b.sreg("nctaid.x"));
        let over = b.remu(tiles, grid);
        let few = b.cmpi("slt", tiles, grid);
        let some = b.select(few, tiles, b.addi(over, grid));
        let shared = b.select(b.cmpi("eq", over, zero), zero, some);
        let all = b.muli(shared, self.blocks);
        let (base, extra) = (b.divu(all, grid), b.remu(all, grid));
        let number = self.range_of(b, b.sreg("ctaid.x"));
        let start = first_block(b, base, extra, number);
        let end = first_block(b, base, extra, b.addi(number, one));
        let last_tile = b.divu(b.subi(b.maxsi(end, one), one), self.blocks);
        let parts = b.addi(b.subi(last_tile, b.divu(start, self.blocks)), one);
        let parts = b.select(b.cmpi("slt", start, end), parts, zero);
        Division { shared, start, end, base, extra, parts, whole: b.divu(b.subi(tiles, shared), grid) }
    }

    /// The range of a CTA, or the CTA of a range.
    fn range_of(&self, b: Builder<'c>, number: Val<'c>) -> Val<'c> {
        b.subi(b.add_c(b.sreg("nctaid.x"), -1), number)
    }

    /// How many units this CTA has.
    pub(super) fn stream_units(&self, b: Builder<'c>) -> Val<'c> {
        let division = self.division(b);
        b.addi(division.parts, division.whole)
    }

    /// Unit `index` of this CTA.
    pub(super) fn stream_unit(&self, b: Builder<'c>, index: Val<'c>) -> Unit<'c> {
        let Division { shared, start, end, parts, .. } = self.division(b);
        let zero = b.c32(0);
        let streams = b.cmpi("slt", index, parts);
        let whole = b.subi(index, parts);
        let of_part = b.addi(b.divu(start, self.blocks), index);
        let of_whole = b.addi(shared, b.addi(b.sreg("ctaid.x"), b.muli(whole, b.sreg("nctaid.x"))));
        let tile = b.select(streams, of_part, of_whole);
        // The tile's first block, counted from the range's first one.
        let from = b.subi(b.muli(of_part, self.blocks), start);
        let length = b.subi(end, start);
        let first = b.select(streams, b.maxsi(b.subi(zero, from), zero), zero);
        let last = b.select(streams, b.minsi(b.subi(length, from), self.blocks), self.blocks);
        let done = b.select(streams, b.maxsi(from, zero), b.addi(length, b.muli(whole, self.blocks)));
        Unit { done: Some(done), ..self.tile_unit(b, tile, zero, [first, last]) }
    }

    /// Gives the sums of a unit to whoever has the tile's first block; whoever has it adds up all and finishes the tile.
    pub(super) fn finish_stream(
        &self,
        k: CuteBuilder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        first: Val<'c>,
        product: &Product<'c>,
    ) -> Built<()> {
        let b = k.builder();
        let later = b.cmpi("sgt", unit.first, b.c32(0));
        k.if_(
            later,
            &[],
            |k| {
                self.give(k, thread, product)?;
                Ok(vec![])
            },
            |k| {
                self.take(k, thread, unit, product)?;
                self.finish(k, thread, unit, first, product)?;
                Ok(vec![])
            },
        )?;
        Ok(())
    }

    /// Writes this CTA's sums into its place of the workspace and raises its flag.
    fn give(&self, k: CuteBuilder<'c>, thread: Thread<'c>, product: &Product<'c>) -> Built<()> {
        let b = k.builder();
        let number = b.sreg("ctaid.x");
        for (four, values) in self.all_sums(k, product)?.chunks(4).enumerate() {
            memory::store_f32(b, self.given(b, thread, number, four), values);
        }
        sync::named_barrier(b, b.add_c(thread.group, GROUP_BARRIER), 128);
        b.when(b.cmpi("eq", thread.id, b.c32(0)), |b| memory::count_up(b, self.flag(b, thread, number), b.c32(1)));
        Ok(())
    }

    /// Adds what the other CTAs of a tile have given to this one's sums, where there are others.
    fn take(&self, k: CuteBuilder<'c>, thread: Thread<'c>, unit: &Unit<'c>, product: &Product<'c>) -> Built<()> {
        let b = k.builder();
        let Division { base, extra, .. } = self.division(b);
        let mine = self.range_of(b, b.sreg("ctaid.x"));
        // The range that the tile's last block is in. Ranges with a block more come first.
        let block = b.add_c(b.muli(b.add_c(unit.tile, 1), self.blocks), -1);
        let (longer, least) = (b.add_c(base, 1), b.maxsi(base, b.c32(1)));
        let all_longer = b.muli(longer, extra);
        let behind = b.addi(extra, b.divu(b.maxsi(b.subi(block, all_longer), b.c32(0)), least));
        let last = b.select(b.cmpi("slt", block, all_longer), b.divu(block, longer), behind);
        let shares = b.cmpi("slt", unit.last, self.blocks);
        let last = b.select(shares, last, mine);
        let leader = b.cmpi("eq", thread.id, b.c32(0));
        k.for_([b.add_c(mine, 1), b.add_c(last, 1), b.c32(1)], &[], |k, range, _| {
            let b = k.builder();
            let number = self.range_of(b, range);
            b.when(leader, |b| {
                let flag = self.flag(b, thread, number);
                memory::wait_at_least(b, flag, b.c32(1));
                // Nobody else looks at it until the next launch, for which it is zero again.
                memory::count_up(b, flag, b.c32(1));
            });
            sync::named_barrier(b, b.add_c(thread.group, GROUP_BARRIER), 128);
            let groups = self.groups();
            let fours: Vec<i64> = (0..i64::from(self.gemm.config.chains) * groups).collect();
            // Some loads at a time, which overlap; more would not fit the registers.
            for eight in fours.chunks(8) {
                let load = |four: &i64| {
                    memory::load_f32_shared_with_others(b, self.given(b, thread, number, *four as usize), 4)
                };
                let loaded: Vec<_> = eight.iter().map(load).collect();
                for (four, values) in eight.iter().zip(loaded) {
                    let (chain, first) = (four / groups, four % groups * 4);
                    let own = product.four(k, chain, first)?;
                    for (value, (own, other)) in (first..).zip(own.into_iter().zip(values)) {
                        k.store(b.addf(own, other), product.sums, format!("({value},{chain},0)"))?;
                    }
                }
            }
            Ok(vec![])
        })?;
        Ok(())
    }

    /// The address of four sums (number `four` of each thread) that a CTA gives.
    fn given(&self, b: Builder<'c>, thread: Thread<'c>, number: Val<'c>, four: usize) -> Val<'c> {
        let config = &self.gemm.config;
        let [rows, columns] = config.tile();
        let sides = config.sides();
        let side = if sides > 1 { b.addi(b.mul_c(thread.group, 128), thread.id) } else { thread.id };
        let within = b.add_c(side, four as i64 * 128 * sides);
        let bytes = b.muli(b.wide(number), i64c(b, i64::from(rows * columns) * 4));
        let Some(partial) = self.gemm.slots.partial else { unreachable!("stream-K has partial sums") };
        memory::offset(b, self.args[partial], b.addi(bytes, b.wide(b.mul_c(within, 16))))
    }

    /// The address of the flag of this thread's consumer (of those that share a tile) in a CTA.
    fn flag(&self, b: Builder<'c>, thread: Thread<'c>, number: Val<'c>) -> Val<'c> {
        let sides = self.gemm.config.sides();
        let index = if sides > 1 { b.addi(b.mul_c(number, sides), thread.group) } else { number };
        let Some(counters) = self.gemm.slots.counters else { unreachable!("stream-K has flags") };
        memory::offset(b, self.args[counters], b.wide(b.mul_c(index, 4)))
    }
}

/// The first block of range `number`.
fn first_block<'c>(b: Builder<'c>, base: Val<'c>, extra: Val<'c>, number: Val<'c>) -> Val<'c> {
    b.addi(b.muli(number, base), b.minsi(number, extra))
}
