// Every operation, parsed and printed.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s

// CHECK-LABEL: @constructors
func.func @constructors(%i: i32, %j: i64, %one: !cute.int_tuple<"?">) {
  // CHECK: cute.make_coord(%{{.*}}) : (i32) -> !cute.coord<"(?,_)">
  %c = cute.make_coord(%i) : (i32) -> !cute.coord<"(?,_)">
  // CHECK: cute.make_int_tuple(%{{.*}}, %{{.*}}) : (i32, !cute.int_tuple<"?">) -> !cute.int_tuple<"(?,(2,?))">
  %t = cute.make_int_tuple(%i, %one) : (i32, !cute.int_tuple<"?">) -> !cute.int_tuple<"(?,(2,?))">
  // CHECK: cute.make_shape(%{{.*}}) : (i32) -> !cute.shape<"(?{div=8},4)">
  %s = cute.make_shape(%i) : (i32) -> !cute.shape<"(?{div=8},4)">
  // CHECK: cute.make_stride(%{{.*}}) : (i64) -> !cute.stride<"(1,?{i64})">
  %d = cute.make_stride(%j) : (i64) -> !cute.stride<"(1,?{i64})">
  // CHECK: cute.make_tile(%{{.*}}) : (i32) -> !cute.tile<"[?:1;_]">
  %e = cute.make_tile(%i) : (i32) -> !cute.tile<"[?:1;_]">
  // CHECK: cute.make_layout(%{{.*}}, %{{.*}}) : (!cute.shape<"(?{div=8},4)">, !cute.stride<"(1,?{i64})">) -> !cute.layout<"(?{div=8},4):(1,?{i64})">
  %l = cute.make_layout(%s, %d) : (!cute.shape<"(?{div=8},4)">, !cute.stride<"(1,?{i64})">) -> !cute.layout<"(?{div=8},4):(1,?{i64})">
  // CHECK: cute.make_layout(%{{.*}}) : (!cute.shape<"(?{div=8},4)">) -> !cute.layout<"(?{div=8},4):(1,?{div=8})">
  %m = cute.make_layout(%s) : (!cute.shape<"(?{div=8},4)">) -> !cute.layout<"(?{div=8},4):(1,?{div=8})">
  // CHECK: cute.static : !cute.int_tuple<"(1,0)">
  %o = cute.static : !cute.int_tuple<"(1,0)">
  // CHECK: cute.make_ordered_layout(%{{.*}}, %{{.*}}) : (!cute.shape<"(?{div=8},4)">, !cute.int_tuple<"(1,0)">) -> !cute.layout<"(?{div=8},4):(4,1)">
  %p = cute.make_ordered_layout(%s, %o) : (!cute.shape<"(?{div=8},4)">, !cute.int_tuple<"(1,0)">) -> !cute.layout<"(?{div=8},4):(4,1)">
  // CHECK: cute.make_layout_like(%{{.*}}) : !cute.layout<"(?{div=8},4):(1,?{i64})"> -> !cute.layout<"(?{div=8},4):(1,?{div=8})">
  %q = cute.make_layout_like(%l) : !cute.layout<"(?{div=8},4):(1,?{i64})"> -> !cute.layout<"(?{div=8},4):(1,?{div=8})">
  // CHECK: cute.make_identity_layout(%{{.*}}) : !cute.shape<"(?{div=8},4)"> -> !cute.layout<"(?{div=8},4):(1@0,1@1)">
  %r = cute.make_identity_layout(%s) : !cute.shape<"(?{div=8},4)"> -> !cute.layout<"(?{div=8},4):(1@0,1@1)">
  // CHECK: cute.static : !cute.swizzle<"S<2,3,3>">
  %w = cute.static : !cute.swizzle<"S<2,3,3>">
  // CHECK: cute.static : !cute.int_tuple<"0">
  %z = cute.static : !cute.int_tuple<"0">
  // CHECK: cute.make_composed_layout(%{{.*}}, %{{.*}}, %{{.*}}) : (!cute.swizzle<"S<2,3,3>">, !cute.int_tuple<"0">, !cute.layout<"(?{div=8},4):(1,?{i64})">) -> !cute.composed_layout<"S<2,3,3> o 0 o (?{div=8},4):(1,?{i64})">
  %k = cute.make_composed_layout(%w, %z, %l) : (!cute.swizzle<"S<2,3,3>">, !cute.int_tuple<"0">, !cute.layout<"(?{div=8},4):(1,?{i64})">) -> !cute.composed_layout<"S<2,3,3> o 0 o (?{div=8},4):(1,?{i64})">
  return
}

