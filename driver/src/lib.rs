//! Importers, packaging and the command-line tools.

pub mod package;
pub mod tools;
