//! `ait.conv`, directly: a thread does one pixel of several output channels, so that an element of the input is read once for all of them.
//! Neighbouring threads do neighbouring pixels with the same filters, which the first-level cache serves.

use super::{Body, BodyRow, How, KernelRow, grid_of, threads::grid_stride};
use crate::cpu::{
    Kernel, Unsupported,
    broadcast::stretched_to,
    conv::geometry::{Geometry, triple},
    domain::{ceil_div, decode},
    map::inline_at,
    scalar::Num,
    view::{View, product},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Val},
};
use melior::ir::ValueLike;

pub const ROW: KernelRow = KernelRow {
    op: "ait.conv",
    how: How::Body(BodyRow {
        extent_count: |_| 1,
        extents: |k| vec![product(k.b, &units(k, channels_of_thread(k)))],
        body,
    }),
};

/// Threads of a CTA.
const THREADS: u32 = 128;
/// Output channels of a thread at most.
const CHANNELS: i64 = 8;

fn groups(k: &Kernel<'_>) -> i64 {
    k.op.i64("groups").unwrap_or(1)
}

/// Output channels of a thread: fewer where a group has fewer.
fn channels_of_thread(k: &Kernel<'_>) -> i64 {
    let channels = k.outs[0].r#type().shape()[1];
    if channels > 0 { (channels / groups(k)).clamp(1, CHANNELS) } else { CHANNELS }
}

/// Images, groups, blocks of output channels of a group, and the result's spatial dimensions as three.
fn units<'c>(k: &Kernel<'c>, each: i64) -> Vec<Val<'c>> {
    let b = k.b;
    let dims = b.dims(k.outs[0]);
    let of_group = b.divsi(dims[1], b.index(groups(k)));
    let [depth, height, width] = triple(&dims[2..], b.index(1));
    vec![dims[0], b.index(groups(k)), ceil_div(b, of_group, b.index(each)), depth, height, width]
}

/// What a thread does.
struct Conv<'a, 'c> {
    k: &'a Kernel<'c>,
    each: i64,
    geometry: Geometry<'c>,
    input: View<'c>,
    filter: View<'c>,
    out: View<'c>,
    extras: Vec<View<'c>>,
    from: Num<'c>,
    weight: Num<'c>,
    acc: Num<'c>,
}

fn body<'c>(k: &Kernel<'c>, extents: &[Val<'c>]) -> Result<Body, Unsupported> {
    if k.op.has("transposed") {
        return Err(Unsupported("is transposed, for which there is no kernel for CUDA".to_owned()));
    }
    let b = k.b;
    let out = View::of(b, k.outs[0]);
    let from = Num::of(k.tensor_type("input"));
    let conv = Conv {
        k,
        each: channels_of_thread(k),
        geometry: Geometry::new(k, &b.dims(k.operand("filter"))[2..]),
        input: View::of(b, k.operand("input")),
        filter: View::of(b, k.operand("filter")),
        extras: k.group("extras").iter().map(|extra| stretched_to(b, &View::of(b, *extra), &out)).collect(),
        out,
        from,
        weight: Num::of(k.tensor_type("filter")),
        acc: from.wide(b),
    };
    let sizes = units(k, conv.each);
    let (first, step) = grid_stride(b, THREADS);
    b.for_(first, extents[0], step, &[], |b, i, _| {
        conv.pixel(b, &decode(b, i, &sizes));
        vec![]
    });
    Ok(Body::new([THREADS, 1, 1], |extent| grid_of(extent(0), THREADS)))
}

