"""The table of matrix-product cells: every storage order, epilogue, data type and class of sizes, also of products that share a launch, as models and as references.

`python3 cells.py FOLDER COMPILER [-j N]` writes one model for each data type and storage order and compiles it for cuda:sm_90a.
`check_cells.py` runs them on a GPU and compares every output with the same expression in f64.
"""

from __future__ import annotations

import argparse
import itertools
import lzma
import pathlib
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

# Extra operands of epilogues: name -> dims, in terms of the result's.
EXTRAS = {"bias": "N", "column": "M1", "r0": "MN", "r1": "MN"}


@dataclass(frozen=True)
class Expr:
    """A scalar expression over the sum and the extra operands: printed as MLIR, or evaluated by torch."""

    op: str
    args: tuple[Expr | float | str, ...]

    def __add__(self, other: Expr) -> Expr:
        return Expr("add", (self, other))

    def __mul__(self, other: Expr | float) -> Expr:
        return Expr("mul", (self, other if isinstance(other, Expr) else Expr("const", (other,))))

    def extras(self) -> list[str]:
        """Names of the extra operands, in the order of EXTRAS."""
        found = set()
        for arg in self.args:
            if isinstance(arg, Expr):
                found |= set(arg.extras())
        if self.op == "extra":
            found.add(self.args[0])
        return [name for name in EXTRAS if name in found]


def _apply(op: str) -> Callable[[Expr], Expr]:
    return lambda x: Expr(op, (x,))


relu, tanh, exp, erf = (_apply(op) for op in ("relu", "tanh", "exp", "erf"))
acc = Expr("acc", ())
bias, column, r0, r1 = (Expr("extra", (name,)) for name in EXTRAS)


def sigmoid(x: Expr) -> Expr:
    return Expr("div", (Expr("const", (1.0,)), Expr("const", (1.0,)) + exp(x * -1.0)))


def gelu(x: Expr) -> Expr:
    return x * 0.5 * (Expr("const", (1.0,)) + erf(x * 0.5**0.5))


def fast_gelu(x: Expr) -> Expr:
    return x * sigmoid(x * 1.702)


def hardswish(x: Expr) -> Expr:
    clipped = Expr("min", (relu(x + Expr("const", (3.0,))), Expr("const", (6.0,))))
    return x * clipped * (1 / 6)


# The named epilogues of AITemplate, and compositions that it has no name for. `alpha` scales the sum first.
EPILOGUES: dict[str, Expr] = {
    "plain": acc,
    "bias": acc + bias,
    "bias_relu": relu(acc + bias),
    "bias_gelu": gelu(acc + bias),
    "bias_fast_gelu": fast_gelu(acc + bias),
    "bias_sigmoid": sigmoid(acc + bias),
    "bias_tanh": tanh(acc + bias),
    "bias_swish": (acc + bias) * sigmoid(acc + bias),
    "bias_hardswish": hardswish(acc + bias),
    "bias_add": acc + bias + r0,
    "bias_add_relu": relu(acc + bias + r0),
    "bias_add_add": acc + bias + r0 + r1,
    "bias_add_add_relu": relu(acc + bias + r0 + r1),
    "bias_mul": (acc + bias) * r0,
    "bias_mul_add": (acc + bias) * r0 + r1,
    "bias_mul_tanh": tanh((acc + bias) * r0),
    "bias_sigmoid_mul": sigmoid(acc + bias) * r0,
    "bias_sigmoid_mul_tanh": tanh(sigmoid(acc + bias) * r0),
    "column": acc + column,
    "column_row_mul_add": (acc * column + bias) * r0 + r1,
}
# For sums of integers.
INTEGER_EPILOGUES: dict[str, Expr] = {"plain": acc, "bias": acc + bias, "bias_relu": relu(acc + bias), "bias_add": acc + bias + r0}
# What models with static sizes have: their kernels differ from those with sizes at run time in what is known, not in the epilogue.
STATIC = ("plain", "bias_gelu", "bias_mul_add", "column_row_mul_add")

# data type -> (element, of results, of sums)
TYPES = {"f16": ("f16", "f16", "f32"), "bf16": ("bf16", "bf16", "f32"), "f32": ("f32", "f32", "f32"), "tf32": ("f32", "f32", "f32"),
         "s8": ("i8", "i32", "i32")}
ORDERS = tuple(itertools.product(("row", "col"), repeat=2))
# class -> M, N, K
SIZES = {"aligned": (256, 192, 128), "odd": (67, 129, 33), "tiny": (1, 3, 2), "few_rows": (16, 512, 1024), "large": (2048, 1536, 1024)}
# Products of these classes share a launch: once with static sizes; and once, as many, with sizes at run time, each of another class in each run.
TOGETHER = ("aligned", "odd", "few_rows")
# Classes of a model whose batch is larger than one: the batches of A and of B.
BATCHES = {"batch": (3, 3), "batch_shared_b": (3, 1), "batch_shared_a": (1, 3)}


