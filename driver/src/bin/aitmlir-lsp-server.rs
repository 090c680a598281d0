//! `aitmlir-lsp-server`: MLIR's language server, which knows the `ait` dialect, for editors.

use std::process::ExitCode;

fn main() -> ExitCode {
    aitmlir_driver::tools::run(aitmlir_dialects::ffi::aitmlirLspServerMain)
}
