//! Kernels, one a file or folder.

pub mod gemm_sm90;
pub mod problem;
