"""The instructions of the agreement suite, a row a kernel: opcode, types of the operands, inputs, and how exact the result is."""

BITS = {
    "u8": 8,
    "s8": 8,
    "b8": 8,
    "u16": 16,
    "s16": 16,
    "b16": 16,
    "f16": 16,
    "bf16": 16,
    "e4m3x2": 16,
    "e5m2x2": 16,
    "u32": 32,
    "s32": 32,
    "b32": 32,
    "f32": 32,
    "f16x2": 32,
    "bf16x2": 32,
    "tf32": 32,
    "u16x2": 32,
    "s16x2": 32,
    "u64": 64,
    "s64": 64,
    "b64": 64,
    "f64": 64,
    "pred": 1,
}

FAMILIES = {}


def row(family, name, code, out, *inputs, fill="special", **compare):
    """`code` computes `{d}` of type `out` from `{a}`, `{b}`, `{c}`; `{p}` and `{q}` are predicates, `{t}`, `{w}` scratch of 32 and 64 bits."""
    FAMILIES.setdefault(family, []).append((name, code, out, inputs, fill, compare))


def plain(family, opcode, ty, arity, **compare):
    row(
        family,
        opcode.replace(".", "_").replace("::", "_"),
        f"{opcode} {{d}}, {', '.join('{' + x + '}' for x in 'abc'[:arity])};",
        ty,
        *[ty] * arity,
        **compare,
    )


def integers():
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        odd = f"or.b{t[1:]} {{b}}, {{b}}, 1; "
        for op, arity in (
            ("add", 2),
            ("sub", 2),
            ("mul.lo", 2),
            ("mul.hi", 2),
            ("mad.lo", 3),
            ("mad.hi", 3),
            ("min", 2),
            ("max", 2),
            ("sad", 3),
        ):
            plain("integers", f"{op}.{t}", t, arity)
        # A division by zero has no defined result.
        for op in ("div", "rem"):
            row("integers", f"{op}_{t}", f"{odd}{op}.{t} {{d}}, {{a}}, {{b}};", t, t, t)
        if t[0] == "s":
            plain("integers", f"abs.{t}", t, 1)
            plain("integers", f"neg.{t}", t, 1)
    for t, wide in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        row("integers", f"mul_wide_{t}", f"mul.wide.{t} {{d}}, {{a}}, {{b}};", wide, t, t)
        row("integers", f"mad_wide_{t}", f"mad.wide.{t} {{d}}, {{a}}, {{b}}, {{c}};", wide, t, t, wide)
    for t in ("u32", "s32"):
        for op, arity in (("mul24.lo", 2), ("mul24.hi", 2), ("mad24.lo", 3)):
            plain("integers", f"{op}.{t}", t, arity)
    for op, arity in (("add.sat", 2), ("sub.sat", 2), ("mad.hi.sat", 3), ("min.relu", 2), ("max.relu", 2)):
        plain("integers", f"{op}.s32", "s32", arity)
    for t in ("u16x2", "s16x2"):
        for op in ("add", "min", "max"):
            plain("integers", f"{op}.{t}", t, 2)
    plain("integers", "min.relu.s16x2", "s16x2", 2)
    plain("integers", "max.relu.s16x2", "s16x2", 2)
    for a in ("u32", "s32"):
        for b in ("u32", "s32"):
            for op in ("dp4a", "dp2a.lo", "dp2a.hi"):
                row(
                    "integers",
                    f"{op}_{a}_{b}".replace(".", "_"),
                    f"{op}.{a}.{b} {{d}}, {{a}}, {{b}}, {{c}};",
                    "s32",
                    a,
                    b,
                    "s32",
                )
    for w in (32, 64):
        t = f"u{w}"
        row("integers", f"add_carry_{t}", f"add.cc.{t} {{d}}, {{a}}, {{b}}; addc.{t} {{d}}, {{c}}, {{a}};", t, t, t, t)
        row("integers", f"sub_borrow_{t}", f"sub.cc.{t} {{d}}, {{a}}, {{b}}; subc.{t} {{d}}, {{c}}, {{a}};", t, t, t, t)
        row(
            "integers",
            f"mad_carry_{t}",
            f"mad.lo.cc.{t} {{d}}, {{a}}, {{b}}, {{c}}; madc.hi.{t} {{d}}, {{a}}, {{b}}, {{d}};",
            t,
            t,
            t,
            t,
        )
    row(
        "integers",
        "mad_carry_s32",
        "mad.lo.cc.s32 {d}, {a}, {b}, {c}; madc.hi.cc.s32 {d}, {a}, {b}, {d}; addc.s32 {d}, {d}, {c};",
        "s32",
        "s32",
        "s32",
        "s32",
    )


