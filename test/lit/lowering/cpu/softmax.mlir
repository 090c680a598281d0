// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// Maximum, sum, quotient.
// CHECK-LABEL: func.func private @k(
// CHECK: llvm.intr.maximum
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: arith.mulf
func.func private @k(%x: tensor<8x768xf32>) -> (tensor<8x768xf32>) attributes {ait.kernel} {
  %r = ait.softmax softmax %x axis 1 : tensor<8x768xf32> -> tensor<8x768xf32>
  return %r : tensor<8x768xf32>
}
