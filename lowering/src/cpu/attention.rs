//! `ait.attention` and `ait.b2b_gemm`: a block of rows of one head at a time. Keys and values are packed once a head; then the product with
//! the keys, the scores of a strip of rows in scratch, and the product with the values. What `causal` hides has weight 0.
//!
//! Of a jagged product each sequence is a batch whose rows begin where its offset says; it has as many blocks as the longest sequence may have.
//!
//! A single query row (the decoding step of a language model) reads keys and values where they are: packing costs more than the products.

use super::{
    Kernel, KernelRow, Unsupported,
    broadcast_bias::Bias,
    flat::Flat,
    gemm::unflatten,
    jagged::Rows,
    product::{
        either,
        pack::{Matrix, Unit},
        strip::{Place, Strip},
    },
    runtime::{FailCode, fail},
    scratch::scratch,
    tiling::Tiling,
    vector::VectorOps,
};
use aitmlir_dialects::{
    ait::CausalKind,
    builder::{Builder, inline_block},
    types::{TypeExt, Types, Val},
};
use melior::ir::{Type, ValueLike};
use std::rc::Rc;

pub static ROW: KernelRow = KernelRow { op: "ait.attention", extent, body: attention };
pub static B2B: KernelRow = KernelRow { op: "ait.b2b_gemm", extent, body: b2b_gemm };

/// Panels of rows in a block.
const PANELS: i64 = 8;

/// Blocks of a head.
fn blocks<'c>(k: &Kernel<'c>) -> Val<'c> {
    if is_row(k) {
        return k.b.dim(k.outs[0], 2);
    }
    let rows = max_length(k).map_or_else(|| k.b.dim(k.outs[0], 2), |length| k.b.index(length));
    k.b.ceil_div(rows, k.b.index(PANELS * Tiling::host().tile_rows))
}

/// Of a jagged product, the rows that a sequence has at most.
fn max_length(k: &Kernel<'_>) -> Option<i64> {
    k.op.i64("max_length")
}

/// One query row a head, by the type.
fn is_row(k: &Kernel<'_>) -> bool {
    max_length(k).is_none() && k.outs[0].r#type().shape()[2] == 1
}

/// Batches and heads.
fn counts<'c>(k: &Kernel<'c>) -> [Val<'c>; 2] {
    let b = k.b;
    let batches = match max_length(k) {
        Some(_) => b.subi(b.dim(k.operand("offsets"), 0), b.index(1)),
        None => b.dim(k.outs[0], 0),
    };
    [batches, b.dim(k.outs[0], 1)]
}

fn extent<'c>(k: &Kernel<'c>) -> Val<'c> {
    counts(k).into_iter().fold(blocks(k), |x, y| k.b.muli(x, y))
}

fn attention<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let heads = Heads::new(k, true);
    let scale = k.op.f64("scale").unwrap_or(1.0);
    heads.emit(k, [lo, hi], &|b, score, bias| {
        let scaled = b.mulf(score, b.float(heads.acc, scale));
        bias.map_or(scaled, |bias| b.addf(scaled, bias))
    });
    Ok(())
}

fn b2b_gemm<'c>(k: &Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported> {
    let heads = Heads::new(k, false);
    let (alpha0, alpha1) = (k.op.f64("alpha0").unwrap_or(1.0), k.op.f64("alpha1").unwrap_or(1.0));
    let divide = k.op.has("divide_by_length");
    heads.emit(k, [lo, hi], &|b, score, bias| {
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
    });
    Ok(())
}

/// The operands of an op of queries, keys and values. Those of a jagged one are seen as [B, H, L, D] of which all batches begin at the first row.
#[derive(Clone)]
struct Heads<'c> {
    query: Flat<'c>,
    key: Flat<'c>,
    value: Flat<'c>,
    bias: Option<Bias<'c>>,
    out: Flat<'c>,
    acc: Type<'c>,
    causal: CausalKind,
    softmax: bool,
    keys: Val<'c>,
    sequences: Option<Rc<Rows<'c>>>,
}

/// Jagged rows [T, H, D] as [B, H, L, D].
fn by_sequence<'c>(b: Builder<'c>, flat: &Flat<'c>, [batches, heads]: [Val<'c>; 2], length: Val<'c>) -> Flat<'c> {
    let (strides, known) = (&flat.strides, &flat.known_strides);
    Flat {
        strides: vec![b.index(0), strides[1], strides[0], strides[2]],
        known_strides: vec![Some(0), known[1], known[0], known[2]],
        dims: vec![batches, heads, length, flat.dims[2]],
        ..flat.clone()
    }
}

