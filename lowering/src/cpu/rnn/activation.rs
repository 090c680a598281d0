//! The activation functions that recurrent layers name.

use crate::cpu::Unsupported;
use aitmlir_dialects::{builder::Builder, types::Val};
use melior::ir::ValueLike;

/// One activation of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activation {
    function: Function,
    alpha: f64,
    beta: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Relu,
    Tanh,
    Sigmoid,
    Affine,
    LeakyRelu,
    ThresholdedRelu,
    ScaledTanh,
    HardSigmoid,
    Elu,
    Softsign,
    Softplus,
}

/// ONNX's names, without regard to case.
const NAMES: [(&str, Function); 11] = [
    ("relu", Function::Relu),
    ("tanh", Function::Tanh),
    ("sigmoid", Function::Sigmoid),
    ("affine", Function::Affine),
    ("leakyrelu", Function::LeakyRelu),
    ("thresholdedrelu", Function::ThresholdedRelu),
    ("scaledtanh", Function::ScaledTanh),
    ("hardsigmoid", Function::HardSigmoid),
    ("elu", Function::Elu),
    ("softsign", Function::Softsign),
    ("softplus", Function::Softplus),
];

impl Activation {
    /// The function of an ONNX name.
    pub fn new(name: &str, alpha: f64, beta: f64) -> Result<Self, Unsupported> {
        let lower = name.to_ascii_lowercase();
        match NAMES.iter().find(|(n, _)| *n == lower) {
            Some((_, function)) => Ok(Self { function: *function, alpha, beta }),
            None => Err(Unsupported(format!("has the unknown activation '{name}'"))),
        }
    }

    /// The code of the function.
    pub fn apply<'c>(self, b: Builder<'c>, x: Val<'c>) -> Val<'c> {
        let constant = |v: f64| b.float(x.r#type(), v);
        let (zero, one) = (constant(0.0), constant(1.0));
        let (alpha, beta) = (constant(self.alpha), constant(self.beta));
        let exp = |x: Val<'c>| b.unary("math.exp", x);
        let positive = |x: Val<'c>, yes: Val<'c>, no: Val<'c>| b.select(b.cmpf("oge", x, zero), yes, no);
        match self.function {
            Function::Relu => b.binary("arith.maximumf", x, zero),
            Function::Tanh => b.unary("math.tanh", x),
            Function::Sigmoid => b.divf(one, b.addf(one, exp(b.unary("arith.negf", x)))),
            Function::Affine => b.addf(b.mulf(alpha, x), beta),
            Function::LeakyRelu => positive(x, x, b.mulf(alpha, x)),
            Function::ThresholdedRelu => b.select(b.cmpf("ogt", x, alpha), x, zero),
            Function::ScaledTanh => b.mulf(alpha, b.unary("math.tanh", b.mulf(beta, x))),
            Function::HardSigmoid => {
                let line = b.addf(b.mulf(alpha, x), beta);
                b.binary("arith.minimumf", b.binary("arith.maximumf", line, zero), one)
            }
            Function::Elu => positive(x, x, b.mulf(alpha, b.subf(exp(x), one))),
            Function::Softsign => b.divf(x, b.addf(one, b.unary("math.absf", x))),
            Function::Softplus => b.unary("math.log1p", exp(x)),
        }
    }
}
