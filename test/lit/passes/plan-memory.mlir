// RUN: aitmlir-opt %s --ait-plan-memory --split-input-file --verify-diagnostics | FileCheck %s

func.func private @k(tensor<100xf32>) -> tensor<100xf32>

// Three buffers of 400 bytes, two of which live at once: an arena of two.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:.*]]: memref<100xf32>) attributes {ait.memory = array<i64: 896, 896, 1344>}
// CHECK: %[[ARENA:.*]] = ait.buffer.arena
// CHECK-NEXT: %[[A:.*]] = memref.view %[[ARENA]][%[[OA:.*]]][]
// CHECK-NEXT: ait.launch @k(%[[X]] : memref<100xf32>) outs(%[[A]] : memref<100xf32>)
// CHECK-NEXT: %[[B:.*]] = memref.view %[[ARENA]][%{{.*}}][]
// CHECK-NEXT: ait.launch @k(%[[A]] : memref<100xf32>) outs(%[[B]] : memref<100xf32>)
// CHECK-NEXT: %[[C:.*]] = memref.view %[[ARENA]][%{{.*}}][]
// CHECK-NEXT: ait.launch @k(%[[B]] : memref<100xf32>) outs(%[[C]] : memref<100xf32>)
// CHECK-NEXT: %[[O:.*]] = ait.buffer.output 0 : memref<100xf32>
// CHECK-NEXT: ait.launch @k(%[[C]] : memref<100xf32>) outs(%[[O]] : memref<100xf32>)
// CHECK-NEXT: return
func.func @chain(%x: tensor<100xf32>) -> tensor<100xf32> {
  %0 = ait.launch @k(%x : tensor<100xf32>) -> tensor<100xf32>
  %1 = ait.launch @k(%0 : tensor<100xf32>) -> tensor<100xf32>
  %2 = ait.launch @k(%1 : tensor<100xf32>) -> tensor<100xf32>
  %3 = ait.launch @k(%2 : tensor<100xf32>) -> tensor<100xf32>
  return %3 : tensor<100xf32>
}

// -----

func.func private @k(tensor<?x4xf32>) -> tensor<?x4xf32>

// Sizes in a fixed proportion are laid out by their units, and the product of their dimensions (a multiple of 4 here, for the alignment) scales the layout.
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME: %[[X:.*]]: memref<?x4xf32>
// CHECK-NOT: ait.memory
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// CHECK: %[[SUM:.*]] = arith.addi %[[N]],
// CHECK: %[[ROUNDED:.*]] = arith.andi %[[SUM]],
// CHECK: %[[UNIT:.*]] = arith.constant 16 : index
// CHECK: %[[SECOND:.*]] = arith.muli %[[ROUNDED]], %[[UNIT]]
// CHECK: %[[UNITS:.*]] = arith.constant 32 : index
// CHECK: %[[TOTAL:.*]] = arith.muli %[[ROUNDED]], %[[UNITS]]
// CHECK: %[[ARENA:.*]] = ait.buffer.arena %[[TOTAL]]
// CHECK: memref.view %[[ARENA]][%c0
// CHECK: memref.view %[[ARENA]][%[[SECOND]]]
// CHECK: memref.view %[[ARENA]][%c0
// CHECK: ait.buffer.output 0 dims(
func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %0 = ait.launch @k(%x : tensor<?x4xf32>) dims(%n) -> tensor<?x4xf32>
  %1 = ait.launch @k(%0 : tensor<?x4xf32>) dims(%n) -> tensor<?x4xf32>
  %2 = ait.launch @k(%1 : tensor<?x4xf32>) dims(%n) -> tensor<?x4xf32>
  %3 = ait.launch @k(%2 : tensor<?x4xf32>) dims(%n) -> tensor<?x4xf32>
  return %3 : tensor<?x4xf32>
}

// -----

func.func private @k(tensor<3x3xf32>) -> tensor<3x3xf32>

