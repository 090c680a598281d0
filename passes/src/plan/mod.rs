//! `ait-plan-memory`: see [`PLAN_MEMORY`].
//!
//! Phases: (1) [`lifetime`] finds the root buffers, what aliases them and how long each lives; (2) [`layout`] gives each root that can have
//! one an offset in the arena; (3) [`rewrite`] turns tensors into buffers in place.

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
        are placed largest first at the lowest free offset; buffers of dynamic size share slots behind them. The function gets the attribute `ait.memory` = [arena bytes, lower bound, sum of all \
        buffers], of the static part.",
    options: &[],
    run,
};

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    let Some(module) = block_of(pass.op, 0) else { return Ok(()) };
    for function in operations_of(module) {
        let view = OpView(function);
        if view.name() != "func.func" || view.has("ait.kernel") || block_of(function, 0).is_none() {
            continue;
        }
        let roots = lifetime::Lifetimes::of(function);
        rewrite::rewrite(pass, function, roots)?;
    }
    Ok(())
}
