"""Small models that the trials damage or misuse."""

from __future__ import annotations

import pathlib
from functools import partial

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def small(folder: pathlib.Path, external: bool = False) -> pathlib.Path:
    """A model with a dynamic batch, a convolution, a matrix product and shape arithmetic."""
    generator = np.random.default_rng(0)
    weights: dict[str, np.ndarray] = {
        "kernel": generator.standard_normal((4, 3, 3, 3), dtype=np.float32),
        "matrix": generator.standard_normal((4 * 6 * 6, 10), dtype=np.float32),
        "bias": generator.standard_normal(10, dtype=np.float32),
        "rest": np.asarray([-1], dtype=np.int64),
    }
    nodes = [
        helper.make_node("Conv", ["image", "kernel"], ["conv"], "conv"),
        helper.make_node("Relu", ["conv"], ["relu"], "relu"),
        helper.make_node("Shape", ["relu"], ["batch"], "batch", start=0, end=1),
        helper.make_node("Concat", ["batch", "rest"], ["shape"], "shape", axis=0),
        helper.make_node("Reshape", ["relu", "shape"], ["flat"], "flat"),
        helper.make_node("Gemm", ["flat", "matrix", "bias"], ["logits"], "gemm"),
        helper.make_node("Softmax", ["logits"], ["probabilities"], "softmax", axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch_size", 3, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch_size", 10])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ("external.onnx" if external else "small.onnx")
    if external:
        onnx.save(model, path, save_as_external_data=True, location="external.data", size_threshold=64)
    else:
        onnx.save(model, path)
    return path


def lookup(folder: pathlib.Path) -> pathlib.Path:
    """Two lookups in one table; an index out of range is an error that names its node."""
    node = partial(helper.make_node, "Gather", axis=0)
    graph = helper.make_graph(
        [
            node(["table", "first"], ["a"], "/words/Gather"),
            node(["table", "second"], ["b"], "/positions/Gather"),
            helper.make_node("Add", ["a", "b"], ["sum"], "/Add"),
        ],
        "lookup",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["n"]) for name in ("first", "second")],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(np.zeros((10, 4), np.float32), "table")],
    )
    path = folder / "lookup.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def shapes(folder: pathlib.Path) -> pathlib.Path:
    """Operators whose operands have to fit, of dims that only a run knows."""
    value = partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT)
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["a", "b"], ["sum"], "/Add"),
            helper.make_node("MatMul", ["c", "d"], ["product"], "/MatMul"),
            helper.make_node("Reshape", ["e", "rows"], ["matrix"], "/Reshape"),
            helper.make_node("Concat", ["c", "f"], ["tall"], "/Concat", axis=0),
        ],
        "shapes",
        [
            value("a", shape=["n", 4]),
            value("b", shape=["m", 4]),
            value("c", shape=[2, "j"]),
            value("d", shape=["k", 3]),
            value("e", shape=["p"]),
            value("f", shape=[1, "q"]),
        ],
        [value("sum", shape=None), value("product", shape=[2, 3]), value("matrix", shape=[None, 4]), value("tall", shape=[3, "j"])],
        [numpy_helper.from_array(np.asarray([-1, 4], np.int64), "rows")],
    )
    path = folder / "shapes.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def with_external_location(source: pathlib.Path, path: pathlib.Path, **entries: str) -> pathlib.Path:
    """A copy of a model with external data, its references changed."""
    model = onnx.load(source, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            entry.value = entries.get(entry.key, entry.value)
    path.write_bytes(model.SerializeToString())
    return path


def with_unknown_operators(path: pathlib.Path) -> pathlib.Path:
    """A model with two operators that do not exist."""
    model = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("NoSuchOperator", ["x"], ["y"], "first"),
                helper.make_node("NeitherThis", ["y"], ["z"], "second", domain="com.example"),
            ],
            "unknown",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
            [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2])],
        ),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.example", 1)],
    )
    path.write_bytes(model.SerializeToString())
    return path
