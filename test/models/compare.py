"""A compiled model and ONNX Runtime side by side in one process. Called by the suite; prints one JSON object.

usage: python -m models.compare MODEL_NAME LIBRARY
"""

from __future__ import annotations

import json
import pathlib
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import onnxruntime
from harness.abi import AbiError, BoundRun, Model

from .catalogue import CATALOGUE, Entry

TIMED_SECONDS = 3.0
MIN_ROUNDS, MAX_ROUNDS = 5, 300


def relative_error(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference over the largest magnitude of the reference; infinite where shapes or NaNs differ."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    difference = float(np.max(np.abs(a[finite] - b[finite])))
    if not np.isfinite(difference):
        return float("inf")
    return difference / max(float(np.max(np.abs(b[finite]))), float(np.finfo(np.float32).tiny))


def compare(entry: Entry, library: pathlib.Path) -> dict[str, float]:
    """The worst relative error over all the inputs, and median times with the first ones."""
    session = _session(entry.locate())
    with Model(library) as model:
        errors = [_error(entry.draw(index), model, session) for index in range(len(entry.inputs))]
        ours_ms, ort_ms = _times(entry.draw(0), model, session)
    return {"rel_err": max(errors), "ours_ms": ours_ms, "ort_ms": ort_ms}


def _session(path: pathlib.Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _error(feeds: dict[str, np.ndarray], model: Model, session: onnxruntime.InferenceSession) -> float:
    theirs = session.run([output.name for output in model.outputs], feeds)
    inputs = [feeds[info.name] for info in model.inputs]
    ours = model.run(inputs)
    bound = _bind(model, inputs)
    if bound is not None:
        bound()
        # Both kinds of run must give the same.
        if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(ours, bound.outputs, strict=True)):
            return float("inf")
    return max(relative_error(a, b) for a, b in zip(ours, theirs, strict=True))


def _times(feeds: dict[str, np.ndarray], model: Model, session: onnxruntime.InferenceSession) -> tuple[float, float]:
    """Medians in milliseconds, one run of each in turn so that both see the same machine."""
    inputs = [feeds[info.name] for info in model.inputs]
    ours = _bind(model, inputs) or (lambda: model.run(inputs))
    theirs = _bind_ort(session, feeds)
    for run in (ours, theirs):
        run()
    warm_up = _seconds(ours) + _seconds(theirs)
    rounds = int(min(max(TIMED_SECONDS / warm_up, MIN_ROUNDS), MAX_ROUNDS))
    pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(rounds)]
    ours_ms, ort_ms = (1e3 * statistics.median(times) for times in zip(*pairs))
    return ours_ms, ort_ms


def _bind(model: Model, inputs: list[np.ndarray]) -> BoundRun | None:
    """A run into fixed buffers, where the shapes of the outputs follow from those of the inputs."""
    shapes = model.output_shapes(inputs)
    if any(dim < 0 for shape in shapes for dim in shape):
        return None
    outputs = [np.empty(shape, info.dtype) for shape, info in zip(shapes, model.outputs, strict=True)]
    return model.bind(inputs, outputs)


def _bind_ort(session: onnxruntime.InferenceSession, feeds: dict[str, np.ndarray]) -> Callable[[], object]:
    """A run of ONNX Runtime without copies of inputs and outputs.

    It refuses to bind an output whose rank is not the one that the file declares; there it runs as usual, which copies the outputs.
    """
    outputs = session.get_outputs()
    names = [output.name for output in outputs]
    results = session.run(names, feeds)
    if any(len(output.shape) != result.ndim for output, result in zip(outputs, results, strict=True)):
        return lambda: session.run(names, feeds)
    bound = session.io_binding()
    for name, array in feeds.items():
        bound.bind_cpu_input(name, array)
    for name in names:
        bound.bind_output(name)
    return lambda: session.run_with_iobinding(bound)


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def main() -> int:
    name, library = sys.argv[1:]
    entry = next(entry for entry in CATALOGUE if entry.name == name)
    try:
        print(json.dumps(compare(entry, pathlib.Path(library))))
    except AbiError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
