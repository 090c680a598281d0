// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// The index of a row is checked before its copy.
// CHECK-LABEL: func.func private @k(
// CHECK: arith.cmpi uge
// CHECK: call @aitmlir_rt_fail
// CHECK: scf.for
// CHECK: memref.store
func.func private @k(%x: tensor<5x16xf32>, %i: tensor<3xi64>) -> (tensor<3x16xf32>) attributes {ait.kernel} {
  %r = ait.gather slices %x[%i] : tensor<5x16xf32>, tensor<3xi64> -> tensor<3x16xf32>
  return %r : tensor<3x16xf32>
}
