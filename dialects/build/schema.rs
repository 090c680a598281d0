//! Writes the operand groups of every op as a Rust table, from the records that llvm-tblgen dumps as JSON.

use serde_json::Value;
use std::{error::Error, fmt::Write};

/// The text of `ait_schema.rs`: `pub static OPS: &[OpSchema]`, sorted by name.
pub fn table(records: &Value) -> Result<String, Box<dyn Error>> {
    let records = records.as_object().ok_or("the dump is not an object")?;
    let mut rows = Vec::new();
    for (key, record) in records {
        if key.starts_with("Ait_") && has_superclass(record, "Ait_Op") {
            rows.push(row(records, record)?);
        }
    }
    rows.sort();
    let mut text = String::from("/// Every op of the dialect, sorted by name.\npub static OPS: &[OpSchema] = &[\n");
    for (_, row) in rows {
        text.push_str(&row);
    }
    text.push_str("];\n");
    Ok(text)
}

fn row(records: &serde_json::Map<String, Value>, record: &Value) -> Result<(String, String), Box<dyn Error>> {
    let mnemonic = record["opName"].as_str().ok_or("an op without a name")?;
    let mut groups = String::new();
    for argument in record["arguments"]["args"].as_array().ok_or("an op without arguments")? {
        let constraint = &records[argument[0]["def"].as_str().ok_or("an argument that is no def")?];
        if !has_superclass(constraint, "TypeConstraint") {
            continue;
        }
        let name = argument[1].as_str().ok_or("an argument without a name")?;
        let variadic = has_superclass(constraint, "Variadic") || has_superclass(constraint, "Optional");
        write!(groups, "OperandGroup {{ name: {name:?}, variadic: {variadic} }}, ")?;
    }
    let segments = record["traits"]
        .as_array()
        .is_some_and(|traits| traits.iter().any(|t| t["def"].as_str() == Some("AttrSizedOperandSegments")));
    let compute = has_superclass(record, "Ait_ComputeOp");
    let name = format!("ait.{mnemonic}");
    let text =
        format!("    OpSchema {{ name: {name:?}, groups: &[{groups}], segments: {segments}, compute: {compute} }},\n");
    Ok((name, text))
}

/// Whether a record derives from a class.
pub fn has_superclass(record: &Value, class: &str) -> bool {
    record["!superclasses"].as_array().is_some_and(|classes| classes.iter().any(|c| c.as_str() == Some(class)))
}
