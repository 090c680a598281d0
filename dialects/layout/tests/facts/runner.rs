//! Runs the facts of the open CuTe IR: an operation, its operands, and the result it must have.

#[path = "ops.rs"]
pub mod ops;
#[path = "value.rs"]
pub mod value;

use ops::apply;
use value::{Value, operand, operands};

/// One line of `cute_ir_facts.json`.
pub struct Fact {
    pub op: String,
    pub attr: String,
    pub operands: String,
    pub result: String,
}

/// Facts that do not hold here, each with the reason.
pub const EXCEPTIONS: &[(&str, &str, &str)] = &[];

/// All facts.
pub fn facts() -> Vec<Fact> {
    let text = include_str!("../data/cute_ir_facts.json");
    let json: serde_json::Value = serde_json::from_str(text).expect("the facts are JSON");
    let field = |fact: &serde_json::Value, key: &str| fact[key].as_str().unwrap_or_default().to_string();
    let list = json.as_array().expect("the facts are a list").iter();
    list.map(|f| Fact {
        op: field(f, "op"),
        attr: field(f, "attr"),
        operands: field(f, "operands"),
        result: field(f, "result"),
    })
    .collect()
}

impl Fact {
    pub fn exception(&self) -> Option<&'static str> {
        EXCEPTIONS
            .iter()
            .find(|(op, operands, _)| *op == self.op && *operands == self.operands)
            .map(|(_, _, reason)| *reason)
    }

    /// Whether the fact holds; otherwise what came out instead. With `traced`, every `?` is given a
    /// name first, which must change nothing but what is known about how the result is computed.
    pub fn check(&self, traced: bool) -> Result<(), String> {
        let describe = |e: cute_layout::Error| e.to_string();
        let mut inputs = operands(&self.operands).map_err(describe)?;
        let expected = operand(&self.result).map_err(describe)?;
        let mut names = 0;
        for input in inputs.iter_mut().filter(|_| traced) {
            input.value = input.value.as_ref().map(|v| v.traced(&mut names));
        }
        let Some(wanted) = expected.value else {
            return match apply(&self.op, &self.attr, &inputs, None).map_err(describe)? {
                (kind, Value::Bool(_)) if kind == expected.kind => Ok(()),
                (kind, value) => Err(format!("{kind} {value}")),
            };
        };
        let (kind, value) = apply(&self.op, &self.attr, &inputs, Some(&wanted)).map_err(describe)?;
        let kind = if kind.is_empty() { expected.kind.clone() } else { kind };
        match kind == expected.kind && value.normalized() == wanted.normalized() {
            true => Ok(()),
            false => Err(format!("{kind} {value}")),
        }
    }
}
