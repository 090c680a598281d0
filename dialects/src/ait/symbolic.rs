//! When are two dimensions one number? A small analysis over the definitions of tensors.

use super::{GatherKind, MatrixLayout, OpView, view};
use crate::{
    builder::defining_op,
    types::{DYNAMIC, TypeExt, Val},
};
use melior::ir::{Attribute, ValueLike};
use std::{collections::HashMap, ffi::c_void};

/// What is known of a dimension. Equal keys are equal numbers; different ones say nothing, unless both are static.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DimKey {
    /// A number.
    Static(i64),
    /// An index value, by its identity.
    Index(*const c_void),
    /// A dimension of a tensor that nothing else is known of.
    Dim(*const c_void, usize),
    /// A dimension that the arguments of a program name, by the identity of the name: the runtime checks that its sizes agree.
    Named(*const c_void),
}

/// The key of dimension `dim` of a tensor.
pub fn dim_key(tensor: Val<'_>, dim: usize) -> DimKey {
    Keys::default().dim(tensor, dim)
}

/// The keys of all dimensions.
pub fn shape_key(tensor: Val<'_>) -> Vec<DimKey> {
    let mut keys = Keys::default();
    (0..tensor.r#type().shape().len()).map(|dim| keys.dim(tensor, dim)).collect()
}

/// The keys found so far in one question: a value that is reached on many paths is looked at once.
#[derive(Default)]
struct Keys(HashMap<(*const c_void, usize), DimKey>);

impl Keys {
    fn dim(&mut self, tensor: Val<'_>, dim: usize) -> DimKey {
        let place = (tensor.to_raw().ptr, dim);
        if let Some(known) = self.0.get(&place) {
            return *known;
        }
        let key = self.find(tensor, dim);
        self.0.insert(place, key);
        key
    }

    fn find(&mut self, tensor: Val<'_>, dim: usize) -> DimKey {
        let opaque = DimKey::Dim(tensor.to_raw().ptr, dim);
        match tensor.r#type().shape().get(dim) {
            Some(size) if *size >= 0 => return DimKey::Static(*size),
            None => return opaque,
            _ => {}
        }
        let Some(op) = defining_op(tensor).map(OpView) else {
            if let Some(operand) = view::operand_of_group(tensor) {
                return self.dim(operand, dim);
            }
            return view::argument_dim(tensor, dim).map_or(opaque, DimKey::Named);
        };
        let shape = tensor.r#type().shape();
        let nth = shape[..dim].iter().filter(|s| **s < 0).count();
        match op.name().as_str() {
            "ait.map" if op.group("dims").is_empty() => {
                self.broadcast(&op.group("inputs"), shape.len(), dim).unwrap_or(opaque)
            }
            "ait.map" | "ait.expand" | "ait.reshape" | "ait.random" | "ait.resize" | "ait.topk" => {
                op.group("dims").get(nth).map_or(opaque, |v| self.index(*v))
            }
            "ait.where" => self.broadcast(&op.operands(), shape.len(), dim).unwrap_or(opaque),
            "ait.cast" | "ait.softmax" | "ait.norm" | "ait.scan" | "ait.scatter" => {
                self.same(op, dim).unwrap_or(opaque)
            }
            "ait.slice" => {
                let sizes = op.i64s("static_sizes");
                let nth = sizes.iter().take(dim).filter(|s| **s == DYNAMIC).count();
                op.group("sizes").get(nth).map_or(opaque, |v| self.index(*v))
            }
            "ait.transpose" => match op.i64s("permutation").get(dim).and_then(|p| usize::try_from(*p).ok()) {
                Some(source) => self.same(op, source).unwrap_or(opaque),
                None => opaque,
            },
            "ait.concat" if op.i64("axis") != Some(dim as i64) => {
                op.operands().first().map_or(opaque, |v| self.dim(*v, dim))
            }
            "ait.conv" | "ait.pool" if dim == 0 => self.same(op, 0).unwrap_or(opaque),
            "ait.pool" if dim == 1 => self.same(op, 1).unwrap_or(opaque),
            "ait.gather" => self.gathered(op, shape.len(), dim).unwrap_or(opaque),
            "ait.group" => view::yielded(op, tensor).map_or(opaque, |v| self.dim(v, dim)),
            "ait.gemm" if op.has("split") => op.group("dims").get(nth).map_or(opaque, |v| self.index(*v)),
            "ait.gemm" => self.gemm(op, shape.len(), dim).unwrap_or(opaque),
            "ait.reduce" | "ait.argreduce" if op.group_or_empty("dims").is_empty() => {
                self.reduced(op, dim).unwrap_or(opaque)
            }
            "tensor.cast" => op.operands().first().map_or(opaque, |v| self.dim(*v, dim)),
            _ => opaque,
        }
    }

    fn index(&mut self, value: Val<'_>) -> DimKey {
        let value = view::operand_of_group(value).unwrap_or(value);
        let by_identity = DimKey::Index(value.to_raw().ptr);
        let Some(op) = defining_op(value).map(OpView) else { return by_identity };
        match op.name().as_str() {
            "arith.constant" => op.i64("value").map_or(by_identity, DimKey::Static),
            "tensor.dim" => {
                let operands = op.operands();
                match self.index(operands[1]) {
                    DimKey::Static(dim) => usize::try_from(dim).map_or(by_identity, |dim| self.dim(operands[0], dim)),
                    _ => by_identity,
                }
            }
            _ => by_identity,
        }
    }

    /// The broadcast of inputs: known where all inputs that can stretch it agree.
    fn broadcast(&mut self, inputs: &[Val<'_>], rank: usize, dim: usize) -> Option<DimKey> {
        let mut found = None;
        for input in inputs {
            let Some(own) = (input.r#type().shape().len() + dim).checked_sub(rank) else { continue };
            let key = self.dim(*input, own);
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

    fn gemm(&mut self, op: OpView<'_>, rank: usize, dim: usize) -> Option<DimKey> {
        let (a, b) = (op.operand("a")?, op.operand("b")?);
        let (rank_a, rank_b) = (a.r#type().shape().len(), b.r#type().shape().len());
        let col = |name: &str| op.kind::<MatrixLayout>(name) == Some(MatrixLayout::Col);
        if dim + 2 == rank {
            Some(self.dim(a, if col("a_layout") { rank_a - 1 } else { rank_a - 2 }))
        } else if dim + 1 == rank {
            Some(self.dim(b, if col("b_layout") { rank_b - 2 } else { rank_b - 1 }))
        } else {
            self.broadcast(&[a, b], rank, dim)
        }
    }

    fn gathered(&mut self, op: OpView<'_>, rank: usize, dim: usize) -> Option<DimKey> {
        let [data, indices] = op.operands()[..] else { return None };
        let (data_rank, index_rank) = (data.r#type().shape().len(), indices.r#type().shape().len());
        match op.kind::<GatherKind>("kind")? {
            GatherKind::Elements => Some(self.dim(indices, dim)),
            GatherKind::Nd if dim + 1 < index_rank => Some(self.dim(indices, dim)),
            GatherKind::Nd => Some(self.dim(data, (data_rank + dim).checked_sub(rank)?)),
            GatherKind::Slices => {
                let axis = usize::try_from(op.i64("axis")?).ok()?;
                match dim.checked_sub(axis) {
                    None => Some(self.dim(data, dim)),
                    Some(within) if within < index_rank => Some(self.dim(indices, within)),
                    Some(_) => Some(self.dim(data, (data_rank + dim).checked_sub(rank)?)),
                }
            }
        }
    }

    fn reduced(&mut self, op: OpView<'_>, dim: usize) -> Option<DimKey> {
        let input = op.operand("input")?;
        let axes = if op.name() == "ait.argreduce" { vec![op.i64("axis")?] } else { op.i64s("axes") };
        let source = if op.has("keepdims") {
            dim
        } else {
            (0..input.r#type().shape().len()).filter(|d| !axes.contains(&(*d as i64))).nth(dim)?
        };
        Some(self.dim(input, source))
    }

    /// The same dimension of the op's input.
    fn same(&mut self, op: OpView<'_>, dim: usize) -> Option<DimKey> {
        Some(self.dim(op.operand("input")?, dim))
    }
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
