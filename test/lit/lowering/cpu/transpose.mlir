// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// A swap goes by tiles.
// CHECK-LABEL: func.func private @k(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.load
// CHECK: memref.store
func.func private @k(%x: tensor<64x96xf32>) -> (tensor<96x64xf32>) attributes {ait.kernel} {
  %r = ait.transpose %x [1, 0] : tensor<64x96xf32> to tensor<96x64xf32>
  return %r : tensor<96x64xf32>
}
