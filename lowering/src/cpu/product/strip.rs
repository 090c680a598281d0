//! The micro-kernel of matrix products: one strip of rows times a packed block of columns, in registers.
//!
//! Packed operands are panels: `tile_rows` rows of the left side, `tile_columns` columns of the right side, each panel step by step along
//! the contraction. A function of the module is shared by all kernels with one accumulator type, so that a model's code stays small.

use crate::cpu::{
    Kernel,
    tiling::{Tiling, type_name},
    vector::VectorOps,
};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, TypeExt, Types, Val, memref_type},
};
use melior::ir::{Type, ValueLike};

/// A place in a flat array.
#[derive(Clone, Copy)]
pub struct Place<'c> {
    /// `memref<?xT>`
    pub data: Val<'c>,
    /// The element that it starts at.
    pub at: Val<'c>,
}

impl<'c> Place<'c> {
    /// The place `offset` elements further.
    pub fn offset(self, b: Builder<'c>, offset: Val<'c>) -> Self {
        Self { at: b.addi(self.at, offset), ..self }
    }
}

/// A strip of the result: `rows` (at most a tile's) by `cols`, written row by row `pitch` apart; whole vectors are written.
pub struct Strip<'c> {
    /// Length of the contraction.
    pub depth: Val<'c>,
    /// The panel of rows.
    pub left: Place<'c>,
    /// The panels of columns.
    pub right: Place<'c>,
    /// Where the strip goes.
    pub result: Place<'c>,
    /// Elements between rows of the result.
    pub pitch: Val<'c>,
    /// Rows that count.
    pub rows: Val<'c>,
    /// Columns that count.
    pub cols: Val<'c>,
}

impl<'c> Strip<'c> {
    /// Emits a call of the micro-kernel.
    pub fn call(&self, k: &Kernel<'c>, b: Builder<'c>, target: Tiling) {
        let acc = self.result.data.r#type().element_type();
        let name = format!("aitmlir_strip_{}", type_name(acc, false));
        let (data, index) = (memref_type(&[DYNAMIC], acc), b.context().index_type());
        let types = [index, data, index, data, index, data, index, index, index, index];
        k.shared_function(&name, &types, &[], |b, args| {
            let strip = Strip {
                depth: args[0],
                left: Place { data: args[1], at: args[2] },
                right: Place { data: args[3], at: args[4] },
                result: Place { data: args[5], at: args[6] },
                pitch: args[7],
                rows: args[8],
                cols: args[9],
            };
            Emitter { target, acc, strip }.by_rows(b, target.tile_rows);
            b.op("func.return", &[], &[], &[], vec![]);
        });
        let arguments = [
            self.depth,
            self.left.data,
            self.left.at,
            self.right.data,
            self.right.at,
            self.result.data,
            self.result.at,
            self.pitch,
            self.rows,
            self.cols,
        ];
        k.at(b).call(&name, &arguments, &[]);
    }
}

struct Emitter<'c> {
    target: Tiling,
    acc: Type<'c>,
    strip: Strip<'c>,
}

impl<'c> Emitter<'c> {
    /// Chooses the smallest power of two of rows that covers the strip.
    fn by_rows(&self, b: Builder<'c>, rows: i64) {
        if rows == 1 {
            return self.columns(b, 1);
        }
        let many = b.cmpi("sgt", self.strip.rows, b.index(rows / 2));
        b.if_(
            many,
            &[],
            |b| {
                self.columns(b, rows);
                vec![]
            },
            |b| {
                self.by_rows(b, rows / 2);
                vec![]
            },
        );
    }

    fn columns(&self, b: Builder<'c>, rows: i64) {
        let step = self.target.tile_columns(self.acc);
        let (zero, step) = (b.index(0), b.index(step));
        b.for_(zero, self.strip.cols, step, &[], |b, column, _| {
            let left = b.subi(self.strip.cols, column);
            self.by_vectors(b, rows, self.target.tile_vectors, column, left);
            vec![]
        });
    }

    /// Chooses the fewest vectors that cover the columns that are left.
    fn by_vectors(&self, b: Builder<'c>, rows: i64, vectors: i64, column: Val<'c>, left: Val<'c>) {
        if vectors == 1 {
            return self.tile(b, rows, 1, column);
        }
        let many = b.cmpi("sgt", left, b.index((vectors - 1) * self.target.lanes(self.acc)));
        b.if_(
            many,
            &[],
            |b| {
                self.tile(b, rows, vectors, column);
                vec![]
            },
            |b| {
                self.by_vectors(b, rows, vectors - 1, column, left);
                vec![]
            },
        );
    }

    /// The register tile: an outer product a step.
    fn tile(&self, b: Builder<'c>, rows: i64, vectors: i64, column: Val<'c>) {
        let s = &self.strip;
        let lanes = self.target.lanes(self.acc);
        let (panel_rows, panel_columns) = (self.target.tile_rows, self.target.tile_columns(self.acc));
        let right = b.addi(s.right.at, b.muli(column, s.depth));
        let zero = b.fill(self.target.vector(self.acc), 0.0);
        let inits = vec![zero; (rows * vectors) as usize];
        let (start, one) = (b.index(0), b.index(1));
        let sums = b.for_(start, s.depth, one, &inits, |b, step, sums| {
            let at = b.addi(right, b.times(step, panel_columns));
            let columns: Vec<_> = (0..vectors).map(|v| b.vload(s.right.data, b.plus(at, v * lanes), lanes)).collect();
            let at = b.addi(s.left.at, b.times(step, panel_rows));
            let mut next = Vec::with_capacity(sums.len());
            for row in 0..rows {
                let x = b.splat(b.load(s.left.data, &[b.plus(at, row)]), lanes);
                for (v, y) in columns.iter().enumerate() {
                    next.push(b.multiply_add(x, *y, sums[row as usize * vectors as usize + v]));
                }
            }
            next
        });
        let mut at = b.addi(s.result.at, column);
        for row in sums.chunks(vectors as usize) {
            for (v, sum) in row.iter().enumerate() {
                b.vstore(*sum, s.result.data, b.plus(at, v as i64 * lanes));
            }
            at = b.addi(at, s.pitch);
        }
    }
}
