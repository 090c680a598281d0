//! Sums of one tile spread over CTAs along K. Each CTA writes its partial sums to the workspace; when all of a tile are there, each adds
//! up a share of the tile, in the order of the parts, so that results do not depend on who came first.
//!
//! The parts of a tile may be the CTAs of one cluster: then they meet through shared memory, which is faster. Through the workspace all CTAs of
//! a launch must be resident at once, or become so without waiting for those that are: the parts of a tile have neighbouring numbers.

use super::{
    Frame,
    consumer::{CONSUMERS_BARRIER, Product, Thread},
    tiles::Unit,
};
use crate::cuda::emit::{i64c, memory, scalar::ScalarOps, sync};
use aitmlir_dialects::{
    builder::Builder,
    cute::author::{Built, CuteBuilder},
    types::{Types, Val},
};

/// Where the partial sums of a tile's parts are.
#[derive(Clone, Copy)]
enum Sums4<'c> {
    /// In the workspace.
    Workspace(Val<'c>),
    /// In the shared memory of the cluster's CTAs.
    Cluster,
}

impl<'a, 'c> Frame<'a, 'c> {
    /// Writes this part's sums, waits for the others and finishes this part's share of the tile.
    pub(super) fn meet(
        &self,
        k: CuteBuilder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        product: &Product<'c>,
    ) -> Built<()> {
        let (b, config) = (k.builder(), &self.gemm.config);
        let threads = 128 * config.consumers;
        let number = b.addi(b.mul_c(thread.group, 128), thread.id);
        let barrier = b.c32(CONSUMERS_BARRIER);
        let (Some(partial), Some(counters)) = (self.gemm.slots.partial, self.gemm.slots.counters) else {
            // The stages are free when no consumer multiplies any more.
            sync::named_barrier(b, barrier, threads);
            self.write_sums(k, Sums4::Cluster, unit, product, number)?;
            sync::cluster_barrier(b);
            self.add_share(k, thread, unit, Sums4::Cluster)?;
            // No CTA may end while others read its shared memory.
            sync::cluster_barrier(b);
            return Ok(());
        };
        let place = Sums4::Workspace(self.args[partial]);
        self.write_sums(k, place, unit, product, number)?;
        let counter = memory::offset(b, self.args[counters], b.wide(b.mul_c(unit.tile, 4)));
        let split = i64::from(config.split);
        sync::named_barrier(b, barrier, threads);
        b.when(b.cmpi("eq", number, b.c32(0)), |b| {
            // It counts arrivals, then departures, and the last one leaves it at zero.
            let last = b.c32(2 * split - 1);
            memory::count_up(b, counter, last);
            memory::wait_at_least(b, counter, b.c32(split));
            memory::count_up(b, counter, last);
        });
        sync::named_barrier(b, barrier, threads);
        self.add_share(k, thread, unit, place)
    }

    fn write_sums(
        &self,
        k: CuteBuilder<'c>,
        place: Sums4<'c>,
        unit: &Unit<'c>,
        product: &Product<'c>,
        number: Val<'c>,
    ) -> Built<()> {
        let b = k.builder();
        for (four, values) in (0..).zip(self.all_sums(k, product)?.chunks(4)) {
            let four = b.c32(four);
            match place {
                Sums4::Workspace(base) => {
                    memory::store_f32(b, self.partial(b, base, unit, unit.part, four, number), values);
                }
                Sums4::Cluster => memory::store_shared_f32(b, self.shared_sums(b, four, number), values),
            }
        }
        Ok(())
    }

