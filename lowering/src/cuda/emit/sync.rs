//! Barriers of threads, fences, and how many registers a warpgroup has.

use super::{Effect, asm0, asm1};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

/// All threads of the CTA meet.
pub fn barrier(b: Builder<'_>) {
    asm0(b, "bar.sync 0;", "", &[]);
}

/// `threads` threads meet at named barrier `id` (an i32).
pub fn named_barrier<'c>(b: Builder<'c>, id: Val<'c>, threads: u32) {
    asm0(b, &format!("bar.sync $0, {threads};"), "r", &[id]);
}

/// Counts the warp at named barrier `id` and goes on.
pub fn named_arrive<'c>(b: Builder<'c>, id: Val<'c>, threads: u32) {
    asm0(b, &format!("bar.arrive $0, {threads};"), "r", &[id]);
}

/// The lanes of a warp meet.
pub fn warp_barrier(b: Builder<'_>) {
    asm0(b, "bar.warp.sync -1;", "", &[]);
}

/// All threads of the cluster that have not ended meet, and see each other's writes. Whole warps call it.
pub fn cluster_barrier(b: Builder<'_>) {
    asm0(b, "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;", "", &[]);
}

/// True in one lane of the warp, which must be converged.
pub fn elect<'c>(b: Builder<'c>) -> Val<'c> {
    let i32 = b.context().int_type(32);
    let text = "{ .reg .pred p; elect.sync _|p, -1; selp.b32 $0, 1, 0, p; }";
    let chosen = asm1(b, text, "=r", &[], i32, Effect::Ordered);
    b.cmpi("ne", chosen, b.int(i32, 0))
}

/// Writes of this thread to shared memory become visible to TMA and `wgmma`.
pub fn fence_async_shared(b: Builder<'_>) {
    asm0(b, "fence.proxy.async.shared::cta;", "", &[]);
}

/// Waits until the kernels before this one in the stream are done and what they wrote is visible, where this one was started before that.
pub fn wait_for_earlier_kernels(b: Builder<'_>) {
    asm0(b, "griddepcontrol.wait;", "", &[]);
}

/// The next kernel of the stream may start when all CTAs have come here, if it is one that waits for this one by itself.
pub fn start_next_kernel(b: Builder<'_>) {
    asm0(b, "griddepcontrol.launch_dependents;", "", &[]);
}

/// The warpgroup keeps `count` registers a thread (a multiple of 8) and gives the others back.
pub fn fewer_registers(b: Builder<'_>, count: u32) {
    asm0(b, &format!("setmaxnreg.dec.sync.aligned.u32 {count};"), "", &[]);
}

/// The warpgroup waits until it has `count` registers a thread (a multiple of 8).
pub fn more_registers(b: Builder<'_>, count: u32) {
    asm0(b, &format!("setmaxnreg.inc.sync.aligned.u32 {count};"), "", &[]);
}
