//! Replaces calls of model-local functions by their bodies.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result, quote};
use crate::model::{Attribute, Function, Graph, Model, Node};

/// Calls within calls; more is taken for a damaged file.
const DEEPEST: usize = 32;

/// Nodes and calls after inlining; more is taken for a damaged file.
const MOST_NODES: usize = 1_000_000;

/// Inlines every call, also in nested graphs and in bodies, and drops the functions. A body's nodes keep the operator set of
/// the function. Values and nodes of a body get the call's label in front. A function goes before an operator of its name.
pub fn inline_functions(model: &mut Model) -> Result<()> {
    inline_up_to(model, MOST_NODES)
}

fn inline_up_to(model: &mut Model, most_nodes: usize) -> Result<()> {
    let functions = std::mem::take(&mut model.functions);
    let mut table = HashMap::new();
    for function in &functions {
        if table.insert(key(&function.domain, &function.name, &function.overload), function).is_some() {
            return Err(Error::malformed(format!("function {}", quote(&function.name)), "is defined twice"));
        }
    }
    if !table.is_empty() {
        let mut inliner = Inliner { functions: table, taken: HashSet::new(), calls: Vec::new(), nodes: 0, most_nodes };
        inliner.reserve(&model.graph);
        inliner.graph(&mut model.graph)?;
    }
    check_references(&model.graph)
}

type Key<'a> = (&'a str, &'a str, &'a str);

fn key<'a>(domain: &'a str, name: &'a str, overload: &'a str) -> Key<'a> {
    (domain, name, overload)
}

fn check_references(graph: &Graph) -> Result<()> {
    for node in &graph.nodes {
        for (name, value) in &node.attributes {
            if matches!(value, Attribute::Reference(_)) {
                let reason = format!("attribute {} refers to a caller's, outside of a function", quote(name));
                return Err(node.error(reason).into());
            }
        }
        node.graphs().try_for_each(check_references)?;
    }
    Ok(())
}

struct Inliner<'a> {
    functions: HashMap<Key<'a>, &'a Function>,
    /// Names that are in use anywhere in the model.
    taken: HashSet<String>,
    /// The functions being inlined, outermost first.
    calls: Vec<Key<'a>>,
    /// Nodes and calls so far, and how many there may be.
    nodes: usize,
    most_nodes: usize,
}

impl<'a> Inliner<'a> {
    fn reserve(&mut self, graph: &Graph) {
        self.taken.extend(graph.defined().map(str::to_string));
        graph.nodes.iter().flat_map(Node::graphs).for_each(|g| self.reserve(g));
    }

    /// A name that nothing else has.
    fn fresh(&mut self, prefix: &str, name: &str) -> String {
        let wanted = format!("{prefix}/{name}");
        let mut fresh = wanted.clone();
        let mut n = 1;
        while !self.taken.insert(fresh.clone()) {
            n += 1;
            fresh = format!("{wanted}_{n}");
        }
        fresh
    }

    fn graph(&mut self, graph: &mut Graph) -> Result<()> {
        graph.nodes = self.expand(std::mem::take(&mut graph.nodes))?;
        Ok(())
    }

    fn expand(&mut self, nodes: Vec<Node>) -> Result<Vec<Node>> {
        let mut expanded = Vec::with_capacity(nodes.len());
        for mut node in nodes {
            let function = self.functions.get(&key(&node.domain, &node.op, &node.overload)).copied();
            match function {
                Some(function) => expanded.extend(self.call(&node, function)?),
                None => {
                    node.graphs_mut().try_for_each(|g| self.graph(g))?;
                    self.nodes += 1;
                    expanded.push(node);
                }
            }
            if self.nodes > self.most_nodes {
                return Err(Error::malformed(
                    "functions",
                    format!("they expand to more than {} nodes", self.most_nodes),
                ));
            }
        }
        Ok(expanded)
    }

    fn call(&mut self, node: &Node, function: &'a Function) -> Result<Vec<Node>> {
        let called = key(&function.domain, &function.name, &function.overload);
        if self.calls.contains(&called) {
            let path = self.calls.iter().chain([&called]).map(|k| quote(k.1)).collect::<Vec<_>>().join(" calls ");
            return Err(node.error(format!("functions call themselves: {path}")).into());
        }
        if self.calls.len() >= DEEPEST {
            return Err(node.error(format!("calls of functions are nested more than {DEEPEST} deep")).into());
        }
        if node.inputs.len() > function.inputs.len() || node.outputs.len() > function.outputs.len() {
            let (inputs, outputs) = (function.inputs.len(), function.outputs.len());
            return Err(node.error(format!("the function has {inputs} inputs and {outputs} outputs")).into());
        }
        self.calls.push(called);
        self.nodes += 1;
        let body = self.body(node, function)?;
        let expanded = self.expand(body)?;
        self.calls.pop();
        Ok(expanded)
    }

