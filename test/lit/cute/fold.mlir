// RUN: aitmlir-opt --cute-fold-static %s | FileCheck %s
// RUN: aitmlir-opt --canonicalize %s | FileCheck %s --check-prefix=CANON

// A result whose type has no dynamic leaf is a constant.
// CHECK-LABEL: @static_result
// CANON-LABEL: @static_result
func.func @static_result(%a: !cute.layout<"(8,?):(1,8)">) -> !cute.layout<"8:1"> {
  // CHECK-NEXT: %[[C:.*]] = cute.static : !cute.layout<"8:1">
  // CHECK-NEXT: return %[[C]]
  // CANON-NEXT: %[[C:.*]] = cute.static : !cute.layout<"8:1">
  // CANON-NEXT: return %[[C]]
  %0 = cute.get<[0]>(%a) : !cute.layout<"(8,?):(1,8)"> -> !cute.layout<"8:1">
  return %0 : !cute.layout<"8:1">
}

// A dynamic one is left alone.
// CHECK-LABEL: @dynamic_result
// CANON-LABEL: @dynamic_result
func.func @dynamic_result(%a: !cute.layout<"(8,?):(1,8)">) -> !cute.layout<"?:8"> {
  // CHECK-NEXT: cute.get<[1]>
  // CANON-NEXT: cute.get<[1]>
  %0 = cute.get<[1]>(%a) : !cute.layout<"(8,?):(1,8)"> -> !cute.layout<"?:8">
  return %0 : !cute.layout<"?:8">
}

// A decided comparison is a constant; one that depends on a leaf is not.
// CHECK-LABEL: @comparisons
// CANON-LABEL: @comparisons
func.func @comparisons(%a: !cute.coord<"(1,?)">, %s: !cute.coord<"(1,2)">, %t: !cute.coord<"(3,4)">) -> (i1, i1) {
  // CHECK-DAG: %[[TRUE:.*]] = arith.constant true
  // CHECK-DAG: %[[LESS:.*]] = cute.elem_less(%{{.*}}, %{{.*}}) : (!cute.coord<"(1,?)">, !cute.coord<"(3,4)">) -> i1
  // CHECK: return %[[TRUE]], %[[LESS]]
  // CANON: arith.constant true
  %0 = cute.elem_less(%s, %t) : (!cute.coord<"(1,2)">, !cute.coord<"(3,4)">) -> i1
  %1 = cute.elem_less(%a, %t) : (!cute.coord<"(1,?)">, !cute.coord<"(3,4)">) -> i1
  return %0, %1 : i1, i1
}

// Static leaves are numbers.
// CHECK-LABEL: @scalars
func.func @scalars(%a: !cute.layout<"(8,?):(1,8)">) -> (i32, i32) {
  // CHECK: %[[EIGHT:.*]] = arith.constant 8 : i32
  // CHECK: return %[[EIGHT]], %[[EIGHT]]
  %size = cute.size<[0]>(%a) : (!cute.layout<"(8,?):(1,8)">) -> !cute.int_tuple<"8">
  %0 = cute.get_scalars(%size) : (!cute.int_tuple<"8">) -> i32
  %cosize = cute.cosize<[0]>(%a) : (!cute.layout<"(8,?):(1,8)">) -> !cute.int_tuple<"8">
  %1 = cute.get_scalars(%cosize) : (!cute.int_tuple<"8">) -> i32
  return %0, %1 : i32, i32
}
