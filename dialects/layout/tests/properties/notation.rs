//! Reading and writing; nothing that is read makes anything panic.

use cute_layout::Result;
use cute_layout::svg::Picture;
use cute_layout::{ComposedLayout, Coord, Int, IntTuple, Layout, Stride, Swizzle, Symbols, ThreadValue, Tile, Tuple};
use cute_layout::{crd2idx, idx2crd, increment_coord, max_common_layout};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::oracle::layouts;

/// Pieces of notation, so that random texts often mean something.
const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    ":",
    "@",
    "_",
    "?",
    "?n",
    "?m{div=8}",
    "?{i64}",
    "?{div=4}",
    "?(",
    "+",
    "-",
    "*",
    "/",
    "ceil_div(",
    "mod(",
    "min(",
    "n",
    "m",
    "0",
    "1",
    "2",
    "3",
    "4",
    "8",
    "64",
    "9223372036854775807",
    "-9223372036854775808",
    "4611686018427387904",
    "S<",
    "S<3,4,3>",
    ">",
    " o ",
    "o",
    "{",
    "}",
    "div=",
    "(2,3):(1,2)",
    "(4,?):(1,4)",
    "(2,2):(1@0,1@1)",
    "4:1",
    "?n:?m",
    "(?n,4):(4,1)",
    "%0",
    "\u{e9}",
    "\n",
];

/// A layout in which any leaf may be extreme.
fn wild_layouts() -> impl Strategy<Value = String> {
    let leaf = || {
        select(
            &[
                "1",
                "2",
                "3",
                "4",
                "7",
                "?",
                "?n",
                "?m{div=8,min=1}",
                "?{div=4}",
                "9223372036854775807",
                "4611686018427387904",
            ][..],
        )
    };
    let step = || {
        select(
            &[
                "0",
                "1",
                "2",
                "3",
                "-1",
                "-4",
                "?",
                "?n",
                "?(4*n)",
                "1@0",
                "1@1",
                "?n@1",
                "2@0@1",
                "-9223372036854775808",
                "9223372036854775807",
            ][..],
        )
    };
    (1usize..4).prop_flat_map(move |n| (vec(leaf(), n), vec(step(), n))).prop_map(|(shape, stride)| {
        match shape.as_slice() {
            [_] => format!("{}:{}", shape[0], stride[0]),
            _ => format!("({}):({})", shape.join(","), stride.join(",")),
        }
    })
}

/// Every operation; the results do not matter.
fn exercise(a: &Layout, b: &Layout) {
    let tiles = [Tile::from(b.clone()), Tile::from(b.shape()), Tile::All];
    let tiled = tiles.iter().flat_map(|tile| tiled(a, tile));
    for layout in unary(a).into_iter().chain(binary(a, b)).chain(tiled).flatten() {
        let _ = (layout.to_string(), layout.size(), layout.cosize(), layout.max_alignment());
        let _ = layout.eval(&i64::MAX.into());
    }
    numbers(a, b);
    let swizzle = Swizzle::new(3, 4, 3).expect("a swizzle");
    let composed = ComposedLayout { offset: b.shape(), ..ComposedLayout::swizzled(swizzle, a.clone()) };
    let _ = (composed.eval(&i64::MAX.into()), composed.slice(&b.shape().into()));
    let _ = (composed.recast(32, 16), composed.left_inverse());
}

fn unary(a: &Layout) -> Vec<Result<Layout>> {
    vec![
        a.coalesce(),
        a.complement_own(),
        a.right_inverse(),
        a.left_inverse(),
        a.nullspace(),
        a.filter(),
        a.like(),
        a.fragment_like(),
        a.recast(32, 16),
        a.recast(16, 32),
        a.recast(0, -1),
        a.recast(i64::MAX, 2),
        a.upcast(i64::MIN),
        a.append_to_rank(usize::MAX),
        a.prepend_to_rank(3),
        Layout::col_major(&a.shape()),
        Layout::row_major(&a.shape()),
        a.get(&[7, 1]),
        a.select(&[1, 9]),
        a.group_modes(2, 1),
        a.group_modes(usize::MAX, 0),
    ]
}

fn binary(a: &Layout, b: &Layout) -> Vec<Result<Layout>> {
    vec![
        a.compose(b),
        a.complement(&b.shape()),
        a.coalesce_modes(&b.shape()),
        a.logical_product(b),
        a.blocked_product(b),
        a.raked_product(b),
        a.tile_to_shape(&b.shape(), None),
        a.tile_to_shape(&b.shape(), Some(&a.shape())),
        max_common_layout(a, b),
        Layout::ordered(&a.shape(), &b.shape()),
    ]
}

