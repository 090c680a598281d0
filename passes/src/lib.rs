//! Every `ait`-to-`ait` and `cute`-to-`cute` rewrite: one file (or folder) a pass, one registry.

pub mod allow_tf32;
pub mod bounds;
pub mod canonicalize;
pub mod cute_expand;
pub mod cute_fold_static;
pub mod expand_products;
pub mod fuse;
pub mod fuse_products;
pub mod group_products;
pub mod outline;
pub mod plan;
pub mod recognize;
pub mod split_constants;

use aitmlir_dialects::pass::{PassDecl, register};

/// All passes of this crate, in the order of the reference.
pub static PASSES: &[&PassDecl] = &[
    &allow_tf32::ALLOW_TF32,
    &canonicalize::CANONICALIZE,
    &recognize::RECOGNIZE_NORMS,
    &recognize::RECOGNIZE_ATTENTION,
    &fuse::FUSE,
    &fuse_products::FUSE_PRODUCTS,
    &group_products::GROUP_PRODUCTS,
    &outline::OUTLINE_KERNELS,
    &split_constants::SPLIT_CONSTANTS,
    &plan::PLAN_MEMORY,
    &cute_fold_static::FOLD_STATIC,
    &cute_expand::EXPAND,
];

/// Registers all passes in MLIR's registry. Call it once a process.
pub fn register_all() {
    for pass in PASSES {
        register(pass);
    }
}
