"""One trial: a call that must fail, and how well it failed."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

from harness import tools


@dataclass(frozen=True)
class Verdict:
    """What became of a trial. A mutation may leave a file valid: then it may succeed (`accepted`)."""

    name: str
    clear_error: bool
    panic: bool
    left_output: bool
    accepted: bool
    detail: str


def judge(name: str, call: tools.Call, outputs: list[pathlib.Path], may_succeed: bool = False) -> Verdict:
    """A clear error: a status other than 0, one `error:` line, no crash."""
    accepted = may_succeed and call.ok
    clear = not call.ok and call.crash is None and len(call.errors) == 1
    left = not call.ok and any(path.exists() for path in outputs)
    detail = "" if accepted or (clear and not left) else _detail(call, [path for path in outputs if path.exists()])
    return Verdict(name, clear, call.crash is not None, left, accepted, detail)


def _detail(call: tools.Call, left: list[pathlib.Path]) -> str:
    parts = [call.crash or f"status {call.status}, {len(call.errors)} error lines"]
    if left and not call.ok:
        parts.append("left " + ", ".join(path.name for path in left))
    parts.append(call.stderr.strip()[:400])
    return "; ".join(parts)