/// From a product of query and key (and its bias) to a score.
type Score<'a, 'c> = &'a dyn Fn(Builder<'c>, Val<'c>, Option<Val<'c>>) -> Val<'c>;

/// The scratch memory of the blocked way.
struct Panels<'c> {
    keys: Place<'c>,
    values: Place<'c>,
    query: Place<'c>,
    /// Row-major, a strip of rows.
    scores: Place<'c>,
    scores_pitch: Val<'c>,
    weights: Place<'c>,
    /// Row-major, a strip of rows.
    sums: Place<'c>,
    sums_pitch: Val<'c>,
    /// What each row of a strip is multiplied with in the end.
    scales: Place<'c>,
}

impl<'c> Heads<'c> {
    fn new(k: &Kernel<'c>, softmax: bool) -> Self {
        let b = k.b;
        let length = max_length(k).map(|length| b.index(length));
        let heads = counts(k);
        let seen = |flat: Flat<'c>| match length {
            Some(length) => by_sequence(b, &flat, heads, length),
            None => flat,
        };
        let flat = |name: &str| seen(Flat::new(b, k.operand(name), k.tensor_type(name)));
        let bias = k.group("bias").first().zip(k.op.group("bias").first()).map(|(v, t)| Bias::new(b, *v, t.r#type()));
        Self {
            query: flat("query"),
            key: flat("key"),
            value: flat("value"),
            bias,
            out: seen(Flat::new(b, k.outs[0], k.result_type(0))),
            acc: k.tensor_type("query").element_type().accumulator(),
            causal: k.op.kind("causal").unwrap_or(CausalKind::None),
            softmax,
            keys: length.unwrap_or_else(|| b.dim(k.operand("key"), 2)),
            sequences: length.map(|_| Rc::new(Rows::new(b, k.operand("offsets"), b.dim(k.operand("query"), 0)))),
        }
    }

    /// What batch `batch` sees: of a jagged product, the rows of its sequence.
    fn of_batch(&self, k: &Kernel<'c>, b: Builder<'c>, batch: Val<'c>) -> Self {
        let Some(sequences) = &self.sequences else { return self.clone() };
        let [start, end] = sequences.at(k, b, batch);
        let limit = b.addi(start, self.keys);
        b.when(b.cmpi("sgt", end, limit), |b| fail(k, b, FailCode::TooLarge, end, limit));
        let length = b.subi(end, start);
        let from = |flat: &Flat<'c>| {
            let mut flat = flat.clone();
            flat.offset = b.addi(flat.offset, b.muli(start, flat.strides[2]));
            flat.dims[2] = length;
            flat
        };
        Self {
            query: from(&self.query),
            key: from(&self.key),
            value: from(&self.value),
            out: from(&self.out),
            keys: length,
            ..self.clone()
        }
    }

