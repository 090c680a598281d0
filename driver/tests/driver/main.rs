//! The driver's integration tests, in one binary, since each that links MLIR is large.

mod affine;
mod cli;
mod docs;
mod header;
mod import;
mod kernel;
mod package;
mod plan;
mod run;
