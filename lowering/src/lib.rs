//! From planned `ait` to machine code.
//!
//! * [`cpu`]: kernels for the host CPU, from one `ait` op each to loops and vectors
//! * [`cuda`]: kernels for NVIDIA GPUs, and the road to PTX and cubin
//! * [`expand`]: products that a target has no kernel for, as plainer ones
//! * [`target`]: what a model can be compiled for
//! * [`host`]: the host program, from planned `ait` to calls of the runtime, and the object file

pub mod cpu;
pub mod cuda;
pub mod expand;
pub mod host;
pub mod target;

use aitmlir_dialects::pass::{PassDecl, register};

/// All passes of this crate, in the order of the reference.
pub static PASSES: &[&PassDecl] = &[
    &expand::EXPAND_PRODUCTS,
    &cpu::math::APPROXIMATE,
    &cpu::LOWER_KERNELS,
    &host::program::LOWER_HOST,
    &cuda::to_nvvm::TO_NVVM,
];

/// Registers all passes in MLIR's registry. Call it once a process.
pub fn register_all() {
    for pass in PASSES {
        register(pass);
    }
}
