//! `aitmlir-reduce`: MLIR's test-case reducer with the `ait` dialect and every pass of ours.

use std::process::ExitCode;

fn main() -> ExitCode {
    aitmlir_passes::register_all();
    aitmlir_lowering::register_all();
    aitmlir_driver::tools::run(aitmlir_dialects::ffi::aitmlirReduceMain)
}
