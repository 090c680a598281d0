//! The `ait` and `cute` dialects.
