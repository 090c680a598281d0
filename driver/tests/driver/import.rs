//! What the importer says to models that it cannot take: each error names the node and what is wrong with it.

use aitmlir_driver::import::{ImportOptions, import_model};
use aitmlir_onnx::model::{DType, Dim, Graph, Model, Node, Tensor, TensorType, Type, ValueInfo};

/// Name and dims.
type Input = (&'static str, &'static [i64]);

/// An f32 value; `?` dims are numbers below 0.
fn value(name: &str, dims: &[i64]) -> ValueInfo {
    let dim = |d: &i64| if *d < 0 { Dim::Unknown } else { Dim::Static(*d) };
    let shape = Some(dims.iter().map(dim).collect());
    ValueInfo { name: name.into(), ty: Some(Type::Tensor(TensorType { dtype: DType::F32, shape })) }
}

fn model(inputs: &[Input], initializers: Vec<Tensor>, nodes: Vec<Node>, output: &str) -> Model {
    let inputs = inputs.iter().map(|(name, dims)| value(name, dims)).collect();
    let graph =
        Graph { name: "g".into(), inputs, outputs: vec![value(output, &[])], initializers, nodes, ..Graph::default() };
    Model { graph, ..Model::default() }
}

/// The error that a model is refused with.
fn refused(model: &Model) -> String {
    let context = aitmlir_dialects::new_context();
    let result = import_model(&context, model, &ImportOptions::default());
    result.map(|_| ()).expect_err("refused").to_string()
}

/// The error of one node that makes `y`.
fn of_node(inputs: &[Input], initializers: Vec<Tensor>, node: Node) -> String {
    refused(&model(inputs, initializers, vec![node], "y"))
}

fn node(op: &str, inputs: &[&str]) -> Node {
    Node { name: "n".into(), ..Node::new(op, inputs, &["y"]) }
}

#[test]
fn nodes_that_their_operators_do_not_allow() {
    let wrong = |op: &str, reason: &str| format!("node `n` ({op}): {reason}");
    let (x, w): (Input, Input) = (("x", &[1, 3, 8, 8]), ("w", &[4, 2, 3, 3]));
    let cases = [
        (
            of_node(&[x, w], vec![], node("Conv", &["x", "w"])),
            "Conv",
            "3 channels, a filter of 2 and 1 groups do not fit",
        ),
        (
            of_node(&[("x", &[1, 2, 1, 1]), w], vec![], node("Conv", &["x", "w"])),
            "Conv",
            "its windows are larger than the padded input",
        ),
        (
            of_node(&[("x", &[]), w], vec![], node("MatMul", &["x", "w"])),
            "MatMul",
            "an operand of a matrix product has rank 0",
        ),
        (
            of_node(&[("x", &[2, 3, 4]), ("w", &[4, 5])], vec![], node("Gemm", &["x", "w"])),
            "Gemm",
            "its operands have ranks 3 and 2, expected 2",
        ),
        (
            of_node(&[("x", &[2, 3])], vec![], node("Transpose", &["x"]).with("perm", vec![0i64, 0])),
            "Transpose",
            "attribute `perm` [0, 0] is no permutation of 2 dimensions",
        ),
        (of_node(&[x], vec![], node("Cast", &["x"])), "Cast", "attribute `to` is missing"),
        (of_node(&[x], vec![], node("Relu", &[])), "Relu", "input 0 is missing"),
        (of_node(&[x], vec![], node("Relu", &["nobody"])), "Relu", "input 0 `nobody` is not defined"),
        (
            of_node(&[x], vec![], node("Gelu", &["x"]).with("approximate", "sigmoid")),
            "Gelu",
            "attribute `approximate` is `sigmoid`, expected `none` or `tanh`",
        ),
        (
            of_node(&[("x", &[2, 3])], vec![Tensor::from_i64s("a", &[1])], node("Squeeze", &["x", "a"])),
            "Squeeze",
            "dimension 1 is squeezed and not 1",
        ),
        (
            of_node(&[("x", &[2, 3]), ("w", &[2, 3])], vec![], node("Einsum", &["x", "w"]).with("equation", "ij->i")),
            "Einsum",
            "equation `ij->i` has 1 operands, the node 2",
        ),
        (
            of_node(&[("x", &[2, 3]), ("w", &[2])], vec![], node("Einsum", &["x", "w"]).with("equation", "ij,ij->i")),
            "Einsum",
            "`ij` in equation `ij,ij->i` does not fit an operand of rank 1",
        ),
    ];
    for (found, op, reason) in cases {
        assert_eq!(found, wrong(op, reason));
    }
}

