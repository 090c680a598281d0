"""The expectation file: every case that does not pass, with its outcome and reason."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass

from .execute import Result
from .outcome import PASS

FILES = {
    "cpu": pathlib.Path(__file__).with_name("expected.txt"),
    "sim": pathlib.Path(__file__).with_name("expected-sim.txt"),
}
HEADER = """\
# Cases of the ONNX backend suite that do not pass: case, outcome, reason. All others must pass.
# Written by `make conformance ARGS=--bless`. The outcome is compared; the reason is for the reader.
"""


@dataclass(frozen=True)
class Change:
    """A case whose outcome is not the expected one."""

    what: str
    result: Result
    expected: str

    def __str__(self) -> str:
        outcome = self.result.outcome
        found = f"{outcome.outcome} ({outcome.reason})" if outcome.reason else outcome.outcome
        return f"{self.what}: {self.result.case}: expected {self.expected}, got {found}"


def read(device: str) -> dict[str, tuple[str, str]]:
    """case -> (outcome, reason)"""
    if not FILES[device].is_file():
        return {}
    lines = [
        line.split(maxsplit=2) for line in FILES[device].read_text().splitlines() if line and not line.startswith("#")
    ]
    return {fields[0]: (fields[1], fields[2] if len(fields) > 2 else "") for fields in lines}


def changes(results: Sequence[Result], device: str) -> list[Change]:
    """What differs from the file."""
    expected = read(device)
    found = []
    for result in results:
        before = expected.get(result.case, (PASS, ""))[0]
        after = result.outcome.outcome
        if before == after:
            continue
        what = "regression" if before == PASS else "unexpected pass" if after == PASS else "changed outcome"
        found.append(Change(what, result, before))
    return found


def bless(results: Sequence[Result], device: str) -> None:
    """Makes these results the expected ones; what was not run stays as it is."""
    entries = read(device)
    for result in results:
        entries.pop(result.case, None)
        if result.outcome.outcome != PASS:
            entries[result.case] = (result.outcome.outcome, result.outcome.reason)
    lines = [f"{case} {outcome} {reason}".rstrip() for case, (outcome, reason) in sorted(entries.items())]
    FILES[device].write_text(HEADER + "".join(f"{line}\n" for line in lines))
