//! The wire format, generated from `proto/onnx.proto` by the binary `generate-onnx-proto`. Weights stay slices of the
//! buffer that is decoded.

#[allow(missing_docs, clippy::all, clippy::unwrap_used)]
#[rustfmt::skip]
mod generated;

pub use generated::*;

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Digest of (schema, generated code); `BLESS=1` writes it.
    #[test]
    fn generated_code_is_fresh() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut hash = blake3::Hasher::new();
        for file in ["proto/onnx.proto", "src/proto/generated.rs"] {
            hash.update(&std::fs::read(root.join(file)).unwrap());
        }
        let found = hash.finalize().to_hex().to_string();
        let digest = root.join("proto/digest");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&digest, format!("{found}\n")).unwrap();
        }
        let expected = std::fs::read_to_string(&digest).unwrap();
        assert_eq!(found, expected.trim(), "run generate-onnx-proto, then this test with BLESS=1");
    }
}
