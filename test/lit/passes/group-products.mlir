// RUN: aitmlir-opt --pass-pipeline='builtin.module(ait-group-products{members=4 at-a-time=16 bytes=140000})' %s | FileCheck %s
// RUN: aitmlir-opt --ait-group-products %s | FileCheck %s --check-prefix=NONE

// A target without a kernel has no groups.
// NONE-NOT: ait.group

// The projections of one input, of different widths; the readers of the first ones move behind the group.
// CHECK-LABEL: func.func @projections(
// CHECK-SAME: %[[X:.*]]: tensor<256x64xf16>, %[[Q:.*]]: tensor<128x64xf16>, %[[K:.*]]: tensor<64x64xf16>
// CHECK-NEXT: %[[G:.*]]:3 = ait.group(%[[X]], %[[Q]], %[[K]] : tensor<256x64xf16>, tensor<128x64xf16>, tensor<64x64xf16>) -> tensor<256x128xf16>, tensor<256x64xf16>, tensor<256x64xf16> members {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<256x64xf16>, %[[B:.*]]: tensor<128x64xf16>, %[[C:.*]]: tensor<64x64xf16>):
// CHECK-NEXT: %[[P:.*]] = ait.gemm %[[A]], %[[B]] row col
// CHECK-NEXT: %[[R:.*]] = ait.gemm %[[A]], %[[C]] row col
// CHECK-NEXT: %[[S:.*]] = ait.gemm %[[A]], %[[C]] row col
// CHECK-NEXT: ait.yield %[[P]], %[[R]], %[[S]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[T:.*]] = ait.softmax softmax %[[G]]#0
// CHECK-NEXT: return %[[T]], %[[G]]#1, %[[G]]#2
func.func @projections(%x: tensor<256x64xf16>, %q: tensor<128x64xf16>, %k: tensor<64x64xf16>) -> (tensor<256x128xf16>, tensor<256x64xf16>, tensor<256x64xf16>) {
  %0 = ait.gemm %x, %q row col : tensor<256x64xf16>, tensor<128x64xf16> -> tensor<256x128xf16>
  %1 = ait.softmax softmax %0 axis 1 : tensor<256x128xf16> -> tensor<256x128xf16>
  %2 = ait.gemm %x, %k row col : tensor<256x64xf16>, tensor<64x64xf16> -> tensor<256x64xf16>
  %3 = ait.gemm %x, %k row col : tensor<256x64xf16>, tensor<64x64xf16> -> tensor<256x64xf16>
  return %1, %2, %3 : tensor<256x128xf16>, tensor<256x64xf16>, tensor<256x64xf16>
}

// The experts of a mixture: two layers are two groups, though an expert's second layer stands before the next one's first.
// CHECK-LABEL: func.func @experts(
// CHECK: %[[U:.*]]:2 = ait.group(
// CHECK-COUNT-2: ait.gemm {{.*}} -> tensor<?x96xf16> epilogue
// CHECK: ait.group(%[[U]]#0, %{{.*}}, %[[U]]#1, %{{.*}} :
// CHECK-COUNT-2: ait.gemm
func.func @experts(%x: tensor<?x64xf16> {ait.dims = ["m"], ait.max = array<i64: 256, 64>}, %y: tensor<?x64xf16> {ait.max = array<i64: 200, 64>}, %u: tensor<96x64xf16>, %v: tensor<96x64xf16>,
    %d: tensor<64x96xf16>, %e: tensor<64x96xf16>) -> (tensor<?x64xf16>, tensor<?x64xf16>) {
  %zero = arith.constant 0.0 : f32
  %0 = ait.gemm %x, %u row col : tensor<?x64xf16>, tensor<96x64xf16> -> tensor<?x96xf16> epilogue {
  ^bb0(%acc: f32):
    %m = arith.maximumf %acc, %zero : f32
    %r = arith.truncf %m : f32 to f16
    ait.yield %r : f16
  }
  %1 = ait.gemm %0, %d row col : tensor<?x96xf16>, tensor<64x96xf16> -> tensor<?x64xf16>
  %2 = ait.gemm %y, %v row col : tensor<?x64xf16>, tensor<96x64xf16> -> tensor<?x96xf16> epilogue {
  ^bb0(%acc: f32):
    %z = arith.constant 0.0 : f32
    %m = arith.maximumf %acc, %z : f32
    %r = arith.truncf %m : f32 to f16
    ait.yield %r : f16
  }
  %3 = ait.gemm %2, %e row col : tensor<?x96xf16>, tensor<64x96xf16> -> tensor<?x64xf16>
  return %1, %3 : tensor<?x64xf16>, tensor<?x64xf16>
}

