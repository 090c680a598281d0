//! Indices and coordinates.

use cute_layout::{Coord, Int, IntTuple, Tuple, crd2idx, idx2crd, increment_coord};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::oracle::{ints, layouts, number, offset, shapes, size};

const SIZES: &[i64] = &[1, 2, 3, 4, 6];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Indices and coordinates are each other's inverse.
    #[test]
    fn round_trip(shape in shapes(SIZES)) {
        let shape = ints(&shape);
        let count = shape.product()?.as_static().unwrap_or(0);
        for i in 0..count {
            let coord = idx2crd(&IntTuple::from(i), &shape)?;
            prop_assert!(coord.congruent(&shape));
            prop_assert_eq!(crd2idx(&coord.clone().into(), &shape)?, Int::from(i));
            if i + 1 < count {
                prop_assert_eq!(increment_coord(&coord, &shape)?, idx2crd(&IntTuple::from(i + 1), &shape)?);
            }
        }
    }

    /// A layout gives the same offset for an index and for its coordinate, also beyond its size.
    #[test]
    fn evaluation(a in layouts()) {
        for i in 0..2 * size(&a) {
            prop_assert_eq!(a.offset_of(i)?, offset(&a, i));
            let coord = Coord::from(idx2crd(&IntTuple::from(i), &a.shape())?);
            prop_assert_eq!(a.eval(&coord)?, IntTuple::from(offset(&a, i)));
        }
    }

    /// Tiles that leave no remainder in any mode are told from those that do.
    #[test]
    fn even_division(pairs in vec((1i64..9, 1i64..9), 1..4)) {
        let shape: IntTuple = pairs.iter().map(|(s, _)| Tuple::Leaf(Int::from(*s))).collect();
        let tile: IntTuple = pairs.iter().map(|(_, t)| Tuple::Leaf(Int::from(*t))).collect();
        let even = pairs.iter().all(|(s, t)| s % t == 0);
        prop_assert_eq!(shape.evenly_divides(&tile)?, Some(even));
        let counts: Vec<i64> = shape.ceil_div(&tile)?.leaves().into_iter().map(number).collect();
        prop_assert_eq!(counts, pairs.iter().map(|(s, t)| (s + t - 1) / t).collect::<Vec<_>>());
    }
}
