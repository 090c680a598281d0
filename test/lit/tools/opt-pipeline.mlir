// Our passes and MLIR's in one pipeline, printed and run.

// RUN: aitmlir-opt %s --pass-pipeline='builtin.module(canonicalize,ait-canonicalize,func.func(cse),ait-outline-kernels)' | FileCheck %s
// RUN: aitmlir-opt %s --canonicalize --ait-canonicalize --cse --ait-outline-kernels | FileCheck %s
// CHECK: func.func @main
// CHECK: %[[R:.*]] = ait.launch @[[K:k0_softmax]](
// CHECK: return %[[R]], %
// CHECK: func.func private @[[K]](
// CHECK-SAME: ait.kernel

// RUN: aitmlir-opt %s --ait-canonicalize --cse --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: Pass Manager with 2 passes:
// PIPELINE: ait-canonicalize,
// PIPELINE-NEXT: cse

// RUN: aitmlir-opt %s --ait-canonicalize --mlir-timing --mlir-timing-display=list 2>&1 >/dev/null | FileCheck %s --check-prefix=TIMING
// TIMING: Execution time report
// TIMING: ait-canonicalize

// RUN: aitmlir-opt %s --ait-canonicalize --ait-outline-kernels --mlir-print-ir-after=ait-canonicalize 2>&1 >/dev/null | FileCheck %s --check-prefix=AFTER
// AFTER: IR Dump After ait-canonicalize (ait-canonicalize)
// AFTER-NOT: ait.launch
// AFTER: ait.softmax

// RUN: rm -rf %t.tree
// RUN: aitmlir-opt %s --ait-canonicalize --ait-outline-kernels --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t.tree -o %t.out
// RUN: find %t.tree -name '*ait-outline-kernels.mlir' | FileCheck %s --check-prefix=TREE
// TREE: 1_ait-outline-kernels.mlir

// RUN: aitmlir-opt %s --mlir-elide-elementsattrs-if-larger=2 --mlir-print-debuginfo | FileCheck %s --check-prefix=PRINT
// PRINT: dense_resource<__elided__>
// PRINT: loc(

func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<4xi64>) {
  %0 = ait.softmax softmax %x axis 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = ait.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  return %0, %1 : tensor<2x3xf32>, tensor<4xi64>
}
