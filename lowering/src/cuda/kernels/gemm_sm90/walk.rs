//! The walk of a CTA over the units of work: of one problem, or of a group of problems, one after the other.
//!
//! In a kernel for a group, a parameter that differs between the problems is an array of what each has ([`Param::Each`]). A walk knows the problem
//! that it is in and that problem's first tile; it only goes forward. Inside [`Frame::within`] all parameters are those of the unit's problem, so that the
//! rest of the kernel is the same for one problem and for many.

use super::{Frame, Gemm};
use crate::cuda::emit::{memory, scalar::ScalarOps};
use aitmlir_dialects::{
    builder::{Builder, results_of},
    types::{Types, Val},
};
use kernel_launch::Param;
use melior::ir::{Region, Type};

impl Gemm<'_> {
    /// The parameters of a problem of the group, from the kernel's; these are those where there is one problem.
    pub(super) fn arguments<'c>(&self, b: Builder<'c>, params: &[Val<'c>], problem: Val<'c>) -> Vec<Val<'c>> {
        let of_problem = |(param, value): (&Param, &Val<'c>)| match param {
            Param::Each(list) => element(b, *value, problem, list),
            _ => *value,
        };
        self.spec.params.iter().zip(params).map(of_problem).collect()
    }
}

/// Element `problem` of an array of parameters: a scalar's value, or the address of a tensor map.
fn element<'c>(b: Builder<'c>, array: Val<'c>, problem: Val<'c>, list: &[Param]) -> Val<'c> {
    let (bytes, r#type) = match list.first() {
        Some(Param::Map(_)) => (128, None),
        Some(Param::I32(_)) => (4, Some(b.context().int_type(32))),
        Some(Param::Pointer { .. } | Param::Workspace { .. }) => (8, Some(b.parse_type("!llvm.ptr<1>"))),
        _ => (8, Some(b.context().int_type(64))),
    };
    let place = memory::offset(b, array, b.wide_u(b.mul_c(problem, bytes)));
    r#type.map_or(place, |r#type: Type<'c>| b.op1("llvm.load", &[place], r#type, &[]))
}

impl<'a, 'c> Frame<'a, 'c> {
    /// How many units there are for each cluster that shares an operand, or for each CTA.
    pub(super) fn units(&self, b: Builder<'c>) -> Val<'c> {
        let split = i64::from(self.gemm.config.split);
        let tiles = match self.gemm.slots.all_tiles {
            Some(all) => all.i32(b, self.params),
            None => self.tiles(b),
        };
        b.mul_c(tiles, split)
    }

    /// Tiles of the problem, or groups of tiles that share an operand.
    fn tiles(&self, b: Builder<'c>) -> Val<'c> {
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
        let i32_type = b.context().int_type(32);
        let before = b.region(&[i32_type; 2], |b, at| {
            let end = self.within(b, at, |frame| b.addi(at[1], frame.tiles(b)));
            let more = b.cmpi("slt", at[0], b.c32(self.gemm.members as i64 - 1));
            let further = b.and(b.cmpi("sge", tile, end), more);
            b.op("scf.condition", &[further, at[0], at[1], end], &[], &[], vec![]);
        });
        let after = b.region(&[i32_type; 3], |b, at| {
            b.op("scf.yield", &[b.add_c(at[0], 1), at[2]], &[], &[], vec![]);
        });
        let regions: Vec<Region<'c>> = vec![before, after];
        results_of(b.op("scf.while", &[*problem, *first], &[i32_type; 3], &[], regions))[..2].to_vec()
    }

    /// The frame of the problem that [`Frame::find`] has found.
    pub(super) fn within<R>(&self, b: Builder<'c>, at: &[Val<'c>], body: impl FnOnce(&Frame<'_, 'c>) -> R) -> R {
        let [problem, first] = at else { return body(self) };
        let args = self.gemm.arguments(b, self.params, *problem);
        let [m, n, batch, blocks] = self.gemm.sizes(b, &args);
        body(&Frame { args: &args, first: Some(*first), m, n, batch, blocks, ..*self })
    }

    /// Have all problems as many blocks of K?
    pub(super) fn same_depth(&self) -> bool {
        use crate::cuda::kernels::problem::Int;
        match self.gemm.slots.k {
            Int::Known(_) => true,
            Int::Param(i) => !matches!(self.gemm.spec.params[i], Param::Each(_)),
        }
    }
}
