"""Compiles the kernels of this folder with nvcc and Triton and writes `manifest.json`: how each is launched and compared.

    python generate.py NVCC

(`-` in place of the path of nvcc leaves its files as they are.) It needs nvcc 13.0 and Triton 3.6 (PyPI: nvidia-cuda-nvcc, nvidia-nvvm, nvidia-cuda-crt, nvidia-cuda-runtime, nvidia-cuda-cccl, triton), no GPU.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def buffer(use, kind, count, fill="zero", low=0, high=1, **compare):
    out = {"use": use, "type": kind, "count": count}
    if fill != "zero":
        out["fill"] = fill
    if fill in ("uniform", "integers"):
        out |= {"low": low, "high": high}
    return out | compare


def reads(kind, count, fill="uniform", low=-1, high=1, **more):
    return buffer("in", kind, count, fill, low, high, **more)


def writes(kind, count, **compare):
    return buffer("out", kind, count, **compare)


def updates(kind, count, fill="zero", low=0, high=1, **compare):
    return buffer("inout", kind, count, fill, low, high, **compare)


def value(kind, number):
    return {"use": "value", "type": kind, "value": number}


def i32(number):
    return value("i32", number)


CASES = []


def cuda(name, params, grid=1, block=32, shared=0, arch="sm_80", cluster=None):
    def three(dims):
        return list(dims) + [1] * (3 - len(dims)) if isinstance(dims, tuple) else [dims, 1, 1]

    CASES.append(
        {
            "name": name,
            "ptx": f"ptx/{name}.ptx",
            "kernel": name,
            "made_by": f"nvcc {arch}",
            "grid": three(grid),
            "block": three(block),
            "cluster": three(cluster) if cluster else None,
            "shared": shared,
            "params": params,
        }
    )


TRITON = []


def triton(
    name, kernel, signature, constants, params, grid=1, capability=90, warps=4, stages=3, lines=False, divisible=()
):
    TRITON.append((name, kernel, signature, constants, params, grid, capability, warps, stages, lines, divisible))


cuda("vector_add", [reads("f32", 1000), reads("f32", 1000), writes("f32", 1000), i32(1000)], grid=3, block=128)
cuda(
    "saxpy4", [reads("f32", 515), reads("f32", 515), writes("f32", 515), value("f32", 2.5), i32(515)], grid=2, block=128
)
cuda("block_reduce", [reads("f32", 1500), writes("f32", 3), i32(1500)], grid=3, block=256)
cuda("warp_votes", [reads("i32", 64, "integers", -100, 100), writes("u32", 64 * 16)], grid=2)
cuda(
    "atomics_global",
    [
        reads("i32", 256, "integers", -1000, 1000),
        updates("u32", 14),
        updates("u64", 4),
        updates("f32", 5),
        updates("f64", 1),
        updates("f16", 2),
    ],
    grid=4,
    block=64,
)
# The last element that atomicExch leaves depends on the order of the blocks.
CASES[-1]["params"][1]["ignore"] = [12, 13]
CASES[-1]["finds"] = {
    "race": "the loop around atomicCAS starts from a plain read of the word that others change: harmless here, and a race by the memory model"
}
cuda("histogram", [reads("u8", 3000, "bits"), updates("u32", 256), i32(3000)], grid=3, block=128)
cuda("transpose", [reads("f32", 50 * 70), writes("f32", 50 * 70), i32(50), i32(70)], grid=(3, 2), block=(32, 8))
cuda("prefix_sum", [reads("i32", 300, "integers", -50, 50), writes("i32", 300), i32(300)], block=512)
cuda(
    "matmul_tiled",
    [reads("f32", 40 * 37), reads("f32", 37 * 33), writes("f32", 40 * 33), i32(40), i32(33), i32(37)],
    grid=(3, 3),
    block=(16, 16),
)
cuda(
    "wmma_product",
    [reads("f16", 32 * 64), reads("f16", 64 * 64), writes("f32", 32 * 64, tolerance=1e-5), i32(64), i32(64)],
    grid=2,
    block=128,
)
cuda("wmma_integer", [reads("i8", 32 * 64, "bits"), reads("i8", 64 * 16, "bits"), writes("i32", 32 * 8), i32(64)])
cuda("mma_sync", [reads("bf16", 256), reads("bf16", 128), writes("f32", 128, tolerance=1e-5)])
cuda("cp_async_pipeline", [reads("f32", 2 * 5 * 512), writes("f32", 256), i32(5)], grid=2, block=128)
cuda("memcpy_async_barrier", [reads("i32", 1024, "integers", -99, 99), writes("i32", 256), i32(4)], block=256)
cuda(
    "half2_math",
    [
        reads("f16", 256, "uniform", -4, 4),
        reads("f16", 256, "uniform", -4, 4),
        writes("f16", 128 * 24),
        writes("u32", 128),
        i32(128),
    ],
    block=128,
)
cuda(
    "half_functions",
    [reads("f16", 256, "uniform", -4, 4), writes("f16", 128 * 12, ulps=1), i32(128)],
    block=128,
    arch="sm_90a",
)
cuda(
    "bf16_convert",
    [
        reads("f32", 128, "uniform", -4, 4),
        reads("f32", 128, "uniform", -4, 4),
        writes("bf16", 128 * 16),
        writes("i32", 128),
        i32(128),
    ],
    block=128,
)
cuda("int8_dot", [reads("i32", 128, "bits"), reads("i32", 128, "bits"), writes("i32", 512), i32(128)], block=128)
cuda(
    "int64_math",
    [reads("i64", 128, "bits"), reads("i64", 128, "integers", -(1 << 40), 1 << 40), writes("i64", 128 * 12), i32(128)],
    block=128,
)
cuda("int32_bits", [reads("u32", 128, "bits"), reads("u32", 128, "bits"), writes("u32", 128 * 16), i32(128)], block=128)
cuda(
    "double_math",
    [reads("f64", 64, "uniform", -50, 50), reads("f64", 64, "uniform", -50, 50), writes("f64", 640), i32(64)],
    block=64,
)
cuda(
    "float_math",
    [
        reads("f32", 128, "uniform", -2, 2),
        reads("f32", 128, "uniform", -2, 2),
        writes("f32", 1024),
        writes("f32", 1024, tolerance=2e-6),
        i32(128),
    ],
    block=128,
)
cuda(
    "device_functions",
    [reads("i32", 128, "integers", 1, 1000), writes("i32", 128), writes("f64", 128), i32(128)],
    block=128,
)
cuda("indirect_calls", [reads("i32", 100, "integers", 0, 1000), writes("i32", 100), i32(100)], block=128)
cuda("jump_table", [reads("i32", 128, "integers", -1, 22), updates("i32", 256), i32(128)], block=128)
cuda("local_array", [reads("i32", 1024, "integers", -999, 999), writes("i32", 1024), i32(64)], block=64)
cuda("constant_memory", [reads("f32", 200), writes("f32", 200), i32(200)], grid=2, block=128)
cuda(
    "dynamic_shared",
    [reads("i32", 256, "integers", 0, 1000), writes("i32", 256), writes("u16", 256)],
    grid=2,
    block=128,
    shared=128 * 6,
)
cuda("cooperative", [reads("i32", 128, "integers", -100, 100), writes("i32", 128)], grid=2, block=64)
cuda(
    "last_block",
    [reads("i32", 2000, "integers", -100, 100), writes("i32", 4), writes("i32", 1), i32(2000)],
    grid=4,
    block=128,
)
cuda(
    "cluster_exchange",
    [reads("i32", 512, "integers", -100, 100), writes("i32", 512)],
    grid=8,
    block=64,
    arch="sm_90a",
    cluster=4,
)
cuda("bulk_copy", [reads("i32", 2048, "integers", -1000, 1000), writes("i32", 2048)], grid=2, block=64, arch="sm_90a")
cuda(
    "fp8_convert",
    [reads("f32", 256, "uniform", -600, 600), writes("u16", 256), writes("f32", 512), i32(128)],
    block=128,
    arch="sm_90a",
)
cuda("mandelbrot", [writes("u16", 48 * 40), i32(48), i32(40), i32(50)], grid=(3, 5), block=(16, 8))

F32, F16, I32 = "*fp32", "*fp16", "*i32"
triton(
    "triton_add",
    "add",
    {"x": F32, "y": F32, "out": F32, "n": "i32"},
    {"BLOCK": 256},
    [reads("f32", 1000), reads("f32", 1000), writes("f32", 1000), i32(1000)],
    grid=4,
    lines=True,
    divisible=("x", "y", "out"),
)
triton(
    "triton_softmax",
    "softmax",
    {"x": F16, "out": F16, "columns": "i32"},
    {"BLOCK": 512},
    [reads("f16", 4 * 300, "uniform", -3, 3), writes("f16", 4 * 300, ulps=1), i32(300)],
    grid=4,
)
triton(
    "triton_layer_norm",
    "layer_norm",
    {"x": F32, "weight": F32, "bias": F32, "out": F32, "columns": "i32", "eps": "fp32"},
    {"BLOCK": 256},
    [
        reads("f32", 3 * 700),
        reads("f32", 700),
        reads("f32", 700),
        writes("f32", 3 * 700, tolerance=2e-6),
        i32(700),
        value("f32", 1e-5),
    ],
    grid=3,
)
MATMUL = {"a": F16, "b": F16, "c": F16, "m": "i32", "n": "i32", "k": "i32"}
for capability in (80, 90):
    triton(
        f"triton_matmul_sm{capability}",
        "matmul",
        MATMUL,
        {"BM": 64, "BN": 64, "BK": 32, "SUM": "float32"},
        [
            reads("f16", 96 * 80),
            reads("f16", 80 * 112),
            writes("f16", 96 * 112, ulps=1, tolerance=2e-6),
            i32(96),
            i32(112),
            i32(80),
        ],
        grid=[2, 2, 1],
        capability=capability,
        divisible=("a", "b", "c", "m", "n", "k"),
    )
triton(
    "triton_matmul_tf32",
    "matmul",
    {"a": F32, "b": F32, "c": F32, "m": "i32", "n": "i32", "k": "i32"},
    {"BM": 64, "BN": 32, "BK": 32, "SUM": "float32"},
    [reads("f32", 64 * 64), reads("f32", 64 * 32), writes("f32", 64 * 32, tolerance=1e-4), i32(64), i32(32), i32(64)],
    capability=90,
    divisible=("a", "b", "c", "m", "n", "k"),
)
triton(
    "triton_matmul_int8",
    "matmul",
    {"a": "*i8", "b": "*i8", "c": I32, "m": "i32", "n": "i32", "k": "i32"},
    {"BM": 32, "BN": 32, "BK": 32, "SUM": "int32"},
    [reads("i8", 32 * 64, "bits"), reads("i8", 64 * 32, "bits"), writes("i32", 32 * 32), i32(32), i32(32), i32(64)],
    capability=80,
    divisible=("a", "b", "c", "m", "n", "k"),
)
triton(
    "triton_matmul_fp8",
    "matmul",
    {"a": "*fp8e4nv", "b": "*fp8e4nv", "c": F32, "m": "i32", "n": "i32", "k": "i32"},
    {"BM": 64, "BN": 32, "BK": 64, "SUM": "float32"},
    [
        reads("e4m3", 64 * 128, "bits", mask=0xBF),
        reads("e4m3", 128 * 32, "bits", mask=0xBF),
        writes("f32", 64 * 32, tolerance=2e-3),
        i32(64),
        i32(32),
        i32(128),
    ],
    capability=90,
    divisible=("a", "b", "c", "m", "n", "k"),
)
ATTENTION = {"q": F16, "k": F16, "v": F16, "out": F16, "length": "i32", "scale": "fp32"}
for capability in (80, 90):
    triton(
        f"triton_attention_sm{capability}",
        "attention",
        ATTENTION,
        {"BM": 64, "BN": 32, "D": 32},
        [reads("f16", 2 * 128 * 32)] * 3 + [writes("f16", 2 * 128 * 32, ulps=4), i32(128), value("f32", 0.25)],
        grid=[2, 2, 1],
        capability=capability,
        divisible=("q", "k", "v", "out", "length"),
    )
triton(
    "triton_dropout",
    "dropout",
    {"x": F32, "out": F32, "n": "i32", "p": "fp32", "seed": "i32"},
    {"BLOCK": 256},
    [reads("f32", 1000), writes("f32", 1000, ulps=2), i32(1000), value("f32", 0.4), i32(1234)],
    grid=4,
)
triton(
    "triton_reductions",
    "reductions",
    {"x": I32, "out": I32, "where": I32},
    {"ROWS": 32, "COLUMNS": 64},
    [reads("i32", 2048, "integers", -500, 500), writes("i32", 64 + 64 + 1), writes("i32", 96)],
)
triton(
    "triton_scan",
    "scan",
    {"decay": F32, "value": F32, "out": F32, "sums": I32},
    {"LENGTH": 256},
    [reads("f32", 512, "uniform", 0.5, 1), reads("f32", 512), writes("f32", 512), writes("i32", 512)],
    grid=2,
)
triton(
    "triton_sort_gather",
    "sort_gather",
    {"x": F32, "index": I32, "out": F32, "gathered": F32},
    {"LENGTH": 64},
    [reads("f32", 128), reads("i32", 128, "integers", 0, 64), writes("f32", 128), writes("f32", 128)],
    grid=2,
)
triton(
    "triton_histogram",
    "histogram_flip",
    {"x": I32, "bins": I32, "flipped": I32, "n": "i32"},
    {"BLOCK": 512, "BINS": 32},
    [reads("i32", 400, "integers", 0, 32), writes("i32", 32), writes("i32", 512), i32(400)],
)
triton(
    "triton_atomics",
    "atomics",
    {"x": I32, "words": I32, "floats": F32, "n": "i32"},
    {"BLOCK": 128},
    [reads("i32", 500, "integers", -1000, 1000), updates("i32", 20), updates("f32", 5), i32(500)],
    grid=4,
)
triton(
    "triton_convert",
    "convert",
    {"x": F32, "f8": "*i8", "f8b": "*i8", "h": F16, "b": "*bf16", "i": I32, "n": "i32"},
    {"BLOCK": 256},
    [
        reads("f32", 500, "uniform", -300, 300),
        writes("i8", 500),
        writes("i8", 500),
        writes("f16", 500),
        writes("bf16", 500),
        writes("i32", 500),
        i32(500),
    ],
    grid=2,
)
triton(
    "triton_gelu",
    "gelu",
    {"x": "*bf16", "out": "*bf16", "n": "i32"},
    {"BLOCK": 256},
    [reads("bf16", 500, "uniform", -4, 4), writes("bf16", 500, ulps=1), i32(500)],
    grid=2,
)
triton(
    "triton_transpose",
    "transpose",
    {"x": F16, "out": F16, "rows": "i32", "columns": "i32"},
    {"B": 32},
    [reads("f16", 50 * 70), writes("f16", 50 * 70), i32(50), i32(70)],
    grid=[2, 3, 1],
)


def run_nvcc(nvcc):
    for case in CASES:
        arch = case["made_by"].split()[1]
        subprocess.run(
            [
                nvcc,
                "-std=c++17",
                "-ptx",
                f"-arch={arch}",
                HERE / "cuda" / f"{case['name']}.cu",
                "-o",
                HERE / case["ptx"],
            ],
            check=True,
        )


def run_triton():
    sys.path.insert(0, str(HERE / "triton"))
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    import triton as compiler
    import kernels
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    for name, kernel, signature, constants, params, grid, capability, warps, stages, lines, divisible in TRITON:
        os.environ["TRITON_DISABLE_LINE_INFO"] = "0" if lines else "1"
        function = getattr(kernels, kernel)
        names = list(signature)
        attrs = {(function.arg_names.index(n),): [["tt.divisibility", 16]] for n in divisible}
        constants = {n: getattr(compiler.language, c) if isinstance(c, str) else c for n, c in constants.items()}
        source = ASTSource(function, signature | {n: "constexpr" for n in constants}, constexprs=constants, attrs=attrs)
        made = compiler.compile(
            source, target=GPUTarget("cuda", capability, 32), options={"num_warps": warps, "num_stages": stages}
        )
        ptx = made.asm["ptx"].replace(str(HERE / "triton") + "/", "").replace(str(HERE / "triton"), ".")
        ptx = re.sub(r"\n\t\.section\t\.debug_\w+\n\t\{.*?\n\t\}", "", ptx, flags=re.S)
        (HERE / "ptx" / f"{name}.ptx").write_text(ptx)
        # Triton adds pointers to scratch memory, of which these kernels have none.
        extra = len(re.findall(r"\.param [^\n]*_param_\d+", ptx)) - len(names)
        CASES.append(
            {
                "name": name,
                "ptx": f"ptx/{name}.ptx",
                "kernel": kernel,
                "made_by": f"Triton sm_{capability}",
                "grid": grid if isinstance(grid, list) else [grid, 1, 1],
                "block": [32 * warps, 1, 1],
                "cluster": None,
                "shared": made.metadata.shared,
                "params": params + [value("u64", 0)] * extra,
            }
        )
        if name in ("triton_matmul_sm90", "triton_matmul_tf32", "triton_attention_sm90"):
            CASES[-1]["finds"] = {
                "missing-proxy-fence": "cp.async writes through the generic proxy and wgmma reads through the async proxy; "
                "the ISA asks for a fence.proxy.async between them, which Triton 3.6 does not print in its loops"
            }
        if name in ("triton_reductions", "triton_sort_gather", "triton_histogram"):
            CASES[-1]["finds"] = {
                "race": "a tensor smaller than the block lies in several warps at once, and each stores its copy: the same bytes to the same places"
            }


def main():
    (HERE / "ptx").mkdir(exist_ok=True)
    if sys.argv[1] != "-":
        run_nvcc(sys.argv[1])
    run_triton()
    lines = ",\n".join(json.dumps(case) for case in CASES)
    (HERE / "manifest.json").write_text('{"cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
