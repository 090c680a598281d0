//! What a matrix product is, for all gemm kernels: types, sizes, places of the operands, and the epilogue.

use super::sequences::Sequences;
use crate::cuda::entry::FAILURE;
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};
use cute_layout::atom::Element;
use kernel_launch::{Expr, MapType, Param};
use melior::ir::Type;
use std::rc::Rc;

/// Element types of operands and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it
pub enum Dtype {
    F16,
    Bf16,
    F32,
    S8,
    U8,
    S32,
}

impl Dtype {
    /// Bytes of one element.
    pub fn bytes(self) -> i64 {
        match self {
            Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::F32 | Dtype::S32 => 4,
            Dtype::S8 | Dtype::U8 => 1,
        }
    }

    /// f16 or bf16?
    pub fn half(self) -> bool {
        matches!(self, Dtype::F16 | Dtype::Bf16)
    }

    /// As a tensor map has it.
    pub fn map_type(self) -> MapType {
        match self {
            Dtype::F16 => MapType::F16,
            Dtype::Bf16 => MapType::Bf16,
            Dtype::F32 => MapType::F32,
            Dtype::S8 | Dtype::U8 => MapType::U8,
            Dtype::S32 => MapType::I32,
        }
    }

    /// As the cute dialect has it.
    pub fn element(self) -> Element {
        match self {
            Dtype::F16 => Element::F16,
            Dtype::Bf16 => Element::Bf16,
            Dtype::F32 => Element::F32,
            Dtype::S8 => Element::S8,
            Dtype::U8 => Element::U8,
            Dtype::S32 => Element::S32,
        }
    }

    /// The MLIR type.
    pub fn mlir<'c>(self, b: Builder<'c>) -> Type<'c> {
        let context = b.context();
        match self {
            Dtype::F16 => context.f16_type(),
            Dtype::Bf16 => context.bf16_type(),
            Dtype::F32 => context.f32_type(),
            Dtype::S8 | Dtype::U8 => context.int_type(8),
            Dtype::S32 => context.int_type(32),
        }
    }

    /// The short name in kernels' names.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::F32 => "f32",
            Dtype::S8 => "s8",
            Dtype::U8 => "u8",
            Dtype::S32 => "s32",
        }
    }
}

/// Where a matrix of a batch lies in an operand: all in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The operand.
    pub operand: u32,
    /// The first element.
    pub offset: Expr,
    /// From a line to the next.
    pub line: Expr,
    /// From an element of a line to the next; 1 where it is contiguous.
    pub step: Expr,
    /// From a matrix of the batch to the next; `None` where all are the same.
    pub batch: Option<Expr>,
    /// Strides along the dimensions [`Problem::spread`], where there are any.
    pub spread: Vec<Expr>,
    /// Do lines of A and B run along K, those of a result along N? Else they run along M (of A) or N (of B).
    pub inner: bool,
    /// Of a result, the dimensions that the number of a matrix is unfolded into, outermost first; empty where `batch` says it all.
    pub batches: Vec<Fold>,
    /// The same of the number of a row, where `line` does not say it all.
    pub rows: Vec<Fold>,
    /// The same of the number of a column, where `step` does not say it all.
    pub columns: Vec<Fold>,
}

/// A dimension of a result that rows or columns are unfolded into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Its size.
    pub size: Expr,
    /// Elements from one index to the next.
    pub stride: Expr,
}

/// A result beside the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where it is.
    pub place: Place,
    /// Its element type.
    pub dtype: Dtype,
}

impl Place {
    /// Are lines contiguous?
    pub fn unit_step(&self) -> bool {
        self.step == Expr::Const(1)
    }
}

/// A tensor that the epilogue reads beside the sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// The operand.
    pub operand: u32,
    /// Its element type.
    pub dtype: Dtype,
    /// The first element.
    pub offset: Expr,
    /// From one row (M) to the next, in elements; `None` where it is the same in all rows.
    pub row: Option<Expr>,
    /// From one column (N) to the next; `None` where it is the same in all columns.
    pub column: Option<Expr>,
    /// From a matrix of the batch to the next; `None` where all are the same.
    pub batch: Option<Expr>,
    /// Strides along the dimensions [`Problem::spread`], where there are any.
    pub spread: Vec<Expr>,
    /// Is it contiguous along a row, and are the address of each row and the number of columns multiples of 2 elements?
    pub pairs: bool,
}

