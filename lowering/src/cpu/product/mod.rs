//! Blocked matrix products: what `ait.gemm` and `ait.conv` share.
//!
//! The result is cut into units of a block of rows by a block of columns. A block of right-hand columns is packed once and stays in the second-level
//! cache while strips of rows pass over it; the contraction is not cut, so a strip leaves the registers finished and its epilogue
//! runs while it is in the first-level cache.

pub mod epilogue;
pub mod pack;
pub mod strip;

use super::{Kernel, scratch::scratch, tiling::Tiling, vector::VectorOps};
use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Val},
};
use melior::ir::Type;
use strip::{Place, Strip};

/// The most columns of a block.
const MOST_COLUMNS: i64 = 480;
/// Panels of rows in a unit.
const PANELS: i64 = 8;

/// The sizes of a product and how it is cut.
#[derive(Clone, Copy)]
pub struct Shape<'c> {
    /// Independent products.
    pub batches: Val<'c>,
    /// Rows of the result.
    pub rows: Val<'c>,
    /// Columns of the result.
    pub cols: Val<'c>,
    /// Length of the contraction.
    pub depth: Val<'c>,
    /// Rows of a unit.
    pub row_block: Val<'c>,
    /// Columns of a unit.
    pub col_block: Val<'c>,
    /// Units along the rows.
    pub row_blocks: Val<'c>,
    /// Units along the columns.
    pub col_blocks: Val<'c>,
}

impl<'c> Shape<'c> {
    /// Cuts a product.
    pub fn new(b: Builder<'c>, acc: Type<'c>, [batches, rows, cols, depth]: [Val<'c>; 4]) -> Self {
        let target = Tiling::host();
        let tile = target.tile_columns(acc);
        let one = b.index(1);
        let budget = b.index(target.block_bytes / acc.bytes());
        let fitting = b.divsi(b.divsi(budget, b.maxsi(depth, one)), b.index(tile));
        let tiles = b.minsi(b.maxsi(fitting, b.index(2)), b.index((MOST_COLUMNS / tile).max(1)));
        let col_blocks = b.ceil_div(cols, b.times(tiles, tile));
        let even = b.ceil_div(cols, b.maxsi(col_blocks, one));
        let col_block = b.times(b.ceil_div(b.maxsi(even, one), b.index(tile)), tile);
        let row_block = b.index(PANELS * target.tile_rows);
        let row_blocks = b.ceil_div(rows, row_block);
        Self { batches, rows, cols, depth, row_block, col_block, row_blocks, col_blocks: b.ceil_div(cols, col_block) }
    }

    /// The number of units.
    pub fn units(&self, b: Builder<'c>) -> Val<'c> {
        b.muli(self.batches, b.muli(self.row_blocks, self.col_blocks))
    }
}

/// Part of one operand or of the result: lines `first..first + count` of batch `batch`.
#[derive(Clone, Copy)]
pub struct Part<'c> {
    /// The product of the batch.
    pub batch: Val<'c>,
    /// The first row or column.
    pub first: Val<'c>,
    /// How many.
    pub count: Val<'c>,
}

/// Emits code that packs a part of an operand into panels.
pub type Pack<'a, 'c> = &'a dyn Fn(Builder<'c>, Part<'c>, Place<'c>);
/// Emits code that finishes one row (of the batch's result): columns `Part` of it are at the place.
pub type Finish<'a, 'c> = &'a dyn Fn(Builder<'c>, Val<'c>, Part<'c>, Place<'c>);

/// A product to emit.
pub struct Product<'a, 'c> {
    /// Sizes and blocks.
    pub shape: Shape<'c>,
    /// The accumulator type.
    pub acc: Type<'c>,
    /// Packs rows of the left side.
    pub left: Pack<'a, 'c>,
    /// Packs columns of the right side.
    pub right: Pack<'a, 'c>,
    /// Finishes a row.
    pub finish: Finish<'a, 'c>,
    /// Is the left side the same for all batches?
    pub left_shared: bool,
}

impl<'c> Product<'_, 'c> {
    /// Emits the units `lo..hi`. The right packer is also given scratch for one row of a block behind the block.
    pub fn emit(&self, k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) {
        let (b, s, target) = (k.b, self.shape, Tiling::host());
        let (panel_rows, slack) = (target.tile_rows, 2 * target.lanes(self.acc));
        let padded_rows = b.times(b.ceil_div(s.rows, b.index(panel_rows)), panel_rows);
        let lengths = [
            b.plus(b.muli(s.col_block, b.plus(s.depth, 1)), slack),
            b.muli(padded_rows, s.depth),
            b.plus(b.times(s.col_block, panel_rows), slack),
        ];
        let (data, starts) = scratch(k, self.acc, &lengths);
        let [right, left, strip] = [0, 1, 2].map(|i| Place { data, at: starts[i] });
        let per_batch = b.muli(s.row_blocks, s.col_blocks);
        let one = b.index(1);
        b.for_(lo, hi, one, &[], |b, unit, _| {
            let batch = b.divsi(unit, per_batch);
            let within = b.remsi(unit, per_batch);
            let (col_unit, row_unit) = (b.divsi(within, s.row_blocks), b.remsi(within, s.row_blocks));
            let cols = part(b, batch, col_unit, s.col_block, s.cols);
            let rows = part(b, batch, row_unit, s.row_block, s.rows);
            let fresh = either(b, b.cmpi("eq", row_unit, b.index(0)), b.cmpi("eq", unit, lo));
            b.when(fresh, |b| (self.right)(b, cols, right));
            let first_unit = if self.left_shared { lo } else { b.maxsi(lo, b.muli(batch, per_batch)) };
            let left = left.offset(b, b.muli(rows.first, s.depth));
            b.when(b.cmpi("slt", b.subi(unit, first_unit), s.row_blocks), |b| (self.left)(b, rows, left));
            self.unit(k, b, [rows, cols], [left, right, strip]);
            vec![]
        });
    }

    /// The strips of one unit.
    fn unit(&self, k: &Kernel<'c>, b: Builder<'c>, [rows, cols]: [Part<'c>; 2], [left, right, strip]: [Place<'c>; 3]) {
        let (s, target) = (self.shape, Tiling::host());
        let (zero, step) = (b.index(0), b.index(target.tile_rows));
        b.for_(zero, rows.count, step, &[], |b, row, _| {
            let count = b.minsi(step, b.subi(rows.count, row));
            let call = Strip {
                depth: s.depth,
                left: left.offset(b, b.muli(row, s.depth)),
                right,
                result: strip,
                pitch: s.col_block,
                rows: count,
                cols: cols.count,
            };
            call.call(k, b, target);
            b.loop_(count, |b, i| {
                let at = strip.offset(b, b.muli(i, s.col_block));
                (self.finish)(b, b.addi(rows.first, b.addi(row, i)), cols, at);
            });
            vec![]
        });
    }
}

fn part<'c>(b: Builder<'c>, batch: Val<'c>, unit: Val<'c>, block: Val<'c>, total: Val<'c>) -> Part<'c> {
    let first = b.muli(unit, block);
    Part { batch, first, count: b.minsi(block, b.subi(total, first)) }
}

/// a or b
pub fn either<'c>(b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
    b.binary("arith.ori", x, y)
}

/// a and b
pub fn both<'c>(b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
    b.binary("arith.andi", x, y)
}
