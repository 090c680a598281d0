//! Makes up its mind about initializers that are inputs as well.

use std::collections::HashSet;

use crate::model::{Graph, Model};

/// Files before format version 4 list every initializer among the inputs; later ones may, to say that it is a default.
/// Here it is a constant and no input. With `as_inputs`, in the main graph, it is an input and its value is dropped.
pub fn separate_initializers(model: &mut Model, as_inputs: bool) {
    separate(&mut model.graph, as_inputs);
}

fn separate(graph: &mut Graph, as_inputs: bool) {
    if as_inputs {
        let inputs: HashSet<&str> = graph.inputs.iter().map(|v| v.name.as_str()).collect();
        graph.initializers.retain(|t| !inputs.contains(t.name.as_str()));
    } else {
        let constants: HashSet<&str> = graph.initializers.iter().map(|t| t.name.as_str()).collect();
        graph.inputs.retain(|v| !constants.contains(v.name.as_str()));
    }
    for node in &mut graph.nodes {
        node.graphs_mut().for_each(|g| separate(g, false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Tensor, ValueInfo};

    #[test]
    fn an_initializer_is_a_constant_unless_asked_for() {
        let value = |name: &str| ValueInfo { name: name.into(), ty: None };
        let graph = Graph {
            inputs: vec![value("x"), value("w")],
            initializers: vec![Tensor::from_i64s("w", &[1]), Tensor::from_i64s("v", &[1])],
            ..Graph::default()
        };
        let names = |as_inputs| {
            let mut model = Model { graph: graph.clone(), ..Model::default() };
            separate_initializers(&mut model, as_inputs);
            (model.graph.inputs.len(), model.graph.initializers.len())
        };
        assert_eq!(names(false), (1, 2));
        assert_eq!(names(true), (2, 1));
    }
}
