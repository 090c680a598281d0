"""Feeds the tools bad input of every kind; each must end in one clear error.

usage: python -m bad_input [-j N] [-v]
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

from harness import TARGET, report, tools

from . import compile_trials, run_trials
from .trial import Verdict


def main() -> int:
    parser = argparse.ArgumentParser(prog="bad_input", description=__doc__.splitlines()[0])
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, metavar="N", help="trials at a time")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every trial")
    options = parser.parse_args()
    tools.require("aitmlir-compile", "aitmlir-run")
    folder = TARGET / "bad-input"
    compile_trials.unmount(folder)
    shutil.rmtree(folder, ignore_errors=True)
    # First what forks this process, then what uses threads.
    verdicts = list(run_trials.verdicts(folder / "run"))
    with ThreadPoolExecutor(options.j) as pool:
        verdicts += pool.map(lambda trial: trial(), compile_trials.trials(folder))
    compile_trials.unmount(folder)
    return _report(verdicts, options.verbose)


def _report(verdicts: list[Verdict], verbose: bool) -> int:
    for verdict in verdicts:
        if verbose or verdict.detail:
            print(f"{verdict.name}: {verdict.detail or ('accepted' if verdict.accepted else 'clear error')}")
    tried = [verdict for verdict in verdicts if not verdict.accepted]
    good = [v for v in tried if v.clear_error and not v.panic and not v.left_output]
    counts = {
        "tried": len(tried),
        "clear_error": sum(verdict.clear_error for verdict in tried),
        "panic": sum(verdict.panic for verdict in tried),
        "left_output": sum(verdict.left_output for verdict in tried),
        "accepted": len(verdicts) - len(tried),
    }
    report.write_json("bad-input.json", counts)
    print("\n" + report.table(list(counts), [list(counts.values())]))
    print("accepted: damage that left a valid model, whose library runs or refuses to; not counted as tried")
    print(f"{len(good)} passed, {len(tried) - len(good)} failed")
    return 0 if len(good) == len(tried) else 1


if __name__ == "__main__":
    sys.exit(main())
