//! `ait.roi_align`: each bin averages (or takes the maximum of) bilinear samples on a regular grid.

use super::{Kernel, KernelRow, Unsupported, broadcast::elements, domain::decode, ext::Ext, scalar::Num, view::View};
use aitmlir_dialects::{
    ait::enums::RoiMode,
    builder::Builder,
    types::{Types, Val},
};

pub static ROW: KernelRow = KernelRow { op: "ait.roi_align", extent: elements, body };

/// One direction of a bin: where it starts, how far apart its samples are and how many there are.
#[derive(Clone, Copy)]
struct Samples<'c> {
    start: Val<'c>,
    step: Val<'c>,
    count: Val<'c>,
}

struct RoiAlign<'c> {
    input: View<'c>,
    rois: View<'c>,
    num: Num<'c>,
    wide: Num<'c>,
    scale: f64,
    ratio: i64,
    half_pixel: bool,
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let num = Num::of(k.tensor_type("input"));
    let align = RoiAlign {
        input: View::of(b, k.operand("input")),
        rois: View::of(b, k.operand("rois")),
        num,
        wide: num.float(b),
        scale: k.op.f64("spatial_scale").unwrap_or(1.0),
        ratio: k.op.i64("sampling_ratio").unwrap_or(0),
        half_pixel: k.op.has("half_pixel"),
    };
    let max = k.op.kind("mode") == Some(RoiMode::Max);
    let (batch, out) = (View::of(b, k.operand("batch_indices")), View::of(b, k.outs[0]));
    let (sizes, wide) = (out.sizes(), align.wide);
    b.each(lo, hi, |b, element| {
        let at = decode(b, element, &sizes);
        let image = b.index_cast(batch.load(b, batch.at(b, &[at[0]])), b.context().index_type());
        let plane = align.input.at(b, &[image, at[1], b.index(0), b.index(0)]);
        let rows = align.samples(b, at[0], 1, at[2], sizes[2]);
        let columns = align.samples(b, at[0], 0, at[3], sizes[3]);
        let init = if max { wide.lowest(b) } else { wide.constant(b, 0.0) };
        let total = b.folded(rows.count, &[init], |b, i, sum| {
            b.folded(columns.count, sum, |b, j, sum| {
                let y = b.addf(rows.start, b.mulf(rows.step, b.addf(wide.index_to(b, i), wide.constant(b, 0.5))));
                let x = b.addf(columns.start, b.mulf(columns.step, b.addf(wide.index_to(b, j), wide.constant(b, 0.5))));
                let parts = align.bilinear(b, plane, y, x);
                let combine = |b: Builder<'c>, x, y| if max { wide.max(b, x, y) } else { b.addf(x, y) };
                let sample = combine(b, combine(b, parts[0], parts[1]), combine(b, parts[2], parts[3]));
                vec![combine(b, sum[0], sample)]
            })
        })[0];
        let count = wide.index_to(b, b.maxsi(b.muli(rows.count, columns.count), b.index(1)));
        let value = if max { total } else { b.divf(total, count) };
        out.store(b, wide.convert(b, value, num, false), out.at(b, &at));
    });
    Ok(())
}

impl<'c> RoiAlign<'c> {
    fn samples(&self, b: Builder<'c>, roi: Val<'c>, field: i64, bin: Val<'c>, bins: Val<'c>) -> Samples<'c> {
        let wide = self.wide;
        let corner = |field: i64| {
            let value = self.rois.load(b, self.rois.at(b, &[roi, b.index(field)]));
            let scaled = b.mulf(self.num.convert(b, value, wide, false), wide.constant(b, self.scale));
            if self.half_pixel { b.subf(scaled, wide.constant(b, 0.5)) } else { scaled }
        };
        let (start, end) = (corner(field), corner(field + 2));
        let mut extent = b.subf(end, start);
        if !self.half_pixel {
            extent = b.binary("arith.maximumf", extent, wide.constant(b, 1.0));
        }
        let size = b.divf(extent, wide.index_to(b, bins));
        let count = if self.ratio > 0 { b.index(self.ratio) } else { b.to_index(b.unary("math.ceil", size)) };
        let step = b.divf(size, wide.index_to(b, b.maxsi(count, b.index(1))));
        Samples { start: b.addf(start, b.mulf(wide.index_to(b, bin), size)), step, count }
    }

    /// The four weighted neighbours of a point; zeros where it lies off the image.
    fn bilinear(&self, b: Builder<'c>, plane: Val<'c>, y: Val<'c>, x: Val<'c>) -> [Val<'c>; 4] {
        let (wide, zero) = (self.wide, self.wide.constant(b, 0.0));
        let one = wide.constant(b, 1.0);
        let mut outside = b.int(b.context().int_type(1), 0);
        let mut along = Vec::new();
        for (axis, at) in [(2, y), (3, x)] {
            let size = self.input.axes[axis].size;
            let last = b.maxsi(b.plus(size, -1), b.index(0));
            outside = b.or(outside, b.cmpf("olt", at, wide.constant(b, -1.0)));
            outside = b.or(outside, b.cmpf("ogt", at, wide.index_to(b, size)));
            let at = b.binary("arith.maximumf", at, zero);
            let low = b.minsi(b.to_index(at), last);
            let high = b.minsi(b.plus(low, 1), last);
            let at = b.select(b.cmpi("sge", low, last), wide.index_to(b, last), at);
            let fraction = b.subf(at, wide.index_to(b, low));
            along.push([(low, b.subf(one, fraction)), (high, fraction)]);
        }
        let stride = |axis: usize| self.input.axes[axis].stride;
        let part = |i: usize, j: usize| {
            let ((row, wy), (column, wx)) = (along[0][i], along[1][j]);
            let at = b.addi(plane, b.addi(b.muli(row, stride(2)), b.muli(column, stride(3))));
            let value = self.num.convert(b, self.input.load(b, at), wide, false);
            b.select(outside, zero, b.mulf(b.mulf(wy, wx), value))
        };
        [part(0, 0), part(0, 1), part(1, 0), part(1, 1)]
    }
}
