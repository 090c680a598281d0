//! `ait.deform_conv`: bilinear samples at offset taps, one result pixel at a time.
//!
//! The parallel range is the result's rows of all channels and images.

use super::{Kernel, KernelRow, Unsupported, flat::Flat, gemm::unflatten, product::both, vector::VectorOps};
use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Types, Val},
};
use melior::ir::{Type, ValueLike};

pub static ROW: KernelRow = KernelRow { op: "ait.deform_conv", extent, body };

fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    (0..3).map(|i| k.b.dim(k.outs[0], i)).fold(k.b.index(1), |x, y| k.b.muli(x, y))
}

struct Deform<'c> {
    input: Flat<'c>,
    filter: Flat<'c>,
    offset: Flat<'c>,
    bias: Option<Flat<'c>>,
    mask: Option<Flat<'c>>,
    acc: Type<'c>,
    strides: Vec<i64>,
    pads: Vec<i64>,
    dilations: Vec<i64>,
    /// Input channels that share offsets.
    per_offset_group: Val<'c>,
    per_group: Val<'c>,
    filters: Val<'c>,
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let flat = |name: &str| Flat::new(b, k.operand(name), k.tensor_type(name));
    let params: Vec<_> = k.group("params").into_iter().zip(k.op.group("params")).collect();
    let param = |rank: usize| {
        params.iter().find(|(v, _)| v.r#type().shape().len() == rank).map(|(v, t)| Flat::new(b, *v, t.r#type()))
    };
    let input = flat("input");
    let groups = b.index(k.op.i64("groups").unwrap_or(1));
    let offset_groups = b.index(k.op.i64("offset_groups").unwrap_or(1));
    let deform = Deform {
        filter: flat("filter"),
        offset: flat("offset"),
        bias: param(1),
        mask: param(4),
        acc: k.tensor_type("input").element_type().accumulator(),
        strides: k.op.i64s("strides"),
        pads: k.op.i64s("pads"),
        dilations: k.op.i64s("dilations"),
        per_offset_group: b.divsi(input.dims[1], offset_groups),
        per_group: b.divsi(input.dims[1], groups),
        filters: b.divsi(b.dim(k.outs[0], 1), groups),
        input,
    };
    let out = Flat::new(b, k.outs[0], k.result_type(0));
    b.for_(lo, hi, b.index(1), &[], |b, unit, _| {
        let at = unflatten(b, unit, &out.dims[..3]);
        b.loop_(out.dims[3], |b, x| {
            let place = [at[0], at[1], at[2], x];
            let value = b.convert(deform.pixel(b, place), false, out.element());
            b.store(value, out.data, &[out.at(b, &place)]);
        });
        vec![]
    });
    Ok(())
}

impl<'c> Deform<'c> {
    fn pixel(&self, b: Builder<'c>, [n, m, y, x]: [Val<'c>; 4]) -> Val<'c> {
        let (zero, one) = (b.index(0), b.index(1));
        let first = b.muli(b.divsi(m, self.filters), self.per_group);
        let start = match &self.bias {
            Some(bias) => bias.read(b, bias.at(b, &[m]), self.acc),
            None => b.float(self.acc, 0.0),
        };
        let (kh, kw) = (self.filter.dims[2], self.filter.dims[3]);
        b.for_(zero, self.per_group, one, &[start], |b, c, sum| {
            b.for_(zero, kh, one, sum, |b, i, sum| {
                b.for_(zero, kw, one, sum, |b, j, sum| {
                    let channel = b.addi(first, c);
                    let sample = self.tap(b, [n, channel, y, x], [i, j]);
                    let weight = self.filter.read(b, self.filter.at(b, &[m, c, i, j]), self.acc);
                    vec![b.addf(sum[0], b.mulf(sample, weight))]
                })
            })
        })[0]
    }

    /// The sample of one tap, times its mask.
    fn tap(&self, b: Builder<'c>, [n, channel, y, x]: [Val<'c>; 4], [i, j]: [Val<'c>; 2]) -> Val<'c> {
        let (kh, kw) = (self.filter.dims[2], self.filter.dims[3]);
        let group = b.divsi(channel, self.per_offset_group);
        let number = b.addi(b.muli(b.addi(b.muli(group, kh), i), kw), j);
        let pair = b.addi(number, number);
        let coordinate = |out: Val<'c>, tap: Val<'c>, dim: usize, which: Val<'c>| {
            let whole =
                b.plus(b.addi(b.times(out, self.strides[dim]), b.times(tap, self.dilations[dim])), -self.pads[dim]);
            let offset = self.offset.read(b, self.offset.at(b, &[n, which, y, x]), self.acc);
            let whole = b.index_cast(whole, b.context().int_type(64));
            b.addf(b.convert(whole, false, self.acc), offset)
        };
        let at = [coordinate(y, i, 0, pair), coordinate(x, j, 1, b.plus(pair, 1))];
        let sample = self.bilinear(b, [n, channel], at);
        match &self.mask {
            Some(mask) => b.mulf(sample, mask.read(b, mask.at(b, &[n, number, y, x]), self.acc)),
            None => sample,
        }
    }

    fn bilinear(&self, b: Builder<'c>, plane: [Val<'c>; 2], at: [Val<'c>; 2]) -> Val<'c> {
        let index = b.context().index_type();
        let floor = at.map(|v| b.unary("math.floor", v));
        let part = [b.subf(at[0], floor[0]), b.subf(at[1], floor[1])];
        // Bounded first, so that the conversion is defined for any offset; what is far outside stays outside.
        let bound = |v: Val<'c>| {
            let low = b.binary("arith.maximumf", v, b.float(self.acc, -1e6));
            let high = b.binary("arith.minimumf", low, b.float(self.acc, 1e6));
            b.index_cast(b.op1("arith.fptosi", &[high], b.context().int_type(64), &[]), index)
        };
        let corner = floor.map(bound);
        let one = b.float(self.acc, 1.0);
        let mut sum = b.float(self.acc, 0.0);
        for (dy, dx) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let (y, x) = (b.plus(corner[0], dy), b.plus(corner[1], dx));
            let share = |i: usize, far: i64| if far == 1 { part[i] } else { b.subf(one, part[i]) };
            let weight = b.mulf(share(0, dy), share(1, dx));
            let inside = both(b, b.cmpi("ult", y, self.input.dims[2]), b.cmpi("ult", x, self.input.dims[3]));
            let value = b.if_(
                inside,
                &[self.acc],
                |b| vec![self.input.read(b, self.input.at(b, &[plane[0], plane[1], y, x]), self.acc)],
                |b| vec![b.float(self.acc, 0.0)],
            )[0];
            sum = b.addf(sum, b.mulf(weight, value));
        }
        sum
    }
}
