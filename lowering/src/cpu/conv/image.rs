//! The right side of a convolution as a matrix product: panels of the image, one step of the contraction for each channel and tap.
//!
//! Each step is first gathered into a row of consecutive pixels, a vector at a time with a mask of what lies in the image, so no element is tested by itself; a vector
//! may run over the end of an image row, for the next row is written after it. Then the row is dealt to the panels.

use super::geometry::{Geometry, Triple};
use crate::cpu::{
    Kernel,
    flat::Flat,
    product::{both, strip::Place},
    tiling::{Tiling, type_name},
    vector::{VectorOps, compare},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, TypeExt, Types, Val, memref_type, vector_type},
};
use melior::ir::{Type, ValueLike};

/// How a vector of neighbouring result pixels lies in an image row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Neighbours.
    Dense,
    /// Every other element.
    Halved,
    /// Any distance.
    Strided,
    /// Transposed convolution of this width stride: only where the stride divides the coordinate.
    Transposed(i64),
}

impl Access {
    /// For an image whose innermost dimension has (or has not) unit stride.
    pub fn of(unit: bool, width_stride: i64, transposed: bool) -> Self {
        match (transposed, unit, width_stride) {
            (true, true, 1) | (false, true, 1) => Self::Dense,
            (true, ..) => Self::Transposed(width_stride),
            (false, true, 2) => Self::Halved,
            (false, ..) => Self::Strided,
        }
    }
    /// For names of functions.
    pub fn name(self) -> String {
        match self {
            Self::Dense => "dense".into(),
            Self::Halved => "halved".into(),
            Self::Strided => "strided".into(),
            Self::Transposed(stride) => format!("transposed{stride}"),
        }
    }
}

/// Pixels `first..first + count` of an image, all channels and taps.
pub struct Image<'c> {
    /// The image's elements.
    pub source: Flat<'c>,
    /// The first channel's element 0.
    pub at: Val<'c>,
    /// From a channel to the next.
    pub channel_stride: Val<'c>,
    /// From an element to the next, a dimension.
    pub strides: Triple<Val<'c>>,
    /// How many channels.
    pub channels: Val<'c>,
    /// The windows.
    pub geometry: Geometry<'c>,
    /// Is it a transposed convolution?
    pub transposed: bool,
    /// The first pixel of the result.
    pub first: Val<'c>,
    /// How many pixels.
    pub count: Val<'c>,
}

impl<'c> Image<'c> {
    /// Emits a call that packs it; `row` has room for a row of pixels.
    pub fn pack(&self, k: &Kernel<'c>, b: Builder<'c>, target: Tiling, to: Place<'c>, row: Val<'c>) {
        let acc = to.data.r#type().element_type();
        let (from, unsigned) = (self.source.element(), self.source.unsigned);
        let unit = self.source.is_unit(self.source.strides.len() - 1);
        let g = &self.geometry;
        let access = Access::of(unit, g.strides[2], self.transposed);
        let name = format!(
            "aitmlir_image_{}{}_{}_{}",
            access.name(),
            if self.transposed { "_t" } else { "" },
            type_name(from, unsigned),
            type_name(acc, false)
        );
        let index = b.context().index_type();
        let constants = |t: Triple<i64>| t.map(|v| b.index(v));
        let mut arguments = vec![self.source.data, to.data, self.at, to.at, row, self.channel_stride, self.channels];
        arguments.extend([self.first, self.count]);
        for group in [self.strides, g.input, g.output, g.kernel] {
            arguments.extend(group);
        }
        for group in [g.strides, g.dilations, g.pads] {
            arguments.extend(constants(group));
        }
        let mut types = vec![memref_type(&[DYNAMIC], from), memref_type(&[DYNAMIC], acc)];
        types.resize(arguments.len(), index);
        k.shared_function(&name, &types, &[], |b, args| {
            let triple = |i: usize| [args[9 + 3 * i], args[10 + 3 * i], args[11 + 3 * i]];
            let packer = Packer {
                source: args[0],
                to: Place { data: args[1], at: args[3] },
                at: args[2],
                row: args[4],
                channel_stride: args[5],
                channels: args[6],
                first: args[7],
                count: args[8],
                image_strides: triple(0),
                input: triple(1),
                output: triple(2),
                kernel: triple(3),
                strides: triple(4),
                dilations: triple(5),
                pads: triple(6),
                access,
                transposed: self.transposed,
                unsigned,
                target,
                acc,
            };
            packer.emit(b);
            b.op("func.return", &[], &[], &[], vec![]);
        });
        k.at(b).call(&name, &arguments, &[]);
    }
}

