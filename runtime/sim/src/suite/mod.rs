//! The simulator's own kernels: generated gemms, and files whose comments say how to launch them and what to expect.

pub mod case;
pub mod gemm;
pub mod gemm_tma;
pub mod recorded;
