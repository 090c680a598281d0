//! Operations that move elements without computing.

use aitmlir_dialects::ait::{EnumAttribute, GatherKind, PadMode};
use aitmlir_onnx::model::DType;

use super::{coordinates, position, static_list};
use crate::import::{
    context::Context,
    error::{OpError, OpResult, unsupported},
    scalar::Scalar,
    value::{Dim, TRACKED, Value, type_of},
};

impl<'c> Context<'c> {
    /// Elements of a tracked tensor in another order: `from` maps a coordinate of the result to one of the input.
    fn rearranged(&self, value: &Value<'c>, dims: &[Dim<'c>], from: impl Fn(&[i64]) -> Vec<i64>) -> Option<Value<'c>> {
        let (elements, source) = (value.scalars()?, value.static_dims()?);
        let dims: Vec<i64> = dims.iter().map(|d| d.int()).collect::<Option<_>>()?;
        if value.is_weight() || dims.iter().product::<i64>() as usize > TRACKED {
            return None;
        }
        let mut out = Vec::new();
        coordinates(&dims, |at| out.push(elements[position(&source, &from(at))]));
        Some(self.constant(value.dtype, &dims, out))
    }

    /// Another shape for the same elements.
    pub fn reshape(&mut self, value: &Value<'c>, dims: Vec<Dim<'c>>) -> OpResult<Value<'c>> {
        if value.dims == dims {
            return Ok(value.clone());
        }
        if let (Some(from), Some(to)) = (value.static_len(), dims.iter().map(|d| d.int()).product::<Option<i64>>())
            && from as i64 != to
        {
            return unsupported(format!("a reshape of {from} elements to {to}"));
        }
        if let (Some(elements), Some(shape)) =
            (value.scalars(), dims.iter().map(|d| d.int()).collect::<Option<Vec<_>>>())
            && !value.is_weight()
        {
            return Ok(self.constant(value.dtype, &shape, elements.to_vec()));
        }
        let tensor = self.tensor(value)?;
        let stated = self.dynamic(&dims);
        Ok(self.emit("ait.reshape", &[&[tensor], &stated], value.dtype, dims, &[]))
    }

    /// Permutes the dimensions.
    pub fn transpose(&mut self, value: &Value<'c>, permutation: &[usize]) -> OpResult<Value<'c>> {
        if permutation.iter().enumerate().all(|(i, p)| i == *p) {
            return Ok(value.clone());
        }
        let dims: Vec<_> = permutation.iter().map(|p| value.dims[*p]).collect();
        let folded = self.rearranged(value, &dims, |at| {
            let mut source = vec![0; at.len()];
            permutation.iter().zip(at).for_each(|(p, i)| source[*p] = *i);
            source
        });
        if let Some(folded) = folded {
            return Ok(folded);
        }
        let tensor = self.tensor(value)?;
        let order: Vec<i64> = permutation.iter().map(|p| *p as i64).collect();
        let attributes = [("permutation", self.b.i64s_attr(&order))];
        Ok(self.emit("ait.transpose", &[&[tensor]], value.dtype, dims, &attributes))
    }

    /// Broadcasts to a shape whose rank is at least the value's.
    pub fn expand(&mut self, value: &Value<'c>, dims: Vec<Dim<'c>>) -> OpResult<Value<'c>> {
        if value.dims == dims {
            return Ok(value.clone());
        }
        let skip = dims.len() - value.rank();
        let own = value.static_dims();
        let folded = self.rearranged(value, &dims, |at| {
            let own = own.as_deref().unwrap_or(&[]);
            own.iter().zip(&at[skip..]).map(|(d, i)| if *d == 1 { 0 } else { *i }).collect()
        });
        if let Some(folded) = folded {
            return Ok(folded);
        }
        let tensor = self.tensor(value)?;
        let stated = self.dynamic(&dims);
        Ok(self.emit("ait.expand", &[&[tensor], &stated], value.dtype, dims, &[]))
    }

    /// A tensor of one value.
    pub fn fill(&mut self, dtype: DType, value: Scalar<'c>, dims: Vec<Dim<'c>>) -> OpResult<Value<'c>> {
        let scalar = self.scalar(dtype, value);
        self.expand(&scalar, dims)
    }

    /// A regular sub-tensor; the caller has clamped.
    pub fn slice(
        &mut self,
        value: &Value<'c>,
        offsets: &[Scalar<'c>],
        sizes: &[Dim<'c>],
        strides: &[Scalar<'c>],
    ) -> OpResult<Value<'c>> {
        let whole = |i: usize| offsets[i].int() == Some(0) && strides[i].int() == Some(1) && sizes[i] == value.dims[i];
        if (0..value.rank()).all(whole) {
            return Ok(value.clone());
        }
        let numbers = |list: &[Scalar<'c>]| list.iter().map(|s| s.int()).collect::<Option<Vec<_>>>();
        if let (Some(o), Some(s)) = (numbers(offsets), numbers(strides)) {
            let from = |at: &[i64]| (0..at.len()).map(|i| o[i] + at[i] * s[i]).collect();
            if let Some(folded) = self.rearranged(value, sizes, from) {
                return Ok(folded);
            }
        }
        let tensor = self.tensor(value)?;
        let (o, s, t) = (self.dynamic(offsets), self.dynamic(sizes), self.dynamic(strides));
        let attributes = [
            ("static_offsets", static_list(self.b, offsets)),
            ("static_sizes", static_list(self.b, sizes)),
            ("static_strides", static_list(self.b, strides)),
        ];
        Ok(self.emit("ait.slice", &[&[tensor], &o, &s, &t], value.dtype, sizes.to_vec(), &attributes))
    }

    /// `size` entries of one axis from `offset` on.
    pub fn slice_axis(
        &mut self,
        value: &Value<'c>,
        axis: usize,
        offset: Scalar<'c>,
        size: Dim<'c>,
    ) -> OpResult<Value<'c>> {
        let mut offsets = vec![Scalar::Int(0); value.rank()];
        let mut sizes = value.dims.clone();
        (offsets[axis], sizes[axis]) = (offset, size);
        self.slice(value, &offsets, &sizes, &vec![Scalar::Int(1); value.rank()])
    }

    /// Concatenates along an axis.
    pub fn concat(&mut self, values: &[Value<'c>], axis: usize) -> OpResult<Value<'c>> {
        let [first, rest @ ..] = values else { return unsupported("a concatenation of nothing") };
        if rest.is_empty() {
            return Ok(first.clone());
        }
        let mut dims = first.dims.clone();
        for value in rest {
            if value.rank() != dims.len() || value.dtype != first.dtype {
                return unsupported("a concatenation of tensors of different rank or element type");
            }
            for (i, d) in value.dims.iter().enumerate() {
                if i == axis {
                    dims[i] = self.index().add(dims[i], *d);
                } else {
                    self.expect_equal(&format!("dimension {i} of an operand"), *d, dims[i])?;
                    dims[i] = self.same_dim(dims[i], *d);
                }
            }
        }
        if first.rank() == 1 && values.iter().all(|v| v.scalars().is_some() && !v.is_weight()) {
            let elements: Vec<_> = values.iter().flat_map(|v| v.scalars().unwrap_or(&[]).to_vec()).collect();
            if elements.len() <= TRACKED {
                return Ok(self.constant(first.dtype, &[elements.len() as i64], elements));
            }
        }
        let mut operands = Vec::new();
        for value in values {
            operands.push(self.tensor(value)?);
        }
        let attributes = [("axis", self.b.i64_attr(axis as i64))];
        Ok(self.emit("ait.concat", &[&operands], first.dtype, dims, &attributes))
    }

    /// Cuts into consecutive parts along an axis.
    pub fn split(&mut self, value: &Value<'c>, axis: usize, parts: &[Dim<'c>]) -> OpResult<Vec<Value<'c>>> {
        if parts.len() == 1 || value.scalars().is_some() {
            let mut offset = Scalar::Int(0);
            let mut out = Vec::new();
            for part in parts {
                out.push(self.slice_axis(value, axis, offset, *part)?);
                offset = self.index().add(offset, *part);
            }
            return Ok(out);
        }
        let tensor = self.tensor(value)?;
        let shapes: Vec<Vec<Dim<'c>>> = parts
            .iter()
            .map(|p| value.dims.iter().enumerate().map(|(i, d)| if i == axis { *p } else { *d }).collect())
            .collect();
        let types: Vec<_> = shapes.iter().map(|dims| type_of(self.b, value.dtype, dims)).collect();
        let stated = self.dynamic(parts);
        let attributes = [("axis", self.b.i64_attr(axis as i64))];
        let results = self.b.ait("ait.split", &[&[tensor], &stated], &types, &attributes, vec![]);
        Ok(shapes.into_iter().zip(results).map(|(dims, r)| self.value(value.dtype, dims, r)).collect())
    }

    /// `data[:axis] + indices + data[axis+1:]`
    pub fn gather(&mut self, data: &Value<'c>, indices: &Value<'c>, axis: usize) -> OpResult<Value<'c>> {
        let mut dims = data.dims[..axis].to_vec();
        dims.extend(&indices.dims);
        dims.extend(&data.dims[axis + 1..]);
        if let (Some(at), Some(n), Some(shape)) = (indices.ints(), data.dims[axis].int(), indices.static_dims()) {
            if at.iter().any(|i| !(-n..n).contains(i)) {
                return unsupported(format!("an index out of range of dimension {axis}, which has {n}"));
            }
            let rank = indices.rank();
            let from = |out: &[i64]| {
                let i = at[position(&shape, &out[axis..axis + rank])];
                let mut source = out[..axis].to_vec();
                source.push(if i < 0 { i + n } else { i });
                source.extend(&out[axis + rank..]);
                source
            };
            if let Some(folded) = self.rearranged(data, &dims, from) {
                return Ok(folded);
            }
        }
        self.gather_op(GatherKind::Slices, data, indices, axis, 0, dims)
    }

    /// An `ait.gather`.
    pub fn gather_op(
        &mut self,
        kind: GatherKind,
        data: &Value<'c>,
        indices: &Value<'c>,
        axis: usize,
        batch_dims: usize,
        dims: Vec<Dim<'c>>,
    ) -> OpResult<Value<'c>> {
        let indices = self.index_tensor(indices)?;
        let operands = [self.tensor(data)?, self.tensor(&indices)?];
        let mut attributes = vec![("kind", self.b.i32_attr(kind.code()))];
        if axis != 0 {
            attributes.push(("axis", self.b.i64_attr(axis as i64)));
        }
        if batch_dims != 0 {
            attributes.push(("batch_dims", self.b.i64_attr(batch_dims as i64)));
        }
        Ok(self.emit("ait.gather", &[&[operands[0]], &[operands[1]]], data.dtype, dims, &attributes))
    }

    /// Indices as `int32` or `int64`.
    pub fn index_tensor(&mut self, indices: &Value<'c>) -> OpResult<Value<'c>> {
        match indices.dtype {
            DType::I32 | DType::I64 => Ok(indices.clone()),
            _ => self.cast(indices, DType::I64),
        }
    }

    /// Grows or shrinks each dimension at both ends.
    pub fn pad(
        &mut self,
        mode: PadMode,
        value: &Value<'c>,
        low: &[Scalar<'c>],
        high: &[Scalar<'c>],
        with: Option<&Value<'c>>,
    ) -> OpResult<Value<'c>> {
        if low.iter().chain(high).all(|p| p.int() == Some(0)) {
            return Ok(value.clone());
        }
        let index = self.index();
        let dims: Vec<_> = (0..value.rank())
            .map(|i| {
                let d = index.add(index.add(value.dims[i], low[i]), high[i]);
                index.assume_nonnegative(d);
                d
            })
            .collect();
        if dims.iter().any(|d| d.int().is_some_and(|d| d < 0)) {
            return Err(OpError::Unsupported("a padding that removes more than there is".into()));
        }
        let tensor = self.tensor(value)?;
        let with = match with {
            Some(w) => vec![self.tensor(w)?],
            None => vec![],
        };
        let (l, h) = (self.dynamic(low), self.dynamic(high));
        let attributes = [
            ("mode", self.b.i32_attr(mode.code())),
            ("static_low", static_list(self.b, low)),
            ("static_high", static_list(self.b, high)),
        ];
        Ok(self.emit("ait.pad", &[&[tensor], &with, &l, &h], value.dtype, dims, &attributes))
    }

    /// Inserts dimensions of 1 before the given places of the result.
    pub fn unsqueeze(&mut self, value: &Value<'c>, axes: &[usize]) -> OpResult<Value<'c>> {
        let mut dims = value.dims.clone();
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        for axis in sorted {
            dims.insert(axis.min(dims.len()), Scalar::Int(1));
        }
        self.reshape(value, dims)
    }

    /// Removes dimensions, which are 1.
    pub fn squeeze(&mut self, value: &Value<'c>, axes: &[usize]) -> OpResult<Value<'c>> {
        let dims = value.dims.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, d)| *d).collect();
        self.reshape(value, dims)
    }
}
