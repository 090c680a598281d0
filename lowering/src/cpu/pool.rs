//! `ait.pool`: one window after the other.
//!
//! The parallel range is batch x channels. For each output the range of taps that lie in the input is worked out once a dimension, so the loops over a
//! window have no bounds checks.

use super::{Kernel, KernelRow, Unsupported, scalar::Num};
use aitmlir_dialects::{
    ait::PoolKind,
    builder::Builder,
    types::{TypeExt, Types, Val},
};
use melior::ir::ValueLike;

pub static ROW: KernelRow = KernelRow { op: "ait.pool", extent, body };

fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    let out = k.outs[0];
    k.b.muli(k.b.dim(out, 0), k.b.dim(out, 1))
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let missing = || Unsupported("has no known kind".to_owned());
    let kind = k.op.kind::<PoolKind>("kind").ok_or_else(missing)?;
    let (input, out) = (k.operand("input"), k.outs[0]);
    let spatial = out.r#type().shape().len() - 2;
    let sizes: Vec<_> = (0..spatial).map(|d| k.b.dim(input, d + 2)).collect();
    let pool = Pool { k, kind, num: Num::of(k.tensor_type("input").element_type()), input, sizes };
    let channels = k.b.dim(input, 1);
    let outputs: Vec<_> = (0..spatial).map(|d| k.b.dim(out, d + 2)).collect();
    let one = k.b.index(1);
    k.b.for_(lo, hi, one, &[], |b, plane, _| {
        let (n, c) = (b.divsi(plane, channels), b.remsi(plane, channels));
        b.loops(&outputs, |b, at| pool.output(b, plane, &[n, c], at));
        vec![]
    });
    Ok(())
}

struct Pool<'k, 'c> {
    k: &'k Kernel<'c>,
    kind: PoolKind,
    num: Num<'c>,
    input: Val<'c>,
    /// The input's spatial dimensions.
    sizes: Vec<Val<'c>>,
}

/// The taps of one dimension that lie in the input: coordinates start + tap * dilation for taps in [first, last).
struct Taps<'c> {
    start: Val<'c>,
    first: Val<'c>,
    last: Val<'c>,
    /// The taps that an average with padding divides by.
    padded: Val<'c>,
}

