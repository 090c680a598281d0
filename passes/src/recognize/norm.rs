//! `ait-recognize-norms`: see [`RECOGNIZE_NORMS`].

use super::scalar::{Scalar, broadcasts, holder};
use aitmlir_dialects::{
    ait::{NormKind, OpView, ReduceKind, symbolic::shape_key},
    builder::{Builder, blocks_of, defining_op, operations_of, replace_uses, users_of},
    diagnostics::location_of,
    pass::{Failed, PassContext, PassDecl},
    types::{Blk, TypeExt, Val},
};
use melior::{
    Context,
    ir::{ValueLike, operation::OperationLike},
};

/// The declaration of the pass.
pub static RECOGNIZE_NORMS: PassDecl = PassDecl {
    name: "ait-recognize-norms",
    anchor: "builtin.module",
    summary: "Find layer and RMS normalisations in reductions and element-wise code",
    description: "With d = x - mean(x) and the means over the last dimensions,\n\n\
        * d / sqrt(mean(d * d) + epsilon) becomes `ait.norm layer`\n\
        * x / sqrt(mean(x * x) + epsilon) becomes `ait.norm rms`\n\n\
        and both take in a scale, and a bias behind a scale, that broadcast to x. Division by the root, multiplication by its reciprocal and `math.rsqrt` are the same to it, as are all \
        ways in which the code is spread over maps. Everything must be of one float type: a norm computes in f32 or wider and rounds once. What is left without a reader is erased by \
        `canonicalize`.",
    options: &[],
    run,
};

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    for region in 0..pass.op.region_count() {
        blocks_of(pass.op, region).into_iter().for_each(|block| recognize(pass.context, block));
    }
    Ok(())
}

/// From the last op to the first, so that a scale and a bias are seen before what they scale.
fn recognize<'c>(context: &'c Context, block: Blk<'c>) {
    for op in operations_of(block).into_iter().rev() {
        let view = OpView(op);
        if view.has("ait.kernel") {
            continue;
        }
        if view.name() != "ait.map" {
            for region in 0..op.region_count() {
                blocks_of(op, region).into_iter().for_each(|nested| recognize(context, nested));
            }
            continue;
        }
        let [result] = view.results()[..] else { continue };
        if users_of(result).is_empty() {
            continue;
        }
        if let Some(norm) = Norm::of(result) {
            let b = Builder::before(context, op).with_location(location_of(op));
            replace_uses(result, norm.build(b));
        }
    }
}

/// A normalisation over the dimensions from `axis` on.
struct Norm<'c> {
    kind: NormKind,
    input: Val<'c>,
    axis: i64,
    epsilon: f64,
    params: Vec<Val<'c>>,
}

/// The mean of a tensor's elements over its last dimensions.
struct Mean<'c> {
    of: Val<'c>,
    axis: i64,
}

impl<'c> Norm<'c> {
    fn of(result: Val<'c>) -> Option<Self> {
        let whole = Scalar::of(result);
        let norm = Self::with_bias(whole).or_else(|| Self::with_scale(whole)).or_else(|| Self::plain(whole))?;
        let (input, own) = (norm.input.r#type(), result.r#type());
        let fits = own == input && own.element_type().is_float_type() && shape_key(result) == shape_key(norm.input);
        let params =
            norm.params.iter().all(|p| p.r#type().element_type() == input.element_type() && broadcasts(*p, norm.input));
        (fits && params).then_some(norm)
    }

    fn with_bias(whole: Scalar<'c>) -> Option<Self> {
        whole.either_order("arith.addf").into_iter().find_map(|(scaled, bias)| {
            let mut norm = Self::with_scale(scaled)?;
            norm.params.push(bias.tensor()?);
            Some(norm)
        })
    }

    fn with_scale(whole: Scalar<'c>) -> Option<Self> {
        whole.either_order("arith.mulf").into_iter().find_map(|(normalised, scale)| {
            let mut norm = Self::plain(normalised)?;
            norm.params.push(scale.tensor()?);
            Some(norm)
        })
    }

    /// A value divided by the root of the mean of its squares.
    fn plain(whole: Scalar<'c>) -> Option<Self> {
        let (value, spread) = divided_by_root(whole)?;
        let (variance, epsilon) =
            spread.either_order("arith.addf").into_iter().find_map(|(x, e)| Some((x, e.constant()?)))?;
        let squares = Mean::of(variance)?;
        let (x, y) = Scalar::of(squares.of).operands("arith.mulf").and_then(|o| Some((*o.first()?, *o.get(1)?)))?;
        if epsilon < 0.0 || !x.same(value) || !y.same(value) {
            return None;
        }
        let shape = squares.of.r#type();
        if let Some([centred, mean]) = value.operands("arith.subf").as_deref()
            && let Some(mean) = Mean::of(*mean)
            && Scalar::of(mean.of).same(*centred)
        {
            let same = mean.axis == squares.axis && mean.of.r#type() == shape;
            return same.then(|| Self::new(NormKind::Layer, mean.of, squares.axis, epsilon));
        }
        let input = holder(value, squares.of)?;
        (input.r#type() == shape).then(|| Self::new(NormKind::Rms, input, squares.axis, epsilon))
    }

    fn new(kind: NormKind, input: Val<'c>, axis: i64, epsilon: f64) -> Self {
        Self { kind, input, axis, epsilon, params: Vec::new() }
    }

    fn build(&self, b: Builder<'c>) -> Val<'c> {
        let attributes = [
            ("kind", b.i32_attr(self.kind as i32)),
            ("epsilon", b.f64_attr(self.epsilon)),
            ("axis", b.i64_attr(self.axis)),
        ];
        b.ait("ait.norm", &[&[self.input], &self.params], &[self.input.r#type()], &attributes, vec![])[0]
    }
}

/// v and s of v / sqrt(s), v * (1 / sqrt(s)) and v * rsqrt(s).
fn divided_by_root<'c>(whole: Scalar<'c>) -> Option<(Scalar<'c>, Scalar<'c>)> {
    if let Some([value, divisor]) = whole.operands("arith.divf").as_deref() {
        return Some((*value, divisor.operand("math.sqrt")?));
    }
    whole.either_order("arith.mulf").into_iter().find_map(|(value, factor)| {
        if let Some(spread) = factor.operand("math.rsqrt") {
            return Some((value, spread));
        }
        match factor.operands("arith.divf").as_deref() {
            Some([one, divisor]) if one.constant() == Some(1.0) => Some((value, divisor.operand("math.sqrt")?)),
            _ => None,
        }
    })
}

impl<'c> Mean<'c> {
    /// A mean that keeps its dimensions, over the last ones.
    fn of(value: Scalar<'c>) -> Option<Self> {
        let op = defining_op(value.tensor()?).map(OpView).filter(|op| op.name() == "ait.reduce")?;
        let input = op.operands().first().copied()?;
        let rank = input.r#type().shape().len() as i64;
        let mut axes = op.i64s("axes");
        axes.sort_unstable();
        let axis = rank - axes.len() as i64;
        let last = !axes.is_empty() && axes.iter().copied().eq(axis..rank);
        let fits = last && op.has("keepdims") && op.kind::<ReduceKind>("kind") == Some(ReduceKind::Mean);
        fits.then_some(Self { of: input, axis })
    }
}
