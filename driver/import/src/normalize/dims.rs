//! Gives every dim of the inputs a number or a symbol.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result, quote};
use crate::model::{Dim, DimFact, Graph, Model, Type, ValueInfo};
use crate::warning::Warning;

/// Names the dims. A name of the model that is an identifier stays; others (`p2o.Dim.0`, `2*seq`, `floor(h/8)`) become one,
/// and are taken for a dim of their own. A dim of an input without a name is called after the input and its axis. Hints get
/// the same symbols. Fills [`Model::dims`].
pub fn name_dims(model: &mut Model) -> Result<()> {
    for input in &model.graph.inputs {
        let place = || format!("input {}", quote(&input.name));
        match &input.ty {
            None => return Err(Error::malformed(place(), "has no type")),
            Some(Type::Tensor(t)) if t.shape.is_none() => {
                return Err(Error::malformed(place(), "has no shape; give it one with --shape"));
            }
            Some(_) => {}
        }
    }
    let symbols = Symbols::of(&model.graph);
    symbols.name_inputs(model);
    symbols.rename(&mut model.graph);
    Ok(())
}

/// Symbols of the names in a model.
#[derive(Default)]
struct Symbols {
    by_name: HashMap<String, String>,
    taken: HashSet<String>,
}

impl Symbols {
    fn of(graph: &Graph) -> Self {
        let mut names = Vec::new();
        collect(graph, &mut names, &mut HashSet::new());
        let mut symbols = Symbols::default();
        for name in names.iter().filter(|name| identifier(name) == **name) {
            symbols.taken.insert(name.clone());
            symbols.by_name.insert(name.clone(), name.clone());
        }
        for name in names {
            if !symbols.by_name.contains_key(&name) {
                let symbol = fresh(&mut symbols.taken, &identifier(&name));
                symbols.by_name.insert(name, symbol);
            }
        }
        symbols
    }

    /// Names nameless dims of inputs and notes all dims of inputs.
    fn name_inputs(&self, model: &mut Model) {
        let mut taken = self.taken.clone();
        let mut facts: Vec<DimFact> = Vec::new();
        for input in &mut model.graph.inputs {
            let Some(Type::Tensor(tensor)) = &mut input.ty else {
                continue;
            };
            for (axis, dim) in tensor.shape.iter_mut().flatten().enumerate() {
                match dim {
                    Dim::Static(_) => {}
                    Dim::Unknown => {
                        let symbol = fresh(&mut taken, &format!("{}_d{axis}", identifier(&input.name)));
                        facts.push(DimFact::new(symbol.clone(), symbol.clone()));
                        *dim = Dim::Symbol(symbol);
                    }
                    Dim::Symbol(name) if facts.iter().any(|f| f.original == *name) => {}
                    Dim::Symbol(name) => {
                        let symbol = self.by_name.get(name).unwrap_or(name);
                        if symbol != name {
                            let (original, symbol) = (name.clone(), symbol.clone());
                            model.warnings.push(Warning::RenamedDim { original, symbol });
                        }
                        facts.push(DimFact::new(symbol.clone(), name.clone()));
                    }
                }
            }
        }
        model.dims = facts;
    }

    fn rename(&self, graph: &mut Graph) {
        for_each_dim(graph, &mut |dim| {
            if let Dim::Symbol(name) = dim
                && let Some(symbol) = self.by_name.get(name)
            {
                *name = symbol.clone();
            }
        });
    }
}

/// Names of all dims, inputs first, in order of appearance, each once.
fn collect(graph: &Graph, names: &mut Vec<String>, seen: &mut HashSet<String>) {
    let values = graph.inputs.iter().chain(&graph.outputs).chain(&graph.value_infos);
    for tensor in values.filter_map(|v| v.ty.as_ref().and_then(Type::innermost_tensor)) {
        for dim in tensor.shape.iter().flatten() {
            if let Dim::Symbol(name) = dim
                && seen.insert(name.clone())
            {
                names.push(name.clone());
            }
        }
    }
    graph.nodes.iter().flat_map(|n| n.graphs()).for_each(|g| collect(g, names, seen));
}

