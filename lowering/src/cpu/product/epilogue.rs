//! Applying an op's epilogue region to finished accumulators, a row at a time.
//!
//! The loop runs over the result's innermost dimensions as one where every buffer allows it, with unit or zero steps that are known, so that
//! LLVM vectorises it.

use super::strip::Place;
use crate::cpu::{
    Kernel,
    flat::{Flat, is_identity},
    vector::VectorOps,
};
use aitmlir_dialects::{
    builder::{Builder, inline_block},
    types::{TypeExt, Types, Val},
};
use melior::ir::{Type, ValueLike};

/// A stride along a result dimension, with its number where it is known.
#[derive(Clone, Copy)]
struct Stride<'c> {
    value: Val<'c>,
    known: Option<i64>,
}

/// A buffer as seen from the result: one stride for each of the result's dimensions, zero where it broadcasts.
struct View<'c> {
    flat: Flat<'c>,
    strides: Vec<Stride<'c>>,
    /// Row-major as a whole, by its type.
    dense: bool,
}

/// The result of an op, the operands of its epilogue, and the code between.
pub struct Epilogue<'c> {
    k: Kernel<'c>,
    out: View<'c>,
    extras: Vec<View<'c>>,
    dims: Vec<Val<'c>>,
    known_dims: Vec<i64>,
    /// How many of the result's last dimensions a row runs over.
    inner: usize,
    alpha: f64,
    unsigned: bool,
}

impl<'c> Epilogue<'c> {
    /// For an op with one result, an operand group `extras` and an optional region 0; rows run over the last `inner` dimensions.
    pub fn new(k: &Kernel<'c>, inner: usize, alpha: f64, unsigned: bool) -> Self {
        let (b, out) = (k.b, k.outs[0]);
        let known_dims = out.r#type().shape();
        let types: Vec<_> = k.op.group("extras").iter().map(|v| v.r#type()).collect();
        let extras = k.group("extras").iter().zip(types).map(|(v, t)| View::new(b, *v, t, &known_dims)).collect();
        let dims = b.dims(out);
        let out = View::exact(b, out, k.result_type(0));
        Self { k: k.clone(), out, extras, dims, known_dims, inner, alpha, unsigned }
    }

    /// The same for a grouped product, whose result is [T, N]: extras broadcast to [G, T, N], of which rows have the coordinates [group, row]. `groups`: G as far as it is known, and its value.
    pub fn of_groups(k: &Kernel<'c>, groups: (i64, Val<'c>), alpha: f64, unsigned: bool) -> Self {
        let own = Self::new(k, 1, alpha, unsigned);
        let known_dims = [vec![groups.0], own.known_dims].concat();
        let types: Vec<_> = k.op.group("extras").iter().map(|v| v.r#type()).collect();
        let extras = k.group("extras").iter().zip(types).map(|(v, t)| View::new(k.b, *v, t, &known_dims)).collect();
        let none = Stride { value: k.b.index(0), known: Some(0) };
        let out = View { strides: [vec![none], own.out.strides].concat(), ..own.out };
        Self { out, extras, dims: [vec![groups.1], own.dims].concat(), known_dims, ..own }
    }

    /// Finishes `count` elements from `first` on of the row at `outer` (the coordinates of the outer dimensions); their accumulators are at `from`.
    pub fn row(&self, b: Builder<'c>, outer: &[Val<'c>], first: Val<'c>, count: Val<'c>, from: Place<'c>) {
        let views: Vec<_> = std::iter::once(&self.out).chain(&self.extras).collect();
        let mut linear = Some(true);
        let mut checks = Vec::new();
        for view in &views {
            match view.is_linear(&self.known_dims, self.inner) {
                Some(true) => {}
                Some(false) => linear = Some(false),
                None => {
                    linear = linear.filter(|l| !l);
                    checks.push(view.check_linear(b, &self.dims, self.inner));
                }
            }
        }
        match linear {
            Some(true) => self.linear(b, outer, first, count, from),
            Some(false) => self.general(b, outer, first, count, from),
            None => {
                let all = checks.into_iter().reduce(|x, y| super::both(b, x, y));
                let all = all.unwrap_or_else(|| b.int(b.context().int_type(1), 1));
                b.if_(
                    all,
                    &[],
                    |b| {
                        self.linear(b, outer, first, count, from);
                        vec![]
                    },
                    |b| {
                        self.general(b, outer, first, count, from);
                        vec![]
                    },
                );
            }
        }
    }

