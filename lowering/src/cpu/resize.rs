//! `ait.resize`: separable. For each axis a table holds the taps (input coordinate and weight) of each output coordinate; a result is the sum over the taps
//! of all axes. The taps of the outer axes are first summed into one input row, which vectorises; the innermost axis then picks from that row.

use super::{
    Kernel, KernelRow, Unsupported, broadcast::elements, domain::Domain, ext::Ext, runtime::scratch, scalar::Num,
    view::View,
};
use aitmlir_dialects::{
    ait::enums::{CoordinateMode, NearestMode, ResizeMode},
    builder::Builder,
    types::{Types, Val},
};

pub static ROW: KernelRow = KernelRow { op: "ait.resize", extent: elements, body };

/// The taps of one axis: `taps` an output coordinate, at `coordinate * taps + tap`. An axis that nothing changes has one.
struct Table<'c> {
    taps: Val<'c>,
    /// i64 coordinates in the input; -1 says that the whole output coordinate is extrapolated.
    at: Val<'c>,
    weights: Val<'c>,
}

struct Resize<'c> {
    mode: ResizeMode,
    coordinate: CoordinateMode,
    nearest: NearestMode,
    cubic: f64,
    extrapolation: f64,
    exclude_outside: bool,
    antialias: bool,
    element: Num<'c>,
    wide: Num<'c>,
    input: View<'c>,
    out: View<'c>,
    scales: Vec<Val<'c>>,
    roi: Vec<Val<'c>>,
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let element = Num::of(k.tensor_type("input"));
    let resize = Resize {
        mode: k.op.kind("mode").unwrap_or(ResizeMode::Nearest),
        coordinate: k.op.kind("coordinate").unwrap_or(CoordinateMode::HalfPixel),
        nearest: k.op.kind("nearest").unwrap_or(NearestMode::RoundPreferFloor),
        cubic: k.op.f64("cubic_coeff").unwrap_or(-0.75),
        extrapolation: k.op.f64("extrapolation").unwrap_or(0.0),
        exclude_outside: k.op.has("exclude_outside"),
        antialias: k.op.has("antialias") && k.op.kind("mode") != Some(ResizeMode::Nearest),
        element,
        wide: element.float(b),
        input: View::of(b, k.operand("input")),
        out: View::of(b, k.outs[0]),
        scales: k.group("scales"),
        roi: k.group("roi"),
    };
    let rank = resize.out.axes.len();
    if rank == 0 {
        resize.out.store(b, resize.input.load(b, resize.input.offset), resize.out.offset);
        return Ok(());
    }
    let taps: Vec<_> = (0..rank).map(|i| resize.taps(b, i)).collect();
    let (i64, f) = (b.context().int_type(64), resize.wide.r#type);
    let mut arrays = Vec::new();
    for (axis, taps) in resize.out.axes.iter().zip(&taps) {
        let length = b.muli(axis.size, *taps);
        arrays.extend([(i64, length), (f, length)]);
    }
    arrays.push((f, resize.input.axes[rank - 1].size));
    let memory = scratch(k, &arrays);
    let tables: Vec<_> =
        (0..rank).map(|i| Table { taps: taps[i], at: memory[2 * i], weights: memory[2 * i + 1] }).collect();
    tables.iter().enumerate().for_each(|(i, table)| resize.fill(b, i, table));
    let domain = Domain::unmerged(vec![resize.out.clone()]);
    let groups: Vec<_> = (0..rank).collect();
    let line = memory[2 * rank];
    domain.rows(b, &groups, (lo, hi), &mut |b, outer, offsets, c0, c1| {
        let some = b.cmpi("slt", c0, c1);
        b.when(some, |b| resize.row(b, &tables, outer, line, offsets[0], (c0, c1)));
    });
    Ok(())
}

impl<'c> Resize<'c> {
    fn f64(&self, b: Builder<'c>, value: f64) -> Val<'c> {
        b.float(b.context().f64_type(), value)
    }

    fn float(&self, b: Builder<'c>, value: Val<'c>) -> Val<'c> {
        b.to_float(value, b.context().f64_type())
    }

