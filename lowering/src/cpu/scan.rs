//! `ait.scan`: the axis is a run-time value, so every axis is walked but the one with a size of 1 in the walk.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast::elements,
    domain::{decode, rescaled},
    ext::Ext,
    runtime::checked_index,
    scalar::Num,
    view::{View, product},
};
use aitmlir_dialects::{ait::enums::ScanKind, builder::Builder, types::Val};

pub static ROW: KernelRow = KernelRow { op: "ait.scan", extent: elements, body };

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let num = Num::of(k.result_type(0));
    let acc = num.wide(b);
    let product_of = k.op.kind("kind") == Some(ScanKind::Prod);
    let (exclusive, reverse) = (k.op.has("exclusive"), k.op.has("reverse"));
    let (input, out) = (View::of(b, k.operand("input")), View::of(b, k.outs[0]));
    let rank = input.axes.len();
    let axis = checked_index(k, b, k.operand("axis"), b.index(rank as i64));
    let (one, zero) = (b.index(1), b.index(0));
    let pick = |values: &dyn Fn(usize) -> Val<'c>| {
        (0..rank).fold(zero, |found, i| b.select(b.cmpi("eq", axis, b.index(i as i64)), values(i), found))
    };
    let length = pick(&|i| input.axes[i].size);
    let (from, to) = (pick(&|i| input.axes[i].stride), pick(&|i| out.axes[i].stride));
    let sizes: Vec<_> =
        (0..rank).map(|i| b.select(b.cmpi("eq", axis, b.index(i as i64)), one, input.axes[i].size)).collect();
    let (lo, hi) = rescaled(b, (lo, hi), input.elements(b), product(b, &sizes));
    let combine = |b: Builder<'c>, x, y| if product_of { acc.mul(b, x, y) } else { acc.add(b, x, y) };
    b.each(lo, hi, |b, slice| {
        let coordinates = decode(b, slice, &sizes);
        let (input_at, out_at) = (input.at(b, &coordinates), out.at(b, &coordinates));
        let start = acc.constant(b, f64::from(u8::from(product_of)));
        b.folded(length, &[start], |b, i, carried| {
            let i = if reverse { b.subi(b.subi(length, one), i) } else { i };
            let x = num.convert(b, input.load(b, b.addi(input_at, b.muli(i, from))), acc, false);
            let next = combine(b, carried[0], x);
            let value = acc.convert(b, if exclusive { carried[0] } else { next }, num, false);
            out.store(b, value, b.addi(out_at, b.muli(i, to)));
            vec![next]
        });
    });
    Ok(())
}
