//! `wgmma`: fragments of every size.

use cute_layout::atom::{Element, Major, MmaAtom, Operand, wgmma_sizes};

#[test]
fn accumulators_follow_the_ptx_formula_for_every_n() {
    let types = [Element::F32, Element::F16, Element::F16];
    let sizes = wgmma_sizes(Element::F16);
    assert_eq!(sizes.len(), 32);
    for n in sizes {
        let atom = MmaAtom::wgmma(n, types, Some(Major::K), Major::K).expect("an atom");
        let layout = &atom.thread_value(Operand::C).layout;
        // A layout is the sum of its modes.
        let values: Vec<i64> = (0..n / 2).map(|i| layout.offset_of(128 * i).expect("an offset")).collect();
        for thread in 0..128 {
            let start = layout.offset_of(thread).expect("an offset");
            let (warp, lane) = (thread / 32, thread % 32);
            for (i, value) in values.iter().enumerate() {
                let i = i as i64;
                let row = 16 * warp + lane / 4 + 8 * ((i / 2) % 2);
                let column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
                assert_eq!(start + value, row + 64 * column, "{atom} {thread} {i}");
            }
        }
        assert_eq!(atom.to_string().parse::<MmaAtom>().expect("the name parses"), atom);
    }
}

#[test]
fn a_from_registers_follows_the_ptx_formulas() {
    for (types, per_register) in [
        ([Element::F32, Element::F16, Element::F16], 2),
        ([Element::F32, Element::Bf16, Element::Bf16], 2),
        ([Element::F32, Element::Tf32, Element::Tf32], 1),
        ([Element::S32, Element::S8, Element::S8], 4),
        ([Element::F32, Element::E4m3, Element::E5m2], 4),
    ] {
        let atom = MmaAtom::wgmma(64, types, None, Major::K).expect("an atom");
        let layout = &atom.thread_value(Operand::A).layout;
        assert!(atom.in_registers(Operand::A) && !atom.in_registers(Operand::B));
        for thread in 0..128 {
            let (warp, lane) = (thread / 32, thread % 32);
            for i in 0..4 * per_register {
                let (register, part) = (i / per_register, i % per_register);
                let row = 16 * warp + lane / 4 + 8 * (register % 2);
                let column = per_register * (lane % 4) + part + 4 * per_register * (register / 2);
                assert_eq!(
                    layout.offset_of(thread + 128 * i).expect("an offset"),
                    row + 64 * column,
                    "{atom} {thread} {i}"
                );
            }
        }
        assert_eq!(atom.to_string().parse::<MmaAtom>().expect("the name parses"), atom);
    }
}

#[test]
fn sizes_and_majors_that_do_not_exist_are_refused() {
    let s8 = [Element::S32, Element::S8, Element::S8];
    assert_eq!(wgmma_sizes(Element::S8).len(), 18);
    let error = MmaAtom::wgmma(40, s8, Some(Major::K), Major::K).expect_err("no N of 40");
    assert!(
        error
            .to_string()
            .starts_with("mma_atom: there is no wgmma of s8 with N = 40; there is N in [8, 16, 24, 32, 48")
    );
    let tf32 = [Element::F32, Element::Tf32, Element::Tf32];
    let error = MmaAtom::wgmma(64, tf32, Some(Major::MN), Major::K).expect_err("K-major only");
    assert!(error.to_string().contains("MN-major"), "{error}");
}