// CHECK-LABEL: @accessors
func.func @accessors(%l: !cute.layout<"((2,3),?):((1,2),6)">, %k: !cute.composed_layout<"S<2,3,3> o 16 o (8,64):(64,1)">, %u: !cute.shape<"(2,(3,4))">) {
  // CHECK: cute.get_shape(%{{.*}}) : !cute.layout<"((2,3),?):((1,2),6)"> -> !cute.shape<"((2,3),?)">
  %0 = cute.get_shape(%l) : !cute.layout<"((2,3),?):((1,2),6)"> -> !cute.shape<"((2,3),?)">
  // CHECK: cute.get_stride(%{{.*}}) : !cute.layout<"((2,3),?):((1,2),6)"> -> !cute.stride<"((1,2),6)">
  %1 = cute.get_stride(%l) : !cute.layout<"((2,3),?):((1,2),6)"> -> !cute.stride<"((1,2),6)">
  // CHECK: cute.composed_get_inner(%{{.*}}) : !cute.composed_layout<"S<2,3,3> o 16 o (8,64):(64,1)"> -> !cute.swizzle<"S<2,3,3>">
  %2 = cute.composed_get_inner(%k) : !cute.composed_layout<"S<2,3,3> o 16 o (8,64):(64,1)"> -> !cute.swizzle<"S<2,3,3>">
  // CHECK: cute.composed_get_offset(%{{.*}}) : !cute.composed_layout<"S<2,3,3> o 16 o (8,64):(64,1)"> -> !cute.int_tuple<"16">
  %3 = cute.composed_get_offset(%k) : !cute.composed_layout<"S<2,3,3> o 16 o (8,64):(64,1)"> -> !cute.int_tuple<"16">
  // CHECK: cute.composed_get_outer(%{{.*}}) : !cute.composed_layout<"S<2,3,3> o 16 o (8,64):(64,1)"> -> !cute.layout<"(8,64):(64,1)">
  %4 = cute.composed_get_outer(%k) : !cute.composed_layout<"S<2,3,3> o 16 o (8,64):(64,1)"> -> !cute.layout<"(8,64):(64,1)">
  // CHECK: cute.get<[0, 1]>{{ ?}}(%{{.*}}) : !cute.layout<"((2,3),?):((1,2),6)"> -> !cute.layout<"3:2">
  %5 = cute.get<[0, 1]>(%l) : !cute.layout<"((2,3),?):((1,2),6)"> -> !cute.layout<"3:2">
  // CHECK: cute.select<[1, 0]>{{ ?}}(%{{.*}}) : !cute.layout<"((2,3),?):((1,2),6)"> -> !cute.layout<"(?,(2,3)):(6,(1,2))">
  %6 = cute.select<[1, 0]>(%l) : !cute.layout<"((2,3),?):((1,2),6)"> -> !cute.layout<"(?,(2,3)):(6,(1,2))">
  // CHECK: cute.get_scalars(%{{.*}}) : (!cute.shape<"(2,(3,4))">) -> (i32, i32, i32)
  %7:3 = cute.get_scalars(%u) : (!cute.shape<"(2,(3,4))">) -> (i32, i32, i32)
  // CHECK: cute.get_scalars<{only_dynamic}>{{ ?}}(%{{.*}}) : (!cute.layout<"((2,3),?):((1,2),6)">) -> i32
  %8 = cute.get_scalars<{only_dynamic}>(%l) : (!cute.layout<"((2,3),?):((1,2),6)">) -> i32
  // CHECK: cute.to_coord(%{{.*}}) : !cute.shape<"(2,(3,4))"> -> !cute.coord<"(2,(3,4))">
  %9 = cute.to_coord(%u) : !cute.shape<"(2,(3,4))"> -> !cute.coord<"(2,(3,4))">
  // CHECK: cute.to_int_tuple(%{{.*}}) : !cute.shape<"(2,(3,4))"> -> !cute.int_tuple<"(2,(3,4))">
  %10 = cute.to_int_tuple(%u) : !cute.shape<"(2,(3,4))"> -> !cute.int_tuple<"(2,(3,4))">
  // CHECK: cute.to_stride(%{{.*}}) : !cute.shape<"(2,(3,4))"> -> !cute.stride<"(2,(3,4))">
  %11 = cute.to_stride(%u) : !cute.shape<"(2,(3,4))"> -> !cute.stride<"(2,(3,4))">
  // CHECK: cute.to_shape(%{{.*}}) : !cute.int_tuple<"(2,(3,4))"> -> !cute.shape<"(2,(3,4))">
  %12 = cute.to_shape(%10) : !cute.int_tuple<"(2,(3,4))"> -> !cute.shape<"(2,(3,4))">
  // CHECK: cute.append_to_rank<3>{{ ?}}(%{{.*}}) : (!cute.layout<"((2,3),?):((1,2),6)">) -> !cute.layout<"((2,3),?,1):((1,2),6,0)">
  %13 = cute.append_to_rank<3>(%l) : (!cute.layout<"((2,3),?):((1,2),6)">) -> !cute.layout<"((2,3),?,1):((1,2),6,0)">
  // CHECK: cute.prepend_to_rank<3>{{ ?}}(%{{.*}}) : (!cute.shape<"(2,(3,4))">) -> !cute.shape<"(1,2,(3,4))">
  %14 = cute.prepend_to_rank<3>(%u) : (!cute.shape<"(2,(3,4))">) -> !cute.shape<"(1,2,(3,4))">
  return
}