impl<'c> Conv<'_, 'c> {
    /// The pixel and the channels at `at`: image, group, block of channels, depth, height, width.
    fn pixel(&self, b: Builder<'c>, at: &[Val<'c>]) {
        let (zero, one) = (b.index(0), b.index(1));
        let of_group = b.divsi(self.out.axes[1].size, b.index(groups(self.k)));
        let channels = b.divsi(self.input.axes[1].size, b.index(groups(self.k)));
        let first = b.muli(at[2], b.index(self.each));
        // Channels past the end of the group do the work of the last one, and are not stored.
        let own: Vec<_> = (0..self.each)
            .map(|n| b.minsi(b.addi(first, b.index(n)), b.subi(of_group, one)))
            .map(|channel| b.addi(b.muli(at[1], of_group), channel))
            .collect();
        let rows: Vec<_> = own
            .iter()
            .map(|channel| b.addi(self.filter.offset, b.muli(*channel, self.filter.axes[0].stride)))
            .collect();
        let image = b.addi(self.input.offset, b.muli(at[0], self.input.axes[0].stride));
        let start = b.addi(image, b.muli(b.muli(at[1], channels), self.input.axes[1].stride));
        let init = vec![self.acc.constant(b, 0.0); own.len()];
        let sums = b.for_(zero, channels, one, &init, |b, channel, sums| {
            let from = b.addi(start, b.muli(channel, self.input.axes[1].stride));
            let rows: Vec<_> =
                rows.iter().map(|row| b.addi(*row, b.muli(channel, self.filter.axes[1].stride))).collect();
            self.taps(b, 0, (from, &rows), &at[3..], sums)
        });
        for (n, (channel, sum)) in own.iter().zip(sums).enumerate() {
            let there = b.cmpi("slt", b.addi(first, b.index(n as i64)), of_group);
            b.when(there, |b| self.finish(b, at, *channel, sum));
        }
    }

    /// The taps of spatial dimension `dim` (of three) and those after it, from the offsets in the input and in each filter.
    fn taps(
        &self,
        b: Builder<'c>,
        dim: usize,
        (from, rows): (Val<'c>, &[Val<'c>]),
        out: &[Val<'c>],
        sums: &[Val<'c>],
    ) -> Vec<Val<'c>> {
        let spatial = self.input.axes.len() - 2;
        if dim == 3 {
            let x = self.from.convert(b, self.input.load(b, from), self.acc, false);
            return rows
                .iter()
                .zip(sums)
                .map(|(row, sum)| {
                    let w = self.weight.convert(b, self.filter.load(b, *row), self.acc, false);
                    self.multiply_add(b, x, w, *sum)
                })
                .collect();
        }
        // The dimension of the operands; missing outer ones have one tap.
        let Some(own) = (dim + spatial).checked_sub(3) else {
            return self.taps(b, dim + 1, (from, rows), out, sums);
        };
        let g = &self.geometry;
        let types: Vec<_> = sums.iter().map(|s| s.r#type()).collect();
        let origin = b.subi(b.muli(out[dim], b.index(g.strides[dim])), b.index(g.pads[dim]));
        b.for_(b.index(0), g.kernel[dim], b.index(1), sums, |b, tap, sums| {
            let place = b.addi(origin, b.muli(tap, b.index(g.dilations[dim])));
            let inside = b.cmpi("ult", place, g.input[dim]);
            b.if_(
                inside,
                &types,
                |b| {
                    let from = b.addi(from, b.muli(place, self.input.axes[2 + own].stride));
                    let step = b.muli(tap, self.filter.axes[2 + own].stride);
                    let rows: Vec<_> = rows.iter().map(|row| b.addi(*row, step)).collect();
                    self.taps(b, dim + 1, (from, &rows), out, sums)
                },
                |_| sums.to_vec(),
            )
        })
    }

    fn multiply_add(&self, b: Builder<'c>, x: Val<'c>, w: Val<'c>, sum: Val<'c>) -> Val<'c> {
        if self.acc.is_float() { b.op1("math.fma", &[x, w, sum], sum.r#type(), &[]) } else { b.addi(b.muli(x, w), sum) }
    }

    /// The epilogue and the store of one element.
    fn finish(&self, b: Builder<'c>, at: &[Val<'c>], channel: Val<'c>, sum: Val<'c>) {
        let spatial = self.out.axes.len() - 2;
        let coordinates: Vec<_> = [at[0], channel].into_iter().chain(at[6 - spatial..].iter().copied()).collect();
        let value = match self.k.op.block(0) {
            Some(block) => {
                let extras = self.extras.iter().map(|view| view.load(b, view.at(b, &coordinates)));
                let arguments: Vec<_> = std::iter::once(sum).chain(extras).collect();
                inline_at(b, block, &arguments, &coordinates)[0]
            }
            None => self.acc.convert(b, sum, Num::of(self.k.result_type(0)), false),
        };
        self.out.store(b, value, self.out.at(b, &coordinates));
    }
}
