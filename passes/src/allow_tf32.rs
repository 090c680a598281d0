//! `ait-allow-tf32`: see [`ALLOW_TF32`].

use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, blocks_of, operations_of, set_attribute},
    pass::{Failed, PassContext, PassDecl},
    types::{Op, TypeExt},
};
use melior::ir::{ValueLike, operation::OperationLike};

/// The declaration of the pass.
pub static ALLOW_TF32: PassDecl = PassDecl {
    name: "ait-allow-tf32",
    anchor: "builtin.module",
    summary: "Let all matrix products of f32 round their operands to tf32",
    description: "Sets `tf32` on every `ait.gemm` of f32. GPUs multiply tf32 (8 bits of exponent, 11 of significand) on their matrix units: a product of two elements is off by up to 2^-10, relative, and sums stay in f32. \
        The driver runs the pass where the user asks for it (`--allow-tf32`); a target without tf32 multiplies in f32.",
    options: &[],
    run,
};

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    allow(Builder::before(pass.context, pass.op), pass.op);
    Ok(())
}

fn allow<'c>(b: Builder<'c>, op: Op<'c>) {
    for nested in (0..op.region_count()).flat_map(|region| blocks_of(op, region)).flat_map(operations_of) {
        let view = OpView(nested);
        if view.name() == "ait.gemm" {
            let element = view.group("a")[0].r#type().element_type();
            if element.is_float_type() && element.bits() == 32 {
                set_attribute(nested, "tf32", b.unit_attr());
            }
        } else {
            allow(b, nested);
        }
    }
}
