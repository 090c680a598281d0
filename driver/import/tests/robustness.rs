//! Whole files: a model that uses about everything reads as it should, and no damage to it makes the reader panic.

#![allow(clippy::unwrap_used)] // A panic is how a test fails.

use std::fs;
use std::path::Path;

use aitmlir_onnx::model::{DType, Dim, Model};
use aitmlir_onnx::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, SparseTensorProto,
    StringStringEntryProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto, attribute_proto::AttributeType,
    tensor_proto::DataLocation, tensor_shape_proto, type_proto,
};
use aitmlir_onnx::{Options, Result, load, normalize, read};
use bytes::Bytes;
use prost::Message;

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| s.to_string()).collect()
}

fn node(op: &str, inputs: &[&str], outputs: &[&str], attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        op_type: Some(op.into()),
        name: Some(format!("{op}_node")),
        input: strings(inputs),
        output: strings(outputs),
        attribute,
        ..NodeProto::default()
    }
}

fn attribute(name: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(kind as i32), ..AttributeProto::default() }
}

fn value(name: &str, dims: &[&str]) -> ValueInfoProto {
    use tensor_shape_proto::{Dimension, dimension::Value};
    let dim = |text: &&str| {
        let value = text.parse().map_or_else(|_| Value::DimParam(text.to_string()), Value::DimValue);
        Dimension { value: Some(value), denotation: None }
    };
    let shape = TensorShapeProto { dim: dims.iter().map(dim).collect() };
    let tensor = type_proto::Tensor { elem_type: Some(1), shape: Some(shape) };
    let ty = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), denotation: None };
    ValueInfoProto { name: Some(name.into()), r#type: Some(ty) }
}

fn tensor(name: &str, dims: &[i64]) -> TensorProto {
    TensorProto { name: Some(name.into()), dims: dims.to_vec(), data_type: Some(1), ..TensorProto::default() }
}

fn initializers() -> Vec<TensorProto> {
    let entry = |k: &str, v: &str| StringStringEntryProto { key: Some(k.into()), value: Some(v.into()) };
    vec![
        TensorProto { raw_data: Some(Bytes::from(vec![0; 64])), ..tensor("raw", &[4, 4]) },
        TensorProto { float_data: vec![1.0, 2.0], ..tensor("typed", &[2]) },
        TensorProto {
            data_location: Some(DataLocation::External as i32),
            external_data: vec![entry("location", "weights.bin"), entry("offset", "16"), entry("length", "16")],
            ..tensor("external", &[4])
        },
    ]
}

/// A branch of an `If`: uses a value of the graph around it.
fn branch(name: &str, op: &str) -> AttributeProto {
    let graph = GraphProto {
        name: Some(name.into()),
        node: vec![node(op, &["sum"], &["result"], vec![])],
        output: vec![value("result", &["batch", "4"])],
        ..GraphProto::default()
    };
    AttributeProto { g: Some(graph), ..attribute(name, AttributeType::Graph) }
}

fn graph() -> GraphProto {
    let mut call = node("Scaled", &["x", ""], &["scaled"], vec![]);
    call.domain = Some("local".into());
    call.attribute.push(AttributeProto { f: Some(0.5), ..attribute("alpha", AttributeType::Float) });
    let sparse = SparseTensorProto {
        values: Some(TensorProto { float_data: vec![3.0], ..tensor("sparse", &[1]) }),
        indices: Some(TensorProto { data_type: Some(7), int64_data: vec![2], ..tensor("", &[1]) }),
        dims: vec![4],
    };
    GraphProto {
        name: Some("main".into()),
        node: vec![
            // Before what it uses.
            node("Add", &["scaled", "external"], &["sum"], vec![]),
            call,
            node("If", &["flag"], &["y"], vec![branch("then_branch", "Neg"), branch("else_branch", "Abs")]),
            node("MatMul", &["y", "raw"], &["z"], vec![]),
            node("Unused", &["typed", "sparse"], &["nowhere"], vec![]),
        ],
        initializer: initializers(),
        sparse_initializer: vec![sparse],
        input: vec![value("x", &["batch", "4"]), value("flag", &[]), value("raw", &["4", "4"])],
        output: vec![value("z", &["batch", "4"]), value("scaled", &["-1", "4"])],
        value_info: vec![value("y", &["batch", "floor(n/2)"])],
    }
}

fn whole_model() -> Vec<u8> {
    let import = |domain: &str, version| OperatorSetIdProto { domain: Some(domain.into()), version: Some(version) };
    let slope = AttributeProto { ref_attr_name: Some("alpha".into()), ..attribute("alpha", AttributeType::Float) };
    let function = FunctionProto {
        name: Some("Scaled".into()),
        domain: Some("local".into()),
        input: strings(&["a", "b"]),
        output: strings(&["r"]),
        attribute: strings(&["alpha"]),
        node: vec![node("LeakyRelu", &["a"], &["t"], vec![slope]), node("Clip", &["t", "b"], &["r"], vec![])],
        opset_import: vec![import("", 16)],
        ..FunctionProto::default()
    };
    ModelProto {
        ir_version: Some(8),
        opset_import: vec![import("", 17), import("local", 1), import("never.used", 999)],
        producer_name: Some("test".into()),
        graph: Some(graph()),
        functions: vec![function],
        ..ModelProto::default()
    }
    .encode_to_vec()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("weights.bin"), [0u8; 32]).unwrap();
    folder
}

