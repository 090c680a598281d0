//! Attributes that melior has no constructor for.

use aitmlir_dialects::{builder::Builder, ffi};
use aitmlir_onnx::model::DType;
use melior::{
    StringRef,
    ir::{Attribute, Type, TypeLike},
};

use super::scalar::{Scalar, round_to};

/// `#ait.weights<"name">`
pub fn weights<'c>(_b: Builder<'c>, ty: Type<'c>, name: &str) -> Attribute<'c> {
    // SAFETY: a valid type; the attribute copies the name.
    unsafe { Attribute::from_raw(ffi::aitmlirWeightsAttrGet(ty.to_raw(), StringRef::new(name).to_raw())) }
}

/// `dense<...>` of row-major little-endian elements; `bytes` fit the type.
pub fn dense<'c>(ty: Type<'c>, dtype: DType, bytes: &[u8]) -> Attribute<'c> {
    if dtype == DType::Bool {
        let bools: Vec<i32> = bytes.iter().map(|b| i32::from(*b != 0)).collect();
        // SAFETY: as many entries as elements; the attribute copies them.
        return unsafe {
            Attribute::from_raw(mlir_sys::mlirDenseElementsAttrBoolGet(
                ty.to_raw(),
                bools.len() as isize,
                bools.as_ptr(),
            ))
        };
    }
    // SAFETY: the buffer has the bytes of all elements; the attribute copies them.
    unsafe {
        Attribute::from_raw(mlir_sys::mlirDenseElementsAttrRawBufferGet(
            ty.to_raw(),
            bytes.len(),
            bytes.as_ptr().cast(),
        ))
    }
}

/// Known scalars as the bytes of elements.
pub fn encode(dtype: DType, elements: &[Scalar<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for element in elements {
        let float = round_to(dtype, element.float().unwrap_or(0.0));
        let int = match element {
            Scalar::Int(v) => *v,
            _ => float as i64,
        };
        match dtype {
            DType::F64 => out.extend(float.to_le_bytes()),
            DType::F32 => out.extend((float as f32).to_le_bytes()),
            DType::F16 => out.extend(half::f16::from_f64(float).to_le_bytes()),
            DType::BF16 => out.extend(half::bf16::from_f64(float).to_le_bytes()),
            DType::Bool => out.push(u8::from(int != 0)),
            _ => out.extend(int.to_le_bytes().iter().take(dtype.bits() / 8)),
        }
    }
    out
}
