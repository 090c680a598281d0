// Every message of the dialect's verifiers, inference rules and type parser. Functions are named after the constraint that they break.
// RUN: aitmlir-opt -split-input-file -verify-diagnostics %s

func.func @static_c1() {
  // expected-error@+1 {{'cute.static' op C1: !cute.layout<"(?,4):(1,8)"> is not static: it has a pointer or a '?'}}
  %0 = cute.static : !cute.layout<"(?,4):(1,8)">
  return
}
// -----
func.func @make_c1(%a: i32) {
  // expected-error@+1 {{'cute.make_shape' op C1: !cute.shape<"(?,?)"> has 2 dynamic leaves, got 1 operands}}
  %0 = cute.make_shape(%a) : (i32) -> !cute.shape<"(?,?)">
  return
}
// -----
func.func @make_c2(%a: i32) {
  // expected-error@+1 {{'cute.make_stride' op C2: operand 0 becomes the leaf ?{i64}, which is an i64, got i32}}
  %0 = cute.make_stride(%a) : (i32) -> !cute.stride<"(?{i64},1)">
  return
}
// -----
func.func @make_kind(%a: i32) {
  // expected-error@+1 {{'cute.make_stride' op gives a stride, not !cute.shape<"(?,1)">}}
  %0 = cute.make_stride(%a) : (i32) -> !cute.shape<"(?,1)">
  return
}
// -----
func.func @get_scalars_c1(%a: !cute.layout<"(?,4):(1,?{i64})">) {
  // expected-error@+1 {{'cute.get_scalars' op C1: the leaf ?{i64} is an i64, got i32}}
  %0:2 = cute.get_scalars<{only_dynamic}>(%a) : (!cute.layout<"(?,4):(1,?{i64})">) -> (i32, i32)
  return
}
// -----
func.func @get_scalars_c1_count(%a: !cute.layout<"(?,4):(1,?{i64})">) {
  // expected-error@+1 {{'cute.get_scalars' op C1: !cute.layout<"(?,4):(1,?{i64})"> has 4 such leaves, got 1 results}}
  %0 = cute.get_scalars(%a) : (!cute.layout<"(?,4):(1,?{i64})">) -> i32
  return
}
// -----
func.func @get_scalars_of_view(%a: !cute.view<f16, gmem, align<16>, "(?,4):(1,?{i64})">) {
  // expected-error@+1 {{'cute.get_scalars' op takes a tuple, layout, tile or atom; a view has get_layout}}
  %0 = cute.get_scalars(%a) : (!cute.view<f16, gmem, align<16>, "(?,4):(1,?{i64})">) -> i32
  return
}
// -----
func.func @inferred(%a: !cute.layout<"(8,8):(8,1)">, %b: !cute.layout<"(2,4):(4,1)">) {
  // expected-error@+2 {{'cute.composition' op inferred type(s) '!cute.layout<"(2,4):(32,8)">' are incompatible with return type(s) of operation '!cute.layout<"(2,4):(32,1)">'}}
  // expected-error@+1 {{'cute.composition' op failed to infer returned types}}
  %0 = cute.composition(%a, %b) : (!cute.layout<"(8,8):(8,1)">, !cute.layout<"(2,4):(4,1)">) -> !cute.layout<"(2,4):(32,1)">
  return
}
// -----
func.func @more_than_known(%a: !cute.layout<"(8,8):(?,1)">) {
  // expected-error@+2 {{'cute.flatten' op inferred type(s) '!cute.layout<"(8,8):(?,1)">' are incompatible with return type(s) of operation '!cute.layout<"(8,8):(?{div=4},1)">'}}
  // expected-error@+1 {{'cute.flatten' op failed to infer returned types}}
  %0 = cute.flatten(%a) : (!cute.layout<"(8,8):(?,1)">) -> !cute.layout<"(8,8):(?{div=4},1)">
  return
}
// -----
func.func @operand_kinds(%a: !cute.shape<"(8,8)">, %b: !cute.layout<"(2,4):(4,1)">) {
  // expected-error@+2 {{'cute.composition' op takes (layout, composed_layout, view or coord_view; layout, tile or shape), got (shape, layout)}}
  // expected-error@+1 {{'cute.composition' op failed to infer returned types}}
  %0 = cute.composition(%a, %b) : (!cute.shape<"(8,8)">, !cute.layout<"(2,4):(4,1)">) -> !cute.layout<"(2,4):(32,1)">
  return
}
// -----
func.func @operand_type(%a: f32) {
  // expected-error@+2 {{'cute.flatten' op takes values of the cute dialect and integers of 32 or 64 bits, operand 0 is f32}}
  // expected-error@+1 {{'cute.flatten' op failed to infer returned types}}
  %0 = cute.flatten(%a) : (f32) -> !cute.layout<"(2,4):(32,1)">
  return
}
// -----
func.func @algebra(%a: !cute.layout<"(8,8):(8,1)">, %b: !cute.layout<"(2,4):(8,3)">) {
  // expected-error@+2 {{'cute.composition' op composition: mode 1: size 4 at stride 3 is not a multiple of 3, the part of it that fits mode 0 (size 8) of the left operand}}
  // expected-error@+1 {{'cute.composition' op failed to infer returned types}}
  %0 = cute.composition(%a, %b) : (!cute.layout<"(8,8):(8,1)">, !cute.layout<"(2,4):(8,3)">) -> !cute.layout<"(2,4):(32,1)">
  return
}
// -----
func.func @get(%a: !cute.shape<"(8,8)">) {
  // expected-error@+2 {{'cute.get' op has no mode [2] in a tuple of rank 2}}
  // expected-error@+1 {{'cute.get' op failed to infer returned types}}
  %0 = cute.get<[2]>(%a) : !cute.shape<"(8,8)"> -> !cute.shape<"8">
  return
}
// -----
// expected-error@+1 {{parse: expected ',' or ')' at byte 4}}
func.func @type_notation(%a: !cute.layout<"(8,8:(8,1)">)
// -----
// expected-error@+1 {{the cute dialect has no type 'tensor'}}
func.func @type_unknown(%a: !cute.tensor<"(8,8):(8,1)">)
// -----
// expected-error@+1 {{an alignment is a power of two of at least the element's 4 bytes, got 2}}
func.func @type_align(%a: !cute.ptr<f32, gmem, align<2>>)
// -----
// expected-error@+1 {{'tmem' is no memory space: generic, gmem, smem and rmem are}}
func.func @type_space(%a: !cute.ptr<f32, tmem, align<4>>)
// -----
// expected-error@+1 {{'i32' is no element type: f16, bf16, tf32, f32, f64, e4m3, e5m2, s8, u8 and s32 are}}
func.func @type_element(%a: !cute.ptr<i32, gmem, align<4>>)
// -----
// expected-error@+1 {{mma_atom: there is no mma.sync of shape [16, 8, 32] with types f32.f16.f16.f32; there is [16, 8, 8], [16, 8, 16]}}
func.func @type_atom(%a: !cute.mma_atom<"mma.sync.m16n8k32.f32.f16.f16.f32">)
// -----
// expected-error@+1 {{a view's layout has plain strides, those of (8,8):(1@0,1@1) step in coordinates}}
func.func @type_view_basis(%a: !cute.view<f16, gmem, align<16>, "(8,8):(1@0,1@1)">)
// -----
func.func @make_ptr_c1(%a: !llvm.ptr) {
  // expected-error@+1 {{'cute.make_ptr' op C1: registers have no pointers; make_fragment gives a view of them}}
  %0 = cute.make_ptr(%a) : (!llvm.ptr) -> !cute.ptr<f16, rmem, align<16>>
  return
}
// -----
func.func @make_ptr_c2(%a: !llvm.ptr<3>) {
  // expected-error@+1 {{'cute.make_ptr' op C2: a pointer into gmem comes from !llvm.ptr or !llvm.ptr<1>, got !llvm.ptr<3>}}
  %0 = cute.make_ptr(%a) : (!llvm.ptr<3>) -> !cute.ptr<f16, gmem, align<16>>
  return
}
// -----
func.func @alloc_shared_c1() {
  // expected-error@+1 {{'cute.alloc_shared' op C1: gives a pointer into smem}}
  %0 = cute.alloc_shared<64> : !cute.ptr<f16, gmem, align<16>>
  return
}
// -----
func.func @alloc_shared_c2() {
  // expected-error@+1 {{'cute.alloc_shared' op C2: the number of elements is positive, got 0}}
  %0 = cute.alloc_shared<0> : !cute.ptr<f16, smem, align<16>>
  return
}
// -----
func.func @fragment_c1(%a: !cute.view<f16, gmem, align<16>, "(?,4):(1,?{i64})">) {
  // expected-error@+2 {{'cute.make_fragment_like' op needs a static shape, for registers have no addresses; got (?,4)}}
  // expected-error@+1 {{'cute.make_fragment_like' op failed to infer returned types}}
  %0 = cute.make_fragment_like(%a) : (!cute.view<f16, gmem, align<16>, "(?,4):(1,?{i64})">) -> !cute.view<f16, rmem, align<16>, "4:1">
  return
}
// -----
func.func @fragment_element(%a: !cute.layout<"8:1">) {
  // expected-error@+2 {{'cute.make_fragment_like' op needs the element type of a layout's registers: <"f16">}}
  // expected-error@+1 {{'cute.make_fragment_like' op failed to infer returned types}}
  %0 = cute.make_fragment_like(%a) : (!cute.layout<"8:1">) -> !cute.view<f16, rmem, align<16>, "8:1">
  return
}
// -----
func.func @partition_thread(%m: !cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;_;_]">, %v: !cute.view<f32, gmem, align<16>, "(16,8):(8,1)">, %t: !cute.int_tuple<"32">) {
  // expected-error@+2 {{'cute.partition' op has 32 threads, there is no thread 32}}
  // expected-error@+1 {{'cute.partition' op failed to infer returned types}}
  %0 = cute.partition<"C">(%m, %v, %t) : (!cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;_;_]">, !cute.view<f32, gmem, align<16>, "(16,8):(8,1)">, !cute.int_tuple<"32">) -> i32
  return
}
// -----
func.func @partition_operand(%m: !cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;_;_]">, %v: !cute.view<f32, gmem, align<16>, "(16,8):(8,1)">, %t: i32) {
  // expected-error@+2 {{'cute.partition' op names the operand A, B or C of an MMA, got "D"}}
  // expected-error@+1 {{'cute.partition' op failed to infer returned types}}
  %0 = cute.partition<"D">(%m, %v, %t) : (!cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;_;_]">, !cute.view<f32, gmem, align<16>, "(16,8):(8,1)">, i32) -> i32
  return
}
// -----
func.func @local_tile_rank(%v: !cute.view<f16, gmem, align<16>, "(64,64):(64,1)">, %t: !cute.tile<"[16:1;16:1;16:1]">, %c: !cute.coord<"(0,0,_)">) {
  // expected-error@+2 {{'cute.local_tile' op tiles 3 modes of a view of rank 2; list the view's modes of the tile: cute.local_tile<[0, 2]>}}
  // expected-error@+1 {{'cute.local_tile' op failed to infer returned types}}
  %0 = cute.local_tile(%v, %t, %c) : (!cute.view<f16, gmem, align<16>, "(64,64):(64,1)">, !cute.tile<"[16:1;16:1;16:1]">, !cute.coord<"(0,0,_)">) -> i32
  return
}
// -----
func.func @slice_rank(%v: !cute.view<f16, gmem, align<16>, "((8,1),4,1):((1,0),512,0)">, %c: !cute.coord<"(_,?)">) {
  // expected-error@+2 {{'cute.slice' op slice: coordinate (_,?) does not fit the shape ((8,1),4,1)}}
  // expected-error@+1 {{'cute.slice' op failed to infer returned types}}
  %x = cute.slice(%v, %c) : (!cute.view<f16, gmem, align<16>, "((8,1),4,1):((1,0),512,0)">, !cute.coord<"(_,?)">) -> !cute.view<f16, gmem, align<16>, "((8,1),1):((1,0),0)">
  return
}

