// A failing pipeline leaves a reproducer that runs to the same failure.

// RUN: not aitmlir-opt %s --ait-canonicalize --ait-plan-memory --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | FileCheck %s
// CHECK: error: 'ait.softmax' op has no form on buffers: outline it into a kernel first
// RUN: FileCheck %s --check-prefix=REPRODUCER <%t.mlir
// REPRODUCER: pipeline: "builtin.module(ait-canonicalize, ait-plan-memory)"
// RUN: not aitmlir-opt --run-reproducer %t.mlir 2>&1 | FileCheck %s

func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = ait.softmax softmax %x axis 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
