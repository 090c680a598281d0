// Passes written in Rust, in MLIR's pass registry: with their options, so that textual pipelines, --help and reproducers know them.

#include "mlir-c/IR.h"
#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/CAPI/Pass.h"
#include "mlir/CAPI/Support.h"

using namespace mlir;

extern "C" {
struct AitmlirPassOption {
  MlirStringRef name, help, defaultValue;
};

/// A pass as data. Everything it points to lives as long as the program.
struct AitmlirPass {
  MlirStringRef argument, summary, anchor;
  const AitmlirPassOption *options;
  size_t numOptions;
  /// Runs the pass; `values` holds one string for each option. Returns false after it has emitted an error.
  bool (*run)(const AitmlirPass *self, MlirOperation op, const MlirStringRef *values);
};
}

namespace {
class RustPass : public Pass {
public:
  RustPass(const AitmlirPass *decl, TypeID id)
      : Pass(id, decl->anchor.length ? std::optional<StringRef>(unwrap(decl->anchor)) : std::nullopt), decl(decl), id(id) {
    for (size_t i = 0; i < decl->numOptions; ++i) {
      const AitmlirPassOption &o = decl->options[i];
      options.push_back(std::make_unique<Option<std::string>>(*this, unwrap(o.name), llvm::cl::desc(unwrap(o.help)),
                                                              llvm::cl::init(unwrap(o.defaultValue).str())));
    }
  }

  StringRef getName() const override { return unwrap(decl->argument); }
  StringRef getArgument() const override { return unwrap(decl->argument); }
  StringRef getDescription() const override { return unwrap(decl->summary); }

  /// What any of our passes may build: loaded before a pipeline runs, for a running pass may not load dialects.
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
                    NVVM::NVVMDialect, scf::SCFDialect, tensor::TensorDialect, vector::VectorDialect>();
  }

protected:
  bool canScheduleOn(RegisteredOperationName name) const override {
    return !decl->anchor.length || name.getStringRef() == unwrap(decl->anchor);
  }
  std::unique_ptr<Pass> clonePass() const override { return std::make_unique<RustPass>(decl, id); }
  void runOnOperation() override {
    SmallVector<MlirStringRef> values;
    for (auto &o : options)
      values.push_back(wrap(StringRef(o->getValue())));
    if (!decl->run(decl, wrap(getOperation()), values.data()))
      signalPassFailure();
  }

private:
  const AitmlirPass *decl;
  TypeID id;
  SmallVector<std::unique_ptr<Option<std::string>>> options;
};
} // namespace

extern "C" void aitmlirRegisterPass(const AitmlirPass *decl) {
  static TypeIDAllocator ids;
  TypeID id = ids.allocate();
  registerPass([decl, id] { return std::make_unique<RustPass>(decl, id); });
}
