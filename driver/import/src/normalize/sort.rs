//! Puts nodes after what they use.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::error::{Error, Result, quote};
use crate::model::{Graph, Model};
use crate::warning::Warning;

/// Sorts the nodes of every graph topologically, keeping their order wherever it is possible; one warning a graph. A cycle is
/// an error that names its nodes.
pub fn sort_nodes(model: &mut Model) -> Result<()> {
    sort(&mut model.graph, &mut model.warnings)
}

fn sort(graph: &mut Graph, warnings: &mut Vec<Warning>) -> Result<()> {
    for node in &mut graph.nodes {
        node.graphs_mut().try_for_each(|g| sort(g, warnings))?;
    }
    let needs = dependencies(graph);
    let early = needs.iter().enumerate().filter(|(i, needs)| needs.iter().any(|n| n >= i)).count();
    if early == 0 {
        return Ok(());
    }
    let order = stable_order(&needs);
    if order.len() < needs.len() {
        return Err(cycle_error(graph, &needs, &order));
    }
    let mut nodes: Vec<_> = std::mem::take(&mut graph.nodes).into_iter().map(Some).collect();
    graph.nodes = order.into_iter().filter_map(|i| nodes.get_mut(i).and_then(Option::take)).collect();
    warnings.push(Warning::Unsorted { graph: graph.name.clone(), early });
    Ok(())
}

/// For each node the nodes of the same graph that it uses.
fn dependencies(graph: &Graph) -> Vec<Vec<usize>> {
    let mut producer = HashMap::new();
    for (i, node) in graph.nodes.iter().enumerate() {
        producer.extend(node.outputs.iter().flatten().map(|name| (name.as_str(), i)));
    }
    let needs = |names: Vec<&str>| {
        let mut needs: Vec<usize> = names.into_iter().filter_map(|name| producer.get(name).copied()).collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    };
    graph.nodes.iter().map(|node| needs(node.uses())).collect()
}

/// At each step the first node whose needs are met. Shorter than `needs` when there is a cycle.
fn stable_order(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut users = vec![Vec::new(); needs.len()];
    let mut missing: Vec<usize> = needs.iter().map(Vec::len).collect();
    for (i, list) in needs.iter().enumerate() {
        list.iter().filter_map(|&n| users.get_mut(n).map(|u: &mut Vec<usize>| u.push(i))).for_each(drop);
    }
    let mut ready: BinaryHeap<_> = missing.iter().enumerate().filter(|m| *m.1 == 0).map(|m| Reverse(m.0)).collect();
    let mut order = Vec::with_capacity(needs.len());
    while let Some(Reverse(i)) = ready.pop() {
        order.push(i);
        for &user in users.get(i).into_iter().flatten() {
            if let Some(count) = missing.get_mut(user) {
                *count -= 1;
                if *count == 0 {
                    ready.push(Reverse(user));
                }
            }
        }
    }
    order
}

fn cycle_error(graph: &Graph, needs: &[Vec<usize>], order: &[usize]) -> Error {
    let mut stuck = vec![true; needs.len()];
    order.iter().for_each(|&i| stuck[i] = false);
    // Every stuck node needs a stuck one, so following them ends in the cycle.
    let mut path: Vec<usize> = Vec::new();
    let mut at = stuck.iter().position(|&s| s);
    while let Some(i) = at.filter(|i| !path.contains(i)) {
        path.push(i);
        at = needs[i].iter().copied().find(|&n| stuck[n]);
    }
    let start = path.iter().position(|&i| Some(i) == at).unwrap_or(0);
    let labels = path[start..].iter().chain(at.iter()).map(|&i| quote(graph.nodes[i].label()));
    let text = labels.collect::<Vec<_>>().join(" uses ");
    Error::malformed(format!("graph {}", quote(&graph.name)), format!("nodes form a cycle: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Node;

    fn model(nodes: Vec<Node>) -> Model {
        Model { graph: Graph { name: "g".into(), nodes, ..Graph::default() }, ..Model::default() }
    }

    fn results(model: &Model) -> Vec<&str> {
        model.graph.nodes.iter().map(Node::label).collect()
    }

    #[test]
    fn sorted_nodes_stay() {
        let mut model = model(vec![Node::new("A", &["x"], &["a"]), Node::new("B", &["a"], &["b"])]);
        sort_nodes(&mut model).unwrap();
        assert_eq!(results(&model), ["a", "b"]);
        assert!(model.warnings.is_empty());
    }

    #[test]
    fn unsorted_nodes_are_sorted_stably_with_one_warning() {
        let body = Graph { nodes: vec![Node::new("Neg", &["b"], &["inner"])], ..Graph::default() };
        let mut model = model(vec![
            Node::new("First", &["x"], &["first"]),
            Node::new("Loop", &[], &["l"]).with("body", body),
            Node::new("C", &["b"], &["c"]),
            Node::new("A", &["x"], &["a"]),
            Node::new("B", &["a"], &["b"]),
        ]);
        sort_nodes(&mut model).unwrap();
        assert_eq!(results(&model), ["first", "a", "b", "l", "c"]);
        assert_eq!(model.warnings, [Warning::Unsorted { graph: "g".into(), early: 2 }]);
    }

    #[test]
    fn a_cycle_is_named() {
        let mut model = model(vec![
            Node::new("D", &["c"], &["d"]),
            Node::new("A", &["c"], &["a"]),
            Node::new("B", &["a"], &["b"]),
            Node::new("C", &["b"], &["c"]),
        ]);
        let text = sort_nodes(&mut model).unwrap_err().to_string();
        assert_eq!(text, "malformed model: graph `g`: nodes form a cycle: `c` uses `b` uses `a` uses `c`");
    }
}
