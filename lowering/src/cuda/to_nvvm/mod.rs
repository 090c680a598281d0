//! `cute-to-nvvm`: see [`TO_NVVM`].
//!
//! The pass walks a kernel once, in order, and keeps for every value of the dialect what its type says with a name for each dynamic leaf
//! ([`values::Lowered`]), the SSA values of those names, and the base pointer of a view. Operations that compute layouts are evaluated on
//! these values, and the leaves of their results become integer code. Copies and products then unroll into instructions:
//!
//! * [`values`]: values, names, integer code
//! * [`memory`]: pointers, shared memory, registers, loads and stores
//! * [`copy`]: copies by atom, [`edge`] loads and [`within`] stores of what is within bounds, [`tma`] of boxes of tensors
//! * [`mma`]: matrix products of a warp or a thread, [`wgmma`] of a warpgroup
//! * [`pipeline`]: stages between producers and consumers

mod copy;
mod edge;
mod memory;
mod mma;
mod pipeline;
mod tma;
mod values;
mod wgmma;
mod within;

use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, block_arguments, blocks_of, erase, operations_of, replace_uses, users_of},
    cute::{Cute, Outcome, arith::Overflow, leaves, types},
    diagnostics::emit_op_error,
    pass::{Failed, PassContext, PassDecl},
    types::{Op, Types},
};
use melior::ir::{ValueLike, operation::OperationLike};
pub use memory::SHARED_BYTES;
pub use tma::MAPS;
use values::{Lowered, State};

/// The declaration of the pass.
pub static TO_NVVM: PassDecl = PassDecl {
    name: "cute-to-nvvm",
    anchor: "",
    summary: "Lower views, copies and matrix products to the instructions that their atoms name",
    description: "Every operation of the cute dialect becomes `arith`, `llvm` and `nvvm` operations; instructions without an operation of their own are inline PTX. Views become a pointer and \
        the integers of their dynamic leaves, register views become `llvm.alloca`s that LLVM promotes, shared memory becomes a global of the enclosing module. Copies and products are unrolled. Offsets \
        from pointers are computed in 32 bits where the ranges of the leaves allow it, in 64 bits elsewhere. Values of the dialect may not be arguments of functions or blocks, nor results of \
        regions: carry their scalars.",
    options: &[],
    run,
};

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    let mut state = State::new(pass.context);
    lower_in(&mut state, pass.op)?;
    // Users come after what they use, so erasing backwards leaves no use behind.
    for op in state.lowered_ops.into_iter().rev() {
        if let Some(user) = OpView(op).results().into_iter().flat_map(users_of).next() {
            let name = OpView(user).name();
            let text = format!(
                "gives a value of the cute dialect to '{name}', which does not lower; carry its scalars (cute.get_scalars)"
            );
            emit_op_error(op, &text);
            return Err(Failed);
        }
        erase(op);
    }
    Ok(())
}

fn lower_in<'c>(state: &mut State<'c>, op: Op<'c>) -> Result<(), Failed> {
    for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
        if let Some(argument) = block_arguments(block).into_iter().find(|a| types::of_type(a.r#type()).is_some()) {
            let text = format!(
                "has an argument of type {}, which does not lower; pass its pointer and scalars",
                argument.r#type()
            );
            emit_op_error(op, &text);
            return Err(Failed);
        }
        for nested in operations_of(block) {
            if OpView(nested).name().starts_with("cute.") {
                if let Err(message) = lower(state, nested) {
                    emit_op_error(nested, &message);
                    return Err(Failed);
                }
                state.lowered_ops.push(nested);
            } else {
                lower_in(state, nested)?;
            }
        }
    }
    Ok(())
}

