//! The shim's C functions: the only file of this crate that declares foreign symbols.

use mlir_sys::{
    MlirAttribute, MlirContext, MlirDialectHandle, MlirLocation, MlirOperation, MlirRewritePatternSet, MlirStringRef,
    MlirType,
};

/// One option of a pass: its name, help text and default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PassOption {
    /// The name in textual pipelines.
    pub name: MlirStringRef,
    /// One line of help.
    pub help: MlirStringRef,
    /// The value where none is given.
    pub default_value: MlirStringRef,
}

/// A pass as the shim registers it.
#[repr(C)]
pub struct Pass {
    /// The name in textual pipelines.
    pub argument: MlirStringRef,
    /// One line of help.
    pub summary: MlirStringRef,
    /// The op it runs on; empty for any.
    pub anchor: MlirStringRef,
    /// Its options.
    pub options: *const PassOption,
    /// How many.
    pub num_options: usize,
    /// Runs it on an op with one value for each option.
    pub run: unsafe extern "C" fn(*const Pass, MlirOperation, *const MlirStringRef) -> bool,
}

unsafe extern "C" {
    #[allow(missing_docs)]
    pub fn mlirGetDialectHandle__ait__() -> MlirDialectHandle;
    #[allow(missing_docs)]
    pub fn mlirGetDialectHandle__cute__() -> MlirDialectHandle;
    #[allow(missing_docs)]
    pub fn aitmlirCuteTypeGet(context: MlirContext, kind: MlirStringRef, text: MlirStringRef) -> MlirType;
    #[allow(missing_docs)]
    pub fn aitmlirCuteTypeGetKind(r#type: MlirType) -> MlirStringRef;
    #[allow(missing_docs)]
    pub fn aitmlirCuteTypeGetText(r#type: MlirType) -> MlirStringRef;
    #[allow(missing_docs)]
    pub fn aitmlirWeightsAttrGet(r#type: MlirType, name: MlirStringRef) -> MlirAttribute;
    #[allow(missing_docs)]
    pub fn aitmlirAttrIsWeights(attribute: MlirAttribute) -> bool;
    #[allow(missing_docs)]
    pub fn aitmlirWeightsAttrGetName(attribute: MlirAttribute) -> MlirStringRef;
    #[allow(missing_docs)]
    pub fn aitmlirRegisterPass(pass: *const Pass);
    #[allow(missing_docs)]
    pub fn aitmlirEmitDiagnostic(
        location: MlirLocation,
        severity: i32,
        message: MlirStringRef,
        note_location: MlirLocation,
        note: MlirStringRef,
    );
    #[allow(missing_docs)]
    pub fn aitmlirRegisterTranslations(context: MlirContext);
    #[allow(missing_docs)]
    pub fn aitmlirAddMathApproximations(patterns: MlirRewritePatternSet, names: *const MlirStringRef, count: isize);
    #[allow(missing_docs)]
    pub fn aitmlirOptMain(argc: i32, argv: *mut *mut std::ffi::c_char) -> i32;
    #[allow(missing_docs)]
    pub fn aitmlirLspServerMain(argc: i32, argv: *mut *mut std::ffi::c_char) -> i32;
    #[allow(missing_docs)]
    pub fn aitmlirReduceMain(argc: i32, argv: *mut *mut std::ffi::c_char) -> i32;
}
