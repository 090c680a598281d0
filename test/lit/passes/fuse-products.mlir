// RUN: aitmlir-opt --pass-pipeline='builtin.module(ait-fuse,ait-fuse-products)' %s | FileCheck %s

// silu(x G^T) * (x U^T): the product that an epilogue reads becomes a second one of the same op.
// CHECK-LABEL: func.func @swiglu(
// CHECK-SAME: %[[X:.*]]: tensor<?x32xf16>, %[[G:.*]]: tensor<64x32xf16>, %[[U:.*]]: tensor<64x32xf16>
// CHECK-NEXT: %[[R:.*]] = ait.gemm %[[X]], %{{.*}} and(%{{.*}} : tensor<64x32xf16>) row col : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16> epilogue {
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
// CHECK: return %[[R]]
func.func @swiglu(%x: tensor<?x32xf16>, %g: tensor<64x32xf16>, %u: tensor<64x32xf16>) -> tensor<?x64xf16> {
  %0 = ait.gemm %x, %g row col : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16>
  %1 = ait.map ins(%0 : tensor<?x64xf16>) -> tensor<?x64xf16> {
  ^bb0(%v: f16):
    %t = math.tanh %v : f16
    ait.yield %t : f16
  }
  %2 = ait.gemm %x, %u row col : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16>
  %3 = ait.map ins(%1, %2 : tensor<?x64xf16>, tensor<?x64xf16>) -> tensor<?x64xf16> {
  ^bb0(%a: f16, %b: f16):
    %m = arith.mulf %a, %b : f16
    ait.yield %m : f16
  }
  return %3 : tensor<?x64xf16>
}

// Another left operand: two products.
// CHECK-LABEL: func.func @other_left(
// CHECK-COUNT-2: ait.gemm
// CHECK-NOT: and(
func.func @other_left(%x: tensor<4x32xf16>, %y: tensor<4x32xf16>, %g: tensor<64x32xf16>, %u: tensor<64x32xf16>) -> tensor<4x64xf16> {
  %0 = ait.gemm %x, %g row col : tensor<4x32xf16>, tensor<64x32xf16> -> tensor<4x64xf16>
  %1 = ait.gemm %y, %u row col : tensor<4x32xf16>, tensor<64x32xf16> -> tensor<4x64xf16>
  %2 = ait.map ins(%0, %1 : tensor<4x64xf16>, tensor<4x64xf16>) -> tensor<4x64xf16> {
  ^bb0(%a: f16, %b: f16):
    %m = arith.mulf %a, %b : f16
    ait.yield %m : f16
  }
  return %2 : tensor<4x64xf16>
}

// CHECK-LABEL: func.func @both_results(
// CHECK-NEXT: %[[R:.*]]:2 = ait.gemm %{{.*}}, %{{.*}} row col : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16>, tensor<?x64xf16> epilogue {
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @both_results(%x: tensor<?x32xf16>, %g: tensor<64x32xf16>) -> (tensor<?x64xf16>, tensor<?x64xf16>) {
  %0 = ait.gemm %x, %g row col : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16>
  %1 = ait.map ins(%0 : tensor<?x64xf16>) -> tensor<?x64xf16> {
  ^bb0(%v: f16):
    %t = math.tanh %v : f16
    ait.yield %t : f16
  }
  return %0, %1 : tensor<?x64xf16>, tensor<?x64xf16>
}

// [B, S, H D] to [B, H, S, D]
// CHECK-LABEL: func.func @heads(
// CHECK-SAME: %[[X:.*]]: tensor<?x?x32xf16>, %[[W:.*]]: tensor<64x32xf16>
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG: %[[S:.*]] = tensor.dim %[[X]], %c1
// CHECK: %[[R:.*]] = ait.gemm %[[X]], %[[W]] row col split [1, 1, 2] permuted [0, 2, 1, 3] dims(%[[B]], %[[S]]) : tensor<?x?x32xf16>, tensor<64x32xf16> -> tensor<?x4x?x16xf16>
// CHECK-NEXT: return %[[R]]
func.func @heads(%x: tensor<?x?x32xf16>, %w: tensor<64x32xf16>) -> tensor<?x4x?x16xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x32xf16>
  %s = tensor.dim %x, %c1 : tensor<?x?x32xf16>
  %0 = ait.gemm %x, %w row col : tensor<?x?x32xf16>, tensor<64x32xf16> -> tensor<?x?x64xf16>
  %1 = ait.reshape %0 dims(%b, %s) : tensor<?x?x64xf16> to tensor<?x?x4x16xf16>
  %2 = ait.transpose %1 [0, 2, 1, 3] : tensor<?x?x4x16xf16> to tensor<?x4x?x16xf16>
  return %2 : tensor<?x4x?x16xf16>
}

// The innermost dimension moves: a transpose of its own.
// CHECK-LABEL: func.func @keys(
// CHECK: ait.transpose
func.func @keys(%x: tensor<2x8x32xf16>, %w: tensor<64x32xf16>) -> tensor<2x4x16x8xf16> {
  %0 = ait.gemm %x, %w row col : tensor<2x8x32xf16>, tensor<64x32xf16> -> tensor<2x8x64xf16>
  %1 = ait.reshape %0 : tensor<2x8x64xf16> to tensor<2x8x4x16xf16>
  %2 = ait.transpose %1 [0, 2, 3, 1] : tensor<2x8x4x16xf16> to tensor<2x4x16x8xf16>
  return %2 : tensor<2x4x16x8xf16>
}

