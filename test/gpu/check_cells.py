"""Runs the libraries that `cells.py` made on this machine's GPU: `python3 check_cells.py FOLDER [SECONDS] [FILTER]`.

Every output is poisoned and then compared, element by element, with the same expression in f64. A cell passes where the error is below
what its arithmetic allows: see `bound`. Each library runs in a process of its own. Writes cells.json into $OUT (or here) and prints a table.
"""

from __future__ import annotations

import ctypes
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zlib

import cells

OUT = pathlib.Path(os.environ.get("OUT", pathlib.Path(__file__).resolve().parent))
LIBRARY_SECONDS = 60
# Of a product on tensor cores the sums are not rounded to nearest: the error of one step is taken as 2^-22.
SUM_STEP = {"f16": 2**-22, "bf16": 2**-22, "f32": 2**-24, "tf32": 2**-22}
ROUNDING = {"f16": 2**-11, "bf16": 2**-8, "f32": 2**-24, "tf32": 2**-24}
# What rounding both operands first does to a product.
OPERANDS = {"tf32": 2**-10 + 2**-22}


class Tensor(ctypes.Structure):
    """aitmlir_tensor of aitmlir.h."""

    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_uint64), ("dtype", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("memory", ctypes.c_uint64), ("reserved", ctypes.c_uint64)]


