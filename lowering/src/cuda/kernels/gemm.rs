//! `ait.gemm`: the op as a [`Problem`], and the kernels for it: the fast one, and those for sizes and addresses that it does not take.

use super::{
    Operand, Whole, gemm_groups, gemm_sm80,
    gemm_sm80::choose::{divisor, widest},
    gemm_sm90::{
        self, Config, Illegal,
        choose::{choose, choose_by_data},
    },
    problem::{Dtype, Extra, Fold, Output, Place, Problem},
    sizes::Sizes,
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
    let rights = 1 + op.group("others").len();
    if rights > 2 {
        return fail(format!("has {rights} right operands, for which there is no kernel"));
    }
    match dtype(element) {
        Some(Dtype::S32) | None => Err(Unsupported(format!("of {element} has no kernel for cuda:{}", chip.name))),
        Some(_) => Ok(()),
    }
}

/// The type of a kernel's elements that stands for an element type.
pub(super) fn dtype(element: Type<'_>) -> Option<Dtype> {
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
    let problem = [problem(whole)?];
    emit_problems(whole, &problem, &problem)
}

/// The same for the problems of a group, of which the op is one. `all` are of one form, and `simple` those in the simplest form, where that is one too.
pub(super) fn emit_problems<'c>(
    whole: &Whole<'_, 'c>,
    simple: &[Problem],
    all: &[Problem],
) -> Result<KernelLaunch, Unsupported> {
    let op = whole.op;
    let Some(problem) = all.first() else { return fail("has no members") };
    let alpha = op.f64("alpha").unwrap_or(1.0);
    let block = op.block(0);
    let others = problem.products() as usize - 1;
    let region = |b: Builder<'c>, sum: Val<'c>, extras: &[Val<'c>]| -> Vec<Val<'c>> {
        let scaled = |sum| if alpha == 1.0 { sum } else { b.mulf(sum, b.float(b.context().f32_type(), alpha)) };
        match block {
            Some(block) => {
                let sums = std::iter::once(sum).chain(extras[..others].iter().copied()).map(scaled);
                let arguments: Vec<_> = sums.chain(extras[others..].iter().copied()).collect();
                inline_at(b, block, &arguments, &[])
            }
            None => vec![scaled(sum)],
        }
    };
    if alpha != 1.0 && matches!(problem.dtype, Dtype::S8 | Dtype::U8) {
        return fail("scales integer sums, which the kernel does not");
    }
    let mut variants: Vec<KernelLaunch> = Vec::new();
    let name = |number: usize| if number == 0 { whole.name.to_owned() } else { format!("{}_v{number}", whole.name) };
    let illegal = |cause: Illegal| Unsupported(format!("has no legal configuration: {cause}"));
    if whole.chip.hopper && problem.dtype.half() {
        let mut add = |problems: &[Problem], also: Option<Expr>| -> Result<(), Unsupported> {
            for (when, config) in hopper(problems, whole.tuning) {
                let name = name(variants.len());
                let launch = gemm_sm90::emit_group(whole.context, whole.module, &name, problems, config, &region)
                    .map_err(illegal)?;
                variants.push(KernelLaunch { when: both(also.clone(), when), ..launch });
            }
            Ok(())
        };
        // Rows that are unfolded leave through TMA where each part of them is many rows, else by plain stores.
        let parts: Option<Vec<_>> = simple.iter().map(Problem::unfolded).collect();
        let many = parts.iter().flatten().map(|part| Expr::Const(MANY_PARTS - 1).less(part.m.clone()));
        let many = many.reduce(|all, own| all * own).unwrap_or(0.into());
        match (&many, &parts) {
            (Expr::Const(0), _) | (_, None) => add(simple, None)?,
            (Expr::Const(_), Some(parts)) => add(parts, None)?,
            (many, Some(parts)) => {
                add(parts, Some(many.clone()))?;
                add(simple, None)?;
            }
        }
    }
    // Groups by data are not in the tables.
    let newest = (variants.is_empty() && problem.groups.is_none()).then_some(whole.tuning);
    for config in ampere(all, op.has("tf32"), whole.chip, newest) {
        let name = name(variants.len());
        let launch = gemm_sm80::emit_group(whole.context, whole.module, &name, all, config, &region);
        variants.push(launch.map_err(illegal)?);
    }
    let chain = variants.into_iter().reduce(KernelLaunch::or_else);
    chain.ok_or_else(|| Unsupported("has no variant".to_owned()))
}

pub(super) fn known(e: &Expr) -> Option<i64> {
    if let Expr::Const(n) = e { Some(*n) } else { None }
}

/// Where all strides of a place are multiples of `elements`: `Some(None)` for always, `Some(Some(condition))`, or `None` for never.
fn multiples(place: &Place, elements: i64) -> Option<Option<Expr>> {
    let mut condition: Option<Expr> = None;
    let folds = place.columns.iter().rev().skip(1).chain(&place.batches).map(|fold| &fold.stride);
    for stride in std::iter::once(&place.line).chain(&place.batch).chain(folds) {
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

/// Rows of a part of which there may be a batch.
const MANY_PARTS: i64 = 64;

/// Rows that stand for a number of rows that is known at run time only.
const MANY_ROWS: i64 = 4096;

/// A length of sums that stands for one that is known at run time only.
const MANY_SUMS: i64 = 1024;

/// As [`MANY_ROWS`], of a problem of a group.
const MANY_ROWS_OF_GROUP: i64 = 256;

/// Configurations of the kernel of sm_90a for a group of problems, each with the launches that it is for.
fn hopper(problems: &[Problem], tuning: &Tuning) -> Vec<(Option<Expr>, Config)> {
    let mut loads = None;
    for problem in problems {
        for place in std::iter::once(&problem.a).chain(problem.rights()) {
            let Some(condition) = multiples(place, 16 / problem.dtype.bytes()) else { return vec![] };
            loads = both(loads, condition);
        }
    }
    // TMA stores want rows of whole 16 bytes, and boxes that lie in one dimension; plain stores take any.
    let stores = problems.iter().flat_map(Problem::outputs).all(|(out, dtype)| {
        matches!(multiples(out, 16 / dtype.bytes()), Some(None))
            && out.rows.is_empty()
            && out
                .columns
                .last()
                .is_none_or(|inner| divisor(&inner.size) % (128 / dtype.bytes()) == 0 && known(&inner.size).is_some())
    });
    // A tensor map has no dimension of size 0; in a group such a problem has no map.
    let some = |e: &Expr| if known(e).is_none_or(|n| n == 0) { Some(Expr::Const(0).less(e.clone())) } else { None };
    let loads = match problems {
        [problem] => {
            let groups = problem.groups.as_ref().and_then(|groups| some(&groups.count));
            both(both(both(loads, groups), some(&problem.k)), both(some(&problem.n), some(&problem.m)))
        }
        _ => loads,
    };
    let chosen = |unknown: i64| {
        let sizes: Vec<_> =
            problems.iter().map(|problem| Sizes::of(problem, [unknown, MANY_ROWS, MANY_SUMS])).collect();
        match problems {
            // Of rows that are grouped by data, those that each group may have.
            [problem @ Problem { groups: Some(groups), .. }] => {
                let sizes = gemm_groups::sizes(&sizes[0], groups, unknown);
                let robust = gemm_groups::for_many_rows(&sizes, stores).filter(|c| c.check(problem).is_ok());
                robust.or_else(|| choose_by_data(&sizes, problem, stores))
            }
            _ => choose(&sizes, problems, stores, tuning),
        }
    };
    let mut list = Vec::new();
    let most = problems.iter().map(|problem| problem.m.clone()).reduce(|most, m| most.max(m)).unwrap_or(0.into());
    let groups = problems.iter().find_map(|problem| problem.groups.as_ref());
    // Of groups of rows, those that each has on average.
    let count = groups.map_or(1.into(), |groups| groups.count.clone());
    if known(&most).is_none() || known(&count).is_none() {
        for rows in [16, 64] {
            let limit = count.clone() * rows + 1;
            let few = chosen(rows).map(|config| (both(loads.clone(), Some(most.clone().less(limit))), config));
            list.extend(few);
        }
    }
    let many = if problems.len() > 1 || groups.is_some() { MANY_ROWS_OF_GROUP } else { MANY_ROWS };
    list.extend(chosen(many).map(|config| (loads, config)));
    list
}

/// Configurations of the kernel of sm_80, the widest copies first; the last one takes everything. `tf32`: f32 may be rounded to it. `tuning`: where no newer kernel computes the
/// products.
fn ampere(problems: &[Problem], tf32: bool, chip: &Chip, tuning: Option<&Tuning>) -> Vec<gemm_sm80::Config> {
    use gemm_sm80::choose::{choose, kind};
    let Some(problem) = problems.first() else { return vec![] };
    let sizes = problems.iter().map(|problem| Sizes::of(problem, [MANY_ROWS, MANY_ROWS, MANY_SUMS]));
    let sizes: Vec<_> = sizes.collect();
    let kind = kind(problem.dtype, tf32);
    let (wide, narrow) = (widest(problems), [problem.dtype.bytes() as u32; 2]);
    let first = choose(&sizes, problems, kind, wide, chip, tuning);
    let second = if wide == narrow { None } else { choose(&sizes, problems, kind, narrow, chip, None) };
    first.into_iter().chain(second).collect()
}

/// The op as a product of matrices, in the simplest form that says where its operands lie.
pub(super) fn problem(whole: &Whole<'_, '_>) -> Result<Problem, Unsupported> {
    if !whole.op.group("offsets").is_empty() {
        return gemm_groups::problem(whole);
    }
    let (mut problem, outer) = plain_problem(whole, broadcast)?;
    let left_row = whole.op.kind("a_layout").unwrap_or(MatrixLayout::Row) == MatrixLayout::Row;
    let inputs = &whole.operands[..whole.operands.len() - whole.op.results().len()];
    lay_batch(&mut problem, inputs, &outer);
    fold_batch(&mut problem, &whole.operands[0], outer.len() + 2, left_row);
    tidy(&mut problem);
    Ok(problem)
}

/// The same in a form that ops have in common which are alike but for sizes and strides.
pub(super) fn general_problem(whole: &Whole<'_, '_>) -> Result<Problem, Unsupported> {
    let everywhere = |extra: &Operand<'_>, product: &[Expr]| {
        let some = |stride: Option<Expr>| stride.or(Some(0.into()));
        broadcast(extra, product).map(|e| Extra { row: some(e.row), column: some(e.column), ..e })
    };
    let (mut problem, outer) = plain_problem(whole, everywhere)?;
    let operands = &whole.operands[..whole.operands.len() - whole.op.results().len()];
    let along: Vec<_> = operands.iter().map(|operand| batch_strides(operand, &outer)).collect();
    let count = 2 + usize::from(problem.other.is_some());
    let places = [&mut problem.a, &mut problem.b].into_iter().chain(&mut problem.other);
    places.zip(&along).for_each(|(place, strides)| place.spread.clone_from(strides));
    problem.extras.iter_mut().zip(&along[count..]).for_each(|(extra, strides)| extra.spread.clone_from(strides));
    problem.spread = outer;
    Ok(problem)
}

/// A problem that does not say yet how its operands lie over the batch, and the dimensions of the batch.
pub(super) fn plain_problem(
    whole: &Whole<'_, '_>,
    extra: impl Fn(&Operand<'_>, &[Expr]) -> Result<Extra, Unsupported>,
) -> Result<(Problem, Vec<Expr>), Unsupported> {
    let op = whole.op;
    let results = op.results().len();
    let counts = ["others", "extras", "offsets"].map(|group| op.group(group).len());
    let operands = whole.operands;
    if operands.len() != 2 + counts.iter().sum::<usize>() + results || counts[0] > 1 {
        return fail(format!(
            "has {} right operands and {results} results, for which there is no kernel",
            1 + counts[0]
        ));
    }
    let (inputs, outs) = operands.split_at(operands.len() - results);
    let (a, rights, extras) = (&inputs[0], &inputs[1..2 + counts[0]], &inputs[2 + counts[0]..][..counts[1]]);
    let left_row = op.kind("a_layout").unwrap_or(MatrixLayout::Row) == MatrixLayout::Row;
    let right_row = op.kind("b_layout").unwrap_or(MatrixLayout::Row) == MatrixLayout::Row;
    let types = ["a", "b"].map(|name| {
        // Buffers lack the signedness that tensors have.
        op.group(name).first().and_then(|value| dtype(value.r#type().element_type()))
    });
    let [Some(kind), Some(right)] = types else {
        return fail(format!("of {} has no kernel", a.element));
    };
    if kind != right {
        return fail("multiplies signed and unsigned bytes, for which there is no kernel");
    }
    let types: Option<Vec<_>> = outs.iter().map(|out| dtype(out.element)).collect();
    let Some(types) = types else { return fail(format!("from {} to {} has no kernel", a.element, outs[0].element)) };
    let layouts: Vec<_> = outs.iter().map(|out| Layout::new(op, out)).collect();
    let product = &layouts[0];
    let k = a.sizes[if left_row { a.sizes.len() - 1 } else { a.sizes.len() - 2 }].clone();
    let outer = product.outer();
    let batch = outer.iter().fold(Expr::Const(1), |product, size| product * size.clone());
    let mut places = outs.iter().zip(&layouts).map(|(out, layout)| layout.place(out.number));
    let first = places.next().ok_or_else(|| Unsupported("has no result".to_owned()))?;
    let problem = Problem {
        dtype: kind,
        out_dtype: types[0],
        m: product.m(),
        n: product.n(),
        k,
        batch,
        groups: None,
        spread: vec![],
        dims: whole.dims.to_vec(),
        a: matrix(a, left_row),
        b: matrix(&rights[0], !right_row),
        other: rights.get(1).map(|other| matrix(other, !right_row)),
        more: places.zip(&types[1..]).map(|(place, dtype)| Output { place, dtype: *dtype }).collect(),
        out: first,
        out_pairs: false,
        extras: extras.iter().map(|operand| extra(operand, &product.sizes())).collect::<Result<_, _>>()?,
    };
    Ok((problem, outer))
}

/// How a result lies: the parts that each dimension of [batch..., M, N] has in it, as sizes and strides.
struct Layout(Vec<Vec<Fold>>);

impl Layout {
    fn new(op: OpView<'_>, out: &Operand<'_>) -> Self {
        let (split, permuted) = match op.has("split") {
            true => (op.i64s("split"), op.i64s("permuted")),
            false => (vec![1; out.sizes.len()], (0..out.sizes.len() as i64).collect()),
        };
        let part = |part: i64| {
            let d = permuted.iter().position(|p| *p == part).unwrap_or(0);
            Fold { size: out.sizes[d].clone(), stride: out.strides[d].clone() }
        };
        let firsts = split.iter().scan(0, |next, count| {
            *next += count;
            Some(*next - count)
        });
        Layout(firsts.zip(&split).map(|(first, count)| (first..first + count).map(part).collect()).collect())
    }

    /// The sizes of the product's dimensions.
    fn sizes(&self) -> Vec<Expr> {
        let size = |parts: &Vec<Fold>| parts.iter().fold(Expr::Const(1), |product, f| product * f.size.clone());
        self.0.iter().map(size).collect()
    }

    /// Those of the batch.
    fn outer(&self) -> Vec<Expr> {
        let sizes = self.sizes();
        sizes[..sizes.len() - 2].to_vec()
    }

    fn m(&self) -> Expr {
        let sizes = self.sizes();
        sizes[sizes.len() - 2].clone()
    }

    fn n(&self) -> Expr {
        let sizes = self.sizes();
        sizes[sizes.len() - 1].clone()
    }

    /// The place with all its folds.
    fn place(&self, operand: u32) -> Place {
        let [batches @ .., rows, columns] = self.0.as_slice() else { return result_place(operand) };
        Place { batches: batches.concat(), rows: rows.clone(), columns: columns.clone(), ..result_place(operand) }
    }
}

fn result_place(operand: u32) -> Place {
    let (line, step) = (0.into(), 0.into());
    let (batch, spread, inner) = (None, vec![], true);
    let (batches, rows, columns) = (vec![], vec![], vec![]);
    Place { operand, offset: 0.into(), line, step, batch, spread, inner, batches, rows, columns }
}

/// Joins what lies in a row, drops dimensions of size 1.
fn joined(folds: &[Fold]) -> Vec<Fold> {
    let mut list: Vec<Fold> = Vec::new();
    for fold in folds.iter().filter(|fold| fold.size != Expr::Const(1)) {
        match list.last_mut() {
            Some(last) if last.stride == fold.stride.clone() * fold.size.clone() => {
                *last = Fold { size: last.size.clone() * fold.size.clone(), stride: fold.stride.clone() };
            }
            _ => list.push(fold.clone()),
        }
    }
    list
}

/// Results by plain strides wherever these say it all; and what can be read and written as words.
pub(super) fn tidy(problem: &mut Problem) {
    let single = problem.single();
    for place in std::iter::once(&mut problem.out).chain(problem.more.iter_mut().map(|out| &mut out.place)) {
        let one = |folds: &mut Vec<Fold>, none: i64| -> Expr {
            if folds.len() > 1 {
                *folds = joined(folds);
            }
            match folds.as_slice() {
                [] => none.into(),
                [fold] => {
                    let stride = fold.stride.clone();
                    folds.clear();
                    stride
                }
                _ => 0.into(),
            }
        };
        // Of one row or column any stride is right; that of TMA is a multiple of 16 bytes.
        place.line = one(&mut place.rows, 64);
        place.step = one(&mut place.columns, 1);
        if !place.columns.is_empty() {
            place.step = place.columns[place.columns.len() - 1].stride.clone();
        }
        let stride = one(&mut place.batches, 0);
        if place.batches.is_empty() && !single && stride != Expr::Const(0) {
            place.batch = Some(stride);
        }
    }
    // Pairs of 16-bit elements are read and written as words.
    for extra in &mut problem.extras {
        let unit = extra.column == Some(Expr::Const(1));
        let strides = extra.row.iter().chain(&extra.batch).chain(&extra.spread).chain([&problem.n]);
        extra.pairs = unit && strides.map(divisor).all(|n| n % 2 == 0);
    }
    let pairs = problem.outputs().all(|(out, dtype)| {
        let inner = out.columns.last().map_or(&problem.n, |fold| &fold.size);
        let folds = out.rows.iter().chain(&out.batches).chain(out.columns.iter().rev().skip(1));
        let strides = std::iter::once(&out.line).chain(&out.batch).chain(folds.map(|fold| &fold.stride)).chain([inner]);
        out.unit_step() && dtype.half() && strides.map(divisor).all(|n| n % 2 == 0)
    });
    problem.out_pairs = pairs;
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
    let mut next = 2;
    if let Some(other) = &mut problem.other {
        set(2, &mut other.batch, &mut other.spread);
        next = 3;
    }
    for (i, extra) in problem.extras.iter_mut().enumerate() {
        set(next + i, &mut extra.batch, &mut extra.spread);
    }
}

/// Where the right operands are one matrix each and A is dense, the batch is more rows.
fn fold_batch(problem: &mut Problem, a: &Operand<'_>, rank: usize, left_row: bool) {
    // Without a batch of the right operands, that of the result is A's.
    let dense = a.is_dense() && left_row && a.sizes.len() == rank;
    let alone = problem.spread.is_empty() && problem.rights().all(|right| right.batch.is_none());
    let m = problem.m.clone();
    let follows = |e: &Extra| match (&e.batch, &e.row) {
        (None, None) => true,
        (Some(batch), Some(row)) => *batch == row.clone() * m.clone(),
        _ => false,
    };
    if problem.single() || !dense || !alone || !problem.extras.iter().all(follows) {
        return;
    }
    problem.m = problem.batch.clone() * problem.m.clone();
    problem.batch = Expr::Const(1);
    problem.a.batch = None;
    problem.extras.iter_mut().for_each(|extra| extra.batch = None);
    for place in std::iter::once(&mut problem.out).chain(problem.more.iter_mut().map(|out| &mut out.place)) {
        let batches = std::mem::take(&mut place.batches);
        place.rows.splice(0..0, batches);
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
        batches: vec![],
        rows: vec![],
        columns: vec![],
    }
}

/// A stride along a dimension of the result: 0 where the operand's size is 1 and the result's is not.
pub(super) fn broadcast_stride(size: &Expr, stride: &Expr, of_result: &Expr) -> Expr {
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

pub(super) fn broadcast(extra: &Operand<'_>, product: &[Expr]) -> Result<Extra, Unsupported> {
    let Some(dtype) = dtype(extra.element) else {
        return fail(format!("has an epilogue that reads {}", extra.element));
    };
    let (rank, own) = (product.len(), extra.sizes.len());
    let along = |d: usize| {
        let i = (d + own).checked_sub(rank)?;
        let stride = broadcast_stride(&extra.sizes[i], &extra.strides[i], &product[d]);
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
