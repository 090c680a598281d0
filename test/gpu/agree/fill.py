"""Inputs by number: the same values here and in `ptx_sim::suite::recorded`, so that no input has to be stored."""

import numpy as np

NUMPY = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "u64": np.uint64,
    "i32": np.int32,
    "u32": np.uint32,
    "i16": np.int16,
    "u16": np.uint16,
    "i8": np.int8,
    "u8": np.uint8,
}
SIZES = {"bf16": 2, "e4m3": 1} | {name: np.dtype(kind).itemsize for name, kind in NUMPY.items()}


def mix(seed, count):
    """splitmix64 of the element's number."""
    with np.errstate(over="ignore"):
        z = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def bf16_bits(x):
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def special(param, seed, specials):
    """All pairs of the first two operands' special values, then random bits, then numbers near one."""
    kind, count, place = param["type"], param["count"], param["place"]
    table = np.array([int(bits, 16) for bits in specials[kind]], dtype=np.uint64)
    i, random, n = np.arange(count, dtype=np.uint64), mix(seed, count), np.uint64(len(table))
    pairs = int(n) * int(n)
    at = [i % n, i // n % n, random % n][place]
    bits = table[at.astype(np.int64)]
    width = 8 * SIZES[kind]
    rest = random >> np.uint64(64 - width)
    near = {
        "f64": (np.uint64(0x8003FFFFFFFFFFFF), np.uint64(0x3FE0000000000000)),
        "f32": (np.uint64(0x81FFFFFF), np.uint64(0x3E000000)),
        "f16": (np.uint64(0x8FFF), np.uint64(0x3000)),
        "bf16": (np.uint64(0x81FF), np.uint64(0x3E00)),
    }.get(kind)
    if near:
        rest = np.where(i % np.uint64(2) == 0, rest, rest & near[0] | near[1])
    else:
        rest = np.where(i % np.uint64(2) == 0, rest, rest >> (random % np.uint64(width)))
    bits = np.where(i < pairs, bits, rest)
    return bits.astype({8: np.uint64, 4: np.uint32, 2: np.uint16, 1: np.uint8}[SIZES[kind]]).tobytes()


def fill(param, seed, specials=None):
    """The bytes of a buffer before the launch."""
    kind, count, how = param["type"], param["count"], param.get("fill", "zero")
    size = SIZES[kind]
    if how == "zero":
        return bytes(count * size)
    if how == "iota":
        return np.arange(count).astype(NUMPY[kind]).tobytes()
    if how == "special":
        return special(param, seed, specials)
    random = mix(seed, count)
    if how == "bits":
        random &= np.uint64(param.get("mask", (1 << 64) - 1))
        return random.astype({8: np.uint64, 4: np.uint32, 2: np.uint16, 1: np.uint8}[size]).tobytes()
    low, high = param["low"], param["high"]
    if how == "integers":
        values = low + (random % np.uint64(high - low)).astype(np.int64)
        if kind == "bf16":
            return bf16_bits(values).tobytes()
        return values.astype(NUMPY[kind]).tobytes()
    values = low + (high - low) * ((random >> np.uint64(40)).astype(np.float64) / (1 << 24))
    return (bf16_bits(values) if kind == "bf16" else values.astype(NUMPY[kind])).tobytes()
