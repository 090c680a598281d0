// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// Sorted in scratch memory.
// CHECK-LABEL: func.func private @k(
// CHECK: call @aitmlir_rt_scratch
// CHECK: scf.while
func.func private @k(%x: tensor<2x9xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) attributes {ait.kernel} {
  %r:2 = ait.topk %x axis 1 : tensor<2x9xf32> -> tensor<2x3xf32>, tensor<2x3xi64>
  return %r#0, %r#1 : tensor<2x3xf32>, tensor<2x3xi64>
}