// CHECK-LABEL: @algebra
func.func @algebra(%a: !cute.layout<"(8,8):(8,1)">, %b: !cute.layout<"(2,4):(4,1)">, %c: !cute.coord<"(_,3)">, %n: !cute.shape<"(64)">) {
  // CHECK: cute.composition(%{{.*}}, %{{.*}}) : (!cute.layout<"(8,8):(8,1)">, !cute.layout<"(2,4):(4,1)">) -> !cute.layout<"(2,4):(32,8)">
  %0 = cute.composition(%a, %b) : (!cute.layout<"(8,8):(8,1)">, !cute.layout<"(2,4):(4,1)">) -> !cute.layout<"(2,4):(32,8)">
  // CHECK: cute.coalesce(%{{.*}}) : (!cute.layout<"(8,8):(8,1)">) -> !cute.layout<"(8,8):(8,1)">
  %1 = cute.coalesce(%a) : (!cute.layout<"(8,8):(8,1)">) -> !cute.layout<"(8,8):(8,1)">
  // CHECK: cute.coalesce(%{{.*}}, %{{.*}}) : (!cute.layout<"(8,8):(8,1)">, !cute.coord<"(_,3)">) -> !cute.layout<"(8,8):(8,1)">
  %2 = cute.coalesce(%a, %c) : (!cute.layout<"(8,8):(8,1)">, !cute.coord<"(_,3)">) -> !cute.layout<"(8,8):(8,1)">
  // CHECK: cute.complement(%{{.*}}, %{{.*}}) : (!cute.layout<"(2,4):(4,1)">, !cute.shape<"(64)">) -> !cute.layout<"8:8">
  %3 = cute.complement(%b, %n) : (!cute.layout<"(2,4):(4,1)">, !cute.shape<"(64)">) -> !cute.layout<"8:8">
  // CHECK: cute.flatten(%{{.*}}) : (!cute.layout<"(8,8):(8,1)">) -> !cute.layout<"(8,8):(8,1)">
  %4 = cute.flatten(%a) : (!cute.layout<"(8,8):(8,1)">) -> !cute.layout<"(8,8):(8,1)">
  // CHECK: cute.group_modes<0, 2>{{ ?}}(%{{.*}}) : (!cute.layout<"(8,8):(8,1)">) -> !cute.layout<"((8,8)):((8,1))">
  %5 = cute.group_modes<0, 2>(%a) : (!cute.layout<"(8,8):(8,1)">) -> !cute.layout<"((8,8)):((8,1))">
  // CHECK: cute.recast_layout<32, 16>{{ ?}}(%{{.*}}) : !cute.layout<"(8,8):(8,1)"> -> !cute.layout<"(8,4):(4,1)">
  %6 = cute.recast_layout<32, 16>(%a) : !cute.layout<"(8,8):(8,1)"> -> !cute.layout<"(8,4):(4,1)">
  // CHECK: cute.slice(%{{.*}}, %{{.*}}) : (!cute.layout<"(8,8):(8,1)">, !cute.coord<"(_,3)">) -> !cute.layout<"(8):(8)">
  %7 = cute.slice(%a, %c) : (!cute.layout<"(8,8):(8,1)">, !cute.coord<"(_,3)">) -> !cute.layout<"(8):(8)">
  // CHECK: cute.dice(%{{.*}}, %{{.*}}) : (!cute.layout<"(8,8):(8,1)">, !cute.coord<"(_,3)">) -> !cute.layout<"(8):(1)">
  %8 = cute.dice(%a, %c) : (!cute.layout<"(8,8):(8,1)">, !cute.coord<"(_,3)">) -> !cute.layout<"(8):(1)">
  // CHECK: cute.right_inverse(%{{.*}}) : (!cute.layout<"(8,8):(8,1)">) -> !cute.layout<"(8,8):(8,1)">
  %9 = cute.right_inverse(%a) : (!cute.layout<"(8,8):(8,1)">) -> !cute.layout<"(8,8):(8,1)">
  // CHECK: cute.left_inverse(%{{.*}}) : (!cute.layout<"(8,8):(8,1)">) -> !cute.layout<"(8,8):(8,1)">
  %10 = cute.left_inverse(%a) : (!cute.layout<"(8,8):(8,1)">) -> !cute.layout<"(8,8):(8,1)">
  return
}

