//! Element-wise code as one expression over tensors, wherever the borders of the maps that compute it lie.

use aitmlir_dialects::{
    ait::{OpView, symbolic::splat_value},
    builder::{block_arguments, defining_op, operands_of, results_of},
    types::{Op, TypeExt, Val},
};
use melior::ir::ValueLike;

/// One element of a tensor, as the code that computes it.
#[derive(Clone, Copy, PartialEq)]
pub enum Scalar<'c> {
    /// An element of a tensor that no map computes; dimensions align from the last, those of size 1 are stretched.
    Tensor(Val<'c>),
    /// A value in the region of a map.
    Code(Val<'c>, Op<'c>),
}

impl<'c> Scalar<'c> {
    /// The element of a tensor.
    pub fn of(tensor: Val<'c>) -> Self {
        let Some(op) = defining_op(tensor) else { return Self::Tensor(tensor) };
        let view = OpView(op);
        match view.name().as_str() {
            "ait.expand" => Self::of(view.operands()[0]),
            "ait.map" => {
                let yielded = view.block(0).and_then(terminator_operands);
                let position = results_of(op).iter().position(|result| *result == tensor);
                match yielded.zip(position).and_then(|(values, i)| values.get(i).copied()) {
                    Some(value) => Self::inside(value, op),
                    None => Self::Tensor(tensor),
                }
            }
            _ => Self::Tensor(tensor),
        }
    }

    /// A value in the region of `map`: one of its arguments is the element of an input.
    fn inside(value: Val<'c>, map: Op<'c>) -> Self {
        let view = OpView(map);
        let argument = view.block(0).and_then(|block| block_arguments(block).iter().position(|a| *a == value));
        match argument.and_then(|i| view.group("inputs").get(i).copied()) {
            Some(input) => Self::of(input),
            None => Self::Code(value, map),
        }
    }

    /// The operands, if this is the result of the op of that name.
    pub fn operands(self, name: &str) -> Option<Vec<Self>> {
        let Self::Code(value, map) = self else { return None };
        let op = defining_op(value).filter(|op| OpView(*op).name() == name)?;
        Some(operands_of(op).into_iter().map(|operand| Self::inside(operand, map)).collect())
    }

    /// The operands of a binary op, in both orders.
    pub fn either_order(self, name: &str) -> Vec<(Self, Self)> {
        match self.operands(name).as_deref() {
            Some([x, y]) => vec![(*x, *y), (*y, *x)],
            _ => Vec::new(),
        }
    }

    /// The operand of a unary op.
    pub fn operand(self, name: &str) -> Option<Self> {
        self.operands(name)?.first().copied()
    }

    /// The number, if it is one for all elements.
    pub fn constant(self) -> Option<f64> {
        match self {
            Self::Tensor(tensor) => splat_value(tensor),
            Self::Code(value, _) => OpView(defining_op(value)?).f64("value"),
        }
    }

    /// The predicate of a comparison.
    pub fn predicate(self) -> Option<i64> {
        match self {
            Self::Tensor(_) => None,
            Self::Code(value, _) => OpView(defining_op(value)?).i64("predicate"),
        }
    }

    /// The tensor that this is an element of.
    pub fn tensor(self) -> Option<Val<'c>> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            Self::Code(..) => None,
        }
    }

    /// Do both compute the same, op by op?
    pub fn same(self, other: Self) -> bool {
        if self == other {
            return true;
        }
        let (Self::Code(x, _), Self::Code(y, _)) = (self, other) else { return false };
        let (Some(a), Some(b)) = (defining_op(x).map(OpView), defining_op(y).map(OpView)) else { return false };
        let name = a.name();
        if name != b.name()
            || x.r#type() != y.r#type()
            || !matches!(name.as_str(), "arith.subf" | "arith.addf" | "arith.mulf")
        {
            return false;
        }
        match (self.operands(&name), other.operands(&name)) {
            (Some(left), Some(right)) => left.iter().zip(&right).all(|(l, r)| l.same(*r)),
            _ => false,
        }
    }
}

/// A tensor that holds the value: itself, or an input of the map that computes `result` from it.
pub fn holder<'c>(value: Scalar<'c>, result: Val<'c>) -> Option<Val<'c>> {
    if let Some(tensor) = value.tensor() {
        return Some(tensor);
    }
    let map = defining_op(result).filter(|op| OpView(*op).name() == "ait.map")?;
    OpView(map).group("inputs").into_iter().find(|input| Scalar::of(*input).same(value))
}

fn terminator_operands(block: aitmlir_dialects::types::Blk<'_>) -> Option<Vec<Val<'_>>> {
    aitmlir_dialects::builder::operations_of(block).last().map(|op| operands_of(*op))
}

/// Does a tensor of that shape broadcast to the other one by sizes that are known?
pub fn broadcasts(from: Val<'_>, to: Val<'_>) -> bool {
    let (from, to) = (from.r#type().shape(), to.r#type().shape());
    from.len() <= to.len()
        && from.iter().rev().zip(to.iter().rev()).all(|(own, whole)| *own == 1 || (*own >= 0 && own == whole))
}
