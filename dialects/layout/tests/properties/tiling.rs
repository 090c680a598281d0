//! Divisions, products, tiles, pieces.

use std::collections::BTreeSet;

use cute_layout::{Layout, ThreadValue, Tile, Tuple, domain_distribute};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::oracle::{
    compact, gapped, image, injective, ints, layout, layouts, number, offset, offsets, shapes, size, some_modes,
};

const POWERS: &[i64] = &[1, 2, 4];

/// A layout of two or three plain modes, and a tile size for each.
fn matrix() -> impl Strategy<Value = (Layout, Vec<i64>)> {
    (2usize..=3).prop_flat_map(|rank| {
        let modes = vec((1i64..=8, select(&[0, 1, 3, 8, 40][..])), rank);
        (modes, vec(1i64..=5, rank)).prop_map(|(modes, tile)| {
            let leaves = modes.into_iter().map(|(s, d)| Layout::leaf(s, d).expect("a mode"));
            (Layout::from_modes(leaves), tile)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Element `t` of tile `r` of a mode is its element `r * tile + t`.
    #[test]
    fn zipped_divide_by_a_shape((a, sizes) in matrix()) {
        let tile = Tile::from(sizes.iter().map(|&s| Tuple::Leaf(s.into())).collect::<cute_layout::IntTuple>());
        let zipped = a.zipped_divide(&tile)?;
        let [inside, outside] = [zipped.get(&[0])?, zipped.get(&[1])?];
        for (i, ((mode, &s), (t, r))) in
            a.modes().iter().zip(&sizes).zip(inside.modes().into_iter().zip(outside.modes())).enumerate()
        {
            prop_assert_eq!(size(&t), s);
            prop_assert_eq!(size(&r), (size(mode) + s - 1) / s, "mode {}", i);
            for (x, y) in (0..s).flat_map(|x| (0..size(&r)).map(move |y| (x, y))) {
                prop_assert_eq!(offset(&t, x) + offset(&r, y), offset(mode, y * s + x));
            }
        }
        // The other forms only group differently.
        prop_assert_eq!(a.flat_divide(&tile)?, zipped.get(&[0])?.modes().into_iter().chain(outside.modes()).collect_layout());
        prop_assert_eq!(offsets(&a.tiled_divide(&tile)?), offsets(&zipped));
        let logical = a.logical_divide(&tile)?;
        for (i, mode) in logical.modes().iter().enumerate() {
            prop_assert_eq!(mode, &Layout::from_modes([inside.get(&[i])?, outside.get(&[i])?]));
        }
    }

    /// A tile of any form, and everything else once.
    #[test]
    fn logical_divide_by_a_layout(a in compact(&[4, 8]), b in gapped(&[1, 2], &[1, 2])) {
        let ends = b.tree().leaves().iter().map(|m| number(&m.size) * number(&m.stride.scale)).max();
        prop_assume!(ends.unwrap_or(1) <= size(&a));
        let divided = a.logical_divide(&Tile::from(b.clone()))?;
        prop_assert_eq!(divided.get(&[0])?, a.compose(&b)?);
        prop_assert_eq!(image(&divided), image(&a));
        prop_assert!(injective(&divided));
    }

    /// Whatever the sizes are, a division that is not refused loses no element.
    #[test]
    fn divisions_lose_nothing(a in layouts(), b in gapped(&[1, 2, 3, 4, 6], &[1, 2, 3])) {
        if let Ok(divided) = a.logical_divide(&Tile::from(b)) {
            prop_assert!(size(&divided) >= size(&a), "{} becomes {}", a, divided);
        }
    }

    /// The block itself, and copies of it that never meet, in the order of the tiler.
    #[test]
    fn logical_product(a in gapped(POWERS, &[1, 2, 4]), b in gapped(POWERS, &[1, 2])) {
        let product = a.logical_product(&b)?;
        prop_assert_eq!(product.get(&[0])?, a.clone());
        prop_assert!(injective(&product), "{} x {} = {}", a, b, product);
        let copies = product.get(&[1])?;
        let order: Vec<usize> = ranks(&offsets(&b));
        prop_assert_eq!(ranks(&offsets(&copies)), order, "copies come in the order of {}", b);
    }

    /// Blocked and raked products are the logical product with its modes paired.
    #[test]
    fn paired_products(a in gapped(POWERS, &[1, 2]), b in gapped(POWERS, &[1, 2])) {
        let product = a.logical_product(&b)?;
        let (blocked, raked) = (a.blocked_product(&b)?, a.raked_product(&b)?);
        prop_assert_eq!(image(&blocked), image(&product));
        prop_assert_eq!(image(&raked), image(&product));
        prop_assert_eq!(blocked.rank(), a.rank().max(b.rank()));
        for (i, mode) in blocked.modes().iter().enumerate().take(a.rank()) {
            prop_assert_eq!(mode.get(&[0])?, a.get(&[i])?);
        }
        let zipped = a.zipped_product(&Tile::from(b.clone()))?;
        prop_assert_eq!(offsets(&zipped), offsets(&product));
        prop_assert_eq!(offsets(&a.tiled_product(&Tile::from(b.clone()))?), offsets(&product));
        prop_assert_eq!(offsets(&a.flat_product(&Tile::from(b))?), offsets(&product));
    }

    /// The shape is covered once, and the first block is the block.
    #[test]
    fn tile_to_shape(block in compact(POWERS), counts in vec(1i64..4, 4)) {
        let sizes: Vec<i64> = block.modes().iter().map(size).zip(&counts).map(|(s, n)| s * n).collect();
        let shape: cute_layout::IntTuple = sizes.iter().map(|&s| Tuple::Leaf(s.into())).collect();
        let tiled = block.tile_to_shape(&shape, None)?;
        prop_assert_eq!(tiled.modes().iter().map(size).collect::<Vec<_>>(), sizes);
        prop_assert_eq!(image(&tiled), (0..size(&tiled)).collect::<BTreeSet<_>>());
        for (mode, whole) in block.modes().iter().zip(tiled.modes()) {
            prop_assert!((0..size(mode)).all(|i| offset(mode, i) == offset(&whole, i)));
        }
    }

    /// Compact in the order that is asked for.
    #[test]
    fn ordered(shape in shapes(&[2, 3, 4]), seed in vec(0i64..4, 4)) {
        let rank = shape.modes().len();
        let order: cute_layout::IntTuple = seed.iter().take(rank).map(|&o| Tuple::Leaf(o.into())).collect();
        let shape = Tuple::Node(shape.modes().to_vec());
        let made = Layout::ordered(&ints(&shape), &order)?;
        prop_assert_eq!(made.shape(), ints(&shape));
        prop_assert_eq!(image(&made), (0..size(&made)).collect::<BTreeSet<_>>());
        let first = made.modes().iter().map(|m| offset(m, 1)).collect::<Vec<_>>();
        for (i, j) in (0..rank).flat_map(|i| (0..rank).map(move |j| (i, j))) {
            if (seed[i], i) < (seed[j], j) {
                prop_assert!(first[i] < first[j], "{} by {}", made, order);
            }
        }
    }

    /// The same shape, compact up to repetition, strides in the same order.
    #[test]
    fn like(a in layouts()) {
        for made in [a.like()?, a.fragment_like()?] {
            prop_assert_eq!(made.shape(), a.shape());
            let filtered = made.filter_zeros();
            prop_assert_eq!(image(&filtered), (0..size(&filtered)).collect::<BTreeSet<_>>());
            for (before, after) in a.tree().leaves().iter().zip(made.tree().leaves()) {
                prop_assert_eq!(before.stride.is_zero(), after.stride.is_zero());
            }
        }
        prop_assert!(same_order(&a, &a.like()?), "{} like {}", a.like()?, a);
    }

    /// Every tile of a partition is what the coordinate says.
    #[test]
    fn local_tile((a, sizes) in matrix()) {
        let tile = Tile::from(sizes.iter().map(|&s| Tuple::Leaf(s.into())).collect::<cute_layout::IntTuple>());
        let zipped = a.zipped_divide(&tile)?;
        let rest = zipped.get(&[1])?;
        for r in 0..size(&rest) {
            let piece = a.local_tile(&tile, &r.into())?;
            let start = number(piece.offset.as_leaf().expect("a plain offset"));
            prop_assert_eq!(start, offset(&rest, r));
            prop_assert_eq!(offsets(&piece.layout), offsets(&zipped.get(&[0])?));
        }
    }

    /// Threads share out the elements: each one once.
    #[test]
    fn local_partition(threads in compact(&[1, 2, 4]), repeat in 1i64..3) {
        let shape: cute_layout::IntTuple = threads.modes().iter().map(|m| Tuple::Leaf((size(m) * repeat).into())).collect();
        let a = Layout::row_major(&shape)?;
        let mut seen = BTreeSet::new();
        for t in 0..size(&threads) {
            let piece = a.local_partition(&threads, &t.into())?;
            let start = number(piece.offset.as_leaf().expect("a plain offset"));
            prop_assert!(offsets(&piece.layout).iter().all(|o| seen.insert(start + o)));
        }
        prop_assert_eq!(seen.len() as i64, size(&a));
    }

    /// Threads and values reach every element of the tile once.
    #[test]
    fn thread_value_layouts(threads in compact(&[1, 2, 4]), values in compact(&[1, 2, 4])) {
        let rank = threads.rank().max(values.rank());
        let tv = ThreadValue::new(&threads.append_to_rank(rank)?, &values.append_to_rank(rank)?)?;
        prop_assert_eq!(size(&tv.layout.get(&[0])?), size(&threads));
        prop_assert_eq!(size(&tv.layout.get(&[1])?), size(&values));
        prop_assert_eq!(image(&tv.layout), (0..number(&tv.tiler.product()?)).collect::<BTreeSet<_>>());
        let back = tv.inverse()?;
        prop_assert!((0..size(&tv.layout)).all(|i| offset(&back, offset(&tv.layout, i)) == i));
    }

    /// Modes under `_` and the offset of the rest make up the whole.
    #[test]
    fn slices(a in layouts(), picks in vec(any::<bool>(), 4), seed in 0i64..1000) {
        let coord: cute_layout::Coord = a.modes().iter().zip(&picks).map(|(mode, &open)| {
            Tuple::Leaf(if open { cute_layout::Slot::All } else { cute_layout::Slot::At((seed % size(mode)).into()) })
        }).collect();
        let a = Layout::from_modes(a.modes());
        let (open, fixed) = a.slice_and_offset(&coord)?;
        let start = number(fixed.as_leaf().expect("a plain offset"));
        let whole = a.dice(&coord)?;
        prop_assert_eq!(size(&open) * size(&whole), size(&a));
        prop_assert!(offsets(&open).iter().all(|o| image(&a).contains(&(start + o))));
    }

    /// Picking modes changes nothing but their order.
    #[test]
    fn selections((a, modes) in layouts().prop_flat_map(|a| { let r = a.rank(); (Just(a), some_modes(r)) })) {
        let picked = a.select(&modes)?;
        for (at, &mode) in modes.iter().enumerate() {
            prop_assert_eq!(picked.get(&[at])?, a.get(&[mode])?);
        }
        let grouped = a.group_modes(0, modes.len())?;
        prop_assert_eq!(offsets(&grouped), offsets(&a));
        prop_assert_eq!(offsets(&a.flatten()), offsets(&a));
    }

    /// As many elements as have common divisors, all within the domain, each once.
    #[test]
    fn distributes(shape in shapes(POWERS), count in select(&[1i64, 2, 4, 8, 16][..])) {
        let d = domain_distribute(&ints(&shape), count)?;
        let domain = number(&ints(&shape).product()?);
        prop_assert!(injective(&d) && offsets(&d).iter().all(|&o| o < domain));
        prop_assert_eq!(size(&d), count.min(domain));
    }
}

/// The rank of every value among all of them.
fn ranks(values: &[i64]) -> Vec<usize> {
    let sorted: BTreeSet<i64> = values.iter().copied().collect();
    let sorted: Vec<i64> = sorted.into_iter().collect();
    values.iter().filter_map(|v| sorted.binary_search(v).ok()).collect()
}

/// Whether strides that differ in one are in the same order in the other.
fn same_order(a: &Layout, b: &Layout) -> bool {
    let strides =
        |l: &Layout| l.tree().leaves().iter().map(|m| (number(&m.size), number(&m.stride.scale))).collect::<Vec<_>>();
    let (a, b) = (strides(a), strides(b));
    let live = |i: &usize| a[*i].0 > 1 && a[*i].1 > 0;
    (0..a.len()).filter(live).all(|i| (0..a.len()).filter(live).all(|j| a[i].1 >= a[j].1 || b[i].1 < b[j].1))
}

trait CollectLayout {
    fn collect_layout(self) -> Layout;
}

impl<I: Iterator<Item = Layout>> CollectLayout for I {
    fn collect_layout(self) -> Layout {
        Layout::from_modes(self)
    }
}

/// The accumulator of two by two m16n8 atoms on a 64x32 tile: the fragment formula of the PTX ISA.
#[test]
fn fragments_of_an_mma() -> cute_layout::Result<()> {
    let atom = ThreadValue::of_atom("(16,8)".parse()?, layout("((4,8),(2,2)):((32,1),(16,8))"))?;
    let tile = layout("(64,32):(32,1)");
    let fragments = tile.fragments(&atom, &"(2,2)".parse()?)?;
    for (lane, m, n, v, rest) in every(&[32, 2, 2, 4, 4]) {
        let row = lane / 4 + v / 2 * 8 + (m + rest % 2 * 2) * 16;
        let column = lane % 4 * 2 + v % 2 + (n + rest / 2 * 2) * 8;
        let coord = format!("(({lane},({m},{n})),({v},{rest}))");
        assert_eq!(fragments.eval(&coord.parse()?)?, (row * 32 + column).into(), "{coord}");
    }
    Ok(())
}

fn every(sizes: &[i64; 5]) -> Vec<(i64, i64, i64, i64, i64)> {
    let total: i64 = sizes.iter().product();
    let digits = |mut i: i64| {
        sizes.map(|s| {
            let digit = i % s;
            i /= s;
            digit
        })
    };
    (0..total).map(digits).map(|[a, b, c, d, e]| (a, b, c, d, e)).collect()
}
