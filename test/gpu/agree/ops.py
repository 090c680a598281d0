"""One kernel an instruction: PTX in one file a family, and the manifest for `device.py` and `ptx-sim`'s `sim-agree`.

    python3 ops.py FOLDER

A row of a family is an instruction on operands `{a} {b} {c}` with a result `{d}`; each element is one thread. Inputs are all pairs of special
values (NaN, infinities, subnormals, extremes), then random bits. Results are compared bit for bit where the ISA defines them; rows of
approximations say by how much they may differ.
"""

import json
import pathlib
import struct
import sys

import rows
from rows import BITS, FAMILIES

COUNT, BLOCK = 6144, 128
# What the manifest calls the elements of a buffer of that type.
ELEMENT = {
    "u8": "u8",
    "s8": "u8",
    "b8": "u8",
    "u16": "u16",
    "s16": "u16",
    "b16": "u16",
    "e4m3x2": "u16",
    "e5m2x2": "u16",
    "f16": "f16",
    "bf16": "bf16",
    "u32": "u32",
    "s32": "u32",
    "b32": "u32",
    "tf32": "u32",
    "u16x2": "u32",
    "s16x2": "u32",
    "f32": "f32",
    "u64": "u64",
    "s64": "u64",
    "b64": "u64",
    "f64": "f64",
    "f16x2": "f16",
    "bf16x2": "bf16",
}
HEAD = ".version 8.5\n.target sm_90a\n.address_size 64\n\n"


def f32(x):
    return f"{struct.unpack('<I', struct.pack('<f', x))[0]:x}"


def f64(x):
    return f"{struct.unpack('<Q', struct.pack('<d', x))[0]:x}"


def float_specials(exponent, mantissa):
    """64 bit patterns of a format."""
    width, top = exponent + mantissa + 1, (1 << exponent) - 1
    bias, sign = top >> 1, 1 << (exponent + mantissa)
    one = bias << mantissa

    def number(e, m=0):
        return min(max(bias + e, 0), top - 1) << mantissa | m & ((1 << mantissa) - 1)

    half = 1 << (mantissa - 1)
    values = [
        0,
        1,
        2,
        half,
        (1 << mantissa) - 1,
        1 << mantissa,
        (1 << mantissa) + 1,
        one,
        one + 1,
        one - 1,
        number(0, half),
        number(1),
        number(1, half >> 1),
        number(1, half),
        number(2, half >> 2),
        number(-1),
        number(-2),
        number(-3, half),
        number(mantissa),
        number(mantissa, 1),
        number(mantissa + 1, 1),
        number(mantissa - 1, 1),
        number(7),
        number(8) - 1,
        number(15),
        number(16) - 1,
        number(31),
        number(63),
        (top << mantissa) - 1,
        top << mantissa,
        (top << mantissa) | half,
        (top << mantissa) | 1,
    ]
    return [f"{v | s:x}" for s in (0, sign) for v in values] if width else []


def integer_specials(width):
    most = (1 << width) - 1
    values = [
        0,
        1,
        2,
        3,
        5,
        7,
        8,
        10,
        15,
        16,
        17,
        31,
        32,
        33,
        63,
        64,
        100,
        127,
        128,
        129,
        255,
        0x55,
        0xAA,
        most,
        most - 1,
        most - 2,
        most >> 1,
        (most >> 1) + 1,
        (most >> 1) - 1,
        (most >> 1) + 2,
        most - 99,
        most - 31,
        most - 32,
        most - 127,
        most - 128,
        most - 255,
        0x5555555555555555,
        0xAAAAAAAAAAAAAAAA,
        0x0123456789ABCDEF,
        0xFEDCBA9876543210,
        0xFFFF,
        0x8000,
        0x7FFF,
        0x10000,
        0xFF00FF00FF00FF00,
        0x00FF00FF00FF00FF,
        0x7F7F7F7F7F7F7F7F,
        0x8080808080808080,
        0xFFFFFFFF,
        0x80000000,
        0x7FFFFFFF,
        0x100000000,
        0xF0F0F0F0,
        0x33333333CCCCCCCC,
        0x3C003C003C003C00,
        0x7531,
        0x0246,
        0x1F1F,
        0xFFFFFF,
        0x800000,
        0x7FFFFF,
        0x1000001,
        0xDEADBEEF,
        0xCAFEF00D12345678,
    ]
    assert len(values) == 64
    return [f"{v & most:x}" for v in values]


