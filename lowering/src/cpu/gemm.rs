//! `ait.gemm`: batched matrix products through the blocked product.
//!
//! Where B has no batch and A is one row-major matrix, the batch is folded into the rows.

use super::{
    Kernel, KernelRow, Unsupported,
    flat::{Flat, is_identity},
    gemm_groups,
    product::{
        Part, Product, Shape,
        epilogue::Epilogue,
        pack::{Matrix, Unit},
    },
    tiling::Tiling,
};
use aitmlir_dialects::{
    ait::MatrixLayout,
    builder::Builder,
    types::{TypeExt, Val},
};
use melior::ir::{Type, ValueLike};

pub static ROW: KernelRow = KernelRow { op: "ait.gemm", extent, body };

/// What is known of a gemm.
struct Gemm<'c> {
    acc: Type<'c>,
    a_layout: MatrixLayout,
    b_layout: MatrixLayout,
    /// The batch is part of the rows.
    folded: bool,
    shape: Shape<'c>,
}

impl<'c> Gemm<'c> {
    fn new(k: &Kernel<'c>) -> Self {
        let b = k.b;
        let (left, right, out) = (k.operand("a"), k.operand("b"), k.outs[0]);
        let a_layout = k.op.kind("a_layout").unwrap_or(MatrixLayout::Row);
        let b_layout = k.op.kind("b_layout").unwrap_or(MatrixLayout::Row);
        let acc = k.tensor_type("a").element_type().accumulator();
        let rank = out.r#type().shape().len();
        let right_shape = right.r#type().shape();
        let no_batch = right_shape[..right_shape.len() - 2].iter().all(|d| *d == 1);
        let left_rank = left.r#type().shape().len();
        let folded = no_batch && a_layout == MatrixLayout::Row && is_identity(left.r#type()) && left_rank == rank;
        let batches = (0..rank - 2).map(|i| b.dim(out, i)).fold(b.index(1), |x, y| b.muli(x, y));
        let (m, n) = (b.dim(out, rank - 2), b.dim(out, rank - 1));
        let depth = b.dim(left, if a_layout == MatrixLayout::Row { left_rank - 1 } else { left_rank - 2 });
        let sizes = if folded { [b.index(1), b.muli(batches, m), n, depth] } else { [batches, m, n, depth] };
        Self { acc, a_layout, b_layout, folded, shape: Shape::new(b, acc, sizes) }
    }
}

fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    if !k.op.group("offsets").is_empty() {
        return gemm_groups::extent(k);
    }
    Gemm::new(k).shape.units(k.b)
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    if !k.op.group("offsets").is_empty() {
        gemm_groups::body(k, lo, hi);
        return Ok(());
    }
    let gemm = Gemm::new(k);
    let target = Tiling::host();
    let a = Operand::new(k, "a", gemm.a_layout == MatrixLayout::Row, gemm.folded);
    let right = Operand::new(k, "b", gemm.b_layout == MatrixLayout::Col, false);
    let out_dims = k.b.dims(k.outs[0]);
    let outer = &out_dims[..out_dims.len() - 2];
    let epilogue = Epilogue::new(k, 1, k.op.f64("alpha").unwrap_or(1.0), a.flat.unsigned && right.flat.unsigned);
    let depth = gemm.shape.depth;
    let product = Product {
        shape: gemm.shape,
        acc: gemm.acc,
        left: &|b, part, to| a.matrix(b, part, depth, outer).pack(k, b, target, target.tile_rows, to),
        right: &|b, part, to| {
            right.matrix(b, part, depth, outer).pack(k, b, target, target.tile_columns(gemm.acc), to);
        },
        finish: &|b, row, cols, from| {
            let (batch, row) = match gemm.folded {
                true => (b.divsi(row, out_dims[out_dims.len() - 2]), b.remsi(row, out_dims[out_dims.len() - 2])),
                false => (cols.batch, row),
            };
            let mut coordinates = unflatten(b, batch, outer);
            coordinates.push(row);
            epilogue.row(b, &coordinates, cols.first, cols.count, from);
        },
        left_shared: gemm.folded,
    };
    product.emit(k, lo, hi);
    Ok(())
}

/// One matrix operand: its last two dimensions as lines (rows of A, columns of B) and steps (along K).
pub(super) struct Operand<'c> {
    pub(super) flat: Flat<'c>,
    line_dim: usize,
    step_dim: usize,
    /// Its own batch dimensions, as the type has them; none where they are folded into the lines.
    batch: Vec<i64>,
}

impl<'c> Operand<'c> {
    pub(super) fn new(k: &Kernel<'c>, name: &str, lines_first: bool, folded: bool) -> Self {
        let buffer = k.operand(name);
        let flat = Flat::new(k.b, buffer, k.tensor_type(name));
        let shape = buffer.r#type().shape();
        let rank = shape.len();
        let (line_dim, step_dim) = if lines_first { (rank - 2, rank - 1) } else { (rank - 1, rank - 2) };
        let batch = if folded { vec![] } else { shape[..rank - 2].to_vec() };
        Self { flat, line_dim, step_dim, batch }
    }

    /// Lines `part` of the batch's matrix.
    pub(super) fn matrix(&self, b: Builder<'c>, part: Part<'c>, steps: Val<'c>, outer: &[Val<'c>]) -> Matrix<'c> {
        let coordinates = unflatten(b, part.batch, outer);
        let skip = outer.len().saturating_sub(self.batch.len());
        let base = self.batch.iter().enumerate().fold(self.flat.offset, |sum, (i, size)| match *size {
            1 => sum,
            n => {
                let step = b.muli(coordinates[skip + i], self.flat.strides[i]);
                let stretched = b.cmpi("eq", self.flat.dims[i], b.index(1));
                let step = if n >= 0 { step } else { b.select(stretched, b.index(0), step) };
                b.addi(sum, step)
            }
        });
        let (line_stride, step_stride) = (self.flat.strides[self.line_dim], self.flat.strides[self.step_dim]);
        Matrix {
            at: b.addi(base, b.muli(part.first, line_stride)),
            unit: Unit::of(&self.flat, self.line_dim, self.step_dim),
            source: self.flat.clone(),
            line_stride,
            step_stride,
            lines: part.count,
            steps,
        }
    }
}

/// The coordinates of a row-major number.
pub fn unflatten<'c>(b: Builder<'c>, number: Val<'c>, dims: &[Val<'c>]) -> Vec<Val<'c>> {
    let mut rest = number;
    let mut coordinates = Vec::new();
    for (i, dim) in dims.iter().enumerate().rev() {
        coordinates.insert(0, if i == 0 { rest } else { b.remsi(rest, *dim) });
        if i > 0 {
            rest = b.divsi(rest, *dim);
        }
    }
    coordinates
}
