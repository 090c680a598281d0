//! `cp.async`: copies from global to shared memory that pass no register.

use super::asm0;
use aitmlir_dialects::{builder::Builder, types::Val};

/// Copies `bytes` (4, 8 or 16) bytes, of which the first `filled` (an i32) are read and the others zero.
pub fn copy<'c>(b: Builder<'c>, shared: Val<'c>, global: Val<'c>, bytes: u32, filled: Val<'c>) {
    let cache = if bytes == 16 { "cg" } else { "ca" };
    asm0(b, &format!("cp.async.{cache}.shared.global [$0], [$1], {bytes}, $2;"), "r,l,r", &[shared, global, filled]);
}

/// Closes this thread's group of copies.
pub fn commit(b: Builder<'_>) {
    asm0(b, "cp.async.commit_group;", "", &[]);
}

/// Waits until at most `pending` groups of this thread are under way.
pub fn wait(b: Builder<'_>, pending: u32) {
    asm0(b, &format!("cp.async.wait_group {pending};"), "", &[]);
}
