"""Trials of aitmlir-compile: damaged models, bad external data, bad arguments, outputs that cannot be written."""

from __future__ import annotations

import os
import pathlib
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import onnx
from harness import tools
from harness.abi import Model
from harness.isolate import Crash, isolated

from . import models
from .trial import Verdict, judge

Trial = Callable[[], Verdict]
Limit = Callable[[], None]

TRUNCATIONS = 80
BIT_FLIPS = 240
OVERWRITES = 80
# Enough for an object file's first pages, too little for a library.
SMALL_DISK = 16 << 10


def trials(folder: pathlib.Path) -> Iterator[Trial]:
    """All the trials; each works in a folder of its own below `folder`."""
    source = models.small(folder)
    yield from _damaged(source, folder)
    yield from _external_data(folder)
    yield from _arguments(source, folder)
    yield from _outputs(source, folder)


def _compile(
    name: str, folder: pathlib.Path, model: pathlib.Path, *arguments: str, limit: Limit = tools.limit_memory
) -> Verdict:
    """A compilation that must fail, into a folder of its own that must stay empty."""
    target = folder / "out" / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    call = tools.compile_model(model, target / "model.so", *arguments, limit=limit)
    return judge(name, call, list(target.iterdir()))


def _damaged(source: pathlib.Path, folder: pathlib.Path) -> Iterator[Trial]:
    data = source.read_bytes()
    generator = np.random.default_rng(1)
    # Most of a file is weights, where a change does no harm: half of the changes go to the rest.
    structure = _structure(data)
    for length in np.linspace(0, len(data) - 1, TRUNCATIONS).astype(int):
        yield partial(_mutant, f"truncated-{length}", data[:length], folder)
    for number in range(BIT_FLIPS):
        changed = bytearray(data)
        for _ in range(generator.integers(1, 5)):
            place = int(generator.choice(structure) if number % 2 else generator.integers(len(data)))
            changed[place] ^= 1 << int(generator.integers(8))
        yield partial(_mutant, f"bits-{number}", bytes(changed), folder)
    for number in range(OVERWRITES):
        changed = bytearray(data)
        place = int(generator.choice(structure))
        piece = generator.bytes(int(generator.integers(1, 24))) if number % 2 else b"\xff" * 8
        changed[place : place + len(piece)] = piece
        yield partial(_mutant, f"overwritten-{number}", bytes(changed), folder)


def _structure(data: bytes) -> np.ndarray:
    """Positions outside of the weights' values."""
    outside = np.ones(len(data), np.bool_)
    for tensor in onnx.load_from_string(data).graph.initializer:
        start = data.find(tensor.raw_data)
        outside[start : start + len(tensor.raw_data)] = False
    return np.flatnonzero(outside)


def _mutant(name: str, data: bytes, folder: pathlib.Path) -> Verdict:
    """A damaged model may still be a model; then its library must load and run, or refuse to."""
    target = folder / "mutants" / name
    target.mkdir(parents=True, exist_ok=True)
    model, library = target / "mutant.onnx", target / "model.so"
    model.write_bytes(data)
    call = tools.compile_model(model, library)
    left = [path for path in target.iterdir() if path != model]
    verdict = judge(name, call, left, may_succeed=True)
    if not verdict.accepted:
        return verdict
    try:
        isolated(partial(_run_zeros, library), timeout=60)
    except Crash as crash:
        return Verdict(name, False, True, False, False, f"the library of a damaged model: {crash}")
    return verdict


def _run_zeros(library: pathlib.Path) -> bool:
    try:
        with Model(library) as model:
            shapes = [[max(dim.minimum, 1) for dim in info.dims] for info in model.inputs]
            model.run([np.zeros(shape, info.dtype) for shape, info in zip(shapes, model.inputs)])
    except Exception:  # noqa: BLE001 - only a crash matters here
        return False
    return True


