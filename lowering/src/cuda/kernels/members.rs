//! The problems of a group, as a kernel for all of them sees them: which one a tile is of, and that problem's parameters.
//!
//! A parameter that differs between the problems is an array of what each has ([`Param::Each`]); a kernel reads the elements of the problem that it is at.

use crate::cuda::emit::{memory, scalar::ScalarOps};
use aitmlir_dialects::{
    builder::{Builder, results_of},
    types::{Types, Val},
};
use kernel_launch::Param;

/// The parameters of a problem, from the kernel's; these are those where there is one problem.
pub fn arguments<'c>(b: Builder<'c>, list: &[Param], params: &[Val<'c>], problem: Val<'c>) -> Vec<Val<'c>> {
    let of_problem = |(param, value): (&Param, &Val<'c>)| match param {
        Param::Each(each) => element(b, *value, problem, each),
        _ => *value,
    };
    list.iter().zip(params).map(of_problem).collect()
}

/// Element `problem` of an array of parameters: a scalar's value, or the address of a tensor map.
fn element<'c>(b: Builder<'c>, array: Val<'c>, problem: Val<'c>, each: &[Param]) -> Val<'c> {
    let (bytes, r#type) = match each.first() {
        Some(Param::Map(_)) => (128, None),
        Some(Param::I32(_)) => (4, Some(b.context().int_type(32))),
        Some(Param::Pointer { .. } | Param::Workspace { .. }) => (8, Some(memory::global_pointer(b))),
        _ => (8, Some(b.context().int_type(64))),
    };
    let place = memory::offset(b, array, b.wide_u(b.mul_c(problem, bytes)));
    r#type.map_or(place, |r#type| b.op1("llvm.load", &[place], r#type, &[]))
}

/// The number of the problem of `count` that a tile is of, and the number of that problem's first tile, from those of an earlier tile; `tiles` gives how many tiles a
/// problem has. Past the last tile it is the last problem.
pub fn find<'c>(
    b: Builder<'c>,
    tile: Val<'c>,
    count: Val<'c>,
    from: [Val<'c>; 2],
    tiles: impl FnOnce(Builder<'c>, Val<'c>) -> Val<'c>,
) -> Vec<Val<'c>> {
    let i32_type = b.context().int_type(32);
    let before = b.region(&[i32_type; 2], |b, at| {
        let end = b.addi(at[1], tiles(b, at[0]));
        let more = b.cmpi("slt", b.add_c(at[0], 1), count);
        let further = b.and(b.cmpi("sge", tile, end), more);
        b.op("scf.condition", &[further, at[0], at[1], end], &[], &[], vec![]);
    });
    let after = b.region(&[i32_type; 3], |b, at| {
        b.op("scf.yield", &[b.add_c(at[0], 1), at[2]], &[], &[], vec![]);
    });
    results_of(b.op("scf.while", &from, &[i32_type; 3], &[], vec![before, after]))[..2].to_vec()
}
