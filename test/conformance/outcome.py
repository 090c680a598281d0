"""What can become of a case, and the short reason that cases are grouped by."""

from __future__ import annotations

import re
from dataclasses import dataclass

PASS = "pass"
WRONG = "wrong"
COMPILE_ERROR = "compile_error"
RUN_ERROR = "run_error"
CRASH = "crash"
OUTCOMES = (PASS, WRONG, COMPILE_ERROR, RUN_ERROR, CRASH)


@dataclass(frozen=True)
class Outcome:
    """An outcome with a reason to group by (stable between versions) and all the detail there is."""

    outcome: str
    reason: str = ""
    detail: str = ""


# How errors speak of a node: its name, its operator, what is wrong with it.
NODE = re.compile(r"node `[^`]*` \(([^)]*)\): (.*)")


def compile_reason(errors: list[str], text: str) -> str:
    """The reason of a refusal: that of the first node which is at fault, or else of the error itself."""
    node = NODE.search(text)
    if node:
        return f"{node[1]}:{reason_of(node[2])}"
    return reason_of(errors[-1] if errors else text)


def reason_of(text: str) -> str:
    """A message without what differs between two models with the same cause: names, numbers, shapes, places."""
    text = text.splitlines()[0] if text else "no message"
    text = re.sub(r"^\S+\.onnx:\s*", "", text)
    # MLIR's messages: the value's name, then the operation, of which only the latter matters.
    text = re.sub(r"^.*?'([a-z_]+\.[a-z_.]+)' op ", r"\1 ", text)
    text = re.sub(r"""(["'`])[^"'`]*\1""", "_", text)
    text = re.sub(r"\[[^\]]*\]|\([^)]*\)|<[^>]*>", "", text)
    text = re.sub(r"%?\b\d[\w.]*", "N", text)
    words = re.sub(r"[^A-Za-z0-9_.:]+", "-", text).strip("-._:")
    return words[:80]
