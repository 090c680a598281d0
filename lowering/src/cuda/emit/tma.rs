//! Copies of boxes of a tensor by the TMA unit. `map` is the pointer to a tensor map, `shared` an i32 address, `coordinates` are i32,
//! innermost first.

use super::asm0;
use aitmlir_dialects::{builder::Builder, types::Val};

fn box_text(coordinates: usize, first: usize) -> String {
    format!("{{{}}}", super::places(first, coordinates))
}

/// Loads a box into shared memory; the barrier at `barrier` counts its bytes.
pub fn load<'c>(b: Builder<'c>, shared: Val<'c>, map: Val<'c>, coordinates: &[Val<'c>], barrier: Val<'c>) {
    let rank = coordinates.len();
    let text = format!(
        "cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {}], [$2];",
        box_text(rank, 3)
    );
    let operands: Vec<_> = [shared, map, barrier].into_iter().chain(coordinates.iter().copied()).collect();
    asm0(b, &text, &format!("r,l,r,{}", super::repeat("r", rank)), &operands);
}

/// Loads a box into the shared memory of every CTA of the cluster whose bit is set in `mask` (an i16), at the address that `shared` is here; in each, the barrier
/// at the place of `barrier` counts the bytes.
pub fn load_masked<'c>(
    b: Builder<'c>,
    shared: Val<'c>,
    map: Val<'c>,
    coordinates: &[Val<'c>],
    barrier: Val<'c>,
    mask: Val<'c>,
) {
    let rank = coordinates.len();
    let text = format!(
        "cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [$0], [$1, {}], [$2], $3;",
        box_text(rank, 4)
    );
    let operands: Vec<_> = [shared, map, barrier, mask].into_iter().chain(coordinates.iter().copied()).collect();
    asm0(b, &text, &format!("r,l,r,h,{}", super::repeat("r", rank)), &operands);
}

/// Stores a box from shared memory; part of this thread's open group of bulk copies.
pub fn store<'c>(b: Builder<'c>, map: Val<'c>, coordinates: &[Val<'c>], shared: Val<'c>) {
    let rank = coordinates.len();
    let text = format!("cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [$0, {}], [$1];", box_text(rank, 2));
    let operands: Vec<_> = [map, shared].into_iter().chain(coordinates.iter().copied()).collect();
    asm0(b, &text, &format!("l,r,{}", super::repeat("r", rank)), &operands);
}

/// Closes this thread's group of bulk stores.
pub fn commit(b: Builder<'_>) {
    asm0(b, "cp.async.bulk.commit_group;", "", &[]);
}

/// Waits until all but the last `pending` groups have read their shared memory.
pub fn wait_read(b: Builder<'_>, pending: u32) {
    asm0(b, &format!("cp.async.bulk.wait_group.read {pending};"), "", &[]);
}

/// Brings a tensor map near.
pub fn prefetch_map<'c>(b: Builder<'c>, map: Val<'c>) {
    asm0(b, "prefetch.tensormap [$0];", "l", &[map]);
}