def bits():
    for w in (16, 32, 64):
        t = f"b{w}"
        for op in ("and", "or", "xor"):
            plain("bits", f"{op}.{t}", t, 2)
        for op in ("not", "cnot"):
            plain("bits", f"{op}.{t}", t, 1)
        for op, u in (("shl", t), ("shr", f"u{w}"), ("shr", f"s{w}")):
            row("bits", f"{op}_{u}", f"{op}.{u} {{d}}, {{a}}, {{b}};", t, t, "u32")
    for w in (32, 64):
        for op in ("popc", "clz"):
            row("bits", f"{op}_b{w}", f"{op}.b{w} {{d}}, {{a}};", "u32", f"b{w}")
        plain("bits", f"brev.b{w}", f"b{w}", 1)
        for s in "us":
            for shift in ("", ".shiftamt"):
                row(
                    "bits",
                    f"bfind{shift.replace('.', '_')}_{s}{w}",
                    f"bfind{shift}.{s}{w} {{d}}, {{a}};",
                    "u32",
                    f"{s}{w}",
                )
            row("bits", f"bfe_{s}{w}", f"bfe.{s}{w} {{d}}, {{a}}, {{b}}, {{c}};", f"{s}{w}", f"{s}{w}", "u32", "u32")
        # The place is a byte of the first operand, so that most are inside.
        row(
            "bits",
            f"bfi_b{w}",
            f"and.b32 {{t}}, {{c}}, 127; shr.u32 {{c}}, {{c}}, 8; bfi.b{w} {{d}}, {{a}}, {{b}}, {{t}}, {{c}};",
            f"b{w}",
            f"b{w}",
            f"b{w}",
            "u32",
        )
        row(
            "bits",
            f"bfe_small_u{w}",
            f"and.b32 {{b}}, {{b}}, 63; and.b32 {{c}}, {{c}}, 31; bfe.u{w} {{d}}, {{a}}, {{b}}, {{c}};",
            f"u{w}",
            f"u{w}",
            "u32",
            "u32",
        )
        row(
            "bits",
            f"bfe_small_s{w}",
            f"and.b32 {{b}}, {{b}}, 63; and.b32 {{c}}, {{c}}, 31; bfe.s{w} {{d}}, {{a}}, {{b}}, {{c}};",
            f"s{w}",
            f"s{w}",
            "u32",
            "u32",
        )
    for mode in ("l.wrap", "r.wrap", "l.clamp", "r.clamp"):
        plain("bits", f"shf.{mode}.b32", "b32", 3)
    plain("bits", "prmt.b32", "b32", 3)
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        plain("bits", f"prmt.b32.{mode}", "b32", 3)
    for table in (0x96, 0xE8, 0x1D, 0x80, 0xFE, 0x47):
        row("bits", f"lop3_{table:x}", f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table};", "b32", "b32", "b32", "b32")
    for mode in ("clamp", "wrap"):
        plain("bits", f"bmsk.{mode}.b32", "b32", 2)
        plain("bits", f"szext.{mode}.u32", "u32", 2)
        plain("bits", f"szext.{mode}.s32", "s32", 2)
    for t in ("b32", "f64"):
        row("bits", f"slct_{t}_s32", f"slct.{t}.s32 {{d}}, {{a}}, {{b}}, {{c}};", t, t, t, "s32")
        row("bits", f"slct_{t}_f32", f"slct.{t}.f32 {{d}}, {{a}}, {{b}}, {{c}};", t, t, t, "f32")


