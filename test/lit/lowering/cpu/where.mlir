// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// The condition is stretched along the rows.
// CHECK-LABEL: func.func private @k(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.select
func.func private @k(%c: tensor<4x1xi1>, %x: tensor<4x8xf32>, %y: tensor<8xf32>) -> (tensor<4x8xf32>) attributes {ait.kernel} {
  %r = ait.where %c, %x, %y : tensor<4x1xi1>, tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
