//! `ait.gemm`: the op as a [`Problem`], and the kernels for it: the fast one, and those for sizes and addresses that it does not take.

use super::{
    Operand, Whole, gemm_sm80,
    gemm_sm90::{
        self, Config, Illegal,
        choose::{Sizes, choose},
    },
    problem::{Dtype, Extra, Place, Problem},
};
use crate::{
    cpu::{Unsupported, map::inline_at},
    cuda::{Chip, tuning::Tuning},
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
        Some(Dtype::S32) | None => Err(Unsupported(format!("of {element} has no kernel for cuda:{}", chip.name))),
        Some(_) => Ok(()),
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
        32 if element.is_int_type() => Some(Dtype::S32),
        8 if element.is_int_type() => Some(if element.is_unsigned_type() { Dtype::U8 } else { Dtype::S8 }),
        _ => None,
    }
}

fn fail<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported(what.into()))
}

/// Emits the kernel, and those that stand in for it where sizes or addresses are not what it wants.
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
    if alpha != 1.0 && matches!(problem.dtype, Dtype::S8 | Dtype::U8) {
        return fail("scales integer sums, which the kernel does not");
    }
    let mut variants: Vec<KernelLaunch> = Vec::new();
    let name = |number: usize| if number == 0 { whole.name.to_owned() } else { format!("{}_v{number}", whole.name) };
    let illegal = |cause: Illegal| Unsupported(format!("has no legal configuration: {cause}"));
    if whole.chip.hopper && problem.dtype.half() {
        for (when, config) in hopper(&problem, whole.tuning) {
            let name = name(variants.len());
            let launch =
                gemm_sm90::emit(whole.context, whole.module, &name, &problem, config, &region).map_err(illegal)?;
            variants.push(KernelLaunch { when, ..launch });
        }
    }
    for config in ampere(&problem) {
        let name = name(variants.len());
        variants.push(gemm_sm80::emit(whole.context, whole.module, &name, &problem, config, &region).map_err(illegal)?);
    }
    let chain = variants.into_iter().reduce(KernelLaunch::or_else);
    chain.ok_or_else(|| Unsupported("has no variant".to_owned()))
}

/// A number that is known to divide a formula.
fn divisor(e: &Expr) -> i64 {
    fn gcd(a: i64, b: i64) -> i64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    match e {
        Expr::Const(0) => 1 << 20,
        Expr::Const(n) => n.abs(),
        Expr::Mul(a, b) => divisor(a).saturating_mul(divisor(b)).min(1 << 40),
        Expr::Add(a, b) | Expr::Sub(a, b) | Expr::Min(a, b) | Expr::Max(a, b) => gcd(divisor(a), divisor(b)),
        _ => 1,
    }
}

fn known(e: &Expr) -> Option<i64> {
    if let Expr::Const(n) = e { Some(*n) } else { None }
}

/// Where all strides of a place are multiples of `elements`: `Some(None)` for always, `Some(Some(condition))`, or `None` for never.
fn multiples(place: &Place, elements: i64) -> Option<Option<Expr>> {
    let mut condition: Option<Expr> = None;
    for stride in std::iter::once(&place.line).chain(&place.batch) {
        if divisor(stride) % elements == 0 {
            continue;
        }
        if known(stride).is_some() {
            return None;
        }
        let holds = stride.clone().remainder(elements).equal(0);
        condition = Some(condition.map_or(holds.clone(), |c| c * holds));
    }
    Some(condition)
}

fn both(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a * b),
        (a, b) => a.or(b),
    }
}

/// Rows that stand for a number of rows that is known at run time only.
const MANY_ROWS: i64 = 4096;

/// Configurations of the kernel of sm_90a, each with the launches that it is for.
fn hopper(problem: &Problem, tuning: &Tuning) -> Vec<(Option<Expr>, Config)> {
    let elements = 16 / problem.dtype.bytes();
    let (Some(a), Some(b)) = (multiples(&problem.a, elements), multiples(&problem.b, elements)) else { return vec![] };
    let loads = both(a, b);
    // TMA stores want rows of whole 16 bytes; plain stores take any.
    let stores = matches!(multiples(&problem.out, 16 / problem.out_dtype.bytes()), Some(None));
    // A tensor map has no dimension of size 0.
    let some = |e: &Expr| if known(e).is_none_or(|n| n == 0) { Some(Expr::Const(0).less(e.clone())) } else { None };
    let loads = both(both(loads, some(&problem.k)), both(some(&problem.n), some(&problem.m)));
    let size = |e: &Expr, unknown: i64| known(e).unwrap_or(unknown);
    let sizes = Sizes {
        m: size(&problem.m, MANY_ROWS),
        n: size(&problem.n, MANY_ROWS),
        k: size(&problem.k, 1024),
        batch: size(&problem.batch, 1),
    };
    let chosen = |m: i64| choose(Sizes { m, ..sizes }, problem, stores, tuning);
    let mut list = Vec::new();
    if known(&problem.m).is_none() {
        for rows in [16, 64] {
            let few = chosen(rows).map(|config| (both(loads.clone(), Some(problem.m.clone().less(rows + 1))), config));
            list.extend(few);
        }
    }
    list.extend(chosen(sizes.m).map(|config| (loads, config)));
    list
}

