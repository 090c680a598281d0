"""Trials of a compiled model: wrong tensors and missing weights, through the C ABI and through aitmlir-run."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from harness import tools
from harness.abi import AbiError, Model
from harness.isolate import Crash, isolated

from . import models
from .trial import Verdict, judge

GOOD = np.zeros((2, 3, 8, 8), np.float32)
# What is wrong with the one input of the small model.
BAD_TENSORS: dict[str, list[np.ndarray]] = {
    "dtype-f64": [GOOD.astype(np.float64)],
    "dtype-i32": [GOOD.astype(np.int32)],
    "dtype-bool": [GOOD.astype(np.bool_)],
    "rank-0": [np.zeros((), np.float32)],
    "rank-3": [GOOD[0]],
    "rank-5": [GOOD[None]],
    "channels": [np.zeros((2, 4, 8, 8), np.float32)],
    "height": [np.zeros((2, 3, 7, 8), np.float32)],
    "width-0": [np.zeros((2, 3, 8, 0), np.float32)],
}
BAD_COUNTS: dict[str, list[np.ndarray]] = {"no-inputs": [], "two-inputs": [GOOD, GOOD]}


def verdicts(folder: pathlib.Path) -> Iterator[Verdict]:
    """Compiles the small model both ways, then misuses what comes out."""
    source = models.small(folder)
    embedded, separate = folder / "embedded.so", folder / "separate" / "model.so"
    separate.parent.mkdir(exist_ok=True)
    for library, *arguments in ((embedded,), (separate, "--weights=file")):
        call = tools.compile_model(source, library, *arguments)
        if not call.ok:
            yield Verdict(f"compile-{library.name}", False, call.crash is not None, False, False, call.stderr)
            return
    yield from _tensors(embedded)
    yield from _buffers(embedded)
    yield from _weights(separate, folder)
    yield from _runner(embedded, separate, folder)
    yield from _checks(folder)


def _failing_call(name: str, function: Callable[[], object]) -> Verdict:
    """A call through the C ABI that must give a status and one line of text."""

    def outcome() -> str | None:
        try:
            function()
        except AbiError as error:
            return str(error)
        return None

    try:
        text = isolated(outcome, timeout=60)
    except Crash as crash:
        return Verdict(name, False, True, False, False, str(crash))
    clear = bool(text) and "\n" not in text
    detail = "" if clear else f"text: {text!r}" if text is not None else "the call succeeded"
    return Verdict(name, clear, False, False, False, detail)


def _tensors(library: pathlib.Path) -> Iterator[Verdict]:
    output = np.empty((2, 10), np.float32)
    calls: dict[str, Callable[[list[np.ndarray], Model], object]] = {
        "owned": lambda arrays, model: model.run(arrays),
        "caller": lambda arrays, model: model.bind(arrays, [output])(),
        "shape": lambda arrays, model: model.output_shapes(arrays),
    }
    for name, arrays in (BAD_TENSORS | BAD_COUNTS).items():
        for kind, run in calls.items():
            yield _failing_call(f"abi-{kind}-{name}", partial(_with_model, library, partial(run, arrays)))


def _buffers(library: pathlib.Path) -> Iterator[Verdict]:
    outputs: dict[str, list[np.ndarray]] = {
        "too-small": [np.empty((1, 10), np.float32)],
        "dtype": [np.empty((2, 10), np.float64)],
        "rank": [np.empty((2, 10, 1), np.float32)],
        "missing": [],
    }
    for name, arrays in outputs.items():
        yield _failing_call(f"abi-output-{name}", partial(_with_model, library, partial(_bind_and_run, arrays)))


def _checks(folder: pathlib.Path) -> Iterator[Verdict]:
    """What only a run can tell, indices and shapes: the error names the node that they do not fit."""
    good, bad = np.array([0, -10, 9]), np.array([1, 12, 3])
    indices = {"/words/Gather": [bad, good], "/positions/Gather": [good, bad]}
    yield from _naming(models.lookup(folder), [good, good], indices)
    ones = partial(np.ones, dtype=np.float32)
    fitting = [ones((5, 4)), ones((1, 4)), ones((2, 6)), ones((6, 3)), ones(8), ones((1, 6))]
    misfits = {"/Add": (1, ones((3, 4))), "/MatMul": (3, ones((7, 3))), "/Reshape": (4, ones(9)), "/Concat": (5, ones((1, 5)))}
    shapes = {node: fitting[:i] + [wrong] + fitting[i + 1 :] for node, (i, wrong) in misfits.items()}
    yield from _naming(models.shapes(folder), fitting, shapes)


def _naming(source: pathlib.Path, good: list[np.ndarray], bad: dict[str, list[np.ndarray]]) -> Iterator[Verdict]:
    """A model that runs on good inputs; on bad ones, by node, it must name the node."""
    library = source.with_suffix(".so")
    call = tools.compile_model(source, library)
    if not call.ok:
        yield Verdict(f"compile-{source.stem}", False, call.crash is not None, False, False, call.stderr)
        return
    _with_model(library, lambda model: model.run(good))
    for node, arrays in bad.items():
        name = "abi-check-" + node.strip("/").replace("/", "-")
        yield _failing_call(name, partial(_with_model, library, partial(_run_naming, node, arrays)))


def _run_naming(node: str, arrays: list[np.ndarray], model: Model) -> None:
    try:
        model.run(arrays)
    except AbiError as error:
        if node not in str(error):
            raise RuntimeError(f"the error does not name {node}: {error}") from error
        raise


def _bind_and_run(outputs: list[np.ndarray], model: Model) -> None:
    model.bind([GOOD], outputs)()


def _weights(library: pathlib.Path, folder: pathlib.Path) -> Iterator[Verdict]:
    weights = next(path for path in library.parent.iterdir() if path.suffix not in (".so", ".h"))
    data = weights.read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    for name, content in {
        "missing": None,
        "empty": b"",
        "truncated": data[: len(data) // 2],
        "longer": data + data,
        "changed": bytes(flipped),
    }.items():
        broken = folder / f"weights-{name}"
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(library.parent, broken)
        (broken / weights.name).unlink()
        if content is not None:
            (broken / weights.name).write_bytes(content)
        yield _failing_call(f"abi-weights-{name}", partial(_with_model, broken / library.name, lambda _: None))
        yield _run(f"run-weights-{name}", broken / library.name)
    yield _failing_call("abi-weights-elsewhere", lambda: Model(library, weights=folder / "none.weights"))


def _runner(library: pathlib.Path, separate: pathlib.Path, folder: pathlib.Path) -> Iterator[Verdict]:
    for name, arrays in BAD_TENSORS.items():
        path = folder / f"{name}.npy"
        np.save(path, arrays[0])
        yield _run(f"run-{name}", library, f"--input=image=@{path}")
    good, broken, text = folder / "good.npy", folder / "broken.npy", folder / "text.npy"
    np.save(good, GOOD)
    broken.write_bytes(good.read_bytes()[:100])
    text.write_text("no numbers")
    for name, argument in {
        "broken-npy": f"image=@{broken}",
        "text-npy": f"image=@{text}",
        "no-npy": f"image=@{folder / 'none.npy'}",
        "unknown-input": f"nobody=@{good}",
        "no-name": f"@{good}",
    }.items():
        yield _run(f"run-{name}", library, f"--input={argument}")
    yield _run("run-no-library", folder / "none.so")
    yield _run("run-not-a-library", text)
    yield _run("run-another-library", pathlib.Path("/lib/x86_64-linux-gnu/libm.so.6"))


def _run(name: str, library: pathlib.Path, *arguments: str) -> Verdict:
    return judge(name, tools.call("aitmlir-run", ["run", library, *arguments]), [])


def _with_model(library: pathlib.Path, function: Callable[[Model], object]) -> object:
    with Model(library) as model:
        return function(model)
