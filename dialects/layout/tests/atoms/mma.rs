//! `mma.sync`: row and column of every value of every lane, as the PTX ISA writes them.

use cute_layout::atom::{MMA_SYNC, MmaAtom, Operand};

/// (row, column) of value `i` of a lane; A is (M, K), B (K, N), C (M, N).
type Formula = fn(i: i64, group: i64, in_group: i64) -> (i64, i64);

struct Case {
    shape: [i64; 3],
    bits: u32,
    a: Formula,
    b: Formula,
    c: Formula,
}

/// Accumulators of 16 rows: two columns of row `group`, then of row `group + 8`.
fn c16(i: i64, g: i64, t: i64) -> (i64, i64) {
    (g + 8 * i64::from(i >= 2), 2 * t + i % 2)
}

/// Accumulators of 8 rows.
fn c8(i: i64, g: i64, t: i64) -> (i64, i64) {
    (g, 2 * t + i % 2)
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { shape: [16, 8, 8], bits: 16,
        a: |i, g, t| (if i < 2 { g } else { g + 8 }, 2 * t + (i & 1)),
        b: |i, g, t| (2 * t + i, g), c: c16 },
    Case { shape: [16, 8, 16], bits: 16,
        a: |i, g, t| (if (0..2).contains(&i) || (4..6).contains(&i) { g } else { g + 8 },
                      2 * t + (i & 1) + if i >= 4 { 8 } else { 0 }),
        b: |i, g, t| (2 * t + (i & 1) + if i >= 2 { 8 } else { 0 }, g), c: c16 },
    Case { shape: [16, 8, 4], bits: 32,
        a: |i, g, t| (if i == 0 { g } else { g + 8 }, t),
        b: |_, g, t| (t, g), c: c16 },
    Case { shape: [16, 8, 8], bits: 32,
        a: |i, g, t| (if i == 0 || i == 2 { g } else { g + 8 }, if i < 2 { t } else { t + 4 }),
        b: |i, g, t| (if i == 0 { t } else { t + 4 }, g), c: c16 },
    Case { shape: [8, 8, 16], bits: 8,
        a: |i, g, t| (g, 4 * t + i),
        b: |i, g, t| (4 * t + i, g), c: c8 },
    Case { shape: [16, 8, 16], bits: 8,
        a: |i, g, t| (if i < 4 { g } else { g + 8 }, 4 * t + (i & 3)),
        b: |i, g, t| (4 * t + i, g), c: c16 },
    Case { shape: [16, 8, 32], bits: 8,
        a: |i, g, t| (if (0..4).contains(&i) || (8..12).contains(&i) { g } else { g + 8 },
                      4 * t + (i & 3) + if i >= 8 { 16 } else { 0 }),
        b: |i, g, t| (4 * t + (i & 3) + if i >= 4 { 16 } else { 0 }, g), c: c16 },
    Case { shape: [8, 8, 4], bits: 64,
        a: |_, g, t| (g, t),
        b: |_, g, t| (t, g), c: c8 },
];

fn check(atom: &MmaAtom, operand: Operand, formula: Formula) {
    let tv = atom.thread_value(operand);
    let values = atom.values(operand).expect("a static layout");
    let rows = atom.shape[operand.modes()[0]];
    for lane in 0..32 {
        for value in 0..values {
            let (row, column) = formula(value, lane / 4, lane % 4);
            // The layouts index (N, K) for B, where PTX writes (K, N).
            let index = if operand == Operand::B { column + rows * row } else { row + rows * column };
            let found = tv.layout.offset_of(lane + 32 * value).expect("an offset");
            assert_eq!(found, index, "{atom} {operand}: lane {lane}, value {value}");
        }
    }
    let expected = rows * atom.shape[operand.modes()[1]];
    assert_eq!(32 * values, expected, "{atom} {operand}: every element once");
}

#[test]
fn every_lane_holds_what_the_ptx_formulas_say() {
    let mut seen = 0;
    for row in MMA_SYNC {
        for &types in row.types {
            let atom = MmaAtom::mma_sync(row.shape, types).expect("an atom");
            let case = CASES.iter().find(|c| c.shape == row.shape && c.bits == types[1].bits()).expect("a formula");
            check(&atom, Operand::A, case.a);
            check(&atom, Operand::B, case.b);
            check(&atom, Operand::C, case.c);
            assert_eq!(atom.to_string().parse::<MmaAtom>().expect("the name parses"), atom);
            seen += 1;
        }
    }
    assert_eq!(seen, 21);
}

#[test]
fn an_unknown_atom_names_what_there_is() {
    let error = "mma.sync.m16n8k32.f32.f16.f16.f32".parse::<MmaAtom>().expect_err("no such shape");
    let expected = "mma_atom: there is no mma.sync of shape [16, 8, 32] with types f32.f16.f16.f32; \
                    there is [16, 8, 8], [16, 8, 16]";
    assert_eq!(error.to_string(), expected);
    assert!("mma.sync.m16n8k16.f32.f16.f16.f16".parse::<MmaAtom>().is_err(), "C and D have one type");
    assert!("fma".parse::<MmaAtom>().is_err());
}

#[test]
fn a_multiply_add_is_an_atom_of_one_thread() {
    let atom = "fma.f32".parse::<MmaAtom>().expect("an atom");
    assert_eq!((atom.shape, atom.threads, atom.to_string().as_str()), ([1, 1, 1], 1, "fma.f32"));
    for operand in [Operand::A, Operand::B, Operand::C] {
        assert!(atom.in_registers(operand));
        assert_eq!(atom.values(operand).expect("a static layout"), 1);
    }
    let error = "fma.f16".parse::<MmaAtom>().expect_err("no such type");
    assert_eq!(error.to_string(), "mma_atom: there is no fma of f16; there is fma.f32, fma.f64");
}
