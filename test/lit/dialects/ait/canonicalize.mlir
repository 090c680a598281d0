// RUN: aitmlir-opt %s --pass-pipeline='builtin.module(ait-canonicalize,canonicalize)' | FileCheck %s

// CHECK-LABEL: func.func @constants_fold(
// CHECK: %[[C:.*]] = ait.constant dense<{{\[\[}}1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
// CHECK-NEXT: return %[[C]]
func.func @constants_fold() -> tensor<2x3xi64> {
  %0 = ait.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi64>
  %1 = ait.reshape %0 : tensor<6xi64> to tensor<2x3xi64>
  return %1 : tensor<2x3xi64>
}

// CHECK-LABEL: func.func @weights_stay(
// CHECK: ait.constant #ait.weights<"w">
// CHECK: ait.reshape
func.func @weights_stay() -> tensor<2x3xf32> {
  %0 = ait.constant #ait.weights<"w"> : tensor<6xf32>
  %1 = ait.reshape %0 : tensor<6xf32> to tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @reshape_of_reshape(
// CHECK-SAME: %[[X:.*]]: tensor<?x6xf32>, %[[N:.*]]: index, %[[M:.*]]: index
// CHECK-NEXT: %[[R:.*]] = ait.reshape %[[X]] dims(%[[M]]) : tensor<?x6xf32> to tensor<2x?xf32>
// CHECK-NEXT: return %[[R]]
func.func @reshape_of_reshape(%x: tensor<?x6xf32>, %n: index, %m: index) -> tensor<2x?xf32> {
  %0 = ait.reshape %x dims(%n) : tensor<?x6xf32> to tensor<?xf32>
  %1 = ait.reshape %0 dims(%m) : tensor<?xf32> to tensor<2x?xf32>
  return %1 : tensor<2x?xf32>
}

// CHECK-LABEL: func.func @reshape_there_and_back(
// CHECK-SAME: %[[X:.*]]: tensor<?x6xf32>
// CHECK-NEXT: return %[[X]]
func.func @reshape_there_and_back(%x: tensor<?x6xf32>, %n: index, %m: index) -> tensor<?x6xf32> {
  %0 = ait.reshape %x dims(%n) : tensor<?x6xf32> to tensor<?xf32>
  %1 = ait.reshape %0 dims(%m) : tensor<?xf32> to tensor<?x6xf32>
  return %1 : tensor<?x6xf32>
}

// Two dynamic dimensions may trade their sizes.
// CHECK-LABEL: func.func @reshape_of_two_dynamic(
// CHECK: ait.reshape
func.func @reshape_of_two_dynamic(%x: tensor<?x?xf32>, %n: index, %m: index) -> tensor<?x?xf32> {
  %0 = ait.reshape %x dims(%n, %m) : tensor<?x?xf32> to tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @transpose_of_transpose(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x?xf32>
// CHECK-NEXT: %[[T:.*]] = ait.transpose %[[X]] [2, 0, 1] : tensor<2x3x?xf32> to tensor<?x2x3xf32>
// CHECK-NEXT: return %[[T]]
func.func @transpose_of_transpose(%x: tensor<2x3x?xf32>) -> tensor<?x2x3xf32> {
  %0 = ait.transpose %x [1, 2, 0] : tensor<2x3x?xf32> to tensor<3x?x2xf32>
  %1 = ait.transpose %0 [1, 2, 0] : tensor<3x?x2xf32> to tensor<?x2x3xf32>
  return %1 : tensor<?x2x3xf32>
}

// CHECK-LABEL: func.func @transpose_there_and_back(
// CHECK-SAME: %[[X:.*]]: tensor<?x3xf32>
// CHECK-NEXT: return %[[X]]
func.func @transpose_there_and_back(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = ait.transpose %x [1, 0] : tensor<?x3xf32> to tensor<3x?xf32>
  %1 = ait.transpose %0 [1, 0] : tensor<3x?xf32> to tensor<?x3xf32>
  return %1 : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @transpose_of_ones(
// CHECK-SAME: %[[X:.*]]: tensor<1x?x3xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[X]]
// CHECK: ait.reshape %[[X]] dims(%[[N]]) : tensor<1x?x3xf32> to tensor<?x1x3xf32>
func.func @transpose_of_ones(%x: tensor<1x?x3xf32>) -> tensor<?x1x3xf32> {
  %0 = ait.transpose %x [1, 0, 2] : tensor<1x?x3xf32> to tensor<?x1x3xf32>
  return %0 : tensor<?x1x3xf32>
}

// CHECK-LABEL: func.func @expand_of_expand(
// CHECK-SAME: %[[X:.*]]: tensor<1xf32>, %[[N:.*]]: index
// CHECK-NEXT: ait.expand %[[X]] dims(%[[N]]) : tensor<1xf32> to tensor<?x4xf32>
func.func @expand_of_expand(%x: tensor<1xf32>, %n: index) -> tensor<?x4xf32> {
  %0 = ait.expand %x : tensor<1xf32> to tensor<4xf32>
  %1 = ait.expand %0 dims(%n) : tensor<4xf32> to tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @identities(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>
// CHECK-NEXT: return %[[X]]
func.func @identities(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = ait.cast %x : tensor<2x3xf32> to tensor<2x3xf32>
  %1 = ait.expand %0 : tensor<2x3xf32> to tensor<2x3xf32>
  %2 = ait.slice %1[0, 0][2, 3][1, 1] : tensor<2x3xf32> to tensor<2x3xf32>
  %3 = ait.pad constant %2 low [0, 0] high [0, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = ait.concat %3 axis 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  %5 = ait.split %4 axis 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %6 = ait.transpose %5 [0, 1] : tensor<2x3xf32> to tensor<2x3xf32>
  return %6 : tensor<2x3xf32>
}

// A dynamic dimension may be stretched from 1.
// CHECK-LABEL: func.func @expand_of_dynamic(
// CHECK: ait.expand
func.func @expand_of_dynamic(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %0 = ait.expand %x dims(%n) : tensor<?xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}

// What has no effects and no use goes, and equal ops are one.
// CHECK-LABEL: func.func @dead(
// CHECK-NEXT: return
func.func @dead(%x: tensor<4xf32>) {
  %0 = ait.softmax softmax %x axis 0 : tensor<4xf32> -> tensor<4xf32>
  return
}