def singles():
    for r in ("rn", "rz", "rm", "rp"):
        for ftz in ("", ".ftz"):
            for op, arity in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("div", 2), ("rcp", 1), ("sqrt", 1)):
                plain("f32", f"{op}.{r}{ftz}.f32", "f32", arity)
        for op, arity in (("add", 2), ("mul", 2), ("fma", 3)):
            plain("f32", f"{op}.{r}.sat.f32", "f32", arity)
        for op, arity in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("div", 2), ("rcp", 1), ("sqrt", 1)):
            plain("f64", f"{op}.{r}.f64", "f64", arity)
    for t, family in (("f32", "f32"), ("f64", "f64")):
        for op, arity in (("min", 2), ("max", 2), ("abs", 1), ("neg", 1), ("copysign", 2)):
            plain(family, f"{op}.{t}", t, arity)
        for c in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            row(family, f"testp_{c}_{t}", f"testp.{c}.{t} {{p}}, {{a}}; selp.u32 {{d}}, 1, 0, {{p}};", "u32", t)
    for op in ("min", "max"):
        for m in (".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
            plain("f32", f"{op}{m}.f32", "f32", 2)
    for op in ("abs", "neg"):
        plain("f32", f"{op}.ftz.f32", "f32", 1)


def halves():
    for t in ("f16", "bf16", "f16x2", "bf16x2"):
        family = "f16" if t.startswith("f") else "bf16"
        modifiers = ("", ".ftz", ".sat", ".ftz.sat") if family == "f16" else ("",)
        for op, arity in (("add", 2), ("sub", 2), ("mul", 2), ("fma.rn", 3)):
            for m in modifiers:
                plain(family, f"{op}{m}.{t}", t, arity)
        for m in (".relu", ".ftz.relu") if family == "f16" else (".relu",):
            plain(family, f"fma.rn{m}.{t}", t, 3)
        for op in ("min", "max"):
            for m in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs") + (
                (".ftz", ".ftz.NaN") if family == "f16" else ()
            ):
                plain(family, f"{op}{m}.{t}", t, 2)
        for op in ("abs", "neg"):
            plain(family, f"{op}.{t}", t, 1)


