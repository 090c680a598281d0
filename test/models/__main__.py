"""Compiles the real models, compares them with ONNX Runtime, and times both with one thread.

usage: python -m models [--filter REGEX] [--list]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
from dataclasses import asdict, dataclass, replace

from harness import ROOT, TARGET, report, tools

from .catalogue import CATALOGUE, Entry

TOLERANCE = 1e-3
COMPILE_TIMEOUT = 900.0
RUN_TIMEOUT = 600.0
LIBRARIES = TARGET / "models" / "compiled"
# Threads are what the suite says, whatever the caller's environment sets for BLAS and OpenMP.
THREAD_VARIABLES = re.compile(r"^(OMP|OPENBLAS|MKL|KMP|GOMP|NUMEXPR|VECLIB)_")


@dataclass(frozen=True)
class Row:
    """What became of a model. Times are medians in milliseconds."""

    model: str
    group: str
    status: str
    rel_err: float | None = None
    compile_s: float | None = None
    ours_ms: float | None = None
    ort_ms: float | None = None
    detail: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours_ms / self.ort_ms if self.ours_ms and self.ort_ms else None


def main() -> int:
    options = _options()
    entries = [entry for entry in CATALOGUE if re.search(options.filter, entry.name)]
    if options.list:
        print("\n".join(f"{entry.group}  {entry.name}" for entry in entries))
        return 0
    if not entries:
        print("error: no model matches", file=sys.stderr)
        return 2
    tools.require("aitmlir-compile")
    rows = []
    for entry in entries:
        row = _run(entry)
        note = f": {row.detail}" if row.detail else ""
        print(f"{row.model}: {row.status}{note}", flush=True)
        rows.append(row)
    print(_summary(rows))
    if options.filter == "":
        report.write_json("real-models.json", [asdict(row) for row in rows])
    passed = sum(row.status == "pass" for row in rows)
    print(f"{passed} passed, {len(rows) - passed} failed")
    return 0 if passed == len(rows) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="models", description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", metavar="REGEX", help="only models whose name matches")
    parser.add_argument("--list", action="store_true", help="list the models")
    return parser.parse_args()


def _run(entry: Entry) -> Row:
    LIBRARIES.mkdir(parents=True, exist_ok=True)
    library = LIBRARIES / f"{entry.name}.so"
    library.unlink(missing_ok=True)
    compiled = tools.compile_model(entry.locate(), library, timeout=COMPILE_TIMEOUT)
    row = Row(entry.name, entry.group, "compile_error", compile_s=round(compiled.seconds, 2))
    if compiled.crash:
        return replace(row, status="crash", detail=f"compiler: {compiled.crash}: {_last_line(compiled.stderr)}")
    if not compiled.ok:
        return replace(row, detail=_last_line(compiled.stderr))
    try:
        return _compare(row, library)
    finally:
        library.unlink(missing_ok=True)


def _compare(row: Row, library: pathlib.Path) -> Row:
    environment = {name: value for name, value in os.environ.items() if not THREAD_VARIABLES.match(name)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "models.compare", row.model, library],
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT,
            env=environment,
            cwd=ROOT,
        )
    except subprocess.TimeoutExpired:
        return replace(row, status="crash", detail="timeout")
    if done.returncode < 0:
        return replace(row, status="crash", detail=f"signal {-done.returncode}")
    if done.returncode != 0:
        return replace(row, status="run_error", detail=_last_line(done.stderr))
    figures = json.loads(done.stdout)
    return replace(row, **figures, status="pass" if figures["rel_err"] <= TOLERANCE else "wrong")


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"


def _summary(rows: list[Row]) -> str:
    header = ["model", "status", "rel err", "compile s", "ours ms", "ORT ms", "ratio"]
    cells = [[r.model, r.status, r.rel_err, r.compile_s, r.ours_ms, r.ort_ms, r.ratio] for r in rows]
    lines = ["", report.table(header, cells), ""]
    for name, groups in (
        ("files of wheels", {"wheel"}),
        ("graphs", {"graph"}),
        ("light nets", {"light"}),
        ("files and graphs", {"wheel", "graph"}),
    ):
        members = [row for row in rows if row.group in groups]
        if members:
            lines.append(_group_summary(name, members))
    lines.append("rel err: max |ours - ORT| / max |ORT|, the worst one; ratio: our time / ORT's, one thread")
    return "\n".join(lines)


def _group_summary(name: str, rows: list[Row]) -> str:
    ratios = [row.ratio for row in rows if row.status == "pass" and row.ratio]
    mean = f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}" if ratios else "-"
    return f"{name}: {len(ratios)} of {len(rows)} pass, geometric mean of their time ratios {mean}"


if __name__ == "__main__":
    sys.exit(main())