@dataclass(frozen=True)
class Group:
    """Products of one data type, one storage order and one kind of sizes: one for each epilogue, all of the same A and B."""

    dtype: str
    orders: tuple[str, str]
    sizes: str  # "dynamic", "rows" (only M is dynamic), or a class of SIZES
    batch: str | None = None
    # Its number among those that share launches, an epilogue at a time.
    member: int | None = None

    @property
    def name(self) -> str:
        return "_".join(filter(None, ("" if self.member is None else f"together{self.member}", self.sizes, self.batch)))

    def result(self, epilogue: str) -> str:
        """The name of the product with that epilogue."""
        if self.member is None:
            return f"%{self.name}_y_{epilogue}"
        return f"%{'dynamic' if self.sizes == 'dynamic' else 'static'}_together_{epilogue}#{self.member}"

    def epilogues(self) -> dict[str, Expr]:
        if self.dtype == "s8":
            return INTEGER_EPILOGUES
        all_of_them = self.sizes == "dynamic" and not self.batch and self.member is None and self.dtype != "tf32"
        return EPILOGUES if all_of_them else {name: EPILOGUES[name] for name in STATIC}

    def runs(self) -> dict[str, tuple[int, int, int]]:
        """The sizes that it runs on."""
        if self.sizes == "dynamic":
            classes = list(SIZES.items())
            return dict(classes[self.member or 0:] + classes[:self.member or 0])
        if self.sizes == "rows":
            _, n, k = SIZES["aligned"]
            return {f"rows_{m}": (m, n, k) for m in (1, 17, 64, 300)}
        return {self.sizes: SIZES[self.sizes]}

    def inputs(self) -> list[str]:
        """Names of its inputs, in order."""
        used = set().union(*(e.extras() for e in self.epilogues().values()))
        return ["a", "b"] + [name for name in EXTRAS if name in used]

    def shape(self, name: str, m: int, n: int, k: int) -> tuple[int, ...]:
        """The shape of an input, or of the outputs ("out"), for these sizes."""
        dims = {"a": (m, k) if self.orders[0] == "row" else (k, m), "b": (k, n) if self.orders[1] == "row" else (n, k),
                "out": (m, n), "bias": (n,), "column": (m, 1), "r0": (m, n), "r1": (m, n)}[name]
        batch = dict(zip("ab", BATCHES[self.batch]), out=max(BATCHES[self.batch]), r0=3, r1=3).get(name) if self.batch else None
        return (batch, *dims) if batch else dims

    def type(self, name: str) -> str:
        """The MLIR type of an input or output."""
        element = TYPES[self.dtype][0] if name in ("a", "b") else TYPES[self.dtype][1]
        if self.sizes in SIZES:
            dims = self.shape(name, *SIZES[self.sizes])
        else:
            _, n, k = SIZES["aligned"]
            marks = (-1, n, k) if self.sizes == "rows" else (-1, -1, -1)
            dims = self.shape(name, *marks)
        return f"tensor<{''.join(f'{d}x' if d >= 0 else '?x' for d in dims)}{element}>"


@dataclass(frozen=True)
class Library:
    """What one compilation makes: all groups of a data type and a storage order."""

    dtype: str
    orders: tuple[str, str]

    @property
    def name(self) -> str:
        a, b = (order[0] for order in self.orders)
        return f"{self.dtype}_{a}{b}"

    def groups(self) -> list[Group]:
        batches = BATCHES if self.dtype != "s8" else ()
        return [*(Group(self.dtype, self.orders, sizes) for sizes in ("dynamic", "rows", *SIZES)),
                *(Group(self.dtype, self.orders, "dynamic", batch) for batch in batches), *(group for launch in self.launches() for group in launch)]

    def launches(self) -> list[list[Group]]:
        """Groups whose products share launches: one launch for each epilogue."""
        if self.dtype not in ("f16", "bf16", "f32"):
            return []
        return [[Group(self.dtype, self.orders, sizes, member=number) for number, sizes in enumerate(kinds)]
                for kinds in (TOGETHER, ("dynamic",) * len(TOGETHER))]

    def cells(self) -> int:
        return sum(len(group.epilogues()) * len(group.runs()) for group in self.groups())


def libraries() -> list[Library]:
    """The whole table."""
    return [Library(dtype, orders) for dtype, orders in itertools.product(TYPES, ORDERS)]


