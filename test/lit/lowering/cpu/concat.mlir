// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// One copy an input.
// CHECK-LABEL: func.func private @k(
// CHECK-COUNT-2: memref.store
func.func private @k(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) -> (tensor<2x7xf32>) attributes {ait.kernel} {
  %r = ait.concat %a, %b axis 1 : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<2x7xf32>
  return %r : tensor<2x7xf32>
}