    fn emit(&self, k: &Kernel<'c>, range: [Val<'c>; 2], score: Score<'_, 'c>) {
        if is_row(k) { self.rows(k, range, score) } else { self.blocks(k, range, score) }
    }

    /// The head of keys and values for a head of queries.
    fn head(&self, b: Builder<'c>, batch: Val<'c>, head: Val<'c>) -> [Val<'c>; 2] {
        let one = b.index(1);
        let sharing = b.divsi(self.query.dims[1], b.maxsi(self.key.dims[1], one));
        [batch, b.divsi(head, b.maxsi(sharing, one))]
    }

    // ---- blocks of rows

    fn panels(&self, k: &Kernel<'c>) -> Panels<'c> {
        let (b, target) = (k.b, Tiling::host());
        let (rows, columns) = (target.tile_rows, target.tile_columns(self.acc));
        let slack = 2 * target.lanes(self.acc);
        let padded = |n: Val<'c>| b.times(b.ceil_div(n, b.index(columns)), columns);
        let (scores_pitch, sums_pitch) = (padded(self.keys), padded(self.value.dims[3]));
        let lengths = [
            b.plus(b.muli(scores_pitch, self.query.dims[3]), slack),
            b.plus(b.muli(sums_pitch, self.keys), slack),
            b.times(self.query.dims[3], rows),
            b.plus(b.times(scores_pitch, rows), slack),
            b.times(self.keys, rows),
            b.plus(b.times(sums_pitch, rows), slack),
            b.index(rows),
        ];
        let (data, starts) = scratch(k, self.acc, &lengths);
        let [keys, values, query, scores, weights, sums, scales] =
            [0, 1, 2, 3, 4, 5, 6].map(|i| Place { data, at: starts[i] });
        Panels { keys, values, query, scores, scores_pitch, weights, sums, sums_pitch, scales }
    }

    fn blocks(&self, k: &Kernel<'c>, [lo, hi]: [Val<'c>; 2], score: Score<'_, 'c>) {
        let (b, target) = (k.b, Tiling::host());
        let panels = self.panels(k);
        let (zero, one, step) = (b.index(0), b.index(1), b.index(target.tile_rows));
        let (per_head, block_rows) = (blocks(k), b.index(PANELS * target.tile_rows));
        b.for_(lo, hi, one, &[], |b, unit, _| {
            let (number, block) = (b.divsi(unit, per_head), b.remsi(unit, per_head));
            let at = unflatten(b, number, &self.query.dims[..2]);
            let batch = self.of_batch(k, b, at[0]);
            let head = batch.head(b, at[0], at[1]);
            let fresh = either(b, b.cmpi("eq", block, zero), b.cmpi("eq", unit, lo));
            b.when(fresh, |b| batch.pack_head(k, b, head, &panels));
            let first = b.muli(block, block_rows);
            let end = b.minsi(b.addi(first, block_rows), batch.query.dims[2]);
            b.for_(first, end, step, &[], |b, row, _| {
                let count = b.minsi(step, b.subi(end, row));
                batch.strip(k, b, [at[0], at[1], row], count, &panels, score);
                vec![]
            });
            vec![]
        });
    }

    fn pack_head(&self, k: &Kernel<'c>, b: Builder<'c>, head: [Val<'c>; 2], panels: &Panels<'c>) {
        let (target, columns) = (Tiling::host(), Tiling::host().tile_columns(self.acc));
        Matrix::of(b, &self.key, &head, [2, 3], self.keys).pack(k, b, target, columns, panels.keys);
        Matrix::of(b, &self.value, &head, [3, 2], self.value.dims[3]).pack(k, b, target, columns, panels.values);
    }

    /// Rows `at[2]..at[2] + count`, at most a register tile's.
    fn strip(
        &self,
        k: &Kernel<'c>,
        b: Builder<'c>,
        at: [Val<'c>; 3],
        count: Val<'c>,
        panels: &Panels<'c>,
        score: Score<'_, 'c>,
    ) {
        let target = Tiling::host();
        Matrix::of(b, &self.query, &at, [2, 3], count).pack(k, b, target, target.tile_rows, panels.query);
        let products = Strip {
            depth: self.query.dims[3],
            left: panels.query,
            right: panels.keys,
            result: panels.scores,
            pitch: panels.scores_pitch,
            rows: count,
            cols: self.keys,
        };
        products.call(k, b, target);
        b.loop_(count, |b, i| {
            let row = panels.scores.offset(b, b.muli(i, panels.scores_pitch));
            let m = b.addi(at[2], i);
            let scale = self.weights(b, [at[0], at[1], m], row, score);
            b.store(scale, panels.scales.data, &[b.addi(panels.scales.at, i)]);
        });
        self.scores_matrix(b, panels, count).pack(k, b, target, target.tile_rows, panels.weights);
        let sums = Strip {
            depth: self.keys,
            left: panels.weights,
            right: panels.values,
            result: panels.sums,
            pitch: panels.sums_pitch,
            rows: count,
            cols: self.value.dims[3],
        };
        sums.call(k, b, target);
        b.loop_(count, |b, i| {
            let row = panels.sums.offset(b, b.muli(i, panels.sums_pitch));
            let scale = b.load(panels.scales.data, &[b.addi(panels.scales.at, i)]);
            self.finish(b, [at[0], at[1], b.addi(at[2], i)], row, scale);
        });
    }

    /// The scores in scratch, as a matrix to pack.
    fn scores_matrix(&self, b: Builder<'c>, panels: &Panels<'c>, count: Val<'c>) -> Matrix<'c> {
        let one = b.index(1);
        let source = Flat {
            data: panels.scores.data,
            offset: panels.scores.at,
            strides: vec![panels.scores_pitch, one],
            known_strides: vec![None, Some(1)],
            dims: vec![count, self.keys],
            unsigned: false,
        };
        Matrix {
            at: panels.scores.at,
            line_stride: panels.scores_pitch,
            step_stride: one,
            unit: Unit::Steps,
            source,
            lines: count,
            steps: self.keys,
        }
    }

    // ---- single rows

    fn rows(&self, k: &Kernel<'c>, [lo, hi]: [Val<'c>; 2], score: Score<'_, 'c>) {
        let b = k.b;
        let (width, out_width) = (self.query.dims[3], self.value.dims[3]);
        let (data, starts) = scratch(k, self.acc, &[width, self.keys, out_width]);
        let [query, scores, sums] = [0, 1, 2].map(|i| Place { data, at: starts[i] });
        b.for_(lo, hi, b.index(1), &[], |b, unit, _| {
            let at = unflatten(b, unit, &self.query.dims[..3]);
            let head = self.head(b, at[0], at[1]);
            let from = self.query.at(b, &at);
            b.loop_(width, |b, i| {
                let value = self.query.read(b, b.addi(from, b.muli(i, self.query.strides[3])), self.acc);
                b.store(value, query.data, &[b.addi(query.at, i)]);
            });
            Matrix::of(b, &self.key, &head, [2, 3], self.keys).multiply(k, b, query, scores);
            let scale = self.weights(b, [at[0], at[1], at[2]], scores, score);
            self.weigh(b, head, scores, sums);
            self.finish(b, [at[0], at[1], at[2]], sums, scale);
            vec![]
        });
    }

    /// The sum of the values, weighted by the scores.
    fn weigh(&self, b: Builder<'c>, head: [Val<'c>; 2], scores: Place<'c>, sums: Place<'c>) {
        let width = self.value.dims[3];
        let zero = b.float(self.acc, 0.0);
        b.loop_(width, |b, i| b.store(zero, sums.data, &[b.addi(sums.at, i)]));
        let base = self.value.at(b, &head);
        b.loop_(self.keys, |b, n| {
            let weight = b.load(scores.data, &[b.addi(scores.at, n)]);
            let row = b.addi(base, b.muli(n, self.value.strides[2]));
            b.loop_(width, |b, i| {
                let place = b.addi(sums.at, i);
                let value = self.value.read(b, b.addi(row, b.muli(i, self.value.strides[3])), self.acc);
                b.store(b.addf(b.load(sums.data, &[place]), b.mulf(weight, value)), sums.data, &[place]);
            });
        });
    }

    // ---- one row of scores

    /// Turns the products of row `at` into weights; returns what the weighted sum is multiplied with.
    fn weights(&self, b: Builder<'c>, at: [Val<'c>; 3], row: Place<'c>, score: Score<'_, 'c>) -> Val<'c> {
        let [from, to] = self.kept(b, at[2]);
        b.for_(from, to, b.index(1), &[], |b, n, _| {
            let place = b.addi(row.at, n);
            let bias = self.bias.as_ref().map(|bias| bias.read(b, [at[0], at[1], at[2], n], self.acc));
            b.store(score(b, b.load(row.data, &[place]), bias), row.data, &[place]);
            vec![]
        });
        let zero = b.float(self.acc, 0.0);
        if self.causal != CausalKind::None {
            for [start, end] in [[b.index(0), b.minsi(from, self.keys)], [to, self.keys]] {
                b.for_(start, end, b.index(1), &[], |b, n, _| {
                    b.store(zero, row.data, &[b.addi(row.at, n)]);
                    vec![]
                });
            }
        }
        if self.softmax { self.exponentials(b, row, [from, to]) } else { b.float(self.acc, 1.0) }
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
    fn exponentials(&self, b: Builder<'c>, scores: Place<'c>, [from, to]: [Val<'c>; 2]) -> Val<'c> {
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

    /// Writes row `at` of the result.
    fn finish(&self, b: Builder<'c>, at: [Val<'c>; 3], sums: Place<'c>, scale: Val<'c>) {
        let to = self.out.at(b, &at);
        let stride = if self.out.is_unit(3) { None } else { Some(self.out.strides[3]) };
        b.loop_(self.value.dims[3], |b, i| {
            let value = b.mulf(b.load(sums.data, &[b.addi(sums.at, i)]), scale);
            let value = b.convert(value, false, self.out.element());
            let step = stride.map_or(i, |stride| b.muli(i, stride));
            b.store(value, self.out.data, &[b.addi(to, step)]);
        });
    }
}
