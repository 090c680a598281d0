//! Importers, packaging and the command-line tools.

pub mod compile;
pub mod import;
pub mod package;
pub mod run;
pub mod tools;
pub mod tune;
