//! When are two dimensions one number? A small analysis over the definitions of tensors.

use super::{MatrixLayout, OpView, view};
use crate::{
    builder::defining_op,
    types::{DYNAMIC, TypeExt, Val},
};
use melior::ir::{Attribute, ValueLike};
use std::ffi::c_void;

/// What is known of a dimension. Equal keys are equal numbers; different ones say nothing, unless both are static.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DimKey {
    /// A number.
    Static(i64),
    /// An index value, by its identity.
    Index(*const c_void),
    /// A dimension of a tensor that nothing else is known of.
    Dim(*const c_void, usize),
}

/// The key of dimension `dim` of a tensor.
pub fn dim_key(tensor: Val<'_>, dim: usize) -> DimKey {
    let opaque = DimKey::Dim(tensor.to_raw().ptr, dim);
    match tensor.r#type().shape().get(dim) {
        Some(size) if *size >= 0 => return DimKey::Static(*size),
        None => return opaque,
        _ => {}
    }
    let Some(op) = defining_op(tensor).map(OpView) else { return opaque };
    let shape = tensor.r#type().shape();
    let nth = shape[..dim].iter().filter(|s| **s < 0).count();
    let stated = |value: Option<&Val<'_>>| value.map_or(opaque, |v| index_key(*v));
    let same = |name: &str, at: usize| op.operand(name).map_or(opaque, |v| dim_key(v, at));
    match op.name().as_str() {
        "ait.map" if op.group("dims").is_empty() => broadcast_key(&op.group("inputs"), shape.len(), dim).unwrap_or(opaque),
        "ait.map" | "ait.expand" | "ait.reshape" | "ait.random" | "ait.resize" | "ait.topk" => {
            stated(op.group("dims").get(nth))
        }
        "ait.where" => broadcast_key(&op.operands(), shape.len(), dim).unwrap_or(opaque),
        "ait.cast" | "ait.softmax" | "ait.norm" | "ait.scan" | "ait.scatter" => same("input", dim),
        "ait.slice" => {
            let sizes = op.i64s("static_sizes");
            let nth = sizes.iter().take(dim).filter(|s| **s == DYNAMIC).count();
            stated(op.group("sizes").get(nth))
        }
        "ait.transpose" => match op.i64s("permutation").get(dim).and_then(|p| usize::try_from(*p).ok()) {
            Some(source) => same("input", source),
            None => opaque,
        },
        "ait.concat" if op.i64("axis") != Some(dim as i64) => op.operands().first().map_or(opaque, |v| dim_key(*v, dim)),
        "ait.conv" | "ait.pool" if dim == 0 => same("input", 0),
        "ait.pool" if dim == 1 => same("input", 1),
        "ait.gemm" => gemm_key(op, shape.len(), dim).unwrap_or(opaque),
        "ait.reduce" | "ait.argreduce" if op.group_or_empty("dims").is_empty() => reduced_key(op, dim).unwrap_or(opaque),
        "tensor.cast" => op.operands().first().map_or(opaque, |v| dim_key(*v, dim)),
        _ => opaque,
    }
}

/// The keys of all dimensions.
pub fn shape_key(tensor: Val<'_>) -> Vec<DimKey> {
    (0..tensor.r#type().shape().len()).map(|dim| dim_key(tensor, dim)).collect()
}

fn index_key(value: Val<'_>) -> DimKey {
    let by_identity = DimKey::Index(value.to_raw().ptr);
    let Some(op) = defining_op(value).map(OpView) else { return by_identity };
    match op.name().as_str() {
        "arith.constant" => op.i64("value").map_or(by_identity, DimKey::Static),
        "tensor.dim" => {
            let operands = op.operands();
            match index_key(operands[1]) {
                DimKey::Static(dim) => usize::try_from(dim).map_or(by_identity, |dim| dim_key(operands[0], dim)),
                _ => by_identity,
            }
        }
        _ => by_identity,
    }
}

/// The broadcast of inputs: known where all inputs that can stretch it agree.
fn broadcast_key(inputs: &[Val<'_>], rank: usize, dim: usize) -> Option<DimKey> {
    let mut found = None;
    for input in inputs {
        let Some(own) = (input.r#type().shape().len() + dim).checked_sub(rank) else { continue };
        let key = dim_key(*input, own);
        if key == DimKey::Static(1) {
            continue;
        }
        if found.is_some_and(|f| f != key) {
            return None;
        }
        found = Some(key);
    }
    found
}

fn gemm_key(op: OpView<'_>, rank: usize, dim: usize) -> Option<DimKey> {
    let (a, b) = (op.operand("a")?, op.operand("b")?);
    let (rank_a, rank_b) = (a.r#type().shape().len(), b.r#type().shape().len());
    let col = |name: &str| op.kind::<MatrixLayout>(name) == Some(MatrixLayout::Col);
    if dim + 2 == rank {
        Some(dim_key(a, if col("a_layout") { rank_a - 1 } else { rank_a - 2 }))
    } else if dim + 1 == rank {
        Some(dim_key(b, if col("b_layout") { rank_b - 2 } else { rank_b - 1 }))
    } else {
        broadcast_key(&[a, b], rank, dim)
    }
}

fn reduced_key(op: OpView<'_>, dim: usize) -> Option<DimKey> {
    let input = op.operand("input")?;
    let axes = if op.name() == "ait.argreduce" { vec![op.i64("axis")?] } else { op.i64s("axes") };
    let source = if op.has("keepdims") {
        dim
    } else {
        (0..input.r#type().shape().len()).filter(|d| !axes.contains(&(*d as i64))).nth(dim)?
    };
    Some(dim_key(input, source))
}

/// Is the value a constant tensor?
pub fn is_constant(value: Val<'_>) -> bool {
    constant_value(value).is_some()
}

/// The attribute of a constant tensor.
pub fn constant_value(value: Val<'_>) -> Option<Attribute<'_>> {
    let op = defining_op(value).map(OpView)?;
    matches!(op.name().as_str(), "ait.constant" | "arith.constant").then(|| op.attr("value")).flatten()
}

/// The number that a constant holds in every element, where it does.
pub fn splat_value(value: Val<'_>) -> Option<f64> {
    view::splat(constant_value(value)?)
}
