//! Reductions whose results are neighbours in memory: a CTA does 32 neighbouring results, its warps share their elements.

use super::threads::{Shared, register};
use crate::{
    cpu::{
        Kernel,
        domain::{Domain, ceil_div, decode},
        view::product,
    },
    cuda::emit::sync,
};
use aitmlir_dialects::{builder::Builder, types::Val};
use kernel_launch::Expr;
use melior::ir::ValueLike;

/// Results of a CTA: a warp reads a row of them.
const COLUMNS: i64 = 32;
/// Warps of a CTA.
const WARPS: i64 = 16;
/// Elements that a thread has under way at a time.
const AHEAD: i64 = 4;
/// Threads of a CTA.
pub const THREADS: u32 = (COLUMNS * WARPS) as u32;

/// A domain seen as columns.
pub struct Columns<'a, 'c> {
    /// The views.
    pub domain: &'a Domain<'c>,
    /// The groups that tell columns apart, the innermost of all among them.
    pub kept: Vec<usize>,
    /// The groups that a column runs along.
    pub along: Vec<usize>,
}

/// The grid for so many columns.
pub fn grid_of_columns(columns: Expr) -> [Expr; 3] {
    [columns.ceil_div(COLUMNS).min(Expr::Sms.times(32)), 1.into(), 1.into()]
}

impl<'a, 'c> Columns<'a, 'c> {
    /// Columns along the axes that `along` names. None where they are not neighbours.
    pub fn new(domain: &'a Domain<'c>, along: &dyn Fn(usize) -> bool) -> Option<Self> {
        let (kept, walked) = (domain.groups_of(|i| !along(i)), domain.groups_of(along));
        let last = domain.groups.len().checked_sub(1)?;
        (kept.last() == Some(&last) && !walked.is_empty()).then_some(Self { domain, kept, along: walked })
    }

    /// Elements of a column.
    pub fn length(&self, b: Builder<'c>) -> Val<'c> {
        product(b, &self.along.iter().map(|g| self.domain.sizes[*g]).collect::<Vec<_>>())
    }

    /// Emits `column` for the columns of this CTA: with the views' offsets of its beginning, and whether there is one for this lane.
    pub fn each(&self, b: Builder<'c>, column: impl FnOnce(Builder<'c>, &[Val<'c>], Val<'c>)) {
        let Some((last, outer)) = self.kept.split_last() else { return };
        let size = self.domain.sizes[*last];
        let mut sizes: Vec<_> = outer.iter().map(|g| self.domain.sizes[*g]).collect();
        sizes.push(ceil_div(b, size, b.index(COLUMNS)));
        let lane = b.binary("arith.remui", register(b, "tid.x"), b.index(COLUMNS));
        let (first, step) = (register(b, "ctaid.x"), register(b, "nctaid.x"));
        b.for_(first, product(b, &sizes), step, &[], |b, i, _| {
            let coordinates = decode(b, i, &sizes);
            let offsets = outer
                .iter()
                .zip(&coordinates)
                .fold(self.domain.origin(), |offsets, (g, c)| self.domain.step(b, *g, *c, &offsets));
            let at = b.addi(b.muli(coordinates[outer.len()], b.index(COLUMNS)), lane);
            column(b, &self.domain.step(b, *last, at, &offsets), b.cmpi("ult", at, size));
            vec![]
        });
    }

    /// Folds over view `read` of this lane's column by all warps; every thread of the lane gets the result. All threads call it, with `there`
    /// whether the lane has a column.
    pub fn fold(
        &self,
        (k, b): (&Kernel<'c>, Builder<'c>),
        (offsets, there): (&[Val<'c>], Val<'c>),
        read: usize,
        init: Val<'c>,
        step: &dyn Fn(Builder<'c>, Val<'c>, Val<'c>) -> Val<'c>,
        combine: &dyn Fn(Builder<'c>, Val<'c>, Val<'c>) -> Val<'c>,
    ) -> Val<'c> {
        let r#type = init.r#type();
        let thread = register(b, "tid.x");
        let lane = b.binary("arith.remui", thread, b.index(COLUMNS));
        let warp = b.binary("arith.divui", thread, b.index(COLUMNS));
        let own =
            b.if_(there, &[r#type], |b| vec![self.partial(b, offsets, read, warp, init, step)], |_| vec![init])[0];
        let slots = Shared::new(k, b, COLUMNS * WARPS, r#type);
        sync::barrier(b);
        slots.store(b, thread, own);
        sync::barrier(b);
        (0..WARPS)
            .map(|w| slots.load(b, b.addi(b.index(w * COLUMNS), lane)))
            .reduce(|x, y| combine(b, x, y))
            .unwrap_or(init)
    }

    /// The elements `warp`, `warp + WARPS`, ... of a column, a few loads under way at a time.
    fn partial(
        &self,
        b: Builder<'c>,
        offsets: &[Val<'c>],
        read: usize,
        warp: Val<'c>,
        init: Val<'c>,
        step: &dyn Fn(Builder<'c>, Val<'c>, Val<'c>) -> Val<'c>,
    ) -> Val<'c> {
        let sizes: Vec<_> = self.along.iter().map(|g| self.domain.sizes[*g]).collect();
        let (zero, one) = (b.index(0), b.index(1));
        let rest = b.maxsi(b.subi(product(b, &sizes), warp), zero);
        let steps = ceil_div(b, rest, b.index(WARPS));
        let load = |b: Builder<'c>, i: Val<'c>| {
            let coordinates = decode(b, b.addi(warp, b.muli(i, b.index(WARPS))), &sizes);
            let at = self
                .along
                .iter()
                .zip(&coordinates)
                .fold(offsets.to_vec(), |offsets, (g, c)| self.domain.step(b, *g, *c, &offsets));
            self.domain.views[read].load(b, at[read])
        };
        let rounds = b.binary("arith.divui", steps, b.index(AHEAD));
        let sum = b.for_(zero, rounds, one, &[init], |b, round, acc| {
            let first = b.muli(round, b.index(AHEAD));
            let values: Vec<_> = (0..AHEAD).map(|n| load(b, b.addi(first, b.index(n)))).collect();
            vec![values.into_iter().fold(acc[0], |acc, x| step(b, acc, x))]
        });
        let done = b.muli(rounds, b.index(AHEAD));
        b.for_(done, steps, one, &sum, |b, i, acc| vec![step(b, acc[0], load(b, i))])[0]
    }
}
