//! Models, functions, graphs and nodes.

use std::collections::BTreeMap;

use crate::error::{Error, Result, quote};
use crate::model::{Function, Graph, Model, Node};
use crate::proto::{FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto};

use super::{Context, attributes, tensor, types};

/// What surrounds a graph.
pub(super) struct Scope<'a> {
    pub(super) context: &'a mut Context,
    /// Operator sets that its nodes are written for.
    opsets: BTreeMap<String, i64>,
}

pub(super) fn model(proto: ModelProto, mut context: Context) -> Result<Model> {
    let graph_proto = proto.graph.ok_or_else(|| Error::Decode("it holds no graph".into()))?;
    let ir_version = proto.ir_version.unwrap_or(0);
    let mut opsets = opset_imports(&proto.opset_import)?;
    // Before format version 3 there were no imports, and one operator set.
    if opsets.is_empty() && ir_version < 3 {
        opsets.insert(String::new(), 1);
    }
    if opsets.is_empty() {
        return Err(Error::Decode("it imports no operator set".into()));
    }
    let mut functions = Vec::new();
    for function_proto in proto.functions {
        functions.push(function(function_proto, &opsets, &mut context)?);
    }
    let graph = graph(graph_proto, &mut Scope { context: &mut context, opsets: opsets.clone() })?;
    Ok(Model {
        ir_version,
        producer: proto.producer_name.unwrap_or_default(),
        producer_version: proto.producer_version.unwrap_or_default(),
        version: proto.model_version.unwrap_or(0),
        opsets,
        metadata: entries(proto.metadata_props),
        functions,
        graph,
        dims: Vec::new(),
        warnings: context.external.warnings,
    })
}

fn entries(list: Vec<StringStringEntryProto>) -> BTreeMap<String, String> {
    list.into_iter().map(|e| (e.key.unwrap_or_default(), e.value.unwrap_or_default())).collect()
}

/// The default domain has two names.
fn domain(name: Option<String>) -> String {
    name.filter(|d| d != "ai.onnx").unwrap_or_default()
}

fn opset_imports(list: &[OperatorSetIdProto]) -> Result<BTreeMap<String, i64>> {
    let mut opsets = BTreeMap::new();
    for import in list {
        let domain = domain(import.domain.clone());
        let version = import.version.unwrap_or(0);
        if let Some(other) = opsets.insert(domain.clone(), version).filter(|&other| other != version) {
            let reason = format!("imported as version {other} and as version {version}");
            return Err(Error::malformed(format!("operator set {}", quote(&domain)), reason));
        }
    }
    Ok(opsets)
}

fn function(proto: FunctionProto, model: &BTreeMap<String, i64>, context: &mut Context) -> Result<Function> {
    let mut opsets = opset_imports(&proto.opset_import)?;
    for (domain, version) in model {
        opsets.entry(domain.clone()).or_insert(*version);
    }
    let name = proto.name.unwrap_or_default();
    let mut scope = Scope { context, opsets };
    let nodes = nodes(proto.node, &mut scope)?;
    let mut formal: BTreeMap<_, _> = proto.attribute.into_iter().map(|name| (name, None)).collect();
    for attribute in proto.attribute_proto {
        let attribute_name = attribute.name.clone().unwrap_or_default();
        let value = attributes::attribute(attribute, &mut scope)
            .map_err(|e| at(e, &format!("attribute {} of function {}", quote(&attribute_name), quote(&name))))?;
        formal.insert(attribute_name, Some(value));
    }
    Ok(Function {
        domain: domain(proto.domain),
        name,
        overload: proto.overload.unwrap_or_default(),
        inputs: proto.input,
        outputs: proto.output,
        attributes: formal,
        nodes,
    })
}

pub(super) fn graph(proto: GraphProto, scope: &mut Scope<'_>) -> Result<Graph> {
    let infos = |list: Vec<_>| list.into_iter().map(types::value_info).collect::<Result<Vec<_>>>();
    let mut initializers = Vec::with_capacity(proto.initializer.len());
    for initializer in proto.initializer {
        initializers.push(tensor::tensor(initializer, scope.context)?);
    }
    for initializer in proto.sparse_initializer {
        initializers.push(tensor::dense(initializer, scope.context)?);
    }
    Ok(Graph {
        name: proto.name.unwrap_or_default(),
        inputs: infos(proto.input)?,
        outputs: infos(proto.output)?,
        initializers,
        nodes: nodes(proto.node, scope)?,
        value_infos: infos(proto.value_info)?,
    })
}

fn nodes(list: Vec<NodeProto>, scope: &mut Scope<'_>) -> Result<Vec<Node>> {
    list.into_iter().map(|proto| node(proto, scope)).collect()
}

fn node(proto: NodeProto, scope: &mut Scope<'_>) -> Result<Node> {
    let domain = domain(proto.domain);
    let opset = scope.opsets.get(&domain).copied().unwrap_or(0);
    let mut inputs = names(proto.input);
    while inputs.last().is_some_and(Option::is_none) {
        inputs.pop();
    }
    let mut node = Node {
        name: proto.name.unwrap_or_default(),
        domain,
        op: proto.op_type.unwrap_or_default(),
        overload: proto.overload.unwrap_or_default(),
        opset,
        inputs,
        outputs: names(proto.output),
        attributes: BTreeMap::new(),
    };
    for attribute in proto.attribute {
        let name = attribute.name.clone().unwrap_or_default();
        let value = attributes::attribute(attribute, scope).map_err(|e| at_attribute(e, &node, &name))?;
        if node.attributes.insert(name.clone(), value).is_some() {
            return Err(node.error(format!("attribute {} stands twice", quote(&name))).into());
        }
    }
    Ok(node)
}

/// `""` stands for an input or output left out.
fn names(list: Vec<String>) -> Vec<Option<String>> {
    list.into_iter().map(|name| Some(name).filter(|n| !n.is_empty())).collect()
}

/// Puts the place of an attribute into an error about its value.
fn at_attribute(error: Error, node: &Node, name: &str) -> Error {
    match error {
        Error::Malformed { place, reason } if place == "attribute" => {
            node.error(format!("attribute {} {reason}", quote(name))).into()
        }
        other => other,
    }
}

fn at(error: Error, place: &str) -> Error {
    match error {
        Error::Malformed { place: inner, reason } if inner == "attribute" => Error::malformed(place, reason),
        other => other,
    }
}
