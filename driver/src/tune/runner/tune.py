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
FINALISTS = 5


class Case:
    """A product: inputs, results, and what they must be."""

    def __init__(self, torch, spec):
        self.spec, self.want = spec, None
        m, n, k, batch = spec["sizes"]
        kinds = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
        kind, out = kinds[spec["dtype"]], kinds[spec["out"]]

        def rnd(*dims):
            return (torch.randn(*dims, device="cuda") * 0.5).to(kind)

        a = (batch, m, k) if spec["a_rows"] else (batch, k, m)
        b = (batch, k, n) if spec["b_rows"] else (batch, n, k)
        extras = {"plain": (), "column": ((n,),), "tensor": ((batch, m, n),)}[spec["epilogue"]]
        count = max(1, min(8, int(256e6 // (2 * batch * (m * k + n * k))) + 1))
        self.sets = [(rnd(*a), rnd(*b), *(rnd(*e) for e in extras)) for _ in range(count)]
        self.outs = [torch.empty(batch, m, n, device="cuda", dtype=out) for _ in range(count)]

    def peer(self, i, cast=lambda t: t):
        a, b, *extras = (cast(t) for t in self.sets[i % len(self.sets)])
        a = a if self.spec["a_rows"] else a.transpose(1, 2)
        b = b if self.spec["b_rows"] else b.transpose(1, 2)
        result = a @ b
        for extra in extras:
            result = result + extra
        return result

    def ours(self, kernel):
        m, n, k, batch = self.spec["sizes"]
        dims = (m, n, k, batch) if batch > 1 else (m, n, k)
        launches = [kernel.prepare(dims, [t.data_ptr() for t in inputs] + [out.data_ptr()]) for inputs, out in zip(self.sets, self.outs)]
        return lambda i: launches[i % len(launches)]()

    def error(self, timing, call):
        """Of the first set of inputs, against an f32 product: see `timing.error`."""
        if self.want is None:
            self.want = self.peer(0, lambda t: t.float())
        return timing.error(call, self.outs[0], self.want)


def fits(kernel, dims):
    """Parts of a tile wait for each other, so all of them must run at once."""
    config = kernel.config
    slots = kernel.sms * config["ctas_per_sm"]
    return config["split"] == 1 or kernel.grid(dims)[0] <= (2 * slots if config["cluster"] else slots)


def measure(torch, timing, spec, kernels, skip):
    case, failures, keep = Case(torch, spec), [], []
    graphs = {"peer": timing.graph_of(case.peer)}
    names = dict(spec["kernels"])
    m, n, k, batch = spec["sizes"]
    for name in names:
        kernel = kernels[name]
        if name in skip or not fits(kernel, (m, n, k, batch)):
            continue
        worker.say(trying=name)
        call = case.ours(kernel)
        error = max(case.error(timing, call) for _ in range(2))
        if error > (1e-2 if spec["dtype"] == "bf16" else 2e-3):
            failures.append([names[name], error])
            continue
        graphs[name] = timing.graph_of(call)
        keep.append(call)
    rough = timing.rounds(graphs, 4, 2)
    order = sorted((name for name in rough if name != "peer"), key=rough.get)
    medians = timing.rounds({name: graphs[name] for name in ["peer"] + order[:FINALISTS]}, 12, 3)
    peer = medians.pop("peer")
    winner = min(medians, key=medians.get) if medians else None
    worker.say(result={"product": spec["product"], "config": names.get(winner), "us": medians.get(winner), "peer_us": peer,
                       "failures": failures,
                       "candidates": [[names[name], round(medians.get(name, rough[name]), 2)] for name in order]})


def work(first, skip):
    sys.path.insert(0, str(HERE))
    import torch

    import driver
    import timing

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
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
            print(f"{row['product']:80s} {us}  torch {row['peer_us']:9.2f} us  {row['config']}", flush=True)

    report["hung"] = worker.watch([sys.executable, str(HERE / "tune.py"), "--work"], deadline, heard)
    (OUT / "results.json").write_text(json.dumps(report, indent=1))
    print(f"{len(report['results'])} of {len(about['products'])} products in {OUT / 'results.json'}")
    return 0 if len(report["results"]) == len(about["products"]) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(int(sys.argv[2]), set(sys.argv[3:]))
    else:
        sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 3600))
