"""Runs the bundle on this machine's GPU: `python3 run.py [SECONDS]`. Writes results.json into $OUT (or here) and prints a table.

The work is done by a child process that is started again, without the kernel it hung or died on, so that one bad kernel costs one row.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import time

import worker

HERE = pathlib.Path(__file__).resolve().parent
OUT = pathlib.Path(os.environ.get("OUT", HERE))


def run(deadline):
    """All results, and the kernels that hung or crashed."""
    results = []

    def heard(said):
        if "result" in said:
            results.append(said["result"])
            (OUT / "results.partial.json").write_text(json.dumps(results))

    bad = worker.watch([sys.executable, str(HERE / "gemm.py"), str(HERE)], deadline, heard)
    return results, bad


def run_alone(script, folder, least, deadline):
    """The results of a script of other kernels, in a process of its own; at least so many are expected."""
    command = [sys.executable, str(HERE / script), str(folder)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=HERE,
                              timeout=max(5, deadline - time.time()))
        output = done.stdout
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode() + "\nno answer"
    results = [json.loads(line)["result"] for line in output.splitlines() if line.startswith('{"result"')]
    if len(results) < least:
        print("FAILED", script, *output.splitlines()[-12:], sep="\n  ", flush=True)
    return results


def run_cells(deadline):
    """The table of cells: {"total", "pass"}."""
    folder = HERE / "cells"
    if not folder.is_dir():
        return {"total": 0, "pass": 0}
    command = [sys.executable, str(HERE / "check_cells.py"), str(folder), str(max(5, deadline - time.time()))]
    subprocess.run(command, check=False)
    return json.loads((OUT / "cells.json").read_text())["cells"]


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def main():
    deadline = time.time() + float(sys.argv[1] if len(sys.argv) > 1 else 540)
    only_b2b = sys.argv[2:] == ["b2b"]
    table = {"total": 0, "pass": 0} if only_b2b else run_cells(deadline)
    results, bad = ([], []) if only_b2b else run(deadline)
    b2b = run_alone("b2b.py", HERE, 5, deadline)
    groups = [] if only_b2b else run_alone("groups.py", HERE / "groups", 20, deadline)
    experts = [] if only_b2b else run_alone("experts.py", HERE / "experts", 100, deadline)
    import torch

    good = [r for r in results if r["ratio"]]
    cells = sum(len(r["candidates"]) + len(r["failures"]) for r in results)
    passed = sum(len(r["candidates"]) for r in results)
    plain = [r for r in good if r["epilogue"] == "plain" and r["dtype"] == "f16"]
    fused = [r for r in good if r["epilogue"] != "plain"]
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    report = {"gpu": torch.cuda.get_device_name(), "sms": sms, "torch": torch.__version__, "date": time.strftime("%Y-%m-%d"),
              "cells": {"total": table["total"] + cells + len(bad), "pass": table["pass"] + passed}, "hung": bad,
              "gemm": [r for r in results if r["epilogue"] == "plain"], "fused": [r for r in results if r["epilogue"] != "plain"], "b2b": b2b,
              "groups": groups, "experts": experts,
              "geomean": {"gemm": geomean([r["ratio"] for r in plain]), "fused": geomean([r["ratio"] for r in fused])}}
    (OUT / "results.json").write_text(json.dumps(report, indent=1))
    for r in results:
        print(f"{r['epilogue']:10s} {r['dtype']:5s} {r['shape']:16s} peer {r['peer_us']:8.2f} us  ours {r['ours_us'] or 0:8.2f} us  x{r['ratio'] or 0:.3f}  {r['config']}")
        for failure in r["failures"]:
            print("   WRONG", *failure)
    for r in b2b:
        print("b2b", json.dumps(r))
    for r in groups:
        print(f"group {r['group']:24s} {r['us']:8.2f} us {r['tflops']:7.1f} TFLOP/s  {r['what']}")
    for r in experts:
        print(f"experts {r['experts']:2d} {r['n']}x{r['k']} {r['rows']:5d} rows {r['sizes']:10s} {r['us']:8.1f} us {r['tflops']:7.1f} TFLOP/s  {r['what']}")
    print(json.dumps({k: report[k] for k in ("gpu", "torch", "cells", "hung", "geomean")}))


if __name__ == "__main__":
    main()
