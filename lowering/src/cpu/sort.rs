//! A stable bottom-up merge sort of an array of positions.

use super::ext::Ext;
use aitmlir_dialects::{builder::Builder, types::Val};

/// Comes the element at the first position before that at the second, strictly?
pub type Before<'a, 'c> = dyn Fn(Builder<'c>, Val<'c>, Val<'c>) -> Val<'c> + 'a;

/// Sorts the `n` positions 0..n into `order` (with `other` of the same length as working memory). Both are `memref<?xindex>`-like arrays of
/// i64.
pub fn sort<'c>(b: Builder<'c>, (order, other): (Val<'c>, Val<'c>), n: Val<'c>, before: &Before<'_, 'c>) {
    let i64 = aitmlir_dialects::types::Types::int_type(b.context(), 64);
    b.loop_(n, |b, i| b.store(b.index_cast(i, i64), order, &[i]));
    let one = b.index(1);
    b.repeat(&[one], |b, width| {
        let width = width[0];
        let more = b.cmpi("slt", width, n);
        b.when(more, |b| {
            let step = b.times(width, 2);
            b.for_(b.index(0), n, step, &[], |b, start, _| {
                let middle = b.minsi(b.addi(start, width), n);
                let end = b.minsi(b.addi(start, step), n);
                merge(b, (order, other), (start, middle, end), before);
                vec![]
            });
            b.loop_(n, |b, i| b.store(b.load(other, &[i]), order, &[i]));
        });
        (more, vec![b.times(width, 2)])
    });
}

fn merge<'c>(
    b: Builder<'c>,
    (from, to): (Val<'c>, Val<'c>),
    (start, middle, end): (Val<'c>, Val<'c>, Val<'c>),
    before: &Before<'_, 'c>,
) {
    b.for_(start, end, b.index(1), &[start, middle], |b, place, heads| {
        let (left, right) = (heads[0], heads[1]);
        let (left_done, right_done) = (b.cmpi("sge", left, middle), b.cmpi("sge", right, end));
        let bool = aitmlir_dialects::types::Types::int_type(b.context(), 1);
        let index = b.context();
        let index = aitmlir_dialects::types::Types::index_type(index);
        let take_right = b.if_(
            left_done,
            &[bool],
            |b| vec![b.int(bool, 1)],
            |b| {
                b.if_(
                    right_done,
                    &[bool],
                    |b| vec![b.int(bool, 0)],
                    |b| {
                        let position = |at| b.index_cast(b.load(from, &[at]), index);
                        vec![before(b, position(right), position(left))]
                    },
                )
            },
        )[0];
        let chosen = b.select(take_right, right, left);
        b.store(b.load(from, &[chosen]), to, &[place]);
        vec![b.select(take_right, left, b.plus(left, 1)), b.select(take_right, b.plus(right, 1), right)]
    });
}
