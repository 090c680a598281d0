//! `ait.attention` and `ait.b2b_gemm`: a row of scores at a time, in scratch, then the weighted sum of the values.
//!
//! The parallel range is the rows of all heads and batch entries.

use super::{
    Kernel, KernelRow, Unsupported, broadcast_bias::Bias, dot::Rows, flat::Flat, gemm::unflatten,
    product::strip::Place, scratch::scratch, vector::VectorOps,
};
use aitmlir_dialects::{
    ait::CausalKind,
    builder::{Builder, inline_block},
    types::{TypeExt, Types, Val},
};
use melior::ir::{Type, ValueLike};

pub static ROW: KernelRow = KernelRow { op: "ait.attention", extent, body: attention };
pub static B2B: KernelRow = KernelRow { op: "ait.b2b_gemm", extent, body: b2b_gemm };

fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    (0..3).map(|i| k.b.dim(k.outs[0], i)).fold(k.b.index(1), |x, y| k.b.muli(x, y))
}

fn attention<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let heads = Heads::new(k);
    let scale = k.op.f64("scale").unwrap_or(1.0);
    heads.rows(
        k,
        [lo, hi],
        &|b, score, bias| {
            let scaled = b.mulf(score, b.float(heads.acc, scale));
            bias.map_or(scaled, |bias| b.addf(scaled, bias))
        },
        true,
    );
    Ok(())
}

fn b2b_gemm<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let heads = Heads::new(k);
    let (alpha0, alpha1) = (k.op.f64("alpha0").unwrap_or(1.0), k.op.f64("alpha1").unwrap_or(1.0));
    let divide = k.op.has("divide_by_length");
    heads.rows(
        k,
        [lo, hi],
        &|b, score, bias| {
            let scaled = b.mulf(score, b.float(heads.acc, alpha0));
            let sum = bias.map_or(scaled, |bias| b.addf(scaled, bias));
            let active = match k.op.block(0) {
                Some(block) => inline_block(b, block, &[sum]).first().copied().unwrap_or(sum),
                None => sum,
            };
            let result = b.mulf(b.convert(active, false, heads.acc), b.float(heads.acc, alpha1));
            if !divide {
                return result;
            }
            let length = b.index_cast(heads.keys, b.context().int_type(64));
            b.divf(result, b.convert(length, false, heads.acc))
        },
        false,
    );
    Ok(())
}

/// The operands of an op of queries, keys and values.
struct Heads<'c> {
    query: Flat<'c>,
    key: Flat<'c>,
    value: Flat<'c>,
    bias: Option<Bias<'c>>,
    out: Flat<'c>,
    acc: Type<'c>,
    causal: CausalKind,
    keys: Val<'c>,
}

/// From a product of query and key (and its bias) to a score.
type Score<'a, 'c> = &'a dyn Fn(Builder<'c>, Val<'c>, Option<Val<'c>>) -> Val<'c>;

