//! Dot products of matrix rows with a vector: y[j] = sum over k of matrix[j, k] * x[k]. Memory-bound, so nothing is packed.

use super::{
    Kernel,
    product::{
        pack::{Matrix, Unit},
        strip::Place,
    },
    tiling::{Tiling, type_name},
    vector::VectorOps,
};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, TypeExt, Types, Val, memref_type, vector_type},
};
use melior::ir::{Type, ValueLike};

impl<'c> Matrix<'c> {
    /// Emits a call that writes the dot products of the lines with the vector at `x` to `to`, both of the accumulator type.
    pub fn multiply(&self, k: &Kernel<'c>, b: Builder<'c>, x: Place<'c>, to: Place<'c>) {
        let acc = to.data.r#type().element_type();
        let (from, unsigned) = (self.source.element(), self.source.unsigned);
        let unit = self.unit == Unit::Steps;
        let way = if unit { "unit" } else { "any" };
        let name = format!("aitmlir_dot_{way}_{}_{}", type_name(from, unsigned), type_name(acc, false));
        let arguments = [
            self.source.data,
            x.data,
            to.data,
            self.at,
            x.at,
            to.at,
            self.line_stride,
            self.step_stride,
            self.lines,
            self.steps,
        ];
        let mut types: Vec<Type<'c>> = [from, acc, acc].map(|t| memref_type(&[DYNAMIC], t)).to_vec();
        types.resize(arguments.len(), b.context().index_type());
        k.shared_function(&name, &types, &[], |b, args| {
            let dot = Dot {
                matrix: args[0],
                x: Place { data: args[1], at: args[4] },
                to: Place { data: args[2], at: args[5] },
                at: args[3],
                row_stride: args[6],
                step_stride: args[7],
                steps: args[9],
                unsigned,
                acc,
            };
            if unit {
                dot.vectors(b, args[8])
            } else {
                dot.scalars(b, args[8])
            }
            b.op("func.return", &[], &[], &[], vec![]);
        });
        k.at(b).call(&name, &arguments, &[]);
    }
}

struct Dot<'c> {
    matrix: Val<'c>,
    x: Place<'c>,
    to: Place<'c>,
    at: Val<'c>,
    row_stride: Val<'c>,
    step_stride: Val<'c>,
    steps: Val<'c>,
    unsigned: bool,
    acc: Type<'c>,
}

impl<'c> Dot<'c> {
    /// Four rows at a time, so that four sums are under way.
    fn vectors(&self, b: Builder<'c>, rows: Val<'c>) {
        let four = b.index(4);
        let (zero, one) = (b.index(0), b.index(1));
        let full = b.muli(b.divsi(rows, four), four);
        b.for_(zero, full, four, &[], |b, row, _| {
            self.some_rows(b, row, 4);
            vec![]
        });
        b.for_(full, rows, one, &[], |b, row, _| {
            self.some_rows(b, row, 1);
            vec![]
        });
    }

    fn some_rows(&self, b: Builder<'c>, row: Val<'c>, count: i64) {
        let lanes = Tiling::host().lanes(self.acc);
        let (zero, lanes_) = (b.index(0), b.index(lanes));
        let full = b.muli(b.divsi(self.steps, lanes_), lanes_);
        let bases: Vec<_> = (0..count).map(|i| b.addi(self.at, b.muli(b.plus(row, i), self.row_stride))).collect();
        let start = vec![b.fill(vector_type(lanes, self.acc), 0.0); count as usize];
        let sums = b.for_(zero, full, lanes_, &start, |b, step, sums| {
            let x = b.vload(self.x.data, b.addi(self.x.at, step), lanes);
            let next = bases.iter().zip(sums).map(|(base, sum)| {
                let value = b.vload(self.matrix, b.addi(*base, step), lanes);
                b.multiply_add(b.convert(value, self.unsigned, self.acc), x, *sum)
            });
            next.collect()
        });
        let mask = b.first_lanes(b.subi(self.steps, full), lanes);
        let none = b.fill(vector_type(lanes, self.matrix.r#type().element_type()), 0.0);
        let x = b.masked_load(self.x.data, b.addi(self.x.at, full), mask, b.fill(vector_type(lanes, self.acc), 0.0));
        for (i, (base, sum)) in bases.iter().zip(sums).enumerate() {
            let value = b.masked_load(self.matrix, b.addi(*base, full), mask, none);
            let sum = b.multiply_add(b.convert(value, self.unsigned, self.acc), x, sum);
            let total = b.sum_lanes(sum);
            b.store(total, self.to.data, &[b.addi(self.to.at, b.plus(row, i as i64))]);
        }
    }

    fn scalars(&self, b: Builder<'c>, rows: Val<'c>) {
        let (zero, one) = (b.index(0), b.index(1));
        b.loop_(rows, |b, row| {
            let base = b.addi(self.at, b.muli(row, self.row_stride));
            let start = b.constant(self.acc, 0.0);
            let sum = b.for_(zero, self.steps, one, &[start], |b, step, sum| {
                let value = b.load(self.matrix, &[b.addi(base, b.muli(step, self.step_stride))]);
                let x = b.load(self.x.data, &[b.addi(self.x.at, step)]);
                vec![b.add(sum[0], b.multiply(b.convert(value, self.unsigned, self.acc), x))]
            });
            b.store(sum[0], self.to.data, &[b.addi(self.to.at, row)]);
        });
    }
}
