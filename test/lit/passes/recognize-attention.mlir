// RUN: aitmlir-opt %s --ait-recognize-attention --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @scaled_with_bias(
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x6x8xf32>, %[[K:.*]]: tensor<2x4x5x8xf32>, %[[V:.*]]: tensor<2x4x5x8xf32>, %[[B:.*]]: tensor<2x4x6x5xf32>)
// CHECK-NEXT: %[[R:.*]] = ait.attention %[[Q]], %[[K]], %[[V]] scale 5.000000e-01 bias(%[[B]] : tensor<2x4x6x5xf32>)
// CHECK-NEXT: return %[[R]]
func.func @scaled_with_bias(%q: tensor<2x4x6x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %b: tensor<2x4x6x5xf32>) -> tensor<2x4x6x8xf32> {
  %t = ait.transpose %k [0, 1, 3, 2] : tensor<2x4x5x8xf32> to tensor<2x4x8x5xf32>
  %0 = ait.gemm %q, %t row row : tensor<2x4x6x8xf32>, tensor<2x4x8x5xf32> -> tensor<2x4x6x5xf32>
  %1 = ait.map ins(%0 : tensor<2x4x6x5xf32>) -> tensor<2x4x6x5xf32> {
  ^bb0(%a: f32):
    %s = arith.constant 2.0 : f32
    %r = arith.divf %a, %s : f32
    ait.yield %r : f32
  }
  %2 = ait.map ins(%1, %b : tensor<2x4x6x5xf32>, tensor<2x4x6x5xf32>) -> tensor<2x4x6x5xf32> {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %a, %c : f32
    ait.yield %r : f32
  }
  %3 = ait.softmax softmax %2 axis 3 : tensor<2x4x6x5xf32> -> tensor<2x4x6x5xf32>
  %4 = ait.gemm %3, %v row row : tensor<2x4x6x5xf32>, tensor<2x4x5x8xf32> -> tensor<2x4x6x8xf32>
  return %4 : tensor<2x4x6x8xf32>
}

// -----

// Scales at both operands, repeated heads, keys transposed as three dimensions, NaN of rows without keys replaced.
// CHECK-LABEL: func.func @grouped(
// CHECK-SAME: %[[Q:.*]]: tensor<1x4x6x8xf32>, %[[K:.*]]: tensor<1x2x5x8xf32>, %[[V:.*]]: tensor<1x2x5x8xf32>)
// CHECK-NEXT: %[[R:.*]] = ait.attention %[[Q]], %[[K]], %[[V]] scale 2.500000e-01 :
// CHECK-NEXT: return %[[R]]
func.func @grouped(%q: tensor<1x4x6x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x8xf32>) -> tensor<1x4x6x8xf32> {
  %k0 = ait.reshape %k : tensor<1x2x5x8xf32> to tensor<1x2x1x5x8xf32>
  %k1 = ait.expand %k0 : tensor<1x2x1x5x8xf32> to tensor<1x2x2x5x8xf32>
  %k2 = ait.reshape %k1 : tensor<1x2x2x5x8xf32> to tensor<1x4x5x8xf32>
  %v0 = ait.reshape %v : tensor<1x2x5x8xf32> to tensor<1x2x1x5x8xf32>
  %v1 = ait.expand %v0 : tensor<1x2x1x5x8xf32> to tensor<1x2x2x5x8xf32>
  %v2 = ait.reshape %v1 : tensor<1x2x2x5x8xf32> to tensor<1x4x5x8xf32>
  %t0 = ait.reshape %k2 : tensor<1x4x5x8xf32> to tensor<4x5x8xf32>
  %t1 = ait.transpose %t0 [0, 2, 1] : tensor<4x5x8xf32> to tensor<4x8x5xf32>
  %t2 = ait.reshape %t1 : tensor<4x8x5xf32> to tensor<1x4x8x5xf32>
  %qs = ait.map ins(%q : tensor<1x4x6x8xf32>) -> tensor<1x4x6x8xf32> {
  ^bb0(%a: f32):
    %s = arith.constant 0.5 : f32
    %r = arith.mulf %a, %s : f32
    ait.yield %r : f32
  }
  %ks = ait.map ins(%t2 : tensor<1x4x8x5xf32>) -> tensor<1x4x8x5xf32> {
  ^bb0(%a: f32):
    %s = arith.constant 0.5 : f32
    %r = arith.mulf %a, %s : f32
    ait.yield %r : f32
  }
  %0 = ait.gemm %qs, %ks row row : tensor<1x4x6x8xf32>, tensor<1x4x8x5xf32> -> tensor<1x4x6x5xf32>
  %1 = ait.softmax softmax %0 axis 3 : tensor<1x4x6x5xf32> -> tensor<1x4x6x5xf32>
  %2 = ait.map ins(%1 : tensor<1x4x6x5xf32>) -> tensor<1x4x6x5xi1> {
  ^bb0(%a: f32):
    %r = arith.cmpf une, %a, %a : f32
    ait.yield %r : i1
  }
  %3 = ait.map ins(%2, %1 : tensor<1x4x6x5xi1>, tensor<1x4x6x5xf32>) -> tensor<1x4x6x5xf32> {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %r = arith.select %c, %z, %a : f32
    ait.yield %r : f32
  }
  %4 = ait.gemm %3, %v2 row row : tensor<1x4x6x5xf32>, tensor<1x4x5x8xf32> -> tensor<1x4x6x8xf32>
  return %4 : tensor<1x4x6x8xf32>
}