// A transpose alone, and rows of one matrix that are a batch.
// CHECK-LABEL: func.func @batches(
// CHECK: ait.gemm %{{.*}}, %{{.*}} row row split [1, 1, 1, 1] permuted [0, 2, 1, 3] : tensor<2x4x8x32xf16>, tensor<2x4x32x16xf16> -> tensor<2x8x4x16xf16>
// CHECK: ait.gemm %{{.*}}, %{{.*}} row row split [2, 2] permuted [0, 2, 1, 3] : tensor<16x32xf16>, tensor<32x64xf16> -> tensor<2x4x8x16xf16>
func.func @batches(%p: tensor<2x4x8x32xf16>, %v: tensor<2x4x32x16xf16>, %x: tensor<16x32xf16>, %w: tensor<32x64xf16>) -> (tensor<2x8x4x16xf16>, tensor<2x4x8x16xf16>) {
  %0 = ait.gemm %p, %v row row : tensor<2x4x8x32xf16>, tensor<2x4x32x16xf16> -> tensor<2x4x8x16xf16>
  %1 = ait.transpose %0 [0, 2, 1, 3] : tensor<2x4x8x16xf16> to tensor<2x8x4x16xf16>
  %2 = ait.gemm %x, %w row row : tensor<16x32xf16>, tensor<32x64xf16> -> tensor<16x64xf16>
  %3 = ait.reshape %2 : tensor<16x64xf16> to tensor<2x8x4x16xf16>
  %4 = ait.transpose %3 [0, 2, 1, 3] : tensor<2x8x4x16xf16> to tensor<2x4x8x16xf16>
  return %1, %4 : tensor<2x8x4x16xf16>, tensor<2x4x8x16xf16>
}

// The experts of a mixture: two products of the same groups become one, with what each group has and what each row has.
// CHECK-LABEL: func.func @experts(
// CHECK-SAME: %[[X:.*]]: tensor<?x32xf16>, %[[G:.*]]: tensor<8x64x32xf16>, %[[U:.*]]: tensor<8x64x32xf16>, %[[B:.*]]: tensor<8x1x64xf16>, %[[O:.*]]: tensor<9xi32>
// CHECK-NEXT: %[[R:.*]] = ait.gemm %[[X]], %[[G]] and(%[[U]] : tensor<8x64x32xf16>) row col extras(%[[B]] : tensor<8x1x64xf16>) offsets(%[[O]] : tensor<9xi32>)
// CHECK: return %[[R]]
func.func @experts(%x: tensor<?x32xf16>, %g: tensor<8x64x32xf16>, %u: tensor<8x64x32xf16>, %b: tensor<8x1x64xf16>, %o: tensor<9xi32>) -> tensor<?x64xf16> {
  %0 = ait.gemm %x, %g row col extras(%b : tensor<8x1x64xf16>) offsets(%o : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16> epilogue {
  ^bb0(%acc: f32, %e: f16):
    %h = arith.truncf %acc : f32 to f16
    %s = arith.addf %h, %e : f16
    ait.yield %s : f16
  }
  %1 = ait.map ins(%0 : tensor<?x64xf16>) -> tensor<?x64xf16> {
  ^bb0(%v: f16):
    %t = math.tanh %v : f16
    ait.yield %t : f16
  }
  %2 = ait.gemm %x, %u row col offsets(%o : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16>
  %3 = ait.map ins(%1, %2 : tensor<?x64xf16>, tensor<?x64xf16>) -> tensor<?x64xf16> {
  ^bb0(%a: f16, %c: f16):
    %m = arith.mulf %a, %c : f16
    ait.yield %m : f16
  }
  return %3 : tensor<?x64xf16>
}

// Other groups: two products. The layout of a grouped result is a transpose of its own.
// CHECK-LABEL: func.func @other_groups(
// CHECK-COUNT-2: ait.gemm
// CHECK-NOT: and(
// CHECK-LABEL: func.func @grouped_heads(
// CHECK: ait.gemm
// CHECK-NOT: split
// CHECK: ait.transpose
func.func @other_groups(%x: tensor<?x32xf16>, %g: tensor<8x64x32xf16>, %u: tensor<8x64x32xf16>, %o: tensor<9xi32>, %p: tensor<9xi32>) -> tensor<?x64xf16> {
  %0 = ait.gemm %x, %g row col offsets(%o : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16>
  %1 = ait.gemm %x, %u row col offsets(%p : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16>
  %2 = ait.map ins(%0, %1 : tensor<?x64xf16>, tensor<?x64xf16>) -> tensor<?x64xf16> {
  ^bb0(%a: f16, %c: f16):
    %m = arith.mulf %a, %c : f16
    ait.yield %m : f16
  }
  return %2 : tensor<?x64xf16>
}
func.func @grouped_heads(%x: tensor<12x32xf16>, %g: tensor<8x64x32xf16>, %o: tensor<9xi32>) -> tensor<4x12x16xf16> {
  %0 = ait.gemm %x, %g row col offsets(%o : tensor<9xi32>) : tensor<12x32xf16>, tensor<8x64x32xf16> -> tensor<12x64xf16>
  %1 = ait.reshape %0 : tensor<12x64xf16> to tensor<12x4x16xf16>
  %2 = ait.transpose %1 [1, 0, 2] : tensor<12x4x16xf16> to tensor<4x12x16xf16>
  return %2 : tensor<4x12x16xf16>
}
