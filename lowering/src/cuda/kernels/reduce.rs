//! `ait.reduce`: a CTA a result where rows are contiguous, a thread a result else (then neighbouring threads read neighbouring columns) and where
//! axes are only known at run time.

use super::{
    Body, BodyRow, How, KernelRow, per_thread,
    rows::{Rows, grid_of_rows},
};
use crate::cpu::{
    Kernel, Unsupported,
    broadcast::elements,
    domain::Domain,
    reduce::{Accumulation, with_reduced_axes},
    scalar::Num,
    view::View,
};
use aitmlir_dialects::{builder::Builder, types::Val};

pub const ROW: KernelRow = KernelRow {
    op: "ait.reduce",
    how: How::Body(BodyRow { extent_count: |_| 1, extents: |k| vec![elements(k)], body }),
};

fn body<'c>(k: &Kernel<'c>, extents: &[Val<'c>]) -> Result<Body, Unsupported> {
    let b = k.b;
    let by_thread = || per_thread::loops(k, extents[0], |extent| extent(0));
    if !k.group("dynamic_axes").is_empty() {
        return by_thread();
    }
    let kind = k.op.kind("kind").ok_or_else(|| Unsupported("has no kind".to_owned()))?;
    let how = Accumulation::new(b, kind, Num::of(k.tensor_type("input")), Num::of(k.result_type(0)));
    let (input, out) = (View::of(b, k.operand("input")), View::of(b, k.outs[0]));
    let axes = k.op.i64s("axes");
    let reduced = move |i: usize| axes.contains(&(i as i64));
    let out = with_reduced_axes(b, &input, out, &reduced, k.op.has("keepdims"));
    let domain = Domain::new(b, vec![input, out], |i| reduced(i) != reduced(i + 1));
    let Some(rows) = Rows::new(k, &domain, &reduced) else { return by_thread() };
    rows.each(b, |b, offsets| {
        let fold = |b: Builder<'c>, how: Accumulation<'c>, shift: Option<Val<'c>>| {
            let init = how.init(b);
            rows.fold(b, offsets, 0, init, &|b, acc, x| how.step(b, acc, x, shift), &|b, x, y| how.merge(b, x, y))
        };
        let shift = how.shifting().map(|max| how.shift(b, fold(b, max, None)));
        let sum = fold(b, how, shift);
        let value = how.finish(b, sum, rows.length(b), shift);
        let thread = super::threads::register(b, "tid.x");
        b.when(b.cmpi("eq", thread, b.index(0)), |b| domain.views[1].store(b, value, offsets[1]));
    });
    Ok(Body::new([rows.threads, 1, 1], |extent| grid_of_rows(extent(0))))
}