SPECIALS = {
    "f32": float_specials(8, 23),
    "f64": float_specials(11, 52),
    "f16": float_specials(5, 10),
    "bf16": float_specials(8, 7),
    "u8": integer_specials(8),
    "u16": integer_specials(16),
    "u32": integer_specials(32),
    "u64": integer_specials(64),
}

REGISTER = {1: "%p", 8: "%h", 16: "%h", 32: "%r", 64: "%d"}


def kernel(name, code, out, inputs):
    """The text of a kernel. Registers: 0 to 3 of each width for the operands, others for the frame."""
    names = dict(
        p="%p0", q="%p1", t="%r4", u="%r5", x="%d5", w="%d4", h="%h4", g="%h5", out="%d6", slot="%r6", stack="%d7"
    )
    params = ", ".join(f".param .u64 p{i}" for i in range(len(inputs) + 1))
    lines = [
        f".visible .entry {name}({params})",
        "{",
        "    .reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<12>; .reg .b64 %d<12>;",
        f"    .shared .align 8 .b8 room[{8 * BLOCK}]; .local .align 8 .b8 frame[16];",
        "    mov.u32 %r8, %ctaid.x; mov.u32 %r9, %tid.x; mad.lo.s32 %r10, %r8, 128, %r9;",
        "    mov.u32 %r6, room; mad.lo.s32 %r6, %r9, 8, %r6; mov.u64 %d7, frame; cvt.u64.u32 %d5, %r6;",
    ]
    for i, (letter, ty) in enumerate(zip("abc", inputs)):
        register = f"{REGISTER[BITS[ty]]}{i}"
        names[letter] = register
        lines.append(
            f"    ld.param.u64 %d8, [p{i}]; mad.wide.u32 %d9, %r10, {BITS[ty] // 8}, %d8; ld.global.{'u8' if BITS[ty] == 8 else 'b' + str(BITS[ty])} {register}, [%d9];"
        )
    names["d"] = f"{REGISTER[BITS[out]]}3"
    lines += [
        f"    ld.param.u64 %d8, [p{len(inputs)}]; mad.wide.u32 %d6, %r10, {BITS[out] // 8}, %d8;",
        "    " + code.format(**names),
        f"    st.global.b{BITS[out]} [%d6], {names['d']};",
        "    ret;",
        "}",
        "",
    ]
    return "\n".join(lines)


def params(out, inputs, fill, compare):
    made = []
    for place, ty in enumerate(inputs):
        packed = 2 if ty.endswith("x2") and ELEMENT[ty] in ("f16", "bf16") else 1
        entry = {"use": "in", "type": ELEMENT[ty], "count": COUNT * packed}
        entry |= (
            fill if isinstance(fill, dict) else {"fill": fill, "place": place} if fill == "special" else {"fill": fill}
        )
        made.append(entry)
    packed = 2 if out.endswith("x2") and ELEMENT[out] in ("f16", "bf16") else 1
    return made + [{"use": "out", "type": ELEMENT[out], "count": COUNT * packed} | compare]


