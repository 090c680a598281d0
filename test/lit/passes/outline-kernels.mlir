// RUN: aitmlir-opt %s --ait-outline-kernels --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @equal_kernels_are_shared(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[X]], %
// CHECK: %[[A:.*]] = ait.launch @k0_softmax(%[[X]] : tensor<?x8xf32>) dims(%[[N]]) -> tensor<?x8xf32>
// CHECK: %[[B:.*]] = ait.launch @k0_softmax(%[[A]]
// CHECK: %[[C:.*]] = ait.launch @k1_softmax(%[[B]]
// CHECK: return %[[C]]
// CHECK: func.func private @k0_softmax(%[[A0:.*]]: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {ait.kernel}
// CHECK-NEXT: %[[R:.*]] = ait.softmax softmax %[[A0]] axis 1
// CHECK-NEXT: return %[[R]]
// CHECK: func.func private @k1_softmax
// CHECK-NOT: func.func
func.func @equal_kernels_are_shared(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = ait.softmax softmax %x axis 1 : tensor<?x8xf32> -> tensor<?x8xf32>
  %1 = ait.softmax softmax %0 axis 1 : tensor<?x8xf32> -> tensor<?x8xf32>
  %2 = ait.softmax softmax %1 axis 0 : tensor<?x8xf32> -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @views_stay(
// CHECK-NEXT: ait.reshape
// CHECK-NEXT: %[[S:.*]] = ait.slice
// CHECK-NEXT: ait.launch @k0_softmax(%[[S]]
func.func @views_stay(%x: tensor<4x6xf32>) -> tensor<3x3xf32> {
  %0 = ait.reshape %x : tensor<4x6xf32> to tensor<3x8xf32>
  %1 = ait.slice %0[0, 2][3, 3][1, 1] : tensor<3x8xf32> to tensor<3x3xf32>
  %2 = ait.softmax softmax %1 axis 1 : tensor<3x3xf32> -> tensor<3x3xf32>
  return %2 : tensor<3x3xf32>
}

// -----

// A strided slice is a kernel; so is one that something other than a kernel reads.
// CHECK-LABEL: func.func @slices_that_copy(
// CHECK-NEXT: ait.launch @k0_slice
// CHECK-NEXT: ait.launch @k1_slice
// CHECK-NEXT: return
func.func @slices_that_copy(%x: tensor<8xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %0 = ait.slice %x[0][4][2] : tensor<8xf32> to tensor<4xf32>
  %1 = ait.slice %x[1][3][1] : tensor<8xf32> to tensor<3xf32>
  return %0, %1 : tensor<4xf32>, tensor<3xf32>
}

// -----

// What leaves as it came in, or leaves twice, is copied: every result is written by a kernel of its own.
// CHECK-LABEL: func.func @passed_values(
// CHECK-SAME: %[[X:.*]]: tensor<?xf32>)
// CHECK: %[[S:.*]] = ait.launch @k0_softmax(%[[X]]
// CHECK: %[[A:.*]] = ait.launch @k1_expand(%[[X]]
// CHECK: %[[B:.*]] = ait.launch @k1_expand(%[[S]]
// CHECK: return %[[A]], %[[S]], %[[B]]
func.func @passed_values(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %0 = ait.softmax softmax %x axis 0 : tensor<?xf32> -> tensor<?xf32>
  return %x, %0, %0 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// -----

// Scalars that a region reads from outside are arguments of the kernel; constants move into it.
// CHECK-LABEL: func.func @captured(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[S:.*]]: f32
// CHECK: ait.launch @k0_map(%[[X]], %[[S]] : tensor<4xf32>, f32) -> tensor<4xf32>
// CHECK: func.func private @k0_map(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: f32)
// CHECK: ait.map ins(%[[A]] : tensor<4xf32>)
// CHECK: arith.mulf %{{.*}}, %[[B]]
func.func @captured(%x: tensor<4xf32>, %s: f32) -> tensor<4xf32> {
  %c = arith.constant 2.0 : f32
  %0 = ait.map ins(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%e: f32):
    %p = arith.mulf %e, %s : f32
    %q = arith.addf %p, %c : f32
    ait.yield %q : f32
  }
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @nested(
// CHECK: %[[R:.*]] = scf.if
// CHECK: %[[T:.*]] = ait.launch @k0_softmax
// CHECK-NEXT: scf.yield %[[T]]
// CHECK: %[[E:.*]] = ait.launch @k1_expand
// CHECK-NEXT: scf.yield %[[E]]
// CHECK: ait.launch @k2_scan(%[[R]], %
func.func @nested(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %i = arith.constant 0 : index
  %0 = scf.if %c -> tensor<4xf32> {
    %1 = ait.softmax softmax %x axis 0 : tensor<4xf32> -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  %2 = ait.scan sum %0 axis %i : tensor<4xf32> -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// A group is one kernel; sizes of its results follow from its operands, and constants go with it.
// CHECK-LABEL: func.func @group(
// CHECK-SAME: %[[X:.*]]: tensor<?x32xf16>, %[[Y:.*]]: tensor<32x?xf16>, %[[W:.*]]: tensor<?x32xf16>
// CHECK-DAG: %[[M:.*]] = tensor.dim %[[X]], %
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[W]], %
// CHECK: ait.launch @k0_group(%[[X]], %[[W]] : tensor<?x32xf16>, tensor<?x32xf16>) dims(%[[M]], %[[N]], %{{.*}}, %{{.*}}) -> tensor<?x?xf16>, tensor<?x?xf16>
// CHECK: func.func private @k0_group
// CHECK-NEXT: ait.group
// CHECK: arith.constant 0.000000e+00 : f32
func.func @group(%x: tensor<?x32xf16>, %y: tensor<32x?xf16>, %w: tensor<?x32xf16>) -> (tensor<?x?xf16>, tensor<?x?xf16>) {
  %zero = arith.constant 0.0 : f32
  %0:2 = ait.group(%x, %w : tensor<?x32xf16>, tensor<?x32xf16>) -> tensor<?x?xf16>, tensor<?x?xf16> members {
  ^bb0(%a: tensor<?x32xf16>, %b: tensor<?x32xf16>):
    %p = ait.gemm %a, %b row col : tensor<?x32xf16>, tensor<?x32xf16> -> tensor<?x?xf16> epilogue {
    ^bb0(%acc: f32):
      %m = arith.maximumf %acc, %zero : f32
      %r = arith.truncf %m : f32 to f16
      ait.yield %r : f16
    }
    %q = ait.gemm %b, %a row col : tensor<?x32xf16>, tensor<?x32xf16> -> tensor<?x?xf16> epilogue {
    ^bb0(%acc: f32):
      %m = arith.maximumf %acc, %zero : f32
      %r = arith.truncf %m : f32 to f16
      ait.yield %r : f16
    }
    ait.yield %p, %q : tensor<?x?xf16>, tensor<?x?xf16>
  }
  return %0#0, %0#1 : tensor<?x?xf16>, tensor<?x?xf16>
}
