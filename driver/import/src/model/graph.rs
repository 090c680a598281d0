//! Graphs, the main one and those nested in attributes.

use std::collections::HashSet;

use super::{Node, Tensor, ValueInfo};

/// Nodes over named values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    /// Its name.
    pub name: String,
    /// Inputs, in order.
    pub inputs: Vec<ValueInfo>,
    /// Outputs, in order; each names an input, an initializer or a result of a node (in a nested graph also of a graph
    /// around it).
    pub outputs: Vec<ValueInfo>,
    /// Constants, by their [`Tensor::name`].
    pub initializers: Vec<Tensor>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Declared types of other values: hints.
    pub value_infos: Vec<ValueInfo>,
}

impl Graph {
    /// The initializer of this name.
    pub fn initializer(&self, name: &str) -> Option<&Tensor> {
        self.initializers.iter().find(|t| t.name == name)
    }

    /// What the model says of a value: an input's, an output's or a hint.
    pub fn value_info(&self, name: &str) -> Option<&ValueInfo> {
        self.inputs.iter().chain(&self.outputs).chain(&self.value_infos).find(|v| v.name == name)
    }

    /// Names that this graph defines, in order: inputs, initializers, results.
    pub fn defined(&self) -> impl Iterator<Item = &str> {
        let inputs = self.inputs.iter().map(|v| v.name.as_str());
        let initializers = self.initializers.iter().map(|t| t.name.as_str());
        let results = self.nodes.iter().flat_map(|n| n.outputs.iter().flatten()).map(String::as_str);
        inputs.chain(initializers).chain(results)
    }

    /// Names that it uses from the graphs around it, each once, in order of first use.
    pub fn captures(&self) -> Vec<&str> {
        let defined: HashSet<&str> = self.defined().collect();
        let mut seen = HashSet::new();
        let mut captures = Vec::new();
        let mut visit = |name| {
            if !defined.contains(name) && seen.insert(name) {
                captures.push(name);
            }
        };
        for node in &self.nodes {
            node.uses().into_iter().for_each(&mut visit);
        }
        self.outputs.iter().for_each(|v| visit(&v.name));
        captures
    }
}

impl Node {
    /// Names that it uses: its inputs, then what its nested graphs capture.
    pub fn uses(&self) -> Vec<&str> {
        let mut uses: Vec<&str> = self.inputs.iter().flatten().map(String::as_str).collect();
        self.graphs().for_each(|g| uses.extend(g.captures()));
        uses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> ValueInfo {
        ValueInfo { name: name.to_string(), ty: None }
    }

    #[test]
    fn captures_cross_two_levels() {
        let inner = Graph {
            nodes: vec![Node::new("Add", &["a", "local"], &["z"])],
            outputs: vec![value("z")],
            ..Graph::default()
        };
        let outer = Graph {
            nodes: vec![
                Node::new("Neg", &["b"], &["local"]),
                Node::new("If", &["c"], &["y"]).with("then_branch", inner.clone()).with("else_branch", inner),
            ],
            outputs: vec![value("y"), value("b"), value("d")],
            ..Graph::default()
        };
        assert_eq!(outer.captures(), ["b", "c", "a", "d"]);
    }
}
