//! Results that an H200 gave where the simulator, or a reader of the ISA, once thought otherwise: each the smallest case of
//! `test/gpu/agree`.

use ptx_sim::exec::{alu, atomic, float};
use ptx_sim::numeric::convert::{Conversion, Scalar};
use ptx_sim::numeric::minifloat::Round;
use ptx_sim::program::Width;

fn eval(name: &str, ty: &str, a: u64, b: u64, c: u64) -> u64 {
    let row = alu::find(name, ty).unwrap_or_else(|| panic!("{name}.{ty}"));
    let mut r = (row.f)(&[a; 32], &[b; 32], &[c; 32]);
    if name.ends_with(".ftz") {
        float::flush(&mut r, if ty == "f16" { Width::Half } else { Width::Single });
    }
    r[0]
}

#[test]
fn arithmetic() {
    // Opcode without its type, type, operands, result.
    #[rustfmt::skip]
    let cases = [
        // Subnormal until rounded, with an unbounded exponent: flushed. Rounded up to the least normal number: kept.
        ("mul.ftz", "f32", 0x3F7F_FFFF, 0x0080_0000, 0, 0x0000_0000),
        ("mul.rp.ftz", "f32", 0x3F7F_FFFF, 0x0080_0000, 0, 0x0000_0000),
        ("fma.ftz", "f32", 0x8080_0000, 0x8080_0001, 0x8080_0000, 0x8080_0000),
        ("fma.rz.ftz", "f32", 0x8080_0000, 0x8080_0001, 0x8080_0000, 0x8000_0000),
        ("mul.ftz", "f16", 0x3BFF, 0x0400, 0, 0x0000),
        // A sum just below a single, rounded down: its neighbour, not the single.
        ("fma.rm", "f32", 0x3F80_0000, 0x3F80_0000, 0x8000_0001, 0x3F7F_FFFF),
        ("add.rm", "f32", 0x3F80_0000, 0xBF80_0000, 0, 0x8000_0000),
        ("mul.rp", "f64", 1, 1, 0, 1),
        ("mul.rm", "f64", 1, 0x8000_0000_0000_0001, 0, 0x8000_0000_0000_0001),
        ("fma.rz", "f64", 1, 1, 0xC008_0000_0000_0000, 0xC007_FFFF_FFFF_FFFF),
        // A bf16 sum is rounded once.
        ("fma", "bf16", 0x3F81, 0x3F81, 0x0001, 0x3F82),
        // NaNs: canonical but of f64, where the second operand's comes first.
        ("abs", "f32", 0x7F80_0001, 0, 0, 0x7FFF_FFFF),
        ("neg", "f16", 0x7E00, 0, 0, 0x7FFF),
        ("neg", "f64", 0xFFF0_0000_0000_0001, 0, 0, 0xFFF8_0000_0000_0001),
        ("add", "f64", 0x7FF0_0000_0000_0001, 0xFFF8_0000_0000_0000, 0, 0xFFF8_0000_0000_0000),
        ("fma", "f64", 0x7FF8_0000_0000_0001, 0x3FF0_0000_0000_0000, 0x7FF8_0000_0000_0002, 0x7FF8_0000_0000_0002),
        ("div", "f64", 0x7FF8_0000_0000_0001, 0x7FF8_0000_0000_0002, 0, 0x7FF8_0000_0000_0001),
        ("sub", "f64", 0x7FF0_0000_0000_0000, 0x7FF0_0000_0000_0000, 0, 0xFFF8_0000_0000_0000),
        ("min.xorsign.abs", "f16", 0xFE00, 0x0000, 0, 0x8000),
        // Lengths beyond 8 bits: cut off in 32 bits, to the end in 64.
        ("bfe", "u64", 0xF, 0, 0x8000_0000, 0xF),
        ("bfe", "u32", 0xF, 0, 0x8000_0000, 0),
    ];
    for (name, ty, a, b, c, want) in cases {
        assert_eq!(eval(name, ty, a, b, c), want, "{name}.{ty} {a:#x} {b:#x} {c:#x}");
    }
}

#[test]
fn conversions() {
    let cvt = |to: &str, from: &str, round: Round, saturate: bool, bits: u64| {
        let parse = |t| Scalar::parse(t).expect("a type");
        let integral = false;
        Conversion { to: parse(to), from: parse(from), round, integral, ftz: false, saturate, relu: false }
            .apply(bits, 0)
    };
    let nan64 = 0x7FF8_0000_0000_0000;
    #[rustfmt::skip]
    let cases = [
        // A NaN is 0 but from f64 or to 64 bits.
        ("s32", "f32", Round::Zero, false, 0x7FC0_0000, 0),
        ("s64", "f32", Round::Zero, false, 0x7FC0_0000, 1 << 63),
        ("u32", "f64", Round::Zero, false, nan64, 0x8000_0000),
        ("s8", "f64", Round::Zero, false, nan64, 0xFFFF_FF80),
        ("f32", "s32", Round::Nearest, true, 7, 0x3F80_0000),
        // 2^64 - 1 toward zero.
        ("bf16", "u64", Round::Zero, false, u64::MAX, 0x5F7F),
        ("f32", "f64", Round::Nearest, false, 0xFFF0_0000_0000_0001, 0xFFC0_0000),
        ("f64", "f16", Round::Nearest, false, 0x7C01, 0x7FF8_0400_0000_0000),
        ("f32", "bf16", Round::Nearest, false, 0x7F81, 0x7F81_0000),
        ("tf32", "f32", Round::NearestAway, false, 0x7F80_0001, 0x7F80_0000),
        ("f32", "f32", Round::Nearest, true, 0x8000_0000, 0),
    ];
    for (to, from, round, saturate, bits, want) in cases {
        assert_eq!(cvt(to, from, round, saturate, bits), want, "{to} {from} {bits:#x}");
    }
}

/// Global memory adds f32 without subnormals, and leaves a signalling f64 NaN as it is.
#[test]
fn atomics() {
    let add = |ty: &str| atomic::find(ty).expect("a row");
    let global = |ty: &str, a, b| add(ty).global.expect("another one")(a, b, 0);
    assert_eq!((global("add.f32", 1, 0), (add("add.f32").f)(1, 0, 0)), (0, 1));
    let signalling = 0x7FF0_0000_0000_0001;
    assert_eq!(global("add.f64", signalling, 0), signalling);
    assert_eq!((add("add.f64").f)(signalling, 0, 0), 0x7FF8_0000_0000_0001);
}