/// Configurations of the kernel of sm_80, the widest copies first; the last one takes everything.
fn ampere(problem: &Problem) -> Vec<gemm_sm80::Config> {
    use gemm_sm80::Config;
    let element = problem.dtype.bytes();
    let small = known(&problem.m).is_some_and(|m| m <= 64) || known(&problem.n).is_some_and(|n| n <= 64);
    let base = match problem.dtype {
        Dtype::F32 => Config::FMA,
        _ if small => Config::SMALL,
        _ => Config::LARGE,
    };
    let widest = |place: &Place| {
        let contiguous = place.unit_step() && (place.inner || problem.dtype.half());
        let strides = std::iter::once(&place.line).chain(&place.batch).chain(&place.spread);
        let bytes = strides
            .map(|stride| divisor(stride).saturating_mul(element))
            .fold(16, |least, bytes| [16, 8, 4].into_iter().find(|n| bytes % n == 0).unwrap_or(element).min(least));
        if contiguous { bytes.max(element) as u32 } else { element as u32 }
    };
    let wide = Config { copy_bytes: [widest(&problem.a), widest(&problem.b)], ..base };
    let narrow = Config { copy_bytes: [element as u32; 2], ..base };
    if wide == narrow { vec![narrow] } else { vec![wide, narrow] }
}

