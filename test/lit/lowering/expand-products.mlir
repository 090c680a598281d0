// RUN: aitmlir-opt --ait-expand-products %s | FileCheck %s --check-prefix=CPU
// RUN: aitmlir-opt --pass-pipeline='builtin.module(ait-expand-products{chip=sm_80})' %s | FileCheck %s --check-prefix=GPU

// CPU-LABEL: func.func @two(
// CPU-COUNT-2: ait.gemm %{{.*}}, %{{.*}} row col : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf32>
// CPU: ait.map ins(%{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf16>, tensor<?x64xf32> {
// GPU-LABEL: func.func @two(
// GPU: ait.gemm %{{.*}}, %{{.*}} and(
// GPU-NOT: ait.map
func.func @two(%x: tensor<?x32xf16>, %w: tensor<64x32xf16>, %v: tensor<64x32xf16>) -> (tensor<?x64xf16>, tensor<?x64xf32>) {
  %0:2 = ait.gemm %x, %w and(%v : tensor<64x32xf16>) row col : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16>, tensor<?x64xf32> epilogue {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    %r = arith.truncf %m : f32 to f16
    ait.yield %r, %p : f16, f32
  }
  return %0#0, %0#1 : tensor<?x64xf16>, tensor<?x64xf32>
}

// CPU-LABEL: func.func @laid_out(
// CPU: %[[P:.*]] = ait.gemm %{{.*}}, %{{.*}} row col : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16>
// CPU: %[[S:.*]] = ait.reshape %[[P]] dims(%{{.*}}) : tensor<?x64xf16> to tensor<?x4x16xf16>
// CPU: ait.transpose %[[S]] [1, 0, 2] : tensor<?x4x16xf16> to tensor<4x?x16xf16>
// GPU-LABEL: func.func @laid_out(
// GPU: ait.gemm %{{.*}}, %{{.*}} row col split [1, 2] permuted [1, 0, 2]
func.func @laid_out(%x: tensor<?x32xf16>, %w: tensor<64x32xf16>, %n: index) -> tensor<4x?x16xf16> {
  %0 = ait.gemm %x, %w row col split [1, 2] permuted [1, 0, 2] dims(%n) : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<4x?x16xf16>
  return %0 : tensor<4x?x16xf16>
}

// CPU-LABEL: func.func @b2b(
// CPU: ait.b2b_gemm
// GPU-LABEL: func.func @b2b(
// GPU: %[[S:.*]] = ait.gemm %{{.*}}, %{{.*}} row col alpha 2.500000e-01 : tensor<1x4x8x64xf16>, tensor<1x4x9x64xf16> -> tensor<1x4x8x9xf32>
// GPU: %[[W:.*]] = ait.map ins(%[[S]] : tensor<1x4x8x9xf32>) -> tensor<1x4x8x9xf16> {
// GPU: ait.index 3
// GPU: arith.cmpi sle
// GPU: ait.gemm %[[W]], %{{.*}} row row : tensor<1x4x8x9xf16>, tensor<1x4x9x32xf16> -> tensor<1x4x8x32xf16>
func.func @b2b(%q: tensor<1x4x8x64xf16>, %k: tensor<1x4x9x64xf16>, %v: tensor<1x4x9x32xf16>) -> tensor<1x4x8x32xf16> {
  %0 = ait.b2b_gemm %q, %k, %v alpha 0.25, 0.5 causal lower {divide_by_length} : tensor<1x4x8x64xf16>, tensor<1x4x9x64xf16>, tensor<1x4x9x32xf16> -> tensor<1x4x8x32xf16> {
  ^bb0(%s: f32):
    %t = math.tanh %s : f32
    ait.yield %t : f32
  }
  return %0 : tensor<1x4x8x32xf16>
}

// CPU-LABEL: func.func @jagged(
// CPU: ait.b2b_gemm
// GPU-LABEL: func.func @jagged(
// GPU: %[[M:.*]] = ait.jagged_to_padded %{{.*}}, %{{.*}} padding 0.000000e+00 whole : tensor<?xf32>, tensor<3xi32> -> tensor<2x128xf32>
// GPU: ait.reshape %[[M]] : tensor<2x128xf32> to tensor<2x1x1x128xf32>
// GPU-COUNT-3: ait.jagged_to_padded
// GPU: ait.gemm %{{.*}}, %{{.*}} row col : tensor<2x4x128x64xf16>, tensor<2x4x128x64xf16> -> tensor<2x4x128x128xf32>
// GPU: ait.map
// GPU: ait.gemm
// GPU: ait.transpose %{{.*}} [0, 2, 1, 3] : tensor<2x4x128x32xf16> to tensor<2x128x4x32xf16>
// GPU: ait.padded_to_jagged
func.func @jagged(%q: tensor<?x4x64xf16>, %k: tensor<?x4x64xf16>, %v: tensor<?x4x32xf16>, %o: tensor<3xi32>) -> tensor<?x4x32xf16> {
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 0.5 offsets(%o : tensor<3xi32>) max_length 128 : tensor<?x4x64xf16>, tensor<?x4x64xf16>, tensor<?x4x32xf16> -> tensor<?x4x32xf16> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return %0 : tensor<?x4x32xf16>
}

