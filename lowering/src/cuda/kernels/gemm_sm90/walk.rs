//! The walk of a CTA over the units of work: of one problem, or of a group of problems, one after the other; or of the groups of one problem's rows.
//!
//! Where rows are grouped, every warp first counts the tiles of all groups (and looks at their borders). A group is then what a problem is elsewhere: a matrix of its rows, whose
//! addresses are moved to its first row. Tensor maps are of all rows: coordinates in them count from the first row of all.
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
        let tiles = match (self.counted, self.gemm.slots.all_tiles) {
            (Some(counted), _) => counted,
            (None, Some(all)) => all.i32(b, self.params),
            (None, None) => self.tiles(b),
        };
        b.mul_c(tiles, split)
    }

    /// Tiles of the problem, or groups of tiles that share an operand.
    pub(super) fn tiles(&self, b: Builder<'c>) -> Val<'c> {
        let [rows, columns] = self.gemm.config.reach(self.gemm.problem);
        let tiles = b.muli(b.ceil_div_c(self.m, rows), b.ceil_div_c(self.n, columns));
        if self.group.is_some() { tiles } else { b.muli(tiles, self.batch) }
    }

    /// The tiles of all groups of rows, counted by this warp; none where there are no groups. What is wrong with their borders is recorded by one warp of all.
    pub(super) fn counted_tiles(&self, b: Builder<'c>, warp: Val<'c>) -> Option<Val<'c>> {
        let groups = self.gemm.slots.groups.as_ref()?;
        let config = &self.gemm.config;
        let [rows, columns] = config.reach(self.gemm.problem);
        let (along_rows, across, columns) =
            if config.swapped { (columns, self.m, rows) } else { (rows, self.n, columns) };
        let reports = b.cmpi("eq", b.or(b.sreg("ctaid.x"), warp), b.c32(0));
        let row_tiles = groups.row_tiles(b, self.params, along_rows, reports);
        Some(b.muli(row_tiles, b.ceil_div_c(across, columns)))
    }

    /// Where a walk begins: what [`Frame::find`] takes on. Nothing where there is one problem.
    pub(super) fn begin(&self, b: Builder<'c>) -> Vec<Val<'c>> {
        let several = self.gemm.members > 1 || self.gemm.slots.groups.is_some();
        if several { vec![b.c32(0), b.c32(0)] } else { vec![] }
    }

    /// The problem that unit `index` is in, and its first tile, from those of an earlier unit. Past the last unit it is the last problem.
    pub(super) fn find(&self, b: Builder<'c>, index: Val<'c>, from: &[Val<'c>]) -> Vec<Val<'c>> {
        let [problem, first] = from else { return vec![] };
        let tile = b.div_c(index, i64::from(self.gemm.config.split));
        let count = match &self.gemm.slots.groups {
            Some(groups) => groups.count(b, self.params),
            None => b.c32(self.gemm.members as i64),
        };
        members::find(b, tile, count, [*problem, *first], |b, problem| {
            self.within(b, &[problem, *first], |frame| frame.tiles(b))
        })
    }

    /// The frame of the problem that [`Frame::find`] has found.
    pub(super) fn within<R>(&self, b: Builder<'c>, at: &[Val<'c>], body: impl FnOnce(&Frame<'_, 'c>) -> R) -> R {
        let [problem, first] = at else { return body(self) };
        if let Some(groups) = &self.gemm.slots.groups {
            let own = groups.at(b, self.params, *problem, false);
            let mut args = self.params.to_vec();
            self.gemm.slots.elements.count_from(b, self.gemm.problem, &mut args, own.start);
            let (group, first) = (Some([*problem, own.start]), Some(*first));
            let frame = Frame { args: &args, first, group, ..*self };
            return body(&match self.gemm.config.swapped {
                true => Frame { n: own.length, ..frame },
                false => Frame { m: own.length, ..frame },
            });
        }
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
