//! Compositions that have an op of their own.

mod attention;
mod norm;
mod scalar;

pub use attention::RECOGNIZE_ATTENTION;
pub use norm::RECOGNIZE_NORMS;
