//! Turns `Constant` nodes into initializers, so that there is one kind of constant.

use crate::error::{Result, quote};
use crate::model::{Attribute, DType, Data, Graph, Model, Node, NodeError, Tensor};

/// Does so in every graph. Some exporters write all weights as `Constant` nodes.
pub fn hoist_constants(model: &mut Model) -> Result<()> {
    hoist(&mut model.graph)
}

fn hoist(graph: &mut Graph) -> Result<()> {
    let mut kept = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes) {
        node.graphs_mut().try_for_each(hoist)?;
        match node.output(0).map(str::to_string) {
            Some(name) if node.op == "Constant" && node.domain.is_empty() => {
                graph.initializers.push(constant(node, name)?);
            }
            _ => kept.push(node),
        }
    }
    graph.nodes = kept;
    Ok(())
}

/// The value of a `Constant`, under the name of its result.
fn constant(mut node: Node, name: String) -> Result<Tensor, NodeError> {
    let error = node.error("expected one attribute with the value");
    let (Some((attribute, value)), true) = (node.attributes.pop_first(), node.attributes.is_empty()) else {
        return Err(error);
    };
    let vector = |len: usize| vec![i64::try_from(len).unwrap_or(i64::MAX)];
    let (dtype, dims, data) = match (attribute.as_str(), value) {
        ("value" | "sparse_value", Attribute::Tensor(tensor)) => {
            return Ok(Tensor { name, ..tensor });
        }
        ("value_float", Attribute::Float(v)) => (DType::F32, vec![], Data::F32(vec![v])),
        ("value_floats", Attribute::Floats(v)) => (DType::F32, vector(v.len()), Data::F32(v)),
        ("value_int", Attribute::Int(v)) => (DType::I64, vec![], Data::I64(vec![v])),
        ("value_ints", Attribute::Ints(v)) => (DType::I64, vector(v.len()), Data::I64(v)),
        ("value_string", Attribute::String(v)) => (DType::String, vec![], Data::Strings(vec![v])),
        ("value_strings", Attribute::Strings(v)) => (DType::String, vector(v.len()), Data::Strings(v)),
        (other, value) => {
            return Err(node.error(format!("attribute {} is {}", quote(other), value.kind())));
        }
    };
    Ok(Tensor { name, dtype, dims, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hoisted(node: Node) -> Result<Model> {
        let branch = Graph { nodes: vec![node], ..Graph::default() };
        let nodes = vec![Node::new("If", &["c"], &["y"]).with("then_branch", branch)];
        let mut model = Model { graph: Graph { nodes, ..Graph::default() }, ..Model::default() };
        hoist_constants(&mut model).map(|()| model)
    }

    fn value(attribute: &str, value: impl Into<Attribute>) -> (DType, Vec<i64>, Data) {
        let model = hoisted(Node::new("Constant", &[], &["k"]).with(attribute, value)).unwrap();
        let branch = model.graph.nodes[0].graph("then_branch").unwrap();
        assert!(branch.nodes.is_empty());
        let tensor = branch.initializer("k").unwrap().clone();
        (tensor.dtype, tensor.dims, tensor.data)
    }

    #[test]
    fn every_form_of_value() {
        assert_eq!(value("value", Tensor::from_i64s("", &[7])), (DType::I64, vec![1], Data::I64(vec![7])));
        assert_eq!(value("value_int", 7i64), (DType::I64, vec![], Data::I64(vec![7])));
        assert_eq!(value("value_ints", vec![1i64, 2]), (DType::I64, vec![2], Data::I64(vec![1, 2])));
        assert_eq!(value("value_float", 0.5f32), (DType::F32, vec![], Data::F32(vec![0.5])));
        assert_eq!(value("value_floats", vec![0.5f32]), (DType::F32, vec![1], Data::F32(vec![0.5])));
        assert_eq!(value("value_string", "s"), (DType::String, vec![], Data::Strings(vec!["s".into()])));
    }

    #[test]
    fn other_forms_are_errors() {
        let error = |node: Node| hoisted(node).unwrap_err().to_string();
        let node = || Node::new("Constant", &[], &["k"]);
        let text = "node `k` (Constant): expected one attribute with the value";
        assert_eq!(error(node()), text);
        assert_eq!(error(node().with("value_int", 1i64).with("value_float", 1f32)), text);
        let text = "node `k` (Constant): attribute `value_int` is a float";
        assert_eq!(error(node().with("value_int", 1f32)), text);
    }
}
