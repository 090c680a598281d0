//! `ait.col2im`: each pixel gathers the block elements that lie on it.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast::elements,
    domain::decode,
    ext::Ext,
    scalar::Num,
    view::{View, product},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

pub static ROW: KernelRow = KernelRow { op: "ait.col2im", extent: elements, body };

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let list = |name: &str| k.op.i64s(name);
    let (block, strides, pads, dilations) = (list("block"), list("strides"), list("pads"), list("dilations"));
    let spatial = block.len();
    let num = Num::of(k.result_type(0));
    let wide = num.wide(b);
    let (input, out) = (View::of(b, k.operand("input")), View::of(b, k.outs[0]));
    let sizes = out.sizes();
    // Block positions along each spatial axis.
    let positions: Vec<_> = (0..spatial)
        .map(|d| {
            let reach = pads[d] + pads[spatial + d] - dilations[d] * (block[d] - 1) - 1;
            let span = b.maxsi(b.plus(out.axes[2 + d].size, reach), b.index(-strides[d]));
            b.plus(b.divsi(span, b.index(strides[d])), 1)
        })
        .collect();
    let cells = block.iter().product::<i64>();
    let blocks: Vec<_> = block.iter().map(|n| b.index(*n)).collect();
    b.each(lo, hi, |b, pixel| {
        let at = decode(b, pixel, &sizes);
        let start = wide.constant(b, 0.0);
        let sum = b.folded(product(b, &blocks), &[start], |b, cell, sum| {
            let offsets = decode(b, cell, &blocks);
            let (mut inside, mut place) = (b.int(b.context().int_type(1), 1), b.index(0));
            for d in 0..spatial {
                let shifted = b.subi(b.plus(at[2 + d], pads[d]), b.times(offsets[d], dilations[d]));
                let stride = b.index(strides[d]);
                let position = b.divsi(shifted, stride);
                let exact = b.cmpi("eq", b.muli(position, stride), shifted);
                let valid = b.and(exact, b.cmpi("ult", position, positions[d]));
                inside = b.and(inside, b.and(valid, b.cmpi("sge", shifted, b.index(0))));
                place = b.addi(b.muli(place, positions[d]), position);
            }
            b.if_(
                inside,
                &[wide.r#type],
                |b: Builder<'c>| {
                    let row = b.addi(b.times(at[1], cells), cell);
                    let x = input.load(b, input.at(b, &[at[0], row, place]));
                    vec![wide.add(b, sum[0], num.convert(b, x, wide, false))]
                },
                |_| vec![sum[0]],
            )
        })[0];
        let to: Vec<Val<'c>> = at;
        out.store(b, wide.convert(b, sum, num, false), out.at(b, &to));
    });
    Ok(())
}
