// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// Variance about the mean.
// CHECK-LABEL: func.func private @k(
// CHECK: arith.addf {{.*}} fastmath<reassoc>
// CHECK: %[[MEAN:.*]] = arith.divf
// CHECK: arith.subf %{{.*}}, %[[MEAN]]
// CHECK: math.sqrt
func.func private @k(%x: tensor<8x768xf32>) -> (tensor<8x768xf32>) attributes {ait.kernel} {
  %r = ait.norm layer %x epsilon 1.0e-05 axis 1 : tensor<8x768xf32> -> tensor<8x768xf32>
  return %r : tensor<8x768xf32>
}
