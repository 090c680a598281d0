//! `ait.pad`: row by row; the part of a row that lies in the input is a copy.

use super::{
    Kernel, KernelRow, Unsupported, broadcast::elements, copy::mixed, domain::Domain, scalar::Num, view::View,
};
use aitmlir_dialects::{ait::enums::PadMode, builder::Builder, types::Val};

pub static ROW: KernelRow = KernelRow { op: "ait.pad", extent: elements, body };

struct Pad<'c> {
    mode: PadMode,
    input: View<'c>,
    out: View<'c>,
    low: Vec<Val<'c>>,
    value: Val<'c>,
}

fn body<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let b = k.b;
    let (input, out) = (View::of(b, k.operand("input")), View::of(b, k.outs[0]));
    let value = match k.group("value").first() {
        Some(buffer) => {
            let view = View::of(b, *buffer);
            view.load(b, view.offset)
        }
        None => Num::of(k.tensor_type("input")).constant(b, 0.0),
    };
    let pad = Pad {
        mode: k.op.kind("mode").unwrap_or(PadMode::Constant),
        low: mixed(b, &k.op.i64s("static_low"), &k.group("low")),
        input,
        out,
        value,
    };
    let domain = Domain::unmerged(vec![pad.out.clone()]);
    let groups: Vec<_> = (0..domain.groups.len()).collect();
    if groups.is_empty() {
        pad.out.store(b, pad.input.load(b, pad.input.offset), pad.out.offset);
    }
    domain.rows(b, &groups, (lo, hi), &mut |b, outer, offsets, c0, c1| pad.row(b, outer, offsets[0], (c0, c1)));
    Ok(())
}

impl<'c> Pad<'c> {
    fn row(&self, b: Builder<'c>, outer: &[Val<'c>], to: Val<'c>, (c0, c1): (Val<'c>, Val<'c>)) {
        let last = outer.len();
        let mut from = self.input.offset;
        let mut inside = b.int(aitmlir_dialects::types::Types::int_type(b.context(), 1), 1);
        for (i, c) in outer.iter().enumerate() {
            let (source, valid) = self.source(b, i, *c);
            inside = b.binary("arith.andi", inside, valid);
            from = b.addi(from, b.muli(source, self.input.axes[i].stride));
        }
        let axis = self.input.axes[last];
        let clamp = |x| b.minsi(b.maxsi(x, c0), c1);
        let start = clamp(self.low[last]);
        let end = clamp(b.addi(self.low[last], axis.size));
        if self.mode != PadMode::Constant {
            self.mapped(b, from, to, (c0, start));
            self.copied(b, from, to, (start, end));
            self.mapped(b, from, to, (end, c1));
            return;
        }
        let (start, end) = (b.select(inside, start, c1), b.select(inside, end, c1));
        self.filled(b, to, (c0, start));
        self.copied(b, from, to, (start, end));
        self.filled(b, to, (end, c1));
    }

    fn each(
        &self,
        b: Builder<'c>,
        (lo, hi): (Val<'c>, Val<'c>),
        to: Val<'c>,
        value: &dyn Fn(Builder<'c>, Val<'c>) -> Val<'c>,
    ) {
        let axis = self.out.axes[self.out.axes.len() - 1];
        b.for_(lo, hi, b.index(1), &[], |b, c, _| {
            let value = value(b, c);
            self.out.store(b, value, b.addi(to, b.muli(c, axis.stride)));
            vec![]
        });
    }

    fn filled(&self, b: Builder<'c>, to: Val<'c>, range: (Val<'c>, Val<'c>)) {
        self.each(b, range, to, &|_, _| self.value);
    }

    fn copied(&self, b: Builder<'c>, from: Val<'c>, to: Val<'c>, range: (Val<'c>, Val<'c>)) {
        let last = self.out.axes.len() - 1;
        let start = b.subi(from, b.muli(self.low[last], self.input.axes[last].stride));
        self.each(b, range, to, &|b, c| self.input.load(b, b.addi(start, b.muli(c, self.input.axes[last].stride))));
    }

    fn mapped(&self, b: Builder<'c>, from: Val<'c>, to: Val<'c>, range: (Val<'c>, Val<'c>)) {
        let last = self.out.axes.len() - 1;
        self.each(b, range, to, &|b, c| {
            let (source, _) = self.source(b, last, c);
            self.input.load(b, b.addi(from, b.muli(source, self.input.axes[last].stride)))
        });
    }

    /// The input's coordinate for coordinate `c` of the result along axis `i`, and whether there is one.
    fn source(&self, b: Builder<'c>, i: usize, c: Val<'c>) -> (Val<'c>, Val<'c>) {
        let size = self.input.axes[i].size;
        let (zero, one) = (b.index(0), b.index(1));
        let at = b.subi(c, self.low[i]);
        let modulo = |x, n| {
            let rest = b.remsi(x, n);
            let negative = b.cmpi("slt", rest, zero);
            b.select(negative, b.addi(rest, n), rest)
        };
        let valid = b.cmpi("ult", at, size);
        let source = match self.mode {
            PadMode::Constant => at,
            PadMode::Edge => b.maxsi(b.minsi(at, b.subi(size, one)), zero),
            PadMode::Wrap => modulo(at, b.maxsi(size, one)),
            PadMode::Reflect => {
                let period = b.maxsi(b.muli(b.subi(size, one), b.index(2)), one);
                let rest = modulo(at, period);
                b.minsi(rest, b.maxsi(b.subi(period, rest), zero))
            }
        };
        (source, valid)
    }
}
