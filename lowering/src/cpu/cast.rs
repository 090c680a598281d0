//! `ait.cast`: element by element to another type.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast::{Elementwise, elements, views},
    scalar::Num,
};
use aitmlir_dialects::types::Val;

pub static ROW: KernelRow = KernelRow { op: "ait.cast", extent: elements, body };

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let (from, to) = (Num::of(k.tensor_type("input")), Num::of(k.result_type(0)));
    let saturate = k.op.has("saturate");
    let (outs, inputs) = (views(k.b, &k.outs), views(k.b, &k.operands));
    Elementwise { outs: &outs, inputs: &inputs, derived: true, pinned: &[] }
        .emit(k.b, (lo, hi), &|b, _, x| vec![from.convert(b, x[0], to, saturate)]);
    Ok(())
}
