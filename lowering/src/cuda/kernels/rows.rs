//! Kernels in which a CTA does whole rows: passes over a row by all threads, with values combined between them.

use super::{
    chunks::{Code, Pass},
    threads::{Combine, all_reduce, register},
};
use crate::cpu::{
    Kernel,
    domain::{Domain, decode},
    view::product,
};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, Val},
};
use kernel_launch::Expr;

/// A domain seen as rows.
pub struct Rows<'a, 'c> {
    /// The kernel.
    pub k: &'a Kernel<'c>,
    /// The views.
    pub domain: &'a Domain<'c>,
    /// The groups that tell rows apart.
    pub kept: Vec<usize>,
    /// The groups that are walked in a row, at least one.
    pub along: Vec<usize>,
    /// Threads of the CTA.
    pub threads: u32,
}

impl<'a, 'c> Rows<'a, 'c> {
    /// Rows along the axes that `along` names. None where rows are not contiguous in memory, the innermost group being among
    /// those that tell rows apart: then a thread a row is better.
    pub fn new(k: &'a Kernel<'c>, domain: &'a Domain<'c>, along: &dyn Fn(usize) -> bool) -> Option<Self> {
        let (kept, walked) = (domain.groups_of(|i| !along(i)), domain.groups_of(along));
        let last = domain.groups.len().checked_sub(1)?;
        if walked.last() != Some(&last) {
            return None;
        }
        let threads = threads_for(domain, &walked);
        Some(Self { k, domain, kept, along: walked, threads })
    }

    /// Elements of a row.
    pub fn length(&self, b: Builder<'c>) -> Val<'c> {
        product(b, &self.along.iter().map(|g| self.domain.sizes[*g]).collect::<Vec<_>>())
    }

    /// Emits `row` for the rows of this CTA, with the views' offsets of its beginning.
    pub fn each(&self, b: Builder<'c>, row: impl FnOnce(Builder<'c>, &[Val<'c>])) {
        let sizes: Vec<_> = self.kept.iter().map(|g| self.domain.sizes[*g]).collect();
        let (first, step) = (register(b, "ctaid.x"), register(b, "nctaid.x"));
        b.for_(first, product(b, &sizes), step, &[], |b, i, _| {
            let coordinates = decode(b, i, &sizes);
            let offsets = self
                .kept
                .iter()
                .zip(&coordinates)
                .fold(self.domain.origin(), |offsets, (g, c)| self.domain.step(b, *g, *c, &offsets));
            row(b, &offsets);
            vec![]
        });
    }

    /// Folds over view `read` of a row by all threads; every thread gets the result.
    pub fn fold(
        &self,
        b: Builder<'c>,
        offsets: &[Val<'c>],
        read: usize,
        init: Val<'c>,
        step: &dyn Fn(Builder<'c>, Val<'c>, Val<'c>) -> Val<'c>,
        combine: &dyn Fn(Builder<'c>, Val<'c>, Val<'c>) -> Val<'c>,
    ) -> Val<'c> {
        let own = self.pass(b, offsets, &[read], &[], &[init], &|b: Builder<'c>, _, x, acc| {
            (vec![], vec![step(b, acc[0], x[0])])
        });
        let combine: &Combine<'_, 'c> = &|b, x, y| vec![combine(b, x[0], y[0])];
        all_reduce(self.k, b, self.threads, &own, combine)[0]
    }

    /// A pass over a row by all threads.
    pub fn pass(
        &self,
        b: Builder<'c>,
        offsets: &[Val<'c>],
        reads: &[usize],
        writes: &[usize],
        carried: &[Val<'c>],
        code: &Code<'_, 'c>,
    ) -> Vec<Val<'c>> {
        let (first, step) = (register(b, "tid.x"), b.index(i64::from(self.threads)));
        let pass = Pass { domain: self.domain, groups: &self.along, offsets, reads, writes };
        pass.run(b, first, step, carried, code)
    }
}

/// The grid of a kernel that does `rows` rows.
pub fn grid_of_rows(rows: Expr) -> [Expr; 3] {
    [rows.min(Expr::Sms.times(32)), 1.into(), 1.into()]
}

/// Threads for rows of the length that is known at compile time, about eight elements each; a middle number where it is not known.
fn threads_for(domain: &Domain<'_>, along: &[usize]) -> u32 {
    let axes = along.iter().flat_map(|g| &domain.groups[*g].axes);
    let length =
        axes.map(|a| domain.views[0].axes[*a].static_size).try_fold(1i64, |n, s| (s != DYNAMIC).then(|| n * s));
    let wanted = length.map_or(128, |n| (n + 7) / 8);
    [32, 64, 128, 256].into_iter().find(|t| wanted <= i64::from(*t)).unwrap_or(512)
}
