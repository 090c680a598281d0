//! Copy atoms: which bits each lane reads and writes.

use cute_layout::atom::{CopyAtom, CopyKind, Element, Side};

/// Where bit `bit` of lane `lane`'s registers comes from: matrix, row, and bit within the row. Row `r` of a
/// matrix is the 128 bits that one lane addresses.
fn matrix_bit(transpose: bool, lane: i64, bit: i64) -> (i64, i64, i64) {
    let (matrix, in_register) = (bit / 32, bit % 32);
    if transpose {
        // Two elements of 16 bits: rows 2t and 2t+1 of column `lane / 4`.
        (matrix, 2 * (lane % 4) + in_register / 16, 16 * (lane / 4) + in_register % 16)
    } else {
        (matrix, lane / 4, 32 * (lane % 4) + in_register)
    }
}

#[test]
fn matrix_copies_follow_the_ptx_formulas() {
    let mut seen = 0;
    for atom in CopyAtom::all() {
        let (matrices, transpose, memory, registers) = match atom.kind {
            CopyKind::LdMatrix { matrices, transpose } => (matrices, transpose, Side::Source, Side::Destination),
            CopyKind::StMatrix { matrices, transpose } => (matrices, transpose, Side::Destination, Side::Source),
            _ => continue,
        };
        let matrices = i64::from(matrices);
        let (memory, registers) = (atom.layout(memory).expect("a layout"), atom.layout(registers).expect("a layout"));
        for lane in 0..32 {
            for bit in 0..32 * matrices {
                let (matrix, row, within) = matrix_bit(transpose, lane, bit);
                // Lane 8 * matrix + row holds the address of that row.
                let expected = memory.offset_of(8 * matrix + row + 32 * within).expect("an offset");
                assert_eq!(expected, 128 * (8 * matrix + row) + within, "{atom}: rows follow one another");
                assert_eq!(registers.offset_of(lane + 32 * bit).expect("an offset"), expected, "{atom} {lane} {bit}");
            }
        }
        seen += 1;
    }
    assert_eq!(seen, 12);
}

#[test]
fn lanes_beyond_the_last_matrix_repeat_addresses() {
    for (name, matrices) in [("ldmatrix.x1", 1), ("ldmatrix.x2", 2)] {
        let atom: CopyAtom = name.parse().expect("an atom");
        let memory = atom.layout(Side::Source).expect("a layout");
        for lane in 0..32 {
            assert_eq!(memory.offset_of(lane).expect("an offset"), 128 * (lane % (8 * matrices)));
        }
    }
}

#[test]
fn one_thread_copies_are_contiguous_and_names_parse() {
    for atom in CopyAtom::all() {
        assert_eq!(atom.to_string().parse::<CopyAtom>().expect("the name parses"), atom);
        if atom.threads() == 1 {
            let layout = atom.layout(Side::Source).expect("a layout");
            assert_eq!(layout.to_string(), format!("(1,{}):(0,1)", atom.access_bits()));
        }
    }
    let atom: CopyAtom = "cp.async.cg.16.zfill".parse().expect("an atom");
    assert_eq!(atom.values_per_thread(Element::F16).expect("a count"), 8);
    let error = "cp.async.cg.8".parse::<CopyAtom>().expect_err("no such size");
    assert!(error.to_string().starts_with("copy_atom: there is no cp.async.cg.8; there is universal.8,"), "{error}");
}
