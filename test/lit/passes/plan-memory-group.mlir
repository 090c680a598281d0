// RUN: aitmlir-opt %s --pass-pipeline='builtin.module(ait-outline-kernels,ait-plan-memory)' | FileCheck %s

// One launch writes all results of a group: those in the arena live together, a returned one is written in place.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: memref<64x32xf16>, %[[W:.*]]: memref<64x32xf16>, %[[V:.*]]: memref<32x32xf16>) attributes {ait.memory = array<i64: 16384, 16384, 16384>}
// CHECK-DAG: %[[P:.*]] = memref.view %{{.*}}[%{{.*}}][] : memref<?xi8> to memref<64x64xf16>
// CHECK-DAG: %[[Q:.*]] = memref.view %{{.*}}[%{{.*}}][] : memref<?xi8> to memref<64x64xf16>
// CHECK-DAG: %[[R:.*]] = ait.buffer.output 2 : memref<64x32xf16>
// CHECK: ait.launch @k0_group(%[[X]], %[[W]], %[[V]] : memref<64x32xf16>, memref<64x32xf16>, memref<32x32xf16>) outs(
// CHECK-SAME: %[[R]] : memref<64x64xf16>, memref<64x64xf16>, memref<64x32xf16>)
// CHECK: ait.launch @k1_softmax
// CHECK: ait.launch @k1_softmax
func.func @main(%x: tensor<64x32xf16>, %w: tensor<64x32xf16>, %v: tensor<32x32xf16>) -> (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x32xf16>) {
  %0:3 = ait.group(%x, %w, %v : tensor<64x32xf16>, tensor<64x32xf16>, tensor<32x32xf16>) -> tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x32xf16> members {
  ^bb0(%a: tensor<64x32xf16>, %b: tensor<64x32xf16>, %c: tensor<32x32xf16>):
    %p = ait.gemm %a, %b row col : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf16>
    %o = ait.gemm %b, %b row col : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf16>
    %q = ait.gemm %a, %c row col : tensor<64x32xf16>, tensor<32x32xf16> -> tensor<64x32xf16>
    ait.yield %p, %o, %q : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x32xf16>
  }
  %1 = ait.softmax softmax %0#0 axis 1 : tensor<64x64xf16> -> tensor<64x64xf16>
  %2 = ait.softmax softmax %0#1 axis 1 : tensor<64x64xf16> -> tensor<64x64xf16>
  return %1, %2, %0#2 : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x32xf16>
}
