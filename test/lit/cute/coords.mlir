// Views of coordinates: tiled, partitioned and sliced as the data is, so that each thread knows where its elements are.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s --check-prefix=LOWERED

!id = !cute.coord_view<"(0,0)", "(?{min=0,max=1000},64):(1@0,1@1)">
!size = !cute.shape<"(?{min=0,max=1000},64)">

// CHECK-LABEL: @coordinates
// LOWERED-LABEL: @coordinates
func.func @coordinates(%m: i32, %i: i32, %tid: i32) -> (i1, i32, i32) {
  %size = cute.make_shape(%m) : (i32) -> !size
  // CHECK: cute.make_identity_view(%{{.*}}) : !cute.shape<"(?{min=0,max=1000},64)"> -> !cute.coord_view<"(0,0)", "(?{min=0,max=1000},64):(1@0,1@1)">
  %id = cute.make_identity_view(%size) : !size -> !id
  %tile = cute.static : !cute.tile<"[32:1;32:1]">
  %at = cute.make_coord(%i) : (i32) -> !cute.coord<"(?{min=0,max=31},_)">
  // CHECK: cute.local_tile(%{{.*}}) : (!cute.coord_view<{{.*}}>, !cute.tile<"[32:1;32:1]">, !cute.coord<"(?{min=0,max=31},_)">) -> !cute.coord_view<"(?{div=32,min=0,max=992},0)", "(32,32,2):(1@0,1@1,32@1)">
  %strip = cute.local_tile(%id, %tile, %at) : (!id, !cute.tile<"[32:1;32:1]">, !cute.coord<"(?{min=0,max=31},_)">) -> !cute.coord_view<"(?{div=32,min=0,max=992},0)", "(32,32,2):(1@0,1@1,32@1)">
  %second = cute.static : !cute.coord<"(_,_,1)">
  // CHECK: cute.slice(%{{.*}}) : (!cute.coord_view<{{.*}}>, !cute.coord<"(_,_,1)">) -> !cute.coord_view<"(?{div=32,min=0,max=992},32)", "(32,32):(1@0,1@1)">
  %block = cute.slice(%strip, %second) : (!cute.coord_view<"(?{div=32,min=0,max=992},0)", "(32,32,2):(1@0,1@1,32@1)">, !cute.coord<"(_,_,1)">) -> !cute.coord_view<"(?{div=32,min=0,max=992},32)", "(32,32):(1@0,1@1)">
  %copy = cute.static : !cute.tiled_copy<"universal.128", f16, "((4,8),8):((64,1),8)", "(8,32)">
  // The rows and columns of a thread's vectors.
  // CHECK: cute.partition<"S">{{ ?}}(%{{.*}}) : ({{.*}}, i32) -> !cute.coord_view<"(?{min=0,max=999},?{div=8,min=32,max=56})", "((8,1),4,1):((1@1,0),8@0,0)">
  %mine = cute.partition<"S">(%copy, %block, %tid) : (!cute.tiled_copy<"universal.128", f16, "((4,8),8):((64,1),8)", "(8,32)">, !cute.coord_view<"(?{div=32,min=0,max=992},32)", "(32,32):(1@0,1@1)">, i32) -> !cute.coord_view<"(?{min=0,max=999},?{div=8,min=32,max=56})", "((8,1),4,1):((1@1,0),8@0,0)">
  %where = cute.static : !cute.coord<"(0,3,0)">
  // CHECK: cute.get_coord(%{{.*}}, %{{.*}}) : ({{.*}}) -> !cute.int_tuple<"(?{min=24,max=1023},?{div=8,min=32,max=56})">
  %found = cute.get_coord(%mine, %where) : (!cute.coord_view<"(?{min=0,max=999},?{div=8,min=32,max=56})", "((8,1),4,1):((1@1,0),8@0,0)">, !cute.coord<"(0,3,0)">) -> !cute.int_tuple<"(?{min=24,max=1023},?{div=8,min=32,max=56})">
  // Columns are known to be inside: only rows are compared.
  // CHECK: cute.elem_less
  // LOWERED: arith.cmpi slt, %{{.*}}, %arg0 : i32
  %inside = cute.elem_less(%found, %size) : (!cute.int_tuple<"(?{min=24,max=1023},?{div=8,min=32,max=56})">, !size) -> i1
  %row, %column = cute.get_scalars(%found) : (!cute.int_tuple<"(?{min=24,max=1023},?{div=8,min=32,max=56})">) -> (i32, i32)
  return %inside, %row, %column : i1, i32, i32
}

// CHECK-LABEL: @starts
func.func @starts(%i: i32) -> i32 {
  %start = cute.make_int_tuple(%i) : (i32) -> !cute.int_tuple<"(?{div=4,min=0,max=100},0,5)">
  %layout = cute.static : !cute.layout<"(2,3):(1@2,2@0)">
  // CHECK: cute.make_coord_view(%{{.*}}) : ({{.*}}) -> !cute.coord_view<"(?{div=4,min=0,max=100},0,5)", "(2,3):(1@2,2@0)">
  %view = cute.make_coord_view(%start, %layout) : (!cute.int_tuple<"(?{div=4,min=0,max=100},0,5)">, !cute.layout<"(2,3):(1@2,2@0)">) -> !cute.coord_view<"(?{div=4,min=0,max=100},0,5)", "(2,3):(1@2,2@0)">
  // CHECK: cute.get_layout
  %same = cute.get_layout(%view) : !cute.coord_view<"(?{div=4,min=0,max=100},0,5)", "(2,3):(1@2,2@0)"> -> !cute.layout<"(2,3):(1@2,2@0)">
  %last = cute.static : !cute.coord<"(1,2)">
  // CHECK: cute.get_coord(%{{.*}}) : ({{.*}}) -> !cute.int_tuple<"(?{div=4,min=4,max=104},0,6)">
  %at = cute.get_coord(%view, %last) : (!cute.coord_view<"(?{div=4,min=0,max=100},0,5)", "(2,3):(1@2,2@0)">, !cute.coord<"(1,2)">) -> !cute.int_tuple<"(?{div=4,min=4,max=104},0,6)">
  %n:3 = cute.get_scalars(%at) : (!cute.int_tuple<"(?{div=4,min=4,max=104},0,6)">) -> (i32, i32, i32)
  return %n#0 : i32
}
