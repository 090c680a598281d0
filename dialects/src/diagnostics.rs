//! MLIR diagnostics from Rust.

use crate::{ffi, types::Op};
use melior::{
    StringRef,
    ir::{Location, Value, ValueLike},
};
use std::any::Any;

/// The severity of a diagnostic, in the order of MLIR's C API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Compilation fails.
    Error,
    /// Compilation goes on.
    Warning,
    /// Detail of another diagnostic.
    Note,
    /// Something the user may want to know: an optimisation made or missed.
    Remark,
}

/// Emits a diagnostic at a location.
pub fn emit(location: Location<'_>, severity: Severity, message: &str) {
    // SAFETY: a live location; the texts outlive the call; an empty note is not attached.
    unsafe {
        ffi::aitmlirEmitDiagnostic(
            location.to_raw(),
            severity as i32,
            StringRef::new(message).to_raw(),
            location.to_raw(),
            StringRef::new("").to_raw(),
        );
    }
}

/// Emits a diagnostic at the location of an op.
pub fn emit_at(op: Op<'_>, severity: Severity, message: &str) {
    emit(location_of(op), severity, message);
}

/// "'ait.gemm' op MESSAGE" as an error at the op, as MLIR's own verifiers say it.
pub fn emit_op_error(op: Op<'_>, message: &str) {
    let name = crate::ait::OpView(op).name();
    emit_at(op, Severity::Error, &format!("'{name}' op {message}"));
}

/// The location of an op.
pub fn location_of<'c>(op: Op<'c>) -> Location<'c> {
    // SAFETY: a live op.
    unsafe { Location::from_raw(mlir_sys::mlirOperationGetLocation(op.to_raw())) }
}

/// The type of a value as text.
pub fn type_text<'c>(value: Value<'c, '_>) -> String {
    value.r#type().to_string()
}

/// The text of a caught panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("unknown panic")
}
