//! When are two matrix products one but for their operands and sizes? Then one kernel can compute both.

use super::OpView;
use crate::{
    builder::{block_arguments, blocks_of, operands_of, operations_of, results_of},
    types::{Blk, Op, TypeExt, Val},
};
use melior::ir::{Type, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// Says in what two `ait.gemm` differ that one kernel cannot compute both; none where they are alike.
pub fn difference(a: OpView<'_>, b: OpView<'_>) -> Option<String> {
    if attributes(a) != attributes(b) {
        return Some("in attributes".to_owned());
    }
    for group in ["others", "extras", "offsets", "dims"] {
        let [own, other] = [a, b].map(|op| op.group(group).len());
        if own != other {
            return Some(format!("in the number of '{group}', {own} and {other}"));
        }
    }
    let (own, others) = (values(a), values(b));
    if own.len() != others.len() {
        return Some(format!("in the number of results, {} and {}", a.results().len(), b.results().len()));
    }
    let described = |value: &Val<'_>| {
        let r#type = value.r#type();
        if r#type.is_tensor() { Ranked(r#type).to_string() } else { r#type.to_string() }
    };
    let unequal = own.iter().zip(&others).map(|(x, y)| (described(x), described(y))).find(|(x, y)| x != y);
    if let Some((x, y)) = unequal {
        return Some(format!("in operands or results, {x} and {y}"));
    }
    let ones = |op: OpView<'_>| -> Vec<bool> {
        op.group("extras").iter().flat_map(|v| v.r#type().shape()).map(|size| size == 1).collect()
    };
    if ones(a) != ones(b) {
        return Some("in the dimensions along which 'extras' are repeated".to_owned());
    }
    let blocks = [a, b].map(|op| op.block(0));
    let same = match blocks {
        [Some(a), Some(b)] => same_code(a, b, &mut HashMap::new()),
        [None, None] => true,
        _ => false,
    };
    (!same).then(|| "in the epilogue".to_owned())
}

fn values(op: OpView<'_>) -> Vec<Val<'_>> {
    op.operands().into_iter().chain(op.results()).collect()
}

/// A tensor type without its sizes.
struct Ranked<'c>(Type<'c>);

impl std::fmt::Display for Ranked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.0.shape().len(), self.0.element_type())
    }
}

/// The attributes of an op but for the sizes of its operand groups.
fn attributes(op: OpView<'_>) -> Vec<(String, String)> {
    // SAFETY: indices below the count; names live as long as the context.
    unsafe {
        let raw = op.0.to_raw();
        (0..mlir_sys::mlirOperationGetNumAttributes(raw))
            .filter_map(|i| {
                let named = mlir_sys::mlirOperationGetAttribute(raw, i);
                let name = super::view::text(mlir_sys::mlirIdentifierStr(named.name))?;
                let value = melior::ir::Attribute::from_raw(named.attribute).to_string();
                (name != "operandSegmentSizes").then_some((name, value))
            })
            .collect()
    }
}

/// Do two blocks compute the same from their arguments? Values from outside are the same only where they are one, or equal constants.
fn same_code<'c>(a: Blk<'c>, b: Blk<'c>, known: &mut HashMap<*const std::ffi::c_void, Val<'c>>) -> bool {
    let (arguments, others) = (block_arguments(a), block_arguments(b));
    let types = |values: &[Val<'c>]| values.iter().map(|v| v.r#type()).collect::<Vec<_>>();
    if types(&arguments) != types(&others) {
        return false;
    }
    known.extend(arguments.iter().zip(&others).map(|(x, y)| (x.to_raw().ptr, *y)));
    // Constants need not stand in the same places.
    let [own, other] =
        [a, b].map(|block| operations_of(block).into_iter().filter(|op| !is_constant(*op)).collect::<Vec<_>>());
    own.len() == other.len() && own.into_iter().zip(other).all(|(x, y)| same_op(x, y, known))
}

fn is_constant(op: Op<'_>) -> bool {
    OpView(op).name() == "arith.constant"
}

fn same_op<'c>(a: Op<'c>, b: Op<'c>, known: &mut HashMap<*const std::ffi::c_void, Val<'c>>) -> bool {
    let (x, y) = (OpView(a), OpView(b));
    let (operands, others) = (operands_of(a), operands_of(b));
    let (results, their) = (results_of(a), results_of(b));
    let regions = a.region_count();
    let same = x.name() == y.name()
        && attributes(x) == attributes(y)
        && regions == b.region_count()
        && operands.len() == others.len()
        && operands.iter().zip(&others).all(|(v, w)| same_value(*v, *w, known))
        && results.len() == their.len()
        && results.iter().zip(&their).all(|(v, w)| v.r#type() == w.r#type());
    if !same {
        return false;
    }
    known.extend(results.iter().zip(&their).map(|(v, w)| (v.to_raw().ptr, *w)));
    (0..regions).all(|i| {
        let (own, other) = (blocks_of(a, i), blocks_of(b, i));
        own.len() == other.len() && own.into_iter().zip(other).all(|(v, w)| same_code(v, w, known))
    })
}

fn same_value<'c>(a: Val<'c>, b: Val<'c>, known: &HashMap<*const std::ffi::c_void, Val<'c>>) -> bool {
    if let Some(value) = known.get(&a.to_raw().ptr) {
        return *value == b;
    }
    let constant = |value: Val<'c>| {
        let op = crate::builder::defining_op(value).filter(|op| is_constant(*op))?;
        Some((OpView(op).attr("value")?, value.r#type()))
    };
    a == b || constant(a).is_some_and(|value| constant(b) == Some(value))
}
