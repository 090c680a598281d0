// RUN: aitmlir-opt %s --ait-plan-memory --canonicalize --cse --split-input-file | FileCheck %s

// The report is at the upper bounds of the arguments' dimensions; the arena itself is as large as the dimensions of a run ask for.
func.func private @k(tensor<?x16xf32>) -> tensor<?x16xf32>

// CHECK-LABEL: func.func @batch(
// CHECK-SAME: ait.memory = array<i64: 8192, 8192, 12288>
// CHECK: %[[TOTAL:.*]] = arith.muli %{{.*}}, %c128
// CHECK: ait.buffer.arena %[[TOTAL]]
func.func @batch(%x: tensor<?x16xf32> {ait.max = array<i64: 64, 16>}) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %0 = ait.launch @k(%x : tensor<?x16xf32>) dims(%n) -> tensor<?x16xf32>
  %1 = ait.launch @k(%0 : tensor<?x16xf32>) dims(%n) -> tensor<?x16xf32>
  %2 = ait.launch @k(%1 : tensor<?x16xf32>) dims(%n) -> tensor<?x16xf32>
  %3 = ait.launch @k(%2 : tensor<?x16xf32>) dims(%n) -> tensor<?x16xf32>
  return %3 : tensor<?x16xf32>
}

// -----

// A large buffer, then four small ones whose sizes depend on another dimension: the layout for the largest sizes takes least, and its offsets are numbers.
// Bounds may be lists of integers, too.
func.func private @large(tensor<?x16xf32>) -> tensor<?x64xf32>
func.func private @small(tensor<?x64xf32>) -> tensor<?x16xf32>
func.func private @k(tensor<?x16xf32>) -> tensor<?x16xf32>
func.func private @all(tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>

// CHECK-LABEL: func.func @bounded(
// CHECK-SAME: ait.memory = array<i64: 2048, 2048, 4096>
// CHECK: ait.buffer.arena %c2048
// CHECK: memref.view %{{.*}}[%c0]{{.*}} to memref<?x64xf32>
// CHECK: memref.view %{{.*}}[%c0]{{.*}} to memref<?x16xf32>
// CHECK: memref.view %{{.*}}[%c512]{{.*}} to memref<?x16xf32>
func.func @bounded(%x: tensor<?x16xf32> {ait.max = [8, -1]}, %y: tensor<?x16xf32> {ait.max = [8, -1]}) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x16xf32>
  %m = tensor.dim %y, %c0 : tensor<?x16xf32>
  %0 = ait.launch @large(%x : tensor<?x16xf32>) dims(%n) -> tensor<?x64xf32>
  %1 = ait.launch @small(%0 : tensor<?x64xf32>) dims(%n) -> tensor<?x16xf32>
  %2 = ait.launch @k(%y : tensor<?x16xf32>) dims(%m) -> tensor<?x16xf32>
  %3 = ait.launch @k(%2 : tensor<?x16xf32>) dims(%m) -> tensor<?x16xf32>
  %4 = ait.launch @k(%3 : tensor<?x16xf32>) dims(%m) -> tensor<?x16xf32>
  %5 = ait.launch @k(%4 : tensor<?x16xf32>) dims(%m) -> tensor<?x16xf32>
  %6 = ait.launch @all(%2, %3, %4, %5 : tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?x16xf32>) dims(%m) -> tensor<?x16xf32>
  return %1, %6 : tensor<?x16xf32>, tensor<?x16xf32>
}

// -----

// The bound of a computed dimension follows from those of the arguments.
func.func private @pool(tensor<1x?xf32>) -> tensor<1x?xf32>

// CHECK-LABEL: func.func @computed(
// CHECK-SAME: ait.memory = array<i64: 128, 128, 128>
func.func @computed(%x: tensor<1x?xf32> {ait.min = array<i64: 1, 4>, ait.max = array<i64: 1, 64>}) -> tensor<1x?xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %x, %c1 : tensor<1x?xf32>
  %less = arith.subi %n, %c3 : index
  %half = arith.floordivsi %less, %c2 : index
  %m = arith.addi %half, %c1 : index
  %0 = ait.launch @pool(%x : tensor<1x?xf32>) dims(%m) -> tensor<1x?xf32>
  %1 = ait.launch @pool(%0 : tensor<1x?xf32>) dims(%m) -> tensor<1x?xf32>
  return %1 : tensor<1x?xf32>
}
