// The ait dialect: its definition, attributes and the op base classes.

#ifndef AIT_BASE_TD
#define AIT_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Ait_Dialect : Dialect {
  let name = "ait";
  let cppNamespace = "::aitmlir::ait";
  let summary = "Neural-network operations: few, orthogonal, fusible";
  let description = [{
    `ait` is the level at which a model is imported, fused, laid out and planned.

    * Compute operations take and give builtin tensors, have no side effects and carry *regions of scalar
      `arith`/`math` code* where AITemplate has one class per epilogue.
    * Ranks are static, dimensions static or `?`. A `?` of a result that the operands do not determine is an explicit
      `index` operand in `dims(...)`, one for each `?` from left to right.
    * Unsigned tensors have element types `ui8`..`ui64`; scalar code in regions is signless, so a region argument for a `ui8`
      element is `i8`. Booleans are `i1`.
    * Regions may read scalars from outside of the operation, never tensors; outlining turns them into arguments of the kernel.
    * Binary broadcasting is NumPy's: shapes are aligned at the right, a dimension of 1 stretches.
    * Large constants are `#ait.weights<"name">`, a key into the model's weight store.
    * One operation has two forms, `ait.launch`: on tensors before the memory plan, on buffers after it. The `ait.buffer.*` operations exist
      only after the plan.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

//===-- Attributes --------------------------------------------------------------------------------------------===//

def Ait_WeightsAttr : AttrDef<Ait_Dialect, "Weights", [TypedAttrInterface]> {
  let mnemonic = "weights";
  let summary = "A key into the model's weight store";
  let description = [{
    Stands for the tensor stored under `name`. The type says how its bytes are read: row-major, little-endian, `i1` as
    one byte an element.
    ```mlir
    ait.constant #ait.weights<"encoder.0.weight"> : tensor<768x768xf16>
    ```
  }];
  let parameters = (ins StringRefParameter<"the weight's name">:$name, AttributeSelfTypeParameter<"">:$type);
  let assemblyFormat = "`<` $name `>`";
}

class Ait_Enum<string name, string summary, list<string> cases> : I32EnumAttr<name, summary,
    !foreach(i, !range(!size(cases)), I32EnumAttrCase<cases[i], i>)> {
  let cppNamespace = "::aitmlir::ait";
}

def Ait_MatrixLayout : Ait_Enum<"MatrixLayout", "storage order of a matrix operand", ["row", "col"]>;
def Ait_ReduceKind : Ait_Enum<"ReduceKind", "what a reduction computes",
    ["sum", "mean", "prod", "max", "min", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"]>;
def Ait_ArgReduceKind : Ait_Enum<"ArgReduceKind", "which extreme element an argreduce finds", ["max", "min"]>;
def Ait_SoftmaxKind : Ait_Enum<"SoftmaxKind", "softmax or its logarithm", ["softmax", "log_softmax"]>;
def Ait_NormKind : Ait_Enum<"NormKind", "what a normalisation normalises over", ["layer", "rms", "instance", "group"]>;
def Ait_PoolKind : Ait_Enum<"PoolKind", "what a pooling window computes", ["max", "average", "lp"]>;
def Ait_GatherKind : Ait_Enum<"GatherKind", "how indices address the data", ["slices", "elements", "nd"]>;
def Ait_ScatterKind : Ait_Enum<"ScatterKind", "how indices address the data", ["elements", "nd"]>;
def Ait_ScatterReduction : Ait_Enum<"ScatterReduction", "how an update meets the element it hits", ["none", "add", "mul", "max", "min"]>;
def Ait_PadMode : Ait_Enum<"PadMode", "what a padded element holds", ["constant", "reflect", "edge", "wrap"]>;
def Ait_ResizeMode : Ait_Enum<"ResizeMode", "interpolation of a resize", ["nearest", "linear", "cubic"]>;
def Ait_CoordinateMode : Ait_Enum<"CoordinateMode", "maps an output coordinate to an input coordinate",
    ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"]>;
def Ait_NearestMode : Ait_Enum<"NearestMode", "rounding of a nearest coordinate", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]>;
def Ait_ScanKind : Ait_Enum<"ScanKind", "what a scan accumulates", ["sum", "prod"]>;
def Ait_RoiMode : Ait_Enum<"RoiMode", "what a region-of-interest bin computes", ["average", "max"]>;
def Ait_GridMode : Ait_Enum<"GridMode", "interpolation of a grid sample", ["nearest", "linear", "cubic"]>;
def Ait_GridPadding : Ait_Enum<"GridPadding", "what lies outside a sampled image", ["zeros", "border", "reflection"]>;
def Ait_RnnKind : Ait_Enum<"RnnKind", "the recurrent cell", ["lstm", "gru", "rnn"]>;
def Ait_RnnDirection : Ait_Enum<"RnnDirection", "the order of the time steps", ["forward", "reverse", "bidirectional"]>;
def Ait_CausalKind : Ait_Enum<"CausalKind", "which half of the score matrix is kept", ["none", "lower", "upper", "lower_right"]>;
def Ait_RandomKind : Ait_Enum<"RandomKind", "the distribution drawn from", ["uniform", "normal"]>;

//===-- Op base classes ---------------------------------------------------------------------------------------===//

class Ait_Op<string mnemonic, list<Trait> traits = []> : Op<Ait_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

/// A compute op: tensors in, tensors out, no effects; `aitmlir-passes` outlines it into one kernel.
class Ait_ComputeOp<string mnemonic, list<Trait> traits = []> : Ait_Op<mnemonic, [Pure] # traits>;

#endif
