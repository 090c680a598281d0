//! `ait.nonzero`: one pass over the input, on one thread.

use super::{
    Kernel, KernelRow, Unsupported,
    domain::Domain,
    ext::{Ext, always},
    scalar::Num,
    view::View,
};
use aitmlir_dialects::types::{Types, Val};

pub static ROW: KernelRow = KernelRow { op: "ait.nonzero", extent: always, body };

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let num = Num::of(k.tensor_type("input"));
    k.b.each(lo, hi, |b, _| {
        let i64 = b.context().int_type(64);
        let (input, out) = (View::of(b, k.operand("input")), View::of(b, k.outs[0]));
        let count = View::of(b, k.outs[1]);
        let rank = input.axes.len();
        let domain = Domain::unmerged(vec![input]);
        let (zero, one) = (b.index(0), b.index(1));
        let mut coordinates = Vec::new();
        let found = nest(b, &domain, 0, &mut coordinates, zero, &|b, coordinates, found| {
            let value = domain.views[0].load(b, domain.views[0].at(b, coordinates));
            let hit = num.nonzero(b, value);
            b.when(hit, |b| {
                for i in 0..rank.max(1) {
                    let coordinate = coordinates.get(i).copied().unwrap_or(zero);
                    let at = out.at(b, &[found, b.index(i as i64)]);
                    out.store(b, b.index_cast(coordinate, i64), at);
                }
            });
            b.select(hit, b.addi(found, one), found)
        });
        count.store(b, b.index_cast(found, i64), count.offset);
    });
    Ok(())
}

type Step<'a, 'c> = dyn Fn(aitmlir_dialects::builder::Builder<'c>, &[Val<'c>], Val<'c>) -> Val<'c> + 'a;

fn nest<'c>(
    b: aitmlir_dialects::builder::Builder<'c>,
    domain: &Domain<'c>,
    axis: usize,
    coordinates: &mut Vec<Val<'c>>,
    found: Val<'c>,
    step: &Step<'_, 'c>,
) -> Val<'c> {
    let Some(size) = domain.sizes.get(axis) else { return step(b, coordinates, found) };
    b.folded(*size, &[found], |b, i, found| {
        coordinates.push(i);
        let next = nest(b, domain, axis + 1, coordinates, found[0], step);
        coordinates.pop();
        vec![next]
    })[0]
}
