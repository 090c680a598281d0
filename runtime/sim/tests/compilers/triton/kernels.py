"""Triton kernels for the simulator's tests; `../generate.py` compiles them to PTX. No GPU is needed for that."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    v = tl.load(x + row + at, mask=at < columns, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row + at, e / tl.sum(e, 0), mask=at < columns)


@triton.jit
def layer_norm(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    mean = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mean += tl.load(x + row + at, mask=at < columns, other=0.0)
    mean = tl.sum(mean, 0) / columns
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        d = tl.where(at < columns, tl.load(x + row + at, mask=at < columns, other=0.0) - mean, 0.0)
        square += d * d
    rstd = 1 / tl.sqrt(tl.sum(square, 0) / columns + eps)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        v = (tl.load(x + row + at, mask=inside) - mean) * rstd
        tl.store(out + row + at, v * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside), mask=inside)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], SUM)
    for p in range(0, k, BK):
        x = tl.load(
            a + rows[:, None] * k + p + depth[None, :], mask=(rows[:, None] < m) & (p + depth[None, :] < k), other=0.0
        )
        y = tl.load(
            b + (p + depth[:, None]) * n + columns[None, :],
            mask=(p + depth[:, None] < k) & (columns[None, :] < n),
            other=0.0,
        )
        acc = tl.dot(x, y, acc, out_dtype=SUM)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], acc.to(c.dtype.element_ty), mask=inside)


@triton.jit
def attention(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    head = tl.program_id(1) * length * D
    d = tl.arange(0, D)
    x = tl.load(q + head + rows[:, None] * D + d[None, :])
    most = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BM, BN):
        columns = start + tl.arange(0, BN)
        y = tl.load(k + head + columns[None, :] * D + d[:, None])
        s = tl.dot(x, y) * scale
        s = tl.where(rows[:, None] >= columns[None, :], s, -float("inf"))
        new = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        shrink = tl.exp2(most - new)
        total = total * shrink + tl.sum(p, 1)
        z = tl.load(v + head + columns[:, None] * D + d[None, :])
        acc = tl.dot(p.to(z.dtype), z, acc * shrink[:, None])
        most = new
    tl.store(out + head + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > p
    v = tl.load(x + at, mask=at < n)
    tl.store(out + at, tl.where(keep, v / (1 - p), 0.0), mask=at < n)


@triton.jit
def reductions(x, out, where, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    v = tl.load(x + r[:, None] * COLUMNS + c[None, :])
    tl.store(out + c, tl.max(v, 0))
    tl.store(out + COLUMNS + r, tl.min(v, 1))
    tl.store(out + COLUMNS + ROWS + r, tl.xor_sum(v, 1))
    tl.store(out + COLUMNS + 2 * ROWS, tl.sum(tl.sum(v, 0), 0))
    tl.store(where + r, tl.argmax(v, 1))
    tl.store(where + ROWS + c, tl.argmin(v, 0))


@triton.jit
def linear(decay_a, value_a, decay_b, value_b):
    return decay_a * decay_b, value_a * decay_b + value_b


@triton.jit
def scan(decay, value, out, sums, LENGTH: tl.constexpr):
    at = tl.program_id(0) * LENGTH + tl.arange(0, LENGTH)
    d, v = tl.load(decay + at), tl.load(value + at)
    _, y = tl.associative_scan((d, v), 0, linear)
    tl.store(out + at, y)
    tl.store(sums + at, tl.cumsum((v * 64).to(tl.int32), 0, reverse=True))


@triton.jit
def sort_gather(x, index, out, gathered, LENGTH: tl.constexpr):
    at = tl.program_id(0) * LENGTH + tl.arange(0, LENGTH)
    v = tl.load(x + at)
    tl.store(out + at, tl.sort(v, descending=True))
    tl.store(gathered + at, tl.gather(v, tl.load(index + at), 0))


@triton.jit
def histogram_flip(x, bins, flipped, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    h = tl.histogram(v, BINS, mask=at < n)
    tl.store(bins + tl.arange(0, BINS), h)
    tl.store(flipped + at, tl.flip(v, 0))


@triton.jit
def atomics(x, words, floats, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, mask=inside, other=0)
    tl.atomic_add(words + (v & 7), v, mask=inside)
    tl.atomic_max(words + 8 + (v & 3), v, mask=inside)
    tl.atomic_min(words + 12 + (v & 3), v, mask=inside)
    tl.atomic_xor(words + 16 + (v & 0), v, mask=inside)
    tl.atomic_or(words + 17 + (v & 0), v, mask=inside)
    tl.atomic_add(floats + (v & 3), (v & 15).to(tl.float32), mask=inside)
    tl.atomic_max(floats + 4 + (v & 0), v.to(tl.float32), mask=inside)
    ticket = tl.atomic_add(words + 18, 1)
    if ticket == tl.num_programs(0) - 1:
        tl.atomic_cas(words + 19, tl.num_programs(1) - 1, tl.num_programs(0))


@triton.jit
def convert(x, f8, f8b, h, b, i, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    e = v.to(tl.float8e4nv)
    tl.store(f8 + at, e.to(tl.int8, bitcast=True), mask=at < n)
    tl.store(f8b + at, v.to(tl.float8e5).to(tl.int8, bitcast=True), mask=at < n)
    tl.store(h + at, v.to(tl.float16) * 2 + e.to(tl.float16), mask=at < n)
    tl.store(b + at, (v.to(tl.bfloat16) * v.to(tl.bfloat16)).to(tl.bfloat16), mask=at < n)
    tl.store(i + at, (v * 16).to(tl.int32) // 3, mask=at < n)


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n).to(tl.float32)
    y = 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)) + tl.sigmoid(v) + tl.sin(v) * tl.rsqrt(tl.abs(v) + 1)
    tl.store(out + at, y.to(out.dtype.element_ty), mask=at < n)


@triton.jit
def transpose(x, out, rows, columns, B: tl.constexpr):
    r, c = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + r[:, None] * columns + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < columns))
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(v), mask=(c[:, None] < columns) & (r[None, :] < rows))