/// results = epilogue(A B, A B1, extras...), [batch, M, N]; B1 need not be. Of groups, [M, N]: rows of group g are those of A times matrix g of the batch of B, and have what extras have for
/// matrix g.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Element type of A and B.
    pub dtype: Dtype,
    /// Element type of the result.
    pub out_dtype: Dtype,
    /// Rows of the result.
    pub m: Expr,
    /// Columns of the result.
    pub n: Expr,
    /// Length of the sums.
    pub k: Expr,
    /// Matrices of the batch; groups.
    pub batch: Expr,
    /// The borders of the groups, where rows are grouped.
    pub groups: Option<Sequences>,
    /// The dimensions of the batch, outermost first, where one stride an operand cannot say how it lies; else empty.
    pub spread: Vec<Expr>,
    /// Names of the run-time integers that the formulas use.
    pub dims: Vec<String>,
    /// A, [M, K].
    pub a: Place,
    /// B, [N, K].
    pub b: Place,
    /// A second right operand, of the type, the shape and the contiguous dimension of B.
    pub other: Option<Place>,
    /// The result; its `inner` is true.
    pub out: Place,
    /// Further results.
    pub more: Vec<Output>,
    /// Is a result of 16 bits contiguous along a row, and are the address of each row and the number of columns multiples of 2 elements?
    pub out_pairs: bool,
    /// What the epilogue reads.
    pub extras: Vec<Extra>,
}

impl Problem {
    /// A dense row-major product: A [M, K], B [N, K] (as weights of a linear layer are), result [M, N]; operands 0, 1 and the last.
    pub fn linear(dtype: Dtype, m: impl Into<Expr>, n: impl Into<Expr>, k: impl Into<Expr>) -> Self {
        let (m, n, k) = (m.into(), n.into(), k.into());
        let place = |operand, line: &Expr| Place {
            operand,
            offset: 0.into(),
            line: line.clone(),
            step: 1.into(),
            batch: None,
            spread: vec![],
            inner: true,
            batches: vec![],
            rows: vec![],
            columns: vec![],
        };
        Problem {
            dtype,
            out_dtype: dtype,
            a: place(0, &k),
            b: place(1, &k),
            other: None,
            out: place(2, &n),
            more: vec![],
            out_pairs: false,
            m,
            n,
            k,
            batch: 1.into(),
            groups: None,
            spread: vec![],
            dims: vec!["m".to_owned(), "n".to_owned(), "k".to_owned()],
            extras: vec![],
        }
    }

    /// Adds a bias of one element a column as an operand before the result.
    pub fn with_bias(mut self) -> Self {
        let operand = self.out.operand;
        self.out.operand += 1;
        self.extras.push(Extra {
            operand,
            dtype: self.dtype,
            offset: 0.into(),
            row: None,
            column: Some(1.into()),
            batch: None,
            spread: vec![],
            pairs: true,
        });
        self
    }

    /// Names of the operands that are not extras.
    fn named(&self) -> Vec<(u32, String)> {
        let mut named = vec![(self.a.operand, "a".to_owned()), (self.b.operand, "b".to_owned())];
        named.extend(self.other.iter().map(|other| (other.operand, "b1".to_owned())));
        named.push((self.out.operand, "out".to_owned()));
        named.extend(self.more.iter().enumerate().map(|(i, out)| (out.place.operand, format!("out{}", i + 1))));
        let groups = self.groups.iter();
        named.extend(groups.flat_map(|g| [(g.offsets, "offsets".to_owned()), (g.record, FAILURE.to_owned())]));
        named
    }

    /// Names of the operands, in order.
    pub fn operand_names(&self) -> Vec<String> {
        operand_names(std::slice::from_ref(self))
    }

    /// Differs it from another in sizes, strides and operands alone? Then one kernel can compute both.
    pub fn has_form_of(&self, other: &Problem) -> bool {
        let place = |p: &Place| {
            let folds = [p.batches.len(), p.rows.len(), p.columns.len()];
            (p.batch.is_some(), p.spread.len(), p.inner, folds)
        };
        let extra = |e: &Extra| {
            let along = [&e.row, &e.column, &e.batch].map(Option::is_some);
            (e.dtype, along, e.spread.len(), e.pairs)
        };
        let form = |p: &Problem| {
            let places: Vec<_> = std::iter::once(&p.a).chain(p.rights()).map(place).collect();
            let outs: Vec<_> = p.outputs().map(|(out, dtype)| (place(out), dtype)).collect();
            let extras: Vec<_> = p.extras.iter().map(extra).collect();
            (p.dtype, p.spread.len(), p.out_pairs, p.groups.is_some(), places, outs, extras)
        };
        form(self) == form(other)
    }

    /// Products that the epilogue takes: 1 or 2.
    pub fn products(&self) -> u32 {
        1 + u32::from(self.other.is_some())
    }

