// The ait dialect as MLIR sees it: generated code, and hooks that forward to Rust.

#include "Ait.h"

#include "mlir-c/IR.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

/// Implemented in dialects/src/ait/verify: emits the errors of one op and says whether it is valid.
extern "C" bool aitmlir_rs_verify(MlirOperation op);

/// The same for a launch and the symbol that it names (null where there is none).
extern "C" bool aitmlir_rs_verify_launch(MlirOperation op, MlirOperation callee);

#include "AitDialect.cpp.inc"
#include "AitEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "AitAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "AitOps.cpp.inc"

namespace aitmlir::ait {

void AitDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "AitAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "AitOps.cpp.inc"
      >();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *callee = tables.lookupNearestSymbolFrom(getOperation(), getCalleeAttr());
  return success(aitmlir_rs_verify_launch(wrap(getOperation()), wrap(callee)));
}

#define VERIFY_IN_RUST(Op)                                                                                            \
  LogicalResult Op::verify() { return success(aitmlir_rs_verify(wrap(getOperation()))); }

#include "AitVerify.inc"

} // namespace aitmlir::ait

extern "C" {
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Ait, ait);
}
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Ait, ait, aitmlir::ait::AitDialect)

extern "C" MlirAttribute aitmlirWeightsAttrGet(MlirType type, MlirStringRef name) {
  Type t = unwrap(type);
  return wrap(aitmlir::ait::WeightsAttr::get(t.getContext(), unwrap(name), t));
}

extern "C" bool aitmlirAttrIsWeights(MlirAttribute attr) { return isa<aitmlir::ait::WeightsAttr>(unwrap(attr)); }

extern "C" MlirStringRef aitmlirWeightsAttrGetName(MlirAttribute attr) {
  return wrap(cast<aitmlir::ait::WeightsAttr>(unwrap(attr)).getName());
}
