//! Pipelines: a full and an empty mbarrier for each stage, through the operations of `nvvm`. Waits are assembly: without the limit that the operation wants, on which the
//! thread would go to sleep, and on an address of 32 bits, to which the distance of the barriers is added by the instruction.
//!
//! The barriers are one array in shared memory, the full ones first. A state is the stage, plus the number of stages in odd phases; a consumer waits for
//! its own phase of the full barrier, a producer for the phase before of the empty one, so that both start at state 0.

use super::{
    memory::{global_in_module, pointer_type},
    values::{Lowered, State, result_type},
};
use crate::cuda::emit::{i32c, mbarrier};
use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, replace_uses},
    cute::{Cute, Pipeline},
    types::{Types, Val},
};
use melior::ir::Type;

pub fn alloc<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let value = result_type(view)?;
    let Cute::Pipeline(pipeline) = &value else { return Err("gives no pipeline".into()) };
    let barriers = 2 * i64::from(pipeline.stages);
    let base = global_in_module(state, b, view, b.context().int_type(64), barriers, 8)?;
    state.set(view.results()[0], Lowered { value, base: Some(base) });
    Ok(())
}

pub fn make<'c>(state: &mut State<'c>, view: OpView<'c>) -> Result<(), String> {
    let (value, base) = (result_type(view)?, Some(view.operands()[0]));
    state.set(view.results()[0], Lowered { value, base });
    Ok(())
}

/// A pipeline and one of its states.
struct At<'c> {
    pipeline: Pipeline,
    base: Val<'c>,
    state: Val<'c>,
}

impl<'c> At<'c> {
    fn of(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<At<'c>, String> {
        let operands = view.operands();
        let (pipeline, base) = pipeline_of(state, b, operands[0])?;
        Ok(At { pipeline, base, state: operands[1] })
    }

    fn stages(&self, b: Builder<'c>) -> Val<'c> {
        i32c(b, self.pipeline.stages.into())
    }

    /// Whether the phase is an odd one.
    fn odd(&self, b: Builder<'c>) -> Val<'c> {
        b.cmpi("sge", self.state, self.stages(b))
    }

    /// How many bits of the state are the stage, where it has bits of its own.
    fn stage_bits(&self) -> Option<i64> {
        self.pipeline.stages.is_power_of_two().then(|| self.pipeline.stages.ilog2().into())
    }

    fn stage(&self, b: Builder<'c>) -> Val<'c> {
        match self.stage_bits() {
            Some(bits) => b.binary("arith.andi", self.state, i32c(b, (1 << bits) - 1)),
            None => b.select(self.odd(b), b.subi(self.state, self.stages(b)), self.state),
        }
    }

    fn parity(&self, b: Builder<'c>) -> Val<'c> {
        match self.stage_bits() {
            Some(bits) => b.binary("arith.shrui", self.state, i32c(b, bits)),
            None => b.op1("arith.extui", &[self.odd(b)], b.context().int_type(32), &[]),
        }
    }

    fn full(&self, b: Builder<'c>) -> Val<'c> {
        element(b, self.base, self.stage(b))
    }

    fn empty(&self, b: Builder<'c>) -> Val<'c> {
        element(b, self.base, b.addi(self.stage(b), self.stages(b)))
    }
}

fn pipeline_of<'c>(state: &mut State<'c>, b: Builder<'c>, value: Val<'c>) -> Result<(Pipeline, Val<'c>), String> {
    match state.operand(b, value)? {
        Lowered { value: Cute::Pipeline(pipeline), base: Some(base) } => Ok((pipeline, base)),
        Lowered { value, .. } => Err(format!("needs a pipeline, got {value}")),
    }
}

/// The barrier of a number.
fn element<'c>(b: Builder<'c>, base: Val<'c>, index: Val<'c>) -> Val<'c> {
    let attributes =
        [("elem_type", b.type_attr(b.context().int_type(64))), ("rawConstantIndices", b.i32s_attr(&[i32::MIN]))];
    b.op1("llvm.getelementptr", &[base, index], pointer_type(b, 3), &attributes)
}

pub fn init<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let (pipeline, base) = pipeline_of(state, b, view.operands()[0])?;
    for (first, arrivals) in [(0, pipeline.full), (pipeline.stages, pipeline.empty)] {
        for stage in 0..pipeline.stages {
            let barrier = element(b, base, i32c(b, (first + stage).into()));
            b.op("nvvm.mbarrier.init", &[barrier, i32c(b, arrivals.into())], &[], &[], vec![]);
        }
    }
    b.op("nvvm.fence.mbarrier.init", &[], &[], &[], vec![]);
    Ok(())
}

/// Waits for a phase of the barrier of a stage, `first` barriers behind the pipeline's first one.
fn wait<'c>(b: Builder<'c>, at: &At<'c>, first: u32, parity: Val<'c>) {
    let base = b.op1("llvm.ptrtoint", &[at.base], b.context().int_type(32), &[]);
    let of_stage = b.muli(at.stage(b), i32c(b, 8));
    mbarrier::wait(b, b.addi(b.addi(base, of_stage), i32c(b, 8 * i64::from(first))), parity);
}

fn arrive<'c>(b: Builder<'c>, barrier: Val<'c>) {
    let token: Type<'c> = b.context().int_type(64);
    b.op("nvvm.mbarrier.arrive", &[barrier], &[token], &[], vec![]);
}

pub fn acquire<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let at = At::of(state, b, view)?;
    let before = b.binary("arith.xori", at.parity(b), i32c(b, 1));
    wait(b, &at, at.pipeline.stages, before);
    Ok(())
}

pub fn consumer_wait<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let at = At::of(state, b, view)?;
    wait(b, &at, 0, at.parity(b));
    Ok(())
}

pub fn commit<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let at = At::of(state, b, view)?;
    arrive(b, at.full(b));
    Ok(())
}

pub fn release<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let at = At::of(state, b, view)?;
    let here = at.empty(b);
    let Some(rank) = view.operands().get(2).copied() else {
        arrive(b, here);
        return Ok(());
    };
    // Released to the CTA alone: what consumers read has been read when they arrive, and a wider scope costs a fence in every step.
    let there = b.op1("nvvm.mapa", &[here, rank], pointer_type(b, 7), &[]);
    b.op("nvvm.mbarrier.arrive", &[there], &[], &[], vec![]);
    Ok(())
}

pub fn expect<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let at = At::of(state, b, view)?;
    let full = at.full(b);
    b.op("nvvm.mbarrier.arrive.expect_tx", &[full, view.operands()[2]], &[], &[], vec![]);
    replace_uses(view.results()[0], full);
    Ok(())
}

pub fn barrier<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let at = At::of(state, b, view)?;
    let barrier = if view.string("which").as_deref() == Some("full") { at.full(b) } else { at.empty(b) };
    replace_uses(view.results()[0], barrier);
    Ok(())
}

pub fn stage<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let at = At::of(state, b, view)?;
    replace_uses(view.results()[0], at.stage(b));
    Ok(())
}

pub fn next<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let at = At::of(state, b, view)?;
    let after = b.addi(at.state, i32c(b, 1));
    if let Some(bits) = at.stage_bits() {
        replace_uses(view.results()[0], b.binary("arith.andi", after, i32c(b, (2 << bits) - 1)));
        return Ok(());
    }
    let over = b.cmpi("eq", after, i32c(b, 2 * i64::from(at.pipeline.stages)));
    replace_uses(view.results()[0], b.select(over, i32c(b, 0), after));
    Ok(())
}
