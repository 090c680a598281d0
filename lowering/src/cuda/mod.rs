//! Kernels for NVIDIA GPUs, and the road from their IR to PTX and cubin.
//!
//! A kernel is an `llvm.func` with the attribute `nvvm.kernel` in a module of builtin, scf, arith, math, nvvm and llvm operations.
//!
//! * [`chip`]: what a GPU can do, as rows of data
//! * [`launch`]: launches of the host program, and the module of kernels
//! * [`entry`]: from the buffers of a launch to a kernel's parameters
//! * [`kernels`]: the table of kernels, one file each
//! * [`math`]: mathematical functions written out
//! * [`emit`]: one PTX-level operation each, as MLIR operations
//! * [`kernel`]: functions of kernels with their parameters, and the launch that fits them
//! * [`codegen`]: from such a module to PTX
//! * [`to_nvvm`]: kernels written in the cute dialect, lowered to such a module
//! * [`tuning`]: tables of measured configurations
//! * [`ptxas`]: from PTX to a cubin, with what the assembler says of each kernel

pub mod chip;
pub mod codegen;
pub mod emit;
pub mod entry;
pub mod kernel;
pub mod kernels;
pub mod launch;
pub mod math;
pub mod ptxas;
pub mod to_nvvm;
pub mod tuning;

pub use chip::Chip;
