//! Nodes and the typed access to their attributes.

use std::collections::BTreeMap;

use super::{Attribute, DType, Graph, Tensor, Type};
use crate::error::quote;
use crate::operators;

/// One call of an operator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// Its name; may be empty and need not be unique. Messages use [`Node::label`].
    pub name: String,
    /// Domain of the operator; `""` is the default one.
    pub domain: String,
    /// The operator.
    pub op: String,
    /// Tells model-local functions of the same name apart; usually empty.
    pub overload: String,
    /// Version of the operator set that this node is written for (0: the model imports none for its domain).
    pub opset: i64,
    /// Names of the values it uses. `None`: an optional input left out. The last one is never `None`.
    pub inputs: Vec<Option<String>>,
    /// Names of its results. `None`: nobody wants it. Never shortened, so that variadic outputs can be counted.
    pub outputs: Vec<Option<String>>,
    /// Its attributes, by name.
    pub attributes: BTreeMap<String, Attribute>,
}

/// A node says something that its operator does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("node {} ({op}): {reason}", quote(node))]
pub struct NodeError {
    /// Label of the node.
    pub node: String,
    /// Its operator.
    pub op: String,
    /// What is wrong.
    pub reason: String,
}

/// Accessors of one attribute type: required, optional, with a default.
macro_rules! accessors {
    ($what:literal, $variant:pat => $value:expr, $type:ty, $required:ident, $optional:ident) => {
        #[doc = concat!("The attribute `name`, ", $what, "; an error where it is absent.")]
        pub fn $required(&self, name: &str) -> Result<$type, NodeError> {
            self.$optional(name)?.ok_or_else(|| self.missing_attribute(name))
        }

        #[doc = concat!("The attribute `name`, ", $what, ", or `None` where it is absent.")]
        pub fn $optional(&self, name: &str) -> Result<Option<$type>, NodeError> {
            match self.attributes.get(name) {
                None => Ok(None),
                Some($variant) => Ok(Some($value)),
                Some(other) => Err(self.wrong_kind(name, $what, other)),
            }
        }
    };
}

impl Node {
    /// A node of the default domain at the newest operator set, without attributes; `""` is an input left out.
    pub fn new(op: &str, inputs: &[&str], outputs: &[&str]) -> Self {
        let names = |list: &[&str]| list.iter().map(|n| (!n.is_empty()).then(|| n.to_string())).collect();
        Node {
            op: op.to_string(),
            opset: operators::NEWEST_OPSET,
            inputs: names(inputs),
            outputs: names(outputs),
            ..Node::default()
        }
    }

