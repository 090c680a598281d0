//! Kernels for NVIDIA GPUs: compiled here, run on the simulator.

mod codegen;
