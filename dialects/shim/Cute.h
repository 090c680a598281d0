// The generated declarations of the cute dialect.

#ifndef AITMLIR_SHIM_CUTE_H
#define AITMLIR_SHIM_CUTE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "CuteDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "CuteTypes.h.inc"
#define GET_OP_CLASSES
#include "CuteOps.h.inc"

#endif
