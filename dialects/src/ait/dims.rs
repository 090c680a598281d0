//! The run-time dimensions of results: for each op of the dialect, how a `?` of a result follows from its operands.

use super::{GatherKind, MatrixLayout, OpView, view};
use crate::{
    builder::{Builder, block_arguments, erase, remap_operands},
    types::{TypeExt, Val},
};
use melior::ir::{Operation, ValueLike};

/// Dimension `dim` of result `result` of `op` as an index value built at `b`; a constant where the type says it.
///
/// Reads the dimensions of operands with `tensor.dim` (or takes the index operands that state them). None for ops outside the dialect.
pub fn result_dim<'c>(b: Builder<'c>, op: OpView<'c>, result: usize, dim: usize) -> Option<Val<'c>> {
    let shape = op.results().get(result)?.r#type().shape();
    let size = *shape.get(dim)?;
    if size >= 0 {
        return Some(b.index(size));
    }
    let name = op.name();
    let rule = Rule { b, op, result, dim, shape };
    match name.as_str() {
        "ait.map" => rule.stated().or_else(|| rule.broadcast(&op.group("inputs"), 0)),
        "ait.where" => rule.broadcast(&op.operands(), 0),
        "ait.expand"
        | "ait.random"
        | "ait.reshape"
        | "ait.topk"
        | "ait.nms"
        | "ait.nonzero"
        | "ait.col2im"
        | "ait.resize"
        | "ait.jagged_to_padded"
        | "ait.padded_to_jagged" => rule.stated(),
        "ait.dft" => rule.stated().or_else(|| rule.same()),
        "ait.reduce" => rule.stated().or_else(|| rule.reduced(&op.i64s("axes"), op.has("keepdims"))),
        "ait.argreduce" => rule.reduced(&[op.i64("axis")?], op.has("keepdims")),
        "ait.slice" => rule.mixed("sizes", "static_sizes"),
        "ait.pad" => rule.padded(),
        "ait.group" => rule.of_member(),
        "ait.gemm" if op.has("split") => rule.stated(),
        "ait.gemm" => rule.gemm(),
        "ait.attention" | "ait.b2b_gemm" => {
            let source = if dim + 1 == rule.shape.len() { "value" } else { "query" };
            Some(b.dim(op.operand(source)?, dim))
        }
        "ait.conv" => rule.conv(),
        "ait.deform_conv" => Some(if dim < 2 {
            b.dim(op.operand(if dim == 0 { "input" } else { "filter" })?, 0)
        } else {
            b.dim(op.operand("offset")?, dim)
        }),
        "ait.pool" => rule.pool(),
        "ait.concat" => rule.concat(),
        "ait.split" => rule.split(),
        "ait.gather" => rule.gather(),
        "ait.transpose" => Some(b.dim(op.operand("input")?, usize::try_from(*op.i64s("permutation").get(dim)?).ok()?)),
        "ait.grid_sample" => {
            Some(if dim < 2 { b.dim(op.operand("input")?, dim) } else { b.dim(op.operand("grid")?, dim - 1) })
        }
        "ait.roi_align" => {
            Some(if dim == 0 { b.dim(op.operand("rois")?, 0) } else { b.dim(op.operand("input")?, dim) })
        }
        "ait.rnn" => rule.rnn(),
        "ait.unique" => Some(b.dim(op.operand("input")?, 0)),
        "ait.launch" => {
            let before: usize =
                op.results()[..result].iter().map(|r| dynamic_before(&r.r#type().shape(), usize::MAX)).sum();
            op.group("dims").get(before + dynamic_before(&rule.shape, dim)).copied()
        }
        _ if name.starts_with("ait.") => rule.same(),
        _ => None,
    }
}

/// All dimensions of a result, see [`result_dim`].
pub fn result_dims<'c>(b: Builder<'c>, op: OpView<'c>, result: usize) -> Option<Vec<Val<'c>>> {
    let rank = op.results().get(result)?.r#type().shape().len();
    (0..rank).map(|dim| result_dim(b, op, result, dim)).collect()
}

/// How many of the first `end` sizes are dynamic.
fn dynamic_before(shape: &[i64], end: usize) -> usize {
    shape.iter().take(end).filter(|s| **s < 0).count()
}

struct Rule<'c> {
    b: Builder<'c>,
    op: OpView<'c>,
    result: usize,
    dim: usize,
    shape: Vec<i64>,
}

impl<'c> Rule<'c> {
    /// The index operand in `dims` that states this dimension.
    fn stated(&self) -> Option<Val<'c>> {
        self.op.group("dims").get(dynamic_before(&self.shape, self.dim)).copied()
    }

    fn same(&self) -> Option<Val<'c>> {
        Some(self.b.dim(*self.op.operands().first()?, self.dim))
    }

    /// The broadcast of `inputs`, whose last `ignored` dimensions do not take part.
    fn broadcast(&self, inputs: &[Val<'c>], ignored: usize) -> Option<Val<'c>> {
        let from_end = self.shape.len() - self.dim + ignored;
        let mut found: Option<Val<'c>> = None;
        for input in inputs {
            let rank = input.r#type().shape().len();
            let Some(dim) = rank.checked_sub(from_end) else { continue };
            if input.r#type().shape()[dim] == 1 {
                continue;
            }
            let size = self.b.dim(*input, dim);
            found = Some(match found {
                None => size,
                Some(other) => {
                    let one = self.b.index(1);
                    let stretched = self.b.cmpi("eq", other, one);
                    self.b.select(stretched, size, other)
                }
            });
        }
        found
    }

    fn reduced(&self, axes: &[i64], keepdims: bool) -> Option<Val<'c>> {
        let input = self.op.operand("input")?;
        let source = if keepdims {
            self.dim
        } else {
            let rank = input.r#type().shape().len();
            (0..rank).filter(|d| !axes.contains(&(*d as i64))).nth(self.dim)?
        };
        Some(self.b.dim(input, source))
    }

    /// An entry of a list that mixes constants with index operands.
    fn mixed(&self, group: &str, constants: &str) -> Option<Val<'c>> {
        view::mixed(self.b, self.op, group, constants).get(self.dim).copied()
    }

    fn padded(&self) -> Option<Val<'c>> {
        let size = self.b.dim(self.op.operand("input")?, self.dim);
        let (low, high) = (self.mixed("low", "static_low")?, self.mixed("high", "static_high")?);
        Some(self.b.addi(self.b.addi(size, low), high))
    }

    fn gemm(&self) -> Option<Val<'c>> {
        let (a, b) = (self.op.operand("a")?, self.op.operand("b")?);
        let rank = self.shape.len();
        let (rank_a, rank_b) = (a.r#type().shape().len(), b.r#type().shape().len());
        let col = |name: &str| self.op.kind::<MatrixLayout>(name) == Some(MatrixLayout::Col);
        if self.dim + 2 == rank {
            Some(self.b.dim(a, if col("a_layout") { rank_a - 1 } else { rank_a - 2 }))
        } else if self.dim + 1 == rank {
            Some(self.b.dim(b, if col("b_layout") { rank_b - 2 } else { rank_b - 1 }))
        } else {
            self.broadcast(&[a, b], 0)
        }
    }

    /// As the rule of the member of a group says that has the result.
    fn of_member(&self) -> Option<Val<'c>> {
        let block = self.op.block(0)?;
        let (arguments, operands) = (block_arguments(block), self.op.operands());
        let places = view::members(self.op).into_iter();
        let mut places = places.flat_map(|member| (0..member.results().len()).map(move |result| (member, result)));
        let (member, result) = places.nth(self.result)?;
        // The rule reads operands of the op that it is asked of: those of a copy are the group's.
        // SAFETY: cloning a live op; the builder's block owns the clone until it is erased.
        let copy = self.b.insert(unsafe { Operation::from_raw(mlir_sys::mlirOperationClone(member.0.to_raw())) });
        remap_operands(copy, &|v| arguments.iter().position(|a| *a == v).map_or(v, |i| operands[i]));
        let size = result_dim(self.b, OpView(copy), result, self.dim);
        erase(copy);
        size
    }

    fn conv(&self) -> Option<Val<'c>> {
        let (input, filter) = (self.op.operand("input")?, self.op.operand("filter")?);
        if self.dim == 0 {
            return Some(self.b.dim(input, 0));
        }
        let transposed = self.op.has("transposed");
        if self.dim == 1 {
            return Some(if transposed {
                self.b.muli(self.b.dim(filter, 1), self.b.index(self.op.i64("groups")?))
            } else {
                self.b.dim(filter, 0)
            });
        }
        let i = self.dim - 2;
        let (size, kernel) = (self.b.dim(input, self.dim), self.b.dim(filter, self.dim));
        let (stride, dilation, pads) = self.window(i)?;
        let b = self.b;
        let span = b.muli(b.subi(kernel, b.index(1)), b.index(dilation));
        if !transposed {
            let free = b.subi(b.addi(size, b.index(pads.0 + pads.1 - 1)), span);
            return Some(b.addi(self.floor_div(free, stride), b.index(1)));
        }
        let extra = self.op.i64s("output_padding").get(i).copied().unwrap_or(0);
        let strided = b.muli(b.subi(size, b.index(1)), b.index(stride));
        Some(b.addi(b.addi(strided, span), b.index(1 + extra - pads.0 - pads.1)))
    }

    /// Stride, dilation and the two pads of spatial dimension `i`.
    fn window(&self, i: usize) -> Option<(i64, i64, (i64, i64))> {
        let pads = self.op.i64s("pads");
        let spatial = self.shape.len() - 2;
        Some((
            *self.op.i64s("strides").get(i)?,
            *self.op.i64s("dilations").get(i)?,
            (*pads.get(i)?, *pads.get(spatial + i)?),
        ))
    }

    /// a / b rounded down, for b > 0.
    fn floor_div(&self, a: Val<'c>, divisor: i64) -> Val<'c> {
        if divisor == 1 { a } else { self.b.binary("arith.floordivsi", a, self.b.index(divisor)) }
    }

    fn pool(&self) -> Option<Val<'c>> {
        let input = self.op.operand("input")?;
        let size = self.b.dim(input, self.dim);
        if self.dim < 2 {
            return Some(size);
        }
        let b = self.b;
        let (stride, dilation, pads) = self.window(self.dim - 2)?;
        let span = (self.op.i64s("kernel").get(self.dim - 2)? - 1) * dilation + 1;
        let free = b.addi(size, b.index(pads.0 + pads.1 - span));
        if !self.op.has("ceil") {
            return Some(b.addi(self.floor_div(free, stride), b.index(1)));
        }
        // The last window must start inside the input or the padding before it.
        let rounded = b.addi(self.floor_div(b.addi(free, b.index(stride - 1)), stride), b.index(1));
        let start = b.muli(b.subi(rounded, b.index(1)), b.index(stride));
        let outside = b.cmpi("sge", start, b.addi(size, b.index(pads.0)));
        Some(b.select(outside, b.subi(rounded, b.index(1)), rounded))
    }

    fn concat(&self) -> Option<Val<'c>> {
        let inputs = self.op.group("inputs");
        if self.op.i64("axis")? != self.dim as i64 {
            return Some(self.b.dim(*inputs.first()?, self.dim));
        }
        inputs.iter().map(|input| self.b.dim(*input, self.dim)).reduce(|a, b| self.b.addi(a, b))
    }

    fn split(&self) -> Option<Val<'c>> {
        let axis = usize::try_from(self.op.i64("axis")?).ok()?;
        if self.dim != axis {
            return Some(self.b.dim(self.op.operand("input")?, self.dim));
        }
        let before = self.op.results()[..self.result].iter().filter(|r| r.r#type().shape()[axis] < 0).count();
        self.op.group("dims").get(before).copied()
    }

    fn gather(&self) -> Option<Val<'c>> {
        let (input, indices) = (self.op.operand("input")?, self.op.operand("indices")?);
        let rank = indices.r#type().shape().len();
        let axis = usize::try_from(self.op.i64("axis").unwrap_or(0)).ok()?;
        match self.op.kind::<GatherKind>("kind")? {
            GatherKind::Elements => Some(self.b.dim(indices, self.dim)),
            GatherKind::Slices if self.dim < axis => Some(self.b.dim(input, self.dim)),
            GatherKind::Slices if self.dim < axis + rank => Some(self.b.dim(indices, self.dim - axis)),
            GatherKind::Slices => Some(self.b.dim(input, self.dim - rank + 1)),
            GatherKind::Nd if self.dim + 1 < rank => Some(self.b.dim(indices, self.dim)),
            GatherKind::Nd => {
                let batch = usize::try_from(self.op.i64("batch_dims").unwrap_or(0)).ok()?;
                let depth = usize::try_from(*indices.r#type().shape().last()?).ok()?;
                Some(self.b.dim(input, batch + depth + self.dim + 1 - rank))
            }
        }
    }

    fn rnn(&self) -> Option<Val<'c>> {
        let (x, r) = (self.op.operand("x")?, self.op.operand("r")?);
        // Y is [T, D, B, H]; the last states are [D, B, H].
        match if self.result == 0 { self.dim } else { self.dim + 1 } {
            0 => Some(self.b.dim(x, 0)),
            1 => Some(self.b.dim(r, 0)),
            2 => Some(self.b.dim(x, 1)),
            _ => Some(self.b.dim(r, 2)),
        }
    }
}