    /// One loop, every buffer stepping by a fixed stride: the known one, or else 1.
    fn linear(&self, b: Builder<'c>, outer: &[Val<'c>], first: Val<'c>, count: Val<'c>, from: Place<'c>) {
        let start = |view: &View<'c>| {
            let base = view.at(b, outer);
            let step = view.strides[view.strides.len() - 1];
            (b.addi(base, b.muli(first, step.value)), step)
        };
        let out = start(&self.out);
        // A load whose address does not change is hoisted here: LLVM can't, for the stores may alias.
        let extras: Vec<_> = self
            .extras
            .iter()
            .map(|view| {
                let (at, step) = start(view);
                let constant = (step.known == Some(0)).then(|| b.load(view.flat.data, &[at]));
                (view, at, step, constant)
            })
            .collect();
        b.loop_(count, |b, i| {
            let at = |b: Builder<'c>, base: Val<'c>, step: Stride<'c>| match step.known {
                Some(1) | None => b.addi(base, i),
                Some(_) => b.addi(base, b.muli(i, step.value)),
            };
            let values: Vec<_> = extras
                .iter()
                .map(|(view, base, step, constant)| {
                    constant.unwrap_or_else(|| b.load(view.flat.data, &[at(b, *base, *step)]))
                })
                .collect();
            let sum = b.load(from.data, &[b.addi(from.at, i)]);
            let result = self.apply(b, sum, &values);
            b.store(result, self.out.flat.data, &[at(b, out.0, out.1)]);
        });
    }

    /// Any layout: the coordinates of each element.
    fn general(&self, b: Builder<'c>, outer: &[Val<'c>], first: Val<'c>, count: Val<'c>, from: Place<'c>) {
        b.loop_(count, |b, i| {
            let mut rest = b.addi(first, i);
            let mut inner = Vec::new();
            for dim in self.dims[self.dims.len() - self.inner..].iter().rev() {
                inner.insert(0, b.remsi(rest, *dim));
                rest = b.divsi(rest, *dim);
            }
            let coordinates: Vec<_> = outer.iter().copied().chain(inner).collect();
            let values: Vec<_> = self.extras.iter().map(|v| b.load(v.flat.data, &[v.at(b, &coordinates)])).collect();
            let sum = b.load(from.data, &[b.addi(from.at, i)]);
            let result = self.apply(b, sum, &values);
            b.store(result, self.out.flat.data, &[self.out.at(b, &coordinates)]);
        });
    }

    /// The scalar code: alpha, then the region or a conversion.
    pub fn apply(&self, b: Builder<'c>, sum: Val<'c>, extras: &[Val<'c>]) -> Val<'c> {
        let scaled = if self.alpha == 1.0 { sum } else { b.multiply(sum, b.constant(sum.r#type(), self.alpha)) };
        match self.k.op.block(0) {
            Some(block) => {
                let arguments: Vec<_> = std::iter::once(scaled).chain(extras.iter().copied()).collect();
                inline_block(b, block, &arguments).first().copied().unwrap_or(scaled)
            }
            None => b.convert(scaled, self.unsigned, self.out.flat.element()),
        }
    }
}

impl<'c> View<'c> {
    fn new(b: Builder<'c>, buffer: Val<'c>, tensor: Type<'c>, result: &[i64]) -> Self {
        let flat = Flat::new(b, buffer, tensor);
        let own = buffer.r#type().shape();
        let skip = result.len().saturating_sub(own.len());
        let zero = Stride { value: b.index(0), known: Some(0) };
        let strides = (0..result.len())
            .map(|d| {
                let Some(i) = d.checked_sub(skip) else { return zero };
                let stride = Stride { value: flat.strides[i], known: flat.known_strides[i] };
                match own[i] {
                    1 if result[d] != 1 => zero,
                    1 => Stride { known: Some(0), ..zero },
                    n if n >= 0 => stride,
                    _ if own.len() == result.len() && result[d] == 1 => stride,
                    _ => {
                        let stretched = b.cmpi("eq", flat.dims[i], b.index(1));
                        Stride { value: b.select(stretched, zero.value, stride.value), known: None }
                    }
                }
            })
            .collect();
        Self { flat, strides, dense: false }
    }

    /// A buffer of the result's own shape.
    fn exact(b: Builder<'c>, buffer: Val<'c>, tensor: Type<'c>) -> Self {
        let flat = Flat::new(b, buffer, tensor);
        let strides =
            flat.strides.iter().zip(&flat.known_strides).map(|(value, known)| Stride { value: *value, known: *known });
        Self { strides: strides.collect(), flat, dense: is_identity(buffer.r#type()) }
    }

    fn at(&self, b: Builder<'c>, coordinates: &[Val<'c>]) -> Val<'c> {
        coordinates.iter().zip(&self.strides).fold(self.flat.offset, |sum, (i, s)| match s.known {
            Some(0) => sum,
            _ => b.addi(sum, b.muli(*i, s.value)),
        })
    }

    /// Do the last `inner` dimensions step evenly, by a stride that is known? None where only the run tells.
    fn is_linear(&self, dims: &[i64], inner: usize) -> Option<bool> {
        let from = dims.len() - inner;
        if self.dense {
            return Some(true);
        }
        let mut all = self.strides[dims.len() - 1].known.map(|_| true);
        for i in from..dims.len() - 1 {
            match (self.strides[i].known, self.strides[i + 1].known) {
                (Some(0), Some(0)) => {}
                (Some(s), Some(t)) if dims[i + 1] >= 0 => {
                    if s != t * dims[i + 1] && dims[i] != 1 {
                        return Some(false);
                    }
                }
                _ => all = None,
            }
        }
        all
    }

    /// The run's answer, with an unknown stride required to be 1.
    fn check_linear(&self, b: Builder<'c>, dims: &[Val<'c>], inner: usize) -> Val<'c> {
        let from = dims.len() - inner;
        let last = self.strides[dims.len() - 1];
        let mut all = match last.known {
            Some(_) => b.int(b.context().int_type(1), 1),
            None => b.cmpi("eq", last.value, b.index(1)),
        };
        for i in from..dims.len() - 1 {
            let next = b.muli(self.strides[i + 1].value, dims[i + 1]);
            all = super::both(b, all, b.cmpi("eq", self.strides[i].value, next));
        }
        all
    }
}
