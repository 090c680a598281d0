//! `ait.gemm`: the op as a [`Problem`], and a configuration of the kernel for it.

use super::{
    Operand, Whole,
    gemm_sm90::{self, Config},
    problem::{Dtype, Extra, Place, Problem},
};
use crate::{
    cpu::{Unsupported, map::inline_at},
    cuda::Chip,
};
use aitmlir_dialects::{
    ait::{MatrixLayout, OpView},
    builder::Builder,
    types::{TypeExt, Types, Val},
};
use kernel_launch::{Expr, KernelLaunch};
use melior::ir::{Type, TypeLike, ValueLike};

/// Is there a kernel for this product?
pub fn supported(chip: &Chip, op: OpView<'_>) -> Result<(), Unsupported> {
    let element = op.group("a")[0].r#type().element_type();
    match dtype(element) {
        Some(dtype) if dtype.half() && chip.hopper => Ok(()),
        _ => Err(Unsupported(format!("of {element} has no kernel for cuda:{}", chip.name))),
    }
}

fn dtype(element: Type<'_>) -> Option<Dtype> {
    // SAFETY: questions to a valid type.
    let (bf16, f16) =
        unsafe { (mlir_sys::mlirTypeIsABF16(element.to_raw()), mlir_sys::mlirTypeIsAF16(element.to_raw())) };
    match element.bits() {
        16 if bf16 => Some(Dtype::Bf16),
        16 if f16 => Some(Dtype::F16),
        32 if element.is_float_type() => Some(Dtype::F32),
        _ => None,
    }
}

fn fail<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported(what.into()))
}

/// Emits the kernel.
pub fn emit<'c>(whole: &Whole<'_, 'c>) -> Result<KernelLaunch, Unsupported> {
    let op = whole.op;
    let problem = problem(whole)?;
    let alpha = op.f64("alpha").unwrap_or(1.0);
    let block = op.block(0);
    let region = |b: Builder<'c>, sum: Val<'c>, extras: &[Val<'c>]| -> Vec<Val<'c>> {
        let scaled = if alpha == 1.0 { sum } else { b.mulf(sum, b.float(b.context().f32_type(), alpha)) };
        match block {
            Some(block) => {
                let arguments: Vec<_> = std::iter::once(scaled).chain(extras.iter().copied()).collect();
                inline_at(b, block, &arguments, &[])
            }
            None => vec![scaled],
        }
    };
    let mut why = String::new();
    for config in candidates(&problem) {
        match gemm_sm90::emit(whole.context, whole.module, whole.name, &problem, config, &region) {
            Ok(launch) => return Ok(launch),
            Err(cause) => why = cause.to_string(),
        }
    }
    fail(format!("has no legal configuration: {why}"))
}

/// Configurations to try, the best guess first.
fn candidates(problem: &Problem) -> Vec<Config> {
    let known = |e: &Expr| if let Expr::Const(n) = e { Some(*n) } else { None };
    let line = known(&problem.out.line).map(|n| n * problem.out_dtype.bytes());
    let mut list = vec![Config::PING_PONG, Config::cooperative(1, 128, 4), Config::single(1, 64, 4, 2)];
    if known(&problem.m).is_some_and(|m| m <= 64) {
        list.rotate_right(1);
    }
    // TMA stores want rows of whole 16 bytes; where that is not known plain stores take any.
    let stores = line.is_some_and(|bytes| bytes % 16 == 0) && known(&problem.out.offset) == Some(0);
    list.into_iter().map(|config| Config { tma_store: config.tma_store && stores, ..config }).collect()
}

/// The op as a product of matrices.
fn problem(whole: &Whole<'_, '_>) -> Result<Problem, Unsupported> {
    let op = whole.op;
    let [a, b, extras @ .., out] = whole.operands else { return fail("has too few operands") };
    let left_row = op.kind("a_layout").unwrap_or(MatrixLayout::Row) == MatrixLayout::Row;
    let right_row = op.kind("b_layout").unwrap_or(MatrixLayout::Row) == MatrixLayout::Row;
    let rank = out.sizes.len();
    let (Some(kind), Some(result)) = (dtype(a.element), dtype(out.element)) else {
        return fail(format!("from {} to {} has no kernel", a.element, out.element));
    };
    let (m, n) = (out.sizes[rank - 2].clone(), out.sizes[rank - 1].clone());
    let k = a.sizes[if left_row { a.sizes.len() - 1 } else { a.sizes.len() - 2 }].clone();
    let outer = &out.sizes[..rank - 2];
    let batch = outer.iter().fold(Expr::Const(1), |product, size| product * size.clone());
    let places = [matrix(a, left_row, outer)?, matrix(b, !right_row, outer)?, matrix(out, true, outer)?];
    let [a_place, b_place, out_place] = places;
    let mut problem = Problem {
        dtype: kind,
        out_dtype: result,
        m,
        n,
        k,
        batch,
        dims: whole.dims.to_vec(),
        a: a_place,
        b: b_place,
        out: out_place,
        extras: Vec::new(),
    };
    for extra in extras {
        problem.extras.push(broadcast(extra, out)?);
    }
    let dense = a.is_dense() && out.is_dense() && left_row && a.sizes.len() == rank;
    let foldable = problem.extras.iter().all(|e| e.batch.is_none() && e.row.is_none());
    if problem.b.batch.is_none() && dense && foldable && problem.a.batch.is_some() {
        problem.m = problem.batch * problem.m;
        problem.batch = Expr::Const(1);
        (problem.a.batch, problem.out.batch) = (None, None);
    }
    check_alignment(&problem)?;
    Ok(problem)
}