    /// A copy of the body in terms of the caller's names and attributes.
    fn body(&mut self, node: &Node, function: &Function) -> Result<Vec<Node>> {
        let prefix = node.label().to_string();
        let mut names: HashMap<String, Option<String>> = HashMap::new();
        for (i, formal) in function.inputs.iter().enumerate() {
            names.insert(formal.clone(), node.input(i).map(str::to_string));
        }
        let mut copies = Vec::new();
        for (i, formal) in function.outputs.iter().enumerate() {
            let actual = node.output(i).map(str::to_string);
            match (names.contains_key(formal), actual) {
                (false, Some(actual)) => drop(names.insert(formal.clone(), Some(actual))),
                (true, Some(actual)) => copies.push((formal, actual)),
                (_, None) => {}
            }
        }
        let mut renamer = Renamer { inliner: self, prefix, scopes: vec![names], caller: node, function };
        let mut body = Vec::with_capacity(function.nodes.len());
        for inner in &function.nodes {
            let mut inner = inner.clone();
            renamer.node(&mut inner);
            body.push(inner);
        }
        for (formal, actual) in copies {
            let source = renamer.name(formal).ok_or_else(|| {
                node.error(format!("output {} is the input {}, which is left out", quote(&actual), quote(formal)))
            })?;
            body.push(Node::new("Identity", &[&source], &[&actual]));
        }
        Ok(body)
    }
}

/// Rewrites one body.
struct Renamer<'i, 'a, 'c> {
    inliner: &'i mut Inliner<'a>,
    prefix: String,
    /// New names, of the body and of the nested graphs being visited; `None`: an input that the caller left out.
    scopes: Vec<HashMap<String, Option<String>>>,
    caller: &'c Node,
    function: &'c Function,
}

