"""Checks and times groups of products in one launch: against the same products one launch after the other, ours and torch's, and where the sizes agree
torch.bmm, and torch._grouped_mm of bf16 where this torch has it. One JSON line a group and configuration."""

import sys

import torch

import driver
import timing
import worker


def padded(n):
    return (n + 7) // 8 * 8


def grouped_mm(sizes, sets):
    """torch._grouped_mm of the same sizes in bf16: rows of one matrix, B [G, N, K]; none where it is not there or does not take these."""
    if not hasattr(torch, "_grouped_mm") or len({(n, k) for _, n, k in sizes}) > 1:
        return None
    ends = torch.tensor([m for m, _, _ in sizes], device="cuda").cumsum(0).to(torch.int32)
    own = [(torch.cat([a for a, _ in s]).bfloat16(), torch.stack([b for _, b in s]).bfloat16().transpose(1, 2)) for s in sets]

    def call(i):
        a, b = own[i % len(own)]
        return torch._grouped_mm(a, b, offs=ends)

    try:
        call(0)
        torch.cuda.synchronize()
    except Exception as cause:  # a report, not a failure: the peer is optional
        print("torch._grouped_mm:", str(cause).splitlines()[0], flush=True)
        return None
    return call


def main():
    torch.manual_seed(0)
    torch.empty(1, device="cuda")
    kernels = driver.load(sys.argv[1])
    groups = {}
    for kernel in kernels:
        if kernel.epilogue.startswith("group "):
            groups.setdefault(kernel.epilogue, []).append(kernel)
    for name, own in groups.items():
        together = next(kernel.config for kernel in own if not kernel.config["alone"])
        sizes, shared = together["sizes"], together["shared"]
        total = sum(2 * (m * k + n * k + m * n) for m, n, k in sizes)
        sets = []
        for _ in range(max(2, min(8, int(256e6 // total) + 1))):
            first = torch.randn(sizes[0][0], sizes[0][2], device="cuda").half()
            lefts = [first if shared else torch.randn(m, k, device="cuda").half() for m, _, k in sizes]
            sets.append([(a, torch.randn(n, k, device="cuda").half()) for a, (_, n, k) in zip(lefts, sizes)])
        outs = [torch.empty(m, n, device="cuda", dtype=torch.half) for m, n, _ in sizes]
        want = [a.float() @ b.float().t() for a, b in sets[0]]

        def error(call):
            for out in outs:
                out.fill_(float("nan"))
            call(0)
            torch.cuda.synchronize()
            found = [((o.float() - w).norm() / w.norm()).item() for o, w in zip(outs, want) if w.numel()]
            return max(found) if all(e == e for e in found) else float("inf")

        calls, errors = {}, {}
        for kernel in own:
            if kernel.config["alone"]:
                continue
            prepared = []
            for problems in sets:
                operands = [t.data_ptr() for (a, b), out in zip(problems, outs) for t in (a, b, out)]
                prepared.append(kernel.prepare([d for size in sizes for d in size], operands))
            calls[kernel.name] = lambda i, prepared=prepared: prepared[i % len(prepared)]()
        # One launch after the other: of each problem the kernel that is chosen for it alone.
        single = {tuple(k.config["sizes"][0]): k for k in own if k.config["alone"]}
        if all(tuple(size) in single or size[0] == 0 for size in sizes):
            alone = []
            for problems in sets:
                row = []
                for size, (a, b), out in zip(sizes, problems, outs):
                    if size[0]:
                        row.append(single[tuple(size)].prepare(list(size), [t.data_ptr() for t in (a, b, out)]))
                alone.append(row)
            calls["ours alone"] = lambda i: [call() for call in alone[i % len(alone)]]
        for call in list(calls):
            errors[call] = error(calls[call])
            if not errors[call] < 3e-3:
                print("FAILED", name, call, errors[call], flush=True)
                del calls[call]
        if len({tuple(s) for s in sizes}) == 1:
            stacked = [(torch.stack([a for a, _ in s]), torch.stack([b for _, b in s]).transpose(1, 2)) for s in sets]
            room = torch.empty(len(sizes), sizes[0][0], sizes[0][1], device="cuda", dtype=torch.half)
            calls["torch.bmm"] = lambda i: torch.bmm(*stacked[i % len(stacked)], out=room)
        calls["torch alone"] = lambda i: [torch.mm(a, b.t(), out=o) for (a, b), o in zip(sets[i % len(sets)], outs)]
        peer = grouped_mm(sizes, sets)
        if peer:
            calls["torch._grouped_mm bf16"] = peer
        us = timing.rounds({call: timing.graph_of(run) for call, run in calls.items()}, 12, 3)
        flops = sum(2 * m * n * k for m, n, k in sizes)
        for call, value in sorted(us.items(), key=lambda item: item[1]):
            worker.say(result={"group": name, "what": call, "us": round(value, 2), "tflops": round(flops / value / 1e6, 1),
                               "error": errors.get(call)})


if __name__ == "__main__":
    main()
