//! `ait.b2b_gemm`: the op as a problem of the back-to-back kernel.

use super::{
    Operand, Whole,
    b2b::{Bias, Problem, Side},
    b2b_any, b2b_sm90,
    gemm::{broadcast_stride, dtype},
    problem::Dtype,
    sequences::Sequences,
};
use crate::{
    cpu::{Unsupported, map::inline_at},
    cuda::{Chip, entry::FAILURE},
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
    let columns = |t: melior::ir::Type<'_>| t.shape().last().copied().unwrap_or(0);
    match [query, value].map(columns).into_iter().find(|columns| !takes_width(*columns)) {
        Some(columns) if columns < 0 => fail("has heads of a size that is not known, for which there is no kernel"),
        Some(columns) => fail(format!("has heads of {columns} columns, for which there is no kernel")),
        None => Ok(()),
    }
}

/// Emits the kernel, twice where the bias may be such that TMA loads it, and the one for operands at any address.
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
    let (problem, when) = problem(whole)?;
    let name = |number: usize| if number == 0 { whole.name.to_owned() } else { format!("{}_v{number}", whole.name) };
    let mut variants = Vec::new();
    for (bias, when) in biases(whole, &problem, when)? {
        let problem = Problem { bias, ..problem.clone() };
        let launch = b2b_sm90::emit(whole.context, whole.module, &name(variants.len()), &problem, &code)
            .map_err(|cause| Unsupported(format!("has no legal configuration: {cause}")))?;
        variants.push(KernelLaunch { when, ..launch });
    }
    variants.push(b2b_any::emit(whole.context, whole.module, &name(variants.len()), &problem, &code));
    variants.into_iter().reduce(KernelLaunch::or_else).ok_or_else(|| Unsupported("has no variant".to_owned()))
}

/// What must hold at run time for TMA to take strides; never, where one of them is known not to be a multiple of 8 elements.
#[derive(Clone, Default)]
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

    fn side(&mut self, side: &Side) {
        self.also(side.column.clone().equal(1));
        for stride in [&side.line, &side.head, &side.batch] {
            self.also(stride.clone().remainder(8).equal(0));
        }
    }
}

/// An operand as [B, H, lines, columns], or as jagged [T, H, columns].
fn side(operand: &Operand<'_>) -> Side {
    let along = |d: usize| if operand.sizes[d] == Expr::Const(1) { Expr::Const(0) } else { operand.strides[d].clone() };
    let strides = &operand.strides;
    match strides.len() {
        3 => Side {
            operand: operand.number,
            column: strides[2].clone(),
            line: strides[0].clone(),
            head: along(1),
            batch: Expr::Const(0),
        },
        _ => Side {
            operand: operand.number,
            column: strides[3].clone(),
            line: strides[2].clone(),
            head: along(1),
            batch: along(0),
        },
    }
}

/// The op as a problem whose bias is read element by element, and what must hold for TMA to load Q, K and V.
fn problem(whole: &Whole<'_, '_>) -> Result<(Problem, Legal), Unsupported> {
    let [query, key, value, extras @ .., out] = whole.operands else { return fail("has too few operands") };
    let known = |size: Option<&Expr>| if let Some(Expr::Const(n)) = size { Some(*n) } else { None };
    let (Some(depth), Some(width)) = (known(query.sizes.last()), known(value.sizes.last())) else {
        return fail("has heads of a size that is not known at compile time, for which there is no kernel");
    };
    let Some(dtype) = dtype(query.element) else { return fail(format!("of {} has no kernel", query.element)) };
    let sides = [query, key, value, out].map(side);
    let mut legal = Legal::default();
    sides.iter().for_each(|side| legal.side(side));
    // A tensor map has no dimension of size 0.
    for operand in [query, key] {
        let lines = &operand.sizes[operand.sizes.len() - if whole.op.has("max_length") { 3 } else { 2 }];
        legal.also(Expr::Const(0).less(lines.clone()));
    }
    let mut operands: Vec<_> = (0..whole.operands.len()).map(|i| format!("operand {i}")).collect();
    let mut dims = whole.dims.to_vec();
    let offsets = whole.op.has("max_length").then(|| extras.last()).flatten();
    let sequences = offsets.map(|offsets| {
        operands.push(FAILURE.to_owned());
        dims.push("site of the launch".to_owned());
        Sequences {
            offsets: offsets.number,
            wide: offsets.element.bits() == 64,
            total: query.sizes[0].clone(),
            max_length: whole.op.i64("max_length"),
            count: offsets.sizes[0].clone().minus(1),
            record: operands.len() as u32 - 1,
            site: Expr::Dim(dims.len() as u32 - 1),
        }
    });
    let length = whole.op.i64("max_length").unwrap_or(0);
    let (batch, m, n) = match &sequences {
        Some(sequences) => (sequences.count.clone(), length.into(), length.into()),
        None => (query.sizes[0].clone(), query.sizes[2].clone(), key.sizes[2].clone()),
    };
    let mut problem = Problem {
        dtype,
        batch,
        heads: query.sizes[1].clone(),
        m,
        n,
        depth,
        width,
        sides,
        sequences,
        bias: None,
        causal: whole.op.kind("causal").unwrap_or(CausalKind::None),
        dims,
        operands,
    };
    if let Some(bias) = bias(whole) {
        problem.bias = Some(elements(bias, &scores(&problem))?);
    }
    Ok((problem, legal))
}

