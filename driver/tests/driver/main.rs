//! The driver's integration tests, in one binary, since each that links MLIR is large.

mod affine;
mod package;
