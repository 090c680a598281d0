//! Kernels for NVIDIA GPUs: compiled here, run on the simulator.

// A panic is how a test fails.
#![allow(clippy::unwrap_used)]

mod b2b_sm90;
mod case;
mod codegen;
mod configurations;
mod cute;
mod cute_async;
mod cute_author;
mod cute_copies;
mod cute_products;
mod gemm_sm80;
mod gemm_sm90;
mod grouped;
mod groups;
mod simulate;
