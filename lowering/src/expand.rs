//! `ait-expand-products`: see [`EXPAND_PRODUCTS`].

use crate::cuda::{Chip, chip, kernels};
use aitmlir_dialects::{
    ait::OpView,
    builder::{block_of, blocks_of, operations_of},
    diagnostics::emit_op_error,
    pass::{Failed, PassContext, PassDecl, PassOption},
    types::{Blk, Op},
};
use aitmlir_passes::{
    expand_products::{expand_b2b_gemm, expand_gemm, expand_group, is_plain_gemm},
    fuse::is_constant_work,
};
use melior::ir::operation::OperationLike;

/// The declaration of the pass.
pub static EXPAND_PRODUCTS: PassDecl = PassDecl {
    name: "ait-expand-products",
    anchor: "builtin.module",
    summary: "Make plain products of those that the target has no kernel for",
    description: "An `ait.gemm` of several right operands, of several results or with `split` becomes one `ait.gemm` for each right operand, an `ait.map`, and for each \
        result an `ait.reshape` and an `ait.transpose`. An `ait.b2b_gemm` becomes a product, an `ait.map` of the scores and a product; scores are then in memory, and jagged rows padded. \
        The members of an `ait.group` come to stand in its place. \
        Numerics: the map computes in the accumulators' type and rounds once, as kernels do.",
    options: &[PassOption { name: "chip", help: "the GPU to compile for; empty for the CPU", default: "" }],
    run,
};

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    let Some(module) = block_of(pass.op, 0) else { return Ok(()) };
    let chip = match pass.option("chip") {
        "" => None,
        name => match chip::chip(name) {
            Some(chip) => Some(chip),
            None => {
                emit_op_error(pass.op, &format!("'{name}' is not a GPU that this build knows"));
                return Err(Failed);
            }
        },
    };
    for function in operations_of(module) {
        if OpView(function).name() == "func.func" && !OpView(function).has("ait.kernel") {
            blocks_of(function, 0).into_iter().for_each(|block| expand(pass, chip, block));
        }
    }
    Ok(())
}

fn expand<'c>(pass: &PassContext<'c>, chip: Option<&Chip>, block: Blk<'c>) {
    for op in operations_of(block) {
        match OpView(op).name().as_str() {
            "ait.gemm" => plain(pass, chip, op),
            "ait.group" if is_constant_work(op) || !taken(chip, op) => {
                expand_group(pass.context, op).into_iter().for_each(|member| plain(pass, chip, member));
            }
            "ait.b2b_gemm" if !taken(chip, op) => expand_b2b_gemm(pass.context, op),
            name if name.starts_with("scf.") => {
                for nested in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
                    expand(pass, chip, nested);
                }
            }
            _ => {}
        }
    }
}

/// Makes plain products of one that the target does not take as it is.
fn plain<'c>(pass: &PassContext<'c>, chip: Option<&Chip>, gemm: Op<'c>) {
    // The fold program, which reads constants alone, runs on the CPU.
    if !is_plain_gemm(OpView(gemm)) && (is_constant_work(gemm) || !taken(chip, gemm)) {
        expand_gemm(pass.context, gemm);
    }
}

/// Has the target a kernel for the op as it is?
fn taken(chip: Option<&Chip>, op: Op<'_>) -> bool {
    match chip {
        Some(chip) => kernels::supported(chip, OpView(op)).is_ok(),
        None => OpView(op).name() == "ait.b2b_gemm",
    }
}
