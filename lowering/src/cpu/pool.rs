//! `ait.pool`: a vector of neighbouring windows at a time; with indices, one window at a time.
//!
//! The parallel range is the channels of all images.

use super::{
    Kernel, KernelRow, Unsupported,
    conv::{
        geometry::{Geometry, Triple, spatial_strides, triple},
        image::{Access, Row},
    },
    domain::decode,
    flat::Flat,
    product::{both, either},
    scalar::Num,
    scratch::scratch,
    tiling::Tiling,
    vector::VectorOps,
};
use aitmlir_dialects::{
    ait::PoolKind,
    builder::Builder,
    types::{TypeExt, Types, Val, vector_type},
};
use melior::ir::ValueLike;

pub static ROW: KernelRow = KernelRow { op: "ait.pool", extent, body };

fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    k.b.muli(k.b.dim(k.outs[0], 0), k.b.dim(k.outs[0], 1))
}

struct Pool<'c> {
    kind: PoolKind,
    kernel: Triple<i64>,
    pads_end: Triple<i64>,
    include_pad: bool,
    power: i64,
    geometry: Geometry<'c>,
    input: Flat<'c>,
    strides: Triple<Val<'c>>,
    /// How elements are read, and what sums are made in.
    num: Num<'c>,
    acc: Num<'c>,
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let pool = Pool::new(k);
    if k.outs.len() > 1 {
        pool.with_indices(k, [lo, hi])
    } else {
        pool.plain(k, [lo, hi])
    }
    Ok(())
}

