// RUN: aitmlir-opt -split-input-file --cute-expand --canonicalize -verify-diagnostics %s | FileCheck %s
// RUN: aitmlir-opt -split-input-file --cute-expand=overflow=wrap %s 2>&1 | FileCheck %s --check-prefix=WRAP

// The leaves of a division are computed from those of its operand; 32 bits hold them.
// CHECK-LABEL: @divide
// CHECK-SAME: (%[[M:.*]]: i32)
func.func @divide(%m: i32) -> !cute.layout<"(32,?{min=0,max=128}):(1,32)"> {
  // CHECK: %[[SIZE:.*]] = arith.constant 32 : i32
  // CHECK: %[[TILES:.*]] = arith.divsi %[[M]], %[[SIZE]] : i32
  // CHECK: %[[SHAPE:.*]] = cute.make_shape(%[[TILES]]) : (i32) -> !cute.shape<"(32,?{min=0,max=128})">
  // CHECK: cute.make_layout(%[[SHAPE]], %{{.*}})
  %s = cute.make_shape(%m) : (i32) -> !cute.shape<"?{div=32,min=0,max=4096}">
  %l = cute.make_layout(%s) : (!cute.shape<"?{div=32,min=0,max=4096}">) -> !cute.layout<"?{div=32,min=0,max=4096}:1">
  %t = cute.static : !cute.layout<"32:1">
  %d = cute.logical_divide(%l, %t) : (!cute.layout<"?{div=32,min=0,max=4096}:1">, !cute.layout<"32:1">) -> !cute.layout<"(32,?{min=0,max=128}):(1,32)">
  return %d : !cute.layout<"(32,?{min=0,max=128}):(1,32)">
}

// An offset that may leave 32 bits is computed in 64: the operands are widened before they are multiplied.
// CHECK-LABEL: @offset
// CHECK-SAME: (%[[I:.*]]: i32, %[[LD:.*]]: i32)
func.func @offset(%i: i32, %ld: i32) -> i64 {
  // CHECK-DAG: %[[WIDE_I:.*]] = arith.extsi %[[I]] : i32 to i64
  // CHECK-DAG: %[[WIDE_LD:.*]] = arith.extsi %[[LD]] : i32 to i64
  // CHECK: %[[OFFSET:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
  // CHECK: return %[[OFFSET]]
  %c = cute.make_coord(%i) : (i32) -> !cute.coord<"(?{min=0,max=65535},0)">
  %s = cute.static : !cute.shape<"(65536,8)">
  %d = cute.make_stride(%ld) : (i32) -> !cute.stride<"(?{min=1,max=65536},1)">
  %l = cute.make_layout(%s, %d) : (!cute.shape<"(65536,8)">, !cute.stride<"(?{min=1,max=65536},1)">) -> !cute.layout<"(65536,8):(?{min=1,max=65536},1)">
  %o = cute.layout_eval(%c, %l) : (!cute.coord<"(?{min=0,max=65535},0)">, !cute.layout<"(65536,8):(?{min=1,max=65536},1)">) -> !cute.int_tuple<"?{i64,min=0,max=4294901760}">
  %r = cute.get_scalars(%o) : (!cute.int_tuple<"?{i64,min=0,max=4294901760}">) -> i64
  return %r : i64
}

// Comparisons become one bit.
// CHECK-LABEL: @inside
// CHECK-SAME: (%[[I:.*]]: i32, %[[J:.*]]: i32)
func.func @inside(%i: i32, %j: i32) -> i1 {
  // CHECK-DAG: %[[X:.*]] = arith.cmpi slt, %[[I]], %{{.*}} : i32
  // CHECK-DAG: %[[Y:.*]] = arith.cmpi slt, %[[J]], %{{.*}} : i32
  // CHECK: arith.andi %[[X]], %[[Y]] : i1
  %c = cute.make_coord(%i, %j) : (i32, i32) -> !cute.coord<"(?,?)">
  %e = cute.static : !cute.coord<"(100,200)">
  %0 = cute.elem_less(%c, %e) : (!cute.coord<"(?,?)">, !cute.coord<"(100,200)">) -> i1
  return %0 : i1
}

// Leaves of a function's argument are taken out of it.
// CHECK-LABEL: @argument
func.func @argument(%l: !cute.layout<"(?{min=1,max=64},8):(8,1)">) -> !cute.int_tuple<"?{div=8,min=8,max=512}"> {
  // CHECK: %[[M:.*]] = cute.get_scalars<{only_dynamic}>(%{{.*}}) : (!cute.layout<"(?{min=1,max=64},8):(8,1)">) -> i32
  // CHECK: arith.muli %[[M]], %{{.*}} : i32
  %0 = cute.size(%l) : (!cute.layout<"(?{min=1,max=64},8):(8,1)">) -> !cute.int_tuple<"?{div=8,min=8,max=512}">
  return %0 : !cute.int_tuple<"?{div=8,min=8,max=512}">
}

// -----

// A product of leaves of which nothing is known may not fit 32 bits.
// WRAP-LABEL: @overflow
// WRAP: arith.muli
func.func @overflow(%a: !cute.shape<"(?,?)">) -> !cute.int_tuple<"?"> {
  // expected-error@+1 {{'cute.size' op may overflow: the leaf ?(%0*%1) is -4611686016279904256 to 4611686018427387904, beyond 32 bits; state max= where its parts enter, as in {min=0,max=4096}, or make it 64 bits wide, {i64}}}
  %0 = cute.size(%a) : (!cute.shape<"(?,?)">) -> !cute.int_tuple<"?">
  return %0 : !cute.int_tuple<"?">
}
