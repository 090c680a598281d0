//! Kernels for NVIDIA GPUs: compiled here, run on the simulator.

mod codegen;
mod gemm_sm90;
mod simulate;
