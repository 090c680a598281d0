//! `ait.norm`: mean, then variance about that mean, then the result: three passes over a row that a CTA keeps in its first-level cache.

use super::{
    Body, BodyRow, How, KernelRow, per_thread,
    rows::{Rows, grid_of_rows},
};
use crate::cpu::{
    Kernel, Unsupported,
    broadcast::{elements, stretched_to, views},
    domain::Domain,
    norm::{by_channel, grouped},
    scalar::Num,
    view::{View, product},
};
use aitmlir_dialects::{ait::enums::NormKind, builder::Builder, types::Val};

pub const ROW: KernelRow = KernelRow { op: "ait.norm", how: How::Body(BodyRow { extent_count: |_| 2, extents, body }) };

/// Rows, and elements.
fn extents<'c>(k: &Kernel<'c>) -> Vec<Val<'c>> {
    let (b, dims) = (k.b, k.b.dims(k.outs[0]));
    let rows = match k.op.kind("kind") {
        Some(NormKind::Layer | NormKind::Rms) => product(b, &dims[..axis(k).min(dims.len())]),
        Some(NormKind::Group) => b.muli(dims[0], b.index(k.op.i64("groups").unwrap_or(1))),
        _ => b.muli(dims[0], dims[1]),
    };
    vec![rows, elements(k)]
}

fn axis(k: &Kernel<'_>) -> usize {
    k.op.i64("axis").and_then(|a| usize::try_from(a).ok()).unwrap_or(0)
}

fn body<'c>(k: &Kernel<'c>, extents: &[Val<'c>]) -> Result<Body, Unsupported> {
    let b = k.b;
    let kind: NormKind = k.op.kind("kind").ok_or_else(|| Unsupported("has no kind".to_owned()))?;
    let mut all = vec![View::of(b, k.outs[0]), View::of(b, k.operand("input"))];
    let params = views(b, &k.group("params"));
    let result = all[0].clone();
    let mut first = axis(k);
    if matches!(kind, NormKind::Layer | NormKind::Rms) {
        all.extend(params.iter().map(|p| stretched_to(b, p, &result)));
    } else {
        all.extend(params.iter().map(|p| by_channel(b, p, &result)));
        first = 2;
        if kind == NormKind::Group {
            let groups = k.op.i64("groups").unwrap_or(1);
            all = all.into_iter().map(|v| grouped(b, v, groups)).collect();
        }
    }
    let domain = Domain::new(b, all, |i| i + 1 == first);
    let Some(rows) = Rows::new(k, &domain, &|i| i >= first) else {
        return per_thread::loops(k, extents[1], |extent| extent(1));
    };
    let element = Num::of(k.tensor_type("input"));
    let params: Vec<_> = k.op.group("params").iter().map(|p| Num::of(melior::ir::ValueLike::r#type(p))).collect();
    let wide = element.float(b);
    let load = |b: Builder<'c>, x: Val<'c>| element.convert(b, x, wide, false);
    let epsilon = k.op.f64("epsilon").unwrap_or(0.0);
    rows.each(b, |b, offsets| {
        let count = wide.index_to(b, rows.length(b));
        let mean_of = |b: Builder<'c>, code: &dyn Fn(Builder<'c>, Val<'c>) -> Val<'c>| {
            let zero = wide.constant(b, 0.0);
            let sum =
                rows.fold(b, offsets, 1, zero, &|b, acc, x| b.addf(acc, code(b, load(b, x))), &|b, x, y| b.addf(x, y));
            b.divf(sum, count)
        };
        let mean = (kind != NormKind::Rms).then(|| mean_of(b, &|_, x| x));
        let centre = |b: Builder<'c>, x: Val<'c>| mean.map_or(x, |mean| b.subf(x, mean));
        let variance = mean_of(b, &|b, x| {
            let x = centre(b, x);
            b.mulf(x, x)
        });
        let deviation = b.unary("math.sqrt", b.addf(variance, wide.constant(b, epsilon)));
        let factor = b.divf(wide.constant(b, 1.0), deviation);
        let reads: Vec<_> = (1..2 + params.len()).collect();
        rows.pass(b, offsets, &reads, &[0], &[], &|b: Builder<'c>, _, x, _| {
            let mut y = b.mulf(centre(b, load(b, x[0])), factor);
            let param = |i: usize| Some(params.get(i)?.convert(b, *x.get(1 + i)?, wide, false));
            if let Some(scale) = param(0) {
                y = b.mulf(y, scale);
            }
            if let Some(bias) = param(1) {
                y = b.addf(y, bias);
            }
            (vec![wide.convert(b, y, element, false)], vec![])
        });
    });
    Ok(Body::new([rows.threads, 1, 1], |extent| grid_of_rows(extent(0))))
}
