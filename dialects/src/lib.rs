//! The `ait` and `cute` dialects: ODS declarations in `td/`, a thin C++ shim in `shim/`, semantics here.
//!
//! * [`builder`]: building and walking IR
//! * [`ait`]: reading, building and verifying operations of the `ait` dialect
//! * [`cute`]: the types of the `cute` dialect as values, its operations as functions, its checks
//! * [`pass`]: passes as data, registered in MLIR's registry
//! * [`capture`]: values that regions use from outside
//! * [`diagnostics`]: errors, warnings and remarks at IR locations
//! * [`types`]: short forms of builtin types

pub mod ait;
pub mod builder;
pub mod capture;
pub mod cute;
pub mod diagnostics;
pub mod ffi;
pub mod pass;
pub mod types;

use melior::{
    Context,
    dialect::{DialectHandle, DialectRegistry},
};

/// A context with the dialects that the compiler uses, all loaded.
pub fn new_context() -> Context {
    // SAFETY: generated handle functions of linked dialects.
    let raw = |get: unsafe extern "C" fn() -> mlir_sys::MlirDialectHandle| unsafe { DialectHandle::from_raw(get()) };
    let registry = DialectRegistry::new();
    for handle in [
        DialectHandle::arith(),
        DialectHandle::affine(),
        DialectHandle::cf(),
        DialectHandle::func(),
        raw(mlir_sys::mlirGetDialectHandle__index__),
        DialectHandle::linalg(),
        DialectHandle::llvm(),
        raw(mlir_sys::mlirGetDialectHandle__math__),
        DialectHandle::memref(),
        raw(mlir_sys::mlirGetDialectHandle__nvvm__),
        DialectHandle::scf(),
        DialectHandle::tensor(),
        raw(mlir_sys::mlirGetDialectHandle__vector__),
        raw(ffi::mlirGetDialectHandle__ait__),
        raw(ffi::mlirGetDialectHandle__cute__),
    ] {
        handle.insert_dialect(&registry);
    }
    let context = Context::new();
    context.append_dialect_registry(&registry);
    context.load_all_available_dialects();
    // SAFETY: a live context.
    unsafe { ffi::aitmlirRegisterTranslations(context.to_raw()) };
    context
}

/// Forwarded from C++: verifies one op of the dialect.
#[unsafe(no_mangle)]
extern "C" fn aitmlir_rs_verify(op: mlir_sys::MlirOperation) -> bool {
    // SAFETY: MLIR passes a live op.
    let op = unsafe { melior::ir::OperationRef::from_raw(op) };
    ait::verify::verify(op)
}

/// Forwarded from C++: verifies a launch against the symbol that it names, null where there is none.
#[unsafe(no_mangle)]
extern "C" fn aitmlir_rs_verify_launch(op: mlir_sys::MlirOperation, callee: mlir_sys::MlirOperation) -> bool {
    // SAFETY: MLIR passes live ops.
    let (op, callee) = unsafe {
        use melior::ir::OperationRef;
        (OperationRef::from_raw(op), (!callee.ptr.is_null()).then(|| OperationRef::from_raw(callee)))
    };
    ait::verify::verify_launch(op, callee)
}
