//! Importers, packaging and the command-line tools.

pub mod tools;
