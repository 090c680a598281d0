//! Barriers in shared memory that count arrivals and bytes. `address` is the i32 address of 8 bytes.

use super::asm0;
use aitmlir_dialects::{builder::Builder, types::Val};

/// The barrier waits for `count` arrivals a phase.
pub fn init<'c>(b: Builder<'c>, address: Val<'c>, count: u32) {
    asm0(b, &format!("mbarrier.init.shared::cta.b64 [$0], {count};"), "r", &[address]);
}

/// Initialised barriers become visible to the cluster and to TMA.
pub fn fence_init(b: Builder<'_>) {
    asm0(b, "fence.mbarrier_init.release.cluster;", "", &[]);
}

/// Arrives, and lets the phase wait for `bytes` (an i32) more.
pub fn expect<'c>(b: Builder<'c>, address: Val<'c>, bytes: Val<'c>) {
    asm0(b, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r", &[address, bytes]);
}

/// Arrives.
pub fn arrive<'c>(b: Builder<'c>, address: Val<'c>) {
    asm0(b, "mbarrier.arrive.shared::cta.b64 _, [$0];", "r", &[address]);
}

/// Arrives at the barrier that CTA `rank` of the cluster has at `address`.
pub fn arrive_at<'c>(b: Builder<'c>, address: Val<'c>, rank: Val<'c>) {
    let there = super::memory::address_in_cluster(b, address, rank);
    // Released to the CTA alone: what consumers read has been read when they arrive, and a wider scope costs a fence in every step.
    asm0(b, "mbarrier.arrive.shared::cluster.b64 _, [$0];", "r", &[there]);
}

/// Waits until the phase of that parity (an i32, 0 or 1) is over.
pub fn wait<'c>(b: Builder<'c>, address: Val<'c>, parity: Val<'c>) {
    let text =
        "{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra done; bra again; done: }";
    asm0(b, text, "r,r", &[address, parity]);
}

/// The barrier is no longer used as one.
pub fn invalidate<'c>(b: Builder<'c>, address: Val<'c>) {
    asm0(b, "mbarrier.inval.shared::cta.b64 [$0];", "r", &[address]);
}