def conversions():
    whole = [f"{s}{w}" for s in "us" for w in (8, 16, 32, 64)]
    for to in whole:
        # Results narrower than a register are extended in it.
        out = to if BITS[to] > 32 else "u32"
        for source in whole:
            for sat in ("", ".sat"):
                fits = BITS[to] >= BITS[source] if to[0] == source[0] else to[0] == "s" and BITS[to] > BITS[source]
                if to == source or (sat and fits):
                    continue
                row(
                    "cvt_integer",
                    f"cvt{sat.replace('.', '_')}_{to}_{source}",
                    f"cvt{sat}.{to}.{source} {{d}}, {{a}};",
                    out,
                    source,
                )
        for source in ("f16", "bf16", "f32", "f64"):
            for r in ("rni", "rzi", "rmi", "rpi") if (BITS[to], source) != (8, "bf16") else ():
                exact = to if (BITS[to], source) == (16, "bf16") else out
                row("cvt_to_integer", f"cvt_{r}_{to}_{source}", f"cvt.{r}.{to}.{source} {{d}}, {{a}};", exact, source)
        row("cvt_to_integer", f"cvt_rni_ftz_{to}_f32", f"cvt.rni.ftz.{to}.f32 {{d}}, {{a}};", out, "f32")
    for source in whole:
        for to in ("f16", "bf16", "f32", "f64"):
            for r in ("rn", "rz", "rm", "rp") if (BITS[source], to) != (8, "bf16") else ():
                row("cvt_to_float", f"cvt_{r}_{to}_{source}", f"cvt.{r}.{to}.{source} {{d}}, {{a}};", to, source)
        row("cvt_to_float", f"cvt_rn_sat_f32_{source}", f"cvt.rn.sat.f32.{source} {{d}}, {{a}};", "f32", source)
    for r in ("rn", "rz", "rm", "rp"):
        for to, source in (("f16", "f32"), ("f16", "f64"), ("f32", "f64")):
            row("cvt_float", f"cvt_{r}_{to}_{source}", f"cvt.{r}.{to}.{source} {{d}}, {{a}};", to, source)
        row("cvt_float", f"cvt_{r}_sat_f32_f64", f"cvt.{r}.sat.f32.f64 {{d}}, {{a}};", "f32", "f64")
    for to, source in (("f32", "f16"), ("f64", "f16"), ("f64", "f32"), ("f32", "bf16"), ("f64", "bf16")):
        row("cvt_float", f"cvt_{to}_{source}", f"cvt.{to}.{source} {{d}}, {{a}};", to, source)
    for t in ("f16", "f32", "f64"):
        for r in ("rni", "rzi", "rmi", "rpi"):
            row("cvt_float", f"cvt_{r}_{t}_{t}", f"cvt.{r}.{t}.{t} {{d}}, {{a}};", t, t)
    row("cvt_float", "cvt_sat_f32_f32", "cvt.sat.f32.f32 {d}, {a};", "f32", "f32")
    row("cvt_float", "cvt_ftz_f32_f32", "cvt.ftz.f32.f32 {d}, {a};", "f32", "f32")
    for r in ("rn", "rz"):
        for relu in ("", ".relu"):
            for sat in ("", ".satfinite"):
                m = f"{r}{relu}{sat}"
                for t in ("f16", "bf16"):
                    row("cvt_float", f"cvt_{m}_{t}_f32".replace(".", "_"), f"cvt.{m}.{t}.f32 {{d}}, {{a}};", t, "f32")
                    row(
                        "cvt_float",
                        f"cvt_{m}_{t}x2_f32".replace(".", "_"),
                        f"cvt.{m}.{t}x2.f32 {{d}}, {{a}}, {{b}};",
                        f"{t}x2",
                        "f32",
                        "f32",
                    )
            row(
                "cvt_float",
                f"cvt_{r}{relu}_tf32_f32".replace(".", "_"),
                f"cvt.{r}{relu}.tf32.f32 {{d}}, {{a}};",
                "b32",
                "f32",
            )
    row("cvt_float", "cvt_rna_tf32_f32", "cvt.rna.tf32.f32 {d}, {a};", "b32", "f32")
    for t in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            row(
                "cvt_float",
                f"cvt_{t}_f32{relu}".replace(".", "_"),
                f"cvt.rn.satfinite{relu}.{t}.f32 {{d}}, {{a}}, {{b}};",
                t,
                "f32",
                "f32",
            )
            row(
                "cvt_float",
                f"cvt_{t}_f16x2{relu}".replace(".", "_"),
                f"cvt.rn.satfinite{relu}.{t}.f16x2 {{d}}, {{a}};",
                t,
                "f16x2",
            )
            row(
                "cvt_float",
                f"cvt_f16x2_{t}{relu}".replace(".", "_"),
                f"cvt.rn{relu}.f16x2.{t} {{d}}, {{a}};",
                "f16x2",
                t,
            )