    /// All sums of a thread, chain after chain.
    pub(super) fn all_sums(&self, k: CuteBuilder<'c>, product: &Product<'c>) -> Built<Vec<Val<'c>>> {
        let of_chain = |chain: i64| (0..self.groups()).map(move |group| product.four(k, chain, 4 * group));
        let fours = (0..i64::from(self.gemm.config.chains)).flat_map(of_chain).collect::<Built<Vec<_>>>()?;
        Ok(fours.concat())
    }

    /// The address of four sums in this CTA's shared memory.
    fn shared_sums(&self, b: Builder<'c>, four: Val<'c>, number: Val<'c>) -> Val<'c> {
        let within = b.addi(b.mul_c(four, 128 * i64::from(self.gemm.config.consumers)), number);
        let first = b.op1("llvm.ptrtoint", &[self.shared], b.context().int_type(32), &[]);
        b.addi(first, b.mul_c(within, 16))
    }

    /// Groups of 8 columns of a tile.
    pub(super) fn groups(&self) -> i64 {
        i64::from(self.gemm.config.columns) / 8
    }

    /// The address of four partial sums: of a part of a tile, group `four` of thread `number`.
    fn partial(
        &self,
        b: Builder<'c>,
        base: Val<'c>,
        unit: &Unit<'c>,
        part: Val<'c>,
        four: Val<'c>,
        number: Val<'c>,
    ) -> Val<'c> {
        let config = &self.gemm.config;
        let [rows, columns] = config.tile();
        let of_part = i64::from(rows) * i64::from(columns) * 4;
        let index = b.addi(b.mul_c(unit.tile, i64::from(config.split)), part);
        let within = b.addi(b.mul_c(four, 128 * i64::from(config.consumers)), number);
        let bytes = b.addi(b.muli(b.wide(index), i64c(b, of_part)), b.wide(b.mul_c(within, 16)));
        memory::offset(b, base, bytes)
    }

    /// Adds up the pieces (four sums of each lane of a warp) number `part`, `part + split`, ... of the tile; the CTA's warps share them.
    fn add_share(&self, k: CuteBuilder<'c>, thread: Thread<'c>, unit: &Unit<'c>, place: Sums4<'c>) -> Built<()> {
        let (b, config) = (k.builder(), &self.gemm.config);
        let warps = 4 * i64::from(config.consumers);
        let split = i64::from(config.split);
        let pieces = self.groups() * i64::from(config.chains) * warps;
        let warp = b.addi(b.mul_c(thread.group, 4), thread.warp);
        let start = b.addi(unit.part, b.mul_c(warp, split));
        // Several pieces at once where they have few parts: their loads overlap.
        let at_once = (8 / split).clamp(1, 4).min((pieces + split * warps - 1) / (split * warps));
        k.for_([start, b.c32(pieces), b.c32(split * warps * at_once)], &[], |k, first, _| {
            let b = k.builder();
            let taken: Vec<_> = (0..at_once)
                .map(|i| {
                    let piece = b.add_c(first, i * split * warps);
                    let inside = (i > 0).then(|| b.cmpi("slt", piece, b.c32(pieces)));
                    let piece = if i > 0 { b.minsi(piece, b.c32(pieces - 1)) } else { piece };
                    let (four, owner) = (b.div_c(piece, warps), b.rem_c(piece, warps));
                    let number = b.addi(b.mul_c(owner, 32), thread.lane);
                    (inside, four, owner, self.add_parts(b, unit, place, four, number))
                })
                .collect();
            for (inside, four, owner, sums) in taken {
                match inside {
                    Some(inside) => k.when(inside, |k| self.store_piece(k, thread, unit, [four, owner], &sums))?,
                    None => self.store_piece(k, thread, unit, [four, owner], &sums)?,
                }
            }
            Ok(vec![])
        })?;
        Ok(())
    }

    /// Finishes four sums: group `four` of the tile's columns (of all chains), warp `owner`.
    fn store_piece(
        &self,
        k: CuteBuilder<'c>,
        thread: Thread<'c>,
        unit: &Unit<'c>,
        [four, owner]: [Val<'c>; 2],
        sums: &[Val<'c>],
    ) -> Built<()> {
        let (b, config) = (k.builder(), &self.gemm.config);
        let (chain, group) = (b.div_c(four, self.groups()), b.rem_c(four, self.groups()));
        let rows = b.addi(b.mul_c(b.div_c(owner, 4), 64 * i64::from(config.chains)), b.mul_c(chain, 64));
        let columns = b.addi(unit.column, b.mul_c(group, 8));
        // Where that warp's sums of 8 columns are.
        let of_owner = b.addi(b.mul_c(b.rem_c(owner, 4), 32), thread.lane);
        let at = self.places(k, self.instruction(k, 8)?, [64, 8], of_owner)?;
        let places = self.placed(k, at, [b.addi(unit.row, rows), columns])?;
        self.store_four(k, unit, &places, sums)
    }

    /// The sums of all parts in order, loaded many parts at a time so that the loads overlap.
    fn add_parts(
        &self,
        b: Builder<'c>,
        unit: &Unit<'c>,
        place: Sums4<'c>,
        four: Val<'c>,
        number: Val<'c>,
    ) -> Vec<Val<'c>> {
        let split = i64::from(self.gemm.config.split);
        let some = |b: Builder<'c>, first: Val<'c>, count: i64, sums: &[Val<'c>]| -> Vec<Val<'c>> {
            let parts: Vec<_> = (0..count)
                .map(|i| {
                    let part = b.add_c(first, i);
                    match place {
                        Sums4::Workspace(base) => {
                            memory::load_f32_shared_with_others(b, self.partial(b, base, unit, part, four, number), 4)
                        }
                        Sums4::Cluster => {
                            let here = self.shared_sums(b, four, number);
                            memory::load_cluster_f32(b, memory::address_in_cluster(b, here, part), 4)
                        }
                    }
                })
                .collect();
            let add = |sums: Vec<Val<'c>>, part: Vec<Val<'c>>| -> Vec<Val<'c>> {
                sums.into_iter().zip(part).map(|(x, y)| b.addf(x, y)).collect()
            };
            parts.into_iter().fold(sums.to_vec(), add)
        };
        let f32 = b.context().f32_type();
        let zeros = vec![b.float(f32, 0.0); 4];
        // The latency of a round is that of one load: many parts are met in few rounds.
        let round = if split >= 32 { 16 } else { 8 };
        let whole = split / round * round;
        let sums = match whole {
            0 => zeros,
            _ => b.for_(b.c32(0), b.c32(whole), b.c32(round), &zeros, |b, first, sums| some(b, first, round, sums)),
        };
        some(b, b.c32(whole), split - whole, &sums)
    }
}