// The members of a group stand in its place.
// CPU-LABEL: func.func @group(
// CPU-SAME: %[[X:.*]]: tensor<?x32xf16>, %[[W:.*]]: tensor<64x32xf16>, %[[V:.*]]: tensor<16x32xf16>
// CPU: %[[P:.*]] = ait.gemm %[[X]], %[[W]] row col : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16>
// CPU: %[[S:.*]] = ait.reshape %[[P]]
// CPU: ait.transpose %[[S]]
// CPU: ait.gemm %[[X]], %[[V]] row col : tensor<?x32xf16>, tensor<16x32xf16> -> tensor<?x16xf16>
// CPU-NOT: ait.group
// GPU-LABEL: func.func @group(
// GPU-COUNT-2: ait.gemm %{{.*}}, %{{.*}} row col split
func.func @group(%x: tensor<?x32xf16>, %w: tensor<64x32xf16>, %v: tensor<16x32xf16>, %n: index) -> (tensor<4x?x16xf16>, tensor<2x?x8xf16>) {
  %0:2 = ait.group(%x, %w, %v : tensor<?x32xf16>, tensor<64x32xf16>, tensor<16x32xf16>) dims(%n) -> tensor<4x?x16xf16>, tensor<2x?x8xf16> members {
  ^bb0(%a: tensor<?x32xf16>, %b: tensor<64x32xf16>, %c: tensor<16x32xf16>, %m: index):
    %p = ait.gemm %a, %b row col split [1, 2] permuted [1, 0, 2] dims(%m) : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<4x?x16xf16>
    %q = ait.gemm %a, %c row col split [1, 2] permuted [1, 0, 2] dims(%m) : tensor<?x32xf16>, tensor<16x32xf16> -> tensor<2x?x8xf16>
    ait.yield %p, %q : tensor<4x?x16xf16>, tensor<2x?x8xf16>
  }
  return %0#0, %0#1 : tensor<4x?x16xf16>, tensor<2x?x8xf16>
}

// Groups stay groups; what each group has is spread over its rows.
// CPU-LABEL: func.func @grouped(
// CPU: %[[P:.*]] = ait.gemm %{{.*}}, %{{.*}} row col offsets(%{{.*}} : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf32>
// CPU: %[[Q:.*]] = ait.gemm %{{.*}}, %{{.*}} row col offsets(%{{.*}} : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf32>
// CPU: %[[ONES:.*]] = ait.map dims(%{{.*}}) -> tensor<?x1xf16>
// CPU: %[[B:.*]] = ait.gemm %[[ONES]], %{{.*}} row row offsets(%{{.*}} : tensor<9xi32>) : tensor<?x1xf16>, tensor<8x1x64xf16> -> tensor<?x64xf16>
// CPU: ait.map ins(%[[P]], %[[Q]], %[[B]], %{{.*}} : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf16>, tensor<?x64xf16>) -> tensor<?x64xf16> {
// GPU-LABEL: func.func @grouped(
// GPU: ait.gemm %{{.*}}, %{{.*}} and(%{{.*}} : tensor<8x64x32xf16>) row col extras(%{{.*}}, %{{.*}} : tensor<8x1x64xf16>, tensor<?x64xf16>) offsets(
func.func @grouped(%x: tensor<?x32xf16>, %w: tensor<8x64x32xf16>, %v: tensor<8x64x32xf16>, %b: tensor<8x1x64xf16>, %r: tensor<?x64xf16>, %o: tensor<9xi32>) -> tensor<?x64xf16> {
  %0 = ait.gemm %x, %w and(%v : tensor<8x64x32xf16>) row col extras(%b, %r : tensor<8x1x64xf16>, tensor<?x64xf16>) offsets(%o : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16> epilogue {
  ^bb0(%p: f32, %q: f32, %bias: f16, %res: f16):
    %m = arith.mulf %p, %q : f32
    %h = arith.truncf %m : f32 to f16
    %s = arith.addf %h, %bias : f16
    %t = arith.addf %s, %res : f16
    ait.yield %t : f16
  }
  return %0 : tensor<?x64xf16>
}
