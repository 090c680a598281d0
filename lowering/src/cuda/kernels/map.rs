//! `ait.map`: the region's code for each element, 16 bytes of neighbours a thread at a time.

use super::{Body, BodyRow, How, KernelRow, chunks::Pass, grid_of, threads::grid_stride};
use crate::cpu::{
    Kernel, Unsupported,
    broadcast::{Elementwise, elements, views},
    map::{for_each_index, inline_at},
};
use aitmlir_dialects::{builder::Builder, types::Val};

pub const ROW: KernelRow =
    KernelRow { op: "ait.map", how: How::Body(BodyRow { extent_count: |_| 1, extents: |k| vec![elements(k)], body }) };

/// Threads of a CTA.
const THREADS: u32 = 256;

fn body<'c>(k: &Kernel<'c>, _: &[Val<'c>]) -> Result<Body, Unsupported> {
    let block = k.op.block(0).ok_or_else(|| Unsupported("has no code".to_owned()))?;
    let (outs, inputs) = (views(k.b, &k.outs), views(k.b, &k.group("inputs")));
    let mut pinned = vec![false; outs[0].axes.len()];
    for_each_index(block, &mut |_, axis| {
        if let Some(pin) = pinned.get_mut(axis) {
            *pin = true;
        }
    });
    let derived = k.group("dims").is_empty();
    let loops = Elementwise { outs: &outs, inputs: &inputs, derived, pinned: &pinned };
    let (writes, reads): (Vec<_>, Vec<_>) = (0..outs.len() + inputs.len()).partition(|v| *v < outs.len());
    loops.domains(k.b, &|b, domain| {
        let groups: Vec<_> = (0..domain.groups.len()).collect();
        let origin = domain.origin();
        let pass = Pass { domain, groups: &groups, offsets: &origin, reads: &reads, writes: &writes };
        let (first, step) = grid_stride(b, THREADS);
        pass.run(b, first, step, &[], &|b: Builder<'c>, coordinates, values, _| {
            (inline_at(b, block, values, &loops.pinned_coordinates(b, domain, coordinates)), vec![])
        });
    });
    Ok(Body::new([THREADS, 1, 1], |extent| grid_of(extent(0), THREADS)))
}
