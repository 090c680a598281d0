//! The operators: one file a family, each a table of rows.

mod attention;
mod control;
mod conv;
mod einsum;
mod elementwise;
mod functions;
mod index;
mod loops;
mod loss;
mod matmul;
mod norm;
mod pool;
mod quantize;
mod reduce;
mod resize;
mod rnn;
mod sequence;
mod shape;
mod signal;
mod structure;
mod training;
mod vision;
mod window;

pub use control::FAIL;

use super::node::{NodeContext, Outputs};

/// The function that imports an operator.
pub type Import = for<'a, 'c> fn(&mut NodeContext<'a, 'c>) -> Outputs<'c>;

/// One operator.
#[derive(Clone, Copy)]
pub struct Operator {
    /// Its domain; `""` is the default one.
    pub domain: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The newest since-version that is handled, as are all older ones from operator set 7 on.
    pub newest: i64,
    /// Imports a node.
    pub import: Import,
}

/// A row for an operator of the default domain.
const fn op(name: &'static str, newest: i64, import: Import) -> Operator {
    Operator { domain: "", name, newest, import }
}

/// All families.
const FAMILIES: &[&[Operator]] = &[
    attention::ROWS,
    control::ROWS,
    conv::ROWS,
    einsum::ROWS,
    elementwise::ROWS,
    functions::ROWS,
    index::ROWS,
    loss::ROWS,
    matmul::ROWS,
    norm::ROWS,
    pool::ROWS,
    quantize::ROWS,
    reduce::ROWS,
    resize::ROWS,
    rnn::ROWS,
    sequence::ROWS,
    shape::ROWS,
    signal::ROWS,
    structure::ROWS,
    training::ROWS,
    vision::ROWS,
];

/// The row of an operator.
pub fn find(domain: &str, name: &str) -> Option<Operator> {
    let domain = if domain == "ai.onnx" { "" } else { domain };
    FAMILIES.iter().copied().flatten().find(|o| o.name == name && o.domain == domain).copied()
}