/// Visits the dims of inputs, outputs and hints, also of nested graphs.
pub(crate) fn for_each_dim(graph: &mut Graph, visit: &mut dyn FnMut(&mut Dim)) {
    let values = graph.inputs.iter_mut().chain(&mut graph.outputs).chain(&mut graph.value_infos);
    for tensor in values.filter_map(|v: &mut ValueInfo| v.ty.as_mut().and_then(Type::innermost_tensor_mut)) {
        tensor.shape.iter_mut().flatten().for_each(&mut *visit);
    }
    for nested in graph.nodes.iter_mut().flat_map(|n| n.graphs_mut()) {
        for_each_dim(nested, visit);
    }
}

/// The longest symbol made of a name that is none; formulas of hundreds of letters are real.
const LONGEST: usize = 40;

/// The nearest identifier: letters, digits and `_`, a letter or `_` first.
fn identifier(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        match c {
            _ if c.is_ascii_alphanumeric() || c == '_' => text.push(c),
            _ if text.is_empty() || text.ends_with('_') => {}
            _ => text.push('_'),
        }
    }
    if text != name {
        text.truncate(LONGEST);
        text.truncate(text.trim_end_matches('_').len());
    }
    match text.chars().next() {
        None => "dim".into(),
        Some(c) if c.is_ascii_digit() => format!("d{text}"),
        Some(_) => text,
    }
}

fn fresh(taken: &mut HashSet<String>, wanted: &str) -> String {
    let mut symbol = wanted.to_string();
    let mut n = 1;
    while !taken.insert(symbol.clone()) {
        n += 1;
        symbol = format!("{wanted}_{n}");
    }
    symbol
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DType, Node};

    #[test]
    fn identifiers() {
        for same in ["batch", "unk__749", "_x", "Seq_len_"] {
            assert_eq!(identifier(same), same);
        }
        assert_eq!(identifier("p2o.DynamicDimension.0"), "p2o_DynamicDimension_0");
        assert_eq!(identifier("floor(height/8) + 1"), "floor_height_8_1");
        assert_eq!(identifier("2*seq"), "d2_seq");
        assert_eq!(identifier("(größe)"), "gr_e");
        assert_eq!(identifier("*"), "dim");
        assert_eq!(identifier(&"ab.".repeat(100)).len(), LONGEST);
    }

    #[test]
    fn symbols_do_not_collide() {
        let symbol = |name: &str| Dim::Symbol(name.into());
        let branch = Graph {
            outputs: vec![ValueInfo::tensor("y", DType::F32, &[symbol("a.b"), symbol("other.0")])],
            ..Graph::default()
        };
        let inputs = vec![
            ValueInfo::tensor("x", DType::F32, &[symbol("a.b"), symbol("a/b"), symbol("a_b"), Dim::Unknown]),
            ValueInfo::tensor("z", DType::F32, &[symbol("x_d3"), symbol("a.b")]),
        ];
        let nodes = vec![Node::new("If", &["x"], &["y"]).with("then_branch", branch)];
        let mut model = Model { graph: Graph { inputs, nodes, ..Graph::default() }, ..Model::default() };
        name_dims(&mut model).unwrap();
        let text = |v: &ValueInfo| v.tensor_type().unwrap().to_string();
        assert_eq!(text(&model.graph.inputs[0]), "float32[a_b_2, a_b_3, a_b, x_d3_2]");
        assert_eq!(text(&model.graph.inputs[1]), "float32[x_d3, a_b_2]");
        assert_eq!(text(&model.graph.nodes[0].graph("then_branch").unwrap().outputs[0]), "float32[a_b_2, other_0]");
        let symbols: Vec<_> = model.dims.iter().map(|d| d.symbol.as_str()).collect();
        assert_eq!(symbols, ["a_b_2", "a_b_3", "a_b", "x_d3_2", "x_d3"]);
        assert_eq!(model.dim("a.b").unwrap().symbol, "a_b_2");
    }

    #[test]
    fn inputs_without_shape_are_errors() {
        let error = |ty| {
            let inputs = vec![ValueInfo { name: "x".into(), ty }];
            let mut model = Model { graph: Graph { inputs, ..Graph::default() }, ..Model::default() };
            name_dims(&mut model).unwrap_err().to_string()
        };
        assert_eq!(error(None), "malformed model: input `x`: has no type");
        let shapeless = Type::Tensor(crate::model::TensorType { dtype: DType::F32, shape: None });
        assert_eq!(error(Some(shapeless)), "malformed model: input `x`: has no shape; give it one with --shape");
    }
}
