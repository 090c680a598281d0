//! Everything in a model that this compiler does not do, collected so that it is reported at once.

use std::fmt;

use crate::error::quote;
use crate::model::Node;

/// One node that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsupportedItem {
    /// Label of the node, see [`Node::label`].
    pub node: String,
    /// Operator, with its domain unless that is the default one.
    pub op: String,
    /// What is not supported.
    pub reason: String,
}

/// A list of [`UnsupportedItem`]s in graph order; an error once it is not empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unsupported {
    /// The nodes.
    pub items: Vec<UnsupportedItem>,
}

impl Unsupported {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that `node` cannot be compiled.
    pub fn add(&mut self, node: &Node, reason: impl Into<String>) {
        self.items.push(UnsupportedItem {
            node: node.label().to_string(),
            op: node.qualified_op(),
            reason: reason.into(),
        });
    }

    /// Adds what another list holds.
    pub fn extend(&mut self, other: Unsupported) {
        self.items.extend(other.items);
    }

    /// True when nothing was noted.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// `Ok` when nothing was noted.
    pub fn into_result(self) -> Result<(), Unsupported> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.items.len();
        write!(f, "{n} node{} of the model cannot be compiled:", if n == 1 { "" } else { "s" })?;
        for item in &self.items {
            write!(f, "\n  node {} ({}): {}", quote(&item.node), item.op, item.reason)?;
        }
        Ok(())
    }
}

impl std::error::Error for Unsupported {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_a_line() {
        let mut list = Unsupported::new();
        assert!(list.clone().into_result().is_ok());
        list.add(&Node::new("Det", &["x"], &["y"]), "no lowering");
        let odd = Node { name: "n1".into(), domain: "com.example".into(), ..Node::new("Odd", &["y"], &["z"]) };
        list.add(&odd, "unknown operator");
        let text = list.into_result().unwrap_err().to_string();
        assert_eq!(
            text,
            "2 nodes of the model cannot be compiled:\n  node `y` (Det): no lowering\n  node `n1` (com.example::Odd): unknown operator"
        );
    }
}
