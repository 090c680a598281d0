//! The generated references say what the sources say.

use std::{path::Path, process::Command};

#[test]
fn generated_docs_are_fresh() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/docs");
    let output = Command::new(script)
        .arg("--check")
        .env("AITMLIR_DOCS", env!("CARGO_BIN_EXE_aitmlir-docs"))
        .output()
        .expect("scripts/docs runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
