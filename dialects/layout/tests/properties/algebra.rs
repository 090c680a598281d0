//! Coalesce, composition, complement, inverses.

use std::collections::BTreeSet;

use cute_layout::{Cause, Int, Layout, Tuple, max_common_layout};
use proptest::prelude::*;

use crate::oracle::{compact, gapped, image, injective, ints, layout, layouts, number, offset, offsets, shapes, size};

const SIZES: &[i64] = &[1, 2, 3, 4, 6];
const POWERS: &[i64] = &[1, 2, 4];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Same size, same function, no structure left, no neighbours that could merge.
    #[test]
    fn coalesce(a in layouts()) {
        let c = a.coalesce()?;
        prop_assert_eq!(offsets(&a), offsets(&c));
        prop_assert!(c.depth() <= 1);
        let leaves = c.tree().leaves();
        prop_assert!(leaves.len() == 1 || leaves.iter().all(|m| !m.size.is(1)));
        for pair in leaves.windows(2) {
            let end = number(&pair[0].size) * number(&pair[0].stride.scale);
            prop_assert_ne!(end, number(&pair[1].stride.scale));
        }
    }

    /// Every mode is coalesced on its own, or kept.
    #[test]
    fn coalesce_modes(a in layouts(), reach in 0usize..3) {
        let profile = Tuple::Node(vec![Tuple::Leaf(1); reach.min(a.rank())]);
        let c = a.coalesce_modes(&profile)?;
        prop_assert_eq!(offsets(&a), offsets(&c));
        prop_assert_eq!(c.rank(), a.rank());
        for (i, (before, after)) in a.modes().iter().zip(c.modes()).enumerate() {
            if i < reach {
                prop_assert!(after.depth() <= 1);
                prop_assert_eq!(offsets(before), offsets(&after));
            } else {
                prop_assert_eq!(before, &after);
            }
        }
    }

    /// Strides of 0 repeat offsets and do nothing else.
    #[test]
    fn filter(a in layouts()) {
        let f = a.filter()?;
        prop_assert_eq!(image(&a), image(&f));
        prop_assert!(f.tree().leaves().iter().all(|m| !m.stride.is_zero() || m.size.is(1)));
    }

    /// All that is in the nullspace goes to 0, and it is as large as the repetition it causes.
    #[test]
    fn nullspace(a in layouts()) {
        let n = a.nullspace()?;
        prop_assert!(offsets(&n).iter().all(|&i| offset(&a, i) == 0));
        prop_assert_eq!(size(&n) * size(&a.filter()?), size(&a));
        prop_assert!(injective(&n));
    }

    /// Every mode of `R` is `A` after that mode of `B`, so `R(c) == A(B(c))` unless the offsets of
    /// the modes carry from one mode of `A` into the next when they are added.
    #[test]
    fn composition(a in layouts(), b in layouts()) {
        match a.compose(&b) {
            Ok(r) => {
                prop_assert_eq!(b.shape().compatible(&r.shape()), Some(true));
                for (at, mode) in leaves(&b) {
                    let placed = r.get(&at)?;
                    for i in 0..size(&mode) {
                        prop_assert_eq!(offset(&placed, i), offset(&a, offset(&mode, i)), "{} o {} = {}", a, b, r);
                    }
                }
                for i in (0..size(&b)).filter(|&i| !carries(&a, &b, i)) {
                    prop_assert_eq!(offset(&r, i), offset(&a, offset(&b, i)), "{} o {} = {} at {}", a, b, r, i);
                }
            }
            Err(e) => {
                let refused = matches!(*e.cause, Cause::StrideCondition { .. } | Cause::SizeCondition { .. } | Cause::Straddles { .. });
                prop_assert!(refused, "{e}");
            }
        }
    }

    /// Powers of two divide one another, so nothing can go wrong.
    #[test]
    fn composition_of_powers_of_two(a in gapped(POWERS, POWERS), b in gapped(POWERS, POWERS)) {
        let r = a.compose(&b)?;
        for i in 0..size(&b) {
            prop_assert_eq!(offset(&r, i), offset(&a, offset(&b, i)));
        }
    }

    /// Ordered, disjoint, and not farther than it must.
    #[test]
    fn complement(a in layouts(), target in 1i64..200) {
        match a.complement(&target.into()) {
            Ok(c) => {
                let strides: Vec<i64> = c.tree().leaves().iter().map(|m| number(&m.stride.scale)).collect();
                prop_assert!(strides.windows(2).all(|w| w[0] < w[1]), "{c} is not ordered");
                let (block, moves) = (image(&a), offsets(&c));
                let mut seen = BTreeSet::new();
                for m in &moves {
                    prop_assert!(block.iter().all(|b| seen.insert(b + m)), "{a} and {c} overlap");
                }
                let ends = a.filter()?.tree().leaves().iter().map(|m| number(&m.size) * number(&m.stride.scale)).max();
                let end = ends.unwrap_or(1).max(1);
                prop_assert!(number(&c.cosize()?) <= (target + end - 1) / end * end, "{c} goes too far");
            }
            Err(e) => prop_assert!(matches!(*e.cause, Cause::Overlap { .. }), "{e}"),
        }
    }

    /// Where the strides are multiples of what is below them, nothing is missing.
    #[test]
    fn complement_completes(a in gapped(SIZES, &[1, 2, 3]), more in 1i64..4) {
        let target = number(&a.cosize()?) * more;
        let c = a.complement(&target.into())?;
        let all = image(&Layout::from_modes([a, c]));
        prop_assert!((0..target).all(|i| all.contains(&i)));
    }

    /// `A(R(i)) == i`.
    #[test]
    fn right_inverse(a in layouts()) {
        let r = a.right_inverse()?;
        for i in 0..size(&r) {
            prop_assert_eq!(offset(&a, offset(&r, i)), i, "{} of {}", r, a);
        }
    }

    /// A permutation is inverted whole, and both inverses are the same function.
    #[test]
    fn inverses_of_permutations(a in compact(SIZES)) {
        let (r, l) = (a.right_inverse()?, a.left_inverse()?);
        prop_assert_eq!(size(&r), size(&a));
        for i in 0..size(&a) {
            prop_assert_eq!(offset(&r, offset(&a, i)), i);
            prop_assert_eq!(offset(&l, offset(&a, i)), i);
        }
    }

    /// `L(A(i)) == i`.
    #[test]
    fn left_inverse(a in gapped(SIZES, &[1, 2, 3])) {
        let l = a.left_inverse()?;
        for i in 0..size(&a) {
            prop_assert_eq!(offset(&l, offset(&a, i)), i, "{} of {}", l, a);
        }
    }

    /// The common layout names the same indices, in a row, in both.
    #[test]
    fn common_layout(a in compact(POWERS), b in compact(POWERS)) {
        let common = max_common_layout(&a, &b)?;
        for i in 0..size(&common) {
            prop_assert_eq!(offset(&a, offset(&common, i)), i);
            prop_assert_eq!(offset(&b, offset(&common, i)), i);
        }
    }

    /// Coordinates come back as themselves, through any composition.
    #[test]
    fn identity_layouts(shape in shapes(SIZES), b in compact(POWERS)) {
        let identity = Layout::identity(&ints(&shape));
        let plain = Layout::col_major(&ints(&shape))?;
        prop_assert_eq!(plain.compose(&identity)?.shape(), plain.shape());
        for i in 0..size(&plain) {
            let coord = identity.eval(&i.into())?;
            prop_assert_eq!(plain.eval(&coord.into())?.as_leaf().and_then(Int::as_static), Some(i));
        }
        if let Ok(r) = identity.compose(&b) {
            for i in (0..size(&b)).filter(|&i| !carries(&plain, &b, i)) {
                let gap = identity.eval(&offset(&b, i).into())?.sub(&r.eval(&i.into())?)?;
                prop_assert!(gap.leaves().iter().all(|d| d.is(0)), "{} o {} = {}", identity, b, r);
            }
        }
    }

    /// Distinct offsets lie within the cosize.
    #[test]
    fn cosize(a in layouts()) {
        let largest = image(&a).into_iter().max().unwrap_or(0);
        prop_assert_eq!(number(&a.cosize()?), largest + 1);
    }
}