// -----

func.func @copy_c1(%a: !cute.copy_atom<"universal.128", f16>, %s: !cute.view<f32, gmem, align<16>, "8:1">, %d: !cute.view<f16, rmem, align<16>, "8:1">) {
  // expected-error@+1 {{'cute.copy' op C1: the atom copies f16, the source has f32}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"universal.128", f16>, !cute.view<f32, gmem, align<16>, "8:1">, !cute.view<f16, rmem, align<16>, "8:1">) -> ()
  return
}
// -----
func.func @copy_c2_rank(%a: !cute.copy_atom<"universal.128", f16>, %s: !cute.view<f16, gmem, align<16>, "(8,2):(1,8)">, %d: !cute.view<f16, rmem, align<16>, "8:1">) {
  // expected-error@+1 {{'cute.copy' op C2: the source has rank 2, the destination 1: (8,2):(1,8) and 8:1}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"universal.128", f16>, !cute.view<f16, gmem, align<16>, "(8,2):(1,8)">, !cute.view<f16, rmem, align<16>, "8:1">) -> ()
  return
}
// -----
func.func @copy_c2_size(%a: !cute.copy_atom<"universal.128", f16>, %s: !cute.view<f16, gmem, align<16>, "(8,2):(1,8)">, %d: !cute.view<f16, rmem, align<16>, "(8,4):(1,8)">) {
  // expected-error@+1 {{'cute.copy' op C2: mode 1 has 2 elements in the source and 4 in the destination}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"universal.128", f16>, !cute.view<f16, gmem, align<16>, "(8,2):(1,8)">, !cute.view<f16, rmem, align<16>, "(8,4):(1,8)">) -> ()
  return
}
// -----
func.func @copy_c2_dynamic(%a: !cute.copy_atom<"universal.128", f16>, %s: !cute.view<f16, gmem, align<16>, "(8,?):(1,8)">, %d: !cute.view<f16, rmem, align<16>, "(8,4):(1,8)">) {
  // expected-error@+1 {{'cute.copy' op C2: mode 1 of the source has the dynamic size ?; a copy is unrolled, so loop over that mode and slice it}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"universal.128", f16>, !cute.view<f16, gmem, align<16>, "(8,?):(1,8)">, !cute.view<f16, rmem, align<16>, "(8,4):(1,8)">) -> ()
  return
}
// -----
func.func @copy_c2_atom(%a: !cute.copy_atom<"universal.128", f16>, %s: !cute.view<f16, gmem, align<16>, "4:1">, %d: !cute.view<f16, rmem, align<16>, "4:1">) {
  // expected-error@+1 {{'cute.copy' op C2: universal.128 moves 8 values of the source, its first mode has 4}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"universal.128", f16>, !cute.view<f16, gmem, align<16>, "4:1">, !cute.view<f16, rmem, align<16>, "4:1">) -> ()
  return
}
// -----
func.func @copy_c3(%a: !cute.copy_atom<"cp.async.cg.16", f16>, %s: !cute.view<f16, smem, align<16>, "8:1">, %d: !cute.view<f16, gmem, align<16>, "8:1">) {
  // expected-error@+1 {{'cute.copy' op C3: cp.async.cg.16 copies gmem to smem, got smem to gmem}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"cp.async.cg.16", f16>, !cute.view<f16, smem, align<16>, "8:1">, !cute.view<f16, gmem, align<16>, "8:1">) -> ()
  return
}
// -----
func.func @copy_c4_pointer(%a: !cute.copy_atom<"cp.async.cg.16", f16>, %s: !cute.view<f16, gmem, align<2>, "8:1">, %d: !cute.view<f16, smem, align<16>, "8:1">) {
  // expected-error@+1 {{'cute.copy' op C4: the source accesses 16 bytes at a time, but its pointer is only known to be aligned to 2 bytes; where the alignment is lost, the offset needs a divisor: state align<16> where the pointer is made and {div=8} where an offset enters}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"cp.async.cg.16", f16>, !cute.view<f16, gmem, align<2>, "8:1">, !cute.view<f16, smem, align<16>, "8:1">) -> ()
  return
}
// -----
func.func @copy_c4_stride(%a: !cute.copy_atom<"cp.async.cg.16", f16>, %s: !cute.view<f16, gmem, align<16>, "(8,4):(1,?)">, %d: !cute.view<f16, smem, align<16>, "(8,4):(1,8)">) {
  // expected-error@+1 {{'cute.copy' op C4: the source accesses 16 bytes at a time, but mode 1 steps by ?, which is not known to be a multiple of 8 elements; state {div=8} where that stride enters}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"cp.async.cg.16", f16>, !cute.view<f16, gmem, align<16>, "(8,4):(1,?)">, !cute.view<f16, smem, align<16>, "(8,4):(1,8)">) -> ()
  return
}
// -----
func.func @copy_c4_run(%a: !cute.copy_atom<"cp.async.cg.16", f16>, %s: !cute.view<f16, gmem, align<16>, "(8,4):(4,1)">, %d: !cute.view<f16, smem, align<16>, "(8,4):(1,8)">) {
  // expected-error@+1 {{'cute.copy' op C4: the source accesses 8 elements at a time, but its first mode 8:4 is not a run of 8 neighbours}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"cp.async.cg.16", f16>, !cute.view<f16, gmem, align<16>, "(8,4):(4,1)">, !cute.view<f16, smem, align<16>, "(8,4):(1,8)">) -> ()
  return
}
// -----
func.func @copy_c4_swizzle(%a: !cute.copy_atom<"cp.async.cg.16", f16>, %s: !cute.view<f16, gmem, align<16>, "(8,8):(1,8)">, %d: !cute.view<f16, smem, align<16>, "S<2,2,3> o 0 o (8,8):(1,8)">) {
  // expected-error@+1 {{'cute.copy' op C4: the destination accesses 8 elements at a time, but S<2,2,3> keeps only 4 neighbours together}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"cp.async.cg.16", f16>, !cute.view<f16, gmem, align<16>, "(8,8):(1,8)">, !cute.view<f16, smem, align<16>, "S<2,2,3> o 0 o (8,8):(1,8)">) -> ()
  return
}
// -----
func.func @copy_c4_offset(%a: !cute.copy_atom<"cp.async.cg.16", f16>, %s: !cute.view<f16, gmem, align<16>, "(8,8):(1,8)">, %d: !cute.view<f16, smem, align<16>, "S<2,3,3> o ?{div=4} o (8,8):(1,8)">) {
  // expected-error@+1 {{'cute.copy' op C4: the destination accesses 8 elements at a time, but the offset ?{div=4} under the swizzle is not known to be a multiple of 8}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"cp.async.cg.16", f16>, !cute.view<f16, gmem, align<16>, "(8,8):(1,8)">, !cute.view<f16, smem, align<16>, "S<2,3,3> o ?{div=4} o (8,8):(1,8)">) -> ()
  return
}
// -----
func.func @copy_zfill(%a: !cute.copy_atom<"cp.async.cg.16.zfill", f16>, %s: !cute.view<f16, gmem, align<16>, "8:1">, %d: !cute.view<f16, smem, align<16>, "8:1">) {
  // expected-error@+1 {{'cute.copy' op cp.async.cg.16.zfill writes zeros where its predicate is false, and has none: add 'if %predicate'}}
  cute.copy(%a, %s, %d) : (!cute.copy_atom<"cp.async.cg.16.zfill", f16>, !cute.view<f16, gmem, align<16>, "8:1">, !cute.view<f16, smem, align<16>, "8:1">) -> ()
  return
}
// -----
func.func @fill_c1(%x: f32, %v: !cute.view<f32, smem, align<16>, "8:1">) {
  // expected-error@+1 {{'cute.fill' op C1: the target is a view of registers (rmem), got one of smem}}
  cute.fill(%x, %v) : (f32, !cute.view<f32, smem, align<16>, "8:1">) -> ()
  return
}
// -----
func.func @fill_scalar(%x: f32, %v: !cute.view<f16, rmem, align<16>, "8:1">) {
  // expected-error@+1 {{'cute.fill' op C1: an element of f16 has the type f16, got f32}}
  cute.fill(%x, %v) : (f32, !cute.view<f16, rmem, align<16>, "8:1">) -> ()
  return
}
// -----
func.func @load_c1(%v: !cute.view<f16, gmem, align<16>, "(8,8):(1,8)">, %c: !cute.coord<"(1,2)">) {
  // expected-error@+1 {{'cute.load' op C1: an element of f16 has the type f16, got f32}}
  %0 = cute.load(%v, %c) : (!cute.view<f16, gmem, align<16>, "(8,8):(1,8)">, !cute.coord<"(1,2)">) -> f32
  return
}
// -----
func.func @load_c2_open(%v: !cute.view<f16, gmem, align<16>, "(8,8):(1,8)">, %c: !cute.coord<"(1,_)">) {
  // expected-error@+1 {{'cute.load' op C2: the coordinate (1,_) leaves a mode open; slice the view instead}}
  %0 = cute.load(%v, %c) : (!cute.view<f16, gmem, align<16>, "(8,8):(1,8)">, !cute.coord<"(1,_)">) -> f16
  return
}
// -----
func.func @store_c2_rank(%x: f16, %v: !cute.view<f16, gmem, align<16>, "(8,8):(1,8)">, %c: !cute.coord<"(1,2,3)">) {
  // expected-error@+1 {{'cute.store' op C2: layout: coordinate (1,2,3) does not fit the shape (8,8)}}
  cute.store(%x, %v, %c) : (f16, !cute.view<f16, gmem, align<16>, "(8,8):(1,8)">, !cute.coord<"(1,2,3)">) -> ()
  return
}
// -----
func.func @convert_c2(%a: !cute.view<f32, rmem, align<16>, "8:1">, %b: !cute.view<f16, rmem, align<16>, "4:1">) {
  // expected-error@+1 {{'cute.convert' op C2: the source has 8 elements, the destination 4}}
  cute.convert(%a, %b) : (!cute.view<f32, rmem, align<16>, "8:1">, !cute.view<f16, rmem, align<16>, "4:1">) -> ()
  return
}
// -----
func.func @convert_c3(%a: !cute.view<f32, rmem, align<16>, "8:1">, %b: !cute.view<s32, rmem, align<16>, "8:1">) {
  // expected-error@+1 {{'cute.convert' op C3: converts float types, got f32 to s32}}
  cute.convert(%a, %b) : (!cute.view<f32, rmem, align<16>, "8:1">, !cute.view<s32, rmem, align<16>, "8:1">) -> ()
  return
}
// -----
!mma = !cute.mma_atom<"mma.sync.m16n8k16.f32.f16.f16.f32">
!a = !cute.view<f16, rmem, align<16>, "(8,2):(1,8)">
!b = !cute.view<f16, rmem, align<16>, "(4,2):(1,4)">
!c = !cute.view<f32, rmem, align<16>, "(4,2,2):(1,4,8)">
!d = !cute.view<f32, rmem, align<16>, "(4,2,2):(1,8,4)">
func.func @gemm_c1(%m: !mma, %d: !d, %a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{'cute.gemm' op C1: D and C have one layout, got (4,2,2):(1,8,4) and (4,2,2):(1,4,8)}}
  cute.gemm(%m, %d, %a, %b, %c) : (!mma, !d, !a, !b, !c) -> ()
  return
}
// -----
!mma = !cute.mma_atom<"mma.sync.m16n8k16.f32.f16.f16.f32">
!a = !cute.view<bf16, rmem, align<16>, "(8,2):(1,8)">
!b = !cute.view<f16, rmem, align<16>, "(4,2):(1,4)">
!c = !cute.view<f32, rmem, align<16>, "(4,2,2):(1,4,8)">
func.func @gemm_c2(%m: !mma, %a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{'cute.gemm' op C2: A of mma.sync.m16n8k16.f32.f16.f16.f32 is f16, got bf16}}
  cute.gemm(%m, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  return
}
// -----
!mma = !cute.mma_atom<"mma.sync.m16n8k16.f32.f16.f16.f32">
!a = !cute.view<f16, rmem, align<16>, "(4,2):(1,8)">
!b = !cute.view<f16, rmem, align<16>, "(4,2):(1,4)">
!c = !cute.view<f32, rmem, align<16>, "(4,2,2):(1,4,8)">
func.func @gemm_c3(%m: !mma, %a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{'cute.gemm' op C3: A of mma.sync.m16n8k16.f32.f16.f16.f32 has 8 values in its first mode, got (4,2):(1,8)}}
  cute.gemm(%m, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  return
}
// -----
!mma = !cute.mma_atom<"mma.sync.m16n8k16.f32.f16.f16.f32">
!a = !cute.view<f16, rmem, align<16>, "(8,3):(1,8)">
!b = !cute.view<f16, rmem, align<16>, "(4,2):(1,4)">
!c = !cute.view<f32, rmem, align<16>, "(4,2,2):(1,4,8)">
func.func @gemm_c4(%m: !mma, %a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{'cute.gemm' op C4: needs C (values, M, N), A (values, M, K) and B (values, N, K), got sizes [4, 2, 2], [8, 3] and [4, 2]}}
  cute.gemm(%m, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  return
}
// -----
!mma = !cute.mma_atom<"wgmma.m64n64k16.f32.f16.f16.ss.k.k">
!s = !cute.view<f16, smem, align<128>, "S<3,3,3> o 0 o (64,16):(72,1)">
func.func @descriptor_c1(%m: !mma, %s: !s) {
  // expected-error@+1 {{'cute.descriptor' op C1: matrix descriptor: mode 0.0: there is no descriptor with stride 9 there (in 16-byte units); there is stride 8}}
  %0 = cute.descriptor<"A">(%m, %s) : (!mma, !s) -> i64
  return
}
// -----
!mma = !cute.mma_atom<"wgmma.m64n64k16.f32.f16.f16.rs.k">
!s = !cute.view<f16, smem, align<128>, "S<3,3,3> o 0 o (64,16):(64,1)">
func.func @descriptor_c2(%m: !mma, %s: !s) {
  // expected-error@+1 {{'cute.descriptor' op C2: wgmma.m64n64k16.f32.f16.f16.rs.k does not take the operand "A" from shared memory}}
  %0 = cute.descriptor<"A">(%m, %s) : (!mma, !s) -> i64
  return
}
// -----
!mma = !cute.mma_atom<"wgmma.m64n8k16.f32.f16.f16.ss.k.k">
!a = !cute.view<f16, smem, align<128>, "S<3,3,3> o 0 o ((64,16),1):((64,1),0)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((8,16),1):((64,1),0)">
!c = !cute.view<f32, rmem, align<16>, "(4,1,1):(1,4,4)">
func.func @gemm_c2_alignment(%m: !mma, %a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{'cute.gemm' op C2: A is swizzled in patterns of 1024 bytes, and its pointer is only known to be aligned to 128: state align<1024>}}
  cute.gemm(%m, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  return
}
// -----
!mma = !cute.mma_atom<"wgmma.m64n8k16.f32.f16.f16.ss.k.k">
!a = !cute.view<f16, rmem, align<16>, "((64,16),1):((64,1),0)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((8,16),1):((64,1),0)">
!c = !cute.view<f32, rmem, align<16>, "(4,1,1):(1,4,4)">
func.func @gemm_c2_space(%m: !mma, %a: !a, %b: !b, %c: !c) {
  // expected-error@+1 {{'cute.gemm' op C2: wgmma.m64n8k16.f32.f16.f16.ss.k.k takes A from smem, got rmem}}
  cute.gemm(%m, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  return
}
// -----

func.func @tma_c1_space(%map: !llvm.ptr, %at: !cute.int_tuple<"(0,0)">, %v: !cute.view<f16, gmem, align<128>, "(64,64):(64,1)">, %bar: !llvm.ptr<3>) {
  // expected-error@+1 {{'cute.tma_load' op C1: copies between a tensor and smem, got gmem}}
  cute.tma_load(%map, %at, %v, %bar) : (!llvm.ptr, !cute.int_tuple<"(0,0)">, !cute.view<f16, gmem, align<128>, "(64,64):(64,1)">, !llvm.ptr<3>) -> ()
  return
}

// -----

func.func @tma_c1_compact(%map: !llvm.ptr, %at: !cute.int_tuple<"(0,0)">, %v: !cute.view<f16, smem, align<128>, "(64,64):(72,1)">, %bar: !llvm.ptr<3>) {
  // expected-error@+1 {{'cute.tma_load' op C1: tma: mode 0: there is no box with stride 72 there; there is the compact stride 64}}
  cute.tma_load(%map, %at, %v, %bar) : (!llvm.ptr, !cute.int_tuple<"(0,0)">, !cute.view<f16, smem, align<128>, "(64,64):(72,1)">, !llvm.ptr<3>) -> ()
  return
}

// -----

func.func @tma_c2(%map: !llvm.ptr, %at: !cute.int_tuple<"(0,0)">, %v: !cute.view<f16, smem, align<128>, "S<3,3,3> o 0 o (64,64):(64,1)">) {
  // expected-error@+1 {{'cute.tma_store' op C2: a box starts at a multiple of 1024 bytes, and its pointer is only known to be aligned to 128: state align<1024>}}
  cute.tma_store(%map, %at, %v) : (!llvm.ptr, !cute.int_tuple<"(0,0)">, !cute.view<f16, smem, align<128>, "S<3,3,3> o 0 o (64,64):(64,1)">) -> ()
  return
}

// -----

func.func @tma_c3(%map: !llvm.ptr, %at: !cute.int_tuple<"(0,0,0)">, %v: !cute.view<f16, smem, align<128>, "(64,64):(64,1)">) {
  // expected-error@+1 {{'cute.tma_store' op C3: the coordinate has 2 integers of 32 bits, one for each mode, got 3}}
  cute.tma_store(%map, %at, %v) : (!llvm.ptr, !cute.int_tuple<"(0,0,0)">, !cute.view<f16, smem, align<128>, "(64,64):(64,1)">) -> ()
  return
}

// -----

func.func @tma_c4(%map: !llvm.ptr, %at: !cute.int_tuple<"(0,0)">, %v: !cute.view<f16, smem, align<128>, "(64,64):(64,1)">, %bar: !llvm.ptr) {
  // expected-error@+1 {{'cute.tma_load' op C4: operand 3 is an !llvm.ptr<3>, got !llvm.ptr}}
  cute.tma_load(%map, %at, %v, %bar) : (!llvm.ptr, !cute.int_tuple<"(0,0)">, !cute.view<f16, smem, align<128>, "(64,64):(64,1)">, !llvm.ptr) -> ()
  return
}

// -----

func.func @tma_c5(%map: !llvm.ptr, %at: !cute.int_tuple<"(0,0)">, %v: !cute.view<f16, smem, align<128>, "(64,64):(64,1)">) {
  // expected-error@+1 {{'cute.tma_store' op C5: combines by add, min, max, and, or, xor, got "mul"}}
  cute.tma_store<"mul">(%map, %at, %v) : (!llvm.ptr, !cute.int_tuple<"(0,0)">, !cute.view<f16, smem, align<128>, "(64,64):(64,1)">) -> ()
  return
}
