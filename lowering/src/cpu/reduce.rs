//! `ait.reduce`: with a reduced innermost axis one chain of operations a result, which LLVM splits into vector lanes (the combining op may be
//! reassociated); else strips of columns.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast::elements,
    domain::{Domain, decode},
    runtime::{checked_index, local},
    scalar::{Class, Num},
    strips::{Columns, strips},
    view::{Axis, View, product},
};
use aitmlir_dialects::{
    ait::enums::ReduceKind,
    builder::Builder,
    types::{DYNAMIC, Val},
};
use melior::ir::ValueLike;

pub static ROW: KernelRow = KernelRow { op: "ait.reduce", extent: elements, body };

/// How elements are accumulated.
#[derive(Clone, Copy)]
pub struct Accumulation<'c> {
    kind: ReduceKind,
    from: Num<'c>,
    /// The type of the accumulator.
    pub acc: Num<'c>,
    to: Num<'c>,
}

impl<'c> Accumulation<'c> {
    /// From elements of one type to a result of another.
    pub fn new(b: Builder<'c>, kind: ReduceKind, from: Num<'c>, to: Num<'c>) -> Self {
        let acc = match kind {
            ReduceKind::L2 | ReduceKind::LogSum | ReduceKind::LogSumExp => from.float(b),
            ReduceKind::Max | ReduceKind::Min if !from.is_float() => from,
            _ => from.wide(b),
        };
        Self { kind, from, acc, to }
    }

    /// The neutral element.
    pub fn init(self, b: Builder<'c>) -> Val<'c> {
        match self.kind {
            ReduceKind::Max => self.acc.lowest(b),
            ReduceKind::Min => self.acc.highest(b),
            ReduceKind::Prod => self.acc.constant(b, 1.0),
            _ => self.acc.constant(b, 0.0),
        }
    }

    /// Takes in one more element. `shift` is what log-sum-exp subtracts.
    pub fn step(self, b: Builder<'c>, acc: Val<'c>, x: Val<'c>, shift: Option<Val<'c>>) -> Val<'c> {
        let x = self.from.convert(b, x, self.acc, false);
        match self.kind {
            ReduceKind::Max => self.acc.max(b, acc, x),
            ReduceKind::Min => self.acc.min(b, acc, x),
            ReduceKind::Prod => self.reassociable(b, "mul", acc, x),
            ReduceKind::L1 => self.reassociable(b, "add", acc, self.acc.abs(b, x)),
            ReduceKind::L2 | ReduceKind::SumSquare => self.reassociable(b, "add", acc, self.acc.mul(b, x, x)),
            ReduceKind::LogSumExp => {
                let shifted = shift.map_or(x, |shift| b.subf(x, shift));
                self.reassociable(b, "add", acc, b.unary("math.exp", shifted))
            }
            ReduceKind::Sum | ReduceKind::Mean | ReduceKind::LogSum => self.reassociable(b, "add", acc, x),
        }
    }

    /// The result of `count` elements.
    pub fn finish(self, b: Builder<'c>, acc: Val<'c>, count: Val<'c>, shift: Option<Val<'c>>) -> Val<'c> {
        let value = match self.kind {
            ReduceKind::Mean => {
                let count = if self.acc.is_float() { count } else { b.maxsi(count, b.index(1)) };
                self.acc.div(b, acc, self.acc.index_to(b, count))
            }
            ReduceKind::L2 => b.unary("math.sqrt", acc),
            ReduceKind::LogSum => b.unary("math.log", acc),
            ReduceKind::LogSumExp => {
                let log = b.unary("math.log", acc);
                shift.map_or(log, |shift| b.addf(log, shift))
            }
            _ => acc,
        };
        self.acc.convert(b, value, self.to, false)
    }

    /// For log-sum-exp the reduction that finds what to subtract.
    pub fn shifting(self) -> Option<Self> {
        (self.kind == ReduceKind::LogSumExp).then_some(Self { kind: ReduceKind::Max, to: self.acc, ..self })
    }

    /// The maximum as a shift: 0 where it is infinite.
    pub fn shift(self, b: Builder<'c>, max: Val<'c>) -> Val<'c> {
        let finite = b.cmpf("olt", self.acc.abs(b, max), self.acc.highest(b));
        b.select(finite, max, self.acc.constant(b, 0.0))
    }

    /// Two accumulators as one.
    pub fn merge(self, b: Builder<'c>, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        match self.kind {
            ReduceKind::Max => self.acc.max(b, x, y),
            ReduceKind::Min => self.acc.min(b, x, y),
            ReduceKind::Prod => self.reassociable(b, "mul", x, y),
            _ => self.reassociable(b, "add", x, y),
        }
    }

    fn reassociable(self, b: Builder<'c>, what: &str, x: Val<'c>, y: Val<'c>) -> Val<'c> {
        reassociable(b, self.acc, what, x, y)
    }
}