fn read_and_normalize(bytes: Vec<u8>, folder: &Path) -> Result<Model> {
    let mut model = read::read_bytes(bytes.into(), Some(folder))?;
    normalize::normalize(&mut model, &Options::default())?;
    Ok(model)
}

#[test]
fn a_file_that_uses_everything() {
    let folder = folder();
    let path = folder.path().join("model.onnx");
    fs::write(&path, whole_model()).unwrap();
    let model = load(&path, &Options::default()).unwrap();
    let graph = &model.graph;
    let ops: Vec<_> = graph.nodes.iter().map(|n| (n.op.as_str(), n.version().unwrap())).collect();
    assert_eq!(ops, [("LeakyRelu", 16), ("Clip", 13), ("Add", 14), ("If", 16), ("MatMul", 13)]);
    assert_eq!(graph.nodes[0].float("alpha"), Ok(0.5));
    assert_eq!(graph.nodes[0].name, "Scaled_node/LeakyRelu_node");
    assert_eq!(graph.nodes[1].output(0), Some("scaled"));
    assert_eq!(graph.nodes[3].graph("then_branch").unwrap().captures(), ["sum"]);
    let inputs: Vec<_> = graph.inputs.iter().map(|v| (v.name.as_str(), v.tensor_type().unwrap().to_string())).collect();
    assert_eq!(inputs, [("x", "float32[batch, 4]".to_string()), ("flag", "float32[]".to_string())]);
    assert_eq!(graph.outputs[1].tensor_type().unwrap().shape, Some(vec![Dim::Unknown, Dim::Static(4)]));
    let initializers: Vec<_> = graph.initializers.iter().map(|t| (t.name.as_str(), t.dtype, t.len())).collect();
    assert_eq!(initializers, [("raw", DType::F32, 16), ("external", DType::F32, 4)]);
    assert_eq!(model.warnings.len(), 1, "{:?}", model.warnings);
}

#[test]
fn weights_share_the_memory_of_the_file() {
    let folder = folder();
    let bytes = Bytes::from(whole_model());
    let model = read::read_bytes(bytes.clone(), Some(folder.path())).unwrap();
    let raw = model.graph.initializer("raw").unwrap().bytes().unwrap();
    assert!(bytes.as_ptr_range().contains(&raw.as_ptr()));
}

#[test]
fn files_that_are_no_models() {
    let folder = folder();
    let error = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        load(&path, &Options::default()).unwrap_err().to_string()
    };
    assert_eq!(error("empty", b""), "not an ONNX model, or a damaged one: it is empty");
    assert!(error("text", b"#!/bin/sh\necho hello\n").starts_with("not an ONNX model, or a damaged one: "));
    assert_eq!(error("graphless", &[8, 8]), "not an ONNX model, or a damaged one: it holds no graph");
    let cut = &whole_model()[..500];
    let text = error("cut", cut);
    assert_eq!(text, "not an ONNX model, or a damaged one: it ends too early, in ModelProto.graph");
    assert_eq!(
        error("without opsets", &[8, 8, 58, 0]),
        "not an ONNX model, or a damaged one: it imports no operator set"
    );
    let error = load(folder.path(), &Options::default()).unwrap_err().to_string();
    assert!(error.ends_with(": not a regular file"), "{error}");
    let error = load(&folder.path().join("absent"), &Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("cannot read ") && error.contains("No such file"), "{error}");
}

/// Each damaged file either still reads or gives one line that says why not.
fn survives(bytes: Vec<u8>, folder: &Path) -> bool {
    match read_and_normalize(bytes, folder) {
        Ok(model) => {
            model.graph.initializers.iter().filter_map(|t| t.bytes().ok()).for_each(drop);
            true
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
            false
        }
    }
}

#[test]
fn truncated_files_never_panic() {
    let folder = folder();
    let whole = whole_model();
    let read = (0..whole.len()).filter(|&n| survives(whole[..n].to_vec(), folder.path())).count();
    // A cut between two fields of the model itself is not visible.
    assert!(read < 8, "{read} of {} truncated files read", whole.len());
}

#[test]
fn flipped_bytes_never_panic() {
    let folder = folder();
    let whole = whole_model();
    let mut failed = 0;
    for at in 0..whole.len() {
        for mask in [0x01, 0x10, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= mask;
            failed += usize::from(!survives(damaged, folder.path()));
        }
    }
    assert!(failed > whole.len(), "only {failed} damaged files were noticed");
}

#[test]
fn many_flipped_bytes_never_panic() {
    let folder = folder();
    let whole = whole_model();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for _ in 0..2000 {
        let mut damaged = whole.clone();
        for _ in 0..=random(6) {
            let at = random(damaged.len());
            match random(3) {
                0 => damaged[at] = random(256) as u8,
                1 => drop(damaged.remove(at)),
                _ => damaged.insert(at, random(256) as u8),
            }
        }
        survives(damaged, folder.path());
    }
}

#[test]
fn deep_nesting_is_an_error_and_no_stack_overflow() {
    let folder = folder();
    let mut inner = GraphProto { name: Some("leaf".into()), ..GraphProto::default() };
    for _ in 0..100 {
        let nested = AttributeProto { g: Some(inner), ..attribute("body", AttributeType::Graph) };
        inner = GraphProto { node: vec![node("Loop", &[], &["y"], vec![nested])], ..GraphProto::default() };
    }
    let model = ModelProto { graph: Some(inner), ..ModelProto::default() };
    assert!(!survives(model.encode_to_vec(), folder.path()));
}
