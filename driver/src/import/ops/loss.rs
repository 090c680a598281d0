//! Losses.

use aitmlir_dialects::ait::{GatherKind, ReduceKind, SoftmaxKind};
use aitmlir_onnx::model::DType;

use super::{Operator, op};
use crate::import::{
    error::OpResult,
    node::{NodeContext, Outputs, many, one},
    scalar::Scalar,
    value::Value,
};

pub(super) const ROWS: &[Operator] =
    &[op("NegativeLogLikelihoodLoss", 22, likelihood), op("SoftmaxCrossEntropyLoss", 13, cross_entropy)];

fn likelihood<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (x, target, weight) = (n.input(0)?, n.input(1)?, n.optional(2)?);
    one(loss(n, &x, &target, weight)?)
}

fn cross_entropy<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (scores, labels, weight) = (n.input(0)?, n.input(1)?, n.optional(2)?);
    let log = n.softmax(SoftmaxKind::LogSoftmax, &scores, 1)?;
    let out = loss(n, &log, &labels, weight)?;
    many(vec![out, log])
}

/// The negative log likelihood of the targets, weighted by class, without those that are ignored.
fn loss<'c>(
    n: &mut NodeContext<'_, 'c>,
    x: &Value<'c>,
    target: &Value<'c>,
    weight: Option<Value<'c>>,
) -> OpResult<Value<'c>> {
    let ignored = n.node.opt_int("ignore_index")?;
    let target = n.cast(target, DType::I64)?;
    // Ignored targets may lie out of range: class 0 stands in, with weight 0.
    let safe = match ignored {
        None => target.clone(),
        Some(i) => n.elementwise(&[&target], DType::I64, |c, a| {
            c.select(c.cmp("eq", a[0], Scalar::Int(i)), Scalar::Int(0), a[0])
        })?,
    };
    let places = n.unsqueeze(&safe, &[1])?;
    let dims = places.dims.clone();
    let picked = n.gather_op(GatherKind::Elements, x, &places, 1, 0, dims)?;
    let picked = n.squeeze(&picked, &[1])?;
    let mut weights = match &weight {
        Some(w) => Some(n.gather(w, &safe, 0)?),
        None => None,
    };
    if let Some(i) = ignored {
        let all = match weights {
            Some(w) => w,
            None => n.scalar(x.dtype, Scalar::Float(1.0)),
        };
        weights = Some(n.elementwise(&[&target, &all], x.dtype, |c, a| {
            let hit = c.cmp("eq", a[0], Scalar::Int(i));
            c.of(x.dtype).select(hit, Scalar::Float(0.0), a[1])
        })?);
    }
    let each = match &weights {
        None => n.elementwise(&[&picked], x.dtype, |c, a| c.neg(a[0]))?,
        Some(w) => n.elementwise(&[&picked, w], x.dtype, |c, a| c.neg(c.mul(a[0], a[1])))?,
    };
    let axes: Vec<usize> = (0..each.rank()).collect();
    match (n.string("reduction", "mean")?.as_str(), weights) {
        ("none", _) => Ok(each),
        ("sum", _) => n.reduce(ReduceKind::Sum, &each, &axes, false),
        ("mean", None) => n.reduce(ReduceKind::Mean, &each, &axes, false),
        ("mean", Some(w)) => {
            let sum = n.reduce(ReduceKind::Sum, &each, &axes, false)?;
            let total = n.reduce(ReduceKind::Sum, &w, &axes, false)?;
            n.elementwise(&[&sum, &total], x.dtype, |c, a| c.div(a[0], a[1]))
        }
        (other, _) => Err(n.wrong(format!("attribute `reduction` is `{other}`, expected none, sum or mean"))),
    }
}
