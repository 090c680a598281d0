"""Text tables for people and JSON files for programs."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import Any

from . import REPORTS


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they need; numbers to the right, words to the left."""
    cells = [[_text(cell) for cell in row] for row in rows]
    widths = [max(len(text) for text in column) for column in zip(header, *cells)]
    right = [
        bool(rows) and all(isinstance(row[column], int | float | None) for row in rows) for column in range(len(header))
    ]

    def line(texts: Sequence[str]) -> str:
        padded = [t.rjust(w) if r else t.ljust(w) for t, w, r in zip(texts, widths, right)]
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, cells)])


def write_json(name: str, value: Any) -> pathlib.Path:
    """Writes a report to target/report."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    path = REPORTS / name
    path.write_text(json.dumps(value, indent=1) + "\n")
    return path


def _text(cell: object) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.3g}" if abs(cell) < 10 else f"{cell:.1f}"
    return str(cell)
