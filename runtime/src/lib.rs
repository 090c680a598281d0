//! The runtime linked into every compiled model.
