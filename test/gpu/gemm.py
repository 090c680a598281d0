"""Checks and times the bundle's gemm kernels on this machine's GPU, against torch in the same process.

Each shape: inputs are random and rotated past the L2; every kernel that fits is compared with an f32 product, all are timed roughly, then
the best few and torch are timed in turn, in a shuffled order, by CUDA graphs of eight launches: medians. Prints one JSON line a shape.
"""

import sys

import torch
import torch.nn.functional as F

import driver
import timing
import worker

GEMMS = [(8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048), (1024, 1024, 1024), (512, 512, 512),
         (4096, 768, 768), (4096, 3072, 768), (4096, 768, 3072), (12288, 2304, 768), (6304, 3072, 768), (197, 768, 768),
         (1, 4096, 4096), (16, 4096, 4096), (64, 11008, 4096), (256, 4096, 11008), (128, 4096, 4096),
         (1000, 1000, 1000), (8192, 128, 8192), (128, 128, 65536)]
FUSED = [(4096, 3072, 768), (8192, 8192, 8192), (4096, 4096, 4096), (16, 4096, 4096)]
SWIGLU = [(4096, 11008, 4096), (512, 2048, 768), (16, 11008, 4096), (64, 11008, 4096)]
HEADS = [(4096, 768, 768), (16384, 1024, 1024)]


class Case:
    def __init__(self, dtype, epilogue, shape):
        self.dtype, self.epilogue, self.shape, self.want = dtype, epilogue, shape, None
        m, n, k = shape
        kind = {"f16": torch.float16, "bf16": torch.bfloat16}[dtype]

        def rnd(*dims):
            return (torch.randn(*dims, device="cuda") * 0.5).to(kind)

        rights = 2 if epilogue == "swiglu" else 1
        count = max(1, min(8, int(256e6 // (2 * (m * k + rights * n * k))) + 1))
        more = {"bias_gelu": lambda: (rnd(n),), "swiglu": lambda: (rnd(n, k),)}.get(epilogue, tuple)
        self.sets = [(rnd(m, k), rnd(n, k)) + more() for _ in range(count)]
        self.outs = [torch.empty(m, n, device="cuda", dtype=kind) for _ in range(count)]

    def compute(self, inputs):
        if self.epilogue == "bias_gelu":
            return F.gelu(F.linear(*inputs), approximate="tanh")
        if self.epilogue == "swiglu":
            return F.silu(F.linear(inputs[0], inputs[1])) * F.linear(inputs[0], inputs[2])
        out = F.linear(*inputs)
        if self.epilogue == "heads":
            m, n, _ = self.shape
            return out.view(m // 512, 512, n // 64, 64).transpose(1, 2).contiguous()
        return out

    def peer(self, i):
        return self.compute(self.sets[i % len(self.sets)])

    def reference(self, i):
        return self.compute([t.float() for t in self.sets[i % len(self.sets)]]).view(self.outs[0].shape)

    def ours(self, kernel):
        launches = []
        for inputs, out in zip(self.sets, self.outs):
            launches.append(kernel.prepare(self.shape, [t.data_ptr() for t in inputs] + [out.data_ptr()]))
        return lambda i: launches[i % len(launches)]()

    def error(self, call):
        """Of the first set of inputs, against an f32 product: see `timing.error`."""
        if self.want is None:
            self.want = self.reference(0)
        return timing.error(call, self.outs[:1], [self.want])


def measure(case, kernels, skip):
    failures, graphs, keep, worst = [], {"peer": timing.graph_of(case.peer)}, [], 0
    for kernel in kernels:
        if kernel.name in skip or not kernel.fits(case.shape):
            continue
        worker.say(trying=kernel.name, shape=case.shape)
        call = case.ours(kernel)
        errors = [case.error(call) for _ in range(2)]
        if max(errors) > (2e-3 if case.dtype == "f16" else 1e-2):
            failures.append([kernel.name, max(errors)])
            continue
        worst = max(worst, *errors)
        graphs[kernel.name] = timing.graph_of(call)
        keep.append(call)
    rough = timing.rounds(graphs, 4, 2)
    order = sorted((name for name in rough if name != "peer"), key=rough.get)
    medians = timing.rounds({name: graphs[name] for name in ["peer"] + order[:5]}, 12, 3)
    peer = medians.pop("peer")
    winner = min(medians, key=medians.get) if medians else None
    worker.say(result={"shape": "x".join(map(str, case.shape)), "dtype": case.dtype, "epilogue": case.epilogue, "peer_us": round(peer, 2),
                       "ours_us": round(medians[winner], 2) if winner else None, "config": winner,
                       "ratio": round(peer / medians[winner], 3) if winner else None, "error": worst, "failures": failures,
                       "finals": {name: round(us, 2) for name, us in medians.items()},
                       "candidates": [[name, round(rough[name], 2)] for name in order]})


def main():
    skip = set(sys.argv[3:])
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.cuda.init()
    torch.empty(1, device="cuda")
    kernels = driver.load(sys.argv[1])
    jobs = [("f16", "plain", s) for s in GEMMS] + [("f16", "bias_gelu", s) for s in FUSED] + [("bf16", "plain", (4096, 4096, 4096))]
    jobs += [("f16", "swiglu", s) for s in SWIGLU] + [("f16", "heads", s) for s in HEADS]
    for number, (dtype, epilogue, shape) in enumerate(jobs):
        if number < int(sys.argv[2]):
            continue
        worker.say(job=number)
        fitting = [k for k in kernels if k.dtype == dtype and k.epilogue == epilogue]
        measure(Case(dtype, epilogue, shape), fitting, skip)
        torch.cuda.empty_cache()
    worker.say(job=len(jobs))


if __name__ == "__main__":
    main()
