// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// The data, then the updates.
// CHECK-LABEL: func.func private @k(
// CHECK: memref.store
// CHECK: call @aitmlir_rt_fail
// CHECK: arith.addf
// CHECK: memref.store
func.func private @k(%x: tensor<5xf32>, %i: tensor<3x1xi64>, %u: tensor<3xf32>) -> (tensor<5xf32>) attributes {ait.kernel} {
  %r = ait.scatter nd %x[%i], %u reduction add : tensor<5xf32>, tensor<3x1xi64>, tensor<3xf32> -> tensor<5xf32>
  return %r : tensor<5xf32>
}
