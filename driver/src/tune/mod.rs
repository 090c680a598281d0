//! `aitmlir-tune`: which configuration of a matrix product is the fastest on a GPU.
//!
//! Three steps, since the machine with the toolchain need not be the one with the GPU: [`products`] says what to measure, [`build`] compiles
//! every configuration that could be the fastest into a folder that runs by itself, [`import`] takes what it measured into a table of
//! [`aitmlir_lowering::cuda::tuning`].

pub mod build;
pub mod class;
pub mod import;
pub mod products;
pub mod search;
