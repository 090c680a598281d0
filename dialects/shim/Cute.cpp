// The cute dialect as MLIR sees it: generated code, and hooks that forward to Rust.

#include "Cute.h"

#include "mlir-c/IR.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace aitmlir::cute;

// Implemented in dialects/src/cute/hooks.rs.
extern "C" {
/// Reads `kind<text>`: calls `made` with the kind and the canonical text, or `failed` with what is wrong.
void aitmlir_rs_cute_parse(MlirStringRef spec, void *state, void (*made)(void *state, MlirStringRef kind, MlirStringRef text),
                           void (*failed)(void *state, MlirStringRef message));
/// Emits the errors of one op and says whether it is valid.
bool aitmlir_rs_cute_verify(MlirOperation op);
/// The result type of an op; null after an error at the location.
MlirType aitmlir_rs_cute_infer(MlirStringRef op, MlirLocation location, intptr_t count, const MlirType *operands, MlirAttribute attributes);
/// Whether a result may be declared as `declared` where `inferred` was inferred.
bool aitmlir_rs_cute_compatible(MlirType inferred, MlirType declared);
/// The constant that an op of this result type folds to, or null.
MlirAttribute aitmlir_rs_cute_fold(MlirOperation op);
}

#include "CuteDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "CuteTypes.cpp.inc"
#define GET_OP_CLASSES
#include "CuteOps.cpp.inc"

namespace {
/// What a type parse gave.
struct Parsed {
  MLIRContext *context;
  Type type;
  std::string error;
};

Type typeOf(MLIRContext *context, StringRef kind, StringRef text) {
#define CUTE_TYPE(Class, name)                                                                                         \
  if (kind == name)                                                                                                    \
    return Class::get(context, text);
#include "CuteTypeList.inc"
#undef CUTE_TYPE
  return Type();
}

/// The kind of a type and its text.
std::pair<StringRef, StringRef> partsOf(Type type) {
#define CUTE_TYPE(Class, name)                                                                                         \
  if (auto t = dyn_cast<Class>(type))                                                                                  \
    return {name, t.getText()};
#include "CuteTypeList.inc"
#undef CUTE_TYPE
  return {};
}

LogicalResult inferInRust(StringRef name, MLIRContext *context, std::optional<Location> location, ValueRange operands,
                          DictionaryAttr attributes, SmallVectorImpl<Type> &types) {
  SmallVector<MlirType> raw;
  for (Value operand : operands)
    raw.push_back(wrap(operand.getType()));
  Location loc = location.value_or(UnknownLoc::get(context));
  Attribute dictionary = attributes ? attributes : DictionaryAttr::get(context);
  Type type = unwrap(aitmlir_rs_cute_infer(wrap(name), wrap(loc), raw.size(), raw.data(), wrap(dictionary)));
  if (!type)
    return failure();
  types.push_back(type);
  return success();
}

bool compatibleInRust(TypeRange inferred, TypeRange declared) {
  return inferred.size() == 1 && declared.size() == 1 &&
         aitmlir_rs_cute_compatible(wrap(inferred.front()), wrap(declared.front()));
}
} // namespace

namespace aitmlir::cute {

void CuteDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "CuteTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "CuteOps.cpp.inc"
      >();
}

Type CuteDialect::parseType(DialectAsmParser &parser) const {
  Parsed parsed{getContext(), Type(), {}};
  aitmlir_rs_cute_parse(
      wrap(parser.getFullSymbolSpec()), &parsed,
      [](void *state, MlirStringRef kind, MlirStringRef text) {
        auto *out = static_cast<Parsed *>(state);
        out->type = typeOf(out->context, unwrap(kind), unwrap(text));
      },
      [](void *state, MlirStringRef message) { static_cast<Parsed *>(state)->error = unwrap(message).str(); });
  if (!parsed.type)
    parser.emitError(parser.getNameLoc(), parsed.error);
  return parsed.type;
}

void CuteDialect::printType(Type type, DialectAsmPrinter &printer) const {
  auto [kind, text] = partsOf(type);
  printer << kind << '<' << text << '>';
}

Operation *CuteDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  if (isa<TypeAttr>(value))
    return StaticOp::create(builder, loc, type);
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

OpFoldResult StaticOp::fold(FoldAdaptor) { return TypeAttr::get(getType()); }

#define VERIFY_IN_RUST(Op)                                                                                             \
  LogicalResult Op::verify() { return success(aitmlir_rs_cute_verify(wrap(getOperation()))); }
#define FOLD_IN_RUST(Op)                                                                                               \
  OpFoldResult Op::fold(FoldAdaptor) { return unwrap(aitmlir_rs_cute_fold(wrap(getOperation()))); }
#define INFER_IN_RUST(Op)                                                                                              \
  LogicalResult Op::inferReturnTypes(MLIRContext *context, std::optional<Location> location, ValueRange operands,      \
                                     DictionaryAttr attributes, OpaqueProperties, RegionRange,                         \
                                     SmallVectorImpl<Type> &types) {                                                   \
    return inferInRust(getOperationName(), context, location, operands, attributes, types);                            \
  }                                                                                                                    \
  bool Op::isCompatibleReturnTypes(TypeRange inferred, TypeRange declared) {                                           \
    return compatibleInRust(inferred, declared);                                                                       \
  }

#include "CuteHooks.inc"

} // namespace aitmlir::cute

extern "C" {
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Cute, cute);
}
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Cute, cute, aitmlir::cute::CuteDialect)

/// `!cute.kind<text>` for canonical text; null for an unknown kind.
extern "C" MlirType aitmlirCuteTypeGet(MlirContext context, MlirStringRef kind, MlirStringRef text) {
  return wrap(typeOf(unwrap(context), unwrap(kind), unwrap(text)));
}

/// The kind of a type, empty where it is none of the dialect's.
extern "C" MlirStringRef aitmlirCuteTypeGetKind(MlirType type) { return wrap(partsOf(unwrap(type)).first); }

/// The canonical text of a type of the dialect.
extern "C" MlirStringRef aitmlirCuteTypeGetText(MlirType type) { return wrap(partsOf(unwrap(type)).second); }
