//! Importers, packaging and the command-line tools.
