//! The left side of a convolution as a matrix product: filters, packed into panels of output channels.

use super::geometry::{Geometry, Triple, spatial_strides};
use crate::cpu::{
    Kernel,
    flat::{Flat, is_identity},
    product::{
        Part,
        pack::{Matrix, Unit},
        strip::Place,
    },
    tiling::{Tiling, type_name},
    vector::VectorOps,
};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, TypeExt, Types, Val, memref_type},
};
use melior::ir::ValueLike;

/// The filters of a convolution.
pub struct Filter<'c> {
    flat: Flat<'c>,
    transposed: bool,
    /// Channels and taps lie one after the other.
    dense: bool,
}

impl<'c> Filter<'c> {
    /// The op's operand `filter`.
    pub fn new(k: &Kernel<'c>, transposed: bool) -> Self {
        let buffer = k.operand("filter");
        let dense = !transposed && is_identity(buffer.r#type());
        Self { flat: Flat::new(k.b, buffer, k.tensor_type("filter")), transposed, dense }
    }

    /// Elements from an output channel to the next, and from an input channel to the next.
    fn strides(&self) -> (Val<'c>, Val<'c>) {
        let (first, second) = (self.flat.strides[0], self.flat.strides[1]);
        if self.transposed { (second, first) } else { (first, second) }
    }

    /// Packs output channels `rows` of a group with `channels` input channels; its first output and input channels are `out` and `input`.
    pub fn pack(
        &self,
        k: &Kernel<'c>,
        b: Builder<'c>,
        g: &Geometry<'c>,
        [out, input, channels]: [Val<'c>; 3],
        rows: Part<'c>,
        to: Place<'c>,
    ) {
        let target = Tiling::host();
        let (line_stride, channel_stride) = self.strides();
        // A normal filter's groups follow one another along the output channels, a transposed one's along the input channels.
        let line = if self.transposed { rows.first } else { b.addi(out, rows.first) };
        let at = b.addi(self.flat.offset, b.muli(line, line_stride));
        let at = if self.transposed { b.addi(at, b.muli(input, channel_stride)) } else { at };
        if self.dense {
            let steps = b.muli(channels, g.taps(b));
            let one = b.index(1);
            let matrix = Matrix {
                source: self.flat.clone(),
                at,
                line_stride,
                step_stride: one,
                unit: Unit::Steps,
                lines: rows.count,
                steps,
            };
            return matrix.pack(k, b, target, target.tile_rows, to);
        }
        let call = Call {
            at,
            lines: rows.count,
            channels,
            line_stride,
            channel_stride,
            kernel: g.kernel,
            strides: spatial_strides(b, &self.flat),
        };
        self.general(k, b, call, to);
    }

    /// Packs filters with any strides, one element at a time.
    fn general(&self, k: &Kernel<'c>, b: Builder<'c>, call: Call<'c>, to: Place<'c>) {
        let acc = to.data.r#type().element_type();
        let (from, unsigned) = (self.flat.element(), self.flat.unsigned);
        let rows = Tiling::host().tile_rows;
        let name = format!("aitmlir_filter_{}_{}", type_name(from, unsigned), type_name(acc, false));
        let mut arguments = vec![
            self.flat.data,
            to.data,
            to.at,
            call.at,
            call.lines,
            call.channels,
            call.line_stride,
            call.channel_stride,
        ];
        arguments.extend(call.kernel);
        arguments.extend(call.strides);
        let mut types = vec![memref_type(&[DYNAMIC], from), memref_type(&[DYNAMIC], acc)];
        types.resize(arguments.len(), b.context().index_type());
        k.shared_function(&name, &types, &[], |b, args| {
            let ([kd, kh, kw], [sd, sh, sw]) = ([args[8], args[9], args[10]], [args[11], args[12], args[13]]);
            let depth = b.muli(args[5], b.muli(kd, b.muli(kh, kw)));
            b.loops(&[args[4], args[5], kd, kh, kw], |b, ivs| {
                let from = [(ivs[0], args[6]), (ivs[1], args[7]), (ivs[2], sd), (ivs[3], sh), (ivs[4], sw)]
                    .into_iter()
                    .fold(args[3], |sum, (i, s)| b.addi(sum, b.muli(i, s)));
                let step = b.addi(b.muli(b.addi(b.muli(b.addi(b.muli(ivs[1], kd), ivs[2]), kh), ivs[3]), kw), ivs[4]);
                let panel = b.times(b.divsi(ivs[0], b.index(rows)), rows);
                let to =
                    b.addi(b.addi(args[2], b.muli(panel, depth)), b.addi(b.times(step, rows), b.subi(ivs[0], panel)));
                let value = b.convert(b.load(args[0], &[from]), unsigned, acc);
                b.store(value, args[1], &[to]);
            });
            b.op("func.return", &[], &[], &[], vec![]);
        });
        k.at(b).call(&name, &arguments, &[]);
    }

    /// The filters as a flat array.
    pub fn flat(&self) -> &Flat<'c> {
        &self.flat
    }
}

struct Call<'c> {
    at: Val<'c>,
    lines: Val<'c>,
    channels: Val<'c>,
    line_stride: Val<'c>,
    channel_stride: Val<'c>,
    kernel: Triple<Val<'c>>,
    strides: Triple<Val<'c>>,
}
