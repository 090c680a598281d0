//! `ait.jagged_to_padded` and `ait.padded_to_jagged`: rows of a jagged tensor are copies of rows of the padded one.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast::elements,
    domain::{Domain, rescaled},
    ext::Ext,
    runtime::{FailCode, fail},
    scalar::Num,
    view::{View, product},
};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

pub static TO_PADDED: KernelRow = KernelRow { op: "ait.jagged_to_padded", extent: elements, body: to_padded };
pub static TO_JAGGED: KernelRow = KernelRow { op: "ait.padded_to_jagged", extent: elements, body: to_jagged };

/// Where the rows of a jagged tensor begin and end.
pub struct Rows<'c> {
    offsets: View<'c>,
    total: Val<'c>,
}

impl<'c> Rows<'c> {
    /// Of the buffer of offsets, for a tensor of `total` rows.
    pub fn new(b: Builder<'c>, offsets: Val<'c>, total: Val<'c>) -> Self {
        Self { offsets: View::of(b, offsets), total }
    }

    /// How many there are.
    pub fn count(&self, b: Builder<'c>) -> Val<'c> {
        b.subi(self.offsets.axes[0].size, b.index(1))
    }

    /// Stops the run where there are no rows to begin and end, and yet a total.
    pub fn expect_some(&self, k: &Kernel<'c>, b: Builder<'c>) {
        let none = b.cmpi("eq", self.count(b), b.index(0));
        let left = b.cmpi("ne", self.total, b.index(0));
        b.when(b.and(none, left), |b| fail(k, b, FailCode::NotEqual, b.index(0), self.total));
    }

    /// The begin and the end of row `row`. Stops the run where they do not ascend, or the first does not begin at 0 or the last not end at the total.
    pub fn at(&self, k: &Kernel<'c>, b: Builder<'c>, row: Val<'c>) -> [Val<'c>; 2] {
        let next = b.plus(row, 1);
        let [start, end] = [row, next].map(|i| {
            let value = self.offsets.load(b, self.offsets.at(b, &[i]));
            b.index_cast(value, b.context().index_type())
        });
        let zero = b.index(0);
        let expect = |broken: Val<'c>, code, value, limit| b.when(broken, |b| fail(k, b, code, value, limit));
        expect(b.and(b.cmpi("eq", row, zero), b.cmpi("ne", start, zero)), FailCode::NotEqual, start, zero);
        expect(b.cmpi("slt", start, zero), FailCode::TooSmall, start, zero);
        expect(b.cmpi("slt", end, start), FailCode::TooSmall, end, start);
        expect(b.cmpi("sgt", end, self.total), FailCode::TooLarge, end, self.total);
        let last = b.cmpi("eq", next, self.count(b));
        expect(b.and(last, b.cmpi("ne", end, self.total)), FailCode::NotEqual, end, self.total);
        [start, end]
    }
}

/// The view of what lies behind the first `skip` axes.
fn inner<'c>(view: &View<'c>, skip: usize) -> View<'c> {
    View { axes: view.axes[skip..].to_vec(), ..view.clone() }
}

/// Copies (or fills) the inner elements of one position.
fn each_inner<'c>(b: Builder<'c>, to: &View<'c>, from: Option<&View<'c>>, value: Val<'c>) {
    let views: Vec<_> = std::iter::once(to).chain(from).cloned().collect();
    let domain = Domain::new(b, views, |_| false);
    let groups: Vec<_> = (0..domain.groups.len()).collect();
    domain.fold(b, &groups, &domain.origin(), &[], &mut |b, at, _| {
        let value = at.get(1).map_or(value, |at| domain.views[1].load(b, *at));
        domain.views[0].store(b, value, at[0]);
        vec![]
    });
}

fn to_padded<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let (values, out) = (View::of(b, k.operand("values")), View::of(b, k.outs[0]));
    let rows = Rows::new(b, k.operand("offsets"), values.axes[0].size);
    let padding = Num::of(k.result_type(0)).constant(b, k.op.f64("padding").unwrap_or(0.0));
    let (batch, length) = (out.axes[0].size, out.axes[1].size);
    let places = product(b, &[batch, length]);
    let (lo, hi) = rescaled(b, (lo, hi), out.elements(b), places);
    b.each(lo, hi, |b, place| {
        let (row, column) = (b.binary("arith.divui", place, length), b.binary("arith.remui", place, length));
        let [start, end] = rows.at(k, b, row);
        if k.op.has("whole") {
            let limit = b.addi(start, length);
            b.when(b.cmpi("sgt", end, limit), |b| fail(k, b, FailCode::TooLarge, end, limit));
        }
        let source = b.addi(start, column);
        let to = View { offset: out.at(b, &[row, column]), ..inner(&out, 2) };
        let held = b.cmpi("slt", source, end);
        b.if_(
            held,
            &[],
            |b| {
                let from = View { offset: values.at(b, &[source]), ..inner(&values, 1) };
                each_inner(b, &to, Some(&from), padding);
                vec![]
            },
            |b| {
                each_inner(b, &to, None, padding);
                vec![]
            },
        );
    });
    Ok(())
}

fn to_jagged<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let (input, out) = (View::of(b, k.operand("input")), View::of(b, k.outs[0]));
    let rows = Rows::new(b, k.operand("offsets"), out.axes[0].size);
    let zero = Num::of(k.result_type(0)).constant(b, 0.0);
    let (lo, hi) = rescaled(b, (lo, hi), out.elements(b), out.axes[0].size);
    b.loop_(input.axes[0].size, |b, row| {
        let [start, end] = rows.at(k, b, row);
        let end = b.minsi(end, hi);
        b.each(b.maxsi(start, lo), end, |b, place| {
            let column = b.subi(place, start);
            let to = View { offset: out.at(b, &[place]), ..inner(&out, 1) };
            let held = b.cmpi("slt", column, input.axes[1].size);
            b.if_(
                held,
                &[],
                |b| {
                    let from = View { offset: input.at(b, &[row, column]), ..inner(&input, 2) };
                    each_inner(b, &to, Some(&from), zero);
                    vec![]
                },
                |b| {
                    each_inner(b, &to, None, zero);
                    vec![]
                },
            );
        });
    });
    Ok(())
}
