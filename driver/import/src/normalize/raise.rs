//! Brings nodes of operator sets before 7 up to 7, where that changes nothing.
//!
//! Version 7 brought multidirectional broadcasting and took the switch between training and inference out of operators. A
//! node that cannot be brought up keeps its version; [`Node::version`] then says that it is too old.

use std::collections::{HashMap, HashSet};

use crate::model::{Attribute, Graph, Model, Node};
use crate::operators::{OLDEST_OPSET, since_version};

/// Raises every node it can, also in nested graphs.
pub fn raise_opsets(model: &mut Model) {
    raise(&mut model.graph, &HashMap::new());
}

fn raise(graph: &mut Graph, around: &HashMap<String, usize>) {
    let old = |n: &Node| n.domain.is_empty() && (1..OLDEST_OPSET).contains(&n.opset);
    if !graph.nodes.iter().any(|n| old(n) || n.graphs().next().is_some()) {
        return;
    }
    let mut ranks = around.clone();
    ranks.extend(declared_ranks(graph));
    let mut taken: HashSet<String> = graph.defined().map(str::to_string).collect();
    let mut raised = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes) {
        note_rank(&node, &mut ranks);
        node.graphs_mut().for_each(|g| raise(g, &ranks));
        if old(&node) {
            raised.extend(raise_node(&mut node, &ranks, &mut taken));
        }
        raised.push(node);
    }
    graph.nodes = raised;
}

fn declared_ranks(graph: &Graph) -> HashMap<String, usize> {
    let values = graph.inputs.iter().chain(&graph.outputs).chain(&graph.value_infos);
    let values = values.filter_map(|v| Some((v.name.clone(), v.tensor_type()?.shape.as_ref()?.len())));
    values.chain(graph.initializers.iter().map(|t| (t.name.clone(), t.dims.len()))).collect()
}

/// Ranks through the operators that old files put between inputs and a broadcast.
fn note_rank(node: &Node, ranks: &mut HashMap<String, usize>) {
    const SAME_RANK: &[&str] = &[
        "Abs",
        "AveragePool",
        "BatchNormalization",
        "Cast",
        "Clip",
        "Concat",
        "Conv",
        "ConvTranspose",
        "Dropout",
        "Elu",
        "Exp",
        "Identity",
        "InstanceNormalization",
        "LRN",
        "LeakyRelu",
        "Log",
        "MaxPool",
        "Neg",
        "PRelu",
        "Pad",
        "Relu",
        "Sigmoid",
        "Slice",
        "Softmax",
        "Sqrt",
        "Tanh",
        "Transpose",
        "Upsample",
    ];
    let Some(output) = node.output(0) else { return };
    let rank = match node.attributes.get("value") {
        Some(Attribute::Tensor(t)) if node.op == "Constant" => Some(t.dims.len()),
        _ if SAME_RANK.contains(&node.op.as_str()) || BROADCAST.contains(&node.op.as_str()) => {
            node.input(0).and_then(|name| ranks.get(name).copied())
        }
        _ => None,
    };
    if let Some(rank) = rank {
        ranks.entry(output.to_string()).or_insert(rank);
    }
}

/// Binary operators that broadcast their second operand only, on request, before version 7.
const BROADCAST: &[&str] = &["Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"];

/// Raises one node if it can; gives the node to put before it, if one is needed.
fn raise_node(node: &mut Node, ranks: &HashMap<String, usize>, taken: &mut HashSet<String>) -> Option<Node> {
    let in_force = |opset| since_version("", &node.op, opset);
    let current = in_force(node.opset)?;
    if Some(current) == in_force(OLDEST_OPSET) {
        node.opset = OLDEST_OPSET;
        return None;
    }
    if Some(current) != in_force(OLDEST_OPSET - 1) {
        return None;
    }
    let rank = |i| node.input(i).and_then(|name| ranks.get(name).copied());
    let operand_rank = rank(1).unwrap_or(0);
    let appended = match node.op.as_str() {
        "PRelu" if rank(1) == Some(1) => rank(0).map(|x| x.saturating_sub(2)),
        "PRelu" => rank(1).map(|_| 0),
        op if BROADCAST.contains(&op) => broadcast_axes(node, rank(0), rank(1)),
        "BatchNormalization" | "Dropout" => (node.int_or("is_test", 0) == Ok(1)).then_some(0),
        "AveragePool" | "GRU" | "Gemm" | "LSTM" | "RNN" => Some(0),
        _ => None,
    }?;
    for gone in ["axis", "broadcast", "is_test", "output_sequence"] {
        node.attributes.remove(gone);
    }
    node.opset = OLDEST_OPSET;
    (appended > 0).then(|| append_axes(node, appended, operand_rank, taken))?
}

