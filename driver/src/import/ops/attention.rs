//! Attention and rotary position embeddings.

use aitmlir_dialects::ait::{
    MatrixLayout::{Col, Row},
    PadMode, ReduceKind, SoftmaxKind,
};
use aitmlir_onnx::model::DType;

use super::{Operator, op};
use crate::import::{
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs, many, one},
    scalar::Scalar,
    value::{Dim, Value},
};

pub(super) const ROWS: &[Operator] = &[
    op("Attention", 25, attention),
    op("RotaryEmbedding", 23, rotary),
    Operator { domain: "com.microsoft", ..op("RotaryEmbedding", 1, rotary) },
];

/// [B, S, H * D] as [B, H, S, D].
fn heads<'c>(n: &mut NodeContext<'_, 'c>, x: &Value<'c>, count: i64) -> OpResult<Value<'c>> {
    let size = n.index().div(x.dims[2], Scalar::Int(count));
    let view = n.reshape(x, vec![x.dims[0], x.dims[1], Scalar::Int(count), size])?;
    n.transpose(&view, &[0, 2, 1, 3])
}

/// What is added to the scores, if anything: masks and causality as 0 or -inf, or the mask's own numbers.
struct Bias<'c> {
    mask: Option<Value<'c>>,
    /// Valid keys a batch entry.
    valid: Option<Value<'c>>,
    causal: bool,
    window: (i64, i64),
    /// Keys before the first query.
    past: Dim<'c>,
}

impl<'c> Bias<'c> {
    fn is_needed(&self) -> bool {
        self.mask.is_some() || self.valid.is_some() || self.causal || self.window.0 >= 0 || self.window.1 >= 0
    }

    /// The bias, of a shape that broadcasts to [B, H, queries, keys].
    fn build(&self, n: &mut NodeContext<'_, 'c>, dtype: DType, queries: Dim<'c>, keys: Dim<'c>) -> OpResult<Value<'c>> {
        let mask = match &self.mask {
            Some(mask) => Some(grown(n, mask, keys)?),
            None => None,
        };
        let square = vec![queries, keys];
        let batch = self.valid.as_ref().map(|v| vec![v.dims[0], Scalar::Int(1), queries, keys]);
        let mut shapes = vec![square.as_slice()];
        shapes.extend(batch.as_deref());
        shapes.extend(mask.as_ref().map(|m| m.dims.as_slice()));
        let dims = n.broadcast(&shapes)?;
        let mut inputs = vec![n.scalar(DType::I64, self.past)];
        if let Some(valid) = &self.valid {
            let wide = n.cast(valid, DType::I64)?;
            let one = Scalar::Int(1);
            inputs.push(n.reshape(&wide, vec![valid.dims[0], one, one, one])?);
            inputs.push(n.scalar(DType::I64, queries));
        }
        let has_valid = self.valid.is_some();
        let is_bool = mask.as_ref().is_some_and(|m| m.dtype == DType::Bool);
        let has_mask = mask.is_some();
        inputs.extend(mask);
        let refs: Vec<_> = inputs.iter().collect();
        let rank = dims.len();
        let (causal, (left, right)) = (self.causal, self.window);
        n.map_over(dims, &refs, dtype, |c, args, index| {
            let (ints, bools, out) = (c.of(DType::I64), c.of(DType::Bool), c.of(dtype));
            let mask = args.last().copied().filter(|_| has_mask);
            let offset = if has_valid { ints.sub(args[1], args[2]) } else { args[0] };
            let place = ints.add(index(rank - 2), offset);
            let key = index(rank - 1);
            let mut allowed = Scalar::Int(1);
            let mut demand = |condition: Scalar<'c>| {
                allowed = if allowed == Scalar::Int(1) { condition } else { bools.and(allowed, condition) };
            };
            if causal {
                demand(ints.cmp("le", key, place));
            }
            if left >= 0 {
                demand(ints.cmp("le", ints.sub(place, key), Scalar::Int(left)));
            }
            if right >= 0 {
                demand(ints.cmp("le", ints.sub(key, place), Scalar::Int(right)));
            }
            if has_valid {
                demand(ints.cmp("lt", key, args[1]));
            }
            if let (Some(mask), true) = (mask, is_bool) {
                demand(mask);
            }
            let number = match mask {
                Some(mask) if !is_bool => mask,
                _ => Scalar::Float(0.0),
            };
            out.select(allowed, number, Scalar::Float(f64::NEG_INFINITY))
        })
    }
}

