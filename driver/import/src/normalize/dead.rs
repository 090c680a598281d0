//! Drops nodes and initializers that no output needs.

use std::collections::HashSet;

use crate::model::{Graph, Model};

/// Drops them, also in nested graphs. A result that nobody uses becomes an output left out; all inputs stay.
pub fn drop_dead(model: &mut Model) {
    clean(&mut model.graph);
}

fn clean(graph: &mut Graph) {
    graph.nodes.iter_mut().flat_map(|n| n.graphs_mut()).for_each(clean);
    let mut live: HashSet<String> = graph.outputs.iter().map(|v| v.name.clone()).collect();
    let mut kept = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes).into_iter().rev() {
        for output in &mut node.outputs {
            output.take_if(|name| !live.contains(name));
        }
        if node.outputs.iter().any(Option::is_some) {
            live.extend(node.uses().into_iter().map(str::to_string));
            kept.push(node);
        }
    }
    kept.reverse();
    graph.nodes = kept;
    graph.initializers.retain(|t| live.contains(&t.name));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Node, Tensor, ValueInfo};

    #[test]
    fn only_what_outputs_need_stays() {
        let value = |name: &str| ValueInfo { name: name.into(), ty: None };
        let branch = Graph {
            nodes: vec![Node::new("Neg", &["w"], &["n"]), Node::new("Abs", &["v"], &["unused"])],
            outputs: vec![value("n")],
            ..Graph::default()
        };
        let graph = Graph {
            inputs: vec![value("x")],
            initializers: vec![Tensor::from_i64s("w", &[1]), Tensor::from_i64s("v", &[1])],
            nodes: vec![
                Node::new("Dropout", &["x"], &["d", "mask"]),
                Node::new("Not", &["mask2"], &["dead"]),
                Node::new("If", &["d"], &["y"]).with("then_branch", branch),
            ],
            outputs: vec![value("y")],
            ..Graph::default()
        };
        let mut model = Model { graph, ..Model::default() };
        drop_dead(&mut model);
        let ops: Vec<_> = model.graph.nodes.iter().map(|n| n.op.as_str()).collect();
        assert_eq!(ops, ["Dropout", "If"]);
        assert_eq!(model.graph.nodes[0].outputs, [Some("d".into()), None]);
        assert_eq!(model.graph.initializers.len(), 1);
    }
}
