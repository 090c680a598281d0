"""Checks and times the kernels of a tuning folder on this machine's GPU, and says which is the fastest for each product.

`tune.py [SECONDS]` starts itself again for the work, so that a kernel that hangs or dies costs itself alone. Inputs are random and rotated
past the L2; every kernel is compared with an f32 product on poisoned results; all are timed roughly, then the best few in turn, in a
shuffled order, by CUDA graphs of several launches: medians. torch's product is timed beside them.
"""

import json
import os
import pathlib
import sys
import time

import worker

HERE = pathlib.Path(__file__).resolve().parent
OUT = pathlib.Path(os.environ.get("OUT", HERE))
FINALISTS = 8


class Case:
    """The products of a launch: inputs, results, and what they must be."""

    def __init__(self, torch, spec):
        self.spec, self.want, self.torch = spec, None, torch
        batch, name = spec["batch"], spec["dtype"]
        kinds = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "tf32": torch.float32, "s8": torch.int8, "u8": torch.uint8,
                 "s32": torch.int32}
        kind, out = kinds[name], kinds[spec["out"]]

        def rnd(*dims):
            if not kind.is_floating_point:
                # Sums of so small numbers are exact in f32.
                return torch.randint(0 if name == "u8" else -8, 8, dims, device="cuda", dtype=kind)
            return (torch.randn(*dims, device="cuda") * 0.5).to(kind)

        def of(m, n, k):
            a = (batch, m, k) if spec["a_rows"] else (batch, k, m)
            b = (batch, k, n) if spec["b_rows"] else (batch, n, k)
            extras = {"plain": (), "column": ((n,),), "tensor": ((batch, m, n),)}[spec["epilogue"]]
            return rnd(*a), rnd(*b), *(rnd(*e) for e in extras)

        total = sum(2 * batch * (m * k + n * k) for m, n, k in spec["sizes"])
        count = max(1, min(8, int(256e6 // total) + 1))
        # For each set of inputs, those of each product of the launch.
        self.sets = [[of(*sizes) for sizes in spec["sizes"]] for _ in range(count)]
        self.outs = [[torch.empty(batch, m, n, device="cuda", dtype=out) for m, n, _ in spec["sizes"]] for _ in range(count)]

    def compute(self, inputs, cast=lambda t: t):
        a, b, *extras = (cast(t) for t in inputs)
        a = a if self.spec["a_rows"] else a.transpose(1, 2)
        b = b if self.spec["b_rows"] else b.transpose(1, 2)
        result = a @ b
        for extra in extras:
            result = result + extra
        return result

    def peer(self):
        """The same by torch, one product after the other, or as one batch where sizes agree; none of integers."""
        if self.spec["dtype"] in ("s8", "u8"):
            return None
        sizes = self.spec["sizes"]
        sets = self.sets
        if len(sizes) > 1 and len({tuple(size) for size in sizes}) == 1:
            stacked = [tuple(self.torch.cat(parts) for parts in zip(*inputs)) for inputs in self.sets]
            sets = [[inputs] for inputs in stacked] if self.spec["epilogue"] != "column" else sets
        return lambda i: [self.compute(inputs) for inputs in sets[i % len(sets)] if inputs[0].numel()]

    def ours(self, kernel):
        dims = self.dims()
        launches = []
        for inputs, outs in zip(self.sets, self.outs):
            operands = [t.data_ptr() for of_one, out in zip(inputs, outs) for t in (*of_one, out)]
            launches.append(kernel.prepare(dims, operands))
        return lambda i: launches[i % len(launches)]()

    def dims(self):
        batch = self.spec["batch"]
        return [d for sizes in self.spec["sizes"] for d in sizes] + ([batch] if batch > 1 else [])

    def error(self, timing, call):
        """Of the first set of inputs, against products in a wider type: see `timing.error`."""
        if self.want is None:
            wide = self.torch.float64 if self.spec["dtype"] == "f32" else self.torch.float32
            self.want = [self.compute(inputs, lambda t: t.to(wide)) for inputs in self.sets[0]]
        return timing.error(call, self.outs[0], self.want)


# The largest relative norm of an error, by the type of the operands.
ALLOWED = {"f16": 2e-3, "bf16": 1e-2, "f32": 1e-5, "tf32": 2e-3, "s8": 0, "u8": 0}


def fits(kernel, dims):
    """Parts of a tile wait for each other, so all of them must run at once."""
    config = kernel.config
    slots = kernel.sms * config["ctas_per_sm"]
    return config["split"] == 1 or kernel.grid(dims)[0] <= (2 * slots if config["cluster"] else slots)


def measure(torch, timing, spec, kernels, skip):
    torch.backends.cuda.matmul.allow_tf32 = False
    case, failures, keep = Case(torch, spec), [], []
    names = dict(spec["kernels"])
    graphs, dims = {}, case.dims()
    peer = case.peer()
    case.error(timing, lambda i: None)
    torch.backends.cuda.matmul.allow_tf32 = spec["dtype"] == "tf32"
    if peer:
        graphs["peer"] = timing.graph_of(peer)
    for name in names:
        kernel = kernels.get(name)
        if kernel is None or name in skip or not fits(kernel, dims):
            continue
        worker.say(trying=name)
        call = case.ours(kernel)
        error = max(case.error(timing, call) for _ in range(2))
        if error > ALLOWED[spec["dtype"]]:
            failures.append([names[name], error])
            continue
        graphs[name] = timing.graph_of(call)
        keep.append(call)
    rough = timing.rounds(graphs, 4, 2)
    order = sorted((name for name in rough if name != "peer"), key=rough.get)
    medians = timing.rounds({name: graphs[name] for name in (["peer"] if peer else []) + order[:FINALISTS]}, 12, 3)
    peer_us = medians.pop("peer", None)
    winner = min(medians, key=medians.get) if medians else None
    worker.say(result={"product": spec["product"], "config": names.get(winner), "us": medians.get(winner), "peer_us": peer_us,
                       "failures": failures,
                       "candidates": [[names[name], round(medians.get(name, rough[name]), 2)] for name in order]})


def work(first, skip):
    sys.path.insert(0, str(HERE))
    import torch

    import driver
    import timing

    torch.manual_seed(0)
    torch.empty(1, device="cuda")
    about = json.loads((HERE / "products.json").read_text())
    kernels = {kernel.name: kernel for kernel in driver.load(HERE)}
    properties = torch.cuda.get_device_properties(0)
    worker.say(machine={"gpu": torch.cuda.get_device_name(), "sms": properties.multi_processor_count, "torch": torch.__version__})
    for number, spec in enumerate(about["products"]):
        if number >= first:
            worker.say(job=number)
            measure(torch, timing, spec, kernels, skip)
            torch.cuda.empty_cache()
    worker.say(job=len(about["products"]))


def main(seconds):
    deadline = time.time() + seconds
    about = json.loads((HERE / "products.json").read_text())
    report = {"architecture": about["architecture"], "toolchain": about["toolchain"], "date": time.strftime("%Y-%m-%d"), "results": [], "hung": []}

    def heard(said):
        report.update(said.get("machine", {}))
        if "result" in said:
            row = said["result"]
            report["results"].append(row)
            (OUT / "results.json").write_text(json.dumps(report, indent=1))
            us = f"{row['us']:9.2f} us" if row["us"] else "  nothing was right"
            peer = f"torch {row['peer_us']:9.2f} us" if row["peer_us"] else ""
            print(f"{row['product']:80s} {us}  {peer}  {row['config']}", flush=True)

    report["hung"] = worker.watch([sys.executable, str(HERE / "tune.py"), "--work"], deadline, heard)
    (OUT / "results.json").write_text(json.dumps(report, indent=1))
    print(f"{len(report['results'])} of {len(about['products'])} products in {OUT / 'results.json'}")
    return 0 if len(report["results"]) == len(about["products"]) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(int(sys.argv[2]), set(sys.argv[3:]))
    else:
        sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 3600))