fn tiled(a: &Layout, tile: &Tile) -> Vec<Result<Layout>> {
    vec![
        a.compose_tile(tile),
        a.logical_divide(tile),
        a.zipped_divide(tile),
        a.tiled_divide(tile),
        a.flat_divide(tile),
        a.logical_product_tile(tile),
        a.zipped_product(tile),
        a.tiled_product(tile),
        a.flat_product(tile),
        a.local_tile(tile, &a.shape().into()).map(|piece| piece.layout),
        a.local_tile(tile, &Coord::from(1)).map(|piece| piece.layout),
    ]
}

fn numbers(a: &Layout, b: &Layout) {
    let (shape, coord) = (a.shape(), Coord::from(b.shape()));
    let _ = (a.eval(&coord), a.slice(&coord), a.local_partition(b, &5.into()), a.flat_coord(&i64::MIN.into()));
    let _ = (shape.shape_div(&b.shape()), shape.add(&b.shape()), shape.sub(&b.shape()), shape.compatible(&b.shape()));
    let _ = (crd2idx(&coord, &shape), idx2crd(&b.shape(), &shape), increment_coord(&shape, &shape));
    let _ = (shape.ceil_div_tile(&Tile::from(b.clone())), ThreadValue::new(a, b));
    let _ = (cute_layout::domain_distribute(&shape, i64::MIN), Picture::default().layout(a));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn layouts_round_trip(a in layouts()) {
        prop_assert_eq!(a.to_string().parse::<Layout>()?, a);
    }

    /// Whatever is read is written so that it reads the same.
    #[test]
    fn random_texts(pieces in vec(select(PIECES), 0..14)) {
        let text = pieces.concat();
        if let Ok(a) = text.parse::<Layout>() {
            prop_assert_eq!(a.to_string().parse::<Layout>()?, a.clone());
            exercise(&a, &a);
        }
        if let Ok(t) = text.parse::<IntTuple>() {
            prop_assert_eq!(t.to_string().parse::<IntTuple>()?, t);
        }
        if let Ok(c) = text.parse::<ComposedLayout>() {
            prop_assert_eq!(c.to_string().parse::<ComposedLayout>()?, c);
        }
        if let Ok(t) = text.parse::<Tile>() {
            prop_assert_eq!(t.to_string().parse::<Tile>()?, t);
        }
        let _ = (text.parse::<Coord>(), text.parse::<Stride>(), text.parse::<Tuple<Stride>>(), text.parse::<Swizzle>(), text.parse::<Int>());
    }

    #[test]
    fn any_text(text in "\\PC*") {
        let _ = (text.parse::<Layout>(), text.parse::<ComposedLayout>(), text.parse::<Tile>(), text.parse::<Int>());
    }

    /// Extreme sizes and strides give errors, never a panic.
    #[test]
    fn extreme_layouts(a in wild_layouts(), b in wild_layouts()) {
        let mut symbols = Symbols::default();
        if let (Ok(a), Ok(b)) = (symbols.parse::<Layout>(&a), symbols.parse::<Layout>(&b)) {
            prop_assert_eq!(Symbols::default().parse::<Layout>(&a.to_string())?, a.clone());
            exercise(&a, &b);
        }
    }
}

#[test]
fn nesting_is_limited() {
    let deep = "(".repeat(100_000);
    assert!(deep.parse::<Layout>().is_err());
    assert!(format!("?{deep}").parse::<Int>().is_err());
    assert!("[".repeat(100_000).parse::<Tile>().is_err());
    assert!(format!("4:1{}", "@0".repeat(1000)).parse::<Layout>().is_err());
    assert!("4:1@9999999999".parse::<Layout>().and_then(|a| a.cosize()).is_err());
}

#[test]
fn mistakes_are_located() {
    let told = |text: &str| text.parse::<Layout>().expect_err("a refusal").to_string();
    assert_eq!(told("(4,8:(1,4)"), "parse: expected ',' or ')' at byte 4");
    assert_eq!(told("(4,8):(1,4"), "parse: expected ',' or ')' at byte 10");
    assert_eq!(told("((4,2),8):(1,4)"), "layout: mode 0: shape (4,2) and stride 1 have different structure");
    assert_eq!(told("(4,0):(1,4)"), "layout: mode 1: a size must be at least 1, this one is 0");
    assert_eq!(
        told("(?n{div=8},4):(1,?n{div=4})"),
        "parse: expected the facts that ?n was given first, {div=8} at byte 26"
    );
}
