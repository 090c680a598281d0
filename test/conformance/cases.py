"""The cases of the official suite as files: made once for a version of onnx, and listed in an index."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import onnx
from harness import TARGET
from onnx import numpy_helper

KINDS = ("node", "simple", "light", "pytorch-converted", "pytorch-operator")
# Part of the cache's name: a change of what is written here makes the cases anew.
LAYOUT = 1


@dataclass(frozen=True)
class DataSet:
    """Files of one run: a tensor each, None for what is no tensor (sequences, optionals, maps)."""

    inputs: list[str | None]
    outputs: list[str | None]


@dataclass(frozen=True)
class Case:
    """One case of the suite. `operator` is what the table counts it under."""

    kind: str
    name: str
    operator: str
    model: str
    rtol: float
    atol: float
    data: list[DataSet]

    @property
    def id(self) -> str:
        return f"{self.kind}/{self.name}"

    def bytes(self) -> int:
        """Bytes of the tensors' files."""
        paths = (path for data in self.data for path in (*data.inputs, *data.outputs) if path is not None)
        return sum(pathlib.Path(path).stat().st_size for path in paths)


def load_cases() -> list[Case]:
    """All the cases, in order of kind and name."""
    folder = TARGET / "conformance-cases" / f"onnx-{onnx.__version__}-{LAYOUT}"
    index = folder / "index.json"
    if not index.is_file():
        print(f"making the cases of onnx {onnx.__version__} in {folder}", flush=True)
        _make(folder, index)
    entries = json.loads(index.read_text())
    return [Case(**{**entry, "data": [DataSet(**data) for data in entry["data"]]}) for entry in entries]


def read_tensor(path: str | None) -> np.ndarray:
    """A tensor file."""
    if path is None:
        raise ValueError("not a tensor")
    return numpy_helper.to_array(onnx.TensorProto.FromString(pathlib.Path(path).read_bytes()))


def _make(folder: pathlib.Path, index: pathlib.Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    cases = [*_node_cases(folder / "node"), *_light_cases(folder / "light")]
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        cases.extend(_stored_cases(kind))
    cases.sort(key=lambda case: (KINDS.index(case.kind), case.name))
    # Last, and in one step: an interrupted run leaves no index.
    part = index.with_suffix(".part")
    part.write_text(json.dumps([asdict(case) for case in cases]))
    part.rename(index)


def _node_cases(folder: pathlib.Path) -> Iterator[Case]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    operators = {test.name: _first_operator(test.model) for test in tests}
    for test in tests:
        case = folder / test.name
        case.mkdir(parents=True)
        model = case / "model.onnx"
        model.write_bytes(test.model.SerializeToString())
        data = [
            DataSet(_write_tensors(case, f"{number}_input", inputs), _write_tensors(case, f"{number}_output", outputs))
            for number, (inputs, outputs) in enumerate(test.data_sets)
        ]
        # A function's expansion counts under the operator that it defines.
        base = re.sub(r"_expanded.*$", "", test.name)
        operator = operators.get(base, operators[test.name])
        suffix = " (expanded)" if base != test.name else ""
        yield Case("node", test.name, operator + suffix, str(model), test.rtol, test.atol, data)


def _light_cases(folder: pathlib.Path) -> Iterator[Case]:
    """Nets without real weights. Their input is a ramp, as in the suite's own runner; outputs are stored."""
    from onnx.backend.test.loader import load_model_tests

    folder.mkdir(parents=True)
    package = pathlib.Path(onnx.__file__).parents[1]
    for test in load_model_tests(kind="real"):
        if "/light/" not in test.url:
            continue
        path = package / test.url
        graph = onnx.load(path).graph
        constants = {tensor.name for tensor in graph.initializer}
        inputs = [_ramp(value) for value in graph.input if value.name not in constants]
        outputs = [f"{path.with_suffix('')}_output_{i}.pb" for i in range(len(graph.output))]
        data = [DataSet(_write_tensors(folder, f"{test.name}_input", inputs), outputs)]
        yield Case("light", test.name, "(net)", str(path), test.rtol, test.atol, data)


def _stored_cases(kind: str) -> Iterator[Case]:
    """Kinds whose files are in the onnx package."""
    from onnx.backend.test.loader import load_model_tests

    for test in load_model_tests(kind=kind):
        folder = pathlib.Path(test.model_dir)
        path = folder / "model.onnx"
        model = onnx.load(path)
        data = [
            DataSet(
                _stored_tensors(data_set, "input", model.graph.input),
                _stored_tensors(data_set, "output", model.graph.output),
            )
            for data_set in sorted(folder.glob("test_data_set_*"))
        ]
        yield Case(kind, test.name, _first_operator(model), str(path), test.rtol, test.atol, data)


def _first_operator(model: onnx.ModelProto) -> str:
    operators = [node.op_type for node in model.graph.node]
    return next((name for name in operators if name != "Constant"), "Constant")


def _ramp(value: onnx.ValueInfoProto) -> np.ndarray:
    shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
    size = int(np.prod(shape))
    return (np.arange(size).reshape(shape) / size).astype(np.float32)


def _write_tensors(folder: pathlib.Path, stem: str, values: list) -> list[str | None]:
    return [_write_tensor(folder / f"{stem}_{number}.pb", value) for number, value in enumerate(values)]


def _write_tensor(path: pathlib.Path, value: object) -> str | None:
    if isinstance(value, np.ndarray | np.generic):
        value = numpy_helper.from_array(np.asarray(value))
    if not isinstance(value, onnx.TensorProto):
        return None
    path.write_bytes(value.SerializeToString())
    return str(path)


def _stored_tensors(folder: pathlib.Path, stem: str, values: list[onnx.ValueInfoProto]) -> list[str | None]:
    count = len(list(folder.glob(f"{stem}_*.pb")))
    return [
        str(folder / f"{stem}_{number}.pb") if value.type.HasField("tensor_type") else None
        for number, value in zip(range(count), values)
    ]
