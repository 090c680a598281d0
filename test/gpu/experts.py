"""Checks and times products whose rows are grouped by data (a mixture of experts), in one launch: against torch._grouped_mm, and against torch.mm of one expert after the
other. One JSON line a layer, distribution of rows and kernel."""

import sys

import torch

import driver
import timing
import worker


def distributions(total, experts):
    """Rows of each expert: all alike; as 1/1, 1/2, 1/3, ...; and all of them in every fourth."""
    even = [total // experts] * experts
    weights = [1 / (i + 1) for i in range(experts)]
    skewed = [int(total * w / sum(weights)) for w in weights]
    skewed[0] += total - sum(skewed)
    few = [total // (experts // 4) if i % 4 == 1 else 0 for i in range(experts)]
    return {"even": even, "skewed": skewed, "a quarter": few}


def grouped_mm(a, b, ends, out):
    """torch._grouped_mm; none where it is not there or does not take these."""
    if not hasattr(torch, "_grouped_mm"):
        return None

    def call(i):
        return torch._grouped_mm(a, b.transpose(1, 2), offs=ends)

    try:
        out.copy_(call(0))
        torch.cuda.synchronize()
    except Exception as cause:  # a report, not a failure: the peer is optional
        print("torch._grouped_mm:", str(cause).splitlines()[0], flush=True)
        return None
    return call


def error(run, out, want, sizes):
    """The largest relative norm of the difference over the experts; infinite where an element is not finite. What is poisoned before and not written shows."""
    out.fill_(float("nan"))
    run(0)
    torch.cuda.synchronize()
    found, at = [], 0
    for rows in sizes:
        if rows:
            own, expected = out[at:at + rows].float(), want[at:at + rows].float()
            found.append(((own - expected).norm() / expected.norm()).item())
        at += rows
    return max(found) if all(e == e for e in found) else float("inf")


def measure(own, total, rounds):
    shape = own[0].config
    n, k, experts = shape["n"], shape["k"], shape["experts"]
    b = torch.randn(experts, n, k, device="cuda", dtype=torch.bfloat16)
    a = torch.randn(total, k, device="cuda", dtype=torch.bfloat16)
    out = torch.empty(total, n, device="cuda", dtype=torch.bfloat16)
    record = torch.zeros(5, device="cuda", dtype=torch.int64)
    for name, sizes in distributions(total, experts).items():
        assert sum(sizes) == total, (name, sizes)
        ends = torch.tensor(sizes, device="cuda").cumsum(0).to(torch.int32)
        offsets = torch.cat([torch.zeros(1, device="cuda", dtype=torch.int32), ends])
        starts = [0] + ends.tolist()
        want = torch.empty(total, n, device="cuda", dtype=torch.float32)
        for g, rows in enumerate(sizes):
            want[starts[g]:starts[g] + rows] = a[starts[g]:starts[g] + rows].float() @ b[g].float().t()
        calls, errors = {}, {}
        for kernel in own:
            run = kernel.prepare([total], [t.data_ptr() for t in (a, b, offsets, record, out)])
            calls[kernel.config["name"]] = lambda i, run=run: run()
        for call in list(calls):
            worker.say(trying=call)
            errors[call] = error(calls[call], out, want, sizes)
            # The f32 sums are rounded to bf16 once: 2^-9 at most of each element.
            if not errors[call] < 4e-3 or record.any():
                print("FAILED", experts, n, k, total, name, call, errors[call], record.tolist(), flush=True)
                record.zero_()
                del calls[call]
        del want
        parts = [(a[s:s + r], b[g].t(), out[s:s + r]) for g, (s, r) in enumerate(zip(starts, sizes)) if r]
        calls["torch.mm, one after the other"] = lambda i: [torch.mm(x, w, out=o) for x, w, o in parts]
        peer = grouped_mm(a, b, ends, out)
        if peer:
            calls["torch._grouped_mm"] = peer
        graphs = {call: timing.graph_of(run) for call, run in calls.items()}
        once = timing.rounds(graphs, 1, 1)
        # Configurations that are meant for other numbers of rows are not worth the time.
        graphs = {call: graph for call, graph in graphs.items() if once[call] < 2.5 * min(once.values())}
        us = timing.rounds(graphs, rounds, 2)
        flops, read = 2 * total * n * k, 2 * (total * (n + k) + sum(1 for r in sizes if r) * n * k)
        for call, value in sorted(us.items(), key=lambda item: item[1]):
            worker.say(result={"experts": experts, "n": n, "k": k, "rows": total, "sizes": name, "what": call, "us": round(value, 1),
                               "tflops": round(flops / value / 1e6, 1), "tbs": round(read / value / 1e6, 2),
                               "error": errors.get(call),
                               "chosen": next((x.config["chosen"] for x in own if x.config["name"] == call), 0)})


def main():
    torch.manual_seed(0)
    # Makes the context that kernels are loaded into.
    torch.empty(1, device="cuda")
    torch.backends.cuda.matmul.allow_tf32 = False
    layers = {}
    for kernel in driver.load(sys.argv[1]):
        layers.setdefault(kernel.epilogue, []).append(kernel)
    for own in layers.values():
        experts = own[0].config["experts"]
        for total in ([4096, 8192] if experts == 8 else [512, 4096, 8192]):
            measure(own, total, 5)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
