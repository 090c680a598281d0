//! `ait.softmax`: maximum, sum of exponentials, quotient. Along a contiguous axis each of the three is one vectorised loop; along another
//! one they run over strips of columns. Narrow floats are computed in f32 and their exponentials computed twice rather than rounded.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast::elements,
    domain::{Domain, rescaled},
    reduce::reassociable,
    scalar::Num,
    strips::{Columns, strips},
    view::{View, product},
};
use aitmlir_dialects::{ait::enums::SoftmaxKind, builder::Builder, types::Val};

pub static ROW: KernelRow = KernelRow { op: "ait.softmax", extent: elements, body };

/// One slice along the axis: how its elements are read and written.
struct Softmax<'a, 'c> {
    domain: &'a Domain<'c>,
    axis: Vec<usize>,
    element: Num<'c>,
    wide: Num<'c>,
    logarithm: bool,
}

impl<'c> Softmax<'_, 'c> {
    fn load(&self, b: Builder<'c>, offsets: &[Val<'c>]) -> Val<'c> {
        self.element.convert(b, self.domain.views[1].load(b, offsets[1]), self.wide, false)
    }

    fn store(&self, b: Builder<'c>, value: Val<'c>, offsets: &[Val<'c>]) {
        self.domain.views[0].store(b, self.wide.convert(b, value, self.element, false), offsets[0]);
    }

    fn exponential(&self, b: Builder<'c>, x: Val<'c>, max: Val<'c>) -> Val<'c> {
        b.unary("math.exp", b.subf(x, max))
    }

    /// Are exponentials kept in the result between the loops?
    fn keeps(&self) -> bool {
        !self.logarithm && self.element == self.wide
    }

    /// What the last loop subtracts or multiplies with.
    fn scale(&self, b: Builder<'c>, sum: Val<'c>) -> Val<'c> {
        if self.logarithm { b.unary("math.log", sum) } else { b.divf(self.wide.constant(b, 1.0), sum) }
    }

    fn finish(&self, b: Builder<'c>, offsets: &[Val<'c>], max: Val<'c>, scale: Val<'c>) {
        let value = if self.logarithm {
            b.subf(b.subf(self.load(b, offsets), max), scale)
        } else if self.keeps() {
            b.mulf(self.domain.views[0].load(b, offsets[0]), scale)
        } else {
            b.mulf(self.exponential(b, self.load(b, offsets), max), scale)
        };
        self.store(b, value, offsets);
    }

    /// The next sum; keeps the exponential where that is exact.
    fn accumulate(&self, b: Builder<'c>, offsets: &[Val<'c>], max: Val<'c>, sum: Val<'c>) -> Val<'c> {
        let exponential = self.exponential(b, self.load(b, offsets), max);
        if self.keeps() {
            self.store(b, exponential, offsets);
        }
        reassociable(b, self.wide, "add", sum, exponential)
    }

    fn row(&self, b: Builder<'c>, offsets: &[Val<'c>]) {
        let start = self.wide.lowest(b);
        let max = self
            .domain
            .fold(b, &self.axis, offsets, &[start], &mut |b, at, acc| vec![self.wide.max(b, acc[0], self.load(b, at))])
            [0];
        let zero = self.wide.constant(b, 0.0);
        let sum = self
            .domain
            .fold(b, &self.axis, offsets, &[zero], &mut |b, at, acc| vec![self.accumulate(b, at, max, acc[0])])[0];
        let scale = self.scale(b, sum);
        self.domain.fold(b, &self.axis, offsets, &[], &mut |b, at, _| {
            self.finish(b, at, max, scale);
            vec![]
        });
    }

    fn strip(&self, b: Builder<'c>, offsets: &[Val<'c>], length: Val<'c>, maxima: Columns<'c>, sums: Columns<'c>) {
        let last = self.domain.groups.len() - 1;
        b.loop_(length, |b, j| {
            maxima.set(b, j, self.wide.lowest(b));
            sums.set(b, j, self.wide.constant(b, 0.0));
        });
        let along = |b: Builder<'c>, code: &dyn Fn(Builder<'c>, Val<'c>, &[Val<'c>])| {
            self.domain.fold(b, &self.axis, offsets, &[], &mut |b, at, _| {
                b.loop_(length, |b, j| code(b, j, &self.domain.step(b, last, j, at)));
                vec![]
            });
        };
        along(b, &|b, j, at| maxima.set(b, j, self.wide.max(b, maxima.get(b, j), self.load(b, at))));
        along(b, &|b, j, at| sums.set(b, j, self.accumulate(b, at, maxima.get(b, j), sums.get(b, j))));
        b.loop_(length, |b, j| sums.set(b, j, self.scale(b, sums.get(b, j))));
        along(b, &|b, j, at| self.finish(b, at, maxima.get(b, j), sums.get(b, j)));
    }
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let along = k.op.i64("axis").and_then(|a| usize::try_from(a).ok()).unwrap_or(0);
    let element = Num::of(k.tensor_type("input"));
    let views = vec![View::of(b, k.outs[0]), View::of(b, k.operand("input"))];
    let domain = Domain::new(b, views, |i| i == along || i + 1 == along);
    let kept = domain.groups_of(|i| i != along);
    let softmax = Softmax {
        domain: &domain,
        axis: domain.groups_of(|i| i == along),
        element,
        wide: element.float(b),
        logarithm: k.op.kind("kind") == Some(SoftmaxKind::LogSoftmax),
    };
    let sizes: Vec<_> = kept.iter().map(|g| domain.sizes[*g]).collect();
    let range = rescaled(b, (lo, hi), product(b, &domain.sizes), product(b, &sizes));
    let last = domain.groups.len().saturating_sub(1);
    if kept.last() == Some(&last) && !softmax.axis.is_empty() {
        let (maxima, sums) = (Columns::new(k, softmax.wide.r#type), Columns::new(k, softmax.wide.r#type));
        domain.rows(b, &kept, range, &mut |b, _, offsets, c0, c1| {
            strips(b, (c0, c1), |b, start, length| {
                softmax.strip(b, &domain.step(b, last, start, offsets), length, maxima, sums);
            });
        });
    } else {
        domain.range(b, &kept, range, &mut |b, _, offsets| softmax.row(b, offsets));
    }
    Ok(())
}
