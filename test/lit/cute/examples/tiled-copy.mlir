// A tiled copy: 128 threads move a (64,64) tile of a row-major matrix to another, transposed in shared memory.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s
// PARSED: cute.make_tiled_copy
// CHECK: llvm.mlir.global internal @__cute_shared_0() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<4096 x i16>
// CHECK-LABEL: llvm.func @transpose
// CHECK-COUNT-4: cp.async.cg.shared.global [$0], [$1], 16;
// CHECK: nvvm.barrier
// CHECK-NOT: cute.

!p = !cute.ptr<f16, gmem, align<16>>
!shape = !cute.shape<"(?{div=64,min=64,max=65536},?{div=64,min=64,max=65536})">
!stride = !cute.stride<"(?{div=64,min=64,max=65536},1)">
!layout = !cute.layout<"(?{div=64,min=64,max=65536},?{div=64,min=64,max=65536}):(?{div=64,min=64,max=65536},1)">
!src = !cute.view<f16, gmem, align<16>, "(?{div=64,min=64,max=65536},?{div=64,min=64,max=65536}):(?{div=64,min=64,max=65536},1)">
!tiler = !cute.tile<"[64:1;64:1]">
!at = !cute.coord<"(?{min=0,max=1023},?{min=0,max=1023})">
!tile = !cute.view<f16, gmem, align<16>, "(64,64):(?{div=64,min=64,max=65536},1)">
!buffer = !cute.ptr<f16, smem, align<128>>
!rowwise = !cute.composed_layout<"S<3,3,3> o 0 o (64,64):(64,1)">
!columnwise = !cute.composed_layout<"S<3,3,3> o 0 o (64,64):(1,64)">
!shared = !cute.view<f16, smem, align<128>, "S<3,3,3> o 0 o (64,64):(64,1)">
!turned = !cute.view<f16, smem, align<128>, "S<3,3,3> o 0 o (64,64):(1,64)">
!threads = !cute.layout<"(16,8):(8,1)">
!values = !cute.layout<"(1,8):(0,1)">
!in = !cute.copy_atom<"cp.async.cg.16", f16>
!load = !cute.tiled_copy<"cp.async.cg.16", f16, "((8,16),8):((128,1),16)", "(16,64)">
!mine = !cute.view<f16, gmem, align<16>, "((8,1),4,1):((1,128),?{div=1024,min=1024,max=1048576},64)">
!there = !cute.view<f16, smem, align<128>, "S<3,3,3> o ?{div=8,min=0,max=1016} o ((8,1),4,1):((1,128),1024,64)">
!gather = !cute.copy_atom<"universal.16", f16>
!out = !cute.copy_atom<"universal.128", f16>
!store = !cute.tiled_copy<"universal.128", f16, "((8,16),8):((128,1),16)", "(16,64)">
!column = !cute.view<f16, smem, align<128>, "S<3,3,3> o ?{min=0,max=3599} o ((8,1),4,1):((64,8192),16,4096)">
!regs = !cute.view<f16, rmem, align<16>, "((8,1),4,1):((1,8),8,32)">

llvm.func @transpose(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>, %rows: i32, %columns: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %bx = nvvm.read.ptx.sreg.ctaid.x : i32
  %by = nvvm.read.ptx.sreg.ctaid.y : i32

  // Only the dynamic leaves are values. What is known about them is stated where they enter, and goes on from there.
  %p = cute.make_ptr(%from) : (!llvm.ptr<1>) -> !p
  %q = cute.make_ptr(%to) : (!llvm.ptr<1>) -> !p
  %shape = cute.make_shape(%rows, %columns) : (i32, i32) -> !shape
  %stride = cute.make_stride(%columns) : (i32) -> !stride
  %shapeT = cute.make_shape(%columns, %rows) : (i32, i32) -> !shape
  %strideT = cute.make_stride(%rows) : (i32) -> !stride
  %layout = cute.make_layout(%shape, %stride) : (!shape, !stride) -> !layout
  %layoutT = cute.make_layout(%shapeT, %strideT) : (!shape, !stride) -> !layout
  %src = cute.make_view(%p, %layout) : (!p, !layout) -> !src
  %dst = cute.make_view(%q, %layoutT) : (!p, !layout) -> !src

  // This CTA's tile of both.
  %tiler = cute.static : !tiler
  %at = cute.make_coord(%bx, %by) : (i32, i32) -> !at
  %atT = cute.make_coord(%by, %bx) : (i32, i32) -> !at
  %tile = cute.local_tile(%src, %tiler, %at) : (!src, !tiler, !at) -> !tile
  %tileT = cute.local_tile(%dst, %tiler, %atT) : (!src, !tiler, !at) -> !tile

  // The tile in shared memory, swizzled against bank conflicts, and the same memory read the other way round.
  %buffer = cute.alloc_shared<4096> : !buffer
  %rowwise = cute.static : !rowwise
  %columnwise = cute.static : !columnwise
  %shared = cute.make_view(%buffer, %rowwise) : (!buffer, !rowwise) -> !shared
  %turned = cute.make_view(%buffer, %columnwise) : (!buffer, !columnwise) -> !turned

  // 16 rows of 8 threads, 8 neighbours a thread: one pass copies (16,64).
  %threads = cute.static : !threads
  %values = cute.static : !values
  %in = cute.static : !in
  %load = cute.make_tiled_copy(%in, %threads, %values) : (!in, !threads, !values) -> !load
  %mine = cute.partition<"S">(%load, %tile, %tid) : (!load, !tile, i32) -> !mine
  %there = cute.partition<"D">(%load, %shared, %tid) : (!load, !shared, i32) -> !there
  cute.copy(%load, %mine, %there) : (!load, !mine, !there) -> ()
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  nvvm.barrier0

  // Out through registers: each thread gathers 8 elements of a column and stores them as one row of the result.
  %gather = cute.static : !gather
  %out = cute.static : !out
  %store = cute.make_tiled_copy(%out, %threads, %values) : (!out, !threads, !values) -> !store
  %column = cute.partition<"S">(%store, %turned, %tid) : (!store, !turned, i32) -> !column
  %result = cute.partition<"D">(%store, %tileT, %tid) : (!store, !tile, i32) -> !mine
  %regs = cute.make_fragment_like(%column) : (!column) -> !regs
  cute.copy(%gather, %column, %regs) : (!gather, !column, !regs) -> ()
  cute.copy(%store, %regs, %result) : (!store, !regs, !mine) -> ()
  llvm.return
}
