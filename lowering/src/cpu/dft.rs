//! `ait.dft`: the defining sum, with sines and cosines from a table of one period.

use super::{
    Kernel, KernelRow, Unsupported, broadcast::elements, domain::rescaled, ext::Ext, reduce::reassociable,
    runtime::scratch, scalar::Num, view::View,
};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

pub static ROW: KernelRow = KernelRow { op: "ait.dft", extent: elements, body };

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let num = Num::of(k.tensor_type("input"));
    let wide = num.float(b);
    let (input, out) = (View::of(b, k.operand("input")), View::of(b, k.outs[0]));
    let n = k.operand("length");
    let inverse = k.op.has("inverse");
    let tables = scratch(k, &[(wide.r#type, n), (wide.r#type, n)]);
    fill(b, &tables, n, wide, inverse);
    let bins = out.axes[1].size;
    let (lo, hi) = rescaled(b, (lo, hi), out.elements(b), b.muli(out.axes[0].size, bins));
    let (real_input, real_output) = (input.axes[2].static_size == 1, out.axes[2].static_size == 1);
    let hermitian = inverse && real_output;
    let terms = if hermitian { n } else { b.minsi(n, input.axes[1].size) };
    b.each(lo, hi, |b, task| {
        let (batch, bin) = (b.binary("arith.divui", task, bins), b.binary("arith.remui", task, bins));
        let zero = wide.constant(b, 0.0);
        let sums = b.folded(terms, &[zero, zero, b.index(0)], |b, j, carried| {
            let mirrored = hermitian.then(|| {
                let past = b.cmpi("sge", j, input.axes[1].size);
                (past, b.select(past, b.subi(n, j), j))
            });
            let at = mirrored.map_or(j, |m| m.1);
            let part = |b: Builder<'c>, p: i64| {
                let x = input.load(b, input.at(b, &[batch, at, b.index(p)]));
                num.convert(b, x, wide, false)
            };
            let re = part(b, 0);
            let mut im = if real_input { zero } else { part(b, 1) };
            if let Some((past, _)) = mirrored {
                im = b.select(past, b.subf(zero, im), im);
            }
            let (cos, sin) = (b.load(tables[0], &[carried[2]]), b.load(tables[1], &[carried[2]]));
            let real = b.subf(b.mulf(re, cos), b.mulf(im, sin));
            let imaginary = b.addf(b.mulf(re, sin), b.mulf(im, cos));
            // (j + 1) * bin modulo n, without a division.
            let next = b.addi(carried[2], bin);
            let next = b.select(b.cmpi("sge", next, n), b.subi(next, n), next);
            vec![
                reassociable(b, wide, "add", carried[0], real),
                reassociable(b, wide, "add", carried[1], imaginary),
                next,
            ]
        });
        let factor = if inverse { b.divf(wide.constant(b, 1.0), wide.index_to(b, n)) } else { wide.constant(b, 1.0) };
        for (p, sum) in sums[..if real_output { 1 } else { 2 }].iter().enumerate() {
            let value = wide.convert(b, b.mulf(*sum, factor), num, false);
            out.store(b, value, out.at(b, &[batch, bin, b.index(p as i64)]));
        }
    });
    Ok(())
}

/// Cosines and sines of the multiples of the base angle, computed in f64.
fn fill<'c>(b: Builder<'c>, tables: &[Val<'c>], n: Val<'c>, wide: Num<'c>, inverse: bool) {
    let f64 = b.context().f64_type();
    let turn = if inverse { std::f64::consts::TAU } else { -std::f64::consts::TAU };
    let base = b.divf(b.float(f64, turn), b.to_float(n, f64));
    b.loop_(n, |b, i| {
        let angle = b.mulf(b.to_float(i, f64), base);
        for (table, function) in tables.iter().zip(["math.cos", "math.sin"]) {
            let value = super::scalar::resize_float(b, b.unary(function, angle), wide.r#type);
            b.store(value, *table, &[i]);
        }
    });
}
