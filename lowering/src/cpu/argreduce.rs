//! `ait.argreduce`: a scan along the axis for each result.

use super::{
    Kernel, KernelRow, Unsupported, broadcast::elements, domain::Domain, reduce::with_reduced_axes, scalar::Num,
    view::View,
};
use aitmlir_dialects::{
    ait::enums::ArgReduceKind,
    builder::Builder,
    types::{Types, Val},
};

pub static ROW: KernelRow = KernelRow { op: "ait.argreduce", extent: elements, body };

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let along = k.op.i64("axis").and_then(|a| usize::try_from(a).ok()).unwrap_or(0);
    let num = Num::of(k.tensor_type("input"));
    let max = k.op.kind("kind") == Some(ArgReduceKind::Max);
    let last = k.op.has("select_last");
    let (input, out) = (View::of(b, k.operand("input")), View::of(b, k.outs[0]));
    let axis = input.axes[along];
    let out = with_reduced_axes(b, &input, out, &|i| i == along, k.op.has("keepdims"));
    let domain = Domain::new(b, vec![input, out], |i| i == along || i + 1 == along);
    let kept = domain.groups_of(|i| i != along);
    domain.range(b, &kept, (lo, hi), &mut |b, _, offsets| {
        let worst = if max { num.lowest(b) } else { num.highest(b) };
        let (zero, one) = (b.index(0), b.index(1));
        let found = b.for_(zero, axis.size, one, &[worst, zero], |b, i, best| {
            let at = b.addi(offsets[0], b.muli(i, axis.stride));
            let x = domain.views[0].load(b, at);
            let better = beats(b, num, x, best[0], max, last);
            vec![b.select(better, x, best[0]), b.select(better, i, best[1])]
        });
        let index = b.index_cast(found[1], b.context().int_type(64));
        domain.views[1].store(b, index, offsets[1]);
    });
    Ok(())
}

/// Does `x`, which comes later, take the place of `best`?
fn beats<'c>(b: Builder<'c>, num: Num<'c>, x: Val<'c>, best: Val<'c>, max: bool, last: bool) -> Val<'c> {
    let (small, large) = if max { (best, x) } else { (x, best) };
    let mut better = num.less(b, small, large);
    if last {
        better = b.binary("arith.ori", better, num.equal(b, x, best));
    }
    if num.is_float() {
        let mut nan = b.cmpf("uno", x, x);
        if !last {
            nan = b.binary("arith.andi", nan, b.cmpf("ord", best, best));
        }
        better = b.binary("arith.ori", better, nan);
        let held = b.cmpf("uno", best, best);
        if !last {
            better = b.select(held, b.int(b.context().int_type(1), 0), better);
        }
    }
    better
}