    /// Is nothing done along axis i?
    fn untouched(&self, b: Builder<'c>, i: usize) -> Val<'c> {
        let same = b.cmpi("eq", self.input.axes[i].size, self.out.axes[i].size);
        let unit = b.cmpf("oeq", self.scales[i], self.f64(b, 1.0));
        let full = self.coordinate != CoordinateMode::TfCropAndResize;
        b.and(b.and(same, unit), b.int(b.context().int_type(1), i64::from(full)))
    }

    /// The widening of the filter: above 1 where an antialiased axis shrinks.
    fn widening(&self, b: Builder<'c>, i: usize) -> Val<'c> {
        let one = self.f64(b, 1.0);
        if self.antialias { b.binary("arith.maximumf", b.divf(one, self.scales[i]), one) } else { one }
    }

    fn taps(&self, b: Builder<'c>, i: usize) -> Val<'c> {
        let base = match self.mode {
            ResizeMode::Nearest => return b.index(1),
            ResizeMode::Linear => 1.0,
            ResizeMode::Cubic => 2.0,
        };
        let taps = if self.antialias {
            let support = b.mulf(self.widening(b, i), self.f64(b, 2.0 * base));
            b.plus(b.to_index(b.unary("math.ceil", support)), 2)
        } else {
            b.index(2 * base as i64)
        };
        b.select(self.untouched(b, i), b.index(1), taps)
    }

    /// The coordinate in the input of output coordinate `o`.
    fn source(&self, b: Builder<'c>, i: usize, o: Val<'c>) -> Val<'c> {
        let (half, one) = (self.f64(b, 0.5), self.f64(b, 1.0));
        let (x, scale) = (self.float(b, o), self.scales[i]);
        let n_in = self.float(b, self.input.axes[i].size);
        let n_out = self.float(b, self.out.axes[i].size);
        let half_pixel = |b: Builder<'c>| b.subf(b.divf(b.addf(x, half), scale), half);
        let single = b.cmpf("ole", n_out, one);
        match self.coordinate {
            CoordinateMode::HalfPixel => half_pixel(b),
            CoordinateMode::HalfPixelSymmetric => {
                let adjustment = b.divf(n_out, b.mulf(scale, n_in));
                let centre = b.divf(n_in, self.f64(b, 2.0));
                b.addf(b.mulf(centre, b.subf(one, adjustment)), half_pixel(b))
            }
            CoordinateMode::PytorchHalfPixel => b.select(single, self.f64(b, 0.0), half_pixel(b)),
            CoordinateMode::AlignCorners => {
                let last = b.select(single, one, b.subf(n_out, one));
                let at = b.divf(b.mulf(x, b.subf(n_in, one)), last);
                b.select(single, self.f64(b, 0.0), at)
            }
            CoordinateMode::Asymmetric => b.divf(x, scale),
            CoordinateMode::TfHalfPixelForNn => b.divf(b.addf(x, half), scale),
            CoordinateMode::TfCropAndResize => {
                let rank = self.out.axes.len();
                let (start, end) = match (self.roi.get(i), self.roi.get(rank + i)) {
                    (Some(start), Some(end)) => (*start, *end),
                    _ => (self.f64(b, 0.0), one),
                };
                let span = b.subf(n_in, one);
                let last = b.select(single, one, b.subf(n_out, one));
                let step = b.divf(b.mulf(b.subf(end, start), span), last);
                let many = b.addf(b.mulf(start, span), b.mulf(x, step));
                b.select(single, b.mulf(b.mulf(b.addf(start, end), half), span), many)
            }
        }
    }

    fn rounded(&self, b: Builder<'c>, x: Val<'c>) -> Val<'c> {
        let half = self.f64(b, 0.5);
        match self.nearest {
            NearestMode::RoundPreferFloor => b.unary("math.ceil", b.subf(x, half)),
            NearestMode::RoundPreferCeil => b.unary("math.floor", b.addf(x, half)),
            NearestMode::Floor => b.unary("math.floor", x),
            NearestMode::Ceil => b.unary("math.ceil", x),
        }
    }

    /// Writes the table of axis i.
    fn fill(&self, b: Builder<'c>, i: usize, table: &Table<'c>) {
        let untouched = self.untouched(b, i);
        let i64 = b.context().int_type(64);
        b.loop_(self.out.axes[i].size, |b, o| {
            let start = b.muli(o, table.taps);
            b.if_(
                untouched,
                &[],
                |b| {
                    b.store(b.index_cast(o, i64), table.at, &[start]);
                    b.store(self.wide.constant(b, 1.0), table.weights, &[start]);
                    vec![]
                },
                |b| {
                    self.fill_taps(b, i, o, start, table);
                    vec![]
                },
            );
        });
    }

    fn fill_taps(&self, b: Builder<'c>, i: usize, o: Val<'c>, start: Val<'c>, table: &Table<'c>) {
        let i64 = b.context().int_type(64);
        let x = self.source(b, i, o);
        let (zero, size) = (b.index(0), self.input.axes[i].size);
        let last = b.maxsi(b.plus(size, -1), zero);
        if self.mode == ResizeMode::Nearest {
            let at = b.clamp(b.to_index(self.rounded(b, x)), zero, last);
            b.store(b.index_cast(at, i64), table.at, &[start]);
            b.store(self.wide.constant(b, 1.0), table.weights, &[start]);
        } else {
            let stretch = self.widening(b, i);
            let support = self.f64(b, if self.mode == ResizeMode::Linear { 1.0 } else { 2.0 });
            // The first tap: the smallest integer above x - support.
            let edge = b.unary("math.floor", b.subf(x, b.mulf(support, stretch)));
            let first = b.plus(b.to_index(edge), 1);
            let outside = |b: Builder<'c>, at| b.cmpi("uge", at, size);
            let sum = b.folded(table.taps, &[self.f64(b, 0.0)], |b, t, sum| {
                let at = b.addi(first, t);
                let distance = b.unary("math.absf", b.divf(b.subf(self.float(b, at), x), stretch));
                let mut weight = self.weight(b, distance);
                if self.exclude_outside {
                    weight = b.select(outside(b, at), self.f64(b, 0.0), weight);
                }
                let place = b.addi(start, t);
                b.store(b.index_cast(b.clamp(at, zero, last), i64), table.at, &[place]);
                b.store(super::scalar::resize_float(b, weight, self.wide.r#type), table.weights, &[place]);
                vec![b.addf(sum[0], weight)]
            })[0];
            if self.antialias || self.exclude_outside {
                let sum = super::scalar::resize_float(b, sum, self.wide.r#type);
                b.loop_(table.taps, |b, t| {
                    let place = b.addi(start, t);
                    b.store(b.divf(b.load(table.weights, &[place]), sum), table.weights, &[place]);
                });
            }
        }
        if self.coordinate == CoordinateMode::TfCropAndResize {
            let below = b.cmpf("olt", x, self.f64(b, 0.0));
            let above = b.cmpf("ogt", x, self.float(b, last));
            b.when(b.or(below, above), |b| b.store(b.int(i64, -1), table.at, &[start]));
        }
    }

    /// The filter at a distance that is not negative.
    fn weight(&self, b: Builder<'c>, d: Val<'c>) -> Val<'c> {
        let f = |value| self.f64(b, value);
        if self.mode == ResizeMode::Linear {
            return b.binary("arith.maximumf", b.subf(f(1.0), d), f(0.0));
        }
        let a = self.cubic;
        let polynomial = |c: [f64; 4]| c[1..].iter().fold(f(c[0]), |sum, next| b.addf(b.mulf(sum, d), f(*next)));
        let near = polynomial([a + 2.0, -(a + 3.0), 0.0, 1.0]);
        let far = polynomial([a, -5.0 * a, 8.0 * a, -4.0 * a]);
        let tail = b.select(b.cmpf("olt", d, f(2.0)), far, f(0.0));
        b.select(b.cmpf("ole", d, f(1.0)), near, tail)
    }

    /// One row of the result.
    fn row(
        &self,
        b: Builder<'c>,
        tables: &[Table<'c>],
        outer: &[Val<'c>],
        line: Val<'c>,
        to: Val<'c>,
        (c0, c1): (Val<'c>, Val<'c>),
    ) {
        let last = outer.len();
        let (inner, out_axis) = (self.input.axes[last], self.out.axes[last]);
        let index = b.context().index_type();
        let negative = |b: Builder<'c>, at: Val<'c>| b.cmpi("slt", at, b.index(0));
        let tap = |b: Builder<'c>, i: usize, o: Val<'c>, t: Val<'c>| {
            let place = b.addi(b.muli(o, tables[i].taps), t);
            (b.index_cast(b.load(tables[i].at, &[place]), index), b.load(tables[i].weights, &[place]))
        };
        let zero = b.index(0);
        let extrapolated = (0..last).fold(b.int(b.context().int_type(1), 0), |any, i| {
            let first = tap(b, i, outer[i], zero).0;
            b.or(any, negative(b, first))
        });
        let put = |b: Builder<'c>, c: Val<'c>, value: Val<'c>| {
            self.out.store(b, value, b.addi(to, b.muli(c, out_axis.stride)));
        };
        let fill = self.element.constant(b, self.extrapolation);
        if self.mode == ResizeMode::Nearest {
            let from = (0..last).fold(self.input.offset, |from, i| {
                b.addi(from, b.muli(b.maxsi(tap(b, i, outer[i], zero).0, zero), self.input.axes[i].stride))
            });
            b.each(c0, c1, |b, c| {
                let at = tap(b, last, c, zero).0;
                let value = self.input.load(b, b.addi(from, b.muli(b.maxsi(at, zero), inner.stride)));
                put(b, c, b.select(b.or(extrapolated, negative(b, at)), fill, value));
            });
            return;
        }
        b.loop_(inner.size, |b, x| b.store(self.wide.constant(b, 0.0), line, &[x]));
        let start = (self.input.offset, self.wide.constant(b, 1.0));
        self.sum_lines(b, 0, outer, start, &tap, &|b, from, weight| {
            b.loop_(inner.size, |b, x| {
                let value = self.input.load(b, b.addi(from, b.muli(x, inner.stride)));
                let value = b.mulf(self.element.convert(b, value, self.wide, false), weight);
                b.store(b.addf(b.load(line, &[x]), value), line, &[x]);
            });
        });
        b.each(c0, c1, |b, c| {
            let first = tap(b, last, c, zero).0;
            let sum = b.folded(tables[last].taps, &[self.wide.constant(b, 0.0)], |b, t, sum| {
                let (at, weight) = tap(b, last, c, t);
                vec![b.addf(sum[0], b.mulf(b.load(line, &[b.maxsi(at, zero)]), weight))]
            })[0];
            let sum = if self.element.is_float() { sum } else { b.unary("math.roundeven", sum) };
            let value = self.wide.convert(b, sum, self.element, true);
            put(b, c, b.select(b.or(extrapolated, negative(b, first)), fill, value));
        });
    }

    /// Nested loops over the taps of the outer axes; `code` gets the start of an input row and its weight.
    fn sum_lines(
        &self,
        b: Builder<'c>,
        i: usize,
        outer: &[Val<'c>],
        (from, weight): (Val<'c>, Val<'c>),
        tap: &dyn Fn(Builder<'c>, usize, Val<'c>, Val<'c>) -> (Val<'c>, Val<'c>),
        code: &dyn Fn(Builder<'c>, Val<'c>, Val<'c>),
    ) {
        if i == outer.len() {
            return code(b, from, weight);
        }
        b.loop_(self.taps(b, i), |b, t| {
            let (at, own) = tap(b, i, outer[i], t);
            let at = b.maxsi(at, b.index(0));
            let next = (b.addi(from, b.muli(at, self.input.axes[i].stride)), b.mulf(weight, own));
            self.sum_lines(b, i + 1, outer, next, tap, code);
        });
    }
}
