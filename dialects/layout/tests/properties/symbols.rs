//! Symbolic results against the static ones: names replaced by numbers before and after must agree.

use cute_layout::{Facts, Int, Layout, Result, Symbol, Tile};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::oracle::{gapped, layouts, number, offset, size};

/// The values that the symbols of these tests have.
const VALUES: [(&str, i64, i64); 4] = [("a", 1, 5), ("b", 4, 12), ("c", 8, 64), ("d", 3, 3)];

fn symbol(i: usize) -> Int {
    let (name, div, value) = VALUES[i % VALUES.len()];
    Int::symbol(name, Facts::div(div).in_range(0, 2 * value)).expect("a symbol")
}

fn value_of(symbol: &Symbol) -> Option<i64> {
    VALUES.iter().find(|(name, ..)| *name == symbol.name()).map(|(.., value)| *value)
}

/// An expression as it is built, and as a number; `None` where the number does not exist.
fn expressions() -> impl Strategy<Value = (Result<Int>, Option<i64>)> {
    let leaf = prop_oneof![
        (-20i64..20).prop_map(|n| (Ok(Int::from(n)), Some(n))),
        (0usize..4).prop_map(|i| (Ok(symbol(i)), Some(VALUES[i].2))),
    ];
    leaf.prop_recursive(4, 20, 2, |inner| {
        (inner.clone(), inner, 0u8..8)
            .prop_map(|((a, x), (b, y), op)| (combine(a, b, op), x.zip(y).and_then(|(x, y)| number_of(x, y, op))))
    })
}

fn combine(a: Result<Int>, b: Result<Int>, op: u8) -> Result<Int> {
    let (a, b) = (a?, b?);
    match op {
        0 => a.add(&b),
        1 => a.sub(&b),
        2 | 3 => a.mul(&b),
        4 => a.floor_div(&b),
        5 => a.ceil_div(&b),
        6 => a.rem(&b),
        _ => a.min(&b),
    }
}

fn number_of(x: i64, y: i64, op: u8) -> Option<i64> {
    let floor = |x: i64, y: i64| (y != 0).then(|| (x as f64 / y as f64).floor() as i64);
    match op {
        0 => Some(x + y),
        1 => Some(x - y),
        2 | 3 => Some(x * y),
        4 => floor(x, y),
        5 => floor(-x, y).map(|q| -q),
        6 => floor(x, y).map(|q| x - q * y),
        _ => Some(x.min(y)),
    }
}

/// A static layout in which some numbers are hidden behind names: the same number, the same name.
#[derive(Clone, Debug)]
struct Hidden {
    named: Layout,
    traced: Layout,
}

fn hide(layout: &Layout, which: &[bool], divs: &[i64]) -> Hidden {
    let mut at = 0;
    let mut named = |i: &Int, prefix: &str, unique: bool| {
        at += 1;
        let value = number(i);
        let div = *divs.iter().find(|d| value > 1 && value % *d == 0).unwrap_or(&1);
        if value < 2 || !which[at % which.len()] {
            return i.clone();
        }
        let name = if unique { format!("{prefix}{value}_{at}") } else { format!("{prefix}{value}") };
        Int::symbol(&name, if unique { Facts::NONE } else { Facts::div(div) }).expect("a name")
    };
    let with_names = layout.map_ints(&mut |i| named(i, "v", false));
    let with_traces = layout.map_ints(&mut |i| named(i, "%v", true));
    Hidden { named: with_names, traced: with_traces }
}

/// The number in a name: `v12` or `%v12_3`.
fn reveal(layout: &Layout) -> Result<Layout> {
    let value = |s: &Symbol| s.name().trim_start_matches(['%', 'v']).split('_').next()?.parse().ok();
    let mut failed = None;
    let plain = layout.map_ints(&mut |i| match i.eval(&value) {
        Ok(n) => Int::from(n),
        Err(e) => {
            failed = Some(e);
            i.clone()
        }
    });
    failed.map_or(Ok(plain), Err)
}

