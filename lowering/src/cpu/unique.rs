//! `ait.unique`: rows sorted by value, equal neighbours counted; on one thread.

use super::{
    Kernel, KernelRow, Unsupported,
    ext::{Ext, always},
    runtime::scratch,
    scalar::Num,
    sort::sort,
    topk::precedes,
    view::View,
};
use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};

pub static ROW: KernelRow = KernelRow { op: "ait.unique", extent: always, body };

/// The rows that are compared.
struct Rows<'c> {
    input: View<'c>,
    num: Num<'c>,
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let rows = Rows { input: View::of(b, k.operand("input")), num: Num::of(k.tensor_type("input")) };
    let outs: Vec<_> = k.outs.iter().map(|o| View::of(b, *o)).collect();
    let (n, i64) = (rows.input.axes[0].size, b.context().int_type(64));
    let index = b.context().index_type();
    let memory = scratch(k, &[(i64, n), (i64, n), (i64, n)]);
    let (order, other, group) = (memory[0], memory[1], memory[2]);
    let sorted = k.op.has("sorted");
    let put = |b: Builder<'c>, which: usize, at: Val<'c>, value: Val<'c>| {
        outs[which].store(b, b.index_cast(value, i64), outs[which].at(b, &[at]));
    };
    b.each(lo, hi, |b, _| {
        let (zero, one) = (b.index(0), b.index(1));
        sort(b, (order, other), n, &|b, x, y| rows.compare(b, x, y, true));
        // `group` holds for each row the first row equal to it (the sort is stable).
        b.folded(n, &[zero], |b, i, first| {
            let row = b.index_cast(b.load(order, &[i]), index);
            let start = b.cmpi("eq", i, zero);
            let same = b.if_(
                start,
                &[b.context().int_type(1)],
                |b| vec![b.int(b.context().int_type(1), 0)],
                |b| vec![rows.compare(b, first[0], row, false)],
            )[0];
            let first = b.select(same, first[0], row);
            b.store(b.index_cast(first, i64), group, &[row]);
            vec![first]
        });
        // Numbers the groups in the order asked for; `other` holds the number of a group at its first row.
        let found = b.folded(n, &[zero], |b, i, found| {
            let row = if sorted { b.index_cast(b.load(order, &[i]), index) } else { i };
            let leads = b.cmpi("eq", b.index_cast(b.load(group, &[row]), index), row);
            b.when(leads, |b| {
                b.store(b.index_cast(found[0], i64), other, &[row]);
                put(b, 0, found[0], row);
                put(b, 2, found[0], zero);
            });
            vec![b.select(leads, b.addi(found[0], one), found[0])]
        })[0];
        b.loop_(n, |b, row| {
            let leader = b.index_cast(b.load(group, &[row]), index);
            let number = b.index_cast(b.load(other, &[leader]), index);
            put(b, 1, row, number);
            let at = outs[2].at(b, &[number]);
            let count = b.addi(outs[2].load(b, at), b.int(i64, 1));
            outs[2].store(b, count, at);
        });
        outs[3].store(b, b.index_cast(found, i64), outs[3].offset);
    });
    Ok(())
}

impl<'c> Rows<'c> {
    /// Does row `x` come before row `y` (`before`), or equal it?
    fn compare(&self, b: Builder<'c>, x: Val<'c>, y: Val<'c>, before: bool) -> Val<'c> {
        let bool = b.context().int_type(1);
        let (zero, no, yes) = (b.index(0), b.int(bool, 0), b.int(bool, 1));
        let found = b.repeat(&[zero, no, no], |b, state| {
            let more = b.cmpi("slt", state[0], self.input.axes[1].size);
            let go = b.and(more, b.cmpi("eq", b.or(state[1], state[2]), no));
            let next = b.if_(
                go,
                &[b.context().index_type(), bool, bool],
                |b| {
                    let load = |row| self.input.load(b, self.input.at(b, &[row, state[0]]));
                    let (left, right) = (load(x), load(y));
                    let less = precedes(b, self.num, (left, right));
                    let more = precedes(b, self.num, (right, left));
                    vec![b.plus(state[0], 1), less, more]
                },
                |_| state.to_vec(),
            );
            (go, next)
        });
        if before { found[1] } else { b.select(b.or(found[1], found[2]), no, yes) }
    }
}
