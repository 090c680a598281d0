// Loads of tiles that stick out of their tensors.

#ifndef CUTE_EDGE_OPS_TD
#define CUTE_EDGE_OPS_TD

include "CuteBase.td"

def Cute_LoadWithinOp : Cute_Op<"load_within", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Copies what of a tile lies within its tensor, and writes zeros for the rest";
  let description = [{
    As `cute.copy` from global memory, element by element: one whose coordinates are not all less than the shape's sizes is not read, and zero is written in its place. `coords` is the view of
    coordinates that is tiled, partitioned and sliced as the source is; coordinates are not negative.

    C1: atom, source and destination are those of a `cute.copy`. C2: the source is in gmem, the atom `universal` or `cp.async`, which writes zeros by itself, so that it is one without `.zfill`. C3:
    `coords` is a coord_view of the source's sizes, mode by mode, and `shape` has its coordinates' structure. C4: where an instruction moves several elements, they follow each other along one
    coordinate. C5: a `universal` atom moves one element.
    ```mlir
    cute.load_within(%copy, %gA, %sA, %cA, %shape) : (!copy, !gA, !sA, !cA, !shape) -> ()
    ```
  }];
  let arguments = (ins AnyType:$atom, AnyType:$source, AnyType:$destination, AnyType:$coords, AnyType:$shape);
  let assemblyFormat = "`(` $atom `,` $source `,` $destination `,` $coords `,` $shape `)` attr-dict `:` functional-type(operands, results)";
}

#endif