fn bias<'a, 'c>(whole: &'a Whole<'_, 'c>) -> Option<&'a Operand<'c>> {
    if whole.op.group("bias").is_empty() { None } else { whole.operands.get(3) }
}

/// The sizes of the scores: B, H, M and N.
fn scores(problem: &Problem) -> [Expr; 4] {
    [&problem.batch, &problem.heads, &problem.m, &problem.n].map(Clone::clone)
}

/// The ways in which the tensor cores' kernel reads the bias, each with the launches that it is for; the first that fits is taken.
#[allow(clippy::type_complexity)] // ways and conditions
fn biases(
    whole: &Whole<'_, '_>,
    problem: &Problem,
    legal: Legal,
) -> Result<Vec<(Option<Bias>, Option<Expr>)>, Unsupported> {
    if legal.never {
        return Ok(vec![]);
    }
    let mut list = Vec::new();
    let loaded = bias(whole).and_then(|bias| {
        let element = whole.op.group("query").first()?.r#type().element_type();
        boxes(bias, element, &scores(problem), legal.clone())
    });
    if let Some((side, condition)) = loaded {
        list.push((Some(Bias::Boxes(side)), condition));
    }
    if list.first().is_none_or(|(_, condition)| condition.is_some()) {
        list.push((problem.bias.clone(), legal.condition));
    }
    Ok(list)
}

/// A bias that TMA may load, and when it and `legal` hold; none where it never does.
fn boxes(
    bias: &Operand<'_>,
    element: melior::ir::Type<'_>,
    scores: &[Expr; 4],
    mut legal: Legal,
) -> Option<(Side, Option<Expr>)> {
    if bias.element != element || bias.sizes.len() != 4 {
        return None;
    }
    let side = side(bias);
    legal.side(&side);
    for (d, (size, wanted)) in bias.sizes.iter().zip(scores).enumerate() {
        // Batches and heads may all have the same.
        if size != wanted && (d >= 2 || *size != Expr::Const(1)) {
            legal.also(size.clone().equal(wanted.clone()));
        }
    }
    (!legal.never).then_some((side, legal.condition))
}

/// A bias of any layout that broadcasts to the scores.
fn elements(bias: &Operand<'_>, scores: &[Expr; 4]) -> Result<Bias, Unsupported> {
    let Some(dtype) = dtype(bias.element).filter(|dtype| dtype.half() || *dtype == Dtype::F32) else {
        return fail(format!("has a bias of {}, for which there is no kernel", bias.element));
    };
    let own = bias.sizes.len();
    let stride = |d: usize| match (d + own).checked_sub(4) {
        Some(i) => broadcast_stride(&bias.sizes[i], &bias.strides[i], &scores[d]),
        None => Expr::Const(0),
    };
    Ok(Bias::Elements { operand: bias.number, dtype, strides: [0, 1, 2, 3].map(stride) })
}
