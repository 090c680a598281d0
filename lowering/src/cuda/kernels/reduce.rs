//! `ait.reduce`: a CTA a result where rows are contiguous, a CTA 32 neighbouring results where columns are, a thread a result where axes are only known
//! at run time.

use super::{
    Body, BodyRow, How, KernelRow,
    columns::{Columns, THREADS, grid_of_columns},
    per_thread,
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
    if let Some(columns) = Columns::new(&domain, &reduced) {
        by_columns(k, how, &columns);
        return Ok(Body::new([THREADS, 1, 1], |extent| grid_of_columns(extent(0))));
    }
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

fn by_columns<'c>(k: &Kernel<'c>, how: Accumulation<'c>, columns: &Columns<'_, 'c>) {
    columns.each(k.b, |b, offsets, there| {
        let fold = |how: Accumulation<'c>, shift: Option<Val<'c>>| {
            let step = |b: Builder<'c>, acc: Val<'c>, x: Val<'c>| how.step(b, acc, x, shift);
            let combine = |b: Builder<'c>, x: Val<'c>, y: Val<'c>| how.merge(b, x, y);
            columns.fold((k, b), (offsets, there), 0, how.init(b), &step, &combine)
        };
        let shift = how.shifting().map(|max| how.shift(b, fold(max, None)));
        let sum = fold(how, shift);
        let value = how.finish(b, sum, columns.length(b), shift);
        let thread = super::threads::register(b, "tid.x");
        let first = b.cmpi("ult", thread, b.index(32));
        b.when(b.binary("arith.andi", first, there), |b| columns.domain.views[1].store(b, value, offsets[1]));
    });
}
