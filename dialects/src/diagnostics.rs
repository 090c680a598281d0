//! MLIR diagnostics from Rust.

use crate::{ait::view::text, ffi, types::Op};
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

/// What a location calls its op, for a user: the name of a node, several for an op made of several, `line N` of a file; empty where nothing is known.
pub fn location_name(location: Location<'_>) -> String {
    let raw = location.to_raw();
    // SAFETY: the kind is checked before each question; the texts live as long as the context; there is room for all parts.
    unsafe {
        if mlir_sys::mlirLocationIsAName(raw) {
            let name = mlir_sys::mlirIdentifierStr(mlir_sys::mlirLocationNameGetName(raw));
            return text(name).unwrap_or_default();
        }
        if mlir_sys::mlirLocationIsACallSite(raw) {
            return location_name(Location::from_raw(mlir_sys::mlirLocationCallSiteGetCallee(raw)));
        }
        if mlir_sys::mlirLocationIsAFileLineColRange(raw) {
            return format!("line {}", mlir_sys::mlirLocationFileLineColRangeGetStartLine(raw));
        }
        if !mlir_sys::mlirLocationIsAFused(raw) {
            return String::new();
        }
        let mut parts = vec![raw; mlir_sys::mlirLocationFusedGetNumLocations(raw) as usize];
        mlir_sys::mlirLocationFusedGetLocations(raw, parts.as_mut_ptr());
        let mut names: Vec<String> = Vec::new();
        for name in parts.into_iter().map(|part| location_name(Location::from_raw(part))) {
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use melior::Context;

    #[test]
    fn locations_have_the_names_of_their_nodes() {
        let context = Context::new();
        let unknown = Location::unknown(&context);
        let (a, b) = (Location::name(&context, "/a", unknown), Location::name(&context, "/b", unknown));
        let line = Location::new(&context, "model.mlir", 7, 3);
        let fused = Location::fused(&context, &[a, unknown, b, a], melior::ir::Attribute::unit(&context));
        let call = Location::call_site(b, a);
        let names = [unknown, a, line, fused, call].map(location_name);
        assert_eq!(names, ["", "/a", "line 7", "/a, /b", "/b"]);
    }
}
