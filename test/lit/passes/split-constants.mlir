// RUN: aitmlir-opt %s --ait-split-constants --split-input-file | FileCheck %s

// What the chain of launches makes of the weight is stored under a name of its own; the value in between is not.
// CHECK: module attributes {ait.derived = [tensor<4xf32>]}
// CHECK-LABEL: func.func @fold() -> tensor<4xf32> attributes {ait.fold = ["derived.0"]}
// CHECK: %[[W:.*]] = ait.constant #ait.weights<"w">
// CHECK: %[[A:.*]] = ait.launch @k(%[[W]]
// CHECK: %[[B:.*]] = ait.launch @k(%[[A]]
// CHECK: return %[[B]]
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>)
// CHECK: %[[D:.*]] = ait.constant #ait.weights<"derived.0"> : tensor<4xf32>
// CHECK-NOT: ait.launch @k(
// CHECK: ait.launch @add(%[[X]], %[[D]]
func.func private @k(tensor<4xf32>) -> tensor<4xf32>
func.func private @add(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = ait.constant #ait.weights<"w"> : tensor<4xf32>
  %0 = ait.launch @k(%w : tensor<4xf32>) -> tensor<4xf32>
  %1 = ait.launch @k(%0 : tensor<4xf32>) -> tensor<4xf32>
  %2 = ait.launch @add(%x, %1 : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// A launch that reads an input stays, and so does one that reads nothing: it may be random.
// CHECK-NOT: ait.fold
// CHECK-LABEL: func.func @main(
// CHECK: ait.launch @k
// CHECK: ait.launch @none
func.func private @k(tensor<4xf32>) -> tensor<4xf32>
func.func private @none() -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ait.launch @k(%x : tensor<4xf32>) -> tensor<4xf32>
  %1 = ait.launch @none() -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A view of a constant is a constant; a view of a stored value stays in the main program.
// CHECK-LABEL: func.func @fold() -> tensor<4xf32>
// CHECK: %[[V:.*]] = ait.reshape
// CHECK: ait.launch @k(%[[V]]
// CHECK-LABEL: func.func @main(
// CHECK: %[[D:.*]] = ait.constant #ait.weights<"derived.0">
// CHECK: %[[R:.*]] = ait.reshape %[[D]]
// CHECK: ait.launch @add(%{{.*}}, %[[R]]
func.func private @k(tensor<4xf32>) -> tensor<4xf32>
func.func private @add(tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = ait.constant #ait.weights<"w"> : tensor<2x2xf32>
  %v = ait.reshape %w : tensor<2x2xf32> to tensor<4xf32>
  %0 = ait.launch @k(%v : tensor<4xf32>) -> tensor<4xf32>
  %1 = ait.reshape %0 : tensor<4xf32> to tensor<2x2xf32>
  %2 = ait.launch @add(%x, %1 : tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