/// The mask with as many columns as there are keys; what it lacks is masked.
fn grown<'c>(n: &mut NodeContext<'_, 'c>, mask: &Value<'c>, keys: Dim<'c>) -> OpResult<Value<'c>> {
    let Some(last) = mask.dims.last().copied() else { return Ok(mask.clone()) };
    let missing = n.index().sub(keys, last);
    if missing == Scalar::Int(0) {
        return Ok(mask.clone());
    }
    let mut high = vec![Scalar::Int(0); mask.rank()];
    high[mask.rank() - 1] = missing;
    let low = vec![Scalar::Int(0); mask.rank()];
    let outside = if mask.dtype == DType::Bool { Scalar::Int(0) } else { Scalar::Float(f64::NEG_INFINITY) };
    let outside = n.scalar(mask.dtype, outside);
    n.pad(PadMode::Constant, mask, &low, &high, Some(&outside))
}

/// Scores, softmax and what is read out on the way.
struct Core<'c> {
    output: Value<'c>,
    exposed: Value<'c>,
}

fn core<'c>(
    n: &mut NodeContext<'_, 'c>,
    q: &Value<'c>,
    k: &Value<'c>,
    v: &Value<'c>,
    bias: &Bias<'c>,
    scale: f64,
) -> OpResult<Core<'c>> {
    let (batch, queries, keys) = (q.dims[0], q.dims[2], k.dims[2]);
    let dtype = q.dtype;
    // Query heads that share a key head become rows of one product.
    let index = n.index();
    let per_key = index.mul(index.div(q.dims[1], k.dims[1]), queries);
    let grouped = vec![batch, k.dims[1], per_key, q.dims[3]];
    let full = vec![batch, q.dims[1], queries, keys];
    let rows = n.reshape(q, grouped)?;
    let scores = n.gemm(&rows, k, (Row, Col), scale, dtype)?;
    let scores = n.reshape(&scores, full.clone())?;
    let softcap = n.float("softcap", 0.0)?;
    let capped = if softcap > 0.0 {
        n.elementwise(&[&scores], dtype, |c, a| c.mul(c.lit(softcap), c.math("tanh", c.div(a[0], c.lit(softcap)))))?
    } else {
        scores
    };
    let mut hidden = None;
    let biased = if bias.is_needed() {
        let added = bias.build(n, dtype, queries, keys)?;
        let last = added.rank() - 1;
        hidden = Some(n.reduce(ReduceKind::Max, &added, &[last], true)?);
        n.elementwise(&[&capped, &added], dtype, |c, a| c.add(a[0], a[1]))?
    } else {
        capped.clone()
    };
    let precise = match n.dtype("softmax_precision")? {
        Some(precision) if precision.bits() > dtype.bits() => n.cast(&biased, precision)?,
        _ => biased.clone(),
    };
    let mut weights = n.softmax(SoftmaxKind::Softmax, &precise, 3)?;
    if let Some(hidden) = hidden {
        // A row that is masked altogether attends to nothing.
        weights = n.elementwise(&[&weights, &hidden], weights.dtype, |c, a| {
            let masked = c.of(dtype).cmp("eq", a[1], Scalar::Float(f64::NEG_INFINITY));
            c.select(masked, Scalar::Float(0.0), a[0])
        })?;
    }
    let weights = n.cast(&weights, dtype)?;
    let rows = n.reshape(&weights, vec![batch, k.dims[1], per_key, keys])?;
    let output = n.gemm(&rows, v, (Row, Row), 1.0, dtype)?;
    let output = n.reshape(&output, vec![batch, q.dims[1], queries, v.dims[3]])?;
    let exposed = match n.int("qk_matmul_output_mode", 0)? {
        2 => biased,
        3 => weights,
        _ => capped,
    };
    Ok(Core { output, exposed })
}

