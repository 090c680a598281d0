// What MLIR's C API lacks around a context: diagnostics other than errors, translations, math approximations.

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"
#include "mlir-c/Rewrite.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Rewrite.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

using namespace mlir;

/// Emits `message` at `location` (severity as MlirDiagnosticSeverity), with a note where `note` is not empty.
extern "C" void aitmlirEmitDiagnostic(MlirLocation location, int severity, MlirStringRef message, MlirLocation noteLocation,
                                      MlirStringRef note) {
  static const DiagnosticSeverity severities[] = {DiagnosticSeverity::Error, DiagnosticSeverity::Warning,
                                                  DiagnosticSeverity::Note, DiagnosticSeverity::Remark};
  Location loc = unwrap(location);
  InFlightDiagnostic diagnostic = loc.getContext()->getDiagEngine().emit(loc, severities[severity]);
  diagnostic << unwrap(message);
  if (note.length)
    diagnostic.attachNote(unwrap(noteLocation)) << unwrap(note);
}

/// Lets modules of the builtin, llvm and nvvm dialects be translated to LLVM IR.
extern "C" void aitmlirRegisterTranslations(MlirContext context) {
  registerBuiltinDialectTranslation(*unwrap(context));
  registerLLVMDialectTranslation(*unwrap(context));
  registerNVVMDialectTranslation(*unwrap(context));
}

/// Adds MLIR's polynomial approximations of f32 math functions, and their use for f16 and bf16, to `patterns`. `names` holds
/// the operations to approximate ("math.exp", ...).
extern "C" void aitmlirAddMathApproximations(MlirRewritePatternSet patterns, const MlirStringRef *names, intptr_t count) {
  auto chosen = [=](StringRef name) {
    for (intptr_t i = 0; i < count; ++i)
      if (unwrap(names[i]) == name)
        return true;
    return false;
  };
  populateMathF32ExpansionPatterns(*unwrap(patterns), chosen);
  populateMathPolynomialApproximationPatterns(*unwrap(patterns), chosen);
}
