//! `ait-recognize-attention`: see [`RECOGNIZE_ATTENTION`].

use super::scalar::{Scalar, broadcasts, holder};
use aitmlir_dialects::{
    ait::{
        MatrixLayout, OpView, SoftmaxKind,
        symbolic::{DimKey, shape_key},
    },
    builder::{Builder, blocks_of, defining_op, operations_of, replace_uses, users_of},
    diagnostics::location_of,
    pass::{Failed, PassContext, PassDecl},
    types::{Blk, Op, TypeExt, Val, tensor_type},
};
use melior::{
    Context,
    ir::{ValueLike, operation::OperationLike},
};

/// The declaration of the pass.
pub static RECOGNIZE_ATTENTION: PassDecl = PassDecl {
    name: "ait-recognize-attention",
    anchor: "builtin.module",
    summary: "Find scaled dot-product attention in products around a softmax",
    description: "softmax(scale * Q K^T + bias) V over tensors of rank 4 becomes `ait.attention`. The scale may stand behind the first product, or before it at Q, at K, or at both; the keys may \
        be transposed by an `ait.transpose`, also one of three dimensions between two reshapes; a map that turns the NaN of rows without a key into 0 is taken in, and so are keys and values \
        whose heads are repeated (grouped queries). It declines where the scores or the weights have another reader: they would be computed twice. Scores are \
        no longer rounded to the element type, and a row whose scores are all minus infinity gives 0, as `ait.attention` has it.",
    options: &[],
    run,
};

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    for region in 0..pass.op.region_count() {
        blocks_of(pass.op, region).into_iter().for_each(|block| recognize(pass.context, block));
    }
    Ok(())
}

fn recognize<'c>(context: &'c Context, block: Blk<'c>) {
    for op in operations_of(block) {
        let view = OpView(op);
        if view.has("ait.kernel") {
            continue;
        }
        match view.name().as_str() {
            "ait.gemm" => {
                if let Some(attention) = Attention::of(op) {
                    let b = Builder::before(context, op).with_location(location_of(op));
                    let result = view.results()[0];
                    if let Some(value) = attention.build(b, result) {
                        replace_uses(result, value);
                    }
                }
            }
            "ait.map" => {}
            _ => {
                for region in 0..op.region_count() {
                    blocks_of(op, region).into_iter().for_each(|nested| recognize(context, nested));
                }
            }
        }
    }
}

struct Attention<'c> {
    query: Val<'c>,
    key: Key<'c>,
    value: Val<'c>,
    bias: Option<Val<'c>>,
    scale: f64,
}

/// Where the keys [B, H, N, D] come from: a tensor, then a transpose, then a reshape, as far as they are needed.
struct Key<'c> {
    source: Val<'c>,
    permutation: Option<Vec<i64>>,
    /// The four dimensions, and the values of those that are `?`.
    reshape: Option<(Vec<i64>, Vec<Val<'c>>)>,
}

