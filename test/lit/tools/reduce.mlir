// The reducer knows the dialect and our passes.

// RUN: aitmlir-reduce %s --opt-reduction-pass='opt-pass=ait-canonicalize test=%S/Inputs/has-softmax' | FileCheck %s
// RUN: aitmlir-reduce --help | FileCheck %s --check-prefix=HELP
// HELP: reduction-tree

// CHECK: ait.softmax
// CHECK-NOT: ait.cast
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = ait.cast %x : tensor<2x3xf32> to tensor<2x3xf32>
  %1 = ait.softmax softmax %0 axis 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
