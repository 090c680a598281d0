//! Loads compiled models and runs, verifies, measures and inspects them: the work of `aitmlir-run`.

pub mod bench;
pub mod cli;
pub mod compare;
pub mod device_bench;
pub mod error;
pub mod inputs;
pub mod inspect;
pub mod library;
pub mod npy;
pub mod roofline;
pub mod sim;
pub mod tensor;