def comparisons():
    ordered = ("eq", "ne", "lt", "le", "gt", "ge")
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        for op in ordered:
            row(
                "compare",
                f"setp_{op}_{t}",
                f"setp.{op}.{t} {{p}}, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, {{p}};",
                "u32",
                t,
                t,
            )
    for op in ("lo", "ls", "hi", "hs"):
        row(
            "compare",
            f"setp_{op}_u32",
            f"setp.{op}.u32 {{p}}, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, {{p}};",
            "u32",
            "u32",
            "u32",
        )
    for t in ("f16", "bf16", "f32", "f64"):
        for op in ordered + tuple(o + "u" for o in ordered) + ("num", "nan"):
            row(
                "compare",
                f"setp_{op}_{t}",
                f"setp.{op}.{t} {{p}}, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, {{p}};",
                "u32",
                t,
                t,
            )
    for t in ("f16x2", "bf16x2"):
        for op in ("eq", "lt", "geu", "num"):
            row(
                "compare",
                f"setp_{op}_{t}",
                f"setp.{op}.{t} {{p}}|{{q}}, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, {{p}}; @{{q}} or.b32 {{d}}, {{d}}, 2;",
                "u32",
                t,
                t,
            )
            row("compare", f"set_{op}_u32_{t}", f"set.{op}.u32.{t} {{d}}, {{a}}, {{b}};", "u32", t, t)
            row("compare", f"set_{op}_{t}_{t}", f"set.{op}.{t}.{t} {{d}}, {{a}}, {{b}};", t, t, t)
    for ftz in ("", ".ftz"):
        row(
            "compare",
            f"setp_lt_f32{ftz}".replace(".", "_"),
            f"setp.lt{ftz}.f32 {{p}}, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, {{p}};",
            "u32",
            "f32",
            "f32",
        )
        row(
            "compare",
            f"set_ge_f32{ftz}".replace(".", "_") + "_f32",
            f"set.ge{ftz}.f32.f32 {{d}}, {{a}}, {{b}};",
            "f32",
            "f32",
            "f32",
        )
    row("compare", "set_lt_u32_s64", "set.lt.u32.s64 {d}, {a}, {b};", "u32", "s64", "s64")
    row("compare", "set_gtu_s32_f64", "set.gtu.s32.f64 {d}, {a}, {b};", "s32", "f64", "f64")
    for op in ("and", "or", "xor"):
        row(
            "compare",
            f"setp_both_{op}",
            f"setp.ne.u32 {{p}}, {{c}}, 0; setp.lt.{op}.s32 {{p}}|{{q}}, {{a}}, {{b}}, !{{p}}; selp.u32 {{d}}, 1, 0, {{p}}; "
            "@{q} or.b32 {d}, {d}, 2;",
            "u32",
            "s32",
            "s32",
            "u32",
        )
        row(
            "compare",
            f"pred_{op}",
            f"setp.gt.s32 {{p}}, {{a}}, 0; setp.gt.s32 {{q}}, {{b}}, 5; {op}.pred {{p}}, {{p}}, {{q}}; not.pred {{q}}, {{p}}; "
            "selp.u32 {d}, 1, 2, {q};",
            "u32",
            "s32",
            "s32",
        )


def approximations():
    """Errors that the ISA documents; where it documents them for a range, inputs are of that range."""
    near = {"fill": "uniform", "low": -3.1, "high": 3.1}
    for ftz in ("", ".ftz"):
        plain("approximations", f"ex2.approx{ftz}.f32", "f32", 1, ulps=2)
        plain("approximations", f"lg2.approx{ftz}.f32", "f32", 1, ulps=2, tolerance=2.0**-22)
        plain("approximations", f"sin.approx{ftz}.f32", "f32", 1, fill=near, tolerance=2.0**-20.5)
        plain("approximations", f"cos.approx{ftz}.f32", "f32", 1, fill=near, tolerance=2.0**-20.5)
        plain("approximations", f"rcp.approx{ftz}.f32", "f32", 1, ulps=1)
        plain("approximations", f"rsqrt.approx{ftz}.f32", "f32", 1, ulps=2)
        plain("approximations", f"sqrt.approx{ftz}.f32", "f32", 1, ulps=2)
        plain(
            "approximations",
            f"div.full{ftz}.f32",
            "f32",
            2,
            fill={"fill": "uniform", "low": 0.01, "high": 100.0},
            ulps=2,
        )
        plain(
            "approximations",
            f"div.approx{ftz}.f32",
            "f32",
            2,
            fill={"fill": "uniform", "low": 0.01, "high": 100.0},
            ulps=2,
        )
    plain("approximations", "tanh.approx.f32", "f32", 1, tolerance=2.0**-11)
    plain("approximations", "rcp.approx.ftz.f64", "f64", 1, tolerance=2.0**-20, ulps=1 << 33)
    plain("approximations", "rsqrt.approx.ftz.f64", "f64", 1, tolerance=2.0**-20, ulps=1 << 33)
    for t in ("f16", "f16x2"):
        plain("approximations", f"ex2.approx.{t}", t, 1, ulps=2)
        plain("approximations", f"tanh.approx.{t}", t, 1, tolerance=2.0**-10.9)
    for t in ("bf16", "bf16x2"):
        plain("approximations", f"ex2.approx.ftz.{t}", t, 1, ulps=1)
        plain("approximations", f"tanh.approx.{t}", t, 1, tolerance=2.0**-8)


