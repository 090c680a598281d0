"""Checks and times sigmoid(Q K^T + bias) V against torch, eager and compiled. One JSON line a shape."""

import sys

import torch

import driver
import timing
import worker

SHAPES = [(64, 512, 512, 64), (256, 200, 200, 64), (32, 1024, 1024, 128)]


def main():
    torch.manual_seed(0)
    torch.empty(1, device="cuda")
    kernels = {k.config["columns"]: k for k in driver.load(sys.argv[1]) if k.epilogue == "b2b_sigmoid"}
    torch._dynamo.config.automatic_dynamic_shapes = False
    for b, m, n, d in SHAPES:
        def rnd(*dims):
            return (torch.randn(*dims, device="cuda") * 0.5).half()

        sets = [(rnd(b, m, d), rnd(b, n, d), rnd(b, n, d), rnd(b, m, n)) for _ in range(max(1, min(8, int(256e6 // (2 * b * m * n)) + 1)))]
        outs = [torch.full((b, m, d), float("nan"), device="cuda", dtype=torch.half) for _ in sets]

        def eager(q, k, v, e):
            return torch.sigmoid(q @ k.transpose(1, 2) + e) @ v

        kernel = kernels[d]
        calls = [kernel.prepare((b, 1, m, n), [t.data_ptr() for t in s] + [o.data_ptr()]) for s, o in zip(sets, outs)]
        calls[0]()
        torch.cuda.synchronize()
        want = eager(*(t.float() for t in sets[0]))
        error = ((outs[0].float() - want).norm() / want.norm()).item()
        if not error < 3e-3:
            worker.say(result={"shape": f"B{b} M{m} N{n} D{d}", "error": error, "failed": True})
            continue
        compiled = torch.compile(eager, mode="max-autotune-no-cudagraphs")
        graphs = {"ours": timing.graph_of(lambda i: calls[i % len(calls)]()),
                  "eager": timing.graph_of(lambda i: eager(*sets[i % len(sets)])),
                  "compile": timing.graph_of(lambda i: compiled(*sets[i % len(sets)]))}
        us = timing.rounds(graphs, 12, 3)
        worker.say(result={"shape": f"B{b} M{m} N{n} D{d}", "ours_us": round(us["ours"], 2), "peer_us": round(us["compile"], 2),
                           "eager_us": round(us["eager"], 2), "ratio": round(us["compile"] / us["ours"], 3), "error": error,
                           "config": kernel.name})


if __name__ == "__main__":
    main()
