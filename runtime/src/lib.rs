//! The runtime linked into every compiled model.
//!
//! A model is a *program* (generated code and a table, [`program::Program`]) on top of this crate. A user calls the C
//! ABI ([`mod@ffi`], `include/aitmlir.h`), which checks the inputs and runs the program; the program calls back into
//! `aitmlir_rt_*` for its inputs, outputs, constants, memory and threads. No MLIR, no LLVM: the compiler depends on this
//! crate only for [`info`], and links its static library (feature `c-abi`) into each model.

pub mod device;
pub mod dtype;
pub mod error;
pub mod expr;
pub mod ffi;
pub mod info;
pub mod memory;
pub mod model;
pub mod pool;
pub mod program;
pub mod run;
pub mod tensor;

mod checks;
mod constants;
mod cpu;
mod thread;
mod weights;

pub use weights::WEIGHTS_DIR_VARIABLE;

/// The C header of the ABI.
pub const HEADER: &str = include_str!("../include/aitmlir.h");

/// The linker version script: what a model exports.
pub const VERSION_SCRIPT: &str = include_str!("../aitmlir.map");
