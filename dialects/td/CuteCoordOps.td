// Views whose elements are coordinates: predicates and tensor coordinates come from partitioning them as the data is partitioned.

#ifndef CUTE_COORD_OPS_TD
#define CUTE_COORD_OPS_TD

include "CuteBase.td"

def Cute_GetCoordOp : Cute_BinaryOp<"get_coord"> {
  let summary = "The element of a view of coordinates: a coordinate, as an int tuple";
  let description = [{
    ```mlir
    %at = cute.get_coord(%mine, %i) : (!cute.coord_view<"(?,0)", "(8,4):(1@1,16@0)">, !cute.coord<"(0,?)">) -> !cute.int_tuple<"(?,0)">
    %inside = cute.elem_less(%at, %shape) : (!cute.int_tuple<"(?,0)">, !cute.shape<"(?,64)">) -> i1
    ```
  }];
}
def Cute_MakeCoordViewOp : Cute_BinaryOp<"make_coord_view"> {
  let summary = "A view of coordinates from where it starts and a layout that steps in them";
}
def Cute_MakeIdentityViewOp : Cute_AccessorOp<"make_identity_view"> {
  let summary = "The view of a shape whose elements are their own coordinates";
}
def Cute_StoreWithinOp : Cute_Op<"store_within", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Stores what of a tile lies within its tensor";
  let description = [{
    As `cute.copy` to global memory, instruction by instruction: one whose coordinates are not all less than the shape's sizes writes nothing. `coords` is the view of coordinates that is tiled,
    partitioned and sliced as the destination is.

    C1: atom, source and destination are those of a `cute.copy`. C2: the atom is `universal`, the destination in gmem. C3: `coords` is a coord_view of the destination's sizes, mode by mode, and `shape`
    has its coordinates' structure. C4: no instruction straddles the end: where it moves several elements, they follow one coordinate, which starts at a multiple of their number, and the
    size there is one too.
    ```mlir
    cute.store_within(%atom, %sC, %gC, %cC, %shape) : (!atom, !sC, !gC, !cC, !shape) -> ()
    ```
  }];
  let arguments = (ins AnyType:$atom, AnyType:$source, AnyType:$destination, AnyType:$coords, AnyType:$shape);
  let assemblyFormat = "`(` $atom `,` $source `,` $destination `,` $coords `,` $shape `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_WidestCopyOp : Cute_BinaryOp<"widest_copy"> {
  let summary = "The universal copy atom with the widest access that source and destination allow";
  let description = [{
    The width is what both views are known to be contiguous and aligned for, up to 128 bits; one element at least.
    ```mlir
    %atom = cute.widest_copy(%src, %dst) : (!src, !dst) -> !cute.copy_atom<"universal.128", f16>
    ```
  }];
}

#endif
