"""The project's binaries as subprocesses, and what became of a call."""

from __future__ import annotations

import os
import pathlib
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from . import ROOT

BIN = ROOT / os.environ.get("AITMLIR_BIN", "target/release")
# No test needs more memory; a runaway one must not take the machine with it.
MEMORY_LIMIT = 12 << 30
PANIC_STATUS = 101
TIMEOUT = "timeout"
# A timeout is one of processor time, so that a busy machine fails no test; one that waits for ever ends after so many times as long.
PATIENCE = 10


@dataclass(frozen=True)
class Call:
    """A finished call of a binary. `status` is None after a timeout."""

    status: int | None
    stdout: str
    stderr: str
    seconds: float

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def crash(self) -> str | None:
        """Why this is a crash and not an error: a signal, a panic or a hang."""
        if self.status is None:
            return TIMEOUT
        if self.status < 0:
            return f"signal {-self.status}"
        if self.status == PANIC_STATUS or "panicked at" in self.stderr:
            return "panic"
        return None

    @property
    def errors(self) -> list[str]:
        """The lines that say what is wrong, without their `error:`."""
        return [line.split("error:", 1)[1].strip() for line in self.stderr.splitlines() if line.startswith("error:")]


def limit_memory() -> None:
    """Bounds the address space of this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


def limit_time(seconds: float) -> None:
    """Bounds the processor time of this process: SIGXCPU ends it."""
    whole = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 5))


def call(
    tool: str,
    arguments: Sequence[str | pathlib.Path],
    timeout: float = 120,
    limit: Callable[[], None] = limit_memory,
    environment: Mapping[str, str] | None = None,
) -> Call:
    """Runs a binary of the project to its end, or for `timeout` seconds of processor time. `limit` is called in the child before it starts."""

    def prepare() -> None:
        limit()
        limit_time(timeout)

    started = time.monotonic()
    try:
        done = subprocess.run(
            [BIN / tool, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout * PATIENCE,
            stdin=subprocess.DEVNULL,
            preexec_fn=prepare,
            env=environment,
        )
    except subprocess.TimeoutExpired as expired:
        stderr = (expired.stderr or b"").decode(errors="replace")
        return Call(None, "", stderr, time.monotonic() - started)
    if done.returncode == -signal.SIGXCPU:
        return Call(None, done.stdout, done.stderr, time.monotonic() - started)
    return Call(done.returncode, done.stdout, done.stderr, time.monotonic() - started)


def compile_model(
    model: pathlib.Path,
    output: pathlib.Path,
    *arguments: str,
    timeout: float = 120,
    limit: Callable[[], None] = limit_memory,
    environment: Mapping[str, str] | None = None,
) -> Call:
    """Compiles a model to a library."""
    return call("aitmlir-compile", [model, "-o", output, *arguments], timeout, limit, environment)


def require(*names: str) -> None:
    """Ends the program with a hint where a binary has not been built."""
    for name in names:
        if not (BIN / name).is_file():
            raise SystemExit(f"error: {BIN / name} is missing: run `make build`")
