//! The verifiers of the dialect: each checks the constraints C1, C2, ... of its op's description in `td/AitOps.td`, in that order.
//!
//! A verifier is a function from an op to a [`Verdict`]; one file holds those of one group of ops. Dynamic dimensions agree with any size.

mod contraction;
mod convolution;
mod elementwise;
mod group;
mod jagged;
mod movement;
mod reduction;
mod shape;
mod signal;
mod structure;
mod unknown_size;

use crate::{
    ait::OpView,
    diagnostics::{Severity, emit_at, emit_op_error, panic_text},
    types::Op,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is wrong with an op, if anything: the message behind "'ait.op' op ".
type Verdict = Result<(), String>;
/// Checks one op.
type Verifier = fn(OpView<'_>) -> Verdict;

/// Leaves a verifier with a message.
macro_rules! reject {
    ($($message:tt)*) => { return Err(format!($($message)*)) };
}
use reject;

/// Checks one op; emits an error for the first constraint that does not hold.
pub fn verify(op: Op<'_>) -> bool {
    let Some(verifier) = verifier(&OpView(op).name()) else {
        return true;
    };
    report(op, || verifier(OpView(op)))
}

/// Checks a launch against the symbol that it names.
pub fn verify_launch(op: Op<'_>, callee: Option<Op<'_>>) -> bool {
    report(op, || structure::launch_callee(OpView(op), callee.map(OpView)))
}

/// Emits what a check finds; a panic in it is an internal error at the op.
fn report(op: Op<'_>, check: impl FnOnce() -> Verdict) -> bool {
    match catch_unwind(AssertUnwindSafe(check)) {
        Ok(Ok(())) => return true,
        Ok(Err(message)) => emit_op_error(op, &message),
        Err(panic) => {
            let text = panic_text(&*panic);
            emit_at(op, Severity::Error, &format!("internal error in the verifier: {text}; please report it"));
        }
    }
    false
}

fn verifier(name: &str) -> Option<Verifier> {
    Some(match name.strip_prefix("ait.")? {
        "argreduce" => reduction::argreduce,
        "attention" => contraction::attention,
        "b2b_gemm" => contraction::b2b_gemm,
        "buffer.alloc" => structure::buffer_alloc,
        "buffer.output" => structure::buffer_output,
        "buffer.reshape" => structure::buffer_reshape,
        "cast" => elementwise::cast,
        "col2im" => signal::col2im,
        "concat" => movement::concat,
        "constant" => structure::constant,
        "conv" => convolution::conv,
        "deform_conv" => convolution::deform_conv,
        "dft" => signal::dft,
        "expand" => elementwise::expand,
        "gather" => movement::gather,
        "gemm" => contraction::gemm,
        "grid_sample" => signal::grid_sample,
        "group" => group::group,
        "index" => structure::index,
        "jagged_to_padded" => jagged::jagged_to_padded,
        "launch" => structure::launch,
        "map" => elementwise::map,
        "nms" => unknown_size::nms,
        "nonzero" => unknown_size::nonzero,
        "norm" => reduction::norm,
        "pad" => movement::pad,
        "padded_to_jagged" => jagged::padded_to_jagged,
        "pool" => convolution::pool,
        "random" => elementwise::random,
        "reduce" => reduction::reduce,
        "reshape" => movement::reshape,
        "resize" => signal::resize,
        "rnn" => contraction::rnn,
        "roi_align" => signal::roi_align,
        "scan" => reduction::scan,
        "scatter" => movement::scatter,
        "slice" => movement::slice,
        "softmax" => reduction::softmax,
        "split" => movement::split,
        "topk" => reduction::topk,
        "transpose" => movement::transpose,
        "unique" => unknown_size::unique,
        "where" => elementwise::where_,
        // ait.yield, ait.buffer.arena, ait.buffer.constant: ODS says it all.
        _ => return None,
    })
}
