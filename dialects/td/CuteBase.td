// The cute dialect: its definition, types and the op base classes.

#ifndef CUTE_BASE_TD
#define CUTE_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Cute_Dialect : Dialect {
  let name = "cute";
  let cppNamespace = "::aitmlir::cute";
  let summary = "Layouts, views, and the instructions that copy and multiply them";
  let description = [{
    `cute` describes where the elements of a tensor lie and which thread holds which of them, as *layouts* (a shape and a stride, both
    trees), and computes with layouts as values. Copies and matrix products of whole tiles are one operation each, and lower to the
    instructions that an *atom* names.

    * **Types hold what is static.** A type's text is the value: `!cute.layout<"(8,?):(1,8)">` has one dynamic leaf, `?`, and only that one exists at
      run time. A value of a type without `?` is a constant, written `cute.static`.
    * **A dynamic leaf says what is known about it**: `?{div=8}` is a multiple of 8, `?{min=0,max=127}` is in a range, `?{i64}` has 64 bits (else
      32). Named leaves, `?n{div=8}`, are equal where their names are. Facts enter where a scalar becomes a leaf (`cute.make_shape` and its
      kin), and the rules of the algebra carry them on; alignment, vector width and index width follow from them.
    * **Results are inferred.** The type of a result follows from the types of the operands; a written type may say less about a dynamic
      leaf than is known, never more or something else. A size-1 mode's stride means nothing and is not compared.
    * **A view** is a pointer and a layout. Operations on layouts work on views; slicing moves the pointer, or the offset under a swizzle.
    * Operation names and syntax follow the open CuTe IR where it has the operation.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasConstantMaterializer = 1;
  let usePropertiesForAttributes = 0;
  let extraClassDeclaration = [{
    ::mlir::Type parseType(::mlir::DialectAsmParser &parser) const override;
    void printType(::mlir::Type type, ::mlir::DialectAsmPrinter &printer) const override;
  }];
}

//===-- Types -------------------------------------------------------------------------------------------------===//

class Cute_Type<string name, string typeMnemonic> : TypeDef<Cute_Dialect, name> {
  let typeName = "cute." # typeMnemonic;
  let parameters = (ins StringRefParameter<"the canonical text between the angle brackets">:$text);
}

def Cute_ComposedLayout : Cute_Type<"ComposedLayout", "composed_layout"> {
  let summary = "A layout after an offset and a layout, or a swizzle";
  let description = [{
    `A o offset o B`: a coordinate goes through `B`, the offset is added, then `A` (a layout or a swizzle) is applied.
    ```mlir
    !cute.composed_layout<"S<3,3,3> o 0 o (8,64):(64,1)">
    ```
  }];
}
def Cute_Coord : Cute_Type<"Coord", "coord"> {
  let summary = "A coordinate";
  let description = [{
    Leaves are integers, or `_` for a whole mode.
    ```mlir
    !cute.coord<"(_,(?,2))">
    ```
  }];
}
def Cute_CoordView : Cute_Type<"CoordView", "coord_view"> {
  let summary = "A view whose elements are coordinates";
  let description = [{
    Where it starts, and a layout that steps in coordinates from there. It has no memory.
    ```mlir
    !cute.coord_view<"(?{div=64},0)", "(64,32):(1@0,1@1)">
    ```
  }];
}
def Cute_CopyAtom : Cute_Type<"CopyAtom", "copy_atom"> {
  let summary = "One copy instruction on elements of a type";
  let description = [{
    `universal.BITS`, `ldmatrix.xN[.trans]`, `stmatrix.xN[.trans]`, `cp.async.{ca,cg}.BYTES[.zfill]`.
    ```mlir
    !cute.copy_atom<"ldmatrix.x4", f16>
    ```
  }];
}
def Cute_IntTuple : Cute_Type<"IntTuple", "int_tuple"> {
  let summary = "A tree of integers";
  let description = [{
    ```mlir
    !cute.int_tuple<"(?{div=4},(2,3))">
    ```
  }];
}
def Cute_Layout : Cute_Type<"Layout", "layout"> {
  let summary = "A shape and a stride";
  let description = [{
    ```mlir
    !cute.layout<"((2,?),4):((1,8),?{i64})">
    ```
  }];
}
def Cute_MmaAtom : Cute_Type<"MmaAtom", "mma_atom"> {
  let summary = "One matrix multiply-accumulate instruction";
  let description = [{
    `fma.TYPE` (a multiply-add of one thread), `mma.sync.mMnNkK.D.A.B.C`, `wgmma.mMnNkK.D.A.B.ss.AMAJOR.BMAJOR`, `wgmma.mMnNkK.D.A.B.rs.BMAJOR`.
    ```mlir
    !cute.mma_atom<"mma.sync.m16n8k16.f32.f16.f16.f32">
    ```
  }];
}
def Cute_Pipeline : Cute_Type<"Pipeline", "pipeline"> {
  let summary = "Stages that producers fill and consumers empty, with a full and an empty barrier each";
  let description = [{
    The number of stages, and how many arrivals end a phase of a full and of an empty barrier. Its *state*, an i32, is the stage plus the number of stages in odd phases: 0 at first, then
    `cute.pipeline_next`. Producers and consumers each have their own.
    ```mlir
    !cute.pipeline<4, full<1>, empty<2>>
    ```
  }];
}
def Cute_Ptr : Cute_Type<"Ptr", "ptr"> {
  let summary = "A pointer to elements of a type in a memory space";
  let description = [{
    The space is `generic`, `gmem`, `smem` or `rmem` (a thread's registers); `align` is in bytes.
    ```mlir
    !cute.ptr<f16, gmem, align<16>>
    ```
  }];
}
def Cute_Shape : Cute_Type<"Shape", "shape"> {
  let summary = "A tree of sizes";
  let description = [{
    ```mlir
    !cute.shape<"(?,(2,3))">
    ```
  }];
}
def Cute_Stride : Cute_Type<"Stride", "stride"> {
  let summary = "A tree of strides";
  let description = [{
    A stride `4@1` steps by 4 in the second coordinate.
    ```mlir
    !cute.stride<"(1,(?,4@1))">
    ```
  }];
}
def Cute_Swizzle : Cute_Type<"Swizzle", "swizzle"> {
  let summary = "A permutation of offsets by exclusive or";
  let description = [{
    `S<bits,base,shift>`: the `bits` bits above `base` are XORed with those `shift` above them.
    ```mlir
    !cute.swizzle<"S<3,4,3>">
    ```
  }];
}
def Cute_Tile : Cute_Type<"Tile", "tile"> {
  let summary = "What a layout is divided or composed by, mode by mode";
  let description = [{
    ```mlir
    !cute.tile<"[(2,3):(1,2);_]">
    ```
  }];
}
def Cute_TiledCopy : Cute_Type<"TiledCopy", "tiled_copy"> {
  let summary = "A copy atom repeated over threads and values";
  let description = [{
    The atom, the element type, the layout from (thread, value) to the index in the tile, the shape of the tile.
    ```mlir
    !cute.tiled_copy<"cp.async.cg.16", f16, "((4,32),8):((256,1),32)", "(32,32)">
    ```
  }];
}
def Cute_TiledMma : Cute_Type<"TiledMma", "tiled_mma"> {
  let summary = "An MMA atom repeated over threads and values";
  let description = [{
    The atom, the layout of its copies over (M, N, K), and how M, N and K are permuted before they are cut into atoms.
    ```mlir
    !cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(2,2,1):(1,2,0)", "[_;32:1;_]">
    ```
  }];
}
def Cute_View : Cute_Type<"View", "view"> {
  let summary = "A pointer and a layout: a tensor in memory";
  let description = [{
    Offsets are in elements. The layout may be a composed one, whose swizzle is then of offsets from an address that is a multiple of
    what the swizzle permutes.
    ```mlir
    !cute.view<f16, smem, align<16>, "S<3,3,3> o 0 o (8,64):(64,1)">
    ```
  }];
}

//===-- Op base classes ---------------------------------------------------------------------------------------===//

class Cute_Op<string mnemonic, list<Trait> traits = []> : Op<Cute_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

defvar compatible = [{
  static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange declared);
}];

/// An op whose one result type follows from its operands' types and its attributes, and which folds where that type is static.
class Cute_InferredOp<string mnemonic, list<Trait> traits = []> : Cute_Op<mnemonic, [Pure,
    DeclareOpInterfaceMethods<InferTypeOpInterface>] # traits> {
  let extraClassDeclaration = compatible;
  let hasVerifier = 0;
  let hasFolder = 1;
  let results = (outs AnyType:$result);
}