impl<'c> Attention<'c> {
    /// The product of weights and values.
    fn of(product: Op<'c>) -> Option<Self> {
        let (weights, value) = plain_product(product, MatrixLayout::Row)?;
        let softmax = OpView(defining_op(without_guard(weights)?)?);
        let along = softmax.i64("axis") == Some(3) && softmax.kind::<SoftmaxKind>("kind") == Some(SoftmaxKind::Softmax);
        if softmax.name() != "ait.softmax" || !along {
            return None;
        }
        let scores = alone(softmax.operands()[0])?;
        let (first, mut scale, bias) = Self::scores(scores)?;
        let first = defining_op(alone(first)?)?;
        let layout = OpView(first).kind::<MatrixLayout>("b_layout")?;
        let (query, keys) = plain_product(first, layout)?;
        let (query, factor) = unscaled(query);
        scale *= factor;
        let (keys, factor) = unscaled(keys);
        scale *= factor;
        let key = match layout {
            MatrixLayout::Col => Key { source: keys, permutation: None, reshape: None },
            MatrixLayout::Row => Key::untransposed(keys)?,
        };
        let fits = [query, value].iter().all(|v| v.r#type().shape().len() == 4)
            && query.r#type().element_type().is_float_type()
            && bias.is_none_or(|bias| {
                bias.r#type().element_type() == query.r#type().element_type() && may_broadcast(bias, scores)
            });
        fits.then_some(Self { query, key, value, bias, scale })
    }

    /// The product, its factor and what is added behind it, which must not stretch it.
    fn scores(scores: Val<'c>) -> Option<(Val<'c>, f64, Option<Val<'c>>)> {
        let whole = Scalar::of(scores);
        if let Some((product, factor)) = scaled_product(whole) {
            return Some((product, factor, None));
        }
        whole.either_order("arith.addf").into_iter().find_map(|(scaled, bias)| {
            let (product, factor) = scaled_product(scaled)?;
            let bias = holder(bias, scores)?;
            (shape_key(product) == shape_key(scores)).then_some((product, factor, Some(bias)))
        })
    }

    fn build(&self, b: Builder<'c>, result: Val<'c>) -> Option<Val<'c>> {
        let mut key = self.key.build(b);
        let mut value = self.value;
        if let (Some(few_keys), Some(few_values)) = (ungrouped(key), ungrouped(value))
            && shape_key(few_keys)[..3] == shape_key(few_values)[..3]
        {
            (key, value) = (few_keys, few_values);
        }
        let groups: [&[Val<'c>]; 4] = [&[self.query], &[key], &[value], &self.bias.into_iter().collect::<Vec<_>>()];
        let attributes = [("scale", b.f64_attr(self.scale))];
        b.ait("ait.attention", &groups, &[result.r#type()], &attributes, vec![]).first().copied()
    }
}

/// The operands of a product without alpha or epilogue, of rank 4, with A in rows.
fn plain_product<'c>(op: Op<'c>, b_layout: MatrixLayout) -> Option<(Val<'c>, Val<'c>)> {
    let view = OpView(op);
    let plain = view.name() == "ait.gemm"
        && view.block(0).is_none()
        && !view.has("split")
        && view.f64("alpha").is_none_or(|alpha| alpha == 1.0)
        && view.kind("a_layout") == Some(MatrixLayout::Row)
        && view.kind("b_layout") == Some(b_layout);
    let (a, b) = (*view.operands().first()?, *view.operands().get(1)?);
    let batched = a.r#type().shape().len() == 4 && b.r#type().shape().len() == 4;
    // A batch that is stretched is not attention's.
    (plain && batched && shape_key(a)[..2] == shape_key(b)[..2]).then_some((a, b))
}

/// A value that one op reads.
fn alone(value: Val<'_>) -> Option<Val<'_>> {
    let mut users = users_of(value);
    users.dedup();
    (users.len() == 1).then_some(value)
}

/// The weights before a map that writes 0 for NaN.
fn without_guard(weights: Val<'_>) -> Option<Val<'_>> {
    alone(weights)?;
    let Some(operands) = Scalar::of(weights).operands("arith.select") else { return Some(weights) };
    let [condition, zero, inner] = operands[..] else { return None };
    let operands = condition.operands("arith.cmpf")?;
    let unordered = condition.predicate() == Some(UNE) && operands.iter().all(|o| o.same(inner));
    (unordered && zero.constant() == Some(0.0)).then(|| inner.tensor()).flatten()
}

/// `arith.cmpf une`
const UNE: i64 = 13;

/// x and c of x * c, and of x / (1 / c).
fn factored(whole: Scalar<'_>) -> Option<(Scalar<'_>, f64)> {
    if let Some([x, c]) = whole.operands("arith.divf").as_deref() {
        return Some((*x, 1.0 / c.constant()?));
    }
    whole.either_order("arith.mulf").into_iter().find_map(|(x, c)| Some((x, c.constant()?)))
}

/// A product of matrices and what it is multiplied with.
fn scaled_product(whole: Scalar<'_>) -> Option<(Val<'_>, f64)> {
    let (product, factor) = factored(whole).unwrap_or((whole, 1.0));
    let product = product.tensor()?;
    defining_op(product).is_some_and(|op| OpView(op).name() == "ait.gemm").then_some((product, factor))
}

/// A tensor before it was scaled as a whole, and the scale.
fn unscaled(tensor: Val<'_>) -> (Val<'_>, f64) {
    let before = factored(Scalar::of(tensor)).and_then(|(x, factor)| Some((holder(x, tensor)?, factor)));
    before.filter(|(inner, _)| inner.r#type() == tensor.r#type()).unwrap_or((tensor, 1.0))
}

impl<'c> Key<'c> {
    /// The keys [B, H, N, D] of [B, H, D, N].
    fn untransposed(keys: Val<'c>) -> Option<Self> {
        let op = OpView(defining_op(keys)?);
        let source = *op.operands().first()?;
        match op.name().as_str() {
            "ait.transpose" => {
                let (source, permutation) = swapped(op)?;
                Some(Self { source, permutation, reshape: None })
            }
            // [B * H, D, N] from a transpose.
            "ait.reshape" => {
                let transpose = OpView(defining_op(source)?);
                let (turned, whole) = (shape_key(source), shape_key(keys));
                if transpose.name() != "ait.transpose" || turned.len() != 3 || turned[1..] != whole[2..] {
                    return None;
                }
                let (source, permutation) = swapped(transpose)?;
                let source = if permutation.is_none() { before_reshapes(source) } else { source };
                let shape = keys.r#type().shape();
                let dims = op.group("dims");
                let order = [0, 1, 3, 2];
                let nth = |d: usize| shape[..d].iter().filter(|s| **s < 0).count();
                let values = order.iter().filter(|d| shape[**d] < 0).map(|d| dims.get(nth(*d)).copied());
                let reshape = (order.iter().map(|d| shape[*d]).collect(), values.collect::<Option<Vec<_>>>()?);
                Some(Self { source, permutation, reshape: Some(reshape) })
            }
            _ => None,
        }
    }

    fn build(&self, b: Builder<'c>) -> Val<'c> {
        let mut value = self.source;
        let element = value.r#type().element_type();
        if let Some(permutation) = &self.permutation {
            let shape = value.r#type().shape();
            let permuted: Vec<_> = permutation.iter().map(|p| shape[*p as usize]).collect();
            let attributes = [("permutation", b.i64s_attr(permutation))];
            value = b.ait("ait.transpose", &[&[value]], &[tensor_type(&permuted, element)], &attributes, vec![])[0];
        }
        if let Some((shape, dims)) = &self.reshape {
            let r#type = tensor_type(shape, element);
            if value.r#type() != r#type
                || shape_key(value) != shape.iter().map(|s| DimKey::Static(*s)).collect::<Vec<_>>()
            {
                value = b.ait("ait.reshape", &[&[value], dims], &[r#type], &[], vec![])[0];
            }
        }
        value
    }
}

/// The operand and the permutation of a transpose whose result has its last two dimensions swapped; no permutation where it moves nothing.
fn swapped<'c>(transpose: OpView<'c>) -> Option<(Val<'c>, Option<Vec<i64>>)> {
    let mut permutation = transpose.i64s("permutation");
    let rank = permutation.len();
    permutation.swap(rank.checked_sub(2)?, rank - 1);
    let in_order = permutation.iter().copied().eq(0..rank as i64);
    Some((*transpose.operands().first()?, (!in_order).then_some(permutation)))
}

fn before_reshapes(mut value: Val<'_>) -> Val<'_> {
    while let Some(op) = defining_op(value).map(OpView).filter(|op| op.name() == "ait.reshape") {
        value = op.operands()[0];
    }
    value
}

/// [B, Hkv, N, D] of a tensor [B, Hkv * G, N, D] that repeats each head G times.
fn ungrouped<'c>(tensor: Val<'c>) -> Option<Val<'c>> {
    let before = |value: Val<'c>, name: &str| {
        let op = OpView(defining_op(value)?);
        (op.name() == name).then(|| op.operands().first().copied()).flatten()
    };
    let expanded = before(tensor, "ait.reshape")?;
    let inserted = before(expanded, "ait.expand")?;
    let source = before(inserted, "ait.reshape")?;
    let (from, one) = (source.r#type().shape(), inserted.r#type().shape());
    if from.len() != 4 || one.len() != 5 || one[2] != 1 {
        return None;
    }
    let (own, five, many, whole) = (shape_key(source), shape_key(inserted), shape_key(expanded), shape_key(tensor));
    let repeated = own[..2] == five[..2]
        && own[2..] == five[3..]
        && five[..2] == many[..2]
        && five[3..] == many[3..]
        && whole[0] == own[0]
        && whole[2..] == own[2..];
    repeated.then_some(source)
}

/// Does the bias broadcast to the scores, as far as is known?
fn may_broadcast(bias: Val<'_>, scores: Val<'_>) -> bool {
    if broadcasts(bias, scores) {
        return true;
    }
    let (own, whole) = (shape_key(bias), shape_key(scores));
    let shape = bias.r#type().shape();
    let skip = whole.len().saturating_sub(own.len());
    own.len() <= whole.len() && own.iter().zip(&whole[skip..]).zip(shape).all(|((o, w), s)| s == 1 || o == w)
}
