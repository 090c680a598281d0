// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// Fill, copy, fill.
// CHECK-LABEL: func.func private @k(
// CHECK-COUNT-3: scf.for
func.func private @k(%x: tensor<4xf32>) -> (tensor<9xf32>) attributes {ait.kernel} {
  %r = ait.pad constant %x low [2] high [3] : tensor<4xf32> -> tensor<9xf32>
  return %r : tensor<9xf32>
}
