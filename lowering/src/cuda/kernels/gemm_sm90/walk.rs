//! The walk of a CTA over the units of work: of one problem, or of a group of problems, one after the other.
//!
//! A walk knows the problem that it is in and that problem's first tile; it only goes forward. Inside [`Frame::within`] all parameters are those of the
//! unit's problem, so that the rest of the kernel is the same for one problem and for many.

use super::Frame;
use crate::cuda::{
    emit::scalar::ScalarOps,
    kernels::{members, problem::Int},
};
use aitmlir_dialects::{builder::Builder, types::Val};
use kernel_launch::Param;

impl<'a, 'c> Frame<'a, 'c> {
    /// How many units there are for each cluster that shares an operand, or for each CTA.
    pub(super) fn units(&self, b: Builder<'c>) -> Val<'c> {
        if self.gemm.config.stream {
            return self.stream_units(b);
        }
        let split = i64::from(self.gemm.config.split);
        let tiles = match self.gemm.slots.all_tiles {
            Some(all) => all.i32(b, self.params),
            None => self.tiles(b),
        };
        b.mul_c(tiles, split)
    }

    /// Tiles of the problem, or groups of tiles that share an operand.
    pub(super) fn tiles(&self, b: Builder<'c>) -> Val<'c> {
        let [rows, columns] = self.gemm.config.reach(self.gemm.problem);
        let tiles = b.muli(b.ceil_div_c(self.m, rows), b.ceil_div_c(self.n, columns));
        b.muli(tiles, self.batch)
    }

    /// Where a walk begins: what [`Frame::find`] takes on. Nothing where there is one problem.
    pub(super) fn begin(&self, b: Builder<'c>) -> Vec<Val<'c>> {
        if self.gemm.members == 1 { vec![] } else { vec![b.c32(0), b.c32(0)] }
    }

    /// The problem that unit `index` is in, and its first tile, from those of an earlier unit. Past the last unit it is the last problem.
    pub(super) fn find(&self, b: Builder<'c>, index: Val<'c>, from: &[Val<'c>]) -> Vec<Val<'c>> {
        let [problem, first] = from else { return vec![] };
        let tile = b.div_c(index, i64::from(self.gemm.config.split));
        members::find(b, tile, self.gemm.members, [*problem, *first], |b, problem| {
            self.within(b, &[problem, *first], |frame| frame.tiles(b))
        })
    }

    /// The frame of the problem that [`Frame::find`] has found.
    pub(super) fn within<R>(&self, b: Builder<'c>, at: &[Val<'c>], body: impl FnOnce(&Frame<'_, 'c>) -> R) -> R {
        let [problem, first] = at else { return body(self) };
        let args = members::arguments(b, &self.gemm.spec.params, self.params, *problem);
        let [m, n, batch, blocks] = self.gemm.sizes(b, &args);
        body(&Frame { args: &args, first: Some(*first), m, n, batch, blocks, ..*self })
    }

    /// Have all problems as many blocks of K?
    pub(super) fn same_depth(&self) -> bool {
        match self.gemm.slots.k {
            Int::Known(_) => true,
            Int::Param(i) => !matches!(self.gemm.spec.params[i], Param::Each(_)),
        }
    }
}