/// Wherever the symbolic operation and the static one both answer, they are the same function.
fn agrees(symbolic: Result<Layout>, fixed: Result<Layout>) -> std::result::Result<(), TestCaseError> {
    let (Ok(symbolic), Ok(fixed)) = (symbolic, fixed) else {
        return Ok(());
    };
    let plain = reveal(&symbolic)?;
    prop_assert_eq!(size(&plain), size(&fixed), "{} is {}, not {}", symbolic, plain, fixed);
    for i in 0..size(&fixed).min(200) {
        prop_assert_eq!(offset(&plain, i), offset(&fixed, i), "{} is {}, not {}", symbolic, plain, fixed);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Expressions keep their value, and what is known of them is true.
    #[test]
    fn arithmetic((built, value) in expressions(), (other, w) in expressions()) {
        let (Ok(built), Some(value)) = (built, value) else { return Ok(()) };
        prop_assert_eq!(built.eval(&value_of)?, value, "{}", built);
        prop_assert_eq!(built.expr().eval(&value_of)?, value, "{:?}", built.expr());
        let facts = built.facts();
        prop_assert!(facts.div == 0 && value == 0 || facts.div != 0 && value % facts.div == 0, "{built} = {value}");
        prop_assert!(facts.min.is_none_or(|m| m <= value) && facts.max.is_none_or(|m| m >= value), "{built} = {value}");
        prop_assert_eq!(built.to_string().parse::<Int>()?, built.clone());
        let (Ok(other), Some(w)) = (other, w) else { return Ok(()) };
        prop_assert!(built.known_cmp(&other).is_none_or(|o| o == value.cmp(&w)), "{built} {other}");
        prop_assert!(built.known_eq(&other).is_none_or(|e| e == (value == w)), "{built} {other}");
        prop_assert!(value == 0 || built.divides(&other).is_none_or(|d| d == (w % value == 0)), "{built} {other}");
    }

    #[test]
    fn coalesce(a in layouts(), which in vec(any::<bool>(), 5)) {
        let h = hide(&a, &which, &[8, 4, 3, 2]);
        agrees(h.named.coalesce(), a.coalesce())?;
        agrees(h.traced.coalesce(), a.coalesce())?;
    }

    #[test]
    fn composition(a in layouts(), b in layouts(), which in vec(any::<bool>(), 7)) {
        let (x, y) = (hide(&a, &which, &[8, 4, 3, 2]), hide(&b, &which, &[4, 3, 2]));
        agrees(x.named.compose(&y.named), a.compose(&b))?;
        // A proof is a proof: what is composed by name is composed by number.
        prop_assert!(x.named.compose(&y.named).is_err() || a.compose(&b).is_ok(), "{} o {}", x.named, y.named);
    }

    #[test]
    fn complement(a in gapped(&[1, 2, 3, 4], &[1, 2]), n in select(&[6i64, 24, 48][..]), which in vec(any::<bool>(), 5)) {
        let h = hide(&a, &which, &[8, 4, 3, 2]);
        agrees(h.named.complement(&n.into()), a.complement(&n.into()))?;
        agrees(h.traced.complement(&n.into()), a.complement(&n.into()))?;
    }

    #[test]
    fn left_inverse(a in gapped(&[1, 2, 3, 4], &[1, 2]), which in vec(any::<bool>(), 5)) {
        let h = hide(&a, &which, &[8, 4, 3, 2]);
        agrees(h.named.left_inverse(), a.left_inverse())?;
    }

    /// A symbolic right inverse may be shorter, but it inverts.
    #[test]
    fn right_inverse(a in gapped(&[1, 2, 3, 4], &[1, 2]), which in vec(any::<bool>(), 5)) {
        let h = hide(&a, &which, &[1]);
        let r = reveal(&h.named.right_inverse()?)?;
        prop_assert!((0..size(&r)).all(|i| offset(&a, offset(&r, i)) == i));
    }

    #[test]
    fn division(a in layouts(), t in gapped(&[1, 2, 4], &[1, 2]), which in vec(any::<bool>(), 5)) {
        let (x, y) = (hide(&a, &which, &[8, 4, 3, 2]), hide(&t, &which, &[4, 2]));
        agrees(x.named.logical_divide(&Tile::from(y.named)), a.logical_divide(&Tile::from(t)))?;
    }

    #[test]
    fn product(a in gapped(&[1, 2, 4], &[1, 2]), t in gapped(&[1, 2, 4], &[1, 2]), which in vec(any::<bool>(), 5)) {
        let (x, y) = (hide(&a, &which, &[8, 4, 2]), hide(&t, &which, &[4, 2]));
        agrees(x.named.logical_product(&y.named), a.logical_product(&t))?;
        agrees(a.blocked_product(&y.traced), a.blocked_product(&t))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// What is assumed of anonymous sizes and strides holds for powers of two, so the expressions
    /// that come out must give the static result.
    #[test]
    fn traced_expressions(a in gapped(POWERS, &[1, 2]), b in gapped(POWERS, &[1, 2]), which in vec(any::<bool>(), 7)) {
        let (x, y) = (hide(&a, &which, &[1]).traced, hide(&b, &which, &[1]).traced);
        agrees(x.compose(&y), a.compose(&b))?;
        agrees(a.compose(&y), a.compose(&b))?;
        agrees(a.blocked_product(&y), a.blocked_product(&b))?;
        let (by_x, by_y, by_b) = (Tile::from(x.clone()), Tile::from(y), Tile::from(b));
        agrees(x.logical_divide(&by_b), a.logical_divide(&by_b))?;
        agrees(a.logical_divide(&by_y), a.logical_divide(&by_b))?;
        agrees(x.recast(16, 8), a.recast(16, 8))?;
        agrees(a.logical_product_tile(&by_x), a.logical_product_tile(&Tile::from(a.clone())))?;
    }
}

const POWERS: &[i64] = &[1, 2, 4];

/// The dynamic layouts that users of CuTe report as refused.
#[test]
fn known_pains() -> Result<()> {
    let show = |r: Result<Layout>| r.map(|l| l.to_string());
    let parse = |text: &str| text.parse::<Layout>();
    assert_eq!(show(parse("(192,?n):(1,192)")?.coalesce())?, "?(192*n):1");
    assert_eq!(show(parse("(?m,?n):(1,?m)")?.coalesce())?, "?(m*n):1");
    assert_eq!(show(parse("(?m,?n):(?n,1)")?.right_inverse())?, "(?n,?m):(?m,1)");
    let mut symbols = cute_layout::Symbols::default();
    let a: Layout = symbols.parse("(?m{div=8},64):(64,1)")?;
    let b: Layout = symbols.parse("(8,?(m/8)):(1,8)")?;
    assert_eq!(show(a.compose(&b))?, "(8,?(m{div=8}/8)):(64,512)");
    let tile: Tile = "[8:1;16:1]".parse()?;
    assert_eq!(show(a.zipped_divide(&tile))?, "((8,16),(?(m{div=8}/8),4)):((64,1),(512,16))");
    let unproven = parse("(?m,64):(64,1)")?.compose(&parse("8:1")?).expect_err("a refusal");
    assert_eq!(
        unproven.to_string(),
        "composition: cannot be proven from what is known about the symbols; it would fail if: size 8 at stride 1 \
         is not a multiple of ?(min(m,8)), the part of it that fits mode 0 (size ?m) of the left operand",
    );
    Ok(())
}
