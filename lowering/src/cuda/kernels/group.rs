//! `ait.group`: products that differ in operands and sizes alone, in one launch.

use super::{
    Operand, Whole, gemm,
    problem::{Extra, Problem, one_form},
};
use crate::{cpu::Unsupported, cuda::Chip};
use aitmlir_dialects::{
    ait::{OpView, view::members},
    builder::block_arguments,
    capture::sink_constants,
    types::{TypeExt, Val},
};
use aitmlir_passes::group_products::{PARAMETER_BYTES, parameter_bytes};
use kernel_launch::KernelLaunch;
use melior::ir::ValueLike;

/// What `ait-group-products` is told of the kernels.
pub const LIMITS: &[(&str, &str)] =
    &[("members", "64"), ("tile", "128x128"), ("at-a-time", "132"), ("types", "f16,bf16,f32")];

/// Is there a kernel for this group?
pub fn supported(chip: &Chip, op: OpView<'_>) -> Result<(), Unsupported> {
    let mut bytes = 0;
    for member in members(op) {
        gemm::supported(chip, member)?;
        bytes += parameter_bytes(member);
    }
    if bytes > PARAMETER_BYTES {
        return Err(Unsupported(format!("needs {bytes} bytes of parameters, of which a kernel has {PARAMETER_BYTES}")));
    }
    Ok(())
}

/// Emits the kernel.
pub fn emit<'c>(whole: &Whole<'_, 'c>) -> Result<KernelLaunch, Unsupported> {
    let Some(block) = whole.op.block(0) else { return Err(Unsupported("has no members".to_owned())) };
    let arguments = block_arguments(block);
    let mut results = whole.op.group("inputs").len();
    let members = members(whole.op);
    let (mut simple, mut general) = (Vec::new(), Vec::new());
    for member in &members {
        sink_constants(whole.context, member.0);
        let own = member.operands().into_iter().filter(|v| v.r#type().is_tensor());
        let place = |value: Val<'c>| arguments.iter().position(|a| *a == value);
        let read = own.filter_map(|value| whole.operands.get(place(value)?)).cloned();
        let written = whole.operands.iter().skip(results).take(member.results().len()).cloned();
        let operands: Vec<Operand<'c>> = read.chain(written).collect();
        results += member.results().len();
        let part = Whole { op: *member, operands: &operands, ..*whole };
        simple.push(gemm::problem(&part)?);
        general.push(gemm::general_problem(&part)?);
    }
    let Some(first) = members.first() else { return Err(Unsupported("has no members".to_owned())) };
    read_and_write_alike(&mut simple);
    let whole = Whole { op: *first, ..*whole };
    match one_form(&simple) {
        Ok(()) => gemm::emit_problems(&whole, &simple, &simple),
        Err(_) => gemm::emit_problems(&whole, &[], &general),
    }
}

/// One kernel reads and writes two elements at once only where it may for all problems.
fn read_and_write_alike(problems: &mut [Problem]) {
    let pairs = problems.iter().all(|problem| problem.out_pairs);
    let of = |extras: &[Extra]| extras.iter().map(|extra| extra.pairs).collect::<Vec<_>>();
    let extras = problems
        .iter()
        .map(|problem| of(&problem.extras))
        .reduce(|all, own| all.into_iter().zip(own).map(|(a, b)| a && b).collect());
    for problem in problems {
        problem.out_pairs = pairs;
        for (extra, pairs) in problem.extras.iter_mut().zip(extras.iter().flatten()) {
            extra.pairs = *pairs;
        }
    }
}
