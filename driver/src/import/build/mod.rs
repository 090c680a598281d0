//! Operations of the `ait` dialect with their shapes tracked and their elements folded where these are known.

mod check;
mod compute;
mod map;
mod movement;

pub use compute::reduced;
pub use map::cast_scalar;

use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, Val},
};
use melior::ir::Attribute;

use super::{
    context::Context,
    error::{OpError, OpResult},
    scalar::Scalar,
    value::{Dim, Value},
};

impl<'c> Context<'c> {
    /// The index operands of the dims that are not static.
    pub fn dynamic(&self, dims: &[Dim<'c>]) -> Vec<Val<'c>> {
        let index = self.index();
        dims.iter().filter(|d| d.int().is_none()).map(|d| index.val(*d)).collect()
    }

    /// An operation with one result.
    pub(crate) fn emit(
        &mut self,
        name: &str,
        groups: &[&[Val<'c>]],
        dtype: aitmlir_onnx::model::DType,
        dims: Vec<Dim<'c>>,
        attributes: &[(&str, Attribute<'c>)],
    ) -> Value<'c> {
        let ty = super::value::type_of(self.b, dtype, &dims);
        let results = self.b.ait(name, groups, &[ty], attributes, vec![]);
        self.value(dtype, dims, results[0])
    }

    /// Number of elements.
    pub fn len(&self, dims: &[Dim<'c>]) -> Dim<'c> {
        let index = self.index();
        dims.iter().fold(Scalar::Int(1), |a, d| index.mul(a, *d))
    }

    /// A dim that two values share: the static one where one is.
    pub fn same_dim(&self, a: Dim<'c>, b: Dim<'c>) -> Dim<'c> {
        if a.int().is_some() {
            a
        } else if b.int().is_some() {
            b
        } else {
            a
        }
    }

    /// The broadcast of shapes, NumPy's rule. An error where static dims do not fit.
    pub fn broadcast(&self, shapes: &[&[Dim<'c>]]) -> OpResult<Vec<Dim<'c>>> {
        let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
        let mut out = vec![Scalar::Int(1); rank];
        for shape in shapes {
            let skip = rank - shape.len();
            for (o, d) in out[skip..].iter_mut().zip(shape.iter()) {
                *o = self.broadcast_dim(*o, *d)?;
            }
        }
        Ok(out)
    }

    fn broadcast_dim(&self, a: Dim<'c>, b: Dim<'c>) -> OpResult<Dim<'c>> {
        Ok(match (a, b) {
            (Scalar::Int(1), d) | (d, Scalar::Int(1)) => d,
            (Scalar::Int(x), Scalar::Int(y)) if x != y => {
                return Err(OpError::Unsupported(format!("shapes do not broadcast: {x} and {y} in one dimension")));
            }
            (known @ Scalar::Int(_), open) | (open, known @ Scalar::Int(_)) => {
                self.expect_broadcast(known, open);
                known
            }
            (a, b) if a == b => a,
            (a, b) => {
                self.expect_broadcast(a, b);
                let index = self.index();
                let dim = index.select(index.cmp("eq", a, Scalar::Int(1)), b, a);
                index.assume_nonnegative(dim);
                dim
            }
        })
    }
}

/// The static part of a list that mixes numbers and run-time values.
pub(super) fn static_list<'c>(b: Builder<'c>, list: &[Scalar<'c>]) -> Attribute<'c> {
    let numbers: Vec<i64> = list.iter().map(|s| s.int().unwrap_or(DYNAMIC)).collect();
    b.i64s_attr(&numbers)
}

/// The axis in [0, rank).
pub fn normal_axis(axis: i64, rank: usize) -> OpResult<usize> {
    let n = rank as i64;
    if (-n..n).contains(&axis) {
        Ok((if axis < 0 { axis + n } else { axis }) as usize)
    } else {
        Err(OpError::Unsupported(format!("axis {axis} of a tensor of rank {rank}")))
    }
}

/// Axes in [0, rank), ascending.
pub fn normal_axes(axes: &[i64], rank: usize) -> OpResult<Vec<usize>> {
    let mut out = axes.iter().map(|a| normal_axis(*a, rank)).collect::<OpResult<Vec<_>>>()?;
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

/// Calls `visit` with each coordinate of a static shape, row-major.
pub fn coordinates(dims: &[i64], mut visit: impl FnMut(&[i64])) {
    if dims.iter().any(|d| *d <= 0) {
        return;
    }
    let mut at = vec![0; dims.len()];
    loop {
        visit(&at);
        let mut d = dims.len();
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            at[d] += 1;
            if at[d] < dims[d] {
                break;
            }
            at[d] = 0;
        }
    }
}

/// The row-major position of a coordinate.
pub fn position(dims: &[i64], at: &[i64]) -> usize {
    dims.iter().zip(at).fold(0, |p, (d, i)| p * d + i) as usize
}