    /// The same node with an attribute.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Attribute>) -> Self {
        self.attributes.insert(name.to_string(), value.into());
        self
    }

    /// What messages call it: its name, else its first result.
    pub fn label(&self) -> &str {
        if self.name.is_empty() { self.outputs.iter().flatten().next().map_or("", String::as_str) } else { &self.name }
    }

    /// The operator, with its domain unless that is the default one.
    pub fn qualified_op(&self) -> String {
        if self.domain.is_empty() { self.op.clone() } else { format!("{}::{}", self.domain, self.op) }
    }

    /// The version of the operator that is in force: the last one not after [`Node::opset`]. `None`: unknown operator, or
    /// one that this operator set does not have (yet, or any more).
    pub fn since_version(&self) -> Option<i64> {
        operators::since_version(&self.domain, &self.op, self.opset)
    }

    /// The version of the operator that an importer must follow, or why there is none: the operator set is not imported, too
    /// old or too new, or has no such operator. In domains without a table it is the version of the operator set.
    pub fn version(&self) -> Result<i64, String> {
        operators::version(&self.domain, &self.op, self.opset)
    }

    /// Name of input `i`, `None` where it is left out.
    pub fn input(&self, i: usize) -> Option<&str> {
        self.inputs.get(i)?.as_deref()
    }

    /// Name of input `i`, an error where it is left out.
    pub fn required_input(&self, i: usize) -> Result<&str, NodeError> {
        self.input(i).ok_or_else(|| self.error(format!("input {i} is missing")))
    }

    /// Name of output `i`, `None` where nobody wants it.
    pub fn output(&self, i: usize) -> Option<&str> {
        self.outputs.get(i)?.as_deref()
    }

    /// The nested graphs of all attributes.
    pub fn graphs(&self) -> impl Iterator<Item = &Graph> {
        self.attributes.values().flat_map(|a| a.graphs())
    }

    /// The nested graphs of all attributes.
    pub fn graphs_mut(&mut self) -> impl Iterator<Item = &mut Graph> {
        self.attributes.values_mut().flat_map(|a| a.graphs_mut())
    }

    /// An error at this node.
    pub fn error(&self, reason: impl Into<String>) -> NodeError {
        NodeError { node: self.label().to_string(), op: self.qualified_op(), reason: reason.into() }
    }

    /// True when the attribute is there.
    pub fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    accessors!("an integer", Attribute::Int(v) => *v, i64, int, opt_int);
    accessors!("a float", Attribute::Float(v) => *v, f32, float, opt_float);
    accessors!("integers", Attribute::Ints(v) => v.as_slice(), &[i64], ints, opt_ints);
    accessors!("floats", Attribute::Floats(v) => v.as_slice(), &[f32], floats, opt_floats);
    accessors!("a tensor", Attribute::Tensor(v) => v, &Tensor, tensor, opt_tensor);
    accessors!("a graph", Attribute::Graph(v) => v, &Graph, graph, opt_graph);
    accessors!("a type", Attribute::Type(v) => v, &Type, type_attribute, opt_type_attribute);

    /// The integer attribute `name`, or `default` where it is absent.
    pub fn int_or(&self, name: &str, default: i64) -> Result<i64, NodeError> {
        Ok(self.opt_int(name)?.unwrap_or(default))
    }

    /// The integer attribute `name` as a truth value (0 or 1), or `default` where it is absent.
    pub fn bool_or(&self, name: &str, default: bool) -> Result<bool, NodeError> {
        match self.opt_int(name)? {
            None => Ok(default),
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            Some(n) => Err(self.error(format!("attribute {} is {n}, expected 0 or 1", quote(name)))),
        }
    }

    /// The float attribute `name`, or `default` where it is absent.
    pub fn float_or(&self, name: &str, default: f32) -> Result<f32, NodeError> {
        Ok(self.opt_float(name)?.unwrap_or(default))
    }

    /// The attribute `name`, a string; an error where it is absent.
    pub fn string(&self, name: &str) -> Result<&str, NodeError> {
        self.opt_string(name)?.ok_or_else(|| self.missing_attribute(name))
    }

    /// The attribute `name`, a string, or `None` where it is absent.
    pub fn opt_string(&self, name: &str) -> Result<Option<&str>, NodeError> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(Attribute::String(v)) => self.text(name, v).map(Some),
            Some(other) => Err(self.wrong_kind(name, "a string", other)),
        }
    }

    /// The string attribute `name`, or `default` where it is absent.
    pub fn string_or<'a>(&'a self, name: &str, default: &'a str) -> Result<&'a str, NodeError> {
        Ok(self.opt_string(name)?.unwrap_or(default))
    }

    /// The attribute `name`, strings, or `None` where it is absent.
    pub fn opt_strings(&self, name: &str) -> Result<Option<Vec<&str>>, NodeError> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(Attribute::Strings(list)) => {
                list.iter().map(|v| self.text(name, v)).collect::<Result<_, _>>().map(Some)
            }
            Some(other) => Err(self.wrong_kind(name, "strings", other)),
        }
    }

    /// The attribute `name` that numbers an element type (`to`, `dtype`, ...), or `None` where it is absent.
    pub fn opt_dtype(&self, name: &str) -> Result<Option<DType>, NodeError> {
        let Some(number) = self.opt_int(name)? else {
            return Ok(None);
        };
        let known = DType::from_onnx(number);
        known.map(Some).ok_or_else(|| self.error(format!("attribute {}: no element type {number}", quote(name))))
    }

    fn text<'a>(&self, name: &str, bytes: &'a [u8]) -> Result<&'a str, NodeError> {
        std::str::from_utf8(bytes).map_err(|_| self.error(format!("attribute {} is not UTF-8", quote(name))))
    }

    fn missing_attribute(&self, name: &str) -> NodeError {
        self.error(format!("attribute {} is missing", quote(name)))
    }

    fn wrong_kind(&self, name: &str, expected: &str, found: &Attribute) -> NodeError {
        self.error(format!("attribute {} is {}, expected {expected}", quote(name), found.kind()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_defaults_and_errors() {
        let node = Node::new("Gemm", &["a", "b"], &["y"]).with("transA", 1).with("alpha", 0.5f32);
        assert_eq!(node.int("transA"), Ok(1));
        assert_eq!(node.bool_or("transB", false), Ok(false));
        assert_eq!(node.float_or("alpha", 1.0), Ok(0.5));
        let text = node.int("alpha").unwrap_err().to_string();
        assert_eq!(text, "node `y` (Gemm): attribute `alpha` is a float, expected an integer");
        let text = node.ints("axes").unwrap_err().to_string();
        assert_eq!(text, "node `y` (Gemm): attribute `axes` is missing");
        assert_eq!(node.required_input(2).unwrap_err().to_string(), "node `y` (Gemm): input 2 is missing");
    }

    #[test]
    fn since_version_follows_the_opset() {
        let node = |opset| Node { opset, ..Node::new("Softmax", &["x"], &["y"]) };
        assert_eq!(node(9).since_version(), Some(1));
        assert_eq!(node(12).since_version(), Some(11));
        assert_eq!(node(26).since_version(), Some(13));
    }
}
