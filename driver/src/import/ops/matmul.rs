//! Matrix products.

use aitmlir_dialects::ait::MatrixLayout::{self, Col, Row};

use super::{Operator, op};
use crate::import::{
    error::OpResult,
    node::{NodeContext, Outputs, one},
    scalar::Scalar,
    value::Value,
};

pub(super) const ROWS: &[Operator] = &[
    Operator { domain: "com.microsoft", ..op("FusedMatMul", 1, fused_matmul) },
    op("Gemm", 13, gemm),
    op("MatMul", 13, matmul),
];

/// The product of operands of any rank from 1 on, NumPy's rule.
pub fn product<'c>(
    n: &mut NodeContext<'_, 'c>,
    a: &Value<'c>,
    b: &Value<'c>,
    layouts: (MatrixLayout, MatrixLayout),
    alpha: f64,
) -> OpResult<Value<'c>> {
    if a.rank() == 0 || b.rank() == 0 {
        return Err(n.wrong("an operand of a matrix product has rank 0"));
    }
    let (row, column) = (a.rank() == 1, b.rank() == 1);
    let left = if row { n.reshape(a, vec![Scalar::Int(1), a.dims[0]])? } else { a.clone() };
    let right = if column { n.reshape(b, vec![b.dims[0], Scalar::Int(1)])? } else { b.clone() };
    let out = n.gemm(&left, &right, layouts, alpha, a.dtype)?;
    let rank = out.rank();
    let drop: Vec<usize> =
        [(row, rank - 2), (column, rank - 1)].into_iter().filter(|(d, _)| *d).map(|(_, i)| i).collect();
    n.squeeze(&out, &drop)
}

fn matmul<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (a, b) = (n.input(0)?, n.input(1)?);
    one(product(n, &a, &b, (Row, Row), 1.0)?)
}

fn layout(transposed: bool) -> MatrixLayout {
    if transposed { Col } else { Row }
}

fn fused_matmul<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (a, b) = (n.input(0)?, n.input(1)?);
    if n.flag("transBatchA", false)? || n.flag("transBatchB", false)? {
        return crate::import::error::unsupported("a transposed batch");
    }
    let layouts = (layout(n.flag("transA", false)?), layout(n.flag("transB", false)?));
    let alpha = n.float("alpha", 1.0)?;
    one(product(n, &a, &b, layouts, alpha)?)
}

fn gemm<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (a, b, c) = (n.input(0)?, n.input(1)?, n.optional(2)?);
    if a.rank() != 2 || b.rank() != 2 {
        return Err(n.wrong(format!("its operands have ranks {} and {}, expected 2", a.rank(), b.rank())));
    }
    let layouts = (layout(n.flag("transA", false)?), layout(n.flag("transB", false)?));
    let (alpha, beta) = (n.float("alpha", 1.0)?, n.float("beta", 1.0)?);
    let out = n.gemm(&a, &b, layouts, alpha, a.dtype)?;
    let Some(c) = c.filter(|_| beta != 0.0) else { return one(out) };
    one(n.elementwise(&[&out, &c], a.dtype, |k, args| {
        let scaled = if beta == 1.0 { args[1] } else { k.mul(args[1], k.lit(beta)) };
        k.add(args[0], scaled)
    })?)
}