fn attention<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (mut q, mut k, mut v) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let flat = q.rank() == 3;
    if flat {
        let (queries, keys) = (n.node.int("q_num_heads")?, n.node.int("kv_num_heads")?);
        (q, k, v) = (heads(n, &q, queries)?, heads(n, &k, keys)?, heads(n, &v, keys)?);
    }
    if q.rank() != 4 || k.rank() != 4 || v.rank() != 4 {
        return Err(n.wrong("its inputs have neither rank 3 nor 4"));
    }
    let mut past = Scalar::Int(0);
    if let (Some(pk), Some(pv)) = (n.optional(4)?, n.optional(5)?) {
        past = pk.dims[2];
        (k, v) = (n.concat(&[pk, k], 2)?, n.concat(&[pv, v], 2)?);
    }
    let scale = match n.node.opt_float("scale")? {
        Some(scale) => crate::import::node::shortest(scale),
        None => match q.dims[3].int() {
            Some(size) => 1.0 / (size as f64).sqrt(),
            None => return unsupported("a head size that is not known, without a scale"),
        },
    };
    let bias = Bias {
        mask: n.optional(3)?,
        valid: n.optional(6)?,
        causal: n.flag("is_causal", false)?,
        window: (n.int("left_window_size", -1)?, n.int("right_window_size", -1)?),
        past,
    };
    let core = core(n, &q, &k, &v, &bias, scale)?;
    let output = if flat {
        let moved = n.transpose(&core.output, &[0, 2, 1, 3])?;
        let hidden = n.index().mul(q.dims[1], v.dims[3]);
        n.reshape(&moved, vec![q.dims[0], q.dims[2], hidden])?
    } else {
        core.output
    };
    many(vec![output, k, v, core.exposed])
}

/// Rotates pairs of each head by the angles of their position.
fn rotary<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let microsoft = n.node.domain == "com.microsoft";
    let x = n.input(0)?;
    let (cos, sin, ids) =
        if microsoft { (n.input(2)?, n.input(3)?, n.optional(1)?) } else { (n.input(1)?, n.input(2)?, n.optional(3)?) };
    let flat = x.rank() == 3;
    let index = n.index();
    let by_step = if flat {
        let count = match n.int("num_heads", 0)? {
            0 => return unsupported("a rank-3 input without num_heads"),
            count => Scalar::Int(count),
        };
        let size = index.div(x.dims[2], count);
        n.reshape(&x, vec![x.dims[0], x.dims[1], count, size])?
    } else {
        n.transpose(&x, &[0, 2, 1, 3])?
    };
    let size = by_step.dims[3];
    let rotated = match n.int("rotary_embedding_dim", 0)? {
        0 => size,
        count => Scalar::Int(count),
    };
    let half = index.div(rotated, Scalar::Int(2));
    let mut angles = Vec::new();
    for cache in [cos, sin] {
        let picked = match &ids {
            Some(ids) => n.gather(&cache, ids, 0)?,
            None => cache,
        };
        let picked = n.slice_axis(&picked, picked.rank() - 1, Scalar::Int(0), half)?;
        angles.push(n.unsqueeze(&picked, &[2])?);
    }
    let turning = n.slice_axis(&by_step, 3, Scalar::Int(0), rotated)?;
    let interleaved = n.flag("interleaved", false)?;
    let (first, second) = if interleaved {
        let [a, b, c, _] = by_step.dims[..] else { return Err(n.wrong("its input has neither rank 3 nor 4")) };
        let pairs = n.reshape(&turning, vec![a, b, c, half, Scalar::Int(2)])?;
        let (first, second) = (
            n.slice_axis(&pairs, 4, Scalar::Int(0), Scalar::Int(1))?,
            n.slice_axis(&pairs, 4, Scalar::Int(1), Scalar::Int(1))?,
        );
        (n.squeeze(&first, &[4])?, n.squeeze(&second, &[4])?)
    } else {
        (n.slice_axis(&turning, 3, Scalar::Int(0), half)?, n.slice_axis(&turning, 3, half, half)?)
    };
    let inputs = [&first, &second, &angles[0], &angles[1]];
    let real = n.elementwise(&inputs, x.dtype, |c, a| c.sub(c.mul(a[2], a[0]), c.mul(a[3], a[1])))?;
    let imaginary = n.elementwise(&inputs, x.dtype, |c, a| c.add(c.mul(a[3], a[0]), c.mul(a[2], a[1])))?;
    let mut out = if interleaved {
        let (real, imaginary) = (n.unsqueeze(&real, &[4])?, n.unsqueeze(&imaginary, &[4])?);
        let pairs = n.concat(&[real, imaginary], 4)?;
        n.reshape(&pairs, turning.dims.clone())?
    } else {
        n.concat(&[real, imaginary], 3)?
    };
    let rest = index.sub(size, rotated);
    if rest != Scalar::Int(0) {
        let tail = n.slice_axis(&by_step, 3, rotated, rest)?;
        out = n.concat(&[out, tail], 3)?;
    }
    one(if flat { n.reshape(&out, x.dims.clone())? } else { n.transpose(&out, &[0, 2, 1, 3])? })
}
