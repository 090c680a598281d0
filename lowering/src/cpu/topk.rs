//! `ait.topk`: each row is sorted by a stable merge sort of positions, in scratch memory.

use super::{
    Kernel, KernelRow, Unsupported,
    domain::{decode, rescaled},
    ext::{Ext, number},
    runtime::scratch,
    scalar::Num,
    sort::sort,
    view::{View, product},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

pub static ROW: KernelRow = KernelRow { op: "ait.topk", extent, body };

fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    product(k.b, &k.b.dims(k.operand("input")))
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let (b, along) = (k.b, number(k, "axis"));
    let num = Num::of(k.tensor_type("input"));
    let smallest = k.op.has("smallest");
    let (input, values, indices) = (View::of(b, k.operand("input")), View::of(b, k.outs[0]), View::of(b, k.outs[1]));
    let (axis, i64) = (input.axes[along], b.context().int_type(64));
    let arrays = scratch(k, &[(i64, axis.size), (i64, axis.size)]);
    let mut sizes = input.sizes();
    sizes[along] = b.index(1);
    let (lo, hi) = rescaled(b, (lo, hi), input.elements(b), product(b, &sizes));
    b.each(lo, hi, |b, row| {
        let coordinates = decode(b, row, &sizes);
        let start = input.at(b, &coordinates);
        let load = |b: Builder<'c>, i| input.load(b, b.addi(start, b.muli(i, axis.stride)));
        sort(b, (arrays[0], arrays[1]), axis.size, &|b, i, j| {
            let (x, y) = (load(b, i), load(b, j));
            precedes(b, num, if smallest { (x, y) } else { (y, x) })
        });
        let (value_at, index_at) = (values.at(b, &coordinates), indices.at(b, &coordinates));
        b.loop_(values.axes[along].size, |b, i| {
            let position = b.load(arrays[0], &[i]);
            let value = load(b, b.index_cast(position, b.context().index_type()));
            values.store(b, value, b.addi(value_at, b.muli(i, values.axes[along].stride)));
            indices.store(b, position, b.addi(index_at, b.muli(i, indices.axes[along].stride)));
        });
    });
    Ok(())
}

/// small < large, with NaN as the largest value.
pub fn precedes<'c>(b: Builder<'c>, num: Num<'c>, (small, large): (Val<'c>, Val<'c>)) -> Val<'c> {
    let less = num.less(b, small, large);
    if !num.is_float() {
        return less;
    }
    let only_large_nan = b.and(b.cmpf("uno", large, large), b.cmpf("ord", small, small));
    b.or(less, only_large_nan)
}
