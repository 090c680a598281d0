// Tiles that stick out of a matrix: CTAs of 128 threads bring (32,64) tiles of an (m,n) matrix to shared memory by cp.async, with zeros where the matrix has ended, and store them whole.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-fold-static --cute-expand --cute-to-nvvm --canonicalize --cse %s | FileCheck %s
// PARSED: cute.load_within
// CHECK-LABEL: llvm.func @edge
// CHECK: %[[INSIDE:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// CHECK: %[[LEFT:.*]] = arith.minsi %{{.*}}, %{{.*}} : i32
// CHECK: %[[BYTES:.*]] = arith.muli %[[LEFT]], %{{.*}} : i32
// CHECK: %[[FROM:.*]] = llvm.select %[[INSIDE]], %{{.*}}, %{{.*}} : i1, !llvm.ptr<1>
// CHECK: %[[FILLED:.*]] = arith.select %[[INSIDE]], %[[BYTES]], %{{.*}} : i32
// CHECK: "cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r,~{memory}" %{{.*}}, %[[FROM]], %[[FILLED]]
// CHECK-NOT: cute.

!shape = !cute.shape<"(?{min=0,max=65536},?{min=0,max=65536})">
!row = !cute.stride<"(?{div=8,min=8,max=65536},1)">
!layout = !cute.layout<"(?{min=0,max=65536},?{min=0,max=65536}):(?{div=8,min=8,max=65536},1)">
!p = !cute.ptr<f16, gmem, align<16>>
!matrix = !cute.view<f16, gmem, align<16>, "(?{min=0,max=65536},?{min=0,max=65536}):(?{div=8,min=8,max=65536},1)">
!tile = !cute.tile<"[32:1;64:1]">
!at = !cute.coord<"(?{min=0,max=2047},?{min=0,max=1023})">
!gA = !cute.view<f16, gmem, align<16>, "(32,64):(?{div=8,min=8,max=65536},1)">
!everywhere = !cute.coord_view<"(0,0)", "(?{min=0,max=65536},?{min=0,max=65536}):(1@0,1@1)">
!cA = !cute.coord_view<"(?{div=32,min=0,max=65504},?{div=64,min=0,max=65472})", "(32,64):(1@0,1@1)">
!sp = !cute.ptr<f16, smem, align<128>>
!sl = !cute.composed_layout<"S<3,3,3> o 0 o (32,64):(64,1)">
!sA = !cute.view<f16, smem, align<128>, "S<3,3,3> o 0 o (32,64):(64,1)">
!threads = !cute.layout<"(16,8):(8,1)">
!values = !cute.layout<"(1,8):(0,1)">
!in = !cute.copy_atom<"cp.async.cg.16", f16>
!load = !cute.tiled_copy<"cp.async.cg.16", f16, "((8,16),8):((128,1),16)", "(16,64)">
!mine = !cute.view<f16, gmem, align<16>, "((8,1),2,1):((1,0),?{div=128,min=128,max=1048576},0)">
!mineAt = !cute.coord_view<"(?{min=0,max=65519},?{div=8,min=0,max=65528})", "((8,1),2,1):((1@1,0),16@0,0)">
!there = !cute.view<f16, smem, align<128>, "S<3,3,3> o ?{div=8,min=0,max=1016} o ((8,1),2,1):((1,0),1024,0)">
!wide = !cute.stride<"(?{div=64,min=64,max=65600},1)">
!padded = !cute.layout<"(?{min=0,max=65536},?{min=0,max=65536}):(?{div=64,min=64,max=65600},1)">
!result = !cute.view<f16, gmem, align<16>, "(?{min=0,max=65536},?{min=0,max=65536}):(?{div=64,min=64,max=65600},1)">
!gC = !cute.view<f16, gmem, align<16>, "(32,64):(?{div=64,min=64,max=65600},1)">
!out = !cute.copy_atom<"universal.128", f16>
!store = !cute.tiled_copy<"universal.128", f16, "((8,16),8):((128,1),16)", "(16,64)">
!written = !cute.view<f16, gmem, align<16>, "((8,1),2,1):((1,0),?{div=1024,min=1024,max=1049600},0)">

llvm.func @edge(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>, %m: i32, %n: i32, %pitch: i32, %width: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %bm = nvvm.read.ptx.sreg.ctaid.x : i32
  %bn = nvvm.read.ptx.sreg.ctaid.y : i32

  // This CTA's tile of the matrix, whose rows are a multiple of 16 bytes apart. Its sizes are anything.
  %source = cute.make_ptr(%from) : (!llvm.ptr<1>) -> !p
  %shape = cute.make_shape(%m, %n) : (i32, i32) -> !shape
  %rows = cute.make_stride(%pitch) : (i32) -> !row
  %layout = cute.make_layout(%shape, %rows) : (!shape, !row) -> !layout
  %matrix = cute.make_view(%source, %layout) : (!p, !layout) -> !matrix
  %tile = cute.static : !tile
  %at = cute.make_coord(%bm, %bn) : (i32, i32) -> !at
  %gA = cute.local_tile(%matrix, %tile, %at) : (!matrix, !tile, !at) -> !gA

  // Where the elements of the tile are: the identity, tiled as the matrix is.
  %everywhere = cute.make_identity_view(%shape) : !shape -> !everywhere
  %cA = cute.local_tile(%everywhere, %tile, %at) : (!everywhere, !tile, !at) -> !cA

  // One thread's part of the three of them.
  %sp = cute.alloc_shared<2048> : !sp
  %sl = cute.static : !sl
  %sA = cute.make_view(%sp, %sl) : (!sp, !sl) -> !sA
  %threads = cute.static : !threads
  %values = cute.static : !values
  %in = cute.static : !in
  %load = cute.make_tiled_copy(%in, %threads, %values) : (!in, !threads, !values) -> !load
  %mine = cute.partition<"S">(%load, %gA, %tid) : (!load, !gA, i32) -> !mine
  %mine_at = cute.partition<"S">(%load, %cA, %tid) : (!load, !cA, i32) -> !mineAt
  %there = cute.partition<"D">(%load, %sA, %tid) : (!load, !sA, i32) -> !there

  // What is outside of the matrix is not read.
  cute.load_within(%load, %mine, %there, %mine_at, %shape) : (!load, !mine, !there, !mineAt, !shape) -> ()
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0
  nvvm.barrier0

  // The whole tile goes out, to a matrix of whole tiles.
  %target = cute.make_ptr(%to) : (!llvm.ptr<1>) -> !p
  %wide = cute.make_stride(%width) : (i32) -> !wide
  %padded = cute.make_layout(%shape, %wide) : (!shape, !wide) -> !padded
  %result = cute.make_view(%target, %padded) : (!p, !padded) -> !result
  %gC = cute.local_tile(%result, %tile, %at) : (!result, !tile, !at) -> !gC
  %out = cute.static : !out
  %store = cute.make_tiled_copy(%out, %threads, %values) : (!out, !threads, !values) -> !store
  %read = cute.partition<"S">(%store, %sA, %tid) : (!store, !sA, i32) -> !there
  %written = cute.partition<"D">(%store, %gC, %tid) : (!store, !gC, i32) -> !written
  cute.copy(%store, %read, %written) : (!store, !there, !written) -> ()
  llvm.return
}