#[test]
fn what_is_not_supported_is_told_of_all_nodes_at_once() {
    let nodes = vec![
        Node { name: "first".into(), ..Node::new("NoSuchOperator", &["x"], &["a"]) },
        // It reads what could not be made: that is no fault of its own.
        Node { name: "second".into(), ..Node::new("Relu", &["a"], &["b"]) },
        Node { name: "third".into(), ..Node::new("MatMul", &["x", "z"], &["c"]) },
        Node { name: String::new(), ..Node::new("Add", &["x", "v"], &["d"]) },
    ];
    let text = refused(&model(&[("x", &[2, 3]), ("z", &[4, 5]), ("v", &[4])], vec![], nodes, "b"));
    let expected = "3 nodes of the model cannot be compiled:
  node `first` (NoSuchOperator): this operator is not supported
  node `third` (MatMul): a matrix product over 3 and 4 elements
  node `d` (Add): shapes do not broadcast: 3 and 4 in one dimension";
    assert_eq!(text, expected);
}

#[test]
fn shapes_that_cannot_be() {
    let told = |reason: &str, op: &str| format!("1 node of the model cannot be compiled:\n  node `n` ({op}): {reason}");
    let shape = |dims: &[i64]| vec![Tensor::from_i64s("s", dims)];
    let x: [Input; 1] = [("x", &[2, 3])];
    assert_eq!(of_node(&x, shape(&[4]), node("Reshape", &["x", "s"])), told("a reshape of 6 elements to 4", "Reshape"));
    assert_eq!(
        of_node(&x, vec![], node("Concat", &["x", "x"]).with("axis", 2i64)),
        told("axis 2 of a tensor of rank 2", "Concat")
    );
    assert_eq!(
        of_node(&[("x", &[2, 3]), ("w", &[2, 4])], vec![], node("Concat", &["x", "w"]).with("axis", 0i64)),
        told("dimension 1 of an operand is 4, expected 3", "Concat")
    );
    let text = of_node(&x, shape(&[1, 1]), node("Split", &["x", "s"]).with("axis", 1i64));
    assert!(text.contains("node `n` (Split): 2 parts for 1 outputs"), "{text}");
}

#[test]
fn inputs_and_outputs_that_no_library_can_have() {
    let tensor = |dtype, shape| Some(Type::Tensor(TensorType { dtype, shape }));
    let with = |ty: Option<Type>| {
        let mut model = model(&[], vec![], vec![node("Relu", &["x"])], "y");
        model.graph.inputs = vec![ValueInfo { name: "x".into(), ty }];
        refused(&model)
    };
    assert_eq!(with(None), "input `x` is of no declared type, which is not supported");
    assert_eq!(with(tensor(DType::F32, None)), "input `x` is a float32 tensor of unknown rank, which is not supported");
    assert_eq!(with(tensor(DType::String, Some(vec![]))), "input `x` is a tensor of string, which is not supported");
    let nodes = || vec![Node::new("SequenceConstruct", &["x"], &["s"])];
    let x: [Input; 1] = [("x", &[2])];
    assert_eq!(
        refused(&model(&x, vec![], nodes(), "s")),
        "output `s` is a sequence or optional; only tensors can leave a compiled model"
    );
    assert_eq!(refused(&model(&x, vec![], nodes(), "t")), "output `t` of graph `g` is not defined");
}