def _external_data(folder: pathlib.Path) -> Iterator[Trial]:
    base = folder / "external"
    source = models.small(base, external=True)
    outside = folder / "outside.data"
    shutil.copy(base / "external.data", outside)
    (base / "link.data").unlink(missing_ok=True)
    (base / "link.data").symlink_to(outside)
    changes = {
        "missing": {"location": "none.data"},
        "absolute": {"location": str(outside)},
        "parent": {"location": "../outside.data"},
        "symlink-out": {"location": "link.data"},
        "folder": {"location": "."},
        "empty-name": {"location": ""},
        "offset-past-end": {"offset": "99999999"},
        "offset-negative": {"offset": "-64"},
        "offset-no-number": {"offset": "many"},
        "offset-huge": {"offset": "18446744073709551615"},
        "length-past-end": {"length": "99999999"},
        "length-negative": {"length": "-1"},
        "length-of-another-shape": {"length": "4"},
    }
    for name, entries in changes.items():
        model = models.with_external_location(source, base / f"{name}.onnx", **entries)
        yield partial(_compile, f"external-{name}", folder, model)


def _arguments(source: pathlib.Path, folder: pathlib.Path) -> Iterator[Trial]:
    text, noise, empty = folder / "text.onnx", folder / "noise.onnx", folder / "empty.onnx"
    text.write_text("This is not a model.\n" * 40)
    noise.write_bytes(np.random.default_rng(2).bytes(4096))
    empty.write_bytes(b"")
    for path in (text, noise, empty, folder / "none.onnx", folder):
        yield partial(_compile, f"model-{path.name}", folder, path)
    yield partial(_compile, "unknown-operators", folder, models.with_unknown_operators(folder / "unknown.onnx"))
    for name, arguments in {
        "flag": ["--no-such-flag"],
        "target": ["--target=abacus"],
        "emit": ["--emit=poetry"],
        "weights": ["--weights=elsewhere"],
        "dim-syntax": ["--dim=batch_size=many"],
        "dim-unknown": ["--dim=nobody=1..4"],
        "dim-empty-range": ["--dim=batch_size=9..3"],
        "dim-negative": ["--dim=batch_size=-4..-2"],
        "shape-unknown": ["--shape=nobody=1x3x8x8"],
        "shape-rank": ["--shape=image=1x3x8"],
        "shape-conflict": ["--shape=image=1x5x8x8"],
    }.items():
        yield partial(_compile, f"argument-{name}", folder, source, *arguments)


def _outputs(source: pathlib.Path, folder: pathlib.Path) -> Iterator[Trial]:
    yield partial(_elsewhere, "output-in-no-folder", source, folder / "none" / "model.so")
    taken = folder / "taken.so"
    taken.mkdir(exist_ok=True)
    yield partial(_elsewhere, "output-is-a-folder", source, taken)
    yield partial(_elsewhere, "output-empty-name", source, pathlib.Path(""))
    pipe = folder / "pipe.so"
    os.mkfifo(pipe)
    yield partial(_elsewhere, "output-is-a-pipe", source, pipe)
    yield partial(_compile, "output-file-too-large", folder, source, limit=_small_files)
    yield partial(_compile, "weights-file-too-large", folder, source, "--weights=file", limit=_small_files)
    disk = folder / "disk"
    if _mount(disk):
        yield partial(_full_disk, "disk-full-output", source, disk, {})
        yield partial(_full_disk, "disk-full-temporary", source, disk, {"TMPDIR": str(disk)})
    else:
        print("no tmpfs can be mounted here: full disks are tried by file size limits only")


def _elsewhere(name: str, model: pathlib.Path, output: pathlib.Path) -> Verdict:
    new = [] if output.exists() else [output]
    return judge(name, tools.compile_model(model, output), new)


def _small_files() -> None:
    """Writing past a few pages fails, as on a full disk, instead of killing the process."""
    tools.limit_memory()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL_DISK, SMALL_DISK))


def _mount(disk: pathlib.Path) -> bool:
    disk.mkdir(exist_ok=True)
    if os.path.ismount(disk):
        return True
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(disk)]
    return subprocess.run(command, capture_output=True).returncode == 0


def _full_disk(name: str, model: pathlib.Path, disk: pathlib.Path, environment: dict[str, str]) -> Verdict:
    folder = disk / name
    folder.mkdir()
    call = tools.compile_model(model, folder / "model.so", environment={**os.environ, **environment})
    verdict = judge(name, call, list(folder.iterdir()) + [path for path in disk.iterdir() if path.is_file()])
    shutil.rmtree(folder)
    return verdict


def unmount(folder: pathlib.Path) -> None:
    """Takes the small disk away again."""
    subprocess.run(["umount", folder / "disk"], capture_output=True)
