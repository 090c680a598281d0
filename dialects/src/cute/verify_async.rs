//! The verifiers of fences and waits of products, and of pipelines.

use super::{
    Cute, Pipeline, access,
    coords::EXAMPLE,
    verify::{Verdict, registers, result_of, value_of, view_of},
};
use crate::{ait::OpView, types::Val};
use melior::ir::ValueLike;

/// `cute.wgmma_fence` and `cute.wgmma_wait`.
pub fn fragments(view: OpView<'_>) -> Verdict {
    for (i, operand) in view.operands().iter().enumerate() {
        let fragment = view_of(Some(operand), &format!("operand {i}"))?;
        registers(&fragment, &format!("operand {i}"))?;
        let per_register = (32 / i64::from(fragment.ptr.element.bits())).max(1);
        access::check(&fragment, per_register).map_err(|error| format!("C2: operand {i} {error}"))?;
    }
    match view.i64("pending") {
        Some(pending) if !(0..=7).contains(&pending) => {
            Err(format!("C3: 0 to 7 groups may be under way after a wait, got {pending}"))
        }
        _ => Ok(()),
    }
}

/// `cute.alloc_pipeline` and `cute.make_pipeline`.
pub fn makes_pipeline(view: OpView<'_>) -> Verdict {
    if !matches!(result_of(view), Some(Cute::Pipeline(_))) {
        return Err(format!("C1: gives a pipeline, as {EXAMPLE}"));
    }
    match view.operands().first().map(|memory| memory.r#type().to_string()) {
        Some(found) if found != "!llvm.ptr<3>" => Err(format!("C2: barriers are at an !llvm.ptr<3>, got {found}")),
        _ => Ok(()),
    }
}

/// The pipeline that a value is.
fn pipeline_of(value: Option<&Val<'_>>) -> Result<Pipeline, String> {
    match value.map(|v| (value_of(*v), v.r#type())) {
        Some((Some(Cute::Pipeline(pipeline)), _)) => Ok(pipeline),
        Some((_, r#type)) => Err(format!("C1: takes a pipeline, as {EXAMPLE}, got {}", r#type)),
        None => Err("C1: takes a pipeline".into()),
    }
}

/// Operations of a pipeline and a state.
pub fn pipeline(view: OpView<'_>) -> Verdict {
    pipeline_of(view.operands().first()).map(|_| ())
}

/// Operations that give a barrier of a pipeline.
pub fn barrier(view: OpView<'_>) -> Verdict {
    pipeline(view)?;
    if let Some(which) = view.string("which").filter(|which| which != "full" && which != "empty") {
        return Err(format!("C2: a stage has the barriers full and empty, got {which:?}"));
    }
    match view.results().first().map(|result| result.r#type().to_string()) {
        Some(found) if found != "!llvm.ptr<3>" => Err(format!("C3: a barrier is an !llvm.ptr<3>, got {found}")),
        _ => Ok(()),
    }
}
