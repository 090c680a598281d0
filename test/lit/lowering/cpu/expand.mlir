// RUN: aitmlir-opt %s --ait-lower-kernels-cpu --canonicalize --cse | FileCheck %s

// Whether an axis is stretched is found out once: the code is there for equal sizes and for any.
// CHECK-LABEL: func.func private @k(
// CHECK: scf.if
// CHECK: scf.for
// CHECK: else
// CHECK: arith.select
// CHECK: scf.for
func.func private @k(%x: tensor<?xf32>, %n: index) -> (tensor<?xf32>) attributes {ait.kernel} {
  %r = ait.expand %x dims(%n) : tensor<?xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
}
