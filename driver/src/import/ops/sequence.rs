//! Sequences and optionals, resolved at import: their lengths and positions are known there or the node is not supported.

use aitmlir_onnx::model::DType;

use super::{Operator, op};
use crate::import::{
    error::{OpResult, unsupported},
    node::{NodeContext, Outputs, one},
    scalar::Scalar,
    value::{Slot, Value},
};

pub(super) const ROWS: &[Operator] = &[
    op("ConcatFromSequence", 11, concat),
    op("Optional", 28, optional),
    op("OptionalGetElement", 28, get_element),
    op("OptionalHasElement", 28, has_element),
    op("SequenceAt", 11, at),
    op("SequenceConstruct", 11, construct),
    op("SequenceEmpty", 11, empty),
    op("SequenceErase", 11, erase),
    op("SequenceInsert", 11, insert),
    op("SequenceLength", 11, length),
    op("SplitToSequence", 24, split),
];

fn sequence<'c>(n: &NodeContext<'_, 'c>, i: usize) -> OpResult<(DType, Vec<Value<'c>>)> {
    match n.slot(i)? {
        Some(Slot::Sequence(dtype, list)) => Ok((dtype, list)),
        Some(Slot::Optional(Some(inner))) => match *inner {
            Slot::Sequence(dtype, list) => Ok((dtype, list)),
            _ => Err(n.wrong(format!("input {i} is no sequence"))),
        },
        _ => Err(n.wrong(format!("input {i} is no sequence"))),
    }
}

/// The known position that input `i` gives in a list of `len`; `None` where the input is left out.
fn place<'c>(n: &mut NodeContext<'_, 'c>, i: usize, len: usize) -> OpResult<Option<usize>> {
    let Some(value) = n.optional(i)? else { return Ok(None) };
    let Some(at) = n.element(&value, 0)?.int() else { return unsupported("a position that is known only at run time") };
    let at = if at < 0 { at + len as i64 } else { at };
    match usize::try_from(at) {
        Ok(at) if at <= len => Ok(Some(at)),
        _ => Err(n.wrong(format!("position {at} in a sequence of {len}"))),
    }
}

fn construct<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let list = n.inputs()?;
    let Some(first) = list.first() else { return Err(n.wrong("it has no inputs")) };
    Ok(vec![Slot::Sequence(first.dtype, list)])
}

fn empty<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    Ok(vec![Slot::Sequence(n.dtype("dtype")?.unwrap_or(DType::F32), vec![])])
}

fn at<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (_, list) = sequence(n, 0)?;
    let at = place(n, 1, list.len())?;
    match at.and_then(|at| list.get(at)) {
        Some(value) => one(value.clone()),
        None => Err(n.wrong(format!("a position outside a sequence of {}", list.len()))),
    }
}

fn erase<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (dtype, mut list) = sequence(n, 0)?;
    let at = place(n, 1, list.len())?.unwrap_or(list.len().saturating_sub(1));
    if at >= list.len() {
        return Err(n.wrong(format!("a position outside a sequence of {}", list.len())));
    }
    list.remove(at);
    Ok(vec![Slot::Sequence(dtype, list)])
}

fn insert<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (dtype, mut list) = sequence(n, 0)?;
    let value = n.input(1)?;
    let at = place(n, 2, list.len())?.unwrap_or(list.len());
    list.insert(at, value);
    Ok(vec![Slot::Sequence(dtype, list)])
}

fn length<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (_, list) = sequence(n, 0)?;
    one(n.scalar(DType::I64, Scalar::Int(list.len() as i64)))
}

fn concat<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let (_, mut list) = sequence(n, 0)?;
    let Some(first) = list.first() else { return unsupported("an empty sequence") };
    let new_axis = n.flag("new_axis", false)?;
    let axis = n.axis("axis", 0, first.rank() + usize::from(new_axis))?;
    if new_axis {
        for value in &mut list {
            *value = n.unsqueeze(value, &[axis])?;
        }
    }
    one(n.concat(&list, axis)?)
}

fn split<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let x = n.input(0)?;
    let axis = n.axis("axis", 0, x.rank())?;
    let Some(total) = x.dims[axis].int() else { return unsupported("a dimension that is known only at run time") };
    let (parts, keep) = match n.optional(1)? {
        None => (vec![1; total as usize], n.flag("keepdims", true)?),
        Some(list) => {
            let Some(given) = list.ints() else { return unsupported("parts that are known only at run time") };
            match (list.rank(), given.as_slice()) {
                (0, [size]) if *size > 0 => {
                    ((0..total).step_by(*size as usize).map(|at| (total - at).min(*size)).collect(), true)
                }
                _ => (given, true),
            }
        }
    };
    if parts.iter().sum::<i64>() != total {
        return Err(n.wrong(format!("parts {parts:?} do not add up to {total}")));
    }
    let parts: Vec<_> = parts.into_iter().map(Scalar::Int).collect();
    let mut list = n.split(&x, axis, &parts)?;
    if !keep {
        for value in &mut list {
            *value = n.squeeze(value, &[axis])?;
        }
    }
    Ok(vec![Slot::Sequence(x.dtype, list)])
}

fn optional<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    Ok(vec![Slot::Optional(n.slot(0)?.map(Box::new))])
}

fn get_element<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    match n.slot(0)? {
        Some(Slot::Optional(Some(inner))) => Ok(vec![*inner]),
        Some(Slot::Optional(None)) | None => Err(n.wrong("its optional is empty")),
        Some(other) => Ok(vec![other]),
    }
}

fn has_element<'c>(n: &mut NodeContext<'_, 'c>) -> Outputs<'c> {
    let has = !matches!(n.slot(0)?, None | Some(Slot::Optional(None)));
    one(n.scalar(DType::Bool, Scalar::Int(i64::from(has))))
}