/// `add` or `mul` of accumulators, in any order.
pub fn reassociable<'c>(b: Builder<'c>, num: Num<'c>, what: &str, x: Val<'c>, y: Val<'c>) -> Val<'c> {
    match num.class {
        Class::Float => b.op1(
            &format!("arith.{what}f"),
            &[x, y],
            x.r#type(),
            &[("fastmath", super::vector::VectorOps::reassociate(b))],
        ),
        _ if what == "mul" => num.mul(b, x, y),
        _ => num.add(b, x, y),
    }
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let kind = k.op.kind("kind").ok_or_else(|| Unsupported("has no kind".to_owned()))?;
    let how = Accumulation::new(b, kind, Num::of(k.tensor_type("input")), Num::of(k.result_type(0)));
    let (input, out) = (View::of(b, k.operand("input")), View::of(b, k.outs[0]));
    if let Some(axes) = k.group("dynamic_axes").first() {
        dynamic(k, how, &input, &out, *axes, (lo, hi));
        return Ok(());
    }
    let axes = k.op.i64s("axes");
    let reduced = move |i: usize| axes.contains(&(i as i64));
    let out = with_reduced_axes(b, &input, out, &reduced, k.op.has("keepdims"));
    let domain = Domain::new(b, vec![input, out], |i| reduced(i) != reduced(i + 1));
    let (kept, folded) = (domain.groups_of(|i| !reduced(i)), domain.groups_of(&reduced));
    let count = product(b, &folded.iter().map(|g| domain.sizes[*g]).collect::<Vec<_>>());
    if !folded.is_empty() && kept.last() == Some(&(domain.groups.len() - 1)) {
        let last = domain.groups.len() - 1;
        let columns = (Columns::new(k, how.acc.r#type), Columns::new(k, how.acc.r#type));
        domain.rows(b, &kept, (lo, hi), &mut |b, _, offsets, c0, c1| {
            strips(b, (c0, c1), |b, start, length| {
                let offsets = domain.step(b, last, start, offsets);
                by_columns(b, how, &domain, &folded, (&offsets, length, count), columns);
            });
        });
    } else {
        domain.range(b, &kept, (lo, hi), &mut |b, _, offsets| {
            let shift = how.shifting().map(|max| {
                let start = max.init(b);
                let all = domain.fold(b, &folded, offsets, &[start], &mut |b, at, acc| {
                    vec![max.step(b, acc[0], domain.views[0].load(b, at[0]), None)]
                });
                how.shift(b, all[0])
            });
            let start = how.init(b);
            let all = domain.fold(b, &folded, offsets, &[start], &mut |b, at, acc| {
                vec![how.step(b, acc[0], domain.views[0].load(b, at[0]), shift)]
            });
            domain.views[1].store(b, how.finish(b, all[0], count, shift), offsets[1]);
        });
    }
    Ok(())
}

/// Reduces the columns of a strip, whose first has `offsets`.
fn by_columns<'c>(
    b: Builder<'c>,
    how: Accumulation<'c>,
    domain: &Domain<'c>,
    folded: &[usize],
    (offsets, length, count): (&[Val<'c>], Val<'c>, Val<'c>),
    (sums, shifts): (Columns<'c>, Columns<'c>),
) {
    let last = domain.groups.len() - 1;
    let accumulate = |b: Builder<'c>, how: Accumulation<'c>, into: Columns<'c>, shifts: Option<Columns<'c>>| {
        b.loop_(length, |b, j| into.set(b, j, how.init(b)));
        domain.fold(b, folded, offsets, &[], &mut |b, at, _| {
            b.loop_(length, |b, j| {
                let x = domain.views[0].load(b, domain.step(b, last, j, at)[0]);
                let shift = shifts.map(|s| s.get(b, j));
                into.set(b, j, how.step(b, into.get(b, j), x, shift));
            });
            vec![]
        });
    };
    let shifts = how.shifting().map(|max| {
        accumulate(b, max, shifts, None);
        b.loop_(length, |b, j| shifts.set(b, j, how.shift(b, shifts.get(b, j))));
        shifts
    });
    accumulate(b, how, sums, shifts);
    b.loop_(length, |b, j| {
        let value = how.finish(b, sums.get(b, j), count, shifts.map(|s| s.get(b, j)));
        domain.views[1].store(b, value, domain.step(b, last, j, offsets)[1]);
    });
}

/// The view of a result with an axis for each of the input's, stretched where that is reduced.
pub fn with_reduced_axes<'c>(
    b: Builder<'c>,
    input: &View<'c>,
    out: View<'c>,
    reduced: &dyn Fn(usize) -> bool,
    keepdims: bool,
) -> View<'c> {
    let mut out = out;
    for (i, axis) in input.axes.iter().enumerate() {
        if reduced(i) {
            let stretched = Axis::stretched(b, axis.size, axis.static_size);
            if keepdims { out.axes[i] = stretched } else { out = out.inserted(i, stretched) }
        }
    }
    out
}

/// Axes that are only known at run time: every axis is in both nests, with size 1 in one of them.
fn dynamic<'c>(
    k: &Kernel<'c>,
    how: Accumulation<'c>,
    input: &View<'c>,
    out: &View<'c>,
    axes: Val<'c>,
    (lo, hi): (Val<'c>, Val<'c>),
) {
    let (b, rank) = (k.b, input.axes.len());
    let bool = b.context();
    let flags = local(k, aitmlir_dialects::types::Types::int_type(bool, 8), rank.max(1) as i64);
    let i8 = flags.r#type();
    let byte = |b: Builder<'c>, value: i64| b.int(aitmlir_dialects::types::TypeExt::element_type(i8), value);
    (0..rank).for_each(|i| b.store(byte(b, 0), flags, &[b.index(i as i64)]));
    let view = View::of(b, axes);
    b.loop_(view.elements(b), |b, i| {
        let at = if view.axes.is_empty() { view.offset } else { view.at(b, &[i]) };
        let axis = checked_index(k, b, view.load(b, at), b.index(rank as i64));
        b.store(byte(b, 1), flags, &[axis]);
    });
    let one = b.index(1);
    let (mut kept, mut folded) = (input.clone(), input.clone());
    for i in 0..rank {
        let flag = b.cmpi("ne", b.load(flags, &[b.index(i as i64)]), byte(b, 0));
        let size = input.axes[i].size;
        (kept.axes[i].size, kept.axes[i].static_size) = (b.select(flag, one, size), DYNAMIC);
        (folded.axes[i].size, folded.axes[i].static_size) = (b.select(flag, size, one), DYNAMIC);
    }
    let kept_sizes = kept.sizes();
    let domain = Domain::unmerged(vec![folded]);
    let groups: Vec<_> = (0..rank).collect();
    let count = product(b, &domain.sizes);
    b.for_(lo, hi, one, &[], |b, element, _| {
        let coordinates = decode(b, element, &kept_sizes);
        let start = kept.at(b, &coordinates);
        let fold = |b: Builder<'c>, how: Accumulation<'c>, shift: Option<Val<'c>>| {
            let init = how.init(b);
            domain.fold(b, &groups, &[start], &[init], &mut |b, at, acc| {
                vec![how.step(b, acc[0], input.load(b, at[0]), shift)]
            })[0]
        };
        let shift = how.shifting().map(|max| how.shift(b, fold(b, max, None)));
        let value = how.finish(b, fold(b, how, shift), count, shift);
        out.store(b, value, out.at(b, &coordinates));
        vec![]
    });
}
