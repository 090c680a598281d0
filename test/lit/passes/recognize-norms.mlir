// RUN: aitmlir-opt %s --ait-recognize-norms --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[S:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[R:.*]] = ait.norm layer %[[X]] params(%[[S]], %[[B]] : tensor<8xf32>, tensor<8xf32>) epsilon {{9.9.*E-6}} axis 1
// CHECK-NEXT: return %[[R]]
func.func @layer(%x: tensor<?x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %m = ait.reduce mean %x axes [1] keepdims : tensor<?x8xf32> -> tensor<?x1xf32>
  %d = ait.map ins(%x, %m : tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.subf %a, %c : f32
    ait.yield %0 : f32
  }
  %q = ait.map ins(%d : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: f32):
    %0 = arith.mulf %a, %a : f32
    ait.yield %0 : f32
  }
  %v = ait.reduce mean %q axes [1] keepdims : tensor<?x8xf32> -> tensor<?x1xf32>
  %e = ait.map ins(%v : tensor<?x1xf32>) -> tensor<?x1xf32> {
  ^bb0(%a: f32):
    %eps = arith.constant 1.0e-5 : f32
    %0 = arith.addf %a, %eps : f32
    %1 = math.sqrt %0 : f32
    ait.yield %1 : f32
  }
  %n = ait.map ins(%d, %e : tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.divf %a, %c : f32
    ait.yield %0 : f32
  }
  %w = ait.map ins(%s, %n : tensor<8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.mulf %a, %c : f32
    ait.yield %0 : f32
  }
  %r = ait.map ins(%w, %b : tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: f32, %c: f32):
    %0 = arith.addf %a, %c : f32
    ait.yield %0 : f32
  }
  return %r : tensor<?x8xf32>
}

// -----

// The input is the sum, which others read, too; two dimensions are normalised.
// CHECK-LABEL: func.func @rms_of_sum(
// CHECK: %[[SUM:.*]] = ait.map
// CHECK: %[[R:.*]] = ait.norm rms %[[SUM]] params(%{{.*}} : tensor<2x4xf32>) epsilon {{.*}} axis 1
// CHECK: return %[[SUM]], %[[R]]
func.func @rms_of_sum(%x: tensor<3x2x4xf32>, %y: tensor<3x2x4xf32>, %s: tensor<2x4xf32>) -> (tensor<3x2x4xf32>, tensor<3x2x4xf32>) {
  %0 = ait.map ins(%x, %y : tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2x4xf32> {
  ^bb0(%a: f32, %c: f32):
    %1 = arith.addf %a, %c : f32
    ait.yield %1 : f32
  }
  %q = ait.map ins(%0 : tensor<3x2x4xf32>) -> tensor<3x2x4xf32> {
  ^bb0(%a: f32):
    %1 = arith.mulf %a, %a : f32
    ait.yield %1 : f32
  }
  %v = ait.reduce mean %q axes [1, 2] keepdims : tensor<3x2x4xf32> -> tensor<3x1x1xf32>
  %r = ait.map ins(%0, %v, %s : tensor<3x2x4xf32>, tensor<3x1x1xf32>, tensor<2x4xf32>) -> tensor<3x2x4xf32> {
  ^bb0(%a: f32, %c: f32, %d: f32):
    %eps = arith.constant 1.0e-6 : f32
    %one = arith.constant 1.0 : f32
    %1 = arith.addf %eps, %c : f32
    %2 = math.sqrt %1 : f32
    %3 = arith.divf %one, %2 : f32
    %4 = arith.mulf %3, %a : f32
    %5 = arith.mulf %4, %d : f32
    ait.yield %5 : f32
  }
  return %0, %r : tensor<3x2x4xf32>, tensor<3x2x4xf32>
}

// -----

// The variance of something else, a mean over the first dimension, and a scale that stretches the input are no norms.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: ait.norm
// CHECK: return
func.func @others(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %q = ait.map ins(%y : tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: f32):
    %1 = arith.mulf %a, %a : f32
    ait.yield %1 : f32
  }
  %v = ait.reduce mean %q axes [1] keepdims : tensor<4x4xf32> -> tensor<4x1xf32>
  %u = ait.reduce mean %q axes [0] keepdims : tensor<4x4xf32> -> tensor<1x4xf32>
  %r = ait.map ins(%x, %v : tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: f32, %c: f32):
    %eps = arith.constant 1.0e-6 : f32
    %1 = arith.addf %c, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.mulf %a, %2 : f32
    ait.yield %3 : f32
  }
  %s = ait.map ins(%y, %u : tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: f32, %c: f32):
    %eps = arith.constant 1.0e-6 : f32
    %1 = arith.addf %c, %eps : f32
    %2 = math.rsqrt %1 : f32
    %3 = arith.mulf %a, %2 : f32
    ait.yield %3 : f32
  }
  return %r, %s : tensor<4x4xf32>, tensor<4x4xf32>
}