// CHECK-LABEL: func.func @views(
// CHECK-SAME: %[[X:.*]]: memref<4x6xf32>
// CHECK-NEXT: %[[R:.*]] = ait.buffer.reshape %[[X]] : memref<4x6xf32> to memref<3x8xf32>
// CHECK-NEXT: %[[S:.*]] = memref.subview %[[R]][0, 2] [3, 3] [1, 1] : memref<3x8xf32> to memref<3x3xf32, strided<[8, 1], offset: 2>>
// CHECK-NEXT: %[[O:.*]] = ait.buffer.output 0
// CHECK-NEXT: ait.launch @k(%[[S]] : {{.*}}) outs(%[[O]]
func.func @views(%x: tensor<4x6xf32>) -> tensor<3x3xf32> {
  %0 = ait.reshape %x : tensor<4x6xf32> to tensor<3x8xf32>
  %1 = ait.slice %0[0, 2][3, 3][1, 1] : tensor<3x8xf32> to tensor<3x3xf32>
  %2 = ait.launch @k(%1 : tensor<3x3xf32>) -> tensor<3x3xf32>
  return %2 : tensor<3x3xf32>
}

// -----

func.func private @k(tensor<2xui8>, tensor<2xf32>) -> tensor<2xf32>

// CHECK: memref.global "private" constant @[[G:.*]] : memref<2xi8> = dense<[1, -1]>
// CHECK-LABEL: func.func @constants(
// CHECK: %[[A:.*]] = memref.get_global @[[G]]
// CHECK: %[[B:.*]] = ait.buffer.constant "w" : memref<2xf32>
// CHECK: ait.launch @k(%[[A]], %[[B]]
func.func @constants() -> tensor<2xf32> {
  %0 = ait.constant dense<[1, 255]> : tensor<2xui8>
  %1 = ait.constant #ait.weights<"w"> : tensor<2xf32>
  %2 = ait.launch @k(%0, %1 : tensor<2xui8>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

func.func private @count(tensor<8xf32>) -> (tensor<8xi64>, tensor<i64>)
func.func private @use(tensor<?xi64>) -> tensor<?xi64>

// A size that depends on data is not known at entry.
// CHECK-LABEL: func.func @data_dependent(
// CHECK: ait.launch @count
// CHECK: %[[C:.*]] = memref.load
// CHECK: %[[N:.*]] = arith.index_cast %[[C]]
// CHECK: %[[V:.*]] = memref.subview %{{.*}}[0] [%[[N]]] [1]
// CHECK: %[[A:.*]] = ait.buffer.alloc dims(%[[N]]) : memref<?xi64>
// CHECK: ait.launch @use(%[[V]] : {{.*}}) outs(%[[A]]
// CHECK: ait.buffer.output 0 dims(%[[N]])
func.func @data_dependent(%x: tensor<8xf32>) -> tensor<?xi64> {
  %0:2 = ait.launch @count(%x : tensor<8xf32>) -> tensor<8xi64>, tensor<i64>
  %c = tensor.extract %0#1[] : tensor<i64>
  %n = arith.index_cast %c : i64 to index
  %1 = ait.slice %0#0[0][%n][1] : tensor<8xi64> to tensor<?xi64>
  %2 = ait.launch @use(%1 : tensor<?xi64>) dims(%n) -> tensor<?xi64>
  %3 = ait.launch @use(%2 : tensor<?xi64>) dims(%n) -> tensor<?xi64>
  return %3 : tensor<?xi64>
}

// -----

func.func private @k(tensor<100xf32>) -> tensor<100xf32>

// Values that a loop carries are never placed over one another.
// CHECK-LABEL: func.func @loop(
// CHECK: %[[I:.*]] = ait.buffer.alloc
// CHECK: scf.for {{.*}} iter_args(%[[C:.*]] = %[[I]]) -> (memref<100xf32>)
// CHECK-NEXT: %[[B:.*]] = ait.buffer.alloc
// CHECK-NEXT: ait.launch @k(%[[C]] : memref<100xf32>) outs(%[[B]]
// CHECK-NEXT: scf.yield %[[B]]
func.func @loop(%x: tensor<100xf32>, %n: index) -> tensor<100xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = ait.launch @k(%x : tensor<100xf32>) -> tensor<100xf32>
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%c = %0) -> tensor<100xf32> {
    %2 = ait.launch @k(%c : tensor<100xf32>) -> tensor<100xf32>
    scf.yield %2 : tensor<100xf32>
  }
  %3 = ait.launch @k(%1 : tensor<100xf32>) -> tensor<100xf32>
  return %3 : tensor<100xf32>
}

// -----

// An op that no kernel holds cannot be planned.
func.func @not_outlined(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'ait.softmax' op has no form on buffers: outline it into a kernel first}}
  %0 = ait.softmax softmax %x axis 0 : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