    /// The right operands.
    pub fn rights(&self) -> impl Iterator<Item = &Place> {
        std::iter::once(&self.b).chain(&self.other)
    }

    /// All results: where they are and of which type.
    pub fn outputs(&self) -> impl Iterator<Item = (&Place, Dtype)> {
        std::iter::once((&self.out, self.out_dtype)).chain(self.more.iter().map(|out| (&out.place, out.dtype)))
    }

    /// The same product with a batch of its own, where rows are unfolded into two dimensions.
    pub fn unfolded(&self) -> Option<Problem> {
        let [outer, inner] = self.out.rows.as_slice() else { return None };
        if !self.single() || self.more.iter().any(|out| out.place.rows.len() != 2) {
            return None;
        }
        let mut problem = self.clone();
        (problem.batch, problem.m) = (outer.size.clone(), inner.size.clone());
        let along_m = if self.a.inner { &self.a.line } else { &self.a.step };
        problem.a.batch = Some(along_m.clone() * inner.size.clone());
        for extra in &mut problem.extras {
            extra.batch = extra.row.clone().map(|row| row * inner.size.clone());
        }
        for place in std::iter::once(&mut problem.out).chain(problem.more.iter_mut().map(|out| &mut out.place)) {
            let [outer, inner] = [0, 1].map(|i| place.rows[i].stride.clone());
            (place.batch, place.line, place.rows) = (Some(outer), inner, vec![]);
        }
        Some(problem)
    }

    /// Rows of tiles of `rows` rows, of all matrices of the batch; of groups, as many as there can be.
    pub fn row_tiles(&self, rows: i64) -> Expr {
        match &self.groups {
            Some(groups) => (self.m.clone().quotient(rows) + groups.count.clone()).max(1),
            None => self.m.clone().ceil_div(rows) * self.batch.clone(),
        }
    }

    /// Has the batch only one matrix?
    pub fn single(&self) -> bool {
        self.batch == Expr::Const(1)
    }
}

/// Scalar code from an f32 sum (an i32 one for integers) and further scalars, which are the sum with the second right operand where there is one and an
/// element of each extra, to the elements of the results: of a result's type, or of the sum's type where the kernel is to round.
pub type Region<'a, 'c> = &'a dyn Fn(Builder<'c>, Val<'c>, &[Val<'c>]) -> Vec<Val<'c>>;

/// An integer of a kernel: known, or a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Int {
    /// Known.
    Known(i64),
    /// Parameter `i`.
    Param(usize),
}

/// Names of the operands of a kernel for several problems, in order.
pub fn operand_names(problems: &[Problem]) -> Vec<String> {
    let named: Vec<Vec<(u32, String)>> = problems.iter().map(Problem::named).collect();
    let extras = problems.iter().flat_map(|problem| problem.extras.iter().map(|e| e.operand));
    let last = extras.chain(named.iter().flatten().map(|(operand, _)| *operand)).max();
    let mut names: Vec<String> = (0..=last.unwrap_or(0)).map(|i| format!("extra{i}")).collect();
    for (i, list) in named.into_iter().enumerate() {
        for (operand, name) in list {
            names[operand as usize] = if problems.len() > 1 { format!("{name} of problem {i}") } else { name };
        }
    }
    names
}

/// Says that problems are not all of one form, or that there are none.
pub fn one_form(problems: &[Problem]) -> Result<(), super::gemm_sm90::Illegal> {
    match problems.first() {
        Some(first) if problems.iter().all(|problem| problem.has_form_of(first)) => Ok(()),
        _ => Err(super::gemm_sm90::Illegal("problems that are not all of one form".to_owned())),
    }
}

/// The parameters of a kernel as they are collected.
#[derive(Clone, Debug, Default)]
pub struct Params {
    /// In order.
    pub list: Vec<Param>,
    /// The numbers that were asked for, in order.
    asked: Vec<Expr>,
    /// Of the kernel of a group, which of these are one constant in all problems; the others are parameters.
    common: Option<Rc<[bool]>>,
}

