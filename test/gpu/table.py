"""Prints the lines of lowering/src/cuda/kernels/gemm_sm90/h200.txt from a results.json: `python3 table.py results.json`."""

import json
import sys

results = json.load(open(sys.argv[1]))
print("# NVIDIA H200, 132 SMs, ptxas 13.0, f16, A and B contiguous along K. Columns: M N K batch configuration.")
for row in results["gemm"]:
    name = (row["config"] or "").split("@")[0]
    if row["dtype"] == "f16" and "_sm90_" in name:
        print(*row["shape"].split("x"), 1, name.split("_plain_sm90_")[-1])
