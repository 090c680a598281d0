// The operations of the open CuTe IR: tuples, layouts and the algebra over them, by what they are for, alphabetical within a group.

#ifndef CUTE_LAYOUT_OPS_TD
#define CUTE_LAYOUT_OPS_TD

include "CuteBase.td"

//===-- Constructors ------------------------------------------------------------------------------------------===//

/// From scalars and one-leaf int tuples, one for each dynamic leaf of the result from left to right.
class Cute_MakeOp<string mnemonic> : Cute_Op<mnemonic, [Pure]> {
  let arguments = (ins Variadic<AnyType>:$leaves);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`(` $leaves `)` attr-dict `:` functional-type(operands, results)";
  let description = [{
    C1: one operand for each dynamic leaf of the result, from left to right. C2: an operand is an integer of the leaf's width (i64 for
    `?{i64}`, else i32) or an int tuple of one leaf. The facts of the result's leaves (`{div=8}`) are asserted here: they must hold.
  }];
}

def Cute_MakeComposedLayoutOp : Cute_InferredOp<"make_composed_layout"> {
  let summary = "A layout or swizzle after an offset and a layout";
  let arguments = (ins AnyType:$inner, AnyType:$offset, AnyType:$outer);
  let assemblyFormat = "`(` $inner `,` $offset `,` $outer `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_MakeCoordOp : Cute_MakeOp<"make_coord"> { let summary = "A coordinate from its dynamic leaves"; }
def Cute_MakeIdentityLayoutOp : Cute_AccessorOp<"make_identity_layout"> {
  let summary = "The layout that maps each coordinate of a shape to itself";
}
def Cute_MakeIntTupleOp : Cute_MakeOp<"make_int_tuple"> { let summary = "An int tuple from its dynamic leaves"; }
def Cute_MakeLayoutLikeOp : Cute_AccessorOp<"make_layout_like"> {
  let summary = "A compact layout with the order of another's strides";
}
def Cute_MakeLayoutOp : Cute_VariadicOp<"make_layout"> {
  let summary = "A layout from a shape and a stride";
  let description = "Without a stride: compact, first mode fastest. C1: shape and stride have the same structure.";
}
def Cute_MakeOrderedLayoutOp : Cute_BinaryOp<"make_ordered_layout"> {
  let summary = "A compact layout whose modes are as fast as their order says";
}
def Cute_MakeShapeOp : Cute_MakeOp<"make_shape"> { let summary = "A shape from its dynamic leaves"; }
def Cute_MakeStrideOp : Cute_MakeOp<"make_stride"> { let summary = "A stride from its dynamic leaves"; }
def Cute_MakeTileOp : Cute_MakeOp<"make_tile"> { let summary = "A tile from its dynamic leaves"; }

def Cute_StaticOp : Cute_Op<"static", [Pure, ConstantLike]> {
  let summary = "The value that a static type is";
  let description = [{
    C1: the type has no dynamic leaf.
    ```mlir
    %0 = cute.static : !cute.layout<"(8,4):(4,1)">
    ```
  }];
  let results = (outs AnyType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasFolder = 1;
}

//===-- Accessors ---------------------------------------------------------------------------------------------===//

def Cute_AppendToRankOp : Cute_InferredOp<"append_to_rank"> {
  let summary = "Unit modes at the end up to a rank";
  let arguments = (ins AnyType:$input, I64Attr:$rank);
  let assemblyFormat = "`<` $rank `>` `` `(` $input `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_ComposedGetInnerOp : Cute_AccessorOp<"composed_get_inner"> { let summary = "The map applied last"; }
def Cute_ComposedGetOffsetOp : Cute_AccessorOp<"composed_get_offset"> { let summary = "The offset added between the maps"; }
def Cute_ComposedGetOuterOp : Cute_AccessorOp<"composed_get_outer"> { let summary = "The layout applied first"; }
def Cute_GetOp : Cute_PlaceOp<"get", 0> { let summary = "The mode at a place"; }
def Cute_GetScalarsOp : Cute_Op<"get_scalars", [Pure]> {
  let summary = "The leaves as integers";
  let description = [{
    All integers of the value from left to right (a layout's sizes, then its strides), or only the dynamic ones. C1: one result for each, of the leaf's
    width.
    ```mlir
    %m, %ld = cute.get_scalars<{only_dynamic}>(%layout) : (!cute.layout<"(?,8):(1,?{i64})">) -> (i32, i64)
    ```
  }];
  let arguments = (ins AnyType:$input, UnitAttr:$only_dynamic);
  let results = (outs Variadic<AnySignlessInteger>:$scalars);
  let assemblyFormat = "(`<` `{` `only_dynamic` `}` `>` `` $only_dynamic^)? `(` $input `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_GetShapeOp : Cute_AccessorOp<"get_shape"> { let summary = "The shape of a layout, view or tile"; }
def Cute_GetStrideOp : Cute_AccessorOp<"get_stride"> { let summary = "The stride of a layout or view"; }
def Cute_PrependToRankOp : Cute_InferredOp<"prepend_to_rank"> {
  let summary = "Unit modes in front up to a rank";
  let arguments = (ins AnyType:$input, I64Attr:$rank);
  let assemblyFormat = "`<` $rank `>` `` `(` $input `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_SelectOp : Cute_PlaceOp<"select", 0> { let summary = "The listed modes"; }
def Cute_ToCoordOp : Cute_AccessorOp<"to_coord"> { let summary = "The same integers as a coordinate"; }
def Cute_ToIntTupleOp : Cute_AccessorOp<"to_int_tuple"> { let summary = "The same integers as an int tuple"; }
def Cute_ToShapeOp : Cute_AccessorOp<"to_shape"> { let summary = "The same integers as a shape"; }
def Cute_ToStrideOp : Cute_AccessorOp<"to_stride"> { let summary = "The same integers as a stride"; }

//===-- Algebra -----------------------------------------------------------------------------------------------===//

def Cute_CoalesceOp : Cute_VariadicOp<"coalesce"> {
  let summary = "The same function with as few modes as possible";
  let description = "With a coordinate as the profile: mode by mode at its leaves.";
}
def Cute_ComplementOp : Cute_VariadicOp<"complement"> {
  let summary = "Where copies of a layout can go without meeting it";
}
def Cute_CompositionOp : Cute_BinaryOp<"composition"> {
  let summary = "The left layout after the right layout or tile";
  let description = [{
    `R(c) = A(B(c))`, with the structure of `B`. A tile composes mode by mode.
    ```mlir
    %r = cute.composition(%a, %b) : (!cute.layout<"(8,?):(?,1)">, !cute.layout<"(2,4):(4,1)">) -> !cute.layout<"(2,4):(?{div=4},?)">
    ```
  }];
}
def Cute_DiceOp : Cute_BinaryOp<"dice"> { let summary = "The modes that a coordinate fixes"; }
def Cute_FlattenOp : Cute_UnaryOp<"flatten"> { let summary = "Without nesting"; }
def Cute_GroupModesOp : Cute_InferredOp<"group_modes"> {
  let summary = "Modes `begin` to `end` as one mode";
  let arguments = (ins AnyType:$input, I64Attr:$begin, I64Attr:$end);
  let assemblyFormat = "`<` $begin `,` $end `>` `` `(` $input `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_LeftInverseOp : Cute_UnaryOp<"left_inverse"> { let summary = "From offsets back to indices: `L(inverse(L(i))) = L(i)`"; }
def Cute_RecastLayoutOp : Cute_InferredOp<"recast_layout"> {
  let summary = "The same memory as elements of another width";
  let arguments = (ins AnyType:$input, I64Attr:$new_bits, I64Attr:$old_bits);
  let assemblyFormat = "`<` $new_bits `,` $old_bits `>` `` `(` $input `)` attr-dict `:` type($input) `->` type($result)";
}
def Cute_RightInverseOp : Cute_UnaryOp<"right_inverse"> { let summary = "From offsets to indices: `L(inverse(o)) = o`"; }
def Cute_SliceOp : Cute_BinaryOp<"slice"> {
  let summary = "The modes under `_` of a coordinate";
  let description = [{
    Of a view, the fixed part of the coordinate moves the pointer; under a swizzle it moves the composed layout's offset, so the swizzle is kept.
    Operands are the view or layout and the coordinate.
  }];
}

//===-- Sizes and indices -------------------------------------------------------------------------------------===//

def Cute_CosizeOp : Cute_PlaceOp<"cosize", 1> { let summary = "One more than the largest offset"; }
def Cute_Crd2idxOp : Cute_BinaryOp<"crd2idx"> { let summary = "The index of a coordinate in a shape, first mode fastest"; }
def Cute_Idx2crdOp : Cute_BinaryOp<"idx2crd"> { let summary = "The coordinate of an index in a shape"; }
def Cute_IncrementCoordOp : Cute_BinaryOp<"increment_coord"> { let summary = "The coordinate after this one, first leaf fastest"; }
def Cute_LayoutEvalOp : Cute_BinaryOp<"layout_eval"> { let summary = "The offset of a coordinate"; }
def Cute_SizeOp : Cute_PlaceOp<"size", 1> { let summary = "The number of elements"; }
def Cute_TupleProductEachOp : Cute_UnaryOp<"tuple_product_each"> { let summary = "The size of each mode"; }
def Cute_TupleProductOp : Cute_UnaryOp<"tuple_product"> { let summary = "The product of all leaves"; }

//===-- Arithmetic --------------------------------------------------------------------------------------------===//

def Cute_CeilDivOp : Cute_BinaryOp<"ceil_div"> { let summary = "How many tiles cover a shape, mode by mode"; }
def Cute_ElemLessOp : Cute_BinaryOp<"elem_less"> { let summary = "Whether every leaf is less"; }
def Cute_EqualOp : Cute_BinaryOp<"equal"> { let summary = "Whether every leaf is equal"; }
def Cute_ShapeDivOp : Cute_BinaryOp<"shape_div"> { let summary = "A shape divided, leaf by leaf from the left"; }
def Cute_TupleAddOp : Cute_BinaryOp<"tuple_add"> { let summary = "The sums of the leaves"; }
def Cute_TupleSubOp : Cute_BinaryOp<"tuple_sub"> { let summary = "The differences of the leaves"; }

//===-- Tiling ------------------------------------------------------------------------------------------------===//

def Cute_BlockedProductOp : Cute_BinaryOp<"blocked_product"> { let summary = "Copies of a block, side by side in each mode"; }
def Cute_FlatDivideOp : Cute_BinaryOp<"flat_divide"> { let summary = "Tile modes, then rest modes, ungrouped"; }
def Cute_FlatProductOp : Cute_BinaryOp<"flat_product"> { let summary = "Block modes, then copy modes, ungrouped"; }
def Cute_LogicalDivideOp : Cute_BinaryOp<"logical_divide"> { let summary = "Each mode as (tile, rest)"; }
def Cute_LogicalProductOp : Cute_BinaryOp<"logical_product"> { let summary = "A block and where its copies go"; }
def Cute_RakedProductOp : Cute_BinaryOp<"raked_product"> { let summary = "Copies of a block, interleaved in each mode"; }
def Cute_TileToShapeOp : Cute_VariadicOp<"tile_to_shape"> { let summary = "A block repeated until it covers a shape"; }
def Cute_TiledDivideOp : Cute_BinaryOp<"tiled_divide"> { let summary = "The tile as one mode, then rest modes"; }
def Cute_TiledProductOp : Cute_BinaryOp<"tiled_product"> { let summary = "The block as one mode, then copy modes"; }
def Cute_ZippedDivideOp : Cute_BinaryOp<"zipped_divide"> { let summary = "(tile, rest)"; }
def Cute_ZippedProductOp : Cute_BinaryOp<"zipped_product"> { let summary = "(block, copies)"; }

#endif
