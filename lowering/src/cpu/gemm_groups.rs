//! `ait.gemm` with offsets: a product for each group of rows, through the blocked product.
//!
//! Each group is cut into units of its own. How many rows it has is known in the run alone, so the parallel range has places for as many units as there can be: group g has the
//! places from `offsets[g] / block + g` on, which are enough for its rows, and follow those of the group before it. Places that no unit has are passed over.

use super::{
    Kernel,
    gemm::Operand,
    jagged::Rows,
    product::{Part, Product, Shape, epilogue::Epilogue},
    tiling::Tiling,
    vector::VectorOps,
};
use aitmlir_dialects::{
    ait::MatrixLayout,
    builder::Builder,
    types::{TypeExt, Val},
};
use melior::ir::Type;

fn layout(k: &Kernel<'_>, name: &str) -> MatrixLayout {
    k.op.kind(name).unwrap_or(MatrixLayout::Row)
}

/// The type of the sums, and all rows as one product.
fn whole<'c>(k: &Kernel<'c>) -> (Type<'c>, Shape<'c>) {
    let b = k.b;
    let acc = k.tensor_type("a").element_type().accumulator();
    let (left, out) = (k.operand("a"), k.outs[0]);
    let depth = b.dim(left, usize::from(layout(k, "a_layout") == MatrixLayout::Row));
    (acc, Shape::new(b, acc, [b.index(1), b.dim(out, 0), b.dim(out, 1), depth]))
}

/// The first place of a group, in rows of units.
fn first_place<'c>(b: Builder<'c>, shape: &Shape<'c>, group: Val<'c>, start: Val<'c>) -> Val<'c> {
    b.addi(b.divsi(start, shape.row_block), group)
}

/// The places of all groups; one where there is none, so that offsets are checked.
pub fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    let b = k.b;
    let (_, shape) = whole(k);
    let groups = b.dim(k.operand("b"), 0);
    let places = b.maxsi(first_place(b, &shape, groups, shape.rows), b.index(1));
    b.muli(places, shape.col_blocks)
}

/// The units that have the places lo..hi.
pub fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) {
    let (b, target) = (k.b, Tiling::host());
    let (acc, all) = whole(k);
    let a = Operand::new(k, "a", layout(k, "a_layout") == MatrixLayout::Row, true);
    let right = Operand::new(k, "b", layout(k, "b_layout") == MatrixLayout::Col, false);
    let rows = Rows::new(b, k.operand("offsets"), all.rows);
    let groups = (k.tensor_type("b").shape()[0], b.dim(k.operand("b"), 0));
    let unsigned = a.flat.unsigned && right.flat.unsigned;
    let epilogue = Epilogue::of_groups(k, groups, k.op.f64("alpha").unwrap_or(1.0), unsigned);
    rows.expect_some(k, b);
    b.loop_(rows.count(b), |b, group| {
        let [start, end] = rows.at(k, b, group);
        let own = b.subi(end, start);
        let shape = Shape { rows: own, row_blocks: b.ceil_div(own, all.row_block), ..all };
        let first = b.muli(first_place(b, &all, group, start), all.col_blocks);
        let (lo, hi) = (b.maxsi(b.subi(lo, first), b.index(0)), b.minsi(b.subi(hi, first), shape.units(b)));
        b.when(b.cmpi("slt", lo, hi), |b| {
            let product = Product {
                shape,
                acc,
                left: &|b, part, to| {
                    let part = Part { first: b.addi(part.first, start), ..part };
                    a.matrix(b, part, all.depth, &[]).pack(k, b, target, target.tile_rows, to);
                },
                right: &|b, part, to| {
                    let part = Part { batch: group, ..part };
                    right.matrix(b, part, all.depth, &[groups.1]).pack(k, b, target, target.tile_columns(acc), to);
                },
                finish: &|b, row, cols, from| {
                    epilogue.row(b, &[group, b.addi(start, row)], cols.first, cols.count, from);
                },
                left_shared: false,
            };
            product.emit(&k.at(b), lo, hi);
        });
    });
}
