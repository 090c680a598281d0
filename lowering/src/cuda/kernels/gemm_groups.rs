//! `ait.gemm` with offsets: rows of groups, and a matrix of B for each group.

use super::{
    Operand, Whole,
    gemm::{broadcast, broadcast_stride, known, plain_problem, tidy},
    gemm_sm90::{
        Config,
        choose::{Sizes, adapted},
    },
    problem::{Extra, Problem},
    sequences::Sequences,
};
use crate::cpu::Unsupported;
use aitmlir_dialects::types::TypeExt;
use kernel_launch::Expr;

/// The op as a problem: the matrices of B are a batch, of which each group has one.
pub(super) fn problem(whole: &Whole<'_, '_>) -> Result<Problem, Unsupported> {
    let counts = ["others", "extras"].map(|group| whole.op.group(group).len());
    let extras = 2 + counts[0];
    let (Some(right), Some(offsets)) = (whole.operands.get(1), whole.operands.get(extras + counts[1])) else {
        return Err(Unsupported("has too few operands".to_owned()));
    };
    // Borders of more groups than there are matrices are wrong borders: the last one does not end at the last row.
    let count = match (offsets.sizes[0].clone().minus(1), right.sizes[0].clone()) {
        (borders, matrices) if borders == matrices => matrices,
        (borders, matrices) => borders.min(matrices),
    };
    let of_groups = |extra: &Operand<'_>, product: &[Expr]| {
        let sizes = [std::slice::from_ref(&count), product].concat();
        let batch = match extra.sizes.len() {
            3 => Some(broadcast_stride(&extra.sizes[0], &extra.strides[0], &count)),
            _ => None,
        };
        broadcast(extra, &sizes).map(|e| Extra { batch: batch.filter(|stride| *stride != Expr::Const(0)), ..e })
    };
    let (mut problem, _) = plain_problem(whole, of_groups)?;
    problem.batch = count.clone();
    problem.b.batch = Some(right.strides[0].clone());
    if let (Some(other), Some(operand)) = (&mut problem.other, whole.operands.get(2)) {
        other.batch = Some(operand.strides[0].clone());
    }
    problem.dims.push("site of the launch".to_owned());
    problem.groups = Some(Sequences {
        offsets: offsets.number,
        wide: offsets.element.bits() == 64,
        total: problem.m.clone(),
        max_length: None,
        count,
        record: whole.operands.len() as u32,
        site: Expr::Dim(problem.dims.len() as u32 - 1),
    });
    tidy(&mut problem);
    Ok(problem)
}

/// Groups whose number is known at run time only.
const MANY_GROUPS: i64 = 8;

/// The groups of a product as if all had the same number of rows: `rows` where that is known at run time only.
pub(super) fn sizes(all: &Sizes, groups: &Sequences, rows: i64) -> Vec<Sizes> {
    let count = known(&groups.count).unwrap_or(MANY_GROUPS);
    let m = match (known(&groups.total), known(&groups.count)) {
        (Some(total), Some(count)) => total / count.max(1),
        _ => rows,
    };
    vec![Sizes { m: m.max(1), batch: 1, ..*all }; usize::try_from(count).unwrap_or(0)]
}

/// The configuration for groups of more rows than one tile of few: of those measured on an H200, tiles of 128x128 in turn lose least where groups are uneven or end inside a tile.
pub(super) fn for_many_rows(sizes: &[Sizes], tma_store: bool) -> Option<Config> {
    let many = sizes.first().is_some_and(|sizes| sizes.m > 64);
    many.then(|| adapted(Config::PING_PONG, tma_store))
}
