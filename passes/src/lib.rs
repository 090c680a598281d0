//! ait-to-ait passes.
