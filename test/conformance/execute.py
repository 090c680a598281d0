"""One case, from its files to its outcome."""

from __future__ import annotations

import pathlib
import shutil
import time
from dataclasses import asdict, dataclass

import numpy as np
import onnx
from harness import TARGET, tools
from harness import simulated
from harness.abi import AbiError, Model
from harness.isolate import Crash, isolated
from onnx import numpy_helper
from onnx.backend.test.runner import Runner

from .cases import Case, DataSet, read_tensor
from .outcome import COMPILE_ERROR, CRASH, PASS, RUN_ERROR, WRONG, Outcome, compile_reason, reason_of

COMPILE_TIMEOUT = 180.0
RUN_TIMEOUT = 120.0
WORK = TARGET / "conformance-work"


@dataclass(frozen=True)
class Result:
    """The outcome of a case and what it took."""

    case: str
    operator: str
    outcome: Outcome
    compile_s: float
    run_s: float


# How a case is compiled for each device. The simulator runs PTX, so that no ptxas is needed.
ARGUMENTS = {"cpu": [], "sim": ["--target", "cuda:sm_80", "--embed-ptx"]}


def execute(case: Case, keep: bool = False, device: str = "cpu") -> Result:
    """Compiles and runs a case. Nothing that it does ends this process."""
    folder = WORK / case.kind / case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    library = folder / "model.so"
    compiled = tools.compile_model(pathlib.Path(case.model), library, *ARGUMENTS[device], timeout=COMPILE_TIMEOUT)
    outcome = _compile_outcome(compiled, library)
    started = time.monotonic()
    if outcome is None:
        outcome = _isolated_run(case, library, device)
    run_s = time.monotonic() - started
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return Result(case.id, case.operator, outcome, round(compiled.seconds, 3), round(run_s, 3))


def _compile_outcome(compiled: tools.Call, library: pathlib.Path) -> Outcome | None:
    """None where there is a library to go on with."""
    if compiled.crash:
        return Outcome(CRASH, f"compiler-{compiled.crash}".replace(" ", "-"), compiled.stderr)
    if not compiled.ok:
        return Outcome(COMPILE_ERROR, compile_reason(compiled.errors, compiled.stderr), compiled.stderr)
    if not library.is_file():
        return Outcome(COMPILE_ERROR, "no-library", "the compiler said nothing and wrote nothing")
    return None


def _isolated_run(case: Case, library: pathlib.Path, device: str) -> Outcome:
    try:
        return Outcome(**isolated(lambda: asdict(_run(case, library, device)), RUN_TIMEOUT))
    except Crash as crash:
        return Outcome(CRASH, f"run-{crash}".replace(" ", "-"), str(crash))


def _run(case: Case, library: pathlib.Path, device: str) -> Outcome:
    try:
        if not case.data:
            return Outcome(RUN_ERROR, "no-data", "the suite gives no data for this case")
        with simulated.Model(library) if device == "sim" else Model(library) as model:
            graph = onnx.load(case.model).graph
            outcomes = (_run_data(case, graph, model, data) for data in case.data)
            return next((outcome for outcome in outcomes if outcome.outcome != PASS), Outcome(PASS))
    except simulated.Finding as finding:
        return Outcome(WRONG, f"finding:{reason_of(str(finding))}", str(finding))
    except AbiError as error:
        return Outcome(RUN_ERROR, reason_of(str(error)), str(error))
    except Exception as error:  # noqa: BLE001 - whatever goes wrong here is an outcome of this case
        return Outcome(RUN_ERROR, f"harness:{type(error).__name__}", str(error))


def _run_data(case: Case, graph: onnx.GraphProto, model: Model | simulated.Model, data: DataSet) -> Outcome:
    if not all((*data.inputs, *data.outputs)):
        return Outcome(RUN_ERROR, "no-tensor-value", "the C ABI passes tensors only")
    values = _values(graph, data)
    missing = [info.name for info in model.inputs if info.name not in values]
    if missing:
        return Outcome(RUN_ERROR, "no-data-for-an-input", ", ".join(missing))
    outputs = model.run([values[info.name] for info in model.inputs])
    expected = [read_tensor(path) for path in data.outputs]
    return compare(outputs, expected, case.rtol, case.atol)


def _values(graph: onnx.GraphProto, data: DataSet) -> dict[str, np.ndarray]:
    """Input values by name. An initializer that is an input as well is that input's default."""
    defaults = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    named = [value.name for value in graph.input]
    if len(data.inputs) < len(named):
        named = [name for name in named if name not in defaults]
    return {**defaults, **{name: read_tensor(path) for name, path in zip(named, data.inputs)}}


def compare(outputs: list[np.ndarray], expected: list[np.ndarray], rtol: float, atol: float) -> Outcome:
    """The suite's own comparison, with its own tolerances."""
    try:
        Runner.assert_similar_outputs(expected, outputs, rtol, atol)
    except AssertionError as error:
        return Outcome(WRONG, _difference(outputs, expected), str(error).strip())
    return Outcome(PASS)


def _difference(outputs: list[np.ndarray], expected: list[np.ndarray]) -> str:
    if len(outputs) != len(expected):
        return "number-of-outputs"
    if any(a.shape != b.shape for a, b in zip(outputs, expected)):
        return "shape"
    if any(a.dtype != b.dtype for a, b in zip(outputs, expected)):
        return "type"
    return "values"
