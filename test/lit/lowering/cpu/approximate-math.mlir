// RUN: aitmlir-opt %s --ait-approximate-math | FileCheck %s

// CHECK-LABEL: func.func @f32(
// CHECK-NOT: math.exp
// CHECK: return
func.func @f32(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}

// f64 is for libm, and so is what has no accurate polynomial.
// CHECK-LABEL: func.func @left(
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.sin %{{.*}} : f32
func.func @left(%x: f64, %y: f32) -> (f64, f32) {
  %a = math.exp %x : f64
  %b = math.sin %y : f32
  return %a, %b : f64, f32
}