// CHECK-LABEL: @indices
func.func @indices(%a: !cute.layout<"(8,?):(8,1)">, %c: !cute.coord<"(?,3)">, %s: !cute.shape<"(8,8)">, %i: !cute.int_tuple<"?">) {
  // CHECK: cute.size(%{{.*}}) : (!cute.layout<"(8,?):(8,1)">) -> !cute.int_tuple<"?">
  %0 = cute.size(%a) : (!cute.layout<"(8,?):(8,1)">) -> !cute.int_tuple<"?">
  // CHECK: cute.size<[0]>{{ ?}}(%{{.*}}) : (!cute.layout<"(8,?):(8,1)">) -> !cute.int_tuple<"8">
  %1 = cute.size<[0]>(%a) : (!cute.layout<"(8,?):(8,1)">) -> !cute.int_tuple<"8">
  // CHECK: cute.cosize(%{{.*}}) : (!cute.layout<"(8,?):(8,1)">) -> !cute.int_tuple<"?">
  %2 = cute.cosize(%a) : (!cute.layout<"(8,?):(8,1)">) -> !cute.int_tuple<"?">
  // CHECK: cute.tuple_product(%{{.*}}) : (!cute.shape<"(8,8)">) -> !cute.shape<"64">
  %3 = cute.tuple_product(%s) : (!cute.shape<"(8,8)">) -> !cute.shape<"64">
  // CHECK: cute.tuple_product_each(%{{.*}}) : (!cute.shape<"(8,8)">) -> !cute.shape<"(8,8)">
  %4 = cute.tuple_product_each(%s) : (!cute.shape<"(8,8)">) -> !cute.shape<"(8,8)">
  // CHECK: cute.layout_eval(%{{.*}}, %{{.*}}) : (!cute.coord<"(?,3)">, !cute.layout<"(8,?):(8,1)">) -> !cute.int_tuple<"?">
  %5 = cute.layout_eval(%c, %a) : (!cute.coord<"(?,3)">, !cute.layout<"(8,?):(8,1)">) -> !cute.int_tuple<"?">
  // CHECK: cute.crd2idx(%{{.*}}, %{{.*}}) : (!cute.coord<"(?,3)">, !cute.shape<"(8,8)">) -> !cute.int_tuple<"?">
  %6 = cute.crd2idx(%c, %s) : (!cute.coord<"(?,3)">, !cute.shape<"(8,8)">) -> !cute.int_tuple<"?">
  // CHECK: cute.idx2crd(%{{.*}}, %{{.*}}) : (!cute.int_tuple<"?">, !cute.shape<"(8,8)">) -> !cute.coord<"(?,?)">
  %7 = cute.idx2crd(%i, %s) : (!cute.int_tuple<"?">, !cute.shape<"(8,8)">) -> !cute.coord<"(?,?)">
  // CHECK: cute.increment_coord(%{{.*}}, %{{.*}}) : (!cute.coord<"(?,3)">, !cute.shape<"(8,8)">) -> !cute.coord<"(?,?)">
  %8 = cute.increment_coord(%c, %s) : (!cute.coord<"(?,3)">, !cute.shape<"(8,8)">) -> !cute.coord<"(?,?)">
  return
}

// CHECK-LABEL: @arithmetic
func.func @arithmetic(%a: !cute.int_tuple<"(?,4)">, %b: !cute.int_tuple<"(2,4)">) {
  // CHECK: cute.tuple_add(%{{.*}}, %{{.*}}) : (!cute.int_tuple<"(?,4)">, !cute.int_tuple<"(2,4)">) -> !cute.int_tuple<"(?,8)">
  %0 = cute.tuple_add(%a, %b) : (!cute.int_tuple<"(?,4)">, !cute.int_tuple<"(2,4)">) -> !cute.int_tuple<"(?,8)">
  // CHECK: cute.tuple_sub(%{{.*}}, %{{.*}}) : (!cute.int_tuple<"(?,4)">, !cute.int_tuple<"(2,4)">) -> !cute.int_tuple<"(?,0)">
  %1 = cute.tuple_sub(%a, %b) : (!cute.int_tuple<"(?,4)">, !cute.int_tuple<"(2,4)">) -> !cute.int_tuple<"(?,0)">
  // CHECK: cute.ceil_div(%{{.*}}, %{{.*}}) : (!cute.int_tuple<"(?,4)">, !cute.int_tuple<"(2,4)">) -> !cute.int_tuple<"(?,1)">
  %2 = cute.ceil_div(%a, %b) : (!cute.int_tuple<"(?,4)">, !cute.int_tuple<"(2,4)">) -> !cute.int_tuple<"(?,1)">
  // CHECK: cute.shape_div(%{{.*}}, %{{.*}}) : (!cute.int_tuple<"(2,4)">, !cute.int_tuple<"(2,4)">) -> !cute.int_tuple<"(1,1)">
  %3 = cute.shape_div(%b, %b) : (!cute.int_tuple<"(2,4)">, !cute.int_tuple<"(2,4)">) -> !cute.int_tuple<"(1,1)">
  // CHECK: cute.elem_less(%{{.*}}, %{{.*}}) : (!cute.int_tuple<"(?,4)">, !cute.int_tuple<"(2,4)">) -> i1
  %4 = cute.elem_less(%a, %b) : (!cute.int_tuple<"(?,4)">, !cute.int_tuple<"(2,4)">) -> i1
  // CHECK: cute.equal(%{{.*}}, %{{.*}}) : (!cute.int_tuple<"(?,4)">, !cute.int_tuple<"(2,4)">) -> i1
  %5 = cute.equal(%a, %b) : (!cute.int_tuple<"(?,4)">, !cute.int_tuple<"(2,4)">) -> i1
  return
}

