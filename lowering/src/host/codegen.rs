//! From MLIR's loops to an object file: upstream conversions to the llvm dialect, LLVM's optimiser, its code generator.

use crate::cpu::target::CpuTarget;
use inkwell::{
    OptimizationLevel,
    attributes::{Attribute, AttributeLoc},
    memory_buffer::MemoryBuffer,
    module::Module as LlvmModule,
    passes::PassBuilderOptions,
    targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple},
    values::BasicValue,
};
use melior::{Context, ir::Module, pass::PassManager, utility::parse_pass_pipeline};
use std::sync::Once;

/// Why no object file came out.
#[derive(Debug, thiserror::Error)]
pub enum CodegenError {
    /// MLIR's passes failed; their diagnostics have been emitted.
    #[error("lowering to LLVM failed (see the errors above); this is a bug, please report it")]
    Passes,
    /// LLVM said no.
    #[error("LLVM failed: {0}; this is a bug, please report it")]
    Llvm(String),
    /// A program that is to stand alone calls the runtime.
    #[error("its host program calls {0}, which only a library has: compile the model to a library (--emit=so)")]
    Unsupported(String),
}

/// The upstream conversions from scf, vector, memref, arith and math to the llvm dialect.
const TO_LLVM: &str = "builtin.module(canonicalize,cse,\
    convert-linalg-to-loops,lower-affine,\
    convert-vector-to-scf,expand-strided-metadata,lower-affine,\
    convert-scf-to-cf,\
    arith-expand{include-bf16=true},convert-math-to-llvm,convert-math-to-libm,\
    convert-vector-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,\
    convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts,canonicalize,cse)";

/// Registers the upstream passes of [`to_llvm_dialect`]. Call it once a process.
fn register_passes() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: each adds one pass to MLIR's registry; called once.
        unsafe {
            mlir_sys::mlirRegisterTransformsPasses();
            mlir_sys::mlirRegisterLinalgPasses();
            mlir_sys::mlirRegisterConversionPasses();
            mlir_sys::mlirRegisterMemRefPasses();
            mlir_sys::mlirRegisterArithPasses();
        }
    });
}

/// Converts a module of host programs and lowered kernels to MLIR's llvm dialect, in place.
pub fn to_llvm_dialect(context: &Context, module: &mut Module<'_>) -> Result<(), CodegenError> {
    register_passes();
    let manager = PassManager::new(context);
    parse_pass_pipeline(manager.as_operation_pass_manager(), TO_LLVM).map_err(|_| CodegenError::Passes)?;
    manager.run(module).map_err(|_| CodegenError::Passes)?;
    let op = melior::ir::operation::OperationLike::to_raw(&module.as_operation());
    // SAFETY: the module outlives the rewrite.
    super::parallel::rewrite_launches(context, unsafe { melior::ir::OperationRef::from_raw(op) });
    Ok(())
}

/// Translates a module of the llvm dialect to LLVM IR, optimises it for `target` and returns the bytes of an object file.
pub fn object(module: &Module<'_>, target: &CpuTarget) -> Result<Vec<u8>, CodegenError> {
    let context = inkwell::context::Context::create();
    let llvm = translate(module, &context)?;
    let machine = machine(target)?;
    link_ir(&context, &llvm, TRUNCATION)?;
    prepare(&context, &llvm, target, &machine);
    assemble(&llvm, &machine)
}

/// What makes a host program an object file of its own, without the runtime.
pub struct Standalone<'a> {
    /// LLVM IR that defines what the program calls.
    pub ir: &'a str,
    /// The functions that stay visible.
    pub exports: &'a [String],
    /// Bytes of arrays that the IR declares.
    pub data: &'a [(&'a str, &'a [u8])],
}

/// As [`object`], of a program linked with what it calls. Errors: a call of a function that is defined nowhere.
pub fn standalone_object(
    module: &Module<'_>,
    target: &CpuTarget,
    standalone: &Standalone<'_>,
) -> Result<Vec<u8>, CodegenError> {
    let context = inkwell::context::Context::create();
    let llvm = translate(module, &context)?;
    let machine = machine(target)?;
    link_ir(&context, &llvm, standalone.ir)?;
    prepare(&context, &llvm, target, &machine);
    for (name, bytes) in standalone.data {
        let missing = || CodegenError::Llvm(format!("no array '{name}' is declared"));
        let global = llvm.get_global(name).ok_or_else(missing)?;
        global.set_initializer(&context.const_string(bytes, false));
        global.set_linkage(inkwell::module::Linkage::Internal);
    }
    for function in llvm.get_functions() {
        let name = function.get_name().to_string_lossy();
        if function.count_basic_blocks() == 0 {
            let used = function.as_global_value().as_pointer_value().get_first_use().is_some();
            if used && name.starts_with("aitmlir_") {
                return Err(CodegenError::Unsupported(name.into_owned()));
            }
        } else if standalone.exports.iter().any(|export| *export == name) {
            function.set_linkage(inkwell::module::Linkage::External);
        } else {
            function.set_linkage(inkwell::module::Linkage::Internal);
        }
    }
    assemble(&llvm, &machine)
}

