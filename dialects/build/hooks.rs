//! Writes which C++ hooks of the cute dialect's ops and types forward to Rust, from the records that llvm-tblgen dumps as JSON.

use crate::schema::has_superclass;
use serde_json::Value;
use std::{error::Error, fmt::Write};

/// The text of `CuteHooks.inc`: one macro call for each hook of each op.
pub fn hooks(records: &Value) -> Result<String, Box<dyn Error>> {
    let records = records.as_object().ok_or("the dump is not an object")?;
    let mut text = String::new();
    for (key, record) in records {
        if !has_superclass(record, "Cute_Op") {
            continue;
        }
        let class = key.strip_prefix("Cute_").ok_or("an op def without the dialect's prefix")?;
        let inferred = has_superclass(record, "Cute_InferredOp");
        if record["hasVerifier"].as_i64() == Some(1) {
            writeln!(text, "VERIFY_IN_RUST({class})")?;
        }
        if inferred {
            writeln!(text, "FOLD_IN_RUST({class})")?;
        }
        if inferred || has_superclass(record, "Cute_FragmentOp") {
            writeln!(text, "INFER_IN_RUST({class})")?;
        }
    }
    Ok(text)
}

/// The text of `CuteTypeList.inc`: one macro call for each type.
pub fn types(records: &Value) -> Result<String, Box<dyn Error>> {
    let records = records.as_object().ok_or("the dump is not an object")?;
    let mut text = String::new();
    for record in records.values().filter(|record| has_superclass(record, "Cute_Type")) {
        let class = record["cppClassName"].as_str().ok_or("a type without a class")?;
        let name =
            record["typeName"].as_str().and_then(|name| name.strip_prefix("cute.")).ok_or("a type without a name")?;
        writeln!(text, "CUTE_TYPE({class}, {name:?})")?;
    }
    Ok(text)
}
