//! `ait.grid_sample`: for each output point the coordinates are computed once and all channels sampled with them.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast::elements,
    domain::{decode, rescaled},
    ext::Ext,
    scalar::Num,
    view::{View, product},
};
use aitmlir_dialects::{
    ait::enums::{GridMode, GridPadding},
    builder::Builder,
    types::{Types, Val},
};

pub static ROW: KernelRow = KernelRow { op: "ait.grid_sample", extent: elements, body };

struct GridSample<'c> {
    mode: GridMode,
    padding: GridPadding,
    align_corners: bool,
    input: View<'c>,
    num: Num<'c>,
    wide: Num<'c>,
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let num = Num::of(k.tensor_type("input"));
    let sample = GridSample {
        mode: k.op.kind("mode").unwrap_or(GridMode::Linear),
        padding: k.op.kind("padding").unwrap_or(GridPadding::Zeros),
        align_corners: k.op.has("align_corners"),
        input: View::of(b, k.operand("input")),
        num,
        wide: num.float(b),
    };
    let (grid, out) = (View::of(b, k.operand("grid")), View::of(b, k.outs[0]));
    let grid_num = Num::of(k.tensor_type("grid"));
    let spatial = out.axes.len() - 2;
    let sizes: Vec<_> = out.sizes().into_iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, s)| s).collect();
    let (lo, hi) = rescaled(b, (lo, hi), out.elements(b), product(b, &sizes));
    b.each(lo, hi, |b, point| {
        let at = decode(b, point, &sizes);
        let taps: Vec<_> = (0..spatial)
            .map(|d| {
                // The grid's x is the innermost spatial axis.
                let mut place = at.clone();
                place.push(b.index((spatial - 1 - d) as i64));
                let value = grid.load(b, grid.at(b, &place));
                sample.taps(b, d, grid_num.convert(b, value, sample.wide, false))
            })
            .collect();
        b.loop_(out.axes[1].size, |b, channel| {
            let plane = [at[0], channel];
            let base = plane
                .iter()
                .zip(&sample.input.axes)
                .fold(sample.input.offset, |sum, (c, axis)| b.addi(sum, b.muli(*c, axis.stride)));
            let value = sample.interpolate(b, &taps, 0, base, b.int(b.context().int_type(1), 1));
            let mut to = vec![at[0], channel];
            to.extend_from_slice(&at[1..]);
            out.store(b, sample.wide.convert(b, value, num, false), out.at(b, &to));
        });
    });
    Ok(())
}

/// A neighbour along one axis: coordinate in the input, whether there is an element, weight.
type Tap<'c> = (Val<'c>, Val<'c>, Val<'c>);

impl<'c> GridSample<'c> {
    fn constant(&self, b: Builder<'c>, value: f64) -> Val<'c> {
        self.wide.constant(b, value)
    }

    /// The neighbours along spatial axis `d` of a normalised coordinate.
    fn taps(&self, b: Builder<'c>, d: usize, x: Val<'c>) -> Vec<Tap<'c>> {
        let size = self.input.axes[2 + d].size;
        let n = self.wide.index_to(b, size);
        let (half, one) = (self.constant(b, 0.5), self.constant(b, 1.0));
        let shifted = b.mulf(b.addf(x, one), half);
        let mut at =
            if self.align_corners { b.mulf(shifted, b.subf(n, one)) } else { b.subf(b.mulf(shifted, n), half) };
        let (low, high) = if self.align_corners {
            (self.constant(b, 0.0), b.subf(n, one))
        } else {
            (self.constant(b, -0.5), b.subf(n, half))
        };
        if self.mode == GridMode::Nearest {
            at = b.unary("math.roundeven", at);
        }
        at = match self.padding {
            GridPadding::Zeros => at,
            GridPadding::Border => {
                let edge = b.binary("arith.minimumf", at, b.subf(n, one));
                let edge = b.binary("arith.maximumf", edge, self.constant(b, 0.0));
                b.select(b.or(b.cmpf("olt", at, low), b.cmpf("ogt", at, high)), edge, at)
            }
            GridPadding::Reflection => self.reflected(b, at, low, high),
        };
        let floor = b.unary("math.floor", at);
        let fraction = b.subf(at, floor);
        let weights: Vec<(f64, Val<'c>)> = match self.mode {
            GridMode::Nearest => vec![(0.0, one)],
            GridMode::Linear => vec![(0.0, b.subf(one, fraction)), (1.0, fraction)],
            GridMode::Cubic => self.cubic(b, fraction),
        };
        let base = if self.mode == GridMode::Nearest { b.unary("math.roundeven", at) } else { floor };
        weights
            .into_iter()
            .map(|(step, weight)| {
                let mut place = b.addf(base, self.constant(b, step));
                if self.mode == GridMode::Cubic && self.padding == GridPadding::Reflection {
                    place = self.reflected(b, place, low, high);
                }
                let index = b.to_index(place);
                let inside = b.cmpi("ult", index, size);
                let clamped = b.clamp(index, b.index(0), b.maxsi(b.plus(size, -1), b.index(0)));
                let held = if self.padding == GridPadding::Zeros { inside } else { b.int(b.context().int_type(1), 1) };
                (clamped, held, weight)
            })
            .collect()
    }

    /// The coordinate folded back into [low, high] at its ends.
    fn reflected(&self, b: Builder<'c>, x: Val<'c>, low: Val<'c>, high: Val<'c>) -> Val<'c> {
        let span = b.subf(high, low);
        let zero = self.constant(b, 0.0);
        let distance = b.unary("math.absf", b.subf(x, low));
        let period = b.mulf(span, self.constant(b, 2.0));
        let turns = b.unary("math.floor", b.divf(distance, period));
        let rest = b.subf(distance, b.mulf(turns, period));
        let folded = b.binary("arith.minimumf", rest, b.subf(period, rest));
        let value = b.addf(low, folded);
        b.select(b.cmpf("ogt", span, zero), value, zero)
    }

    fn cubic(&self, b: Builder<'c>, t: Val<'c>) -> Vec<(f64, Val<'c>)> {
        let a = -0.75;
        let one = self.constant(b, 1.0);
        let polynomial = |x: Val<'c>, c: [f64; 4]| {
            c[1..].iter().fold(self.constant(b, c[0]), |sum, next| b.addf(b.mulf(sum, x), self.constant(b, *next)))
        };
        let far = [a, -5.0 * a, 8.0 * a, -4.0 * a];
        let near = [a + 2.0, -(a + 3.0), 0.0, 1.0];
        let rest = b.subf(one, t);
        vec![
            (-1.0, polynomial(b.addf(t, one), far)),
            (0.0, polynomial(t, near)),
            (1.0, polynomial(rest, near)),
            (2.0, polynomial(b.addf(rest, one), far)),
        ]
    }

    /// The weighted sum over the neighbours along the axes from `d` on.
    fn interpolate(&self, b: Builder<'c>, taps: &[Vec<Tap<'c>>], d: usize, base: Val<'c>, held: Val<'c>) -> Val<'c> {
        let zero = self.constant(b, 0.0);
        let Some(axis) = taps.get(d) else {
            let value = self.num.convert(b, self.input.load(b, base), self.wide, false);
            return b.select(held, value, zero);
        };
        axis.iter().fold(zero, |sum, (at, inside, weight)| {
            let next = b.addi(base, b.muli(*at, self.input.axes[2 + d].stride));
            let value = self.interpolate(b, taps, d + 1, next, b.and(held, *inside));
            // A weight of 0 hides no NaN of a neighbour that is not there: such neighbours read as 0.
            b.addf(sum, b.mulf(value, *weight))
        })
    }
}
