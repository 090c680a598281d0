"""A model compiled for CUDA, run on the PTX simulator by `aitmlir-run`: the same interface as `abi.Model`."""

from __future__ import annotations

import json
import pathlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from . import tools
from .abi import AbiError

TIMEOUT = 120.0
# Exit status of aitmlir-run when the simulator found a fault of a kernel.
FOUND = 4


class Finding(Exception):
    """The simulator found a fault of a kernel."""


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a model."""

    name: str


class Model:
    """A compiled model; every run is a process of its own."""

    def __init__(self, path: pathlib.Path, checks: str = "all") -> None:
        self._path, self._checks = path, checks
        described = tools.call("aitmlir-run", ["inspect", path, "--json"])
        if not described.ok:
            raise AbiError(0, " ".join(described.errors) or described.stderr)
        info = json.loads(described.stdout)
        self.inputs = [TensorInfo(tensor["name"]) for tensor in info["inputs"]]
        self.outputs = [TensorInfo(tensor["name"]) for tensor in info["outputs"]]

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Runs the model once, with all checks of the simulator."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            arguments: list[str | pathlib.Path] = ["run", self._path, "--device", "sim", "--check", self._checks]
            for number, (info, value) in enumerate(zip(self.inputs, inputs)):
                np.save(folder / f"{number}.npy", np.ascontiguousarray(value).reshape(np.shape(value)))
                arguments += ["--input", f"{info.name}=@{folder / f'{number}.npy'}"]
            call = tools.call("aitmlir-run", [*arguments, "--json", "--output-dir", folder / "out"], TIMEOUT)
            if call.status == FOUND:
                raise Finding(call.stderr)
            if not call.ok:
                raise AbiError(0, call.crash or " ".join(call.errors) or call.stderr)
            return [_load(entry) for entry in json.loads(call.stdout)["outputs"]]


def _load(entry: dict) -> np.ndarray:
    """An output; NumPy's own files have no name for bfloat16."""
    array = np.load(entry["file"])
    return array.view(ml_dtypes.bfloat16) if entry["dtype"] == "bf16" else array
