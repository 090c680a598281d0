//! `ait.random`: Philox-4x32-10, one block of four words an element, counted by the element's row-major index.

use super::{
    Kernel, KernelRow, Unsupported, broadcast::elements, domain::decode, ext::Ext, scalar::resize_float, view::View,
};
use aitmlir_dialects::{
    ait::enums::RandomKind,
    builder::Builder,
    types::{Types, Val},
};

pub static ROW: KernelRow = KernelRow { op: "ait.random", extent: elements, body };

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let out = View::of(k.b, k.outs[0]);
    let seed = k.op.i64("seed").unwrap_or(0) as u64;
    let (low, high) = (k.op.f64("low").unwrap_or(0.0), k.op.f64("high").unwrap_or(1.0));
    let normal = k.op.kind("kind") == Some(RandomKind::Normal);
    let sizes = out.sizes();
    k.b.each(lo, hi, |b, i| {
        let f64 = b.context().f64_type();
        let words = philox(b, i, seed);
        let (u, v) = (unit(b, words[0]), unit(b, words[1]));
        let value = if normal {
            // 1 - u is in (0, 1].
            let radius =
                b.unary("math.sqrt", b.mulf(b.float(f64, -2.0), b.unary("math.log", b.subf(b.float(f64, 1.0), u))));
            let angle = b.mulf(v, b.float(f64, std::f64::consts::TAU));
            let z = b.mulf(radius, b.unary("math.cos", angle));
            b.addf(b.mulf(z, b.float(f64, high)), b.float(f64, low))
        } else {
            b.addf(b.mulf(u, b.float(f64, high - low)), b.float(f64, low))
        };
        let at = out.at(b, &decode(b, i, &sizes));
        out.store(b, resize_float(b, value, out.element()), at);
    });
    Ok(())
}

/// A 32-bit word as a number in [0, 1) with 24 bits, so that f32 holds it.
fn unit<'c>(b: Builder<'c>, word: Val<'c>) -> Val<'c> {
    let i64 = b.context().int_type(64);
    let f64 = b.context().f64_type();
    let top = b.binary("arith.shrui", word, b.int(i64, 8));
    b.mulf(b.op1("arith.uitofp", &[top], f64, &[]), b.float(f64, 1.0 / f64::from(1 << 24)))
}

/// The four words of the block with counter `i`, as i64 below 2^32.
fn philox<'c>(b: Builder<'c>, i: Val<'c>, seed: u64) -> [Val<'c>; 4] {
    const MULTIPLIERS: [i64; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    let i64 = b.context().int_type(64);
    let mask = b.int(i64, 0xFFFF_FFFF);
    let low = |x| b.and(x, mask);
    let high = |x| b.binary("arith.shrui", x, b.int(i64, 32));
    let xor = |x, y| b.binary("arith.xori", x, y);
    let count = b.index_cast(i, i64);
    let mut words = [low(count), high(count), b.int(i64, 0), b.int(i64, 0)];
    let mut key = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let products = [b.muli(words[0], b.int(i64, MULTIPLIERS[0])), b.muli(words[2], b.int(i64, MULTIPLIERS[1]))];
        let keys = key.map(|key| b.int(i64, i64::from(key)));
        words = [
            xor(xor(high(products[1]), words[1]), keys[0]),
            low(products[1]),
            xor(xor(high(products[0]), words[3]), keys[1]),
            low(products[0]),
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    words
}