// -----

// The weights leave: they are computed once, where they are.
// CHECK-LABEL: func.func @weights_leave(
// CHECK-NOT: ait.attention
// CHECK: return
func.func @weights_leave(%q: tensor<1x4x6x8xf32>, %k: tensor<1x4x5x8xf32>, %v: tensor<1x4x5x8xf32>) -> (tensor<1x4x6x8xf32>, tensor<1x4x6x5xf32>) {
  %0 = ait.gemm %q, %k row col : tensor<1x4x6x8xf32>, tensor<1x4x5x8xf32> -> tensor<1x4x6x5xf32>
  %1 = ait.softmax softmax %0 axis 3 : tensor<1x4x6x5xf32> -> tensor<1x4x6x5xf32>
  %2 = ait.gemm %1, %v row row : tensor<1x4x6x5xf32>, tensor<1x4x5x8xf32> -> tensor<1x4x6x8xf32>
  return %2, %1 : tensor<1x4x6x8xf32>, tensor<1x4x6x5xf32>
}

// -----

// A bias of dynamic size may stretch the scores.
// CHECK-LABEL: func.func @bias_may_stretch(
// CHECK-NOT: ait.attention
// CHECK: return
func.func @bias_may_stretch(%q: tensor<1x4x?x8xf32>, %k: tensor<1x4x?x8xf32>, %v: tensor<1x4x?x8xf32>, %b: tensor<?x?xf32>) -> tensor<1x4x?x8xf32> {
  %0 = ait.gemm %q, %k row col : tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32> -> tensor<1x4x?x?xf32>
  %1 = ait.map ins(%0, %b : tensor<1x4x?x?xf32>, tensor<?x?xf32>) -> tensor<1x4x?x?xf32> {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %a, %c : f32
    ait.yield %r : f32
  }
  %2 = ait.softmax softmax %1 axis 3 : tensor<1x4x?x?xf32> -> tensor<1x4x?x?xf32>
  %3 = ait.gemm %2, %v row row : tensor<1x4x?x?xf32>, tensor<1x4x?x8xf32> -> tensor<1x4x?x8xf32>
  return %3 : tensor<1x4x?x8xf32>
}

// -----

// Keys transposed as three dimensions, from another order of dimensions.
// CHECK-LABEL: func.func @keys_of_three_dimensions(
// CHECK-SAME: %[[Q:.*]]: tensor<?x2x6x8xf32>, %[[X:.*]]: tensor<6x?x8xf32>
// CHECK: %[[T:.*]] = ait.transpose %[[X]] [1, 0, 2] : tensor<6x?x8xf32> to tensor<?x6x8xf32>
// CHECK-NEXT: %[[K:.*]] = ait.reshape %[[T]] dims(%{{.*}}) : tensor<?x6x8xf32> to tensor<?x2x6x8xf32>
// CHECK-NEXT: ait.attention %[[Q]], %[[K]], %[[Q]] scale 1.000000e+00
func.func @keys_of_three_dimensions(%q: tensor<?x2x6x8xf32>, %x: tensor<6x?x8xf32>) -> tensor<?x2x6x8xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %q, %c0 : tensor<?x2x6x8xf32>
  %t = ait.transpose %x [1, 2, 0] : tensor<6x?x8xf32> to tensor<?x8x6xf32>
  %k = ait.reshape %t dims(%n) : tensor<?x8x6xf32> to tensor<?x2x8x6xf32>
  %0 = ait.gemm %q, %k row row : tensor<?x2x6x8xf32>, tensor<?x2x8x6xf32> -> tensor<?x2x6x6xf32>
  %1 = ait.softmax softmax %0 axis 3 : tensor<?x2x6x6xf32> -> tensor<?x2x6x6xf32>
  %2 = ait.gemm %1, %q row row : tensor<?x2x6x6xf32>, tensor<?x2x6x8xf32> -> tensor<?x2x6x8xf32>
  return %2 : tensor<?x2x6x8xf32>
}
