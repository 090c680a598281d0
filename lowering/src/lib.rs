//! Lowering of `ait` to kernels and host programs.
