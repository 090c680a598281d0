//! Checks that names mean one thing each.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result, quote};
use crate::model::{Graph, Model, Node};

/// Every name of a graph is defined once, every name that is used is defined in the graph or one around it, and the outputs
/// of the main graph have different names. A nested graph may define a name that one around it has, too.
pub fn check_names(model: &Model) -> Result<()> {
    check(&model.graph, &HashSet::new())?;
    let mut seen = HashSet::new();
    for output in &model.graph.outputs {
        if !seen.insert(&output.name) {
            return Err(Error::malformed(format!("output {}", quote(&output.name)), "stands twice"));
        }
    }
    Ok(())
}

fn check(graph: &Graph, around: &HashSet<&str>) -> Result<()> {
    let mut visible = around.clone();
    visible.extend(definitions(graph)?.into_keys());
    for node in &graph.nodes {
        if let Some(name) = node.inputs.iter().flatten().find(|n| !visible.contains(n.as_str())) {
            return Err(node.error(format!("uses {}, which nothing defines", quote(name))).into());
        }
        node.graphs().try_for_each(|g| check(g, &visible))?;
    }
    match graph.outputs.iter().find(|v| !visible.contains(v.name.as_str())) {
        None => Ok(()),
        Some(v) => {
            let place = format!("output {} of graph {}", quote(&v.name), quote(&graph.name));
            Err(Error::malformed(place, "nothing defines it"))
        }
    }
}

/// What defines a name.
#[derive(Clone, Copy)]
enum Definition<'a> {
    Input,
    Initializer,
    Node(&'a Node),
}

impl Definition<'_> {
    fn text(self) -> String {
        match self {
            Definition::Input => "an input".into(),
            Definition::Initializer => "an initializer".into(),
            Definition::Node(node) => format!("a result of node {} ({})", quote(node.label()), node.qualified_op()),
        }
    }
}

fn definitions(graph: &Graph) -> Result<HashMap<&str, Definition<'_>>> {
    let inputs = graph.inputs.iter().map(|v| (v.name.as_str(), Definition::Input));
    let initializers = graph.initializers.iter().map(|t| (t.name.as_str(), Definition::Initializer));
    let results =
        graph.nodes.iter().flat_map(|n| n.outputs.iter().flatten().map(move |o| (o.as_str(), Definition::Node(n))));
    let mut all = HashMap::new();
    for (name, definition) in inputs.chain(initializers).chain(results) {
        if name.is_empty() {
            return Err(Error::malformed(
                format!("graph {}", quote(&graph.name)),
                format!("{} has no name", definition.text()),
            ));
        }
        if let Some(first) = all.insert(name, definition) {
            let reason = format!("is defined twice: as {} and as {}", first.text(), definition.text());
            return Err(Error::malformed(format!("value {}", quote(name)), reason));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Tensor, ValueInfo};

    fn value(name: &str) -> ValueInfo {
        ValueInfo { name: name.into(), ty: None }
    }

    fn error(graph: Graph) -> String {
        check_names(&Model { graph, ..Model::default() }).unwrap_err().to_string()
    }

    #[test]
    fn names_are_defined_once() {
        let w = || Tensor::from_i64s("w", &[1]);
        let twice = Graph { initializers: vec![w(), w()], ..Graph::default() };
        let text = "malformed model: value `w`: is defined twice: as an initializer and as an initializer";
        assert_eq!(error(twice), text);
        let nodes = vec![Node::new("Neg", &["w"], &["y"]), Node::new("Abs", &["w"], &["y"])];
        let text = error(Graph { initializers: vec![w()], nodes, ..Graph::default() });
        assert!(text.ends_with("as a result of node `y` (Neg) and as a result of node `y` (Abs)"), "{text}");
    }

    #[test]
    fn names_are_defined_somewhere() {
        let nodes = vec![Node { name: "n".into(), ..Node::new("Neg", &["absent"], &["y"]) }];
        assert_eq!(error(Graph { nodes, ..Graph::default() }), "node `n` (Neg): uses `absent`, which nothing defines");
        let graph = Graph { name: "g".into(), outputs: vec![value("y")], ..Graph::default() };
        assert_eq!(error(graph), "malformed model: output `y` of graph `g`: nothing defines it");
        let graph = Graph { inputs: vec![value("x")], outputs: vec![value("x"), value("x")], ..Graph::default() };
        assert_eq!(error(graph), "malformed model: output `x`: stands twice");
    }

    #[test]
    fn nested_graphs_see_and_shadow_names_around_them() {
        let branch =
            Graph { nodes: vec![Node::new("Neg", &["later"], &["x"])], outputs: vec![value("x")], ..Graph::default() };
        let nodes =
            vec![Node::new("If", &["x"], &["y"]).with("then_branch", branch), Node::new("Abs", &["x"], &["later"])];
        let graph = Graph { inputs: vec![value("x")], nodes, outputs: vec![value("y")], ..Graph::default() };
        assert!(check_names(&Model { graph, ..Model::default() }).is_ok());
    }
}
