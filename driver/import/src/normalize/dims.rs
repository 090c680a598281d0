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
                return Err(Error::malformed(
                    place(),
                    "has no shape; give it one with --shape",
                ));
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
                        let symbol =
                            fresh(&mut taken, &format!("{}_d{axis}", identifier(&input.name)));
                        facts.push(DimFact::new(symbol.clone(), symbol.clone()));
                        *dim = Dim::Symbol(symbol);
                    }
                    Dim::Symbol(name) if facts.iter().any(|f| f.original == *name) => {}
                    Dim::Symbol(name) => {
                        let symbol = self.by_name.get(name).unwrap_or(name);
                        if symbol != name {
                            let (original, symbol) = (name.clone(), symbol.clone());
                            model
                                .warnings
                                .push(Warning::RenamedDim { original, symbol });
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
    let values = graph
        .inputs
        .iter()
        .chain(&graph.outputs)
        .chain(&graph.value_infos);
    for tensor in values.filter_map(|v| v.ty.as_ref().and_then(Type::innermost_tensor)) {
        for dim in tensor.shape.iter().flatten() {
            if let Dim::Symbol(name) = dim
                && seen.insert(name.clone())
            {
                names.push(name.clone());
            }
        }
    }
    graph
        .nodes
        .iter()
        .flat_map(|n| n.graphs())
        .for_each(|g| collect(g, names, seen));
}

/// Visits the dims of inputs, outputs and hints, also of nested graphs.
pub(crate) fn for_each_dim(graph: &mut Graph, visit: &mut dyn FnMut(&mut Dim)) {
    let values = graph
        .inputs
        .iter_mut()
        .chain(&mut graph.outputs)
        .chain(&mut graph.value_infos);
    for tensor in
        values.filter_map(|v: &mut ValueInfo| v.ty.as_mut().and_then(Type::innermost_tensor_mut))
    {
        tensor.shape.iter_mut().flatten().for_each(&mut *visit);
    }
    for nested in graph.nodes.iter_mut().flat_map(|n| n.graphs_mut()) {
        for_each_dim(nested, visit);
    }
}

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