/// Optimises a module and makes an object file of it.
fn assemble(llvm: &LlvmModule<'_>, machine: &TargetMachine) -> Result<Vec<u8>, CodegenError> {
    let options = PassBuilderOptions::create();
    options.set_loop_vectorization(true);
    options.set_loop_slp_vectorization(true);
    options.set_loop_interleaving(true);
    options.set_loop_unrolling(true);
    let failed = |error: inkwell::support::LLVMString| CodegenError::Llvm(error.to_string());
    llvm.run_passes("default<O2>", machine, options).map_err(failed)?;
    let buffer = machine.write_to_memory_buffer(llvm, FileType::Object).map_err(failed)?;
    Ok(buffer.as_slice().to_vec())
}

/// LLVM calls this function where it moves a bf16 value (a select, a phi) on a CPU without bf16 instructions, and the C runtimes of older systems lack it.
/// Round to nearest, ties to even; a NaN stays one.
const TRUNCATION: &str = "\
define weak hidden bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %upper = lshr i32 %bits, 16
  %odd = and i32 %upper, 1
  %bias = add i32 %odd, 32767
  %rounded = add i32 %bits, %bias
  %quiet = or i32 %bits, 4194304
  %nan = fcmp uno float %x, 0.0
  %chosen = select i1 %nan, i32 %quiet, i32 %rounded
  %high = lshr i32 %chosen, 16
  %half = trunc i32 %high to i16
  %result = bitcast i16 %half to bfloat
  ret bfloat %result
}
";

/// Links a module of LLVM IR, given as text, into another.
fn link_ir<'x>(context: &'x inkwell::context::Context, llvm: &LlvmModule<'x>, text: &str) -> Result<(), CodegenError> {
    let failed = |error: inkwell::support::LLVMString| CodegenError::Llvm(error.to_string());
    let text = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "linked");
    let module = context.create_module_from_ir(text).map_err(failed)?;
    llvm.link_in_module(module).map_err(failed)
}

/// The LLVM IR of a module of the llvm dialect, before LLVM's optimiser.
pub fn llvm_ir(module: &Module<'_>) -> Result<String, CodegenError> {
    let context = inkwell::context::Context::create();
    Ok(translate(module, &context)?.to_string())
}

fn translate<'x>(module: &Module<'_>, context: &'x inkwell::context::Context) -> Result<LlvmModule<'x>, CodegenError> {
    let op = melior::ir::operation::OperationLike::to_raw(&module.as_operation());
    // SAFETY: a live module, and an LLVM context that outlives the result. Both bindings name the same C types.
    unsafe {
        let raw = mlir_sys::mlirTranslateModuleToLLVMIR(op, context.raw().cast());
        if raw.is_null() {
            return Err(CodegenError::Llvm("the module could not be translated".to_owned()));
        }
        Ok(LlvmModule::new(raw.cast()))
    }
}

fn machine(target: &CpuTarget) -> Result<TargetMachine, CodegenError> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| Target::initialize_x86(&InitializationConfig::default()));
    let triple = TargetTriple::create(&target.triple);
    let llvm = Target::from_triple(&triple).map_err(|error| CodegenError::Llvm(error.to_string()))?;
    llvm.create_target_machine(
        &triple,
        &target.cpu,
        &target.features,
        OptimizationLevel::Default,
        RelocMode::PIC,
        CodeModel::Small,
    )
    .ok_or_else(|| CodegenError::Llvm(format!("no target machine for '{}'", target.cpu)))
}

/// Data layout, and on each function: unwind tables (a failed check unwinds through generated code) and the width of vectors.
fn prepare<'x>(
    context: &'x inkwell::context::Context,
    llvm: &LlvmModule<'x>,
    target: &CpuTarget,
    machine: &TargetMachine,
) {
    llvm.set_triple(&machine.get_triple());
    llvm.set_data_layout(&machine.get_target_data().get_data_layout());
    let unwind = context.create_enum_attribute(Attribute::get_named_enum_kind_id("uwtable"), 2);
    let width = context.create_string_attribute("prefer-vector-width", &target.vector_bits.to_string());
    for function in llvm.get_functions() {
        function.add_attribute(AttributeLoc::Function, unwind);
        function.add_attribute(AttributeLoc::Function, width);
        let name = function.get_name().to_bytes();
        if function.count_basic_blocks() > 0 && !name.starts_with(b"aitmlir_program_") && !name.starts_with(b"__") {
            function.set_linkage(inkwell::module::Linkage::Internal);
        }
    }
}
