// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// A negative stride is a view, and one copy.
// CHECK-LABEL: func.func private @k(
// CHECK: scf.for
// CHECK: arith.subi %c7
// CHECK: memref.load
// CHECK: memref.store
func.func private @k(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {ait.kernel} {
  %r = ait.slice %x[7][8][-1] : tensor<8xf32> to tensor<8xf32>
  return %r : tensor<8xf32>
}