impl<'c> Heads<'c> {
    fn new(k: &Kernel<'c>) -> Self {
        let b = k.b;
        let flat = |name: &str| Flat::new(b, k.operand(name), k.tensor_type(name));
        let bias = k.group("bias").first().zip(k.op.group("bias").first()).map(|(v, t)| Bias::new(b, *v, t.r#type()));
        Self {
            query: flat("query"),
            key: flat("key"),
            value: flat("value"),
            bias,
            out: Flat::new(b, k.outs[0], k.result_type(0)),
            acc: k.tensor_type("query").element_type().accumulator(),
            causal: k.op.kind("causal").unwrap_or(CausalKind::None),
            keys: b.dim(k.operand("key"), 2),
        }
    }

    fn rows(&self, k: &Kernel<'c>, [lo, hi]: [Val<'c>; 2], score: Score<'_, 'c>, softmax: bool) {
        let b = k.b;
        let (width, out_width) = (self.query.dims[3], self.value.dims[3]);
        let (data, starts) = scratch(k, self.acc, &[width, self.keys, out_width]);
        let [query, scores, sums] = [0, 1, 2].map(|i| Place { data, at: starts[i] });
        let outer = &self.query.dims[..3];
        let sharing = b.divsi(outer[1], b.maxsi(self.key.dims[1], b.index(1)));
        b.for_(lo, hi, b.index(1), &[], |b, unit, _| {
            let at = unflatten(b, unit, outer);
            let head = [at[0], b.divsi(at[1], b.maxsi(sharing, b.index(1)))];
            let from = self.query.at(b, &at);
            b.loop_(width, |b, i| {
                let value = self.query.read(b, b.addi(from, b.muli(i, self.query.strides[3])), self.acc);
                b.store(value, query.data, &[b.addi(query.at, i)]);
            });
            let rows = Rows {
                at: self.key.at(b, &head),
                row_stride: self.key.strides[2],
                step_stride: self.key.strides[3],
                unit: self.key.is_unit(3),
                matrix: self.key.clone(),
                rows: self.keys,
                steps: width,
            };
            rows.multiply(k, b, query, scores);
            let range = self.kept(b, at[2]);
            b.for_(range[0], range[1], b.index(1), &[], |b, n, _| {
                let place = b.addi(scores.at, n);
                let bias = self.bias.as_ref().map(|bias| bias.read(b, [at[0], at[1], at[2], n], self.acc));
                b.store(score(b, b.load(data, &[place]), bias), data, &[place]);
                vec![]
            });
            let scale = if softmax { self.softmax(b, scores, range) } else { b.float(self.acc, 1.0) };
            self.weigh(b, head, scores, sums, range);
            let to = self.out.at(b, &at);
            b.loop_(out_width, |b, i| {
                let value = b.mulf(b.load(data, &[b.addi(sums.at, i)]), scale);
                let value = b.convert(value, false, self.out.element());
                b.store(value, self.out.data, &[b.addi(to, b.muli(i, self.out.strides[3]))]);
            });
            vec![]
        });
    }

    /// The keys that row `m` sees.
    fn kept(&self, b: Builder<'c>, m: Val<'c>) -> [Val<'c>; 2] {
        let (zero, one) = (b.index(0), b.index(1));
        let until = |end: Val<'c>| b.maxsi(b.minsi(end, self.keys), zero);
        match self.causal {
            CausalKind::None => [zero, self.keys],
            CausalKind::Lower => [zero, until(b.addi(m, one))],
            CausalKind::Upper => [m, self.keys],
            CausalKind::LowerRight => {
                let shift = b.subi(self.keys, self.query.dims[2]);
                [zero, until(b.addi(b.addi(m, shift), one))]
            }
        }
    }

    /// Replaces scores by exp(score - max); returns 1 / sum, or 0 where nothing is kept.
    fn softmax(&self, b: Builder<'c>, scores: Place<'c>, [from, to]: [Val<'c>; 2]) -> Val<'c> {
        let one = b.index(1);
        let (zero, lowest) = (b.float(self.acc, 0.0), b.float(self.acc, f64::NEG_INFINITY));
        let largest = b.for_(from, to, one, &[lowest], |b, n, best| {
            let score = b.load(scores.data, &[b.addi(scores.at, n)]);
            vec![b.binary("arith.maximumf", best[0], score)]
        })[0];
        let nothing = b.cmpf("oeq", largest, lowest);
        let shift = b.select(nothing, zero, largest);
        let sum = b.for_(from, to, one, &[zero], |b, n, sum| {
            let place = b.addi(scores.at, n);
            let weight = b.unary("math.exp", b.subf(b.load(scores.data, &[place]), shift));
            b.store(weight, scores.data, &[place]);
            vec![b.add(sum[0], weight)]
        })[0];
        b.select(nothing, zero, b.divf(b.float(self.acc, 1.0), sum))
    }

    /// The sum of the kept values, weighted by the scores.
    fn weigh(&self, b: Builder<'c>, head: [Val<'c>; 2], scores: Place<'c>, sums: Place<'c>, [from, to]: [Val<'c>; 2]) {
        let width = self.value.dims[3];
        let zero = b.float(self.acc, 0.0);
        b.loop_(width, |b, i| b.store(zero, sums.data, &[b.addi(sums.at, i)]));
        let base = self.value.at(b, &head);
        b.for_(from, to, b.index(1), &[], |b, n, _| {
            let weight = b.load(scores.data, &[b.addi(scores.at, n)]);
            let row = b.addi(base, b.muli(n, self.value.strides[2]));
            b.loop_(width, |b, i| {
                let place = b.addi(sums.at, i);
                let value = self.value.read(b, b.addi(row, b.muli(i, self.value.strides[3])), self.acc);
                b.store(b.addf(b.load(sums.data, &[place]), b.mulf(weight, value)), sums.data, &[place]);
            });
            vec![]
        });
    }
}
