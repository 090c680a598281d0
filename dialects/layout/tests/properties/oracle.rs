//! Layouts at random, and what they are by definition.

use std::collections::BTreeSet;

use cute_layout::{Int, IntTuple, Layout, Stride, Tuple};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// The offset of an index by definition: leaf by leaf, first fastest, the last one without a bound.
pub fn offset(layout: &Layout, index: i64) -> i64 {
    let leaves = layout.tree().leaves();
    let mut rest = index;
    let mut sum = 0;
    for (i, mode) in leaves.iter().enumerate() {
        let size = number(&mode.size);
        let here = if i + 1 < leaves.len() { rest % size } else { rest };
        sum += here * number(&mode.stride.scale);
        rest /= size;
    }
    sum
}

pub fn number(int: &Int) -> i64 {
    int.as_static().expect("a static layout")
}

pub fn size(layout: &Layout) -> i64 {
    number(&layout.size().expect("a size"))
}

/// Every offset, in the order of indices.
pub fn offsets(layout: &Layout) -> Vec<i64> {
    (0..size(layout)).map(|i| offset(layout, i)).collect()
}

pub fn image(layout: &Layout) -> BTreeSet<i64> {
    offsets(layout).into_iter().collect()
}

pub fn injective(layout: &Layout) -> bool {
    image(layout).len() as i64 == size(layout)
}

pub fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

pub fn ints(tuple: &Tuple<i64>) -> IntTuple {
    tuple.map(|&i| Int::from(i))
}

pub fn from_parts(shape: &Tuple<i64>, strides: &[i64]) -> Layout {
    let mut next = strides.iter();
    let stride = shape.map(|_| Stride::from(next.next().copied().unwrap_or(0)));
    Layout::new(&ints(shape), &stride).expect("the same structure")
}

/// Leaves grouped into a tree.
fn nested(leaves: Vec<i64>, cuts: Vec<bool>) -> Tuple<i64> {
    let mut modes: Vec<Tuple<i64>> = Vec::new();
    let mut group: Vec<Tuple<i64>> = Vec::new();
    for (leaf, cut) in leaves.into_iter().zip(cuts) {
        group.push(Tuple::Leaf(leaf));
        if cut {
            modes.push(collapse(std::mem::take(&mut group)));
        }
    }
    if !group.is_empty() {
        modes.push(collapse(group));
    }
    collapse(modes)
}

fn collapse(mut modes: Vec<Tuple<i64>>) -> Tuple<i64> {
    if modes.len() == 1 { modes.remove(0) } else { Tuple::Node(modes) }
}

/// A shape of one to three leaves of the given sizes.
pub fn shapes(sizes: &'static [i64]) -> impl Strategy<Value = Tuple<i64>> {
    (1usize..=3)
        .prop_flat_map(move |n| (vec(select(sizes), n), vec(any::<bool>(), n)))
        .prop_map(|(leaves, cuts)| nested(leaves, cuts))
}

/// Any layout of small sizes and strides, of which many repeat offsets.
pub fn layouts() -> impl Strategy<Value = Layout> {
    shapes(&[1, 2, 3, 4, 6]).prop_flat_map(|shape| {
        let leaves = shape.leaves().len();
        vec(select(&[0, 1, 2, 3, 4, 6, 8, 12, 16, 24][..]), leaves)
            .prop_map(move |strides| from_parts(&shape, &strides))
    })
}

/// Layouts that reach every offset below their size once, in any order of modes.
pub fn compact(sizes: &'static [i64]) -> impl Strategy<Value = Layout> {
    gapped(sizes, &[1])
}

/// Layouts whose strides are multiples of what the smaller ones cover: injective, with gaps.
pub fn gapped(sizes: &'static [i64], gaps: &'static [i64]) -> impl Strategy<Value = Layout> {
    shapes(sizes).prop_flat_map(move |shape| {
        let sizes: Vec<i64> = shape.leaves().into_iter().copied().collect();
        let order = Just((0..sizes.len()).collect::<Vec<_>>()).prop_shuffle();
        (order, vec(select(gaps), sizes.len())).prop_map(move |(order, gaps)| {
            let mut strides = vec![0; sizes.len()];
            let mut reached = 1;
            for (at, gap) in order.into_iter().zip(gaps) {
                strides[at] = reached * gap;
                reached *= gap * sizes[at];
            }
            from_parts(&shape, &strides)
        })
    })
}

/// Some of the layout's modes, at least one.
pub fn some_modes(rank: usize) -> impl Strategy<Value = Vec<usize>> {
    subsequence((0..rank).collect::<Vec<_>>(), 1..=rank)
}