struct Packer<'c> {
    source: Val<'c>,
    to: Place<'c>,
    at: Val<'c>,
    row: Val<'c>,
    channel_stride: Val<'c>,
    channels: Val<'c>,
    first: Val<'c>,
    count: Val<'c>,
    image_strides: Triple<Val<'c>>,
    input: Triple<Val<'c>>,
    output: Triple<Val<'c>>,
    kernel: Triple<Val<'c>>,
    strides: Triple<Val<'c>>,
    dilations: Triple<Val<'c>>,
    pads: Triple<Val<'c>>,
    access: Access,
    transposed: bool,
    unsigned: bool,
    target: Tiling,
    acc: Type<'c>,
}

impl<'c> Packer<'c> {
    fn lanes(&self) -> i64 {
        self.target.lanes(self.acc)
    }

    fn emit(&self, b: Builder<'c>) {
        let columns = self.target.tile_columns(self.acc);
        let (zero, one) = (b.index(0), b.index(1));
        let padded = b.times(b.ceil_div(self.count, b.index(columns)), columns);
        let zeros = b.fill(vector_type(self.lanes(), self.acc), 0.0);
        b.for_(zero, padded, b.index(self.lanes()), &[], |b, i, _| {
            b.vstore(zeros, self.to.data, b.addi(self.row, i));
            vec![]
        });
        let [_, height, width] = self.output;
        let first_row = b.divsi(self.first, width);
        let end = b.addi(self.first, self.count);
        let end_row = b.ceil_div(end, width);
        let start = [b.divsi(first_row, height), b.remsi(first_row, height)];
        let taps = super::geometry::volume(b, self.kernel);
        let depth = b.muli(self.channels, taps);
        let [kd, kh, kw] = self.kernel;
        b.loops(&[self.channels, kd, kh, kw], |b, ivs| {
            let channel = b.addi(self.at, b.muli(ivs[0], self.channel_stride));
            let tap = [ivs[1], ivs[2], ivs[3]];
            let step = b.addi(b.muli(b.addi(b.muli(b.addi(b.muli(ivs[0], kd), tap[0]), kh), tap[1]), kw), tap[2]);
            b.for_(first_row, end_row, one, &start, |b, row, at| {
                self.image_row(b, channel, tap, [at[0], at[1]], [row, end]);
                let next = b.plus(at[1], 1);
                let wraps = b.cmpi("eq", next, height);
                vec![b.select(wraps, b.plus(at[0], 1), at[0]), b.select(wraps, zero, next)]
            });
            self.deal(b, step, depth);
        });
    }

