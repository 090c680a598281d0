// The generated declarations of the ait dialect.

#ifndef AITMLIR_SHIM_AIT_H
#define AITMLIR_SHIM_AIT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "AitDialect.h.inc"
#include "AitEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "AitAttrs.h.inc"
#define GET_OP_CLASSES
#include "AitOps.h.inc"

#endif
