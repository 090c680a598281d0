//! Barriers in shared memory that count arrivals and bytes. `address` is the i32 address of 8 bytes.

use super::asm0;
use aitmlir_dialects::{builder::Builder, types::Val};

/// Waits until the phase of that parity (an i32, 0 or 1) is over.
pub fn wait<'c>(b: Builder<'c>, address: Val<'c>, parity: Val<'c>) {
    let text =
        "{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @p bra done; bra again; done: }";
    asm0(b, text, "r,r", &[address, parity]);
}
