//! `ait.b2b_gemm`: the op as a problem of the back-to-back kernel.

use super::{
    Operand, Whole,
    b2b_sm90::{self, Bias, Problem, Side},
    gemm::{broadcast_stride, dtype},
    problem::Dtype,
};
use crate::{
    cpu::{Unsupported, map::inline_at},
    cuda::Chip,
};
use aitmlir_dialects::{
    ait::{CausalKind, OpView},
    builder::Builder,
    types::{TypeExt, Types, Val},
};
use kernel_launch::{Expr, KernelLaunch};
use melior::ir::ValueLike;

fn fail<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported(what.into()))
}

/// Columns of Q and of V that the kernel takes.
fn takes_width(columns: i64) -> bool {
    (8..=128).contains(&columns) && columns % 8 == 0
}

/// Is there a kernel for these products? Where there is none they become products of their own: see `ait-expand-products`.
pub fn supported(chip: &Chip, op: OpView<'_>) -> Result<(), Unsupported> {
    let [query, value] = ["query", "value"].map(|group| op.group(group)[0].r#type());
    let element = query.element_type();
    if !chip.hopper || !dtype(element).is_some_and(Dtype::half) {
        return fail(format!("of {element} has no kernel for cuda:{}", chip.name));
    }
    let out = op.results()[0].r#type().element_type();
    if value.element_type() != element || out != element {
        return fail("of several element types has no kernel");
    }
    match [query, value].map(|t| t.shape()[3]).into_iter().find(|columns| !takes_width(*columns)) {
        Some(columns) if columns < 0 => fail("has heads of a size that is not known, for which there is no kernel"),
        Some(columns) => fail(format!("has heads of {columns} columns, for which there is no kernel")),
        None => Ok(()),
    }
}

/// Emits the kernel; twice where the bias may be such that TMA loads it.
pub fn emit<'c>(whole: &Whole<'_, 'c>) -> Result<KernelLaunch, Unsupported> {
    let op = whole.op;
    let (alpha0, alpha1) = (op.f64("alpha0").unwrap_or(1.0), op.f64("alpha1").unwrap_or(1.0));
    let (block, divide) = (op.block(0), op.has("divide_by_length"));
    let code = |b: Builder<'c>, score: Val<'c>, bias: Option<Val<'c>>, length: Val<'c>| {
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
    };
    let mut variants = Vec::new();
    for (number, (problem, when)) in problems(whole)?.into_iter().enumerate() {
        let name = if number == 0 { whole.name.to_owned() } else { format!("{}_v{number}", whole.name) };
        let launch = b2b_sm90::emit(whole.context, whole.module, &name, &problem, &code)
            .map_err(|cause| Unsupported(format!("has no legal configuration: {cause}")))?;
        variants.push(KernelLaunch { when, ..launch });
    }
    variants.into_iter().reduce(KernelLaunch::or_else).ok_or_else(|| Unsupported("has no variant".to_owned()))
}

/// What must hold at run time for TMA to take strides; never, where one of them is known not to be a multiple of 8 elements.
#[derive(Default)]
struct Legal {
    condition: Option<Expr>,
    never: bool,
}

impl Legal {
    fn also(&mut self, holds: Expr) {
        match holds {
            Expr::Const(0) => self.never = true,
            Expr::Const(_) => {}
            holds => self.condition = Some(self.condition.take().map_or(holds.clone(), |c| c * holds)),
        }
    }

    fn side(&mut self, operand: &Operand<'_>) -> Side {
        let one = Expr::Const(1);
        let along = |d: usize| if operand.sizes[d] == one { Expr::Const(0) } else { operand.strides[d].clone() };
        let side = Side { operand: operand.number, line: operand.strides[2].clone(), head: along(1), batch: along(0) };
        self.also(operand.strides[3].clone().equal(1));
        for stride in [&side.line, &side.head, &side.batch] {
            self.also(stride.clone().remainder(8).equal(0));
        }
        side
    }
}

/// The op as problems, each with the launches that it is for; the first that fits is taken.
fn problems(whole: &Whole<'_, '_>) -> Result<Vec<(Problem, Option<Expr>)>, Unsupported> {
    let [query, key, value, extras @ .., out] = whole.operands else { return fail("has too few operands") };
    let known = |size: &Expr| if let Expr::Const(n) = size { Some(*n) } else { None };
    let (Some(depth), Some(width)) = (known(&query.sizes[3]), known(&value.sizes[3])) else {
        return fail("has heads of a size that is not known at compile time, for which there is no kernel");
    };
    let Some(dtype) = dtype(query.element) else { return fail(format!("of {} has no kernel", query.element)) };
    let mut legal = Legal::default();
    let sides = [query, key, value, out].map(|operand| legal.side(operand));
    if legal.never {
        return fail(
            "has an operand whose rows are not contiguous or no multiple of 8 elements, for which there is no kernel",
        );
    }
    let problem = |bias| Problem {
        dtype,
        batch: query.sizes[0].clone(),
        heads: query.sizes[1].clone(),
        m: query.sizes[2].clone(),
        n: key.sizes[2].clone(),
        depth,
        width,
        sides: sides.clone(),
        bias,
        causal: whole.op.kind("causal").unwrap_or(CausalKind::None),
        dims: whole.dims.to_vec(),
        operands: (0..whole.operands.len()).map(|i| format!("operand {i}")).collect(),
    };
    let Some(bias) = extras.first() else { return Ok(vec![(problem(None), legal.condition)]) };
    let scores = [&query.sizes[0], &query.sizes[1], &query.sizes[2], &key.sizes[2]];
    let mut list = Vec::new();
    if let Some((side, condition)) = boxes(bias, query.element, &scores) {
        let condition = [legal.condition.clone(), condition].into_iter().flatten().reduce(|x, y| x * y);
        list.push((problem(Some(Bias::Boxes(side))), condition));
    }
    if list.first().is_none_or(|(_, condition)| condition.is_some()) {
        list.push((problem(Some(elements(bias, &scores)?)), legal.condition));
    }
    Ok(list)
}

/// A bias that TMA may load, and when it does; none where it never does.
fn boxes(bias: &Operand<'_>, element: melior::ir::Type<'_>, scores: &[&Expr; 4]) -> Option<(Side, Option<Expr>)> {
    if bias.element != element || bias.sizes.len() != 4 {
        return None;
    }
    let mut legal = Legal::default();
    let side = legal.side(bias);
    for (d, (size, wanted)) in bias.sizes.iter().zip(scores).enumerate() {
        // Batches and heads may all have the same.
        if size != *wanted && (d >= 2 || *size != Expr::Const(1)) {
            legal.also(size.clone().equal((*wanted).clone()));
        }
    }
    (!legal.never).then_some((side, legal.condition))
}

/// A bias of any layout that broadcasts to the scores.
fn elements(bias: &Operand<'_>, scores: &[&Expr; 4]) -> Result<Bias, Unsupported> {
    let Some(dtype) = dtype(bias.element).filter(|dtype| dtype.half() || *dtype == Dtype::F32) else {
        return fail(format!("has a bias of {}, for which there is no kernel", bias.element));
    };
    let own = bias.sizes.len();
    let stride = |d: usize| match (d + own).checked_sub(4) {
        Some(i) => broadcast_stride(&bias.sizes[i], &bias.strides[i], scores[d]),
        None => Expr::Const(0),
    };
    Ok(Bias::Elements { operand: bias.number, dtype, strides: [0, 1, 2, 3].map(stride) })
}
