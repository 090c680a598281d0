"""Checks and times sigmoid(Q K^T + bias) V, and sigmoid(Q K^T) V of jagged rows, against torch, eager and compiled. One JSON line a shape."""

import sys

import torch

import driver
import timing
import worker

# Sequences of random lengths up to the last number, heads.
JAGGED = [(64, 4, 512), (32, 4, 2048)]
SHAPES = [(64, 512, 512, 64), (256, 200, 200, 64), (32, 1024, 1024, 128)]


def rnd(*dims):
    return (torch.randn(*dims, device="cuda") * 0.5).half()


def say(shape, kernel, error, graphs):
    """The result of one shape; "compile" is the peer."""
    if not error < 3e-3:
        worker.say(result={"shape": shape, "error": error, "failed": True})
        return
    us = timing.rounds(graphs(), 12, 3)
    worker.say(result={"shape": shape, "ours_us": round(us["ours"], 2), "peer_us": round(us["compile"], 2), "eager_us": round(us["eager"], 2),
                       "ratio": round(us["compile"] / us["ours"], 3), "error": error, "config": kernel.name})


def dense(kernel, b, m, n, d):
    sets = [(rnd(b, m, d), rnd(b, n, d), rnd(b, n, d), rnd(b, m, n)) for _ in range(max(1, min(8, int(256e6 // (2 * b * m * n)) + 1)))]
    outs = [torch.full((b, m, d), float("nan"), device="cuda", dtype=torch.half) for _ in sets]

    def eager(q, k, v, e):
        return torch.sigmoid(q @ k.transpose(1, 2) + e) @ v

    calls = [kernel.prepare((b, 1, m, n), [t.data_ptr() for t in s] + [o.data_ptr()]) for s, o in zip(sets, outs)]
    calls[0]()
    torch.cuda.synchronize()
    want = eager(*(t.float() for t in sets[0]))
    error = ((outs[0].float() - want).norm() / want.norm()).item()
    compiled = torch.compile(eager, mode="max-autotune-no-cudagraphs")
    say(f"B{b} M{m} N{n} D{d}", kernel, error,
        lambda: {"ours": timing.graph_of(lambda i: calls[i % len(calls)]()), "eager": timing.graph_of(lambda i: eager(*sets[i % len(sets)])),
                 "compile": timing.graph_of(lambda i: compiled(*sets[i % len(sets)]))})


def jagged(kernel, b, h, length, d=64):
    """The peer has padded tensors ready and a mask; what it takes to pad and to pack is not counted."""
    lengths = torch.randint(1, length + 1, (b,))
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).tolist()
    total, starts = offsets[-1], torch.tensor(offsets, dtype=torch.int32, device="cuda")
    mask = (torch.arange(length)[None, :] < lengths[:, None]).cuda()[:, None, None, :]
    sets = [(rnd(total, h, d), rnd(total, h, d), rnd(total, h, d)) for _ in range(4)]
    padded = [tuple(rnd(b, h, length, d) for _ in range(3)) for _ in range(4)]
    outs = [torch.full((total, h, d), float("nan"), device="cuda", dtype=torch.half) for _ in sets]
    record = torch.zeros(8, dtype=torch.int64, device="cuda")

    def eager(q, k, v):
        return (torch.sigmoid(q @ k.transpose(2, 3)) * mask) @ v

    calls = [kernel.prepare((total, b, h), [t.data_ptr() for t in s] + [starts.data_ptr(), o.data_ptr(), record.data_ptr()]) for s, o in zip(sets, outs)]
    calls[0]()
    torch.cuda.synchronize()
    q, k, v = (t.float().transpose(0, 1) for t in sets[0])
    rows = [(torch.sigmoid(q[:, x:y] @ k[:, x:y].transpose(1, 2)) @ v[:, x:y]).transpose(0, 1) for x, y in zip(offsets, offsets[1:])]
    want = torch.cat(rows)
    error = ((outs[0].float() - want).norm() / want.norm()).item() if not record.any().item() else float("inf")
    compiled = torch.compile(eager, mode="max-autotune-no-cudagraphs")
    say(f"jagged B{b} H{h} L1..{length} D{d}, {total} rows", kernel, error,
        lambda: {"ours": timing.graph_of(lambda i: calls[i % 4]()), "eager": timing.graph_of(lambda i: eager(*padded[i % 4])),
                 "compile": timing.graph_of(lambda i: compiled(*padded[i % 4]))})


def main():
    torch.manual_seed(0)
    torch.empty(1, device="cuda")
    kernels = {(k.epilogue, k.config["columns"]): k for k in driver.load(sys.argv[1]) if k.epilogue.startswith("b2b")}
    torch._dynamo.config.automatic_dynamic_shapes = False
    for b, m, n, d in SHAPES:
        dense(kernels["b2b_sigmoid", d], b, m, n, d)
    for b, h, length in JAGGED:
        jagged(kernels["b2b_jagged", length], b, h, length)


if __name__ == "__main__":
    main()
