//! Operations that compute along axes.

use aitmlir_dialects::ait::{EnumAttribute, MatrixLayout, ReduceKind, SoftmaxKind};
use aitmlir_onnx::model::DType;

use crate::import::{
    context::Context,
    error::{OpResult, unsupported},
    scalar::Scalar,
    value::{Dim, Value},
};

impl<'c> Context<'c> {
    /// Reduces over `axes`.
    pub fn reduce(
        &mut self,
        kind: ReduceKind,
        value: &Value<'c>,
        axes: &[usize],
        keepdims: bool,
    ) -> OpResult<Value<'c>> {
        if let Some(folded) = self.fold_reduce(kind, value, axes, keepdims) {
            return Ok(folded);
        }
        let tensor = self.tensor(value)?;
        let list: Vec<i64> = axes.iter().map(|a| *a as i64).collect();
        let mut attributes = vec![("kind", self.b.i32_attr(kind.code())), ("axes", self.b.i64s_attr(&list))];
        if keepdims {
            attributes.push(("keepdims", self.b.unit_attr()));
        }
        let dims = reduced(&value.dims, axes, keepdims);
        Ok(self.emit("ait.reduce", &[&[tensor], &[], &[]], value.dtype, dims, &attributes))
    }

    /// All elements of a small tracked integer tensor reduced to one.
    fn fold_reduce(
        &mut self,
        kind: ReduceKind,
        value: &Value<'c>,
        axes: &[usize],
        keepdims: bool,
    ) -> Option<Value<'c>> {
        let elements = value.scalars()?;
        let (first, rest) = elements.split_first()?;
        if value.is_weight() || value.rank() != 1 || axes.len() != 1 {
            return None;
        }
        let calc = self.host(value.dtype);
        let result = rest.iter().fold(*first, |a, b| match kind {
            ReduceKind::Sum => calc.add(a, *b),
            ReduceKind::Prod => calc.mul(a, *b),
            ReduceKind::Max => calc.max(a, *b),
            _ => calc.min(a, *b),
        });
        if !matches!(kind, ReduceKind::Sum | ReduceKind::Prod | ReduceKind::Max | ReduceKind::Min) {
            return None;
        }
        let dims: &[i64] = if keepdims { &[1] } else { &[] };
        Some(self.constant(value.dtype, dims, vec![result]))
    }

    /// alpha * A B with broadcast batch dimensions; both have rank 2 or more.
    pub fn gemm(
        &mut self,
        a: &Value<'c>,
        b: &Value<'c>,
        layouts: (MatrixLayout, MatrixLayout),
        alpha: f64,
        out: DType,
    ) -> OpResult<Value<'c>> {
        let (ra, rb) = (a.rank(), b.rank());
        let (m, k1) = match layouts.0 {
            MatrixLayout::Row => (a.dims[ra - 2], a.dims[ra - 1]),
            MatrixLayout::Col => (a.dims[ra - 1], a.dims[ra - 2]),
        };
        let (k2, n) = match layouts.1 {
            MatrixLayout::Row => (b.dims[rb - 2], b.dims[rb - 1]),
            MatrixLayout::Col => (b.dims[rb - 1], b.dims[rb - 2]),
        };
        if let (Some(x), Some(y)) = (k1.int(), k2.int())
            && x != y
        {
            return unsupported(format!("a matrix product over {x} and {y} elements"));
        }
        self.expect_equal("the length of its rows", k1, k2)?;
        let mut dims = self.broadcast(&[&a.dims[..ra - 2], &b.dims[..rb - 2]])?;
        dims.extend([m, n]);
        let (a, b) = (self.tensor(a)?, self.tensor(b)?);
        let attributes = [
            ("a_layout", self.b.i32_attr(layouts.0.code())),
            ("b_layout", self.b.i32_attr(layouts.1.code())),
            ("alpha", self.b.f64_attr(alpha)),
        ];
        let ty = crate::import::value::type_of(self.b, out, &dims);
        let region = melior::ir::Region::new();
        let results = self.b.ait("ait.gemm", &[&[a], &[b], &[], &[], &[], &[]], &[ty], &attributes, vec![region]);
        Ok(self.value(out, dims, results[0]))
    }

    /// Softmax or its logarithm along an axis.
    pub fn softmax(&mut self, kind: SoftmaxKind, value: &Value<'c>, axis: usize) -> OpResult<Value<'c>> {
        let tensor = self.tensor(value)?;
        let attributes = [("kind", self.b.i32_attr(kind.code())), ("axis", self.b.i64_attr(axis as i64))];
        Ok(self.emit("ait.softmax", &[&[tensor]], value.dtype, value.dims.clone(), &attributes))
    }
}

/// A shape without (or with 1 for) some axes.
pub fn reduced<'c>(dims: &[Dim<'c>], axes: &[usize], keepdims: bool) -> Vec<Dim<'c>> {
    let kept = dims.iter().enumerate().filter(|(i, _)| keepdims || !axes.contains(i));
    kept.map(|(i, d)| if axes.contains(&i) { Scalar::Int(1) } else { *d }).collect()
}