class _Printer:
    """Prints an expression as the region of an `ait.gemm`."""

    def __init__(self, compute: str, element: str) -> None:
        self.compute, self.element, self.lines, self.seen = compute, element, [], {}

    def line(self, code: str) -> str:
        self.lines.append(f"    %v{len(self.lines)} = {code}")
        return f"%v{len(self.lines) - 1}"

    def value(self, e: Expr) -> str:
        if e not in self.seen:
            self.seen[e] = self.make(e)
        return self.seen[e]

    def make(self, e: Expr) -> str:
        t, whole = self.compute, self.compute.startswith("i")
        if e.op == "acc":
            return "%acc"
        if e.op == "extra":
            return f"%e_{e.args[0]}" if self.element == t else self.line(f"arith.extf %e_{e.args[0]} : {self.element} to {t}")
        if e.op == "const":
            return self.line(f"arith.constant {e.args[0]!r} : {t}")
        args = ", ".join(self.value(arg) for arg in e.args)
        if e.op == "relu":
            zero = self.line(f"arith.constant {'0' if whole else '0.0'} : {t}")
            return self.line(f"arith.{'maxsi' if whole else 'maximumf'} {args}, {zero} : {t}")
        suffix = "i" if whole else "f"
        code = {"add": f"arith.add{suffix}", "mul": f"arith.mul{suffix}", "div": "arith.divf", "min": "arith.minimumf"}
        return self.line(f"{code.get(e.op, f'math.{e.op}')} {args} : {t}")

    def result(self, e: Expr) -> list[str]:
        value = self.value(e)
        if self.element != self.compute:
            value = self.line(f"arith.truncf {value} : {self.compute} to {self.element}")
        return [*self.lines, f"    ait.yield {value} : {self.element}"]


def _gemm(group: Group, name: str, e: Expr, operands: list[str]) -> list[str]:
    """An `ait.gemm` of these operands, without its result's name."""
    _, element, compute = TYPES[group.dtype]
    extras = e.extras()
    listed = f" extras({', '.join(operands[2:])} : {', '.join(map(group.type, extras))})" if extras else ""
    arguments = ", ".join([f"%acc: {compute}"] + [f"%e_{x}: {element}" for x in extras])
    allowed = " {tf32}" if group.dtype == "tf32" else ""
    return [f"  {name} = ait.gemm {operands[0]}, {operands[1]} {' '.join(group.orders)}{listed}{allowed} :"
            f" {group.type('a')}, {group.type('b')} -> {group.type('out')} epilogue {{",
            f"  ^bb0({arguments}):", *_Printer(compute, element).result(e), "  }"]


def _products(group: Group) -> list[str]:
    lines = []
    for name, e in group.epilogues().items():
        lines += _gemm(group, group.result(name), e, [f"%{group.name}_{x}" for x in ("a", "b", *e.extras())])
    return lines


def _together(groups: list[Group]) -> list[str]:
    """Launches of one product of each group."""
    lines = []
    for name, e in groups[0].epilogues().items():
        used = ("a", "b", *e.extras())
        inputs = [(group, x) for group in groups for x in used]
        types = ", ".join(group.type(x) for group, x in inputs)
        outs = ", ".join(group.type("out") for group in groups)
        lines += [f"  {groups[0].result(name).split('#')[0]}:{len(groups)} = ait.group("
                  f"{', '.join(f'%{group.name}_{x}' for group, x in inputs)} : {types}) -> {outs} members {{",
                  f"  ^bb0({', '.join(f'%m{group.member}_{x}: {group.type(x)}' for group, x in inputs)}):"]
        for group in groups:
            lines += _gemm(group, f"%p{group.member}", e, [f"%m{group.member}_{x}" for x in used])
        lines += [f"  ait.yield {', '.join(f'%p{group.member}' for group in groups)} : {outs}", "  }"]
    return lines


def text(library: Library) -> str:
    """The library's model as MLIR."""
    groups = library.groups()
    arguments = ", ".join(f"%{g.name}_{name}: {g.type(name)}" for g in groups for name in g.inputs())
    types = ", ".join(g.type("out") for g in groups for _ in g.epilogues())
    names = ", ".join(g.result(name) for g in groups for name in g.epilogues())
    lines = [f"func.func @main({arguments}) -> ({types}) {{", *(line for g in groups if g.member is None for line in _products(g)),
             *(line for launch in library.launches() for line in _together(launch))]
    return "\n".join([*lines, f"  return {names} : {types}", "}", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("compiler", help="aitmlir-compile")
    parser.add_argument("-j", type=int, default=2, help="compilers at a time")
    parser.add_argument("--filter", default="", help="only libraries whose name holds this")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    chosen = [library for library in libraries() if options.filter in library.name]

    def compile_one(library: Library) -> str | None:
        source = options.folder / f"{library.name}.mlir"
        source.write_text(text(library))
        output = source.with_suffix(".so")
        command = [options.compiler, source, "--target", "cuda:sm_90a", "-o", output]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        source.with_suffix(".h").unlink(missing_ok=True)
        source.unlink()
        if done.returncode:
            return f"{library.name}: {done.stdout}"
        source.with_suffix(".so.xz").write_bytes(lzma.compress(output.read_bytes()))
        output.unlink()
        return None

    failed = []
    with ThreadPoolExecutor(options.j) as pool:
        for number, error in enumerate(pool.map(compile_one, chosen), 1):
            failed += [error] if error else []
            print(f"{number} of {len(chosen)} libraries of cells, {len(failed)} failed", file=sys.stderr, flush=True)
    print("\n".join(failed), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
