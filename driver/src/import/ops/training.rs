//! Steps of optimisers (`ai.onnx.preview.training`).

use super::{Operator, op};
use crate::import::{
    error::OpResult,
    node::{NodeContext, Outputs, many},
    scalar::{Calc, Scalar},
    value::Value,
};

const DOMAIN: &str = "ai.onnx.preview.training";

pub(super) const ROWS: &[Operator] = &[
    Operator { domain: DOMAIN, ..op("Adagrad", 1, adagrad) },
    Operator { domain: DOMAIN, ..op("Adam", 1, adam) },
    Operator { domain: DOMAIN, ..op("Momentum", 1, momentum) },
];

/// The learning rate, the update count as the rate's type, and the tensors in groups of `kinds` (all weights, all gradients, ...).
struct Step<'c> {
    rate: Value<'c>,
    count: Value<'c>,
    groups: Vec<Vec<Value<'c>>>,
}

fn step<'c>(n: &mut NodeContext<'_, 'c>, kinds: usize) -> OpResult<Step<'c>> {
    let inputs = n.inputs()?;
    let tensors = inputs.len().saturating_sub(2);
    if tensors == 0 || tensors % kinds != 0 {
        return Err(n.wrong(format!("{} inputs, expected 2 and a multiple of {kinds}", inputs.len())));
    }
    let groups = inputs[2..].chunks(tensors / kinds).map(<[Value<'c>]>::to_vec).collect();
    let rate = n.reshape(&inputs[0], vec![])?;
    let count = n.cast(&inputs[1], rate.dtype)?;
    let count = n.reshape(&count, vec![])?;
    Ok(Step { rate, count, groups })
}

/// The gradient with the regularisation's part.
fn regularised<'c>(c: &Calc<'c>, norm: f64, x: Scalar<'c>, g: Scalar<'c>) -> Scalar<'c> {
    if norm == 0.0 { g } else { c.add(g, c.mul(c.lit(norm), x)) }
}

fn adagrad<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (decay, epsilon, norm) =
        (n.float("decay_factor", 0.0)?, n.float("epsilon", 0.0)?, n.float("norm_coefficient", 0.0)?);
    let s = step(n, 3)?;
    let rate = n.elementwise(&[&s.rate, &s.count], s.rate.dtype, |c, a| {
        c.div(a[0], c.add(c.lit(1.0), c.mul(a[1], c.lit(decay))))
    })?;
    let (mut xs, mut hs) = (vec![], vec![]);
    for i in 0..s.groups[0].len() {
        let (x, g, h) = (&s.groups[0][i], &s.groups[1][i], &s.groups[2][i]);
        let g = n.elementwise(&[x, g], x.dtype, |c, a| regularised(c, norm, a[0], a[1]))?;
        let h = n.elementwise(&[h, &g], x.dtype, |c, a| c.add(a[0], c.mul(a[1], a[1])))?;
        xs.push(n.elementwise(&[x, &g, &h, &rate], x.dtype, |c, a| {
            let scale = c.add(c.math("sqrt", a[2]), c.lit(epsilon));
            c.sub(a[0], c.div(c.mul(a[3], a[1]), scale))
        })?);
        hs.push(h);
    }
    many(xs.into_iter().chain(hs).collect())
}

fn momentum<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (alpha, beta, norm) = (n.float("alpha", 0.0)?, n.float("beta", 0.0)?, n.float("norm_coefficient", 0.0)?);
    let nesterov = n.string("mode", "standard")? == "nesterov";
    let s = step(n, 3)?;
    // In the first turn the gradient counts in full.
    let share = n.elementwise(&[&s.count], s.rate.dtype, |c, a| {
        c.select(c.cmp("gt", a[0], c.lit(0.0)), c.lit(beta), c.lit(1.0))
    })?;
    let (mut xs, mut vs) = (vec![], vec![]);
    for i in 0..s.groups[0].len() {
        let (x, g, v) = (&s.groups[0][i], &s.groups[1][i], &s.groups[2][i]);
        let g = n.elementwise(&[x, g], x.dtype, |c, a| regularised(c, norm, a[0], a[1]))?;
        let v = n.elementwise(&[v, &g, &share], x.dtype, |c, a| c.add(c.mul(c.lit(alpha), a[0]), c.mul(a[2], a[1])))?;
        xs.push(n.elementwise(&[x, &g, &v, &s.rate], x.dtype, |c, a| {
            let pull = if nesterov { c.add(a[1], c.mul(c.lit(alpha), a[2])) } else { a[2] };
            c.sub(a[0], c.mul(a[3], pull))
        })?);
        vs.push(v);
    }
    many(xs.into_iter().chain(vs).collect())
}

fn adam<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (alpha, beta, epsilon) = (n.float("alpha", 0.9)?, n.float("beta", 0.999)?, n.float("epsilon", 0.0)?);
    let (norm, post) = (n.float("norm_coefficient", 0.0)?, n.float("norm_coefficient_post", 0.0)?);
    let s = step(n, 4)?;
    let rate = n.elementwise(&[&s.rate, &s.count], s.rate.dtype, |c, a| {
        let left = |base: f64| c.sub(c.lit(1.0), c.math2("powf", c.lit(base), a[1]));
        let adjusted = c.div(c.mul(a[0], c.math("sqrt", left(beta))), left(alpha));
        c.select(c.cmp("gt", a[1], c.lit(0.0)), adjusted, a[0])
    })?;
    let (mut xs, mut vs, mut hs) = (vec![], vec![], vec![]);
    for i in 0..s.groups[0].len() {
        let (x, g, v, h) = (&s.groups[0][i], &s.groups[1][i], &s.groups[2][i], &s.groups[3][i]);
        let g = n.elementwise(&[x, g], x.dtype, |c, a| regularised(c, norm, a[0], a[1]))?;
        let v =
            n.elementwise(&[v, &g], x.dtype, |c, a| c.add(c.mul(c.lit(alpha), a[0]), c.mul(c.lit(1.0 - alpha), a[1])))?;
        let h = n.elementwise(&[h, &g], x.dtype, |c, a| {
            c.add(c.mul(c.lit(beta), a[0]), c.mul(c.lit(1.0 - beta), c.mul(a[1], a[1])))
        })?;
        xs.push(n.elementwise(&[x, &v, &h, &rate], x.dtype, |c, a| {
            let scale = c.add(c.math("sqrt", a[2]), c.lit(epsilon));
            let moved = c.sub(a[0], c.div(c.mul(a[3], a[1]), scale));
            c.mul(c.lit(1.0 - post), moved)
        })?);
        vs.push(v);
        hs.push(h);
    }
    many(xs.into_iter().chain(vs).chain(hs).collect())
}