/// The op as a product of matrices.
fn problem(whole: &Whole<'_, '_>) -> Result<Problem, Unsupported> {
    let op = whole.op;
    let [a, b, extras @ .., out] = whole.operands else { return fail("has too few operands") };
    let left_row = op.kind("a_layout").unwrap_or(MatrixLayout::Row) == MatrixLayout::Row;
    let right_row = op.kind("b_layout").unwrap_or(MatrixLayout::Row) == MatrixLayout::Row;
    let rank = out.sizes.len();
    let types = [("a", a.element), ("b", b.element)].map(|(name, _)| {
        // Buffers lack the signedness that tensors have.
        op.group(name).first().and_then(|value| dtype(value.r#type().element_type()))
    });
    let ([Some(kind), Some(right)], Some(result)) = (types, dtype(out.element)) else {
        return fail(format!("from {} to {} has no kernel", a.element, out.element));
    };
    if kind != right {
        return fail("multiplies signed and unsigned bytes, for which there is no kernel");
    }
    let (m, n) = (out.sizes[rank - 2].clone(), out.sizes[rank - 1].clone());
    let k = a.sizes[if left_row { a.sizes.len() - 1 } else { a.sizes.len() - 2 }].clone();
    let outer = &out.sizes[..rank - 2];
    let batch = outer.iter().fold(Expr::Const(1), |product, size| product * size.clone());
    let mut problem = Problem {
        dtype: kind,
        out_dtype: result,
        m,
        n,
        k,
        batch,
        spread: vec![],
        dims: whole.dims.to_vec(),
        a: matrix(a, left_row),
        b: matrix(b, !right_row),
        out: matrix(out, true),
        extras: extras.iter().map(|extra| broadcast(extra, out)).collect::<Result<_, _>>()?,
    };
    lay_batch(&mut problem, whole.operands, outer);
    fold_batch(&mut problem, a, out, left_row);
    // Pairs of 16-bit elements are read as words.
    for extra in &mut problem.extras {
        let unit = extra.column == Some(Expr::Const(1));
        let strides = extra.row.iter().chain(&extra.batch).chain(&extra.spread).chain([&problem.n]);
        extra.pairs = unit && strides.map(divisor).all(|n| n % 2 == 0);
    }
    Ok(problem)
}

/// How an operand lies over the batch: one stride for all where its dimensions follow each other, else one each.
fn lay_batch(problem: &mut Problem, operands: &[Operand<'_>], outer: &[Expr]) {
    let along: Vec<Vec<Expr>> = operands.iter().map(|operand| batch_strides(operand, outer)).collect();
    let one = Expr::Const(1);
    let single = |strides: &Vec<Expr>| -> Option<Option<Expr>> {
        // Dimensions of size 1 have no stride that counts.
        let dims: Vec<_> = outer.iter().zip(strides).filter(|(size, _)| **size != one).collect();
        let all_zero = dims.iter().all(|(_, stride)| **stride == Expr::Const(0));
        let chained = dims.windows(2).all(|w| *w[0].1 == w[1].1.clone() * w[1].0.clone());
        match dims.last() {
            None => Some(None),
            _ if all_zero => Some(None),
            Some((_, stride)) if chained => Some(Some((*stride).clone())),
            _ => None,
        }
    };
    let singles: Option<Vec<_>> = along.iter().map(single).collect();
    if singles.is_none() {
        problem.spread = outer.to_vec();
    }
    let set = |i: usize, batch: &mut Option<Expr>, spread: &mut Vec<Expr>| match &singles {
        Some(list) => *batch = list[i].clone(),
        None => *spread = along[i].clone(),
    };
    set(0, &mut problem.a.batch, &mut problem.a.spread);
    set(1, &mut problem.b.batch, &mut problem.b.spread);
    for (i, extra) in problem.extras.iter_mut().enumerate() {
        set(2 + i, &mut extra.batch, &mut extra.spread);
    }
    set(operands.len() - 1, &mut problem.out.batch, &mut problem.out.spread);
}

/// Where B is one matrix and A and the result are dense, the batch is more rows.
fn fold_batch(problem: &mut Problem, a: &Operand<'_>, out: &Operand<'_>, left_row: bool) {
    let dense = a.is_dense() && out.is_dense() && left_row && a.sizes.len() == out.sizes.len();
    let same = a.sizes[..a.sizes.len() - 2] == out.sizes[..out.sizes.len() - 2];
    let alone = |e: &Extra| e.batch.is_none() && e.row.is_none();
    if problem.spread.is_empty() && problem.b.batch.is_none() && dense && same && problem.extras.iter().all(alone) {
        problem.m = problem.batch.clone() * problem.m.clone();
        problem.batch = Expr::Const(1);
        (problem.a.batch, problem.out.batch) = (None, None);
    }
}

/// Where the matrices of an operand are. `inner`: its lines run along K, or along N of a result.
fn matrix(operand: &Operand<'_>, inner: bool) -> Place {
    let rank = operand.sizes.len();
    Place {
        operand: operand.number,
        offset: 0.into(),
        line: operand.strides[rank - 2].clone(),
        step: operand.strides[rank - 1].clone(),
        batch: None,
        spread: vec![],
        inner,
    }
}

/// A stride along a dimension of the result: 0 where the operand's size is 1 and the result's is not.
fn broadcast_stride(size: &Expr, stride: &Expr, of_result: &Expr) -> Expr {
    if size == of_result {
        return stride.clone();
    }
    match size {
        Expr::Const(1) => Expr::Const(0),
        Expr::Const(_) => stride.clone(),
        size => stride.clone() * Expr::Const(1).minus(size.clone().equal(1)),
    }
}

/// Strides of an operand along the batch dimensions `outer` of the result.
fn batch_strides(operand: &Operand<'_>, outer: &[Expr]) -> Vec<Expr> {
    let own = operand.sizes.len().saturating_sub(2);
    let at = |(d, of_result): (usize, &Expr)| match (d + own).checked_sub(outer.len()) {
        Some(i) => broadcast_stride(&operand.sizes[i], &operand.strides[i], of_result),
        None => Expr::Const(0),
    };
    outer.iter().enumerate().map(at).collect()
}

fn broadcast(extra: &Operand<'_>, out: &Operand<'_>) -> Result<Extra, Unsupported> {
    let Some(dtype) = dtype(extra.element) else {
        return fail(format!("has an epilogue that reads {}", extra.element));
    };
    let (rank, own) = (out.sizes.len(), extra.sizes.len());
    let along = |d: usize| {
        let i = (d + own).checked_sub(rank)?;
        let stride = broadcast_stride(&extra.sizes[i], &extra.strides[i], &out.sizes[d]);
        (stride != Expr::Const(0)).then_some(stride)
    };
    Ok(Extra {
        operand: extra.number,
        dtype,
        offset: 0.into(),
        row: along(rank - 2),
        column: along(rank - 1),
        batch: None,
        spread: vec![],
        pairs: false,
    })
}
