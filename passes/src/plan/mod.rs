//! `ait-plan-memory`: see [`PLAN_MEMORY`].
//!
//! Phases: (1) [`lifetime`] finds the root buffers, what aliases them and how long each lives; (2) [`entry`] computes their sizes at the function's
//! entry; (3) [`concat`] finds operands that can lie in the result of their concatenation; (4) [`arena`], with [`layout`], gives each root that can have one
//! an offset in the arena; (5) [`rewrite`] turns tensors into buffers in place.

mod arena;
mod concat;
mod entry;
mod layout;
mod lifetime;
mod rewrite;

use aitmlir_dialects::{
    ait::OpView,
    builder::{block_of, operations_of},
    pass::{Failed, PassContext, PassDecl},
};

/// The declaration of the pass.
pub static PLAN_MEMORY: PassDecl = PassDecl {
    name: "ait-plan-memory",
    anchor: "builtin.module",
    summary: "Give every tensor of the host program a buffer, most of them in one arena",
    description: "Tensors of public functions become row-major buffers: arguments and constants as they are, results as `ait.buffer.output`, all others whose size \
        follows from the arguments' dimensions at offsets of one `ait.buffer.arena`, chosen so that buffers that live at the same time do not overlap; \
        sizes that depend on data, and values carried by loops, as `ait.buffer.alloc`. `ait.reshape`, unit-stride `ait.slice` and `tensor.cast` become views. Buffers of static size \
        are placed one after the other at the lowest free offset, in the best of several orders; buffers of dynamic size likewise behind them, by what their sizes have in common, or in shared slots. An operand of `ait.concat` along an outermost \
        axis that a launch makes is written where the result has it, so that it needs no copy, unless the arena would get larger by that. The function gets the attribute `ait.memory` = [arena bytes, lower bound, sum of all \
        buffers], at the upper bounds of the arguments' dimensions (`ait.max`); it has none where there is no such bound.",
    options: &[],
    run,
};

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    let Some(module) = block_of(pass.op, 0) else { return Ok(()) };
    let mut kernels = concat::kernels(pass.op);
    for function in operations_of(module) {
        let view = OpView(function);
        if view.name() != "func.func" || view.has("ait.kernel") || block_of(function, 0).is_none() {
            continue;
        }
        let roots = lifetime::Lifetimes::of(function);
        rewrite::rewrite(pass, function, roots, &mut kernels)?;
    }
    Ok(())
}