/// `cute.op %x : type -> type`, as the open CuTe IR writes operations of one operand that only look at it.
class Cute_AccessorOp<string mnemonic> : Cute_InferredOp<mnemonic> {
  let arguments = (ins AnyType:$input);
  let assemblyFormat = "`(` $input `)` attr-dict `:` type($input) `->` type($result)";
}

class Cute_UnaryOp<string mnemonic> : Cute_InferredOp<mnemonic> {
  let arguments = (ins AnyType:$input);
  let assemblyFormat = "`(` $input `)` attr-dict `:` functional-type(operands, results)";
}

class Cute_BinaryOp<string mnemonic> : Cute_InferredOp<mnemonic> {
  let arguments = (ins AnyType:$lhs, AnyType:$rhs);
  let assemblyFormat = "`(` $lhs `,` $rhs `)` attr-dict `:` functional-type(operands, results)";
}

/// Any number of operands.
class Cute_VariadicOp<string mnemonic> : Cute_InferredOp<mnemonic> {
  let arguments = (ins Variadic<AnyType>:$inputs);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type(operands, results)";
}

/// With a place in a tree, `cute.op<[1, 0]>(%x)`.
class Cute_PlaceOp<string mnemonic, bit parens> : Cute_InferredOp<mnemonic> {
  let arguments = (ins AnyType:$input, OptionalAttr<DenseI64ArrayAttr>:$mode);
  let assemblyFormat = "(`<` $mode^ `>` ``)? `(` $input `)` attr-dict `:` " # !if(parens, "functional-type(operands, results)",
                                                                              "type($input) `->` type($result)");
}

#endif
