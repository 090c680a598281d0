// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// Equal contiguous operands are walked as one axis.
// CHECK-LABEL: func.func private @k(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: arith.addf
// CHECK: memref.store
// CHECK: return
func.func private @k(%a: tensor<8x768xf32>, %b: tensor<8x768xf32>) -> (tensor<8x768xf32>) attributes {ait.kernel} {
  %r = ait.map ins(%a, %b : tensor<8x768xf32>, tensor<8x768xf32>) -> tensor<8x768xf32> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    ait.yield %z : f32
  }
  return %r : tensor<8x768xf32>
}
