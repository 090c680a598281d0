//! `ait.b2b_gemm`: the op as a problem of the back-to-back kernel.

use super::{
    Operand, Whole,
    b2b_sm90::{self, Problem, Side},
    problem::Dtype,
};
use crate::{
    cpu::{Unsupported, map::inline_at},
    cuda::Chip,
};
use aitmlir_dialects::{
    ait::{CausalKind, OpView},
    types::{TypeExt, Types},
};
use kernel_launch::{Expr, KernelLaunch};
use melior::ir::{TypeLike, ValueLike};

fn fail<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported(what.into()))
}

fn dtype(element: melior::ir::Type<'_>) -> Option<Dtype> {
    if !element.is_float_type() || element.bits() != 16 {
        return None;
    }
    // SAFETY: a question to a valid type.
    Some(if unsafe { mlir_sys::mlirTypeIsABF16(element.to_raw()) } { Dtype::Bf16 } else { Dtype::F16 })
}

/// Is there a kernel for these products?
pub fn supported(chip: &Chip, op: OpView<'_>) -> Result<(), Unsupported> {
    let element = op.group("query")[0].r#type().element_type();
    if chip.hopper && dtype(element).is_some() {
        return Ok(());
    }
    fail(format!("of {element} has no kernel for cuda:{}", chip.name))
}

/// Emits the kernel.
pub fn emit<'c>(whole: &Whole<'_, 'c>) -> Result<KernelLaunch, Unsupported> {
    let op = whole.op;
    let (problem, when) = problem(whole)?;
    let (alpha0, alpha1) = (op.f64("alpha0").unwrap_or(1.0), op.f64("alpha1").unwrap_or(1.0));
    let (block, divide) = (op.block(0), op.has("divide_by_length"));
    let launch = b2b_sm90::emit(whole.context, whole.module, whole.name, &problem, &|b, score, bias, length| {
        let f32 = b.context().f32_type();
        let scaled = |value, by: f64| if by == 1.0 { value } else { b.mulf(value, b.float(f32, by)) };
        let score = scaled(score, alpha0);
        let sum = bias.map_or(score, |bias| b.addf(score, bias));
        let active = block.and_then(|block| inline_at(b, block, &[sum], &[]).first().copied()).unwrap_or(sum);
        let result = scaled(active, alpha1);
        if !divide {
            return result;
        }
        let length = b.op1("arith.sitofp", &[length], f32, &[]);
        b.mulf(result, b.divf(b.float(f32, 1.0), length))
    });
    let launch = launch.map_err(|cause| Unsupported(format!("has no legal configuration: {cause}")))?;
    Ok(KernelLaunch { when, ..launch })
}

/// The op as a problem, and the launches for which the strides are what TMA takes.
fn problem(whole: &Whole<'_, '_>) -> Result<(Problem, Option<Expr>), Unsupported> {
    let [query, key, value, extras @ .., out] = whole.operands else { return fail("has too few operands") };
    let known = |size: &Expr| if let Expr::Const(n) = size { Some(*n) } else { None };
    let (Some(depth), Some(width)) = (known(&query.sizes[3]), known(&value.sizes[3])) else {
        return fail("has heads of a size that is not known at compile time, for which there is no kernel");
    };
    let Some(dtype) = dtype(query.element) else { return fail(format!("of {} has no kernel", query.element)) };
    let mut condition: Option<Expr> = None;
    let mut side = |operand: &Operand<'_>| -> Result<Side, Unsupported> {
        if operand.strides[3] != Expr::Const(1) {
            return fail("has an operand whose rows are not contiguous, for which there is no kernel");
        }
        let one = Expr::Const(1);
        let along = |d: usize| if operand.sizes[d] == one { Expr::Const(0) } else { operand.strides[d].clone() };
        let side = Side { operand: operand.number, line: operand.strides[2].clone(), head: along(1), batch: along(0) };
        for stride in [&side.line, &side.head, &side.batch] {
            match stride {
                Expr::Const(n) if n % 8 == 0 => {}
                Expr::Const(_) => {
                    return fail("has rows that are no multiple of 8 elements, for which there is no kernel");
                }
                stride => {
                    let whole = stride.clone().remainder(8).equal(0);
                    condition = Some(condition.take().map_or(whole.clone(), |c| c * whole));
                }
            }
        }
        Ok(side)
    };
    let sides = [side(query)?, side(key)?, side(value)?, side(out)?];
    let bias = match extras {
        [] => None,
        [bias] if bias.sizes.len() == 4 => Some((bias, side(bias)?)),
        _ => return fail("has a bias of another rank, for which there is no kernel"),
    };
    if let Some((bias, _)) = &bias {
        let wanted = [&query.sizes[0], &query.sizes[1], &query.sizes[2], &key.sizes[2]];
        for (d, (size, wanted)) in bias.sizes.iter().zip(wanted).enumerate() {
            match (known(size), known(wanted)) {
                (Some(1), _) if d < 2 => {}
                _ if size == wanted => {}
                (Some(_), Some(_)) => {
                    return fail("has a bias that broadcasts rows or columns, for which there is no kernel");
                }
                // Sizes that are known at run time only may yet be 1.
                _ => {
                    let same = size.clone().equal(wanted.clone());
                    condition = Some(condition.take().map_or(same.clone(), |c| c * same));
                }
            }
        }
    }
    let bias = bias.map(|(_, side)| side);
    let problem = Problem {
        dtype,
        batch: query.sizes[0].clone(),
        heads: query.sizes[1].clone(),
        m: query.sizes[2].clone(),
        n: key.sizes[2].clone(),
        depth,
        width,
        sides,
        bias,
        causal: whole.op.kind("causal").unwrap_or(CausalKind::None),
        dims: whole.dims.to_vec(),
        operands: (0..whole.operands.len()).map(|i| format!("operand {i}")).collect(),
    };
    Ok((problem, condition))
}
