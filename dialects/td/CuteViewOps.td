// Views, atoms, and what is done with them: by what they are for, alphabetical within a group.

#ifndef CUTE_VIEW_OPS_TD
#define CUTE_VIEW_OPS_TD

include "CuteBase.td"

//===-- Pointers and views ------------------------------------------------------------------------------------===//

def Cute_AddOffsetOp : Cute_BinaryOp<"add_offset"> {
  let summary = "A pointer moved by a number of elements";
  let description = "The alignment of the result is what the pointer's and the offset's divisibility leave.";
}
def Cute_AllocSharedOp : Cute_Op<"alloc_shared", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Shared memory of a static number of elements";
  let description = [{
    One block of memory a CTA, however often it is executed. With `dynamic` it is part of the memory whose size the launch gives, the only kind beyond 48 KiB; lowering writes the bytes that a
    kernel needs on it, as `cute.shared_bytes`. C1: the result is a pointer into `smem`. C2: `elements` is positive. C3: dynamic memory is aligned to at most 1024 bytes.
    ```mlir
    %a = cute.alloc_shared<4096> : !cute.ptr<f16, smem, align<128>>
    %b = cute.alloc_shared<65536> dynamic : !cute.ptr<f16, smem, align<1024>>
    ```
  }];
  let arguments = (ins I64Attr:$elements, UnitAttr:$dynamic);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`<` $elements `>` (`dynamic` $dynamic^)? attr-dict `:` type($result)";
}
def Cute_GetLayoutOp : Cute_AccessorOp<"get_layout"> { let summary = "The layout of a view"; }
def Cute_GetPtrOp : Cute_AccessorOp<"get_ptr"> { let summary = "The pointer of a view"; }
def Cute_LocalPartitionOp : Cute_InferredOp<"local_partition"> {
  let summary = "The elements of one thread of a thread layout";
  let arguments = (ins AnyType:$view, AnyType:$threads, AnyType:$index);
  let assemblyFormat = "`(` $view `,` $threads `,` $index `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_LocalTileOp : Cute_InferredOp<"local_tile"> {
  let summary = "The tile at a coordinate: its modes, then the rest that the coordinate leaves open";
  let description = [{
    With `proj`, the tile and the coordinate are over more modes than the view has, and `proj` lists those of the view: `[0, 2]` for A of an (M, N, K) tile.
    ```mlir
    %gA = cute.local_tile<[0, 2]>(%A, %tiler, %coord) : (!A, !cute.tile<"[128:1;128:1;32:1]">, !cute.coord<"(?,?,_)">) -> !gA
    ```
  }];
  let arguments = (ins AnyType:$view, AnyType:$tile, AnyType:$coord, OptionalAttr<DenseI64ArrayAttr>:$proj);
  let assemblyFormat = "(`<` $proj^ `>` ``)? `(` $view `,` $tile `,` $coord `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_MakePtrOp : Cute_Op<"make_ptr", [Pure]> {
  let summary = "A typed pointer from an llvm pointer";
  let description = [{
    C1: the result is a pointer outside of `rmem`. C2: the llvm pointer is generic or of the same space (1 for `gmem`, 3 for `smem`). The alignment is asserted here: it
    must hold.
    ```mlir
    %a = cute.make_ptr(%p) : (!llvm.ptr<1>) -> !cute.ptr<f16, gmem, align<16>>
    ```
  }];
  let arguments = (ins AnyType:$pointer);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`(` $pointer `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_MakeViewOp : Cute_BinaryOp<"make_view"> { let summary = "A view from a pointer and a layout"; }

//===-- Registers ---------------------------------------------------------------------------------------------===//

class Cute_FragmentOp<string mnemonic> : Cute_Op<mnemonic, [
    DeclareOpInterfaceMethods<InferTypeOpInterface>, MemoryEffects<[MemAlloc]>]> {
  let extraClassDeclaration = compatible;
  let hasVerifier = 0;
  let results = (outs AnyType:$result);
}
def Cute_MakeFragmentLikeOp : Cute_FragmentOp<"make_fragment_like"> {
  let summary = "Registers with the shape of a view or layout";
  let description = [{
    Compact, the first mode fastest. The elements are the view's, or of the type that `element` names.
    C1: the shape is static.
  }];
  let arguments = (ins AnyType:$like, OptionalAttr<StrAttr>:$element);
  let assemblyFormat = "(`<` $element^ `>` ``)? `(` $like `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_MakeFragmentOp : Cute_FragmentOp<"make_fragment"> {
  let summary = "Registers for one thread's part of an operand of an MMA";
  let description = [{
    The second operand is the thread's partition of the operand's tensor; the fragment has its shape and the operand's element type.
    C1: the shape is static. C2: the atom holds the operand in registers.
  }];
  let arguments = (ins StrAttr:$operand_name, AnyType:$mma, AnyType:$partition);
  let assemblyFormat = "`<` $operand_name `>` `` `(` $mma `,` $partition `)` attr-dict `:` functional-type(operands, results)";
}

//===-- Atoms -------------------------------------------------------------------------------------------------===//

def Cute_MakeTiledCopyForOp : Cute_InferredOp<"make_tiled_copy_for"> {
  let summary = "The copy whose threads hold what they hold of an operand of an MMA";
  let arguments = (ins StrAttr:$operand_name, AnyType:$atom, AnyType:$mma);
  let assemblyFormat = "`<` $operand_name `>` `` `(` $atom `,` $mma `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_MakeTiledCopyOp : Cute_InferredOp<"make_tiled_copy"> {
  let summary = "A copy atom, threads as a layout over the tile, and values as a layout that each thread has";
  let arguments = (ins AnyType:$atom, AnyType:$threads, AnyType:$values);
  let assemblyFormat = "`(` $atom `,` $threads `,` $values `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_MakeTiledMmaOp : Cute_VariadicOp<"make_tiled_mma"> {
  let summary = "An MMA atom, its copies as a layout over (M, N, K), and a permutation tile";
}
def Cute_PartitionOp : Cute_InferredOp<"partition"> {
  let summary = "One thread's part of a view";
  let description = [{
    `A`, `B` or `C` of a tiled MMA: (values, rest, rest, ...). `S` or `D`, source or destination of a tiled copy: ((values, atoms), rest, rest, ...).
    ```mlir
    %tCsA = cute.partition<"A">(%mma, %sA, %tid) : (!mma, !sA, !cute.int_tuple<"?{min=0,max=127}">) -> !tCsA
    ```
  }];
  let arguments = (ins StrAttr:$operand_name, AnyType:$tiled, AnyType:$view, AnyType:$thread);
  let assemblyFormat = "`<` $operand_name `>` `` `(` $tiled `,` $view `,` $thread `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_RetileOp : Cute_BinaryOp<"retile"> {
  let summary = "A fragment of an MMA seen as a tiled copy's: ((values, atoms), rest, ...)";
}

//===-- Tensor copies ----------------------------------------------------------------------------------------===//

def Cute_TmaLoadOp : Cute_Op<"tma_load", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Loads a box of a tensor into shared memory";
  let description = [{
    One thread issues it. `map` points to the tensor map (a kernel parameter), `coord` holds one integer for each mode of the destination, in the tensor's elements; the copy completes
    on the mbarrier. Elements beyond the tensor are zero. With `multicast` the box goes to every CTA of the cluster whose bit is set in the mask (an i16), at the same place of its shared memory,
    and completes on the barrier at the same place there.

    C1: the destination is a view of smem that is one box: its modes, coalesced, are single, compact and in the order of their strides, at most 256 long, and the contiguous one is no
    longer than the swizzle. C2: its pointer is aligned to the swizzle's pattern (128 bytes without one), the offset under its swizzle to 128 bytes. C3: one integer of at most 32 bits for each mode.
    C4: the map is an `!llvm.ptr`, the barrier an `!llvm.ptr<3>`.
    ```mlir
    cute.tma_load(%map, %coord, %sA, %barrier) : (!llvm.ptr, !cute.int_tuple<"(?,?)">, !sA, !llvm.ptr<3>) -> ()
    cute.tma_load(%map, %coord, %sA, %barrier) multicast %mask : (!llvm.ptr, !cute.int_tuple<"(?,?)">, !sA, !llvm.ptr<3>) -> ()
    ```
  }];
  let arguments = (ins AnyType:$map, AnyType:$coord, AnyType:$destination, AnyType:$barrier, Optional<I16>:$multicast);
  let assemblyFormat = [{
    `(` $map `,` $coord `,` $destination `,` $barrier `)` (`multicast` $multicast^)? attr-dict `:`
    `(` type($map) `,` type($coord) `,` type($destination) `,` type($barrier) `)` `->` `(` `)`
  }];
}
def Cute_TmaStoreOp : Cute_Op<"tma_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Stores shared memory to a box of a tensor, or combines it into the box";
  let description = [{
    One thread issues it; it belongs to that thread's open group of bulk copies. Elements beyond the tensor are not written. With `add`, `min`, `max`, `and`, `or` or `xor` the elements are combined.
    C1 to C4 as of `cute.tma_load`, without a barrier. C5: the operation is one of these that PTX has for the type: `add` for f16, bf16, f32, f64 and s32; `min` and `max` for f16, bf16 and s32;
    `and`, `or` and `xor` for s32.
    ```mlir
    cute.tma_store(%map, %coord, %sC) : (!llvm.ptr, !cute.int_tuple<"(?,?)">, !sC) -> ()
    cute.tma_store<"add">(%map, %coord, %sC) : (!llvm.ptr, !cute.int_tuple<"(?,?)">, !sC) -> ()
    ```
  }];
  let arguments = (ins AnyType:$map, AnyType:$coord, AnyType:$source, OptionalAttr<StrAttr>:$reduction);
  let assemblyFormat = "(`<` $reduction^ `>` ``)? `(` $map `,` $coord `,` $source `)` attr-dict `:` functional-type(operands, results)";
}

