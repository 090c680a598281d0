//! The host program: planned `ait` to calls of the runtime and of lowered kernels, and from there to an object file.
//!
//! * [`program`]: the pass `ait-lower-host`
//! * [`launch`]: what a launch is, and how the CPU does it
//! * [`checks`]: places that failed run-time checks name
//! * [`memory`]: buffers from pointers
//! * [`parallel`]: launches as tasks of the runtime's threads
//! * [`codegen`]: MLIR's llvm dialect to an object file, through LLVM

pub mod checks;
pub mod codegen;
pub mod launch;
pub mod memory;
pub mod parallel;
pub mod program;
