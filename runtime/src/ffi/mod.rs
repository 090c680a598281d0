//! The crate's only foreign interface: [`types`], [`api`] and [`table`] are the C ABI that users see (`include/aitmlir.h`),
//! [`program`] is what compiled programs call. The names are exported under the feature `c-abi` only.

pub mod api;
pub mod device;
#[cfg(feature = "c-abi")]
pub mod exports;
pub mod program;
pub mod table;
pub mod types;

mod describe;
mod last_error;
