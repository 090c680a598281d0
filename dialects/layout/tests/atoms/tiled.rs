//! Tiled MMA and copies: each element goes to exactly one thread, and two views of a fragment agree.

use std::collections::BTreeMap;

use cute_layout::atom::{CopyAtom, Element, MmaAtom, Operand, Side, TiledCopy, TiledMma};
use cute_layout::{Int, IntTuple, Layout, Piece, Tile};

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

fn mma(atom: &str, counts: &str, permutation: Option<[&str; 3]>) -> TiledMma {
    let atom: MmaAtom = atom.parse().expect("an atom");
    let tiles = permutation.map(|tiles| tiles.map(|text| text.parse::<Tile>().expect("a tile")));
    TiledMma::new(atom, counts.parse::<IntTuple>().expect("counts"), tiles).expect("a tiled MMA")
}

fn number(int: &Int) -> i64 {
    int.as_static().expect("a number")
}

/// The offsets of a piece, in the order of its values.
fn offsets(piece: &Piece) -> Vec<i64> {
    let start = number(piece.offset.as_leaf().expect("a plain offset"));
    let size = number(&piece.layout.size().expect("a size"));
    (0..size).map(|i| start + piece.layout.offset_of(i).expect("an offset")).collect()
}

#[test]
fn c_is_partitioned_once_over_all_threads() {
    let permutations = [None, Some(["_", "32:1", "_"]), Some(["_", "(8,2,2):(1,16,8)", "_"])];
    for permutation in permutations {
        let mma = mma("mma.sync.m16n8k16.f32.f16.f16.f32", "(2,2,1)", permutation);
        let c = layout("(128,64):(64,1)");
        let mut owners = BTreeMap::new();
        for thread in 0..128 {
            let piece = mma.partition(Operand::C, &c, &thread.into()).expect("a partition");
            for offset in offsets(&piece) {
                assert_eq!(owners.insert(offset, thread), None, "one owner of {offset}");
            }
        }
        assert_eq!(owners.len(), 128 * 64);
    }
}

#[test]
fn operands_of_one_thread_meet() {
    // What a thread holds of A and B for one atom are the rows and columns of what it holds of C.
    let mma = mma("mma.sync.m16n8k16.f32.f16.f16.f32", "(2,2,1)", None);
    assert_eq!(mma.tile().expect("a tile"), [32, 16, 16]);
    // The matrices' element (row, column) is 1000 * row + column.
    let whole = layout("(32,16):(1000,1)");
    for thread in 0..128 {
        let c = offsets(&mma.partition(Operand::C, &layout("(32,16):(1000,1)"), &thread.into()).expect("a partition"));
        let a = offsets(&mma.partition(Operand::A, &whole, &thread.into()).expect("a partition"));
        let warp = thread / 32;
        let (rows, columns) = (16 * (warp % 2), 8 * (warp / 2));
        assert!(
            c.iter().all(|o| (rows..rows + 16).contains(&(o / 1000)) && (columns..columns + 8).contains(&(o % 1000)))
        );
        assert!(a.iter().all(|o| (rows..rows + 16).contains(&(o / 1000))));
        assert_eq!(a.len(), 8);
    }
}

#[test]
fn thread_value_layouts_agree_with_partitions() {
    for (counts, permutation) in [("(2,2,1)", None), ("(2,2,1)", Some(["_", "32:1", "_"])), ("(1,2,2)", None)] {
        let mma = mma("mma.sync.m16n8k16.f32.f16.f16.f32", counts, permutation);
        let tile = mma.tile().expect("a tile");
        for operand in [Operand::A, Operand::B, Operand::C] {
            let [x, y] = operand.modes().map(|m| tile[m]);
            let whole = layout(&format!("({x},{y}):(1,{x})"));
            let tv = mma.thread_value(operand).expect("a layout");
            let threads = mma.threads().expect("a count");
            for thread in 0..threads {
                let piece = mma.partition(operand, &whole, &thread.into()).expect("a partition");
                for (value, offset) in offsets(&piece).into_iter().enumerate() {
                    let found = tv.offset_of(thread + threads * value as i64).expect("an offset");
                    assert_eq!(found, offset, "{counts} {operand} {thread} {value}: {tv}");
                }
            }
        }
    }
}

