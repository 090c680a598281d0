//! Numbers: the small float formats, rounding and conversions.

pub mod convert;
pub mod directed;
pub mod minifloat;
