//! Compositions that have an op of their own.

mod norm;
mod scalar;

pub use norm::RECOGNIZE_NORMS;