    /// The part of one row of result pixels that is asked for.
    fn image_row(
        &self,
        b: Builder<'c>,
        channel: Val<'c>,
        tap: Triple<Val<'c>>,
        [d, h]: [Val<'c>; 2],
        [row, end]: [Val<'c>; 2],
    ) {
        let zero = b.index(0);
        let width = self.output[2];
        let origin = b.muli(row, width);
        let from = b.maxsi(b.subi(self.first, origin), zero);
        let to = b.minsi(width, b.subi(end, origin));
        let (depth_at, depth_in) = self.coordinate(b, 0, d, tap[0]);
        let (height_at, height_in) = self.coordinate(b, 1, h, tap[1]);
        let inside = both(b, depth_in, height_in);
        let limit = b.select(inside, self.input[2], zero);
        let base =
            b.addi(channel, b.addi(b.muli(depth_at, self.image_strides[0]), b.muli(height_at, self.image_strides[1])));
        let at = b.addi(self.row, b.subi(origin, self.first));
        b.for_(from, to, b.index(self.lanes()), &[], |b, pixel, _| {
            let value = self.vector(b, base, pixel, tap[2], limit);
            b.vstore(b.convert(value, self.unsigned, self.acc), self.to.data, b.addi(at, pixel));
            vec![]
        });
    }

    /// The input coordinate of a result coordinate in the outer dimensions, and whether it is in the image.
    fn coordinate(&self, b: Builder<'c>, dim: usize, out: Val<'c>, tap: Val<'c>) -> (Val<'c>, Val<'c>) {
        let tap = b.muli(tap, self.dilations[dim]);
        if !self.transposed {
            let at = b.addi(b.subi(b.muli(out, self.strides[dim]), self.pads[dim]), tap);
            return (at, b.cmpi("ult", at, self.input[dim]));
        }
        let spread = b.subi(b.addi(out, self.pads[dim]), tap);
        let at = b.divsi(spread, self.strides[dim]);
        let exact = b.cmpi("eq", b.muli(at, self.strides[dim]), spread);
        (at, both(b, exact, b.cmpi("ult", at, self.input[dim])))
    }

    /// A vector of neighbouring pixels of one image row; zeros outside of the image.
    fn vector(&self, b: Builder<'c>, base: Val<'c>, pixel: Val<'c>, tap: Val<'c>, limit: Val<'c>) -> Val<'c> {
        let tap = b.muli(tap, self.dilations[2]);
        let first = match self.transposed {
            true => b.subi(b.addi(pixel, self.pads[2]), tap),
            false => b.addi(b.subi(b.muli(pixel, self.strides[2]), self.pads[2]), tap),
        };
        let (stride, step) = (self.image_strides[2], self.strides[2]);
        Row { source: self.source, base, stride, step, limit, lanes: self.lanes() }.vector(b, self.access, first)
    }

    /// Copies the row of pixels to its step in the panels.
    fn deal(&self, b: Builder<'c>, step: Val<'c>, depth: Val<'c>) {
        let (lanes, columns) = (self.lanes(), self.target.tile_columns(self.acc));
        b.for_(b.index(0), self.count, b.index(columns), &[], |b, column, _| {
            let to = b.addi(b.addi(self.to.at, b.muli(column, depth)), b.times(step, columns));
            let from = b.addi(self.row, column);
            for v in 0..columns / lanes {
                let value = b.vload(self.to.data, b.plus(from, v * lanes), lanes);
                b.vstore(value, self.to.data, b.plus(to, v * lanes));
            }
            vec![]
        });
    }
}

/// One row of an image.
pub struct Row<'c> {
    /// `memref<?xT>`
    pub source: Val<'c>,
    /// Its element 0.
    pub base: Val<'c>,
    /// Elements from one to the next.
    pub stride: Val<'c>,
    /// Image elements from one result pixel to the next.
    pub step: Val<'c>,
    /// How many elements it has.
    pub limit: Val<'c>,
    /// The lanes of a vector.
    pub lanes: i64,
}

impl<'c> Row<'c> {
    /// A vector of elements `first`, `first + step`, ... (`first / stride`, ... where transposed); zeros outside of the row.
    pub fn vector(&self, b: Builder<'c>, access: Access, first: Val<'c>) -> Val<'c> {
        let zero = b.fill(vector_type(self.lanes, self.source.r#type().element_type()), 0.0);
        self.vector_or(b, access, first, zero)
    }

    /// The same with the lanes of `outside` outside of the row.
    pub fn vector_or(&self, b: Builder<'c>, access: Access, first: Val<'c>, outside: Val<'c>) -> Val<'c> {
        let bits = b.context().int_type(32);
        let splat = |v: Val<'c>| b.splat(b.index_cast(v, bits), self.lanes);
        let (numbers, limit) = (b.lane_numbers(self.lanes), splat(self.limit));
        let dense = |first: Val<'c>| {
            let mask = compare(b, "ult", b.addi(numbers, splat(first)), limit);
            b.masked_load(self.source, b.addi(self.base, first), mask, outside)
        };
        match access {
            Access::Dense => dense(first),
            Access::Halved => {
                let (low, high) = (dense(first), dense(b.plus(first, self.lanes)));
                b.shuffle(low, high, &(0..self.lanes).map(|i| 2 * i).collect::<Vec<_>>())
            }
            Access::Strided => {
                let steps = b.muli(numbers, splat(self.step));
                let mask = compare(b, "ult", b.addi(steps, splat(first)), limit);
                let at = b.addi(self.base, b.muli(first, self.stride));
                b.gather(self.source, at, b.muli(steps, splat(self.stride)), mask, outside)
            }
            Access::Transposed(stride) => {
                let spread = b.addi(numbers, splat(first));
                let stride = b.fill(vector_type(self.lanes, bits), stride as f64);
                let at = b.divsi(spread, stride);
                let exact = compare(b, "eq", b.muli(at, stride), spread);
                let mask = both(b, exact, compare(b, "ult", at, limit));
                b.gather(self.source, self.base, b.muli(at, splat(self.stride)), mask, outside)
            }
        }
    }
}
