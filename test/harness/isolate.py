"""Runs a function in a child process, so that a crash or a hang is a result like any other."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any

from . import tools


class Crash(Exception):
    """The child did not come back: by a signal, an exit of its own, or a hang."""


def isolated(function: Callable[[], Any], timeout: float) -> Any:
    """The JSON-representable result of `function()` in a fork of this process; its output goes nowhere. It may take `timeout` seconds of processor time."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _child(function, writer, timeout)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = _read(pipe.fileno(), timeout * tools.PATIENCE)
    if data is None:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if data is None or status == -signal.SIGXCPU:
        raise Crash(tools.TIMEOUT)
    if status < 0:
        raise Crash(f"signal {-status}")
    if status != 0 or not data:
        raise Crash(f"exit status {status}")
    return json.loads(data)


def _child(function: Callable[[], Any], writer: int, timeout: float) -> None:
    status = 1
    try:
        tools.limit_memory()
        # A fork has used no processor time yet.
        tools.limit_time(timeout)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.dup2(null, sys.stderr.fileno())
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(json.dumps(function()).encode())
        status = 0
    finally:
        # No clean-up: the parent's buffers and exit handlers are not this process's to run.
        os._exit(status)


def _read(descriptor: int, timeout: float) -> bytes | None:
    """Everything up to the end of the pipe, or None where that takes too long."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    chunks: list[bytes] = []
    while poll.poll(timeout * 1000):
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
    return None
