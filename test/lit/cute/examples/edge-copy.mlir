// Copies a matrix of any number of rows, and of columns that are a multiple of 8, through shared memory: tiles of (16,64) by cp.async, which writes zeros for what lies beyond the matrix, and back with the widest
// stores, which leave out what does. Which element is where is said once more by an identity view, tiled and partitioned like the data.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s
// PARSED: cute.make_identity_view
// PARSED: cute.widest_copy
// CHECK-LABEL: llvm.func @edges
// CHECK: %[[INSIDE:.*]] = arith.andi
// CHECK: arith.select %[[INSIDE]]
// CHECK: cp.async.cg.shared.global [$0], [$1], 16, $2;
// CHECK: scf.if %[[INSIDE]]
// CHECK: llvm.store %{{.*}} : vector<4xi32>
// CHECK-NOT: cute.{{[a-z]}}

!size = !cute.shape<"(?{min=0,max=65536},?{div=8,min=0,max=65536})">
!row = !cute.stride<"(?{div=8,min=0,max=65536},1)">
!layout = !cute.layout<"(?{min=0,max=65536},?{div=8,min=0,max=65536}):(?{div=8,min=0,max=65536},1)">
!p = !cute.ptr<f16, gmem, align<16>>
!matrix = !cute.view<f16, gmem, align<16>, "(?{min=0,max=65536},?{div=8,min=0,max=65536}):(?{div=8,min=0,max=65536},1)">
!id = !cute.coord_view<"(0,0)", "(?{min=0,max=65536},?{div=8,min=0,max=65536}):(1@0,1@1)">
!tile = !cute.tile<"[16:1;64:1]">
!at = !cute.coord<"(?{min=0,max=4095},?{min=0,max=1023})">
!gTile = !cute.view<f16, gmem, align<16>, "(16,64):(?{div=8,min=0,max=65536},1)">
!cTile = !cute.coord_view<"(?{div=16,min=0,max=65520},?{div=64,min=0,max=65472})", "(16,64):(1@0,1@1)">
!sp = !cute.ptr<f16, smem, align<128>>
!sl = !cute.layout<"(16,64):(64,1)">
!sTile = !cute.view<f16, smem, align<128>, "(16,64):(64,1)">
!load = !cute.copy_atom<"cp.async.cg.16.zfill", f16>
!threads = !cute.layout<"(16,8):(8,1)">
!values = !cute.layout<"(1,8):(0,1)">
!tiled = !cute.tiled_copy<"cp.async.cg.16.zfill", f16, "((8,16),8):((128,1),16)", "(16,64)">
!gPart = !cute.view<f16, gmem, align<16>, "((8,1),1,1):((1,0),0,0)">
!sPart = !cute.view<f16, smem, align<16>, "((8,1),1,1):((1,0),0,0)">
!cPart = !cute.coord_view<"(?{min=0,max=65535},?{div=8,min=0,max=65528})", "((8,1),1,1):((1@1,0),0,0)">
!origin = !cute.coord<"(0,0,0)">
!mine = !cute.int_tuple<"(?{min=0,max=65535},?{div=8,min=0,max=65528})">
!widest = !cute.copy_atom<"universal.128", f16>

llvm.func @edges(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>, %rows: i32, %columns: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %i = nvvm.read.ptx.sreg.ctaid.x : i32
  %j = nvvm.read.ptx.sreg.ctaid.y : i32
  %size = cute.make_shape(%rows, %columns) : (i32, i32) -> !size
  %row = cute.make_stride(%columns) : (i32) -> !row
  %layout = cute.make_layout(%size, %row) : (!size, !row) -> !layout
  %pIn = cute.make_ptr(%from) : (!llvm.ptr<1>) -> !p
  %pOut = cute.make_ptr(%to) : (!llvm.ptr<1>) -> !p
  %in = cute.make_view(%pIn, %layout) : (!p, !layout) -> !matrix
  %out = cute.make_view(%pOut, %layout) : (!p, !layout) -> !matrix
  %id = cute.make_identity_view(%size) : !size -> !id

  %tile = cute.static : !tile
  %at = cute.make_coord(%i, %j) : (i32, i32) -> !at
  %gIn = cute.local_tile(%in, %tile, %at) : (!matrix, !tile, !at) -> !gTile
  %gOut = cute.local_tile(%out, %tile, %at) : (!matrix, !tile, !at) -> !gTile
  %coords = cute.local_tile(%id, %tile, %at) : (!id, !tile, !at) -> !cTile
  %sp = cute.alloc_shared<1024> : !sp
  %sl = cute.static : !sl
  %s = cute.make_view(%sp, %sl) : (!sp, !sl) -> !sTile

  %load = cute.static : !load
  %threads = cute.static : !threads
  %values = cute.static : !values
  %tiled = cute.make_tiled_copy(%load, %threads, %values) : (!load, !threads, !values) -> !tiled
  %myIn = cute.partition<"S">(%tiled, %gIn, %tid) : (!tiled, !gTile, i32) -> !gPart
  %myOut = cute.partition<"S">(%tiled, %gOut, %tid) : (!tiled, !gTile, i32) -> !gPart
  %myS = cute.partition<"D">(%tiled, %s, %tid) : (!tiled, !sTile, i32) -> !sPart
  %myCoords = cute.partition<"S">(%tiled, %coords, %tid) : (!tiled, !cTile, i32) -> !cPart
  // A thread copies 8 elements, which are all within the matrix or all beyond it.
  %origin = cute.static : !origin
  %mine = cute.get_coord(%myCoords, %origin) : (!cPart, !origin) -> !mine
  %inside = cute.elem_less(%mine, %size) : (!mine, !size) -> i1
  cute.copy(%tiled, %myIn, %myS) if %inside : (!tiled, !gPart, !sPart) -> ()
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 0

  // A thread stores what it loaded, so that no barrier is needed between.
  %widest = cute.widest_copy(%myS, %myOut) : (!sPart, !gPart) -> !widest
  cute.store_within(%widest, %myS, %myOut, %myCoords, %size) : (!widest, !sPart, !gPart, !cPart, !size) -> ()
  llvm.return
}
