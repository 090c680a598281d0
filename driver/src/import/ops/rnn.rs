//! Recurrent layers.

use aitmlir_dialects::ait::{EnumAttribute, RnnDirection, RnnKind};
use aitmlir_onnx::model::DType;
use melior::ir::attribute::ArrayAttribute;

use super::{Operator, op};
use crate::import::{
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs, many},
    scalar::Scalar,
    value::{Value, type_of},
};

pub(super) const ROWS: &[Operator] = &[op("GRU", 22, recurrent), op("LSTM", 22, recurrent), op("RNN", 22, recurrent)];

/// Activations with parameters: name, default alpha, default beta; how many it takes.
const PARAMETERS: &[(&str, f64, f64, usize)] = &[
    ("Affine", 1.0, 0.0, 2),
    ("Elu", 1.0, 0.0, 1),
    ("HardSigmoid", 0.2, 0.5, 2),
    ("LeakyRelu", 0.01, 0.0, 1),
    ("ScaledTanh", 1.0, 1.0, 2),
    ("ThresholdedRelu", 1.0, 0.0, 1),
];

/// The activations with their parameters, one entry each.
struct Activations {
    names: Vec<String>,
    alpha: Vec<f64>,
    beta: Vec<f64>,
}

impl Activations {
    fn read(n: &NodeContext<'_, '_>, defaults: &[&str], directions: usize) -> OpResult<Self> {
        let given = n.node.opt_strings("activations")?;
        let names: Vec<String> = match given {
            Some(list) => list.iter().map(|s| (*s).to_string()).collect(),
            None => defaults.iter().cycle().take(defaults.len() * directions).map(|s| (*s).to_string()).collect(),
        };
        if names.len() != defaults.len() * directions {
            return Err(n.wrong(format!("{} activations, expected {}", names.len(), defaults.len() * directions)));
        }
        let list =
            |name: &str| Ok::<_, crate::import::error::OpError>(n.node.opt_floats(name)?.unwrap_or(&[]).to_vec());
        let (mut alphas, mut betas) = (list("activation_alpha")?.into_iter(), list("activation_beta")?.into_iter());
        let mut out = Activations { names, alpha: vec![], beta: vec![] };
        for name in &out.names {
            let row = PARAMETERS.iter().find(|r| r.0.eq_ignore_ascii_case(name));
            let (alpha, beta, count) = row.map_or((0.0, 0.0, 0), |r| (r.1, r.2, r.3));
            let next = |list: &mut std::vec::IntoIter<f32>, default, takes| {
                if takes { list.next().map_or(default, f64::from) } else { default }
            };
            out.alpha.push(next(&mut alphas, alpha, count > 0));
            out.beta.push(next(&mut betas, beta, count > 1));
        }
        Ok(out)
    }
}

fn recurrent<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (kind, defaults): (_, &[&str]) = match n.node.op.as_str() {
        "LSTM" => (RnnKind::Lstm, &["Sigmoid", "Tanh", "Tanh"]),
        "GRU" => (RnnKind::Gru, &["Sigmoid", "Tanh"]),
        _ => (RnnKind::Rnn, &["Tanh"]),
    };
    let (x, w, r) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let optional = [n.optional(3)?, n.optional(4)?, n.optional(5)?, n.optional(6)?, n.optional(7)?];
    layer(n, kind, defaults, [x, w, r], optional)
}

/// One layer: X, W, R, then bias, lengths, h0, c0, peepholes.
pub fn layer<'c>(
    n: &mut NodeContext<'_, 'c>,
    kind: RnnKind,
    defaults: &[&str],
    [x, w, r]: [Value<'c>; 3],
    optional: [Option<Value<'c>>; 5],
) -> Outputs<'c> {
    let direction = match n.string("direction", "forward")?.as_str() {
        "forward" => RnnDirection::Forward,
        "reverse" => RnnDirection::Reverse,
        "bidirectional" => RnnDirection::Bidirectional,
        other => return Err(n.wrong(format!("attribute `direction` is `{other}`"))),
    };
    let directions = if direction == RnnDirection::Bidirectional { 2 } else { 1 };
    let batch_first = n.int("layout", 0)? == 1;
    let Some(hidden) = n.node.opt_int("hidden_size")?.or_else(|| r.dims[2].int()) else {
        return unsupported("a hidden size that is not known");
    };
    let x = if batch_first { n.transpose(&x, &[1, 0, 2])? } else { x };
    let activations = Activations::read(n, defaults, directions as usize)?;
    let mut states = Vec::new();
    let mut kinds = Vec::new();
    for (name, value) in ["bias", "lengths", "h0", "c0", "peephole"].into_iter().zip(optional) {
        let Some(mut value) = value else { continue };
        if name == "lengths" {
            value = n.cast(&value, DType::I32)?;
        }
        if batch_first && matches!(name, "h0" | "c0") {
            value = n.transpose(&value, &[1, 0, 2])?;
        }
        states.push(n.tensor(&value)?);
        kinds.push(n.b.str_attr(name));
    }
    let b = n.b;
    let names: Vec<_> = activations.names.iter().map(|s| b.str_attr(s)).collect();
    let mut attributes = vec![
        ("kind", b.i32_attr(kind.code())),
        ("direction", b.i32_attr(direction.code())),
        ("operand_kinds", ArrayAttribute::new(b.context(), &kinds).into()),
        ("activations", ArrayAttribute::new(b.context(), &names).into()),
        ("alpha", b.f64s_attr(&activations.alpha)),
        ("beta", b.f64s_attr(&activations.beta)),
    ];
    if let Some(clip) = n.node.opt_float("clip")? {
        attributes.push(("clip", b.f64_attr(f64::from(clip))));
    }
    for (onnx, name) in [("linear_before_reset", "linear_before_reset"), ("input_forget", "input_forget")] {
        if n.flag(onnx, false)? {
            attributes.push((name, b.unit_attr()));
        }
    }
    let (d, h) = (Scalar::Int(directions), Scalar::Int(hidden));
    let all = vec![x.dims[0], d, x.dims[1], h];
    let last = vec![d, x.dims[1], h];
    let mut types = vec![type_of(b, x.dtype, &all), type_of(b, x.dtype, &last)];
    if kind == RnnKind::Lstm {
        types.push(types[1]);
    }
    let operands = [n.tensor(&x)?, n.tensor(&w)?, n.tensor(&r)?];
    let groups: [&[_]; 4] = [&operands[..1], &operands[1..2], &operands[2..], &states];
    let results = b.ait("ait.rnn", &groups, &types, &attributes, vec![]);
    let mut out = vec![n.value(x.dtype, all, results[0])];
    out.extend(results[1..].iter().map(|v| n.value(x.dtype, last.clone(), *v)));
    if batch_first {
        out[0] = n.transpose(&out[0], &[2, 0, 1, 3])?;
        for v in &mut out[1..] {
            *v = n.transpose(v, &[1, 0, 2])?;
        }
    }
    many(out)
}
