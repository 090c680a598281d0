//! `ait.norm`: mean, then variance about that mean, then the result: three vectorised loops a row. Two passes, since the difference of mean
//! squares cancels.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast::{elements, stretched_to, views},
    domain::{Domain, rescaled},
    reduce::reassociable,
    scalar::Num,
    view::{Axis, View, product},
};
use aitmlir_dialects::{
    ait::enums::NormKind,
    builder::Builder,
    types::{DYNAMIC, Val},
};

pub static ROW: KernelRow = KernelRow { op: "ait.norm", extent: elements, body };

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let kind = k.op.kind("kind").ok_or_else(|| Unsupported("has no kind".to_owned()))?;
    let mut all = vec![View::of(b, k.outs[0]), View::of(b, k.operand("input"))];
    let mut axis = k.op.i64("axis").and_then(|a| usize::try_from(a).ok()).unwrap_or(0);
    let params = views(b, &k.group("params"));
    let result = all[0].clone();
    if matches!(kind, NormKind::Layer | NormKind::Rms) {
        all.extend(params.iter().map(|p| stretched_to(b, p, &result)));
    } else {
        all.extend(params.iter().map(|p| by_channel(b, p, &result)));
        axis = 2;
        if kind == NormKind::Group {
            let groups = k.op.i64("groups").unwrap_or(1);
            all = all.into_iter().map(|v| grouped(b, v, groups)).collect();
        }
    }
    let statistics = Domain::new(b, vec![all[1].clone()], |i| i + 1 == axis);
    let domain = Domain::new(b, all, |i| i + 1 == axis);
    let kept = domain.groups_of(|i| i < axis);
    let kept_sizes: Vec<_> = kept.iter().map(|g| domain.sizes[*g]).collect();
    let (total, rows) = (product(b, &domain.sizes), product(b, &kept_sizes));
    let element = Num::of(k.tensor_type("input"));
    let norm = Norm {
        statistics: &statistics,
        domain: &domain,
        axis,
        element,
        params: k.op.group("params").iter().map(|p| Num::of(melior::ir::ValueLike::r#type(p))).collect(),
        wide: element.float(b),
        centred: kind != NormKind::Rms,
        epsilon: k.op.f64("epsilon").unwrap_or(0.0),
    };
    domain.range(b, &kept, rescaled(b, (lo, hi), total, rows), &mut |b, _, offsets| norm.row(b, offsets));
    Ok(())
}

/// Scale or bias [C] for [N, C, ...].
pub fn by_channel<'c>(b: Builder<'c>, param: &View<'c>, result: &View<'c>) -> View<'c> {
    let mut view = param.clone();
    let channels = Axis { size: result.axes[1].size, static_size: result.axes[1].static_size, ..param.axes[0] };
    view.axes = result.axes.iter().map(|a| Axis::stretched(b, a.size, a.static_size)).collect();
    view.axes[1] = channels;
    view
}

/// [N, C, ...] as [N, groups, C / groups, ...].
pub fn grouped<'c>(b: Builder<'c>, view: View<'c>, groups: i64) -> View<'c> {
    let channels = view.axes[1];
    let part = if channels.static_size == DYNAMIC { DYNAMIC } else { channels.static_size / groups };
    let size = b.divsi(channels.size, b.index(groups));
    let stride =
        if channels.static_stride == DYNAMIC || part == DYNAMIC { DYNAMIC } else { channels.static_stride * part };
    let outer = Axis {
        size: b.index(groups),
        static_size: groups,
        stride: b.muli(channels.stride, size),
        static_stride: if channels.static_stride == 0 { 0 } else { stride },
        chained: channels.static_stride != 0,
    };
    let mut axes = view.axes.clone();
    axes[1] = Axis { size, static_size: part, ..channels };
    axes.insert(1, outer);
    View { axes, ..view }
}

struct Norm<'a, 'c> {
    /// The input alone, whose axes merge further.
    statistics: &'a Domain<'c>,
    /// Result, input, scale and bias.
    domain: &'a Domain<'c>,
    /// The first axis that is normalised over.
    axis: usize,
    element: Num<'c>,
    params: Vec<Num<'c>>,
    wide: Num<'c>,
    centred: bool,
    epsilon: f64,
}

impl<'c> Norm<'_, 'c> {
    fn mean(&self, b: Builder<'c>, start: Val<'c>, code: &dyn Fn(Builder<'c>, Val<'c>) -> Val<'c>) -> Val<'c> {
        let groups = self.statistics.groups_of(|i| i >= self.axis);
        let sizes: Vec<_> = groups.iter().map(|g| self.statistics.sizes[*g]).collect();
        let zero = self.wide.constant(b, 0.0);
        let sum = self.statistics.fold(b, &groups, &[start], &[zero], &mut |b, at, acc| {
            let x = self.element.convert(b, self.statistics.views[0].load(b, at[0]), self.wide, false);
            vec![reassociable(b, self.wide, "add", acc[0], code(b, x))]
        })[0];
        b.divf(sum, self.wide.index_to(b, product(b, &sizes)))
    }

    fn row(&self, b: Builder<'c>, offsets: &[Val<'c>]) {
        let mean = self.centred.then(|| self.mean(b, offsets[1], &|_, x| x));
        let centre = |b: Builder<'c>, x: Val<'c>| mean.map_or(x, |mean| b.subf(x, mean));
        let variance = self.mean(b, offsets[1], &|b, x| {
            let x = centre(b, x);
            b.mulf(x, x)
        });
        let epsilon = self.wide.constant(b, self.epsilon);
        let deviation = b.unary("math.sqrt", b.addf(variance, epsilon));
        let factor = b.divf(self.wide.constant(b, 1.0), deviation);
        let groups = self.domain.groups_of(|i| i >= self.axis);
        self.domain.fold(b, &groups, offsets, &[], &mut |b, at, _| {
            let views = &self.domain.views;
            let x = self.element.convert(b, views[1].load(b, at[1]), self.wide, false);
            let param = |i: usize| {
                let (num, view) = (self.params.get(i)?, views.get(2 + i)?);
                Some(num.convert(b, view.load(b, at[2 + i]), self.wide, false))
            };
            let mut y = b.mulf(centre(b, x), factor);
            if let Some(scale) = param(0) {
                y = b.mulf(y, scale);
            }
            if let Some(bias) = param(1) {
                y = b.addf(y, bias);
            }
            views[0].store(b, self.wide.convert(b, y, self.element, false), at[0]);
            vec![]
        });
    }
}