#[test]
fn ldmatrix_fills_the_registers_of_the_mma() {
    // Copying A with ldmatrix.x4 into the MMA's fragment must put element (m, k) where the MMA has it.
    let mma = mma("mma.sync.m16n8k16.f32.f16.f16.f32", "(2,2,1)", Some(["_", "32:1", "_"]));
    for operand in [Operand::A, Operand::B] {
        let atom: CopyAtom = "ldmatrix.x4".parse().expect("an atom");
        let copy = TiledCopy::for_operand(atom, Element::F16, &mma, operand).expect("a tiled copy");
        let shared = layout("(64,32):(32,1)");
        let moved = atom.values(Side::Destination, Element::F16).expect("a layout");
        let read = atom.values(Side::Source, Element::F16).expect("a layout");
        // The register side's numbering, undone: which (lane, value) of the source a bit comes from.
        for thread in 0..32 {
            let wanted = mma.partition(operand, &shared, &thread.into()).expect("a partition");
            let fragment = Layout::col_major(&wanted.layout.shape()).expect("a fragment");
            let seen = copy.retile(&fragment).expect("a view of the fragment");
            let wanted = offsets(&wanted);
            let atoms = number(&seen.size().expect("a size")) / 8;
            for step in 0..atoms {
                for value in 0..8 {
                    // Registers: value of this step lands at this place of the fragment.
                    let place = seen.offset_of(value + 8 * step).expect("an offset");
                    // Memory: the lane that addresses the row, and where in the row.
                    let bit = moved.offset_of(thread + 32 * value).expect("an offset");
                    let lane = (0..32).find(|l| (0..8).any(|v| read.offset_of(l + 32 * v).expect("an offset") == bit));
                    let lane = lane.expect("a lane");
                    let source = copy.partition(Side::Source, &shared, &lane.into()).expect("a partition");
                    let found = offsets(&source)[(8 * step + bit % 8) as usize];
                    assert_eq!(found, wanted[place as usize], "{operand} thread {thread} step {step} value {value}");
                }
            }
        }
    }
}

#[test]
fn a_tiled_copy_moves_every_element_once() {
    let atom: CopyAtom = "cp.async.cg.16".parse().expect("an atom");
    let copy = TiledCopy::new(atom, Element::F16, &layout("(32,4):(4,1)"), &layout("(1,8):(0,1)"));
    let copy = copy.expect("a tiled copy");
    let (global, shared) = (layout("(128,32):(4096,1)"), layout("(128,32):(32,1)"));
    let mut moved = BTreeMap::new();
    for thread in 0..128 {
        let from = copy.partition(Side::Source, &global, &thread.into()).expect("a partition");
        let to = copy.partition(Side::Destination, &shared, &thread.into()).expect("a partition");
        assert_eq!(from.layout.shape().to_string(), "((8,1),4,1)");
        for (from, to) in offsets(&from).into_iter().zip(offsets(&to)) {
            assert_eq!((from / 4096, from % 4096), (to / 32, to % 32));
            assert_eq!(moved.insert(to, from), None);
        }
    }
    assert_eq!(moved.len(), 128 * 32);
}

#[test]
fn a_tile_that_the_atom_does_not_divide_is_refused() {
    let atom: CopyAtom = "cp.async.cg.16".parse().expect("an atom");
    let copy = TiledCopy::new(atom, Element::F16, &layout("(32,4):(4,1)"), &layout("(1,4):(0,1)"));
    let text =
        "tiled_copy: there is no tile with 4 values; there is a multiple of the 8 values of cp.async.cg.16 on f16";
    assert_eq!(copy.expect_err("too few values").to_string(), text);
}

#[test]
fn dynamic_threads_stay_symbolic() {
    let mma = mma("mma.sync.m16n8k16.f32.f16.f16.f32", "(2,2,1)", None);
    let thread: Int = "?tid{min=0,max=127}".parse().expect("a symbol");
    let piece = mma.partition(Operand::C, &layout("(128,64):(64,1)"), &thread).expect("a partition");
    assert_eq!(piece.layout.to_string(), "((2,2),4,4):((1,512),2048,16)");
    let offset = piece.offset.as_leaf().expect("a plain offset").clone();
    for tid in 0..128 {
        let fixed = mma.partition(Operand::C, &layout("(128,64):(64,1)"), &tid.into()).expect("a partition");
        assert_eq!(offset.eval(&|_| Some(tid)).expect("a number"), number(fixed.offset.as_leaf().expect("an offset")));
    }
}
