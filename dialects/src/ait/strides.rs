//! `ait.strides`: how an argument or a result of a model lies, where that is not row-major.

use super::{OpView, view::listed_attribute};
use crate::{builder::users_of, types::Val};
use melior::ir::AttributeLike;

/// The attribute of an argument or a result: a memref's strided layout, as in `strided<[?, 1]>`. A `?` is given at each launch.
pub const STRIDES: &str = "ait.strides";

/// The strides of argument or result `i` in elements, one a dimension, [`DYNAMIC`](crate::types::DYNAMIC) for a `?`; `None` where the function says nothing of them.
/// `list` is the function's list of attributes (`arg_attrs`, `res_attrs`). The error is a message behind "ait.strides ".
pub fn stated(function: OpView<'_>, list: &str, i: usize, rank: usize) -> Result<Option<Vec<i64>>, String> {
    let Some(attribute) = listed_attribute(function, list, i, STRIDES) else { return Ok(None) };
    let raw = attribute.to_raw();
    // SAFETY: the kind is checked first, numbers are below the count.
    let (strides, offset) = unsafe {
        if !mlir_sys::mlirAttributeIsAStridedLayout(raw) {
            return Err(format!("is a memref's strided layout, as strided<[?, 1]>, got {attribute}"));
        }
        let count = mlir_sys::mlirStridedLayoutAttrGetNumStrides(raw);
        let strides: Vec<i64> = (0..count).map(|d| mlir_sys::mlirStridedLayoutAttrGetStride(raw, d)).collect();
        (strides, mlir_sys::mlirStridedLayoutAttrGetOffset(raw))
    };
    if strides.len() != rank {
        return Err(format!("has a stride for each of {rank} dimensions, got {attribute}"));
    }
    if offset != 0 {
        return Err(format!("has no offset, since data points to the first element, got {attribute}"));
    }
    if strides.iter().any(|stride| *stride != crate::types::DYNAMIC && *stride <= 0) {
        return Err(format!("has strides of at least 1, got {attribute}"));
    }
    Ok(Some(strides))
}

/// The name of an op that uses a tensor or buffer and takes only row-major ones: kernels alone take others.
pub fn misuse(value: Val<'_>) -> Option<String> {
    let fine = ["ait.launch", "func.return", "memref.dim", "tensor.dim"];
    users_of(value).into_iter().map(|user| OpView(user).name()).find(|name| !fine.contains(&name.as_str()))
}