def atomics():
    """Each thread on a word of its own, in global and in shared memory: what it finds, then what it leaves."""
    rows = [(op, t) for op in ("add", "min", "max") for t in ("u32", "s32", "u64", "s64")]
    rows.remove(("add", "s64"))
    rows += [(op, t) for op in ("and", "or", "xor", "exch") for t in ("b32", "b64")]
    rows += [
        ("inc", "u32"),
        ("dec", "u32"),
        ("cas", "b32"),
        ("cas", "b64"),
        ("cas", "b16"),
        ("add", "f32"),
        ("add", "f64"),
    ]
    rows += [("add.noftz", t) for t in ("f16", "bf16", "f16x2", "bf16x2")]
    for op, t in rows:
        third = ", {c}" if op == "cas" else ""
        inputs = [t] * (3 if third else 2)
        keep = {1: "h", 2: "r", 3: "w"}[{16: 1, 32: 2, 64: 3}[BITS[t]]]
        scratch = {"h": "{h}", "r": "{t}", "w": "{w}"}[keep]
        mix = (
            f"xor.b{BITS[t]} {{d}}, {scratch}, {{d}};"
            if "f" not in t
            else "mov.b{0} {{d}}, {1};".format(BITS[t], scratch)
        )
        name = f"{op}_{t}".replace(".", "_")
        # The words are the elements of the result, so that they need no buffer of their own.
        row(
            "atomics",
            f"global_{name}",
            f"st.global.b{BITS[t]} [{{out}}], {{a}}; atom.global.{op}.{t} {scratch}, [{{out}}], {{b}}{third}; "
            f"ld.global.b{BITS[t]} {{d}}, [{{out}}]; {'' if 'f' in t else mix}",
            t,
            *inputs,
        )
        row(
            "atomics",
            f"old_{name}",
            f"st.global.b{BITS[t]} [{{out}}], {{a}}; atom.global.{op}.{t} {{d}}, [{{out}}], {{b}}{third};",
            t,
            *inputs,
        )
        row(
            "atomics",
            f"shared_{name}",
            f"st.shared.b{BITS[t]} [{{slot}}], {{a}}; atom.shared.{op}.{t} {scratch}, [{{slot}}], {{b}}{third}; "
            f"ld.shared.b{BITS[t]} {{d}}, [{{slot}}];",
            t,
            *inputs,
        )


def memory():
    for space, place in (("global", "{out}"), ("shared", "{slot}")):
        for t in ("u8", "s8", "u16", "s16"):
            row(
                "memory",
                f"{space}_{t}",
                f"st.{space}.b32 [{place}], {{a}}; ld.{space}.{t} {{d}}, [{place}];",
                "u32",
                "u32",
            )
        row(
            "memory",
            f"{space}_bytes",
            f"st.{space}.b32 [{place}], {{a}}; st.{space}.u8 [{place}+1], {{b}}; st.{space}.u16 [{place}+2], {{b}}; ld.{space}.b32 {{d}}, [{place}];",
            "u32",
            "u32",
            "u32",
        )
        row(
            "memory",
            f"{space}_vector",
            f"st.{space}.b64 [{place}], {{a}}; ld.{space}.v2.b32 {{{{{{t}}, {{u}}}}}}, [{place}]; mov.b64 {{d}}, {{{{{{u}}, {{t}}}}}};",
            "u64",
            "u64",
        )
        row(
            "memory",
            f"{space}_s32_in_64",
            f"st.{space}.b64 [{place}], {{a}}; ld.{space}.s32 {{d}}, [{place}];",
            "s64",
            "s64",
        )
    row(
        "memory",
        "local_bytes",
        "st.local.b64 [{stack}], {a}; ld.local.u8 {t}, [{stack}+5]; ld.local.s16 {u}, [{stack}+2]; mov.b64 {d}, {{{t}, {u}}};",
        "u64",
        "u64",
    )
    row(
        "memory",
        "generic_shared",
        "mov.u32 {t}, {slot}; cvta.shared.u64 {w}, {x}; st.b64 [{w}], {a}; ld.shared.b64 {d}, [{slot}];",
        "u64",
        "u64",
    )
    row(
        "memory",
        "unpack",
        "mov.b64 {{{t}, {u}}}, {a}; mov.b32 {{{h}, {g}}}, {t}; cvt.u32.u16 {t}, {g}; mov.b64 {d}, {{{t}, {u}}};",
        "u64",
        "u64",
    )


