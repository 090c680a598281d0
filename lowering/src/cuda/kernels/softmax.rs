//! `ait.softmax`: three passes over a row that a CTA keeps in its first-level cache. Exponentials of f32 are `ex2.approx` of the scaled difference to the
//! maximum: their relative error is at most 2^-22 plus 2^-24 times that difference.

use super::{
    Body, BodyRow, How, KernelRow, per_thread,
    rows::{Rows, grid_of_rows},
};
use crate::cpu::{Kernel, Unsupported, broadcast::elements, domain::Domain, scalar::Num, view::View, view::product};
use crate::cuda::emit::scalar::ScalarOps;
use aitmlir_dialects::{
    ait::enums::SoftmaxKind,
    builder::Builder,
    types::{TypeExt, Val},
};

pub const ROW: KernelRow =
    KernelRow { op: "ait.softmax", how: How::Body(BodyRow { extent_count: |_| 2, extents, body }) };

fn axis(k: &Kernel<'_>) -> usize {
    k.op.i64("axis").and_then(|a| usize::try_from(a).ok()).unwrap_or(0)
}

/// Rows, and elements.
fn extents<'c>(k: &Kernel<'c>) -> Vec<Val<'c>> {
    let mut dims = k.b.dims(k.outs[0]);
    dims.remove(axis(k));
    vec![product(k.b, &dims), elements(k)]
}

fn body<'c>(k: &Kernel<'c>, extents: &[Val<'c>]) -> Result<Body, Unsupported> {
    let (b, along) = (k.b, axis(k));
    let views = vec![View::of(b, k.outs[0]), View::of(b, k.operand("input"))];
    let domain = Domain::new(b, views, |i| i == along || i + 1 == along);
    let Some(rows) = Rows::new(k, &domain, &|i| i == along) else {
        return per_thread::loops(k, extents[1], |extent| extent(1));
    };
    let element = Num::of(k.tensor_type("input"));
    let wide = element.float(b);
    let logarithm = k.op.kind("kind") == Some(SoftmaxKind::LogSoftmax);
    let load = |b: Builder<'c>, x: Val<'c>| element.convert(b, x, wide, false);
    rows.each(b, |b, offsets| {
        let max = rows.fold(b, offsets, 1, wide.lowest(b), &|b, acc, x| wide.max(b, acc, load(b, x)), &|b, x, y| {
            wide.max(b, x, y)
        });
        let sum = rows.fold(
            b,
            offsets,
            1,
            wide.constant(b, 0.0),
            &|b, acc, x| b.addf(acc, exponential(b, b.subf(load(b, x), max))),
            &|b, x, y| b.addf(x, y),
        );
        let scale = if logarithm { b.unary("math.log", sum) } else { b.divf(wide.constant(b, 1.0), sum) };
        rows.pass(b, offsets, &[1], &[0], &[], &|b: Builder<'c>, _, x, _| {
            let shifted = b.subf(load(b, x[0]), max);
            let value = if logarithm { b.subf(shifted, scale) } else { b.mulf(exponential(b, shifted), scale) };
            (vec![wide.convert(b, value, element, false)], vec![])
        });
    });
    Ok(Body::new([rows.threads, 1, 1], |extent| grid_of_rows(extent(0))))
}

/// e^x
fn exponential<'c>(b: Builder<'c>, x: Val<'c>) -> Val<'c> {
    let r#type = melior::ir::ValueLike::r#type(&x);
    if r#type.bits() != 32 {
        return b.unary("math.exp", x);
    }
    let scaled = b.mulf(x, b.float(r#type, std::f64::consts::LOG2_E));
    b.approximate("ex2.approx.ftz.f32", scaled)
}
