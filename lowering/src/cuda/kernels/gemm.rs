//! `ait.gemm`: the op as a [`Problem`], a kernel and a configuration for it. f32 stays f32.

use super::{
    Operand, Whole, gemm_sm80, gemm_sm90,
    problem::{Dtype, Extra, Place, Problem},
};
use crate::{
    cpu::{Unsupported, map::inline_at},
    cuda::Chip,
};
use aitmlir_dialects::{
    ait::{MatrixLayout, OpView},
    builder::Builder,
    types::{TypeExt, Val},
};
use kernel_launch::{Expr, KernelLaunch};
use melior::ir::{Type, TypeLike, ValueLike};

/// Is there a kernel for this product?
pub fn supported(chip: &Chip, op: OpView<'_>) -> Result<(), Unsupported> {
    let element = |name: &str| op.group(name)[0].r#type().element_type();
    let (a, b) = (element("a"), element("b"));
    match (dtype(a), dtype(b)) {
        (Some(x), Some(y)) if x == y && x != Dtype::S32 => Ok(()),
        _ => Err(Unsupported(format!("of {a} and {b} has no kernel for cuda:{}", chip.name))),
    }
}

fn dtype(element: Type<'_>) -> Option<Dtype> {
    // SAFETY: a question to a valid type.
    let bf16 = unsafe { mlir_sys::mlirTypeIsABF16(element.to_raw()) };
    let (float, unsigned) = (element.is_float_type(), element.is_unsigned_type());
    match element.bits() {
        16 if float => Some(if bf16 { Dtype::Bf16 } else { Dtype::F16 }),
        32 if float => Some(Dtype::F32),
        32 if !unsigned && element.is_int_type() => Some(Dtype::S32),
        8 if element.is_int_type() => Some(if unsigned { Dtype::U8 } else { Dtype::S8 }),
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
    if alpha != 1.0 && matches!(problem.dtype, Dtype::S8 | Dtype::U8) {
        return fail("scales an integer product");
    }
    let block = op.block(0);
    let region = |b: Builder<'c>, sum: Val<'c>, extras: &[Val<'c>]| -> Vec<Val<'c>> {
        let scaled = if alpha == 1.0 { sum } else { b.mulf(sum, b.float(sum.r#type(), alpha)) };
        match block {
            Some(block) => {
                let arguments: Vec<_> = std::iter::once(scaled).chain(extras.iter().copied()).collect();
                inline_at(b, block, &arguments, &[])
            }
            None => vec![scaled],
        }
    };
    let aligned = whole.operands.iter().map(|o| o.alignment).collect::<Vec<_>>();
    let mut why = String::new();
    for choice in candidates(&problem, whole.hopper, &aligned) {
        let (context, module, name) = (whole.context, whole.module, whole.name);
        let made = match choice {
            Choice::Sm80(config) => gemm_sm80::emit(context, module, name, &problem, config, &region),
            Choice::Sm90(config) => gemm_sm90::emit(context, module, name, &problem, config, &region),
        };
        match made {
            Ok(launch) => return Ok(launch),
            Err(cause) => why = cause.to_string(),
        }
    }
    fail(format!("has no legal configuration: {why}"))
}

/// A kernel and its configuration.
enum Choice {
    Sm80(gemm_sm80::Config),
    Sm90(gemm_sm90::Config),
}

/// A number that is known at compile time.
fn known(e: &Expr) -> Option<i64> {
    if let Expr::Const(n) = e { Some(*n) } else { None }
}

/// Is a formula known to be a multiple of `n`?
fn multiple(e: &Expr, n: i64) -> bool {
    n <= 1
        || match e {
            Expr::Const(value) => value % n == 0,
            Expr::Mul(a, b) => multiple(a, n) || multiple(b, n),
            Expr::Add(a, b) => multiple(a, n) && multiple(b, n),
            _ => false,
        }
}

/// What is to be tried, the best guess first.
fn candidates(problem: &Problem, hopper: bool, aligned: &[i64]) -> Vec<Choice> {
    let mut list = Vec::new();
    let whole = |place: &Place, bytes: i64| {
        let n = bytes / problem.dtype.bytes();
        let at = aligned.get(place.operand as usize).is_some_and(|a| a % bytes == 0);
        at && place.unit_step() && multiple(&place.line, n) && place.batch.as_ref().is_none_or(|s| multiple(s, n))
    };
    let small = known(&problem.m).is_some_and(|m| m <= 64);
    if hopper && problem.dtype.half() && whole(&problem.a, 16) && whole(&problem.b, 16) {
        use gemm_sm90::Config;
        let mut configs = vec![Config::PING_PONG, Config::cooperative(1, 128, 4), Config::single(1, 64, 4, 2)];
        if small {
            configs.rotate_right(1);
        }
        // TMA stores want rows of whole 16 bytes; where that is not known plain stores take any.
        let out = &problem.out;
        let n = 16 / problem.out_dtype.bytes();
        let stores = aligned.get(out.operand as usize).is_some_and(|a| a % 16 == 0)
            && multiple(&out.line, n)
            && out.batch.as_ref().is_none_or(|s| multiple(s, n));
        let chosen = |config: Config| Choice::Sm90(Config { tma_store: config.tma_store && stores, ..config });
        list.extend(configs.into_iter().map(chosen));
    }
    use gemm_sm80::Config;
    let copy = |place: &Place| {
        // Rows of a stage are 128 bytes along K; where lines are contiguous instead, copies run along them.
        let along_lines = !place.inner && !problem.dtype.half();
        let sizes = [16, 8, 4].into_iter().filter(|bytes| *bytes > problem.dtype.bytes());
        let found = sizes.into_iter().find(|bytes| !along_lines && whole(place, *bytes));
        found.unwrap_or(problem.dtype.bytes()) as u32
    };
    let copy_bytes = [copy(&problem.a), copy(&problem.b)];
    let base = match problem.dtype {
        // f32 stays f32.
        Dtype::F32 => Config::FMA,
        _ if small => Config::SMALL,
        _ => Config::LARGE,
    };
    list.push(Choice::Sm80(Config { copy_bytes, ..base }));
    list.push(Choice::Sm80(Config { copy_bytes: [problem.dtype.bytes() as u32; 2], ..base }));
    list
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
    Ok(problem)
}

/// Where the matrices of an operand are. `inner`: the last dimension is the one that the kernel calls contiguous (K, or N of a result).
fn matrix(operand: &Operand<'_>, inner: bool, outer: &[Expr]) -> Result<Place, Unsupported> {
    let rank = operand.sizes.len();
    Ok(Place {
        step: operand.strides[rank - 1].clone(),
        operand: operand.number,
        offset: 0.into(),
        line: operand.strides[rank - 2].clone(),
        batch: batch_stride(operand, &operand.sizes[..rank - 2], outer)?,
        inner,
    })
}

/// From one matrix of the batch to the next: the batch dimensions of an operand are those of the result and lie one behind the other, or all are 1.
fn batch_stride(operand: &Operand<'_>, own: &[Expr], outer: &[Expr]) -> Result<Option<Expr>, Unsupported> {
    if own.iter().all(|size| *size == Expr::Const(1)) {
        return Ok(None);
    }
    let chained = (1..own.len()).all(|d| operand.strides[d - 1] == operand.strides[d].clone() * own[d].clone());
    if !chained || own.len() > outer.len() {
        return fail("has batch dimensions that do not lie one behind the other");
    }
    let stride = operand.strides[own.len() - 1].clone();
    let result = &outer[outer.len() - own.len()..];
    if let ([size], [_]) = (own, outer) {
        return Ok(Some(unless_one(stride, size)));
    }
    let mut guarded = stride;
    for (size, wanted) in own.iter().zip(result) {
        match (known(size), known(wanted)) {
            (Some(1), Some(1)) => {}
            (Some(1), _) => return fail("broadcasts a part of its batch dimensions, which the kernel does not"),
            (None, _) if size != wanted => {
                // A launch where the two differ has no value and is refused.
                guarded = guarded * Expr::Const(1).quotient(size.clone().equal(wanted.clone()));
            }
            _ => {}
        }
    }
    if own.len() < outer.len() && !outer[..outer.len() - own.len()].iter().all(|size| *size == Expr::Const(1)) {
        return fail("broadcasts a part of its batch dimensions, which the kernel does not");
    }
    Ok(Some(guarded))
}

/// The stride along a dimension: 0 where its size turns out to be 1 and it is stretched.
fn unless_one(stride: Expr, size: &Expr) -> Expr {
    match size {
        Expr::Const(_) => stride,
        size => stride * Expr::Const(1).minus(size.clone().equal(1)),
    }
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
            size => Ok(Some(unless_one(stride, &size))),
        }
    };
    let column = match at(rank - 1) {
        (Expr::Const(1), _) => None,
        (_, stride) if stride != Expr::Const(1) => {
            return fail("has an epilogue operand whose rows are not contiguous");
        }
        (Expr::Const(_), stride) => Some(stride),
        (size, stride) if size == out.sizes[rank - 1] => Some(stride),
        _ => return fail("has an epilogue operand whose last dimension may or may not broadcast"),
    };
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
