// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// Out of range clamps; no poison.
// CHECK-LABEL: func.func private @k(
// CHECK: llvm.call_intrinsic "llvm.fptosi.sat.i32.f32"
// CHECK: arith.trunci
func.func private @k(%x: tensor<4xf32>) -> (tensor<4xi8>) attributes {ait.kernel} {
  %r = ait.cast %x : tensor<4xf32> to tensor<4xi8>
  return %r : tensor<4xi8>
}
