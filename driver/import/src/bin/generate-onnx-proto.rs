//! Writes `src/proto/generated.rs` from `proto/onnx.proto`. Run it after a change of the schema.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = root.join("proto/onnx.proto");
    let files = protox::compile([&schema], [root.join("proto")])?;
    let out = std::env::temp_dir().join(format!("generate-onnx-proto-{}", std::process::id()));
    std::fs::create_dir_all(&out)?;
    prost_build::Config::new().bytes(["."]).out_dir(&out).compile_fds(files)?;
    let code = std::fs::read_to_string(out.join("onnx.rs"))?;
    let generated = root.join("src/proto/generated.rs");
    std::fs::write(&generated, code)?;
    std::fs::remove_dir_all(&out)?;
    println!("wrote {}", generated.display());
    println!("now run: BLESS=1 cargo test -p aitmlir-onnx generated_code_is_fresh");
    Ok(())
}
