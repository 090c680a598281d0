//! Every `ait`-to-`ait` rewrite: one file a pass, one registry.

use aitmlir_dialects::pass::{PassDecl, register};

/// All passes of this crate, in the order of the reference.
pub static PASSES: &[&PassDecl] = &[];

/// Registers all passes in MLIR's registry. Call it once a process.
pub fn register_all() {
    for pass in PASSES {
        register(pass);
    }
}