impl<'c> Pool<'_, 'c> {
    fn attribute(&self, name: &str, d: usize) -> i64 {
        self.k.op.i64s(name).get(d).copied().unwrap_or(0)
    }

    fn taps(&self, b: Builder<'c>, d: usize, at: Val<'c>) -> Taps<'c> {
        let (kernel, dilation) = (b.index(self.attribute("kernel", d)), b.index(self.attribute("dilations", d)));
        let spatial = self.sizes.len();
        let (pad, pad_end) = (self.attribute("pads", d), self.attribute("pads", spatial + d));
        let start = b.subi(b.muli(at, b.index(self.attribute("strides", d))), b.index(pad));
        let zero = b.index(0);
        // ceil(x / dilation) of what is left, at least 0.
        let count = |x: Val<'c>| b.binary("arith.ceildivsi", b.maxsi(x, zero), dilation);
        let first = count(b.subi(zero, start));
        let last = b.minsi(kernel, count(b.subi(self.sizes[d], start)));
        let end = b.addi(self.sizes[d], b.index(pad_end));
        Taps { start, first, last, padded: b.minsi(kernel, count(b.subi(end, start))) }
    }

    fn output(&self, b: Builder<'c>, plane: Val<'c>, outer: &[Val<'c>], at: &[Val<'c>]) {
        let taps: Vec<_> = at.iter().enumerate().map(|(d, at)| self.taps(b, d, *at)).collect();
        let wide = if self.kind == PoolKind::Max { self.num } else { self.num.wide(b) };
        let mut state = vec![if self.kind == PoolKind::Max { wide.lowest(b) } else { wide.constant(b, 0.0) }];
        if self.k.outs.len() > 1 {
            state.push(b.index(0));
        }
        let state = self.window(b, plane, outer, &taps, &mut Vec::new(), wide, &state);
        let indices: Vec<_> = outer.iter().chain(at).copied().collect();
        let value = self.finish(b, wide, state[0], &taps);
        b.store(wide.convert(b, value, self.num, false), self.k.outs[0], &indices);
        if let Some(out) = self.k.outs.get(1) {
            b.store(b.index_cast(state[1], b.context().int_type(64)), *out, &indices);
        }
    }

    /// The loops over the taps of the dimensions that `at` does not fix yet.
    #[expect(clippy::too_many_arguments, reason = "a recursion over dimensions carries its whole state")]
    fn window(
        &self,
        b: Builder<'c>,
        plane: Val<'c>,
        outer: &[Val<'c>],
        taps: &[Taps<'c>],
        at: &mut Vec<Val<'c>>,
        wide: Num<'c>,
        state: &[Val<'c>],
    ) -> Vec<Val<'c>> {
        let d = at.len();
        let Some(tap) = taps.get(d) else {
            let indices: Vec<_> = outer.iter().chain(at.iter()).copied().collect();
            let x = self.num.convert(b, b.load(self.input, &indices), wide, false);
            return self.combine(b, plane, at, wide, state, x);
        };
        let dilation = b.index(self.attribute("dilations", d));
        let one = b.index(1);
        b.for_(tap.first, tap.last, one, state, |b, i, state| {
            at.push(b.addi(tap.start, b.muli(i, dilation)));
            let next = self.window(b, plane, outer, taps, at, wide, state);
            at.pop();
            next
        })
    }

    fn combine(
        &self,
        b: Builder<'c>,
        plane: Val<'c>,
        at: &[Val<'c>],
        wide: Num<'c>,
        state: &[Val<'c>],
        x: Val<'c>,
    ) -> Vec<Val<'c>> {
        match self.kind {
            PoolKind::Max if state.len() == 1 => vec![wide.max(b, state[0], x)],
            PoolKind::Max => {
                let better = wide.less(b, state[0], x);
                let place = self.place(b, plane, at);
                vec![b.select(better, x, state[0]), b.select(better, place, state[1])]
            }
            PoolKind::Average => vec![wide.add(b, state[0], x)],
            PoolKind::Lp => {
                let magnitude = wide.abs(b, x);
                vec![wide.add(b, state[0], self.power(b, wide, magnitude, self.p() as f64))]
            }
        }
    }

    fn p(&self) -> i64 {
        self.k.op.i64("p").unwrap_or(2)
    }

    /// x^exponent for x >= 0.
    fn power(&self, b: Builder<'c>, wide: Num<'c>, x: Val<'c>, exponent: f64) -> Val<'c> {
        if exponent == 1.0 {
            x
        } else if exponent == 2.0 {
            wide.mul(b, x, x)
        } else if exponent == 0.5 {
            b.unary("math.sqrt", x)
        } else {
            b.binary("math.powf", x, wide.constant(b, exponent))
        }
    }

    /// The flat index of an input element in [N, C, spatial...].
    fn place(&self, b: Builder<'c>, plane: Val<'c>, at: &[Val<'c>]) -> Val<'c> {
        let column_major = self.k.op.has("storage_order");
        let order: Vec<usize> =
            if column_major { (0..at.len()).rev().collect() } else { (0..at.len()).collect() };
        let volume = self.sizes.iter().fold(b.index(1), |product, size| b.muli(product, *size));
        let within = order.iter().fold(b.index(0), |sum, d| b.addi(b.muli(sum, self.sizes[*d]), at[*d]));
        b.addi(b.muli(plane, volume), within)
    }

    fn finish(&self, b: Builder<'c>, wide: Num<'c>, value: Val<'c>, taps: &[Taps<'c>]) -> Val<'c> {
        match self.kind {
            PoolKind::Max => value,
            PoolKind::Average => {
                let padded = self.k.op.has("count_include_pad");
                let counts = taps.iter().map(|t| if padded { t.padded } else { b.subi(t.last, t.first) });
                let count = counts.fold(b.index(1), |product, count| b.muli(product, count));
                wide.div(b, value, wide.from_index(b, count))
            }
            PoolKind::Lp => self.power(b, wide, value, 1.0 / self.p() as f64),
        }
    }
}