// CHECK-LABEL: @tiling
func.func @tiling(%a: !cute.layout<"(8,?):(1,8)">, %b: !cute.layout<"(2,2):(1,2)">, %t: !cute.tile<"[4:1;2:1]">, %s: !cute.shape<"(8,8)">) {
  // CHECK: cute.logical_divide(%{{.*}}, %{{.*}}) : (!cute.layout<"(8,?):(1,8)">, !cute.tile<"[4:1;2:1]">) -> !cute.layout<"((4,2),(2,?)):((1,4),(8,16))">
  %0 = cute.logical_divide(%a, %t) : (!cute.layout<"(8,?):(1,8)">, !cute.tile<"[4:1;2:1]">) -> !cute.layout<"((4,2),(2,?)):((1,4),(8,16))">
  // CHECK: cute.zipped_divide(%{{.*}}, %{{.*}}) : (!cute.layout<"(8,?):(1,8)">, !cute.tile<"[4:1;2:1]">) -> !cute.layout<"((4,2),(2,?)):((1,8),(4,16))">
  %1 = cute.zipped_divide(%a, %t) : (!cute.layout<"(8,?):(1,8)">, !cute.tile<"[4:1;2:1]">) -> !cute.layout<"((4,2),(2,?)):((1,8),(4,16))">
  // CHECK: cute.tiled_divide(%{{.*}}, %{{.*}}) : (!cute.layout<"(8,?):(1,8)">, !cute.tile<"[4:1;2:1]">) -> !cute.layout<"((4,2),2,?):((1,8),4,16)">
  %2 = cute.tiled_divide(%a, %t) : (!cute.layout<"(8,?):(1,8)">, !cute.tile<"[4:1;2:1]">) -> !cute.layout<"((4,2),2,?):((1,8),4,16)">
  // CHECK: cute.flat_divide(%{{.*}}, %{{.*}}) : (!cute.layout<"(8,?):(1,8)">, !cute.tile<"[4:1;2:1]">) -> !cute.layout<"(4,2,2,?):(1,8,4,16)">
  %3 = cute.flat_divide(%a, %t) : (!cute.layout<"(8,?):(1,8)">, !cute.tile<"[4:1;2:1]">) -> !cute.layout<"(4,2,2,?):(1,8,4,16)">
  // CHECK: cute.logical_product(%{{.*}}, %{{.*}}) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"((2,2),(2,2)):((1,2),(4,8))">
  %4 = cute.logical_product(%b, %b) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"((2,2),(2,2)):((1,2),(4,8))">
  // CHECK: cute.zipped_product(%{{.*}}, %{{.*}}) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"((2,2),(2,2)):((1,2),(4,8))">
  %5 = cute.zipped_product(%b, %b) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"((2,2),(2,2)):((1,2),(4,8))">
  // CHECK: cute.tiled_product(%{{.*}}, %{{.*}}) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"((2,2),2,2):((1,2),4,8)">
  %6 = cute.tiled_product(%b, %b) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"((2,2),2,2):((1,2),4,8)">
  // CHECK: cute.flat_product(%{{.*}}, %{{.*}}) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"(2,2,2,2):(1,2,4,8)">
  %7 = cute.flat_product(%b, %b) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"(2,2,2,2):(1,2,4,8)">
  // CHECK: cute.blocked_product(%{{.*}}, %{{.*}}) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"((2,2),(2,2)):((1,4),(2,8))">
  %8 = cute.blocked_product(%b, %b) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"((2,2),(2,2)):((1,4),(2,8))">
  // CHECK: cute.raked_product(%{{.*}}, %{{.*}}) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"((2,2),(2,2)):((4,1),(8,2))">
  %9 = cute.raked_product(%b, %b) : (!cute.layout<"(2,2):(1,2)">, !cute.layout<"(2,2):(1,2)">) -> !cute.layout<"((2,2),(2,2)):((4,1),(8,2))">
  // CHECK: cute.tile_to_shape(%{{.*}}, %{{.*}}) : (!cute.layout<"(2,2):(1,2)">, !cute.shape<"(8,8)">) -> !cute.layout<"((2,4),(2,4)):((1,4),(2,16))">
  %10 = cute.tile_to_shape(%b, %s) : (!cute.layout<"(2,2):(1,2)">, !cute.shape<"(8,8)">) -> !cute.layout<"((2,4),(2,4)):((1,4),(2,16))">
  return
}