impl Renamer<'_, '_, '_> {
    /// The new name; a name that is not known yet is one of the body.
    fn name(&mut self, old: &str) -> Option<String> {
        if let Some(new) = self.scopes.iter().rev().find_map(|scope| scope.get(old)) {
            return new.clone();
        }
        let new = Some(self.inliner.fresh(&self.prefix, old));
        if let Some(body) = self.scopes.first_mut() {
            body.insert(old.to_string(), new.clone());
        }
        new
    }

    fn node(&mut self, node: &mut Node) {
        let label = node.label();
        node.name = if self.prefix.is_empty() { label.to_string() } else { format!("{}/{label}", self.prefix) };
        for name in node.inputs.iter_mut().chain(&mut node.outputs) {
            *name = name.take().and_then(|old| self.name(&old));
        }
        while node.inputs.last().is_some_and(Option::is_none) {
            node.inputs.pop();
        }
        // Graphs of the body only: one that a reference brings in is in terms of the caller's names already.
        node.graphs_mut().for_each(|g| self.graph(g));
        self.attributes(node);
    }

    /// Puts the caller's attributes, else the function's defaults, for references. Without either the attribute is absent.
    fn attributes(&mut self, node: &mut Node) {
        let (caller, function) = (self.caller, self.function);
        let mut values = std::mem::take(&mut node.attributes);
        values.retain(|_, value| {
            let Attribute::Reference(formal) = &*value else {
                return true;
            };
            let default = || function.attributes.get(formal).and_then(Option::as_ref);
            match caller.attributes.get(formal).or_else(default) {
                None => false,
                Some(actual) => {
                    *value = actual.clone();
                    true
                }
            }
        });
        node.attributes = values;
    }

    fn graph(&mut self, graph: &mut Graph) {
        let defined: Vec<String> = graph.defined().map(str::to_string).collect();
        let scope = defined.into_iter().map(|old| {
            let new = self.inliner.fresh(&self.prefix, &old);
            (old, Some(new))
        });
        let scope = scope.collect();
        self.scopes.push(scope);
        let values = graph.inputs.iter_mut().chain(&mut graph.outputs).chain(&mut graph.value_infos);
        for name in values.map(|v| &mut v.name).chain(graph.initializers.iter_mut().map(|t| &mut t.name)) {
            if let Some(new) = self.name(name) {
                *name = new;
            }
        }
        graph.nodes.iter_mut().for_each(|n| self.node(n));
        self.scopes.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ValueInfo;

    fn function(name: &str, inputs: &[&str], outputs: &[&str], nodes: Vec<Node>) -> Function {
        let names = |list: &[&str]| list.iter().map(|n| n.to_string()).collect();
        let (inputs, outputs) = (names(inputs), names(outputs));
        Function { domain: "f".into(), name: name.into(), inputs, outputs, nodes, ..Function::default() }
    }

    fn call(name: &str, inputs: &[&str], outputs: &[&str]) -> Node {
        Node { domain: "f".into(), ..Node::new(name, inputs, outputs) }
    }

    fn model(nodes: Vec<Node>, functions: Vec<Function>) -> Model {
        let value = |name: &str| ValueInfo { name: name.into(), ty: None };
        let graph = Graph { inputs: vec![value("x")], nodes, ..Graph::default() };
        Model { graph, functions, ..Model::default() }
    }

    /// `op(inputs)->outputs` of each node.
    fn inlined(mut model: Model) -> Vec<String> {
        inline_functions(&mut model).unwrap();
        model.graph.nodes.iter().map(text).collect()
    }

    fn text(node: &Node) -> String {
        let names =
            |list: &[Option<String>]| list.iter().map(|n| n.clone().unwrap_or_default()).collect::<Vec<_>>().join(",");
        format!("{}({})->{}", node.op, names(&node.inputs), names(&node.outputs))
    }

    #[test]
    fn names_are_unique_and_optional_inputs_stay_out() {
        let nodes = vec![Node::new("Clip", &["a", "lo", "hi"], &["t"]), Node::new("Neg", &["t"], &["r"])];
        let f = function("F", &["a", "lo", "hi"], &["r"], nodes);
        let nodes = vec![call("F", &["x", "", "x"], &["y"]), call("F", &["y"], &["z"])];
        let found = inlined(model(nodes, vec![f]));
        assert_eq!(found, ["Clip(x,,x)->y/t", "Neg(y/t)->y", "Clip(y)->z/t", "Neg(z/t)->z"]);
    }

    #[test]
    fn nested_calls_and_outputs_that_are_inputs() {
        let inner = function("Inner", &["a"], &["a", "b"], vec![Node::new("Neg", &["a"], &["b"])]);
        let outer = function("Outer", &["p"], &["r"], vec![call("Inner", &["p"], &["q", "r"])]);
        let found = inlined(model(vec![call("Outer", &["x"], &["y"])], vec![inner, outer]));
        assert_eq!(found, ["Neg(x)->y", "Identity(x)->y/q"]);
    }

    #[test]
    fn attributes_come_from_the_caller_or_the_default() {
        let reference = |name: &str| Attribute::Reference(name.into());
        let body = Node::new("Op", &["a"], &["r"]).with("p", reference("given")).with("q", reference("default"));
        let mut f = function("F", &["a"], &["r"], vec![body.with("s", reference("absent"))]);
        f.attributes.insert("default".into(), Some(2i64.into()));
        let mut model = model(vec![call("F", &["x"], &["y"]).with("given", 1i64)], vec![f]);
        inline_functions(&mut model).unwrap();
        let node = &model.graph.nodes[0];
        assert_eq!((node.int("p"), node.int("q"), node.has("s")), (Ok(1), Ok(2), false));
    }

    #[test]
    fn graphs_of_a_body_are_renamed_and_those_of_the_caller_are_not() {
        let value = |name: &str| ValueInfo { name: name.into(), ty: None };
        let graph = |input: &str, output: &str| Graph {
            nodes: vec![Node::new("Neg", &[input], &[output])],
            outputs: vec![value(output)],
            ..Graph::default()
        };
        let body = Node::new("If", &["a"], &["r"])
            .with("then_branch", graph("a", "t"))
            .with("else_branch", Attribute::Reference("branch".into()));
        let f = function("F", &["a"], &["r"], vec![body]);
        let mut model = model(vec![call("F", &["x"], &["y"]).with("branch", graph("a", "e"))], vec![f]);
        inline_functions(&mut model).unwrap();
        let node = &model.graph.nodes[0];
        assert_eq!(text(&node.graph("then_branch").unwrap().nodes[0]), "Neg(x)->y/t");
        assert_eq!(text(&node.graph("else_branch").unwrap().nodes[0]), "Neg(a)->e");
    }

    #[test]
    fn recursion_and_wrong_counts_are_errors() {
        let error = |functions| {
            let mut model = model(vec![call("A", &["x"], &["y"])], functions);
            inline_functions(&mut model).unwrap_err().to_string()
        };
        let a = function("A", &["a"], &["r"], vec![call("B", &["a"], &["r"])]);
        let b = function("B", &["a"], &["r"], vec![call("A", &["a"], &["r"])]);
        assert!(error(vec![a, b]).ends_with("functions call themselves: `A` calls `B` calls `A`"));
        let text = error(vec![function("A", &[], &["r"], vec![])]);
        assert_eq!(text, "node `y` (f::A): the function has 0 inputs and 1 outputs");
        let twice = || function("A", &[], &[], vec![]);
        assert_eq!(error(vec![twice(), twice()]), "malformed model: function `A`: is defined twice");
    }

    #[test]
    fn explosions_are_stopped() {
        let mut functions = vec![function("F0", &["a"], &[], vec![])];
        for level in 1..32 {
            let inner = || call(&format!("F{}", level - 1), &["a"], &[]);
            functions.push(function(&format!("F{level}"), &["a"], &[], vec![inner(), inner()]));
        }
        let mut model = model(vec![call("F31", &["x"], &[])], functions);
        let text = inline_up_to(&mut model, 1000).unwrap_err().to_string();
        assert_eq!(text, "malformed model: functions: they expand to more than 1000 nodes");
    }

    #[test]
    fn a_reference_outside_of_functions_is_an_error() {
        let node = Node::new("Op", &["x"], &["y"]).with("p", Attribute::Reference("q".into()));
        let text = inline_functions(&mut model(vec![node], vec![])).unwrap_err().to_string();
        assert_eq!(text, "node `y` (Op): attribute `p` refers to a caller's, outside of a function");
    }
}
