// MLIR's own entry points of the developer tools. They know every upstream dialect and pass; only the tools link this file.

#include "Ait.h"
#include "Cute.h"

#include "mlir-c/IR.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/InitAllTranslations.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

using namespace mlir;

static void registerEverything(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  registry.insert<aitmlir::ait::AitDialect, aitmlir::cute::CuteDialect>();
}

extern "C" int aitmlirOptMain(int argc, char **argv) {
  registerAllPasses();
  DialectRegistry registry;
  registerEverything(registry);
  return asMainReturnCode(MlirOptMain(argc, argv, "aitmlir optimizer driver\n", registry));
}

extern "C" int aitmlirLspServerMain(int argc, char **argv) {
  DialectRegistry registry;
  registerEverything(registry);
  return asMainReturnCode(MlirLspServerMain(argc, argv, registry));
}

extern "C" int aitmlirReduceMain(int argc, char **argv) {
  registerAllPasses();
  DialectRegistry registry;
  registerEverything(registry);
  MLIRContext context(registry);
  return asMainReturnCode(mlirReduceMain(argc, argv, context));
}
