//! Graphs, node by node.

use aitmlir_onnx::model::{Graph, Node};
use melior::ir::Location;

use super::{
    context::Context,
    error::{ImportError, OpError, Result},
    node::NodeContext,
    ops,
    value::{Slot, Value},
};

impl<'c> Context<'c> {
    /// Binds the graph's constants and imports its nodes. Its inputs are bound already.
    pub fn graph(&mut self, graph: &Graph) -> Result<()> {
        for tensor in &graph.initializers {
            self.bind(&tensor.name, Value::of_constant(tensor.clone()));
        }
        for node in &graph.nodes {
            self.node(node)?;
        }
        Ok(())
    }

    /// Imports one node: binds its outputs, or notes that it is not supported.
    fn node(&mut self, node: &Node) -> Result<()> {
        let outer = self.b;
        let context = outer.context();
        self.b = outer.with_location(Location::name(context, node.label(), Location::unknown(context)));
        let operator = std::mem::replace(&mut self.operator, node.qualified_op());
        let outputs = self.outputs_of(node);
        self.operator = operator;
        self.b = outer;
        let outputs = match outputs {
            Ok(outputs) => outputs,
            Err(OpError::Fatal(error)) => return Err(error),
            Err(OpError::Poisoned) => vec![],
            Err(OpError::Unsupported(reason)) => {
                self.note(node, reason);
                vec![]
            }
        };
        for (i, name) in node.outputs.iter().enumerate() {
            if let Some(name) = name {
                self.bind(name, outputs.get(i).cloned().unwrap_or(Slot::Poison));
            }
        }
        Ok(())
    }

    fn outputs_of(&mut self, node: &Node) -> super::node::Outputs<'c> {
        let Some(operator) = ops::find(&node.domain, &node.op) else {
            return Err(OpError::Unsupported("this operator is not supported".into()));
        };
        let since = if node.domain.is_empty() { node.since_version().unwrap_or(operator.newest) } else { 1 };
        if since > operator.newest {
            return Err(OpError::Unsupported(format!(
                "version {since} of this operator is not supported (the newest that is: {})",
                operator.newest
            )));
        }
        let wanted = node.outputs.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
        let outputs = (operator.import)(&mut NodeContext { context: self, node, since })?;
        if outputs.len() < wanted {
            return Err(OpError::Unsupported(format!("its output {} is not supported", outputs.len())));
        }
        Ok(outputs)
    }

    /// The tensors that a graph's outputs name.
    pub fn outputs(&self, graph: &Graph) -> Result<Option<Vec<Value<'c>>>> {
        let mut out = Vec::new();
        for output in &graph.outputs {
            match self.lookup(&output.name) {
                Some(Slot::Tensor(value)) => out.push(value),
                Some(Slot::Optional(Some(inner))) => match *inner {
                    Slot::Tensor(value) => out.push(value),
                    _ => return Err(not_a_tensor(&output.name)),
                },
                Some(Slot::Poison) => return Ok(None),
                Some(_) => return Err(not_a_tensor(&output.name)),
                None => {
                    return Err(ImportError::Model(format!(
                        "output `{}` of graph `{}` is not defined",
                        output.name, graph.name
                    )));
                }
            }
        }
        Ok(Some(out))
    }
}

fn not_a_tensor(name: &str) -> ImportError {
    ImportError::Model(format!("output `{name}` is a sequence or optional; only tensors can leave a compiled model"))
}
