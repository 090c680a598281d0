//! Convolutions with one input channel a group: each result channel is computed by itself, a vector of neighbouring pixels at a time.

use super::{
    filter::Filter,
    geometry::{Geometry, Triple, spatial_strides},
    image::Access,
};
use crate::cpu::{
    Kernel,
    flat::Flat,
    product::{both, epilogue::Epilogue, strip::Place},
    scratch::scratch,
    tiling::{Tiling, type_name},
    vector::VectorOps,
};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, TypeExt, Types, Val, memref_type, vector_type},
};
use melior::ir::{Type, ValueLike};

/// Pixels computed before the epilogue takes them over.
const PIXELS: i64 = 2048;

/// One unit an image and result channel.
pub fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    k.b.muli(k.b.dim(k.outs[0], 0), k.b.dim(k.outs[0], 1))
}

/// The units `lo..hi`.
pub fn body<'c>(
    k: &Kernel<'c>,
    [lo, hi]: [Val<'c>; 2],
    g: &Geometry<'c>,
    input: &Flat<'c>,
    filter: &Filter<'c>,
    epilogue: &Epilogue<'c>,
) {
    let (b, target) = (k.b, Tiling::host());
    let acc = input.element().accumulator();
    let channels = b.dim(k.outs[0], 1);
    let per_input = b.divsi(channels, b.maxsi(b.dim(k.operand("input"), 1), b.index(1)));
    let width = b.maxsi(g.output[2], b.index(1));
    let rows = b.muli(g.output[0], g.output[1]);
    let block = b.maxsi(b.minsi(b.divsi(b.index(PIXELS), width), rows), b.index(1));
    let (data, starts) = scratch(k, acc, &[b.plus(b.muli(block, width), target.lanes(acc))]);
    let plane = Place { data, at: starts[0] };
    let (zero, one) = (b.index(0), b.index(1));
    let strides = spatial_strides(b, input);
    b.for_(lo, hi, one, &[], |b, unit, _| {
        let (n, channel) = (b.divsi(unit, channels), b.remsi(unit, channels));
        let source = input.at(b, &[n, b.divsi(channel, per_input)]);
        let weights = filter.flat().at(b, &[channel]);
        b.for_(zero, rows, block, &[], |b, row, _| {
            let count = b.minsi(block, b.subi(rows, row));
            let call = Plane { input, filter: filter.flat(), source, weights, strides, g, row, count, to: plane };
            call.call(k, b);
            epilogue.row(b, &[n, channel], b.muli(row, width), b.muli(count, width), plane);
            vec![]
        });
        vec![]
    });
}

/// Rows of one result channel.
struct Plane<'a, 'c> {
    input: &'a Flat<'c>,
    filter: &'a Flat<'c>,
    source: Val<'c>,
    weights: Val<'c>,
    strides: Triple<Val<'c>>,
    g: &'a Geometry<'c>,
    row: Val<'c>,
    count: Val<'c>,
    to: Place<'c>,
}

impl<'c> Plane<'_, 'c> {
    fn call(&self, k: &Kernel<'c>, b: Builder<'c>) {
        let acc = self.to.data.r#type().element_type();
        let (from, unsigned) = (self.input.element(), self.input.unsigned);
        let (weight, weight_unsigned) = (self.filter.element(), self.filter.unsigned);
        let g = self.g;
        let access = Access::of(self.input.is_unit(self.input.strides.len() - 1), g.strides[2], false);
        let name = format!(
            "aitmlir_plane_{}_{}_{}_{}",
            access.name(),
            type_name(from, unsigned),
            type_name(weight, weight_unsigned),
            type_name(acc, false)
        );
        let constants = |t: Triple<i64>| t.map(|v| b.index(v));
        let mut arguments = vec![
            self.input.data,
            self.filter.data,
            self.to.data,
            self.source,
            self.weights,
            self.to.at,
            self.row,
            self.count,
        ];
        for group in [self.strides, spatial_strides(b, self.filter), g.input, g.output, g.kernel] {
            arguments.extend(group);
        }
        for group in [g.strides, g.dilations, g.pads] {
            arguments.extend(constants(group));
        }
        let mut types: Vec<Type<'c>> = [from, weight, acc].map(|t| memref_type(&[DYNAMIC], t)).to_vec();
        types.resize(arguments.len(), b.context().index_type());
        k.shared_function(&name, &types, &[], |b, args| {
            let triple = |i: usize| [args[8 + 3 * i], args[9 + 3 * i], args[10 + 3 * i]];
            let rows = Rows {
                input: args[0],
                filter: args[1],
                to: Place { data: args[2], at: args[5] },
                source: args[3],
                weights: args[4],
                image_strides: triple(0),
                filter_strides: triple(1),
                size: triple(2),
                output: triple(3),
                kernel: triple(4),
                strides: triple(5),
                dilations: triple(6),
                pads: triple(7),
                access,
                unsigned: [unsigned, weight_unsigned],
                lanes: Tiling::host().lanes(acc),
                acc,
            };
            rows.emit(b, args[6], args[7]);
            b.op("func.return", &[], &[], &[], vec![]);
        });
        k.at(b).call(&name, &arguments, &[]);
    }
}

