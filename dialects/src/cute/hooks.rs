//! What the shim forwards: parsing, verification, inference and folding.

use super::{Attributes, Cute, fold, infer, leaves, types, verify};
use crate::ait::view::text;
use crate::diagnostics::{Severity, emit, emit_op_error, panic_text};
use melior::{
    Context, ContextRef, StringRef,
    ir::{Attribute, AttributeLike, Location, OperationRef, Type, TypeLike},
};
use mlir_sys::{MlirAttribute, MlirLocation, MlirOperation, MlirStringRef, MlirType};
use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Runs a hook; a panic in it is an error that says so.
fn guarded<T>(hook: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(hook))
        .unwrap_or_else(|panic| Err(format!("internal error: {}; please report it", panic_text(&*panic))))
}

#[unsafe(no_mangle)]
extern "C" fn aitmlir_rs_cute_parse(
    spec: MlirStringRef,
    state: *mut c_void,
    made: unsafe extern "C" fn(*mut c_void, MlirStringRef, MlirStringRef),
    failed: unsafe extern "C" fn(*mut c_void, MlirStringRef),
) {
    // SAFETY: MLIR passes the live text of the type.
    let spec = unsafe { text(spec) }.unwrap_or_default();
    let parsed = guarded(|| Cute::parse(&spec).map(|value| (value.kind(), leaves::settled(&value).text())));
    // SAFETY: the callbacks are given the state they came with, and texts that live through the call.
    unsafe {
        match parsed {
            Ok((kind, body)) => made(state, StringRef::new(kind).to_raw(), StringRef::new(&body).to_raw()),
            Err(message) => failed(state, StringRef::new(&message).to_raw()),
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn aitmlir_rs_cute_verify(op: MlirOperation) -> bool {
    // SAFETY: MLIR passes a live op.
    let op = unsafe { OperationRef::from_raw(op) };
    match guarded(|| verify::verify(op)) {
        Ok(()) => true,
        Err(message) => {
            emit_op_error(op, &message);
            false
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn aitmlir_rs_cute_infer(
    op: MlirStringRef,
    location: MlirLocation,
    count: isize,
    operands: *const MlirType,
    attributes: MlirAttribute,
) -> MlirType {
    // SAFETY: MLIR passes a live location with its context, `count` types and a dictionary.
    let (name, context, operands, location) = unsafe {
        let context = ContextRef::from_raw(mlir_sys::mlirLocationGetContext(location));
        let types = (0..usize::try_from(count).unwrap_or(0)).map(|i| Type::from_raw(*operands.add(i)));
        (text(op).unwrap_or_default(), context, types.collect::<Vec<_>>(), Location::from_raw(location))
    };
    // SAFETY: the context outlives the hook; the borrow is of the handle above.
    let context: &Context = unsafe { context.to_ref() };
    let attributes = Attributes::read(|name| attribute_of(attributes, name));
    match guarded(|| infer::infer(context, &name, &attributes, &operands)) {
        Ok(r#type) => r#type.to_raw(),
        Err(message) => {
            emit(location, Severity::Error, &format!("'{name}' op {message}"));
            MlirType { ptr: std::ptr::null() }
        }
    }
}

/// The attribute of a name in a dictionary.
fn attribute_of<'c>(dictionary: MlirAttribute, name: &str) -> Option<Attribute<'c>> {
    // SAFETY: a live dictionary; a missing attribute is null.
    unsafe {
        let raw = mlir_sys::mlirDictionaryAttrGetElementByName(dictionary, StringRef::new(name).to_raw());
        (!raw.ptr.is_null()).then(|| Attribute::from_raw(raw))
    }
}

#[unsafe(no_mangle)]
extern "C" fn aitmlir_rs_cute_compatible(inferred: MlirType, declared: MlirType) -> bool {
    if inferred.ptr == declared.ptr {
        return true;
    }
    // SAFETY: MLIR passes valid types.
    let (inferred, declared) = unsafe { (Type::from_raw(inferred), Type::from_raw(declared)) };
    let both = guarded(|| Ok(types::of_type(inferred).zip(types::of_type(declared))));
    matches!(both, Ok(Some((inferred, declared))) if infer::compatible(&inferred, &declared))
}

#[unsafe(no_mangle)]
extern "C" fn aitmlir_rs_cute_fold(op: MlirOperation) -> MlirAttribute {
    // SAFETY: MLIR passes a live op.
    let (op, context) = unsafe {
        let context = ContextRef::from_raw(mlir_sys::mlirOperationGetContext(op));
        (OperationRef::from_raw(op), context)
    };
    // SAFETY: the context outlives the hook; the borrow is of the handle above.
    let context: &Context = unsafe { context.to_ref() };
    match guarded(|| Ok(fold::fold(context, op))) {
        Ok(Some(attribute)) => attribute.to_raw(),
        _ => MlirAttribute { ptr: std::ptr::null() },
    }
}