// CHECK-LABEL: @views
func.func @views(%p: !llvm.ptr<1>, %l: !cute.layout<"(64,?):(?{div=8},1)">, %i: i32, %x: f16) {
  // CHECK: cute.make_ptr(%{{.*}}) : (!llvm.ptr<1>) -> !cute.ptr<f16, gmem, align<16>>
  %q = cute.make_ptr(%p) : (!llvm.ptr<1>) -> !cute.ptr<f16, gmem, align<16>>
  // CHECK: cute.make_int_tuple(%{{.*}}) : (i32) -> !cute.int_tuple<"?{div=4,min=0,max=64}">
  %o = cute.make_int_tuple(%i) : (i32) -> !cute.int_tuple<"?{div=4,min=0,max=64}">
  // CHECK: cute.add_offset(%{{.*}}, %{{.*}}) : (!cute.ptr<f16, gmem, align<16>>, !cute.int_tuple<"?{div=4,min=0,max=64}">) -> !cute.ptr<f16, gmem, align<8>>
  %r = cute.add_offset(%q, %o) : (!cute.ptr<f16, gmem, align<16>>, !cute.int_tuple<"?{div=4,min=0,max=64}">) -> !cute.ptr<f16, gmem, align<8>>
  // CHECK: cute.make_view(%{{.*}}, %{{.*}}) : (!cute.ptr<f16, gmem, align<16>>, !cute.layout<"(64,?):(?{div=8},1)">) -> !cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">
  %v = cute.make_view(%q, %l) : (!cute.ptr<f16, gmem, align<16>>, !cute.layout<"(64,?):(?{div=8},1)">) -> !cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">
  // CHECK: cute.get_layout(%{{.*}}) : !cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)"> -> !cute.layout<"(64,?):(?{div=8},1)">
  %0 = cute.get_layout(%v) : !cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)"> -> !cute.layout<"(64,?):(?{div=8},1)">
  // CHECK: cute.get_ptr(%{{.*}}) : !cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)"> -> !cute.ptr<f16, gmem, align<16>>
  %1 = cute.get_ptr(%v) : !cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)"> -> !cute.ptr<f16, gmem, align<16>>
  // CHECK: cute.static : !cute.tile<"[16:1;16:1]">
  %t = cute.static : !cute.tile<"[16:1;16:1]">
  // CHECK: cute.make_coord(%{{.*}}) : (i32) -> !cute.coord<"(?{min=0,max=3},_)">
  %c = cute.make_coord(%i) : (i32) -> !cute.coord<"(?{min=0,max=3},_)">
  // CHECK: cute.local_tile(%{{.*}}, %{{.*}}, %{{.*}}) : (!cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">, !cute.tile<"[16:1;16:1]">, !cute.coord<"(?{min=0,max=3},_)">) -> !cute.view<f16, gmem, align<16>, "(16,16,?):(?{div=8},1,16)">
  %2 = cute.local_tile(%v, %t, %c) : (!cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">, !cute.tile<"[16:1;16:1]">, !cute.coord<"(?{min=0,max=3},_)">) -> !cute.view<f16, gmem, align<16>, "(16,16,?):(?{div=8},1,16)">
  // CHECK: cute.static : !cute.layout<"(8,4):(4,1)">
  %h = cute.static : !cute.layout<"(8,4):(4,1)">
  // CHECK: cute.local_partition(%{{.*}}, %{{.*}}, %{{.*}}) : (!cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">, !cute.layout<"(8,4):(4,1)">, i32) -> !cute.view<f16, gmem, align<2>, "(8,?):(?{i64,div=64,min=-17179869184,max=17179869120},4)">
  %3 = cute.local_partition(%v, %h, %i) : (!cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">, !cute.layout<"(8,4):(4,1)">, i32) -> !cute.view<f16, gmem, align<2>, "(8,?):(?{i64,div=64,min=-17179869184,max=17179869120},4)">
  // CHECK: cute.zipped_divide(%{{.*}}, %{{.*}}) : (!cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">, !cute.tile<"[16:1;16:1]">) -> !cute.view<f16, gmem, align<16>, "((16,16),(4,?)):((?{div=8},1),(?{i64,div=128,min=-34359738368,max=34359738240},16))">
  %4 = cute.zipped_divide(%v, %t) : (!cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">, !cute.tile<"[16:1;16:1]">) -> !cute.view<f16, gmem, align<16>, "((16,16),(4,?)):((?{div=8},1),(?{i64,div=128,min=-34359738368,max=34359738240},16))">
  // CHECK: cute.make_int_tuple(%{{.*}}, %{{.*}}) : (i32, i32) -> !cute.int_tuple<"(?{min=0,max=63},?{min=0,max=63})">
  %w = cute.make_int_tuple(%i, %i) : (i32, i32) -> !cute.int_tuple<"(?{min=0,max=63},?{min=0,max=63})">
  // CHECK: cute.load(%{{.*}}, %{{.*}}) : (!cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">, !cute.int_tuple<"(?{min=0,max=63},?{min=0,max=63})">) -> f16
  %5 = cute.load(%v, %w) : (!cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">, !cute.int_tuple<"(?{min=0,max=63},?{min=0,max=63})">) -> f16
  // CHECK: cute.store(%{{.*}}, %{{.*}}, %{{.*}}) : (f16, !cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">, !cute.int_tuple<"(?{min=0,max=63},?{min=0,max=63})">) -> ()
  cute.store(%x, %v, %w) : (f16, !cute.view<f16, gmem, align<16>, "(64,?):(?{div=8},1)">, !cute.int_tuple<"(?{min=0,max=63},?{min=0,max=63})">) -> ()
  return
}

// CHECK-LABEL: @work
func.func @work(%i: i32, %f: f32, %in: i1) {
  // CHECK: cute.alloc_shared<1024> : !cute.ptr<f16, smem, align<128>>
  %b = cute.alloc_shared<1024> : !cute.ptr<f16, smem, align<128>>
  // CHECK: cute.static : !cute.composed_layout<"S<1,3,3> o 0 o (64,16):(16,1)">
  %l = cute.static : !cute.composed_layout<"S<1,3,3> o 0 o (64,16):(16,1)">
  // CHECK: cute.make_view(%{{.*}}, %{{.*}}) : (!cute.ptr<f16, smem, align<128>>, !cute.composed_layout<"S<1,3,3> o 0 o (64,16):(16,1)">) -> !cute.view<f16, smem, align<128>, "S<1,3,3> o 0 o (64,16):(16,1)">
  %s = cute.make_view(%b, %l) : (!cute.ptr<f16, smem, align<128>>, !cute.composed_layout<"S<1,3,3> o 0 o (64,16):(16,1)">) -> !cute.view<f16, smem, align<128>, "S<1,3,3> o 0 o (64,16):(16,1)">
  // CHECK: cute.static : !cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;16:1;_]">
  %m = cute.static : !cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;16:1;_]">
  // CHECK: cute.partition<"A">{{ ?}}(%{{.*}}, %{{.*}}, %{{.*}}) : (!cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;16:1;_]">, !cute.view<f16, smem, align<128>, "S<1,3,3> o 0 o (64,16):(16,1)">, i32) -> !cute.view<f16, smem, align<128>, "S<1,3,3> o ?{div=2,min=0,max=118} o ((2,2,2),4,1):((1,128,8),256,16)">
  %p = cute.partition<"A">(%m, %s, %i) : (!cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;16:1;_]">, !cute.view<f16, smem, align<128>, "S<1,3,3> o 0 o (64,16):(16,1)">, i32) -> !cute.view<f16, smem, align<128>, "S<1,3,3> o ?{div=2,min=0,max=118} o ((2,2,2),4,1):((1,128,8),256,16)">
  // CHECK: cute.make_fragment<"A">{{ ?}}(%{{.*}}, %{{.*}}) : (!cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;16:1;_]">, !cute.view<f16, smem, align<128>, "S<1,3,3> o ?{div=2,min=0,max=118} o ((2,2,2),4,1):((1,128,8),256,16)">) -> !cute.view<f16, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">
  %r = cute.make_fragment<"A">(%m, %p) : (!cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;16:1;_]">, !cute.view<f16, smem, align<128>, "S<1,3,3> o ?{div=2,min=0,max=118} o ((2,2,2),4,1):((1,128,8),256,16)">) -> !cute.view<f16, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">
  // CHECK: cute.static : !cute.copy_atom<"ldmatrix.x4", f16>
  %a = cute.static : !cute.copy_atom<"ldmatrix.x4", f16>
  // CHECK: cute.make_tiled_copy_for<"A">{{ ?}}(%{{.*}}, %{{.*}}) : (!cute.copy_atom<"ldmatrix.x4", f16>, !cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;16:1;_]">) -> !cute.tiled_copy<"ldmatrix.x4", f16, "((4,8),((2,2,2),(1,1))):((32,1),((16,8,128),(16,256)))", "(16,16)">
  %k = cute.make_tiled_copy_for<"A">(%a, %m) : (!cute.copy_atom<"ldmatrix.x4", f16>, !cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;16:1;_]">) -> !cute.tiled_copy<"ldmatrix.x4", f16, "((4,8),((2,2,2),(1,1))):((32,1),((16,8,128),(16,256)))", "(16,16)">
  // CHECK: cute.partition<"S">{{ ?}}(%{{.*}}, %{{.*}}, %{{.*}}) : (!cute.tiled_copy<"ldmatrix.x4", f16, "((4,8),((2,2,2),(1,1))):((32,1),((16,8,128),(16,256)))", "(16,16)">, !cute.view<f16, smem, align<128>, "S<1,3,3> o 0 o (64,16):(16,1)">, i32) -> !cute.view<f16, smem, align<128>, "S<1,3,3> o ?{div=8,min=0,max=248} o ((8,1),4,1):((1,1024),256,16)">
  %g = cute.partition<"S">(%k, %s, %i) : (!cute.tiled_copy<"ldmatrix.x4", f16, "((4,8),((2,2,2),(1,1))):((32,1),((16,8,128),(16,256)))", "(16,16)">, !cute.view<f16, smem, align<128>, "S<1,3,3> o 0 o (64,16):(16,1)">, i32) -> !cute.view<f16, smem, align<128>, "S<1,3,3> o ?{div=8,min=0,max=248} o ((8,1),4,1):((1,1024),256,16)">
  // CHECK: cute.retile(%{{.*}}, %{{.*}}) : (!cute.tiled_copy<"ldmatrix.x4", f16, "((4,8),((2,2,2),(1,1))):((32,1),((16,8,128),(16,256)))", "(16,16)">, !cute.view<f16, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">) -> !cute.view<f16, rmem, align<16>, "((8,1),4,1):((1,0),8,32)">
  %t = cute.retile(%k, %r) : (!cute.tiled_copy<"ldmatrix.x4", f16, "((4,8),((2,2,2),(1,1))):((32,1),((16,8,128),(16,256)))", "(16,16)">, !cute.view<f16, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">) -> !cute.view<f16, rmem, align<16>, "((8,1),4,1):((1,0),8,32)">
  // CHECK: cute.copy(%{{.*}}, %{{.*}}, %{{.*}}) : (!cute.tiled_copy<"ldmatrix.x4", f16, "((4,8),((2,2,2),(1,1))):((32,1),((16,8,128),(16,256)))", "(16,16)">, !cute.view<f16, smem, align<128>, "S<1,3,3> o ?{div=8,min=0,max=248} o ((8,1),4,1):((1,1024),256,16)">, !cute.view<f16, rmem, align<16>, "((8,1),4,1):((1,0),8,32)">) -> ()
  cute.copy(%k, %g, %t) : (!cute.tiled_copy<"ldmatrix.x4", f16, "((4,8),((2,2,2),(1,1))):((32,1),((16,8,128),(16,256)))", "(16,16)">, !cute.view<f16, smem, align<128>, "S<1,3,3> o ?{div=8,min=0,max=248} o ((8,1),4,1):((1,1024),256,16)">, !cute.view<f16, rmem, align<16>, "((8,1),4,1):((1,0),8,32)">) -> ()
  // CHECK: cute.copy(%{{.*}}, %{{.*}}, %{{.*}}) if %{{.*}} : (!cute.tiled_copy<"ldmatrix.x4", f16, "((4,8),((2,2,2),(1,1))):((32,1),((16,8,128),(16,256)))", "(16,16)">, !cute.view<f16, smem, align<128>, "S<1,3,3> o ?{div=8,min=0,max=248} o ((8,1),4,1):((1,1024),256,16)">, !cute.view<f16, rmem, align<16>, "((8,1),4,1):((1,0),8,32)">) -> ()
  cute.copy(%k, %g, %t) if %in : (!cute.tiled_copy<"ldmatrix.x4", f16, "((4,8),((2,2,2),(1,1))):((32,1),((16,8,128),(16,256)))", "(16,16)">, !cute.view<f16, smem, align<128>, "S<1,3,3> o ?{div=8,min=0,max=248} o ((8,1),4,1):((1,1024),256,16)">, !cute.view<f16, rmem, align<16>, "((8,1),4,1):((1,0),8,32)">) -> ()
  // CHECK: cute.make_fragment_like<"f32">{{ ?}}(%{{.*}}) : (!cute.view<f16, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">) -> !cute.view<f32, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">
  %w = cute.make_fragment_like<"f32">(%r) : (!cute.view<f16, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">) -> !cute.view<f32, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">
  // CHECK: cute.fill(%{{.*}}, %{{.*}}) : (f32, !cute.view<f32, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">) -> ()
  cute.fill(%f, %w) : (f32, !cute.view<f32, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">) -> ()
  // CHECK: cute.convert(%{{.*}}, %{{.*}}) : (!cute.view<f32, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">, !cute.view<f16, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">) -> ()
  cute.convert(%w, %r) : (!cute.view<f32, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">, !cute.view<f16, rmem, align<16>, "((2,2,2),4,1):((1,2,4),8,32)">) -> ()
  return
}
