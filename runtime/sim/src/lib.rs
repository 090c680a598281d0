//! A functional simulator of PTX: numbers, races, memory accesses and bank conflicts of GPU kernels without a GPU.
//!
//! ```
//! use ptx_sim::{Args, GlobalMemory, Launch, Use, compile, run};
//!
//! let ptx = "
//!     .version 8.6
//!     .target sm_90a
//!     .address_size 64
//!     .visible .entry twice(.param .u64 p) {
//!         .reg .b32 %r<3>;
//!         .reg .b64 %rd<4>;
//!         ld.param.b64 %rd1, [p];
//!         mov.u32 %r1, %tid.x;
//!         mul.wide.u32 %rd2, %r1, 4;
//!         add.s64 %rd3, %rd1, %rd2;
//!         ld.global.b32 %r2, [%rd3];
//!         add.s32 %r2, %r2, %r2;
//!         st.global.b32 [%rd3], %r2;
//!         ret;
//!     }";
//! let mut global = GlobalMemory::default();
//! let program = compile(ptx, "twice", &mut global)?;
//! let p = global.allocate("p", 128, Use::InOut);
//! global.upload(p, &[1; 128])?;
//! let launch = Launch { block: [32, 1, 1], params: Args::new(&program).u64(p).done()?, ..Launch::default() };
//! let outcome = run(&program, &launch, &global)?;
//! assert!(outcome.findings.is_empty());
//! assert_eq!(global.download(p, 4)?, [2; 4]);
//! # Ok::<(), ptx_sim::Error>(())
//! ```

// An access is who (warp, lane), where (instruction, address) and what; structs for each would only rename that.
#![allow(clippy::too_many_arguments)]

pub mod args;
pub mod check;
pub mod counters;
pub mod decode;
mod error;
pub mod exec;
pub mod machine;
pub mod memory;
pub mod numeric;
pub mod program;
pub mod report;
pub mod setup;
pub mod suite;
pub mod syntax;
pub mod tensor;

pub use args::Args;
pub use check::Checks;
pub use check::finding::{Finding, Kind};
pub use decode::{compile, kernels};
pub use error::{Error, Result};
pub use machine::grid::{Launch, Outcome, run};
pub use memory::global::{GlobalMemory, Use};
pub use program::Program;
pub use tensor::map::{Element, Im2col, Swizzle, TensorMap};
