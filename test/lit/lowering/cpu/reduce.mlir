// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// A contiguous reduction is one chain that may be reassociated.
// CHECK-LABEL: func.func private @k(
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.addf {{.*}} fastmath<reassoc>
func.func private @k(%x: tensor<8x768xf32>) -> (tensor<8xf32>) attributes {ait.kernel} {
  %r = ait.reduce sum %x axes [1] : tensor<8x768xf32> -> tensor<8xf32>
  return %r : tensor<8xf32>
}
