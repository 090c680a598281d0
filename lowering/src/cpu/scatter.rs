//! `ait.scatter`: a copy of the data, then the updates in order, on one thread.

use super::{
    Kernel, KernelRow, Unsupported,
    copy::copy,
    ext::{Ext, number, single},
    gather::{Address, nd, of_elements},
    scalar::Num,
    view::View,
};
use aitmlir_dialects::{
    ait::enums::{ScatterKind, ScatterReduction},
    builder::Builder,
    types::Val,
};

pub static ROW: KernelRow = KernelRow { op: "ait.scatter", extent: single, body };

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let address: fn(&Kernel<'c>, Builder<'c>, View<'c>, View<'c>, &View<'c>) -> Address<'c> = match k.op.kind("kind") {
        Some(ScatterKind::Elements) => {
            |k, b, out, indices, updates| of_elements(b, out, indices, updates, number(k, "axis"))
        }
        Some(ScatterKind::Nd) => |_, b, out, indices, updates| nd(b, out, indices, updates, 0),
        None => return Err(Unsupported("has no kind".to_owned())),
    };
    let reduction = k.op.kind("reduction").unwrap_or(ScatterReduction::None);
    let num = Num::of(k.result_type(0));
    k.b.each(lo, hi, |b, _| {
        let view = |buffer| View::of(b, buffer);
        let (out, updates) = (view(k.outs[0]), view(k.operand("updates")));
        let zero = b.index(0);
        copy(b, out.clone(), view(k.operand("input")), (zero, out.elements(b)));
        let count = updates.elements(b);
        address(k, b, out, view(k.operand("indices")), &updates).walk(
            &k.at(b),
            updates,
            (zero, count),
            &|b, updates, from, data, to| {
                let new = updates.load(b, from);
                let value = match reduction {
                    ScatterReduction::None => new,
                    _ => combine(b, num, reduction, data.load(b, to), new),
                };
                data.store(b, value, to);
            },
        );
    });
    Ok(())
}

fn combine<'c>(b: Builder<'c>, num: Num<'c>, how: ScatterReduction, old: Val<'c>, new: Val<'c>) -> Val<'c> {
    let wide = if num.is_float() { num.wide(b) } else { num };
    let (old, new) = (num.convert(b, old, wide, false), num.convert(b, new, wide, false));
    let value = match how {
        ScatterReduction::None => new,
        ScatterReduction::Add => wide.add(b, old, new),
        ScatterReduction::Mul => wide.mul(b, old, new),
        ScatterReduction::Max => wide.max(b, old, new),
        ScatterReduction::Min => wide.min(b, old, new),
    };
    wide.convert(b, value, num, false)
}
