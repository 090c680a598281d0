//! `aitmlir-run`: runs, verifies, measures and inspects compiled models.

fn main() -> std::process::ExitCode {
    aitmlir_driver::run::cli::main()
}
