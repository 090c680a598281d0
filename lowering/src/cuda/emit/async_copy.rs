//! Groups of `cp.async`, copies from global to shared memory that pass no register. The copies are those of the cute dialect.

use super::asm0;
use aitmlir_dialects::builder::Builder;

/// Closes this thread's group of copies.
pub fn commit(b: Builder<'_>) {
    asm0(b, "cp.async.commit_group;", "", &[]);
}

/// Waits until at most `pending` groups of this thread are under way.
pub fn wait(b: Builder<'_>, pending: u32) {
    asm0(b, &format!("cp.async.wait_group {pending};"), "", &[]);
}