/// The parameters of a kernel for several problems of one form, and where `build` has them: what differs between problems is an array of what each has.
pub fn grouped<S>(problems: &[Problem], build: impl Fn(&mut Params, &Problem) -> S) -> (S, Vec<Param>) {
    let collect = |problem: &Problem, common: Option<Rc<[bool]>>| {
        let mut params = Params { common, ..Params::default() };
        let slots = build(&mut params, problem);
        (slots, params)
    };
    let (slots, params) = collect(&problems[0], None);
    if problems.len() == 1 {
        return (slots, params.list);
    }
    let asked: Vec<Vec<Expr>> = problems.iter().map(|problem| collect(problem, None).1.asked).collect();
    let constant = |i: usize| matches!(asked[0][i], Expr::Const(_)) && asked.iter().all(|own| own[i] == asked[0][i]);
    let common: Rc<[bool]> = (0..asked[0].len()).map(constant).collect();
    let built: Vec<_> = problems.iter().map(|problem| collect(problem, Some(common.clone()))).collect();
    let list = (0..built[0].1.list.len()).map(|i| {
        let each: Vec<Param> = built.iter().map(|(_, params)| params.list[i].clone()).collect();
        if each.iter().all(|param| *param == each[0]) { each[0].clone() } else { Param::Each(each) }
    });
    let list = list.collect();
    let slots = built.into_iter().next().map_or(slots, |(slots, _)| slots);
    (slots, list)
}

impl Params {
    /// Those of a list, to be added to.
    pub fn of(list: Vec<Param>) -> Self {
        Params { list, ..Params::default() }
    }

    /// A number: none where it is a constant, or one in all problems of a group; equal formulas share a parameter, except in a group.
    fn number(&mut self, value: &Expr, param: Param) -> Int {
        let asked = self.asked.len();
        self.asked.push(value.clone());
        match (&self.common, value) {
            (Some(common), Expr::Const(value)) if common[asked] => Int::Known(*value),
            (Some(_), _) => Int::Param(self.push(param)),
            (None, Expr::Const(value)) => Int::Known(*value),
            (None, _) => {
                let known = self.list.iter().position(|p| *p == param);
                Int::Param(known.unwrap_or_else(|| self.push(param)))
            }
        }
    }

    /// Adds one; its index.
    pub fn push(&mut self, param: Param) -> usize {
        self.list.push(param);
        self.list.len() - 1
    }

    /// An i32: equal formulas share a parameter, constants need none.
    pub fn int(&mut self, value: &Expr) -> Int {
        self.number(value, Param::I32(value.clone()))
    }

    /// An i64; as [`Params::int`].
    pub fn long(&mut self, value: &Expr) -> Int {
        self.number(value, Param::I64(value.clone()))
    }
}

impl Int {
    /// Its value, as an i32 (of [`Params::int`]).
    pub fn i32<'c>(self, b: Builder<'c>, args: &[Val<'c>]) -> Val<'c> {
        match self {
            Int::Known(value) => b.int(b.context().int_type(32), value),
            Int::Param(i) => args[i],
        }
    }

    /// Its value, as an i64 (of [`Params::long`]).
    pub fn i64<'c>(self, b: Builder<'c>, args: &[Val<'c>]) -> Val<'c> {
        match self {
            Int::Known(value) => b.int(b.context().int_type(64), value),
            Int::Param(i) => args[i],
        }
    }
}

/// Strides of an operand over the batch, as parameters.
#[derive(Clone, Debug)]
pub struct BatchSlot {
    stride: Option<Int>,
    spread: Vec<(Int, Int)>,
}

impl BatchSlot {
    /// Adds the parameters of a result's place.
    pub fn of_result(params: &mut Params, place: &Place) -> Self {
        let folds = place.batches.iter().map(|fold| (params.int(&fold.size), params.long(&fold.stride)));
        let spread = folds.collect();
        BatchSlot { stride: place.batch.as_ref().map(|stride| params.long(stride)), spread }
    }

    /// Adds the parameters of a place with these strides.
    pub fn new(params: &mut Params, problem: &Problem, stride: Option<&Expr>, spread: &[Expr]) -> Self {
        let dims = problem.spread.iter().zip(spread);
        let spread = dims.map(|(size, stride)| (params.int(size), params.long(stride))).collect();
        BatchSlot { stride: stride.map(|stride| params.long(stride)), spread }
    }

    /// Elements (an i64) from the first matrix to matrix `batch`; `None` where all are the same.
    pub fn offset<'c>(&self, b: Builder<'c>, args: &[Val<'c>], batch: Val<'c>) -> Option<Val<'c>> {
        use crate::cuda::emit::scalar::ScalarOps;
        if let Some(stride) = self.stride {
            return Some(b.muli(b.wide(batch), stride.i64(b, args)));
        }
        let mut rest = batch;
        let mut sum: Option<Val<'c>> = None;
        for (size, stride) in self.spread.iter().rev() {
            let size = size.i32(b, args);
            let term = b.muli(b.wide(b.remu(rest, size)), stride.i64(b, args));
            sum = Some(sum.map_or(term, |sum| b.addi(sum, term)));
            rest = b.divu(rest, size);
        }
        sum
    }
}