/// Lowers one operation of the dialect; it is erased later.
fn lower<'c>(state: &mut State<'c>, op: Op<'c>) -> Result<(), String> {
    let view = OpView(op);
    let b = Builder::before(state.context, op);
    match view.name().as_str() {
        "cute.alloc_shared" => memory::alloc_shared(state, b, view),
        "cute.convert" => memory::convert(state, b, view),
        "cute.alloc_pipeline" => pipeline::alloc(state, b, view),
        "cute.consumer_release" => pipeline::release(state, b, view),
        "cute.consumer_wait" => pipeline::consumer_wait(state, b, view),
        "cute.copy" => copy::copy(state, b, view),
        "cute.load_within" => edge::load_within(state, b, view),
        "cute.descriptor" => mma::descriptor(state, b, view),
        "cute.fill" => memory::fill(state, b, view),
        "cute.gemm" => mma::gemm(state, b, view),
        "cute.get_scalars" => get_scalars(state, b, view),
        "cute.load" => memory::load(state, b, view),
        "cute.make_coord" | "cute.make_int_tuple" | "cute.make_shape" | "cute.make_stride" | "cute.make_tile" => {
            make(state, b, view)
        }
        "cute.make_fragment" | "cute.make_fragment_like" => memory::make_fragment(state, b, view),
        "cute.make_pipeline" => pipeline::make(state, view),
        "cute.make_ptr" => memory::make_ptr(state, b, view),
        "cute.pipeline_barrier" => pipeline::barrier(state, b, view),
        "cute.pipeline_init" => pipeline::init(state, b, view),
        "cute.pipeline_next" => pipeline::next(state, b, view),
        "cute.pipeline_stage" => pipeline::stage(state, b, view),
        "cute.producer_acquire" => pipeline::acquire(state, b, view),
        "cute.producer_commit" => pipeline::commit(state, b, view),
        "cute.producer_expect" => pipeline::expect(state, b, view),
        "cute.static" => {
            let value = values::result_type(view)?;
            state.set(view.results()[0], Lowered { value, base: None });
            Ok(())
        }
        "cute.store" => memory::store(state, b, view),
        "cute.store_within" => within::store(state, b, view),
        "cute.tma_load" => tma::load(state, b, view),
        "cute.tma_store" => tma::store(state, b, view),
        "cute.wgmma_commit" => {
            wgmma::commit(b);
            Ok(())
        }
        "cute.wgmma_fence" => wgmma::fence(state, b, view),
        "cute.wgmma_wait" => wgmma::wait(state, b, view),
        _ => evaluate(state, b, view),
    }
}

/// A value from its dynamic leaves.
fn make<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let made = values::result_type(view)?;
    let mut scalars = Vec::new();
    for (leaf, operand) in leaves::dynamic(&made).iter().zip(view.operands()) {
        let bits = leaves::bits(leaf);
        let lowered = state.operand(b, operand)?;
        let from = leaves::all(&lowered.value);
        let only = from.first().ok_or("has an operand without a leaf")?;
        scalars.push(state.emit(b, only, bits, Overflow::Refuse)?);
    }
    let value = state.named(&made, &scalars)?;
    state.set(view.results()[0], Lowered { value, base: None });
    Ok(())
}

fn get_scalars<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let value = state.operand(b, view.operands()[0])?.value;
    let wanted = if view.has("only_dynamic") { leaves::dynamic(&value) } else { leaves::all(&value) };
    for (leaf, result) in wanted.iter().zip(view.results()) {
        let bits = if result.r#type() == b.context().int_type(64) { 64 } else { 32 };
        let scalar = state.emit(b, leaf, bits, Overflow::Refuse)?;
        replace_uses(result, scalar);
    }
    Ok(())
}

/// An operation whose result follows from its operands.
fn evaluate<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let mut operands = Vec::new();
    let mut base = None;
    for operand in view.operands() {
        let lowered = state.operand(b, operand)?;
        base = base.or(lowered.base);
        operands.push(lowered.value);
    }
    let attributes = aitmlir_dialects::cute::Attributes::read(|name| view.attr(name));
    let result = view.results()[0];
    match aitmlir_dialects::cute::evaluate(&view.name(), &attributes, &operands)? {
        Outcome::Value(value) => {
            let declared = values::result_type(view)?;
            let lowered = state.settle(b, &value, &declared, base)?;
            state.set(result, lowered);
        }
        Outcome::Logic { lhs, rhs, less, known } => {
            let answer = state.compare(b, &lhs, &rhs, less, known)?;
            replace_uses(result, answer);
        }
    }
    Ok(())
}

/// The dialect's value behind a result, for messages that need it.
fn as_view<'a>(lowered: &'a Lowered<'_>) -> Result<&'a aitmlir_dialects::cute::View, String> {
    match &lowered.value {
        Cute::View(view) => Ok(view),
        other => Err(format!("needs a view, got {other}")),
    }
}
