// RUN: aitmlir-opt %s --ait-fuse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @maps_merge(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK: %[[R:.*]] = ait.map ins(%[[X]], %[[Y]] : tensor<?x4xf32>, tensor<4xf32>)
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK-NEXT: %[[Q:.*]] = arith.addf %[[P]], %[[B]]
// CHECK-NEXT: ait.yield %[[Q]]
// CHECK-NOT: ait.map
// CHECK: return %[[R]]
func.func @maps_merge(%x: tensor<?x4xf32>, %y: tensor<4xf32>) -> tensor<?x4xf32> {
  %0 = ait.map ins(%x : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: f32):
    %p = arith.mulf %a, %a : f32
    ait.yield %p : f32
  }
  %1 = ait.map ins(%0, %y : tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: f32, %b: f32):
    %q = arith.addf %a, %b : f32
    ait.yield %q : f32
  }
  return %1 : tensor<?x4xf32>
}

// -----

// A value with another reader is computed once.
// CHECK-LABEL: func.func @other_readers_decline(
// CHECK-COUNT-2: ait.map
// CHECK: return
func.func @other_readers_decline(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = ait.map ins(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: f32):
    %p = arith.mulf %a, %a : f32
    ait.yield %p : f32
  }
  %1 = ait.map ins(%0 : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: f32):
    %q = arith.addf %a, %a : f32
    ait.yield %q : f32
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A map that reads its producer stretched would compute it once a reader: it stays apart.
// CHECK-LABEL: func.func @stretched_producers_decline(
// CHECK-COUNT-2: ait.map
// CHECK: return
func.func @stretched_producers_decline(%x: tensor<1x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = ait.map ins(%x : tensor<1x4xf32>) -> tensor<1x4xf32> {
  ^bb0(%a: f32):
    %p = arith.mulf %a, %a : f32
    ait.yield %p : f32
  }
  %1 = ait.map ins(%0, %y : tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%a: f32, %b: f32):
    %q = arith.addf %a, %b : f32
    ait.yield %q : f32
  }
  return %1 : tensor<3x4xf32>
}

// -----

// The product is rounded to f16 before the map's code, as it was when it was stored.
// CHECK-LABEL: func.func @epilogue(
// CHECK-SAME: %[[X:.*]]: tensor<?x32xf16>, %[[W:.*]]: tensor<32x8xf16>, %[[B:.*]]: tensor<8xf16>)
// CHECK: %[[R:.*]] = ait.gemm %[[X]], %[[W]] row row extras(%[[B]] : tensor<8xf16>) : tensor<?x32xf16>, tensor<32x8xf16> -> tensor<?x8xf16> epilogue {
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32, %[[BIAS:.*]]: f16):
// CHECK-NEXT: %[[T:.*]] = arith.truncf %[[ACC]] : f32 to f16
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[T]], %[[BIAS]] : f16
// CHECK-NEXT: ait.yield %[[S]]
// CHECK-NOT: ait.map
// CHECK: return %[[R]]
func.func @epilogue(%x: tensor<?x32xf16>, %w: tensor<32x8xf16>, %b: tensor<8xf16>) -> tensor<?x8xf16> {
  %0 = ait.gemm %x, %w row row : tensor<?x32xf16>, tensor<32x8xf16> -> tensor<?x8xf16>
  %1 = ait.map ins(%0, %b : tensor<?x8xf16>, tensor<8xf16>) -> tensor<?x8xf16> {
  ^bb0(%a: f16, %c: f16):
    %s = arith.addf %a, %c : f16
    ait.yield %s : f16
  }
  return %1 : tensor<?x8xf16>
}

// -----

// An epilogue has no coordinates.
// CHECK-LABEL: func.func @index_declines(
// CHECK: ait.gemm
// CHECK-NOT: epilogue
// CHECK: ait.map
func.func @index_declines(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = ait.gemm %x, %w row row : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = ait.map ins(%0 : tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%a: f32):
    %i = ait.index 0
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %s = arith.addf %a, %k : f32
    ait.yield %s : f32
  }
  return %1 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @transposed_operand(
// CHECK-SAME: %[[X:.*]]: tensor<4x6xf32>, %[[W:.*]]: tensor<8x6xf32>)
// CHECK-NEXT: ait.gemm %[[X]], %[[W]] row col : tensor<4x6xf32>, tensor<8x6xf32> -> tensor<4x8xf32>
func.func @transposed_operand(%x: tensor<4x6xf32>, %w: tensor<8x6xf32>) -> tensor<4x8xf32> {
  %0 = ait.transpose %w [1, 0] : tensor<8x6xf32> to tensor<6x8xf32>
  %1 = ait.gemm %x, %0 row row : tensor<4x6xf32>, tensor<6x8xf32> -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @expanded_input(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<3x4xf32>)
// CHECK-NEXT: ait.map ins(%[[X]], %[[Y]] : tensor<4xf32>, tensor<3x4xf32>)
func.func @expanded_input(%x: tensor<4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = ait.expand %x : tensor<4xf32> to tensor<3x4xf32>
  %1 = ait.map ins(%0, %y : tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    ait.yield %s : f32
  }
  return %1 : tensor<3x4xf32>
}

// -----

// Work on constants stays apart: the fold program does it once.
// CHECK-LABEL: func.func @constant_work(
// CHECK: %[[C:.*]] = ait.constant
// CHECK: %[[D:.*]] = ait.map ins(%[[C]]
// CHECK: ait.map ins(%{{.*}}, %[[D]]
func.func @constant_work(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = ait.constant #ait.weights<"w"> : tensor<4xf32>
  %0 = ait.map ins(%c : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: f32):
    %s = arith.mulf %a, %a : f32
    ait.yield %s : f32
  }
  %1 = ait.map ins(%x, %0 : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    ait.yield %s : f32
  }
  return %1 : tensor<4xf32>
}

// -----

// Dimensions of one name are one number: neither input stretches the other.
// CHECK-LABEL: func.func @named_dims(
// CHECK: ait.map
// CHECK-NOT: ait.map
// CHECK: return
func.func @named_dims(%x: tensor<?xf32> {ait.dims = ["n"]}, %y: tensor<?xf32> {ait.dims = ["n"]}) -> tensor<?xf32> {
  %0 = ait.map ins(%x : tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: f32):
    %p = arith.mulf %a, %a : f32
    ait.yield %p : f32
  }
  %1 = ait.map ins(%0, %y : tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%a: f32, %b: f32):
    %q = arith.addf %a, %b : f32
    ait.yield %q : f32
  }
  return %1 : tensor<?xf32>
}