/// Where the matrices of an operand are. `inner`: the last dimension is the one that the kernel calls contiguous (K, or N of a result).
fn matrix(operand: &Operand<'_>, inner: bool, outer: &[Expr]) -> Result<Place, Unsupported> {
    let rank = operand.sizes.len();
    if operand.strides[rank - 1] != Expr::Const(1) {
        return fail("has an operand whose rows are not contiguous");
    }
    Ok(Place {
        operand: operand.number,
        offset: 0.into(),
        line: operand.strides[rank - 2].clone(),
        step: 1.into(),
        batch: batch_stride(operand, &operand.sizes[..rank - 2], outer)?,
        inner,
    })
}

/// From one matrix of the batch to the next: the batch dimensions of an operand must be those of the result and lie one behind the other, or all be 1.
fn batch_stride(operand: &Operand<'_>, own: &[Expr], outer: &[Expr]) -> Result<Option<Expr>, Unsupported> {
    if own.iter().all(|size| *size == Expr::Const(1)) {
        return Ok(None);
    }
    if own != outer {
        return fail("broadcasts a part of its batch dimensions, which the kernel does not");
    }
    let chained = (1..own.len()).all(|d| operand.strides[d - 1] == operand.strides[d].clone() * own[d].clone());
    if !chained {
        return fail("has batch dimensions that do not lie one behind the other");
    }
    Ok(Some(operand.strides[own.len() - 1].clone()))
}

fn broadcast(extra: &Operand<'_>, out: &Operand<'_>) -> Result<Extra, Unsupported> {
    let Some(dtype) = dtype(extra.element) else {
        return fail(format!("has an epilogue that reads {}", extra.element));
    };
    let (rank, own) = (out.sizes.len(), extra.sizes.len());
    // The size and the stride along dimension d of the result; size 1 where the operand has no such dimension.
    let at = |d: usize| match (d + own).checked_sub(rank) {
        Some(i) => (extra.sizes[i].clone(), extra.strides[i].clone()),
        None => (Expr::Const(1), Expr::Const(0)),
    };
    let along = |d: usize| -> Result<Option<Expr>, Unsupported> {
        let (size, stride) = at(d);
        match size {
            Expr::Const(1) => Ok(None),
            size if size == out.sizes[d] => Ok(Some(stride)),
            _ => fail("has an epilogue operand that may or may not broadcast"),
        }
    };
    let column = along(rank - 1)?;
    if column.as_ref().is_some_and(|stride| *stride != Expr::Const(1)) {
        return fail("has an epilogue operand whose rows are not contiguous");
    }
    let row = along(rank - 2)?;
    let outer: Vec<_> = (0..rank - 2).map(at).collect();
    let batch = if outer.iter().all(|(size, _)| *size == Expr::Const(1)) {
        None
    } else if own == rank {
        batch_stride(extra, &extra.sizes[..rank - 2], &out.sizes[..rank - 2])?
    } else {
        return fail("broadcasts a part of an epilogue operand's batch dimensions, which the kernel does not");
    };
    let even = |e: &Expr| matches!(e, Expr::Const(n) if n % 2 == 0);
    let pairs = even(&out.sizes[rank - 1]) && row.as_ref().is_none_or(even) && batch.as_ref().is_none_or(even);
    Ok(Extra { operand: extra.number, dtype, offset: 0.into(), row, column: column.is_some(), batch, pairs })
}

/// Strides of what TMA reads must be whole 16 bytes.
fn check_alignment(problem: &Problem) -> Result<(), Unsupported> {
    let elements = 16 / problem.dtype.bytes();
    let whole = |e: &Expr| match e {
        Expr::Const(n) => n % elements == 0,
        // A dimension that is not known at compile time is checked when the launch is computed.
        _ => true,
    };
    for place in [&problem.a, &problem.b] {
        if !whole(&place.line) || !place.batch.as_ref().is_none_or(whole) {
            return fail(format!(
                "has rows of a length that is no multiple of {elements} elements, for which there is no kernel"
            ));
        }
    }
    Ok(())
}
