//! Swizzles, recasting, alignment.

use std::collections::BTreeSet;

use cute_layout::{ComposedLayout, Facts, Int, Swizzle, Symbol, Tuple};
use proptest::prelude::*;
use proptest::sample::select;

use crate::oracle::{compact, gapped, image, layout, layouts, number, offset, size};

const POWERS: &[i64] = &[1, 2, 4];

fn swizzles() -> impl Strategy<Value = Swizzle> {
    (0i64..=4, 0i64..=5, 0i64..=3, any::<bool>()).prop_filter_map("not a swizzle", |(b, m, extra, down)| {
        let shift = b + extra;
        Swizzle::new(b, m, if down { -shift } else { shift }).ok()
    })
}

/// Bit by bit: bit `i` of the target changes where bit `i` of the source is set.
fn by_bits(s: &Swizzle, x: i64) -> i64 {
    let distance = s.shift().unsigned_abs();
    let (target, source) =
        if s.shift() >= 0 { (s.base(), s.base() + distance) } else { (s.base() + distance, s.base()) };
    (0..s.bits()).fold(x, |y, i| y ^ (((x >> (source + i)) & 1) << (target + i)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// By definition, an involution, a permutation of every aligned block.
    #[test]
    fn swizzle(s in swizzles(), x in 0i64..1 << 20) {
        prop_assert_eq!(s.apply(x), by_bits(&s, x));
        prop_assert_eq!(s.apply(s.apply(x)), x);
        let low = s.base() + s.bits() + s.shift().unsigned_abs();
        prop_assert_eq!(s.apply(x) >> low, x >> low);
    }

    /// Whole patterns pass by: a swizzle moves what is within one, and symbolic offsets are taken apart so.
    #[test]
    fn swizzle_pattern(s in swizzles(), x in 0i64..1 << 20, y in -64i64..64, step in 1i64..1 << 12) {
        let pattern = s.pattern();
        prop_assert_eq!(s.apply(x + y * pattern), s.apply(x) + y * pattern);
        let (row, stage) = (Int::symbol("row", Facts::NONE)?, Int::symbol("stage", Facts::div(pattern))?);
        let offset = row.mul(&Int::from(step))?.add(&stage)?.add(&Int::from(x))?;
        let (whole, within) = offset.by_pattern(s);
        prop_assert_eq!(whole.facts().div % pattern, 0);
        let value = |symbol: &Symbol| Some(if symbol.name() == "row" { x / 3 } else { y * pattern });
        prop_assert_eq!(whole.eval(&value)? + within.eval(&value)?, offset.eval(&value)?);
        let swizzled = ComposedLayout { offset: Tuple::Leaf(offset.clone()), ..ComposedLayout::swizzled(s, layout("1:0")) };
        let Tuple::Leaf(found) = swizzled.eval(&0.into())? else { panic!("one offset") };
        prop_assert_eq!(found.eval(&value)?, s.apply(offset.eval(&value)?));
    }

    /// The composition, where there is one, is one after the other.
    #[test]
    fn swizzle_composition(s in swizzles(), t in swizzles(), x in 0i64..1 << 20) {
        if let Ok(both) = s.compose(&t) {
            prop_assert_eq!(both.apply(x), s.apply(t.apply(x)));
        }
    }

    /// A swizzled layout permutes what the layout reaches; a slice keeps the swizzle.
    #[test]
    fn swizzled_layouts(s in swizzles(), a in layouts(), start in 0i64..64) {
        let swizzled = ComposedLayout { offset: start.into(), ..ComposedLayout::swizzled(s, a.clone()) };
        for i in 0..size(&a) {
            prop_assert_eq!(swizzled.offset_of(i)?, s.apply(start + offset(&a, i)));
        }
        let undone = swizzled.right_inverse()?;
        let r = a.right_inverse()?;
        for i in 0..size(&r) {
            let there = swizzled.offset_of(offset(&r, i))?;
            prop_assert_eq!(undone.eval(&there.into())?, offset(&r, i).into());
        }
    }

    /// Wider elements: every old element lies in a new one, and narrower ones fill the old ones.
    #[test]
    fn recast(a in compact(POWERS), log in 0u32..3) {
        let n = 1i64 << log;
        let wide = a.recast(8 * n, 8)?;
        prop_assert_eq!(image(&wide), image(&a).into_iter().map(|o| o / n).collect::<BTreeSet<_>>());
        let narrow = a.recast(8, 8 * n);
        if size(&a) > 1 {
            let all = image(&a).into_iter().flat_map(|o| (0..n).map(move |i| o * n + i)).collect::<BTreeSet<_>>();
            prop_assert_eq!(image(&narrow?), all);
        }
    }

    /// A recast swizzle moves whole new elements as the old one moves the old ones in them.
    #[test]
    fn recast_swizzle(s in swizzles(), log in 0u32..4, y in 0i64..1 << 12) {
        let n = 1i64 << log;
        let c = ComposedLayout::swizzled(s, layout("4096:1"));
        let wide = c.recast(8 * n, 8)?;
        let cute_layout::Inner::Swizzle(up) = wide.inner else { panic!("still a swizzle") };
        prop_assert_eq!(up.apply(y), s.apply(y << log) >> log);
        let cute_layout::Inner::Swizzle(down) = c.recast(8, 8 * n)?.inner else { panic!("still a swizzle") };
        prop_assert_eq!(down.apply(y << log), s.apply(y) << log);
    }

    /// The aligned groups that the alignment promises are there whole or not at all.
    #[test]
    fn alignment(a in gapped(&[1, 2, 3, 4, 6, 8], &[1, 2, 3, 4])) {
        let n = a.max_alignment()?;
        let all = image(&a);
        for o in &all {
            prop_assert!((0..n).all(|i| all.contains(&(o / n * n + i))), "{} of {}", n, a);
        }
    }

    /// A refused width names the stride that does not fit.
    #[test]
    fn refused_recasts(stride in select(&[3i64, 5, 6, 7, 12][..])) {
        let a = cute_layout::Layout::from_modes([layout("8:1"), cute_layout::Layout::leaf(4, stride)?]);
        let error = a.recast(64, 8).expect_err("a refusal");
        prop_assert_eq!(error.at.0, [1]);
        prop_assert_eq!(number(&a.size()?), 32);
    }
}
