//! From a module of kernels to PTX: the passes of the cute dialect, upstream conversions to the llvm dialect, LLVM's optimiser, its NVPTX code
//! generator.

use super::{Chip, to_nvvm::TO_NVVM};
use aitmlir_dialects::pass::{PassDecl, run_pass};
use aitmlir_passes::{cute_expand::EXPAND, cute_fold_static::FOLD_STATIC};
use inkwell::{
    OptimizationLevel,
    attributes::{Attribute, AttributeLoc},
    llvm_sys::core::{LLVMGetCalledValue, LLVMGetInlineAsmHasSideEffects, LLVMIsAInlineAsm},
    module::Module as LlvmModule,
    passes::PassBuilderOptions,
    targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple},
    values::{AsValueRef, CallSiteValue},
};
use melior::{
    Context,
    ir::{Module, OperationRef},
    pass::PassManager,
    utility::parse_pass_pipeline,
};
use std::sync::Once;

/// Why no PTX came out.
#[derive(Debug, thiserror::Error)]
pub enum CodegenError {
    /// MLIR's passes failed; their diagnostics have been emitted.
    #[error("lowering kernels to LLVM failed (see the errors above); this is a bug, please report it")]
    Passes,
    /// LLVM said no.
    #[error("LLVM failed to make PTX: {0}; this is a bug, please report it")]
    Llvm(String),
}

/// LLVM's version, such as "22.1.8".
pub fn llvm_version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}

/// What becomes of the cute dialect, in this order.
const CUTE: [&PassDecl; 3] = [&FOLD_STATIC, &EXPAND, &TO_NVVM];

/// The upstream conversions to the llvm dialect. Math functions must be gone: there is no libdevice.
const TO_LLVM: &str = "builtin.module(canonicalize,cse,\
    convert-vector-to-scf,expand-strided-metadata,lower-affine,\
    convert-scf-to-cf,\
    arith-expand{include-bf16=true},convert-math-to-llvm,\
    convert-vector-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,\
    convert-func-to-llvm,convert-cf-to-llvm,convert-nvvm-to-llvm,reconcile-unrealized-casts,canonicalize,cse)";

/// Registers the upstream passes of [`to_llvm_dialect`]; each call after the first does nothing.
fn register_passes() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: each adds passes to MLIR's registry, which takes a second registration of the same pass.
        unsafe {
            mlir_sys::mlirRegisterTransformsPasses();
            mlir_sys::mlirRegisterConversionPasses();
            mlir_sys::mlirRegisterMemRefPasses();
            mlir_sys::mlirRegisterArithPasses();
        }
    });
}

/// Converts a module of kernels to MLIR's llvm dialect, in place: first what is in the cute dialect, then everything.
pub fn to_llvm_dialect(context: &Context, module: &mut Module<'_>) -> Result<(), CodegenError> {
    register_passes();
    // SAFETY: the module outlives the passes.
    let op = unsafe { OperationRef::from_raw(module.as_operation().to_raw()) };
    for pass in CUTE {
        run_pass(pass, op, &[]).map_err(|_| CodegenError::Passes)?;
    }
    let manager = PassManager::new(context);
    parse_pass_pipeline(manager.as_operation_pass_manager(), TO_LLVM).map_err(|_| CodegenError::Passes)?;
    manager.run(module).map_err(|_| CodegenError::Passes)
}

/// Compiles a module of kernels to PTX text for `chip`. The module is in the llvm dialect afterwards.
pub fn ptx(context: &Context, module: &mut Module<'_>, chip: &Chip) -> Result<String, CodegenError> {
    to_llvm_dialect(context, module)?;
    let llvm_context = inkwell::context::Context::create();
    let llvm = translate(module, &llvm_context)?;
    let machine = machine(chip)?;
    llvm.set_triple(&machine.get_triple());
    llvm.set_data_layout(&machine.get_target_data().get_data_layout());
    mark_convergent(&llvm_context, &llvm)?;
    let failed = |error: inkwell::support::LLVMString| CodegenError::Llvm(error.to_string());
    let options = PassBuilderOptions::create();
    options.set_loop_vectorization(false);
    options.set_loop_slp_vectorization(false);
    llvm.run_passes("default<O3>", &machine, options).map_err(failed)?;
    let buffer = machine.write_to_memory_buffer(&llvm, FileType::Assembly).map_err(failed)?;
    let text = buffer.as_slice();
    // The buffer ends with a NUL that is not part of the text.
    let text = text.strip_suffix(&[0]).unwrap_or(text);
    String::from_utf8(text.to_vec()).map_err(|error| CodegenError::Llvm(error.to_string()))
}

fn translate<'x>(module: &Module<'_>, context: &'x inkwell::context::Context) -> Result<LlvmModule<'x>, CodegenError> {
    // SAFETY: a live module, and an LLVM context that outlives the result. Both bindings name the same C types.
    unsafe {
        let raw = mlir_sys::mlirTranslateModuleToLLVMIR(module.as_operation().to_raw(), context.raw().cast());
        if raw.is_null() {
            return Err(CodegenError::Llvm("the module could not be translated".to_owned()));
        }
        Ok(LlvmModule::new(raw.cast()))
    }
}

fn machine(chip: &Chip) -> Result<TargetMachine, CodegenError> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| Target::initialize_nvptx(&InitializationConfig::default()));
    let triple = TargetTriple::create("nvptx64-nvidia-cuda");
    let llvm = Target::from_triple(&triple).map_err(|error| CodegenError::Llvm(error.to_string()))?;
    llvm.create_target_machine(
        &triple,
        chip.name,
        chip.features,
        OptimizationLevel::Aggressive,
        RelocMode::PIC,
        CodeModel::Default,
    )
    .ok_or_else(|| CodegenError::Llvm(format!("no target machine for '{}'", chip.name)))
}

/// Marks inline assembly with side effects as convergent: barriers and warp-wide instructions must not be moved into branches, and
/// MLIR's operations do not say so.
fn mark_convergent(context: &inkwell::context::Context, llvm: &LlvmModule<'_>) -> Result<(), CodegenError> {
    let convergent = context.create_enum_attribute(Attribute::get_named_enum_kind_id("convergent"), 0);
    for function in llvm.get_functions() {
        for block in function.get_basic_block_iter() {
            for instruction in block.get_instructions() {
                let Ok(call) = CallSiteValue::try_from(instruction) else { continue };
                // SAFETY: a live call; the queries read the value that it calls.
                let effects = unsafe {
                    let callee = LLVMGetCalledValue(call.as_value_ref());
                    !LLVMIsAInlineAsm(callee).is_null() && LLVMGetInlineAsmHasSideEffects(callee) != 0
                };
                if effects {
                    call.add_attribute(AttributeLoc::Function, convergent);
                }
            }
        }
    }
    Ok(())
}