struct Rows<'c> {
    input: Val<'c>,
    filter: Val<'c>,
    to: Place<'c>,
    source: Val<'c>,
    weights: Val<'c>,
    image_strides: Triple<Val<'c>>,
    filter_strides: Triple<Val<'c>>,
    size: Triple<Val<'c>>,
    output: Triple<Val<'c>>,
    kernel: Triple<Val<'c>>,
    strides: Triple<Val<'c>>,
    dilations: Triple<Val<'c>>,
    pads: Triple<Val<'c>>,
    access: Access,
    unsigned: [bool; 2],
    lanes: i64,
    acc: Type<'c>,
}

impl<'c> Rows<'c> {
    fn emit(&self, b: Builder<'c>, row: Val<'c>, count: Val<'c>) {
        let [_, height, width] = self.output;
        let zero = b.index(0);
        b.loop_(count, |b, i| {
            let at = b.addi(row, i);
            let corner = [b.divsi(at, height), b.remsi(at, height)];
            let to = b.addi(self.to.at, b.muli(i, width));
            b.for_(zero, width, b.index(self.lanes), &[], |b, pixel, _| {
                let sum = self.window(b, corner, pixel);
                b.vstore(sum, self.to.data, b.addi(to, pixel));
                vec![]
            });
        });
    }

    fn coordinate(&self, b: Builder<'c>, dim: usize, out: Val<'c>, tap: Val<'c>) -> Val<'c> {
        b.addi(b.subi(b.muli(out, self.strides[dim]), self.pads[dim]), b.muli(tap, self.dilations[dim]))
    }

    /// The sums of a vector of pixels.
    fn window(&self, b: Builder<'c>, [d, h]: [Val<'c>; 2], pixel: Val<'c>) -> Val<'c> {
        let (zero, one) = (b.index(0), b.index(1));
        let vector = vector_type(self.lanes, self.acc);
        let none = b.fill(vector, 0.0);
        b.for_(zero, self.kernel[0], one, &[none], |b, kd, sum| {
            let depth = self.coordinate(b, 0, d, kd);
            b.for_(zero, self.kernel[1], one, sum, |b, kh, sum| {
                let height = self.coordinate(b, 1, h, kh);
                let inside = both(b, b.cmpi("ult", depth, self.size[0]), b.cmpi("ult", height, self.size[1]));
                let base = b.addi(b.muli(depth, self.image_strides[0]), b.muli(height, self.image_strides[1]));
                let base = b.addi(self.source, base);
                let weights = b.addi(b.muli(kd, self.filter_strides[0]), b.muli(kh, self.filter_strides[1]));
                let weights = b.addi(self.weights, weights);
                b.if_(inside, &[vector], |b| self.taps(b, [base, weights], pixel, sum[0]), |_| sum.to_vec())
            })
        })[0]
    }

    fn taps(&self, b: Builder<'c>, [base, weights]: [Val<'c>; 2], pixel: Val<'c>, sum: Val<'c>) -> Vec<Val<'c>> {
        let (zero, one) = (b.index(0), b.index(1));
        b.for_(zero, self.kernel[2], one, &[sum], |b, kw, sum| {
            let first = self.coordinate(b, 2, pixel, kw);
            let value = b.convert(self.vector(b, base, first), self.unsigned[0], self.acc);
            let weight = b.load(self.filter, &[b.addi(weights, b.muli(kw, self.filter_strides[2]))]);
            let weight = b.splat(b.convert(weight, self.unsigned[1], self.acc), self.lanes);
            vec![b.multiply_add(value, weight, sum[0])]
        })
    }

    /// A vector of neighbouring pixels from `first` on.
    fn vector(&self, b: Builder<'c>, base: Val<'c>, first: Val<'c>) -> Val<'c> {
        let row = super::image::Row {
            source: self.input,
            base,
            stride: self.image_strides[2],
            step: self.strides[2],
            limit: self.size[2],
            lanes: self.lanes,
        };
        row.vector(b, self.access, first)
    }
}