// Inside control flow; the layout of the results and its sizes come along.
// CHECK-LABEL: func.func @in_a_branch(
// CHECK: scf.if
// CHECK: ait.group(%{{.*}}, %{{.*}} : tensor<32x64xf16>, tensor<64x64xf16>) -> tensor<4x32x16xf16>, tensor<4x32x16xf16> members {
func.func @in_a_branch(%c: i1, %x: tensor<32x64xf16>, %w: tensor<64x64xf16>, %z: tensor<4x32x16xf16>) -> (tensor<4x32x16xf16>, tensor<4x32x16xf16>) {
  %0:2 = scf.if %c -> (tensor<4x32x16xf16>, tensor<4x32x16xf16>) {
    %1 = ait.gemm %x, %w row col split [1, 2] permuted [1, 0, 2] : tensor<32x64xf16>, tensor<64x64xf16> -> tensor<4x32x16xf16>
    %2 = ait.gemm %x, %w row col split [1, 2] permuted [1, 0, 2] : tensor<32x64xf16>, tensor<64x64xf16> -> tensor<4x32x16xf16>
    scf.yield %1, %2 : tensor<4x32x16xf16>, tensor<4x32x16xf16>
  } else {
    scf.yield %z, %z : tensor<4x32x16xf16>, tensor<4x32x16xf16>
  }
  return %0#0, %0#1 : tensor<4x32x16xf16>, tensor<4x32x16xf16>
}

// CHECK-NOT: ait.group

// One depends on the other.
func.func @a_chain(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %0 = ait.gemm %x, %w row col : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  %1 = ait.gemm %0, %w row col : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  return %1 : tensor<64x64xf16>
}

// Each fills the machine alone (16 tiles of 128x128).
func.func @large(%x: tensor<512x64xf16>, %w: tensor<512x64xf16>) -> (tensor<512x512xf16>, tensor<512x512xf16>) {
  %0 = ait.gemm %x, %w row col : tensor<512x64xf16>, tensor<512x64xf16> -> tensor<512x512xf16>
  %1 = ait.gemm %w, %x row col : tensor<512x64xf16>, tensor<512x64xf16> -> tensor<512x512xf16>
  return %0, %1 : tensor<512x512xf16>, tensor<512x512xf16>
}

// Nothing is known of the number of rows.
func.func @unbounded(%x: tensor<?x64xf16>, %w: tensor<64x64xf16>, %v: tensor<64x64xf16>) -> (tensor<?x64xf16>, tensor<?x64xf16>) {
  %0 = ait.gemm %x, %w row col : tensor<?x64xf16>, tensor<64x64xf16> -> tensor<?x64xf16>
  %1 = ait.gemm %x, %v row col : tensor<?x64xf16>, tensor<64x64xf16> -> tensor<?x64xf16>
  return %0, %1 : tensor<?x64xf16>, tensor<?x64xf16>
}

// The results, of 65,536 and 81,920 bytes, would live together.
func.func @large_results(%x: tensor<256x64xf16>, %w: tensor<128x64xf16>, %v: tensor<160x64xf16>) -> (tensor<256x128xf16>, tensor<256x160xf16>) {
  %0 = ait.gemm %x, %w row col : tensor<256x64xf16>, tensor<128x64xf16> -> tensor<256x128xf16>
  %1 = ait.gemm %x, %v row col : tensor<256x64xf16>, tensor<160x64xf16> -> tensor<256x160xf16>
  return %0, %1 : tensor<256x128xf16>, tensor<256x160xf16>
}

// A type that the kernel does not take, and another layout.
func.func @not_alike(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %y: tensor<64x64xf16>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf16>, tensor<64x64xf16>) {
  %0 = ait.gemm %x, %w row col : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %1 = ait.gemm %w, %x row col : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %2 = ait.gemm %y, %y row col : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  %3 = ait.gemm %y, %y row row : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  return %0, %1, %2, %3 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf16>, tensor<64x64xf16>
}

// Work on constants is done once, by the fold program.
func.func @constants() -> (tensor<8x8xf16>, tensor<8x8xf16>) {
  %w = ait.constant #ait.weights<"w"> : tensor<8x8xf16>
  %0 = ait.gemm %w, %w row col : tensor<8x8xf16>, tensor<8x8xf16> -> tensor<8x8xf16>
  %1 = ait.gemm %w, %w row row : tensor<8x8xf16>, tensor<8x8xf16> -> tensor<8x8xf16>
  return %0, %1 : tensor<8x8xf16>, tensor<8x8xf16>
}
