"""Runs the ONNX backend suite and compares the outcomes with expected.txt.

usage: python -m conformance [--filter REGEX] [--kind KIND] [--smallest N] [-j N] [--device DEVICE] [--list] [--bless] [-v] [--keep]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial

# One case is one core's work: NumPy's threads would only get into each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from harness import report, tools  # noqa: E402

from . import expected  # noqa: E402
from .cases import KINDS, Case, load_cases  # noqa: E402
from .execute import Result, execute  # noqa: E402
from .outcome import OUTCOMES, PASS  # noqa: E402

PROGRESS_EVERY = 250
REASONS_SHOWN = 60


def main() -> int:
    options = _options()
    cases = [case for case in load_cases() if _selected(case, options)]
    if options.smallest is not None:
        cases = _smallest(cases, options.smallest)
    if options.list:
        print("\n".join(f"{case.id}  {case.operator}" for case in cases))
        return 0
    if not cases:
        print("error: no case matches", file=sys.stderr)
        return 2
    tools.require("aitmlir-compile")
    results = list(_run(cases, options))
    if options.verbose:
        for result in results:
            print(f"{result.case}: {result.outcome.outcome} {result.outcome.reason}\n{result.outcome.detail}".rstrip())
    print(_tables(results))
    if options.filter is None and options.kind is None and options.smallest is None:
        suffix = "" if options.device == "cpu" else f"-{options.device}"
        report.write_json(f"conformance{suffix}.json", {"target": options.device, "kinds": _by_kind(results)})
        report.write_json(f"conformance-cases{suffix}.json", [asdict(result) for result in results])
    if options.bless:
        expected.bless(results, options.device)
    return _verdict(results, options.device)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__.splitlines()[0])
    parser.add_argument("--filter", metavar="REGEX", help="only cases whose kind/name matches")
    parser.add_argument("--kind", choices=KINDS, help="only one kind")
    parser.add_argument(
        "--smallest", type=int, metavar="N", help="of each operator only the N cases with the smallest tensors"
    )
    parser.add_argument(
        "--device",
        choices=("cpu", "sim"),
        default="cpu",
        help="the CPU, or code for CUDA on the simulator (not whole nets)",
    )
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, metavar="N", help="cases at a time")
    parser.add_argument("--list", action="store_true", help="list the cases and their operators")
    parser.add_argument("--bless", action="store_true", help="make these outcomes the expected ones")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the detail of each case")
    parser.add_argument("--keep", action="store_true", help="keep the libraries in target/conformance-work")
    return parser.parse_args()


def _selected(case: Case, options: argparse.Namespace) -> bool:
    if options.kind is not None and case.kind != options.kind:
        return False
    # Whole nets are too much for the simulator.
    if options.device == "sim" and case.kind == "light":
        return False
    return options.filter is None or re.search(options.filter, case.id) is not None


def _smallest(cases: Sequence[Case], count: int) -> list[Case]:
    """Of each operator the cases with the fewest bytes, in the order of the suite."""
    operators: dict[str, list[Case]] = defaultdict(list)
    for case in sorted(cases, key=lambda case: (case.bytes(), case.id)):
        operators[case.operator].append(case)
    kept = {case.id for group in operators.values() for case in group[:count]}
    return [case for case in cases if case.id in kept]


def _run(cases: Sequence[Case], options: argparse.Namespace) -> Iterable[Result]:
    # Forked workers have NumPy and onnx loaded already; each case runs in a fork of its own again.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(options.j, mp_context=context) as pool:
        done = pool.map(partial(execute, keep=options.keep, device=options.device), cases)
        for number, result in enumerate(done, start=1):
            if number % PROGRESS_EVERY == 0:
                print(f"{number} of {len(cases)} cases", flush=True)
            yield result


def _by_kind(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    kinds: dict[str, dict[str, int]] = {}
    for kind in KINDS:
        counts = Counter(result.outcome.outcome for result in results if result.case.startswith(f"{kind}/"))
        if counts:
            kinds[kind] = {"total": counts.total(), **{outcome: counts[outcome] for outcome in OUTCOMES}}
    return kinds


def _tables(results: Sequence[Result]) -> str:
    kinds = [[kind, *counts.values()] for kind, counts in _by_kind(results).items()]
    operators: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        operators[result.operator][result.outcome.outcome] += 1
    failing = [
        [name, counts.total(), *(counts[outcome] for outcome in OUTCOMES)]
        for name, counts in sorted(operators.items())
        if counts[PASS] < counts.total()
    ]
    reasons = Counter((r.outcome.outcome, r.outcome.reason) for r in results if r.outcome.outcome != PASS)
    grouped = [[count, outcome, reason] for (outcome, reason), count in reasons.most_common(REASONS_SHOWN)]
    parts = [report.table(["kind", "total", *OUTCOMES], kinds)]
    if failing:
        parts.append(
            "Operators with cases that do not pass\n" + report.table(["operator", "total", *OUTCOMES], failing)
        )
        parts.append("Reasons, most frequent first\n" + report.table(["cases", "outcome", "reason"], grouped))
    return "\n\n" + "\n\n".join(reversed(parts)) + "\n"


def _verdict(results: Sequence[Result], device: str) -> int:
    changes = expected.changes(results, device)
    for change in changes:
        print(change)
    print(f"conformance, cases with the expected outcome: {len(results) - len(changes)} passed, {len(changes)} failed")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
