//! Constants, launches, coordinates, and the ops on planned buffers.

use super::{
    Verdict, reject,
    shape::{Tensor, expect_dims, operand, result, results, shapes_agree},
};
use crate::{
    ait::{OpView, view::weights_name},
    types::{TypeExt, Val},
};
use melior::ir::{
    AttributeLike, OperationRef, Type, TypeLike, ValueLike, attribute::TypeAttribute, r#type::FunctionType,
};

pub fn constant(op: OpView<'_>) -> Verdict {
    let Some(value) = op.attr("value") else { reject!("attribute 'value': missing") };
    // C1
    // SAFETY: a question to a valid attribute.
    let dense = unsafe { mlir_sys::mlirAttributeIsADenseElements(value.to_raw()) };
    if !dense && weights_name(value).is_none() {
        reject!("attribute 'value': expected dense elements or #ait.weights, got {value}");
    }
    // C2
    let result = result(op)?;
    if result.dynamic() > 0 {
        reject!("result: expected a static shape, got {}", result.r#type);
    }
    Ok(())
}

pub fn index(op: OpView<'_>) -> Verdict {
    // C1
    let Some(map) = enclosing_map(op) else { reject!("expected to stand in the region of an 'ait.map'") };
    // C2
    let rank = result(map)?.rank();
    let dim = op.i64("dim").unwrap_or(-1);
    if !usize::try_from(dim).is_ok_and(|dim| dim < rank) {
        reject!("attribute 'dim': expected a value in [0, {rank}), got {dim}");
    }
    Ok(())
}

fn enclosing_map(op: OpView<'_>) -> Option<OpView<'_>> {
    let mut current = op;
    loop {
        // SAFETY: a live op; null at the top.
        let parent = unsafe { mlir_sys::mlirOperationGetParentOperation(current.0.to_raw()) };
        if parent.ptr.is_null() {
            return None;
        }
        // SAFETY: not null.
        current = OpView(unsafe { OperationRef::from_raw(parent) });
        if current.name() == "ait.map" {
            return Some(current);
        }
    }
}

/// C1 needs the callee: see [`launch_callee`].
pub fn launch(op: OpView<'_>) -> Verdict {
    // C2
    let (outs, results) = (op.group("outs"), results(op));
    if !outs.is_empty() && !results.is_empty() {
        reject!("operand 'outs': expected none beside results, got {}", outs.len());
    }
    // C3
    let dynamic: usize = results.iter().map(Tensor::dynamic).sum();
    let dims = op.group("dims").len();
    if dims != dynamic {
        reject!("operand 'dims': expected {dynamic} values, one for each '?' of the results, got {dims}");
    }
    Ok(())
}

/// C1 of a launch.
pub fn launch_callee<'c>(op: OpView<'c>, callee: Option<OpView<'c>>) -> Verdict {
    let name = op.attr("callee").map(|a| a.to_string()).unwrap_or_default();
    let Some(function) = callee.filter(|f| f.name() == "func.func") else {
        reject!("attribute 'callee': expected a function of the module, got {name}")
    };
    let r#type = function.attr("function_type").and_then(|a| TypeAttribute::try_from(a).ok());
    let Some(r#type) = r#type.and_then(|t| FunctionType::try_from(t.value()).ok()) else {
        reject!("attribute 'callee': expected a function of the module, got {name}")
    };
    let on_buffers = !op.group("outs").is_empty();
    let outs = if on_buffers { op.group("outs") } else { op.results() };
    let results: Vec<Type<'_>> = (0..r#type.result_count()).filter_map(|i| r#type.result(i).ok()).collect();
    let inputs: Vec<Type<'_>> = (0..r#type.input_count()).filter_map(|i| r#type.input(i).ok()).collect();
    matching(&name, "argument", &op.group("inputs"), &inputs)?;
    matching(&name, "result", &outs, &results)
}

fn matching<'c>(callee: &str, what: &str, values: &[Val<'c>], types: &[Type<'_>]) -> Verdict {
    if values.len() != types.len() {
        reject!("expected {} {what}s of {callee}, got {}", types.len(), values.len());
    }
    for (i, (value, expected)) in values.iter().zip(types).enumerate() {
        if !same_or_planned(value.r#type(), *expected) {
            reject!("expected {what} #{i} of {callee} to be {expected}, got {}", value.r#type());
        }
    }
    Ok(())
}

/// The same type, or the buffer that stands for the tensor after the plan.
fn same_or_planned(got: Type<'_>, expected: Type<'_>) -> bool {
    // SAFETY: two valid types.
    if unsafe { mlir_sys::mlirTypeEqual(got.to_raw(), expected.to_raw()) } {
        return true;
    }
    if !got.is_buffer() || !expected.is_tensor() || !shapes_agree(&got.shape(), &expected.shape()) {
        return false;
    }
    // SAFETY: two valid types.
    unsafe {
        mlir_sys::mlirTypeEqual(got.element_type().signless().to_raw(), expected.element_type().signless().to_raw())
    }
}

pub fn buffer_alloc(op: OpView<'_>) -> Verdict {
    // C1
    expect_dims(op, &result(op)?)
}

pub fn buffer_output(op: OpView<'_>) -> Verdict {
    // C1
    expect_dims(op, &result(op)?)?;
    // C2
    let index = op.i64("index").unwrap_or(0);
    if index < 0 {
        reject!("attribute 'index': expected a value of at least 0, got {index}");
    }
    Ok(())
}

pub fn buffer_reshape(op: OpView<'_>) -> Verdict {
    let (source, result) = (operand(op, "source")?, result(op)?);
    // C1
    for buffer in [&source, &result] {
        if !is_row_major(buffer) {
            reject!("{}: expected a row-major buffer, got {}", buffer.name, buffer.r#type);
        }
    }
    result.expect_element_of(&source)?;
    // C2
    expect_dims(op, &result)
}

/// Do the strides follow from the shape, as far as both are known?
fn is_row_major(buffer: &Tensor<'_>) -> bool {
    let mut strides = vec![0; buffer.rank()];
    let mut offset = 0;
    // SAFETY: a memref type (ODS), and room for one stride a dimension.
    let strided = unsafe {
        mlir_sys::mlirMemRefTypeGetStridesAndOffset(buffer.r#type.to_raw(), strides.as_mut_ptr(), &raw mut offset)
    };
    if strided.value == 0 {
        return false;
    }
    let mut expected: Option<i64> = Some(1);
    for (size, stride) in buffer.shape.iter().zip(&strides).rev() {
        if expected.is_some_and(|e| *stride >= 0 && *stride != e && *size != 1) {
            return false;
        }
        expected = expected.and_then(|e| (*size >= 0).then_some(e.saturating_mul(*size)));
    }
    true
}
