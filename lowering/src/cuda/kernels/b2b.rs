//! What a back-to-back product is, for all its kernels: out = act(Q K^T, bias) V without softmax.

use super::{problem::Dtype, sequences::Sequences};
use aitmlir_dialects::{ait::CausalKind, builder::Builder, types::Val};
use kernel_launch::Expr;

/// One operand [B, H, lines, columns]: strides in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The operand.
    pub operand: u32,
    /// From a column to the next.
    pub column: Expr,
    /// From a line to the next.
    pub line: Expr,
    /// From a head to the next; 0 where all are the same.
    pub head: Expr,
    /// From a batch to the next; 0 where all are the same.
    pub batch: Expr,
}

/// A bias of [B, H, M, N].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bias {
    /// Of the operands' type, contiguous along N, with lines for all rows, strides that are multiples of 8: TMA loads it.
    Boxes(Side),
    /// Of any float type and layout.
    Elements {
        /// The operand.
        operand: u32,
        /// Its element type.
        dtype: Dtype,
        /// Strides along B, H, M and N in elements; 0 where all are the same.
        strides: [Expr; 4],
    },
}

/// What is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Of Q, K, V and the result.
    pub dtype: Dtype,
    /// Batches.
    pub batch: Expr,
    /// Heads.
    pub heads: Expr,
    /// Rows of Q; of jagged ones, those that a sequence has at most.
    pub m: Expr,
    /// Rows of K and V; of jagged ones, those that a sequence has at most.
    pub n: Expr,
    /// Columns of Q and K.
    pub depth: i64,
    /// Columns of V.
    pub width: i64,
    /// Are Q, K, V and the result jagged? Then a batch is a sequence, and sides begin with the first one.
    pub sequences: Option<Sequences>,
    /// Q, K, V, the result.
    pub sides: [Side; 4],
    /// The bias.
    pub bias: Option<Bias>,
    /// Which scores count.
    pub causal: CausalKind,
    /// Names of the run-time integers.
    pub dims: Vec<String>,
    /// Names of the operands.
    pub operands: Vec<String>,
}

/// Scalar code from a score and an element of the bias, both f32, and the length N (an i32) to an f32.
pub type Code<'a, 'c> = &'a dyn Fn(Builder<'c>, Val<'c>, Option<Val<'c>>, Val<'c>) -> Val<'c>;

/// Why the kernel does not compute a problem.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct Illegal(pub String);
