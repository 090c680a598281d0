//! `ait.map`: a loop nest over the result, the region inlined at its heart.
//!
//! The parallel range is the outermost dimension. Operands whose dimension is 1 where the result's is not are read at coordinate 0; where neither is
//! known the coordinate is multiplied by whether the operand's dimension differs from 1.

use super::{Kernel, KernelRow, Unsupported};
use aitmlir_dialects::{
    builder::{Builder, block_arguments, inline_block},
    types::{TypeExt, Val},
};
use melior::ir::ValueLike;

pub static ROW: KernelRow = KernelRow { op: "ait.map", extent, body };

fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    if k.outs[0].r#type().shape().is_empty() { k.b.index(1) } else { k.b.dim(k.outs[0], 0) }
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let out = k.outs[0];
    let rank = out.r#type().shape().len();
    if rank == 0 {
        element(k, k.b, &[]);
        return Ok(());
    }
    let inner: Vec<_> = (1..rank).map(|i| k.b.dim(out, i)).collect();
    let one = k.b.index(1);
    k.b.for_(lo, hi, one, &[], |b, outer, _| {
        b.loops(&inner, |b, rest| {
            let ivs: Vec<_> = std::iter::once(outer).chain(rest.iter().copied()).collect();
            element(k, b, &ivs);
        });
        vec![]
    });
    Ok(())
}

fn element<'c>(k: &Kernel<'c>, b: Builder<'c>, ivs: &[Val<'c>]) {
    let out_shape = k.outs[0].r#type().shape();
    let inputs: Vec<_> =
        k.group("inputs").iter().map(|m| b.load(*m, &broadcast_coordinates(b, *m, &out_shape, ivs))).collect();
    if let Some(block) = k.op.block(0) {
        debug_assert_eq!(block_arguments(block).len(), inputs.len());
        let values = inline_block(b, block, &inputs);
        for (value, out) in values.into_iter().zip(&k.outs) {
            b.store(value, *out, ivs);
        }
    }
}

/// The coordinates in a buffer that broadcasts to `shape` for the element at `ivs`.
pub fn broadcast_coordinates<'c>(b: Builder<'c>, buffer: Val<'c>, shape: &[i64], ivs: &[Val<'c>]) -> Vec<Val<'c>> {
    let own = buffer.r#type().shape();
    let skip = shape.len().saturating_sub(own.len());
    own.iter()
        .enumerate()
        .map(|(i, size)| match *size {
            1 => b.index(0),
            s if s >= 0 => ivs[skip + i],
            _ => {
                let one = b.index(1);
                let (dim, zero) = (b.dim(buffer, i), b.index(0));
                let stretched = b.cmpi("eq", dim, one);
                b.select(stretched, zero, ivs[skip + i])
            }
        })
        .collect()
}