def warps():
    for mode in ("up", "down", "bfly", "idx"):
        for clamp in ("0", "31", "0x1807", "0x101f", "0x1c03"):
            row(
                "warp",
                f"shfl_{mode}_{clamp}",
                f"shfl.sync.{mode}.b32 {{d}}|{{p}}, {{a}}, {{b}}, {clamp}, -1; @{{p}} xor.b32 {{d}}, {{d}}, 0x80000000;",
                "u32",
                "u32",
                "u32",
                fill="bits",
            )
    small = {"fill": "integers", "low": 0, "high": 4}
    row("warp", "ballot", "setp.gt.s32 {p}, {a}, 0; vote.sync.ballot.b32 {d}, {p}, -1;", "u32", "s32", fill="bits")
    for mode in ("any", "all", "uni"):
        row(
            "warp",
            f"vote_{mode}",
            f"setp.gt.u32 {{p}}, {{a}}, 0; vote.sync.{mode}.pred {{q}}, {{p}}, -1; selp.u32 {{d}}, 1, 0, {{q}};",
            "u32",
            "u32",
            fill=small,
        )
    row("warp", "match_any_b32", "match.any.sync.b32 {d}, {a}, -1;", "u32", "u32", fill=small)
    row("warp", "match_any_b64", "match.any.sync.b64 {d}, {a}, -1;", "u32", "u64", fill=small)
    row(
        "warp",
        "match_all_b32",
        "shr.u32 {a}, {a}, 1; match.all.sync.b32 {d}|{p}, {a}, -1; @{p} xor.b32 {d}, {d}, 1;",
        "u32",
        "u32",
        fill={"fill": "integers", "low": 0, "high": 2},
    )
    for op, t in (
        ("add", "u32"),
        ("add", "s32"),
        ("min", "u32"),
        ("min", "s32"),
        ("max", "u32"),
        ("max", "s32"),
        ("and", "b32"),
        ("or", "b32"),
        ("xor", "b32"),
    ):
        row("warp", f"redux_{op}_{t}", f"redux.sync.{op}.{t} {{d}}, {{a}}, -1;", "u32", "u32", fill="bits")
    row(
        "warp",
        "redux_halves",
        "mov.u32 {t}, %lanemask_lt; setp.lt.u32 {p}, {t}, 0xffff; selp.u32 {t}, 0xffff, 0xffff0000, {p}; redux.sync.add.u32 {d}, {a}, {t};",
        "u32",
        "u32",
        fill="bits",
    )
    row(
        "warp",
        "ballot_tiles",
        "mov.u32 {t}, %laneid; and.b32 {t}, {t}, 24; shl.b32 {t}, 255, {t}; setp.gt.s32 {p}, {a}, 0; vote.sync.ballot.b32 {d}, {p}, {t};",
        "u32",
        "s32",
        fill="bits",
    )
    row("warp", "elect", "elect.sync {d}|{p}, -1; @{p} add.u32 {d}, {d}, 77;", "u32", "u32", fill="bits")
    row(
        "warp",
        "lanemasks",
        "mov.u32 {d}, %lanemask_le; mov.u32 {t}, %lanemask_gt; xor.b32 {d}, {d}, {t}; mov.u32 {t}, %lanemask_eq; add.u32 {d}, {d}, {t}; mov.u32 {t}, %lanemask_ge; xor.b32 {d}, {d}, {t};",
        "u32",
        "u32",
        fill="bits",
    )


ALL = (integers, bits, singles, halves, conversions, comparisons, approximations, atomics, memory, warps)
