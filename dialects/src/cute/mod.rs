//! The `cute` dialect in Rust: its types as values, what its operations mean, and the checks that follow.
//!
//! * [`value`], [`memory`], [`coords`]: what a type's text says, read and written
//! * [`leaves`]: the dynamic integers in a value, and what is known about them
//! * [`eval`]: every operation as a function from values to a value, used for inference, folding and lowering alike
//! * [`infer`], [`verify`], [`fold`]: what MLIR asks; [`hooks`] is where it asks
//! * [`edge`]: tiles that stick out of their tensors
//! * [`pending`]: what may not be touched while a product is under way
//! * [`access`]: which memory accesses of a width a view allows, and why not
//! * [`arith`]: integer code for dynamic leaves
//! * [`author`]: what kernels are written with; [`build`]: operations from Rust, with inferred results

pub mod access;
pub mod arith;
pub mod author;
pub mod build;
pub mod coords;
pub mod edge;
pub mod eval;
pub mod fold;
pub mod hooks;
pub mod infer;
pub mod leaves;
pub mod memory;
pub mod pending;
pub mod types;
pub mod value;
pub mod verify;
mod verify_async;
mod verify_tensor;

pub use coords::{CoordView, Pipeline};
pub use eval::{Attributes, Outcome, evaluate};
pub use memory::{Ptr, Space, View, ViewLayout};
pub use value::Cute;