/// Element `i` of the result (of both, where there are indices): the code of a thread where each has one.
pub fn element<'c>(k: &Kernel<'c>, i: Val<'c>) {
    let (b, pool) = (k.b, Pool::new(k));
    let coordinates = decode(b, i, &b.dims(k.outs[0]));
    let (at, spatial) = coordinates.split_at(2);
    let out = triple(spatial, b.index(0));
    let from = pool.input.at(b, at);
    let store = |value: Val<'c>, which: usize| {
        let flat = Flat::new(b, k.outs[which], k.result_type(which));
        b.store(value, flat.data, &[flat.at(b, &coordinates)]);
    };
    if k.outs.len() > 1 {
        let best = pool.best(b, from, out, k.op.has("storage_order"));
        let channel = b.addi(b.muli(at[0], b.dim(k.outs[0], 1)), at[1]);
        let index = b.addi(b.muli(channel, super::conv::geometry::volume(b, pool.geometry.input)), best[1]);
        store(best[0], 0);
        store(b.index_cast(index, k.outs[1].r#type().element_type()), 1);
        return;
    }
    let start = match pool.kind {
        PoolKind::Max => pool.num.lowest(b),
        _ => pool.acc.constant(b, 0.0),
    };
    let g = &pool.geometry;
    let (zero, one) = (b.index(0), b.index(1));
    let sum = b.for_(zero, super::conv::geometry::volume(b, g.kernel), one, &[start], |b, tap, sum| {
        let taps = decode(b, tap, &g.kernel);
        let place: Vec<_> = (0..3).map(|d| pool.coordinate(b, d, out[d], taps[d])).collect();
        let inside = (0..3).map(|d| b.cmpi("ult", place[d], g.input[d])).reduce(|x, y| both(b, x, y));
        let inside = inside.unwrap_or_else(|| b.int(b.context().int_type(1), 1));
        b.if_(
            inside,
            &[pool.acc.r#type],
            |b| {
                let at = (0..3).fold(from, |sum, d| b.addi(sum, b.muli(place[d], pool.strides[d])));
                vec![pool.combine(b, sum[0], b.load(pool.input.data, &[at]))]
            },
            |_| sum.to_vec(),
        )
    });
    store(pool.finish(b, sum[0], out), 0);
}

impl<'c> Pool<'c> {
    fn new(k: &Kernel<'c>) -> Self {
        let b = k.b;
        let kernel = k.op.i64s("kernel");
        let spatial = kernel.len();
        let sizes: Vec<_> = kernel.iter().map(|n| b.index(*n)).collect();
        let input = Flat::new(b, k.operand("input"), k.tensor_type("input"));
        let num = Num::of(k.tensor_type("input"));
        let kind = k.op.kind("kind").unwrap_or(PoolKind::Max);
        Self {
            kind,
            kernel: super::conv::geometry::triple(&kernel, 1),
            pads_end: super::conv::geometry::triple(&k.op.i64s("pads")[spatial..], 0),
            include_pad: k.op.has("count_include_pad"),
            power: k.op.i64("p").unwrap_or(2),
            geometry: Geometry::new(k, &sizes),
            strides: spatial_strides(b, &input),
            input,
            num,
            acc: if kind == PoolKind::Max { num } else { num.wide(b) },
        }
    }
}

impl<'c> Pool<'c> {
    fn plain(&self, k: &Kernel<'c>, [lo, hi]: [Val<'c>; 2]) {
        let (b, g) = (k.b, &self.geometry);
        let lanes = Tiling::host().lanes(self.acc.r#type.accumulator());
        let [depth, height, width] = g.output;
        let (data, starts) = scratch(k, self.acc.r#type, &[b.plus(width, lanes)]);
        let out = Flat::new(b, k.outs[0], k.result_type(0));
        let out_strides = spatial_strides(b, &out);
        let channels = b.dim(k.outs[0], 1);
        let access = Access::of(self.input.is_unit(self.input.strides.len() - 1), g.strides[2], false);
        let zero = b.index(0);
        b.for_(lo, hi, b.index(1), &[], |b, unit, _| {
            let at = [b.divsi(unit, channels), b.remsi(unit, channels)];
            let (from, to) = (self.input.at(b, &at), out.at(b, &at));
            b.loops(&[depth, height], |b, ivs| {
                b.for_(zero, width, b.index(lanes), &[], |b, pixel, _| {
                    let value = self.window(b, from, [ivs[0], ivs[1]], pixel, access, lanes);
                    b.vstore(value, data, b.addi(starts[0], pixel));
                    vec![]
                });
                let to = b.addi(to, b.addi(b.muli(ivs[0], out_strides[0]), b.muli(ivs[1], out_strides[1])));
                b.loop_(width, |b, pixel| {
                    let value = b.load(data, &[b.addi(starts[0], pixel)]);
                    let value = self.finish(b, value, [ivs[0], ivs[1], pixel]);
                    b.store(value, out.data, &[b.addi(to, b.muli(pixel, out_strides[2]))]);
                });
            });
            vec![]
        });
    }

    fn coordinate(&self, b: Builder<'c>, dim: usize, out: Val<'c>, tap: Val<'c>) -> Val<'c> {
        let g = &self.geometry;
        b.plus(b.addi(b.times(out, g.strides[dim]), b.times(tap, g.dilations[dim])), -g.pads[dim])
    }

    /// The combined elements of a vector of windows.
    fn window(
        &self,
        b: Builder<'c>,
        from: Val<'c>,
        [d, h]: [Val<'c>; 2],
        pixel: Val<'c>,
        access: Access,
        lanes: i64,
    ) -> Val<'c> {
        let g = &self.geometry;
        let (zero, one) = (b.index(0), b.index(1));
        let vector = vector_type(lanes, self.acc.r#type);
        let (start, outside) = match self.kind {
            PoolKind::Max => (b.splat(self.num.lowest(b), lanes), b.splat(self.num.lowest(b), lanes)),
            _ => (b.fill(vector, 0.0), b.fill(vector_type(lanes, self.num.r#type), 0.0)),
        };
        b.for_(zero, g.kernel[0], one, &[start], |b, kd, sum| {
            let depth = self.coordinate(b, 0, d, kd);
            b.for_(zero, g.kernel[1], one, sum, |b, kh, sum| {
                let height = self.coordinate(b, 1, h, kh);
                let inside = both(b, b.cmpi("ult", depth, g.input[0]), b.cmpi("ult", height, g.input[1]));
                let base = b.addi(b.muli(depth, self.strides[0]), b.muli(height, self.strides[1]));
                let row = Row {
                    source: self.input.data,
                    base: b.addi(from, base),
                    stride: self.strides[2],
                    step: b.index(g.strides[2]),
                    limit: g.input[2],
                    lanes,
                };
                let taps = |b: Builder<'c>| {
                    b.for_(zero, g.kernel[2], one, sum, |b, kw, sum| {
                        let first = self.coordinate(b, 2, pixel, kw);
                        let value = row.vector_or(b, access, first, outside);
                        vec![self.combine(b, sum[0], value)]
                    })
                };
                b.if_(inside, &[vector], taps, |_| sum.to_vec())
            })
        })[0]
    }

    fn combine(&self, b: Builder<'c>, sum: Val<'c>, value: Val<'c>) -> Val<'c> {
        if self.kind == PoolKind::Max {
            return self.num.max(b, sum, value);
        }
        let value = b.convert(value, self.input.unsigned, self.acc.r#type);
        match self.kind {
            PoolKind::Lp => {
                let size = if self.power % 2 == 0 { value } else { self.acc.abs(b, value) };
                let power = (1..self.power).fold(size, |product, _| b.multiply(product, size));
                self.acc.add(b, sum, power)
            }
            _ => self.acc.add(b, sum, value),
        }
    }

    fn finish(&self, b: Builder<'c>, value: Val<'c>, at: Triple<Val<'c>>) -> Val<'c> {
        let result = match self.kind {
            PoolKind::Max => value,
            PoolKind::Average => {
                let count = (0..3).map(|d| self.count(b, d, at[d])).reduce(|x, y| b.muli(x, y));
                let count = b.index_cast(count.unwrap_or_else(|| b.index(1)), b.context().int_type(32));
                self.acc.div(b, value, b.convert(count, false, self.acc.r#type))
            }
            PoolKind::Lp if !self.acc.is_float() || self.power == 1 => value,
            PoolKind::Lp if self.power == 2 => b.unary("math.sqrt", value),
            PoolKind::Lp => b.binary("math.powf", value, b.float(self.acc.r#type, 1.0 / self.power as f64)),
        };
        b.convert(result, self.input.unsigned, self.num.r#type)
    }

    /// How many taps of the window at `out` count in a dimension.
    fn count(&self, b: Builder<'c>, dim: usize, out: Val<'c>) -> Val<'c> {
        let g = &self.geometry;
        let zero = b.index(0);
        let start = b.plus(b.times(out, g.strides[dim]), -g.pads[dim]);
        let (first, end) = if self.include_pad {
            (b.index(-g.pads[dim]), b.plus(g.input[dim], self.pads_end[dim]))
        } else {
            (zero, g.input[dim])
        };
        let taps = |to: Val<'c>| {
            let steps = b.ceil_div(b.maxsi(b.subi(to, start), zero), b.index(g.dilations[dim]));
            b.minsi(steps, b.index(self.kernel[dim]))
        };
        b.maxsi(b.subi(taps(end), taps(first)), b.index(if self.kernel[dim] > 0 { 0 } else { 1 }))
    }

    fn with_indices(&self, k: &Kernel<'c>, [lo, hi]: [Val<'c>; 2]) {
        let (b, g) = (k.b, &self.geometry);
        let column_major = k.op.has("storage_order");
        let values = Flat::new(b, k.outs[0], k.result_type(0));
        let indices = Flat::new(b, k.outs[1], k.result_type(1));
        let (value_strides, index_strides) = (spatial_strides(b, &values), spatial_strides(b, &indices));
        let channels = b.dim(k.outs[0], 1);
        let plane = super::conv::geometry::volume(b, g.input);
        b.for_(lo, hi, b.index(1), &[], |b, unit, _| {
            let at = [b.divsi(unit, channels), b.remsi(unit, channels)];
            let from = self.input.at(b, &at);
            let origin = b.muli(unit, plane);
            b.loops(&g.output, |b, out| {
                let best = self.best(b, from, [out[0], out[1], out[2]], column_major);
                let place = |b: Builder<'c>, flat: &Flat<'c>, strides: &Triple<Val<'c>>| {
                    (0..3).fold(flat.at(b, &at), |sum, d| b.addi(sum, b.muli(out[d], strides[d])))
                };
                b.store(best[0], values.data, &[place(b, &values, &value_strides)]);
                let index = b.index_cast(b.addi(origin, best[1]), indices.element());
                b.store(index, indices.data, &[place(b, &indices, &index_strides)]);
            });
            vec![]
        });
    }

    /// The largest element of a window and its place in the channel.
    fn best(&self, b: Builder<'c>, from: Val<'c>, out: Triple<Val<'c>>, column_major: bool) -> Vec<Val<'c>> {
        let g = &self.geometry;
        let (zero, one) = (b.index(0), b.index(1));
        let types = [self.num.r#type, b.context().index_type()];
        let start = [self.num.lowest(b), b.index(-1)];
        let result = b.for_(zero, g.kernel[0], one, &start, |b, kd, best| {
            b.for_(zero, g.kernel[1], one, best, |b, kh, best| {
                b.for_(zero, g.kernel[2], one, best, |b, kw, best| {
                    let tap = [kd, kh, kw];
                    let at: Vec<_> = (0..3).map(|d| self.coordinate(b, d, out[d], tap[d])).collect();
                    let inside = (0..3).map(|d| b.cmpi("ult", at[d], g.input[d])).reduce(|x, y| both(b, x, y));
                    let inside = inside.unwrap_or_else(|| b.int(b.context().int_type(1), 1));
                    let take = |b: Builder<'c>| {
                        let place = (0..3).fold(from, |sum, d| b.addi(sum, b.muli(at[d], self.strides[d])));
                        let value = b.load(self.input.data, &[place]);
                        let mut better = either(b, self.num.less(b, best[0], value), b.cmpi("slt", best[1], zero));
                        if self.num.is_float() {
                            better = either(b, better, b.cmpf("uno", value, value));
                        }
                        let index = if column_major {
                            b.addi(b.muli(b.addi(b.muli(at[2], g.input[1]), at[1]), g.input[0]), at[0])
                        } else {
                            b.addi(b.muli(b.addi(b.muli(at[0], g.input[1]), at[1]), g.input[2]), at[2])
                        };
                        vec![b.select(better, value, best[0]), b.select(better, index, best[1])]
                    };
                    b.if_(inside, &types, take, |_| best.to_vec())
                })
            })
        });
        vec![result[0], b.maxsi(result[1], zero)]
    }
}
