//! The 1,350 facts of the open CuTe IR as operations: each must verify with the result type that the fact has.

use aitmlir_dialects::new_context;
use melior::ir::Module;

/// Operations that the open CuTe IR writes with the types of their operands in parentheses.
const WITHOUT_PARENTHESES: [&str; 14] = [
    "composed_get_inner",
    "composed_get_offset",
    "composed_get_outer",
    "get",
    "get_shape",
    "get_stride",
    "make_identity_layout",
    "make_layout_like",
    "recast_layout",
    "select",
    "to_coord",
    "to_int_tuple",
    "to_shape",
    "to_stride",
];

/// The types between commas that are not within quotes.
fn types(operands: &str) -> Vec<String> {
    let inner = operands.strip_prefix('(').and_then(|o| o.strip_suffix(')')).unwrap_or(operands);
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in inner.chars() {
        quoted ^= c == '"';
        match parts.last_mut() {
            _ if c == ',' && !quoted => parts.push(String::new()),
            Some(part) => part.push(c),
            None => {}
        }
    }
    parts.into_iter().map(|p| p.trim().to_string()).filter(|p| !p.is_empty()).collect()
}

#[test]
fn every_fact_of_the_open_cute_ir_verifies() {
    let facts: serde_json::Value =
        serde_json::from_str(include_str!("../layout/tests/data/cute_ir_facts.json")).expect("the facts are JSON");
    let facts = facts.as_array().expect("the facts are a list");
    let context = new_context();
    let mut broken = Vec::new();
    for fact in facts {
        let field = |key: &str| fact[key].as_str().unwrap_or_default();
        let (op, types) = (field("op"), types(field("operands")));
        let names: Vec<String> = (0..types.len()).map(|i| format!("%{i}")).collect();
        let arguments: Vec<String> = names.iter().zip(&types).map(|(name, t)| format!("{name}: {t}")).collect();
        let operands = match WITHOUT_PARENTHESES.contains(&op) {
            true => types.join(", "),
            false => format!("({})", types.join(", ")),
        };
        let (attribute, result) = (field("attr"), field("result"));
        let line = format!("%r = cute.{op}{attribute}({}) : {operands} -> {result}", names.join(", "));
        let text = format!("func.func @f({}) {{\n  {line}\n  return\n}}", arguments.join(", "));
        if Module::parse(&context, &text).is_none() {
            broken.push(line);
        }
    }
    assert_eq!(facts.len(), 1350);
    assert!(broken.is_empty(), "{} facts do not verify:\n{}", broken.len(), broken.join("\n"));
}