/// How many axes of 1 the second operand needs at its end, so that it broadcasts as `axis` says. `None`: not known.
fn broadcast_axes(node: &Node, a: Option<usize>, b: Option<usize>) -> Option<usize> {
    if node.int_or("broadcast", 0).ok()? == 0 {
        return Some(0);
    }
    let Some(axis) = node.opt_int("axis").ok()? else {
        return Some(0);
    };
    let (a, b) = (a?, b?);
    let axis = if axis < 0 { axis + i64::try_from(a).ok()? } else { axis };
    a.checked_sub(usize::try_from(axis).ok()?)?.checked_sub(b)
}

/// An `Unsqueeze` of the second operand, whose result takes its place.
fn append_axes(node: &mut Node, count: usize, rank: usize, taken: &mut HashSet<String>) -> Option<Node> {
    let operand = node.inputs.get_mut(1)?;
    let source = operand.clone()?;
    let mut name = format!("{source}/aligned");
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    *operand = Some(name.clone());
    let axes: Vec<i64> = (rank..rank + count).filter_map(|axis| i64::try_from(axis).ok()).collect();
    let label = format!("{}/align", node.label());
    let unsqueeze = Node { name: label, opset: OLDEST_OPSET, ..Node::new("Unsqueeze", &[&source], &[&name]) };
    Some(unsqueeze.with("axes", axes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DType, Dim, ValueInfo};

    /// The nodes after raising `node`, of version 6, over `x` of rank 4 and `b` of rank 1.
    fn raised(node: Node) -> Vec<Node> {
        let value = |name: &str, rank| ValueInfo::tensor(name, DType::F32, &vec![Dim::Static(3); rank]);
        let inputs = vec![value("x", 4), value("b", 1)];
        let nodes = vec![Node { opset: 6, ..Node::new("Relu", &["x"], &["r"]) }, Node { opset: 6, ..node }];
        let mut model = Model { graph: Graph { inputs, nodes, ..Graph::default() }, ..Model::default() };
        raise_opsets(&mut model);
        assert_eq!(model.graph.nodes.remove(0).opset, 7);
        model.graph.nodes
    }

    fn binary() -> Node {
        Node::new("Add", &["r", "b"], &["y"])
    }

    #[test]
    fn broadcasts_are_aligned() {
        let nodes = raised(binary().with("broadcast", 1i64).with("axis", 1i64));
        assert_eq!(nodes[0].ints("axes"), Ok(&[1, 2][..]));
        assert_eq!(nodes[1], Node { opset: 7, ..Node::new("Add", &["r", "b/aligned"], &["y"]) });
        for node in [binary(), binary().with("broadcast", 1i64), binary().with("broadcast", 1i64).with("axis", -1i64)] {
            assert_eq!(raised(node), [Node { opset: 7, ..binary() }]);
        }
        let unknown = Node::new("Add", &["r", "q"], &["y"]).with("broadcast", 1i64).with("axis", 1i64);
        assert_eq!(raised(unknown)[0].opset, 6);
    }

    #[test]
    fn a_slope_is_one_a_channel() {
        let nodes = raised(Node::new("PRelu", &["x", "b"], &["y"]));
        assert_eq!(nodes[0].ints("axes"), Ok(&[1, 2][..]));
    }

    #[test]
    fn training_stays_old() {
        let norm = |is_test: i64| Node::new("BatchNormalization", &["x"], &["y"]).with("is_test", is_test);
        assert_eq!(raised(norm(1))[0].opset, 7);
        assert_eq!(raised(norm(0))[0].opset, 6);
        assert_eq!(raised(Node::new("Upsample", &["x"], &["y"]))[0].opset, 6);
    }
}
