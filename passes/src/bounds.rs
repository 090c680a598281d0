//! Upper bounds of dimensions, from those that the arguments of a program state (`ait.max`).

use aitmlir_dialects::{
    ait::{
        MatrixLayout, OpView,
        symbolic::{DimKey, dim_key},
        view::{argument_attribute, argument_dim, integers_of},
    },
    builder::{block_arguments, block_of, defining_op},
    types::{Op, TypeExt, Val},
};
use melior::ir::{Value, ValueLike};
use std::{collections::HashMap, ffi::c_void};

/// The most that dimensions of a function's arguments can be.
pub struct Bounds {
    /// By the name of the dimension.
    named: HashMap<*const c_void, i64>,
    /// By the argument, of dimensions without a name.
    arguments: HashMap<(*const c_void, usize), i64>,
}

/// The most that the sizes of a product can be.
pub struct ProductSizes {
    /// Matrices of the batch.
    pub batch: i64,
    /// Rows.
    pub m: i64,
    /// Columns.
    pub n: i64,
}

impl Bounds {
    /// Those of a function.
    pub fn of(function: Op<'_>) -> Self {
        let mut bounds = Bounds { named: HashMap::new(), arguments: HashMap::new() };
        let arguments = block_of(function, 0).map(block_arguments).unwrap_or_default();
        for (i, argument) in arguments.into_iter().enumerate().filter(|(_, a)| a.r#type().is_tensor()) {
            let most = argument_attribute(OpView(function), i, "ait.max").map(integers_of).unwrap_or_default();
            for (d, max) in most.into_iter().enumerate().filter(|(_, max)| (0..i64::MAX).contains(max)) {
                match argument_dim(argument, d) {
                    // Sizes of one name agree: the least bound holds for all.
                    Some(name) => {
                        bounds.named.entry(name).and_modify(|known| *known = max.min(*known)).or_insert(max);
                    }
                    None => {
                        bounds.arguments.insert((argument.to_raw().ptr, d), max);
                    }
                }
            }
        }
        bounds
    }

    /// The most that dimension `dim` of a tensor can be, where that is known.
    pub fn dim(&self, tensor: Val<'_>, dim: usize) -> Option<i64> {
        match dim_key(tensor, dim) {
            DimKey::Static(size) => Some(size),
            DimKey::Named(name) => self.named.get(&name).copied(),
            DimKey::Dim(tensor, dim) => self.arguments.get(&(tensor, dim)).copied(),
            // SAFETY: the key holds the identity of a live index value.
            DimKey::Index(value) => self.index(unsafe { Value::from_raw(mlir_sys::MlirValue { ptr: value }) }),
        }
    }

    /// The most that an index that is not negative can be.
    fn index(&self, value: Val<'_>) -> Option<i64> {
        let op = defining_op(value).map(OpView)?;
        let operands = op.operands();
        let most = |i: usize| operands.get(i).and_then(|v| self.index(*v));
        match op.name().as_str() {
            "arith.constant" => op.i64("value").filter(|n| *n >= 0),
            "tensor.dim" => {
                let dim = defining_op(operands[1]).and_then(|op| OpView(op).i64("value"))?;
                self.dim(operands[0], usize::try_from(dim).ok()?)
            }
            "arith.muli" => most(0)?.checked_mul(most(1)?),
            "arith.addi" => most(0)?.checked_add(most(1)?),
            "arith.subi" | "arith.divsi" | "arith.divui" | "arith.floordivsi" | "arith.index_cast" => most(0),
            "arith.minsi" => [most(0), most(1)].into_iter().flatten().min(),
            "arith.maxsi" => Some(most(0)?.max(most(1)?)),
            "arith.select" => Some(most(1)?.max(most(2)?)),
            _ => None,
        }
    }

    /// The most that the sizes of an `ait.gemm` can be; none where one has no bound.
    pub fn product(&self, gemm: OpView<'_>) -> Option<ProductSizes> {
        let (a, b) = (gemm.operand("a")?, gemm.operand("b")?);
        let ranks = [a, b].map(|v| v.r#type().shape().len());
        let col = |name: &str| gemm.kind::<MatrixLayout>(name) == Some(MatrixLayout::Col);
        let m = self.dim(a, ranks[0] - if col("a_layout") { 1 } else { 2 })?;
        let n = self.dim(b, ranks[1] - if col("b_layout") { 2 } else { 1 })?;
        let outer = ranks[0].max(ranks[1]) - 2;
        let mut batch: i64 = 1;
        for d in 0..outer {
            let of = |v: Val<'_>, rank: usize| match (d + rank).checked_sub(outer + 2) {
                Some(own) => self.dim(v, own),
                None => Some(1),
            };
            batch = batch.checked_mul(of(a, ranks[0])?.max(of(b, ranks[1])?))?;
        }
        Some(ProductSizes { batch, m, n })
    }
}