def frame(name, family, parameters, grid=COUNT // BLOCK, block=BLOCK):
    return {
        "name": f"{family}.{name}",
        "ptx": f"{family}.ptx",
        "kernel": name,
        "grid": [grid, 1, 1],
        "block": [block, 1, 1],
        "cluster": None,
        "shared": 0,
        "params": parameters,
    }


# Shape, types of D, A, B, C, and registers of each.
MMA = [
    ("m16n8k8", "f32.f16.f16.f32", 4, 2, 1, 4),
    ("m16n8k16", "f32.f16.f16.f32", 4, 4, 2, 4),
    ("m16n8k16", "f16.f16.f16.f16", 2, 4, 2, 2),
    ("m16n8k8", "f32.bf16.bf16.f32", 4, 2, 1, 4),
    ("m16n8k16", "f32.bf16.bf16.f32", 4, 4, 2, 4),
    ("m16n8k4", "f32.tf32.tf32.f32", 4, 2, 1, 4),
    ("m16n8k8", "f32.tf32.tf32.f32", 4, 4, 2, 4),
    ("m16n8k32", "f32.e4m3.e4m3.f32", 4, 4, 2, 4),
    ("m16n8k32", "f32.e5m2.e4m3.f32", 4, 4, 2, 4),
    ("m8n8k16", "s32.s8.s8.s32", 2, 1, 1, 2),
    ("m16n8k16", "s32.u8.s8.s32", 4, 2, 1, 4),
    ("m16n8k32", "s32.s8.s8.s32", 4, 4, 2, 4),
    ("m16n8k32", "s32.u8.u8.s32", 4, 4, 2, 4),
    ("m8n8k4", "f64.f64.f64.f64", 2, 1, 1, 2),
    ("satfinite.m16n8k32", "s32.s8.s8.s32", 4, 4, 2, 4),
]
WARPS = 16


def products(text, cases):
    """`mma.sync`: a warp a product, fragments as they lie in registers."""
    for shape, types, nd, na, nb, nc in MMA:
        d, a, b, c = types.split(".")
        name = f"{shape}_{types}".replace(".", "_")
        head, tail = ("", shape) if "satfinite" not in shape else (".satfinite", shape.split(".")[1])
        wide = d == "f64"
        kind, size, bank = ("b64", 8, "%d") if wide else ("b32", 4, "%r")
        lines = [
            f".visible .entry {name}(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)",
            "{",
            "    .reg .b32 %r<40>; .reg .b64 %d<40>;",
            "    mov.u32 %r30, %ctaid.x; mov.u32 %r31, %tid.x; mad.lo.s32 %r32, %r30, 32, %r31;",
        ]
        regs, next_register = {}, 0
        for i, (letter, count) in enumerate((("a", na), ("b", nb), ("c", nc))):
            lines.append(f"    ld.param.u64 %d30, [p{i}]; mad.wide.u32 %d31, %r32, {count * size}, %d30;")
            regs[letter] = [f"{bank}{next_register + j}" for j in range(count)]
            lines += [f"    ld.global.{kind} {r}, [%d31+{j * size}];" for j, r in enumerate(regs[letter])]
            next_register += count
        regs["d"] = [f"{bank}{next_register + j}" for j in range(nd)]
        group = {k: "{" + ", ".join(v) + "}" for k, v in regs.items()}
        lines.append(
            f"    mma.sync.aligned.{tail}.row.col{head}.{types} {group['d']}, {group['a']}, {group['b']}, {group['c']};"
        )
        lines.append(f"    ld.param.u64 %d30, [p3]; mad.wide.u32 %d31, %r32, {nd * size}, %d30;")
        lines += [f"    st.global.{kind} [%d31+{j * size}], {r};" for j, r in enumerate(regs["d"])]
        text.append("\n".join(lines + ["    ret;", "}", ""]))

        def entry(ty, count, use):
            element = {"tf32": "f32", "e4m3": "u8", "e5m2": "u8", "s8": "u8", "u8": "u8", "s32": "u32"}.get(ty, ty)
            per = {"f16": 2, "bf16": 2, "u8": 4}.get(element, 1)
            out = {"use": use, "type": element, "count": 32 * WARPS * count * per}
            if use == "out":
                # Sums of exact products in an order, and with bits, of the hardware's own: K units in the last place of a sum of magnitude one.
                return out | (
                    {}
                    if ty == "s32"
                    else {"tolerance": 2.0**-9}
                    if ty == "f16"
                    else {"tolerance": 2.0**-45}
                    if ty == "f64"
                    else {"tolerance": 2.0**-10 if "e" in types.split("f32")[1][:3] else 2.0**-18}
                )
            if element == "u8":
                return out | ({"fill": "bits", "mask": 0xBF} if ty.startswith("e") else {"fill": "bits"})
            if ty == "s32":
                return out | {"fill": "special" if head else "bits"} | ({"place": 0} if head else {})
            return out | {"fill": "uniform", "low": -1.0, "high": 1.0}

        cases.append(
            frame(
                name,
                "mma",
                [entry(a, na, "in"), entry(b, nb, "in"), entry(c, nc, "in"), entry(d, nd, "out")],
                WARPS,
                32,
            )
        )


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in rows.ALL:
        make()
    cases = []
    for family, members in FAMILIES.items():
        unique = {}
        for r in members:
            unique[r[0]] = r
        (folder / f"{family}.ptx").write_text(
            HEAD + "\n".join(kernel(n, code, out, inputs) for n, code, out, inputs, _, _ in unique.values())
        )
        cases += [
            frame(n, family, params(out, inputs, fill, compare)) for n, _, out, inputs, fill, compare in unique.values()
        ]
    text = []
    products(text, cases)
    (folder / "mma.ptx").write_text(HEAD + "\n".join(text))
    lines = ",\n".join(json.dumps(case) for case in cases)
    (folder / "manifest.json").write_text('{"specials": ' + json.dumps(SPECIALS) + ',\n"cases": [\n' + lines + "\n]}\n")
    print(f"{len(cases)} kernels in {len(FAMILIES) + 1} files")


if __name__ == "__main__":
    main()
