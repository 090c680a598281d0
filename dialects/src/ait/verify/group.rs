//! Groups of matrix products.

use super::{Verdict, reject};
use crate::{
    ait::{OpView, alike::difference},
    builder::{block_arguments, operations_of},
    types::Val,
};
use melior::ir::ValueLike;

pub fn group(op: OpView<'_>) -> Verdict {
    let Some(block) = op.block(0) else { reject!("region: expected one block") };
    // C1
    let (arguments, operands) = (block_arguments(block), op.operands());
    if arguments.len() != operands.len() {
        reject!("region: expected {} arguments, one for each operand, got {}", operands.len(), arguments.len());
    }
    let unequal = arguments.iter().zip(&operands).position(|(a, o)| a.r#type() != o.r#type());
    if let Some(i) = unequal {
        reject!("region: expected argument #{i} to be {}, got {}", operands[i].r#type(), arguments[i].r#type());
    }
    // C2
    let ops: Vec<_> = operations_of(block).into_iter().map(OpView).collect();
    let Some((end, body)) = ops.split_last().filter(|(end, _)| end.name() == "ait.yield") else {
        reject!("region: expected 'ait.yield' at its end")
    };
    let (members, others): (Vec<OpView<'_>>, Vec<OpView<'_>>) = body.iter().partition(|op| op.name() == "ait.gemm");
    if let Some(other) = others.iter().find(|op| op.name() != "arith.constant") {
        reject!("region: expected 'ait.gemm' and constants, got '{}'", other.name());
    }
    if members.len() < 2 {
        reject!("region: expected two members or more, got {}", members.len());
    }
    let results: Vec<Val<'_>> = members.iter().flat_map(|member| member.results()).collect();
    let yielded = end.operands();
    if yielded != results {
        reject!("region: expected to yield the {} results of all members in order", results.len());
    }
    // C3
    let outside = |member: &OpView<'_>| member.operands().iter().any(|operand| !arguments.contains(operand));
    if let Some(i) = members.iter().position(outside) {
        reject!("member #{i}: expected operands that are arguments of the region");
    }
    // Members are verified after this op: what is read of them next needs operands that are there.
    if members.iter().any(|member| member.operands().len() < 2 || member.results().is_empty()) {
        return Ok(());
    }
    // C6
    if let Some(i) = members.iter().position(|member| !member.group("offsets").is_empty()) {
        reject!("member #{i}: expected no operand 'offsets'");
    }
    // C4
    for (i, member) in members.iter().enumerate().skip(1) {
        if let Some(what) = difference(members[0], *member) {
            reject!("member #{i}: expected to be like member #0, but they differ {what}");
        }
    }
    // C5
    let types = |values: &[Val<'_>]| values.iter().map(|v| v.r#type().to_string()).collect::<Vec<_>>();
    let (own, given) = (types(&op.results()), types(&yielded));
    if own != given {
        reject!("results: expected {}, as yielded, got {}", given.join(", "), own.join(", "));
    }
    Ok(())
}