class Options(ctypes.Structure):
    """aitmlir_options of aitmlir.h."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("weights_path", ctypes.c_char_p), ("threads", ctypes.c_int32),
                ("device_index", ctypes.c_int32), ("device", ctypes.c_void_p)]


class Library:
    """A compiled model on tensors of torch in device memory."""

    def __init__(self, path: pathlib.Path) -> None:
        self.library = ctypes.CDLL(str(path.resolve()))
        self.library.aitmlir_last_error.restype = ctypes.c_char_p
        self.model = ctypes.c_void_p()
        options = Options(ctypes.sizeof(Options), None, 1, 0, None)
        self.check(self.library.aitmlir_model_create(ctypes.byref(options), ctypes.byref(self.model)))

    def check(self, status: int) -> None:
        if status:
            raise RuntimeError(self.library.aitmlir_last_error().decode())

    def run(self, inputs: list, outputs: list) -> None:
        """Runs the model; outputs are written in place."""
        (ins, keep), (outs, kept) = self.tensors(inputs), self.tensors(outputs)
        self.check(self.library.aitmlir_run(self.model, ins, len(inputs), outs, len(outputs)))
        del keep, kept

    @staticmethod
    def tensors(values: list) -> tuple:
        import torch

        numbers = {torch.float32: 1, torch.float16: 3, torch.bfloat16: 4, torch.int8: 5, torch.int32: 7}
        dims = [(ctypes.c_int64 * max(v.dim(), 1))(*v.shape) for v in values]
        made = [Tensor(v.data_ptr(), d, v.numel() * v.element_size(), numbers[v.dtype], v.dim(), 1, 0) for v, d in zip(values, dims)]
        return (Tensor * len(made))(*made), dims


def evaluate(e: cells.Expr, values: dict):
    """The expression on f64 tensors; `values` has the sum ("acc") and the extra operands."""
    import torch

    if e.op in ("acc", "extra"):
        return values["acc" if e.op == "acc" else e.args[0]]
    if e.op == "const":
        return torch.tensor(e.args[0], dtype=torch.float64, device="cuda")
    args = [evaluate(arg, values) for arg in e.args]
    code = {"add": torch.add, "mul": torch.mul, "div": torch.div, "min": torch.minimum, "relu": torch.relu, "tanh": torch.tanh,
            "exp": torch.exp, "erf": torch.erf}
    return code[e.op](*args)


def bound(e: cells.Expr, values: dict, want, group: cells.Group, k: int, magnitude):
    """The error that is allowed, element by element.

    The sum is off by at most k steps of |A||B| (`magnitude`), and by what operands are rounded before; what the epilogue makes of that is seen by evaluating it there, to both
    sides. Its own arithmetic is in f32, with approximations of tanh, exp and erf of relative error 2^-20: 16 such errors of the largest
    intermediate value. Last, the result is rounded to its type.
    """
    import torch

    off = ((k + 2) * SUM_STEP[group.dtype] + OPERANDS.get(group.dtype, 0.0)) * magnitude
    moved = [(evaluate(e, {**values, "acc": values["acc"] + side * off}) - want).abs() for side in (-1, 1)]
    scale = torch.ones_like(want)
    for name in ("acc", *e.extras()):
        scale = torch.maximum(scale, values[name].abs().expand_as(want))
    return torch.maximum(*moved) + 16 * 2**-20 * scale * scale.clamp(max=8) + want.abs() * ROUNDING[group.dtype] * 1.01 + 2**-24


class Case:
    """A group on one set of sizes: its inputs, and its outputs, poisoned."""

    def __init__(self, group: cells.Group, sizes: str) -> None:
        import torch

        kinds = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i8": torch.int8, "i32": torch.int32}
        operands, results = (kinds[name] for name in cells.TYPES[group.dtype][:2])
        self.group, self.sizes, self.mnk = group, sizes, group.runs()[sizes]

        def make(name: str):
            kind, shape = operands if name in ("a", "b") else results, group.shape(name, *self.mnk)
            if kind.is_floating_point:
                return (torch.randn(shape, device="cuda") * 0.5).to(kind)
            return torch.randint(-128, 128, shape, device="cuda").to(kind)

        self.inputs = {name: make(name) for name in group.inputs()}
        poison = float("nan") if results.is_floating_point else -(2**31) + 77
        shape = group.shape("out", *self.mnk)
        self.outputs = [torch.full(shape, poison, dtype=results, device="cuda") for _ in group.epilogues()]

    def results(self) -> list[dict]:
        """What is wrong in each output of a run."""
        import torch

        values, made = {name: value.double() for name, value in self.inputs.items()}, []
        a, b = (values[x] if order == "row" else values[x].transpose(-1, -2)
                for x, order in zip("ab", self.group.orders, strict=True))
        if self.group.dtype == "s8" and a.shape[-1] * 2**14 >= 2**53:
            raise ValueError("sums of this length are not exact in f64")
        values["acc"], magnitude = a @ b, a.abs() @ b.abs()
        for (name, e), out in zip(self.group.epilogues().items(), self.outputs, strict=True):
            want = evaluate(e, values)
            exact = not out.is_floating_point()
            allowed = torch.zeros_like(want) if exact else bound(e, values, want, self.group, self.mnk[2], magnitude)
            error = (out.double() - want).abs()
            made.append({"group": self.group.name, "epilogue": name, "sizes": self.sizes, "wrong": int((~(error <= allowed)).sum()),
                         "of": want.numel(), "error_of_allowed": round(float((error / (allowed + 1e-300)).nan_to_num(1e9).max()), 3)})
        return made


def check(library: cells.Library, folder: pathlib.Path) -> list[dict]:
    """All cells of one library."""
    import torch

    torch.manual_seed(zlib.crc32(library.name.encode()))
    with tempfile.TemporaryDirectory() as unpacked:
        path = pathlib.Path(unpacked) / f"{library.name}.so"
        path.write_bytes(lzma.decompress((folder / f"{library.name}.so.xz").read_bytes()))
        model = Library(path)
    results, groups = [], library.groups()
    for number in range(max(len(group.runs()) for group in groups)):
        cases = [Case(group, list(group.runs())[number % len(group.runs())]) for group in groups]
        torch.cuda.synchronize()
        model.run([t for case in cases for t in case.inputs.values()], [t for case in cases for t in case.outputs])
        for case in cases:
            if number < len(case.group.runs()):
                results += [{"library": library.name, **result} for result in case.results()]
    return results


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    if sys.argv[2:3] == ["--one"]:
        library = next(item for item in cells.libraries() if item.name == sys.argv[3])
        print(json.dumps(check(library, folder)))
        return 0
    deadline = time.time() + float(sys.argv[2] if len(sys.argv) > 2 else 300)
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    count = {library.name: library.cells() for library in cells.libraries() if wanted in library.name}
    results, broken, waiting, running = [], [], list(count), {}
    while waiting or running:
        while waiting and len(running) < min(6, os.cpu_count() or 1) and time.time() < deadline:
            name = waiting.pop(0)
            command = [sys.executable, __file__, folder, "--one", name]
            running[name] = (subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True), time.time())
        if time.time() >= deadline:
            broken += [{"library": name, "cause": "no time was left"} for name in waiting]
            waiting = []
        for name, (process, started) in list(running.items()):
            try:
                said, _ = process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                if time.time() - started > LIBRARY_SECONDS:
                    process.kill()
                continue
            del running[name]
            try:
                results += json.loads(said.strip().splitlines()[-1])
            except (ValueError, IndexError):
                broken.append({"library": name, "cause": " | ".join(said.strip().splitlines()[-3:]) or f"exit status {process.returncode}"})
    lost = sum(count[b["library"]] for b in broken)
    wrong = [r for r in results if r["wrong"]]
    report = {"cells": {"total": len(results) + lost, "pass": len(results) - len(wrong)}, "wrong": wrong, "broken": broken}
    (OUT / "cells.json").write_text(json.dumps({**report, "results": results}))
    for r in wrong[:40]:
        print("WRONG", json.dumps(r))
    for b in broken[:20]:
        print("BROKEN", json.dumps(b))
    print(json.dumps(report["cells"]), "largest error, of what is allowed:", max((r["error_of_allowed"] for r in results), default=None))
    return 1 if wrong or broken else 0


if __name__ == "__main__":
    sys.exit(main())