/// The leaves of a layout with their places.
fn leaves(layout: &Layout) -> Vec<(Vec<usize>, Layout)> {
    let mut places = Vec::new();
    layout.tree().visit(&Default::default(), &mut |at, mode| {
        places.push((at.0.clone(), Layout::leaf(mode.size.clone(), mode.stride.clone())));
    });
    places.into_iter().filter_map(|(at, leaf)| Some((at, leaf.ok()?))).collect()
}

/// Whether the offsets that the modes of `b` contribute at an index carry when they are added as
/// coordinates of `a`.
fn carries(a: &Layout, b: &Layout, index: i64) -> bool {
    let sizes: Vec<i64> = a.tree().leaves().iter().map(|m| number(&m.size)).collect();
    let mut sum = vec![0; sizes.len()];
    let mut rest = index;
    for (_, mode) in leaves(b) {
        let mut here = offset(&mode, rest % size(&mode));
        rest /= size(&mode);
        for (total, s) in sum.iter_mut().zip(&sizes) {
            *total += here % s;
            here /= s;
        }
    }
    let bounded = sizes.len().saturating_sub(1);
    sum.iter().zip(&sizes).take(bounded).any(|(total, s)| total >= s)
}

#[test]
fn composition_says_which_modes_clash() {
    let error = layout("(4,6):(1,8)").compose(&layout("(2,(6,3)):(1,(3,8))")).expect_err("a refusal");
    assert_eq!(error.at.0, [1, 0]);
    let expected = "composition: mode 1.0: size 6 runs past mode 0 of the left operand, whose size 4 is not a multiple of the stride 3";
    assert_eq!(error.to_string(), expected);
}