//===-- Work --------------------------------------------------------------------------------------------------===//

class Cute_WorkOp<string mnemonic, list<Trait> traits = []> : Cute_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>] # traits>;

def Cute_ConvertOp : Cute_WorkOp<"convert"> {
  let summary = "Converts the elements of one register view into another";
  let description = [{
    C1: both are views of registers. C2: the sizes are static and equal. C3: a float type becomes a float type, rounded to nearest: ties to even,
    of tf32 away from zero.
  }];
  let arguments = (ins AnyType:$source, AnyType:$destination);
  let assemblyFormat = "`(` $source `,` $destination `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_CopyOp : Cute_WorkOp<"copy"> {
  let summary = "Copies a view with the instruction of an atom";
  let description = [{
    The first mode of source and destination is what one instruction (or, after a tiled copy's partition, a run of them) moves; the other modes are repeated over.
    With `if`, nothing is copied where the predicate is false; a `zfill` atom then writes zeros.

    C1: source and destination have one element type, that of the atom. C2: they have the same static shape, or the same static sizes mode by mode. C3: the spaces
    fit the instruction (`cp.async`: gmem to smem; `ldmatrix`: smem to rmem; `stmatrix`: rmem to smem). C4: each access of memory is contiguous and aligned to its width; in registers
    `ldmatrix` and `stmatrix` see 32 bits at a time, `universal` single elements.
    ```mlir
    cute.copy(%copy, %gA, %sA) : (!copy, !gA, !sA) -> ()
    cute.copy(%copy, %gA, %sA) if %inside : (!copy, !gA, !sA) -> ()
    ```
  }];
  let arguments = (ins AnyType:$atom, AnyType:$source, AnyType:$destination, Optional<I1>:$predicate);
  let assemblyFormat = [{
    `(` $atom `,` $source `,` $destination `)` (`if` $predicate^)? attr-dict `:` `(` type($atom) `,` type($source) `,` type($destination) `)` `->` `(` `)`
  }];
}
def Cute_FillOp : Cute_WorkOp<"fill"> {
  let summary = "Sets every element of a register view";
  let description = "C1: a view of registers. C2: the value has its element type.";
  let arguments = (ins AnyType:$value, AnyType:$view);
  let assemblyFormat = "`(` $value `,` $view `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_GemmOp : Cute_WorkOp<"gemm"> {
  let summary = "D = A B + C on one thread's parts";
  let description = [{
    Parts are (values, M, K) of A, (values, N, K) of B and (values, M, N) of C and D; K may be missing. The atom is repeated over M, N and K. What `wgmma` takes from shared memory is the
    partition itself, whose values are the whole tile of the atom; its sums are ready when the operation is over (it fences, commits and waits).

    With `async` a product of `wgmma` is only issued: `cute.wgmma_fence` comes before it, `cute.wgmma_commit` closes the group it is in, and its sums (and its A, where that is in registers) may not be
    touched before a `cute.wgmma_wait` that the group is over after, and that names them. The verifier follows the operations behind the product, and says where one breaks this.

    C1: D and C are register views of the accumulator's type, with the same layout. C2: A and B are views of the atom's types, in registers or in shared memory as the atom takes them; in shared
    memory the hardware can read them, and their pointers are aligned to the swizzle's pattern. C3: the sizes of the value modes are the atom's. C4: M, N and K agree. C5: an async product is of `wgmma`, and D
    and C are one fragment. C6: until a wait ends it, nothing touches its sums, and nothing writes its A.
    ```mlir
    cute.gemm(%mma, %d, %a, %b, %c) : (!mma, !rC, !rA, !rB, !rC) -> ()
    cute.gemm async(%mma, %d, %a, %b, %d) : (!mma, !rC, !sA, !sB, !rC) -> ()
    ```
  }];
  let arguments = (ins AnyType:$mma, AnyType:$d, AnyType:$a, AnyType:$b, AnyType:$c, UnitAttr:$async);
  let assemblyFormat = "(`async` $async^ ``)? `(` $mma `,` $d `,` $a `,` $b `,` $c `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_LoadOp : Cute_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "The element at a coordinate";
  let description = "C1: the result has the view's element type. C2: the coordinate fits the view's shape and has no `_`.";
  let arguments = (ins AnyType:$view, AnyType:$coord);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`(` $view `,` $coord `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_StoreOp : Cute_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Sets the element at a coordinate";
  let description = "C1: the value has the view's element type. C2: the coordinate fits the view's shape and has no `_`.";
  let arguments = (ins AnyType:$value, AnyType:$view, AnyType:$coord);
  let assemblyFormat = "`(` $value `,` $view `,` $coord `)` attr-dict `:` functional-type(operands, results)";
}
def Cute_DescriptorOp : Cute_Op<"descriptor", [Pure]> {
  let summary = "The matrix descriptor of an operand in shared memory";
  let description = [{
    For `wgmma`: address, offsets and swizzle of the view over (M or N, K). C1: a view of `smem` with a composed or plain static layout that the hardware can read (the message says which
    mode breaks the pattern). C2: the atom takes the operand from shared memory. The result is i64.
  }];
  let arguments = (ins StrAttr:$operand_name, AnyType:$mma, AnyType:$view);
  let results = (outs I64:$result);
  let assemblyFormat = "`<` $operand_name `>` `` `(` $mma `,` $view `)` attr-dict `:` functional-type(operands, results)";
}

#endif
