//! Which tile, and which part of K, a unit of work is.

use super::Frame;
use crate::cuda::emit::scalar::ScalarOps;
use aitmlir_dialects::{builder::Builder, types::Val};

/// A unit of work, as the producer and the consumers see it.
#[derive(Clone, Copy)]
pub struct Unit<'c> {
    /// The first row of the tile.
    pub row: Val<'c>,
    /// The first column.
    pub column: Val<'c>,
    /// The matrix of the batch.
    pub batch: Val<'c>,
    /// The first block of K.
    pub first: Val<'c>,
    /// One past the last block of K.
    pub last: Val<'c>,
    /// The tile's number, among those of all problems.
    pub tile: Val<'c>,
    /// Which part of the tile's sums this is.
    pub part: Val<'c>,
    /// Blocks of K of this CTA's units before this one, where they are not all the same number.
    pub done: Option<Val<'c>>,
}

impl<'a, 'c> Frame<'a, 'c> {
    /// The first unit, and how many units further the next one is.
    pub(super) fn walk(&self, b: Builder<'c>) -> [Val<'c>; 2] {
        if self.gemm.config.stream {
            return [b.c32(0), b.c32(1)];
        }
        let sharers = i64::from(self.gemm.config.sharers());
        [b.div_c(b.sreg("ctaid.x"), sharers), b.div_c(b.sreg("nctaid.x"), sharers)]
    }

    /// The lines of the left and of the right operand that a unit begins with, as tensor maps have them: those of A count from the first row of all groups.
    pub(super) fn loaded_from(&self, b: Builder<'c>, unit: &Unit<'c>) -> [Val<'c>; 2] {
        match (self.group, self.gemm.config.swapped) {
            (None, _) => [unit.row, unit.column],
            (Some([_, start]), false) => [b.addi(unit.row, start), unit.column],
            (Some([_, start]), true) => [unit.row, b.addi(unit.column, start)],
        }
    }

    /// This CTA's place in the cluster, along rows and along columns. Its rank counts along rows first.
    pub(super) fn place(&self, b: Builder<'c>) -> [Val<'c>; 2] {
        let [of_rows, of_columns] = self.gemm.config.share.map(i64::from);
        let rank = b.rem_c(b.sreg("ctaid.x"), of_rows * of_columns);
        [b.rem_c(rank, of_rows), b.div_c(rank, of_rows)]
    }

    /// Unit `index`, of the frame's problem.
    pub(super) fn unit(&self, b: Builder<'c>, index: Val<'c>) -> Unit<'c> {
        let split = i64::from(self.gemm.config.split);
        if self.gemm.config.stream {
            return self.stream_unit(b, index);
        }
        if split == 1 {
            return self.tile_unit(b, index, b.c32(0), [b.c32(0), self.blocks]);
        }
        let (tile, part) = (b.div_c(index, split), b.rem_c(index, split));
        let bound = |part| b.div_c(b.muli(self.blocks, part), split);
        self.tile_unit(b, tile, part, [bound(part), bound(b.add_c(part, 1))])
    }

    /// Some blocks of K of a tile. Tiles are walked in groups of `group` rows of tiles, so that what runs together shares operands in the L2.
    pub(super) fn tile_unit(
        &self,
        b: Builder<'c>,
        tile: Val<'c>,
        part: Val<'c>,
        [first, last]: [Val<'c>; 2],
    ) -> Unit<'c> {
        let config = &self.gemm.config;
        let [rows, columns] = config.reach(self.gemm.problem);
        let (tiles_m, tiles_n) = (b.ceil_div_c(self.m, rows), b.ceil_div_c(self.n, columns));
        let within = self.first.map_or(tile, |first| b.subi(tile, first));
        let (batch, within) = if let Some([group, _]) = self.group {
            (group, within)
        } else if self.gemm.single {
            (b.c32(0), within)
        } else {
            let each = b.muli(tiles_m, tiles_n);
            (b.divu(within, each), b.remu(within, each))
        };
        let group = i64::from(config.group);
        let group_tiles = b.mul_c(tiles_n, group);
        let first_row = b.mul_c(b.divu(within, group_tiles), group);
        let group_rows = b.minsi(b.subi(tiles_m, first_row), b.c32(group));
        let in_group = b.remu(within, group_tiles);
        let row = b.addi(first_row, b.remu(in_group, group_rows));
        let column = b.divu(in_group, group_rows);
        let (mut row, mut column) = (b.mul_c(row, rows), b.mul_c(column, columns));
        if config.sharers() > 1 {
            let ([rows, columns], place) = (config.covers(self.gemm.problem), self.place(b));
            row = b.addi(row, b.mul_c(place[0], rows));
            column = b.addi(column, b.mul_c(place[1], columns));
        }
        Unit { row, column, batch, first, last, tile, part, done: None }
    }
}
