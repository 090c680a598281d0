//! `ait.nms`: for each class the best box left is taken and what overlaps it is struck out, until none is left; on one thread.

use super::{
    Kernel, KernelRow, Unsupported,
    ext::{Ext, always},
    runtime::scratch,
    scalar::Num,
    view::View,
};
use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Types, Val},
};
use melior::ir::ValueLike;

pub static ROW: KernelRow = KernelRow { op: "ait.nms", extent: always, body };

/// One class of one image.
struct Class<'a, 'c> {
    boxes: &'a View<'c>,
    scores: &'a View<'c>,
    image: Val<'c>,
    class: Val<'c>,
    center: bool,
    /// One byte a box: may it still be taken?
    alive: Val<'c>,
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let (boxes, scores) = (View::of(b, k.operand("boxes")), View::of(b, k.operand("scores")));
    let (selected, count) = (View::of(b, k.outs[0]), View::of(b, k.outs[1]));
    let scalar = |name: &str| {
        let view = View::of(b, k.operand(name));
        let value = view.load(b, view.offset);
        (Num::of(k.tensor_type(name)), value)
    };
    let (most, iou, threshold) = (scalar("max_per_class").1, scalar("iou_threshold").1, scalar("score_threshold").1);
    let most = b.index_cast(most, b.context().index_type());
    let (i8, i64) = (b.context().int_type(8), b.context().int_type(64));
    let alive = scratch(k, &[(i8, boxes.axes[1].size)])[0];
    let center = k.op.has("center_point_box");
    b.each(lo, hi, |b, _| {
        let found = b.folded(scores.axes[0].size, &[b.index(0)], |b, image, found| {
            b.folded(scores.axes[1].size, found, |b, class, found| {
                let of = Class { boxes: &boxes, scores: &scores, image, class, center, alive };
                vec![of.select(b, &selected, found[0], (most, iou, threshold))]
            })
        })[0];
        count.store(b, b.index_cast(found, i64), count.offset);
    });
    Ok(())
}

impl<'c> Class<'_, 'c> {
    /// Appends the chosen boxes to the `found` rows of `selected`; returns how many there are then.
    fn select(
        &self,
        b: Builder<'c>,
        selected: &View<'c>,
        found: Val<'c>,
        (most, iou, threshold): (Val<'c>, Val<'c>, Val<'c>),
    ) -> Val<'c> {
        let n = self.boxes.axes[1].size;
        let byte = self.alive.r#type().element_type();
        b.loop_(n, |b, i| {
            let good = b.cmpf("ogt", self.score(b, i), threshold);
            b.store(b.op1("arith.extui", &[good], byte, &[]), self.alive, &[i]);
        });
        let room = b.minsi(most, b.subi(selected.axes[0].size, found));
        let (zero, one) = (b.index(0), b.index(1));
        let taken = b.repeat(&[zero], |b, taken| {
            let (best, any) = self.best(b);
            let go = b.and(any, b.cmpi("slt", taken[0], room));
            b.when(go, |b| {
                self.strike(b, best, iou);
                let row = b.addi(found, taken[0]);
                for (column, value) in [self.image, self.class, best].into_iter().enumerate() {
                    let at = selected.at(b, &[row, b.index(column as i64)]);
                    selected.store(b, b.index_cast(value, b.context().int_type(64)), at);
                }
            });
            (go, vec![b.select(go, b.addi(taken[0], one), taken[0])])
        })[0];
        b.addi(found, taken)
    }

    fn score(&self, b: Builder<'c>, i: Val<'c>) -> Val<'c> {
        self.scores.load(b, self.scores.at(b, &[self.image, self.class, i]))
    }

    fn is_alive(&self, b: Builder<'c>, i: Val<'c>) -> Val<'c> {
        let byte = b.load(self.alive, &[i]);
        b.cmpi("ne", byte, b.int(byte.r#type(), 0))
    }

    /// The first box of the highest score among those alive, and whether there is one.
    fn best(&self, b: Builder<'c>) -> (Val<'c>, Val<'c>) {
        let worst = b.float(self.scores.element(), f64::NEG_INFINITY);
        let none = b.index(-1);
        let found = b.folded(self.boxes.axes[1].size, &[worst, none], |b, i, best| {
            let score = self.score(b, i);
            let first = b.cmpi("slt", best[1], b.index(0));
            let better = b.and(self.is_alive(b, i), b.or(first, b.cmpf("ogt", score, best[0])));
            vec![b.select(better, score, best[0]), b.select(better, i, best[1])]
        });
        (found[1], b.cmpi("sge", found[1], b.index(0)))
    }

    /// Corners (low, high) along each of the two directions.
    fn corners(&self, b: Builder<'c>, i: Val<'c>) -> [(Val<'c>, Val<'c>); 2] {
        let field = |j: i64| self.boxes.load(b, self.boxes.at(b, &[self.image, i, b.index(j)]));
        let f = [field(0), field(1), field(2), field(3)];
        [0, 1].map(|d| {
            if self.center {
                let half = b.mulf(f[d + 2], b.float(self.boxes.element(), 0.5));
                (b.subf(f[d], half), b.addf(f[d], half))
            } else {
                (b.binary("arith.minimumf", f[d], f[d + 2]), b.binary("arith.maximumf", f[d], f[d + 2]))
            }
        })
    }

    /// Strikes out box `best` and those that overlap it by more than `iou`.
    fn strike(&self, b: Builder<'c>, best: Val<'c>, iou: Val<'c>) {
        let chosen = self.corners(b, best);
        let area = |b: Builder<'c>, c: [(Val<'c>, Val<'c>); 2]| b.mulf(b.subf(c[0].1, c[0].0), b.subf(c[1].1, c[1].0));
        let chosen_area = area(b, chosen);
        let zero = b.float(self.boxes.element(), 0.0);
        b.loop_(self.boxes.axes[1].size, |b, i| {
            let other = self.corners(b, i);
            let extent = |d: usize| {
                let low = b.binary("arith.maximumf", chosen[d].0, other[d].0);
                let high = b.binary("arith.minimumf", chosen[d].1, other[d].1);
                b.binary("arith.maximumf", b.subf(high, low), zero)
            };
            let common = b.mulf(extent(0), extent(1));
            let union = b.subf(b.addf(chosen_area, area(b, other)), common);
            let overlaps = b.cmpf("ogt", b.divf(common, union), iou);
            let struck = b.or(overlaps, b.cmpi("eq", i, best));
            let byte = b.load(self.alive, &[i]);
            b.store(b.select(struck, b.int(byte.r#type(), 0), byte), self.alive, &[i]);
        });
    }
}
