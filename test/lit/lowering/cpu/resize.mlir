// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// Tables of taps, then rows.
// CHECK-LABEL: func.func private @k(
// CHECK: call @aitmlir_rt_scratch
// CHECK: math.floor
// CHECK: scf.for
func.func private @k(%x: tensor<1x1x4x4xf32>, %s0: f64, %s1: f64, %s2: f64, %s3: f64) -> (tensor<1x1x8x8xf32>) attributes {ait.kernel} {
  %r = ait.resize linear half_pixel %x scales(%s0, %s1, %s2, %s3) : tensor<1x1x4x4xf32> -> tensor<1x1x8x8xf32>
  return %r : tensor<1x1x8x8xf32>
}
