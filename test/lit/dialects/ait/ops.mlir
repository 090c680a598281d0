// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s
// RUN: aitmlir-opt %s --mlir-print-op-generic | aitmlir-opt | FileCheck %s
// RUN: aitmlir-opt %s --emit-bytecode | aitmlir-opt | FileCheck %s
// RUN: aitmlir-opt %s --verify-roundtrip -o %t

//===-- Structure ---------------------------------------------------------------------------------------------===//

// CHECK-LABEL: func.func @constant(
// CHECK: %{{.*}} = ait.constant dense<[1, 2]> : tensor<2xi64>
// CHECK: %{{.*}} = ait.constant #ait.weights<"fc.weight"> : tensor<10x4xf32>
// CHECK: %{{.*}} = ait.constant dense<1.500000e+00> : tensor<f16>
func.func @constant() -> (tensor<2xi64>, tensor<10x4xf32>, tensor<f16>) {
  %0 = ait.constant dense<[1, 2]> : tensor<2xi64>
  %1 = ait.constant #ait.weights<"fc.weight"> : tensor<10x4xf32>
  %2 = ait.constant dense<1.5> : tensor<f16>
  return %0, %1, %2 : tensor<2xi64>, tensor<10x4xf32>, tensor<f16>
}

func.func private @k0(tensor<?x4xf32>, index) -> tensor<?x4xf32>

// CHECK-LABEL: func.func @launch(
// CHECK: %{{.*}} = ait.launch @k0(%{{.*}}, %{{.*}} : tensor<?x4xf32>, index) dims(%{{.*}}) -> tensor<?x4xf32>
func.func @launch(%x: tensor<?x4xf32>, %n: index) -> tensor<?x4xf32> {
  %0 = ait.launch @k0(%x, %n : tensor<?x4xf32>, index) dims(%n) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @launch_on_buffers(
// CHECK: ait.launch @k0(%{{.*}}, %{{.*}} : memref<?x4xf32>, index) outs(%{{.*}} : memref<?x4xf32>)
func.func @launch_on_buffers(%x: memref<?x4xf32>, %n: index, %y: memref<?x4xf32>) {
  ait.launch @k0(%x, %n : memref<?x4xf32>, index) outs(%y : memref<?x4xf32>)
  return
}

//===-- Elementwise -------------------------------------------------------------------------------------------===//

// CHECK-LABEL: func.func @cast(
// CHECK: %{{.*}} = ait.cast %{{.*}} {saturate} : tensor<?x4xf32> to tensor<?x4xui8>
// CHECK: %{{.*}} = ait.cast %{{.*}} : tensor<?x4xf32> to tensor<?x4xi1>
func.func @cast(%x: tensor<?x4xf32>) -> (tensor<?x4xui8>, tensor<?x4xi1>) {
  %0 = ait.cast %x {saturate} : tensor<?x4xf32> to tensor<?x4xui8>
  %1 = ait.cast %x : tensor<?x4xf32> to tensor<?x4xi1>
  return %0, %1 : tensor<?x4xui8>, tensor<?x4xi1>
}

// CHECK-LABEL: func.func @expand(
// CHECK: %{{.*}} = ait.expand %{{.*}} dims(%{{.*}}) : tensor<1x4xf32> to tensor<2x?x4xf32>
func.func @expand(%x: tensor<1x4xf32>, %n: index) -> tensor<2x?x4xf32> {
  %0 = ait.expand %x dims(%n) : tensor<1x4xf32> to tensor<2x?x4xf32>
  return %0 : tensor<2x?x4xf32>
}

// CHECK-LABEL: func.func @map(
// CHECK: %{{.*}} = ait.map ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
func.func @map(%x: tensor<?x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = ait.map ins(%x, %b : tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
  ^bb0(%e: f32, %c: f32):
    %s = arith.addf %e, %c : f32
    ait.yield %s : f32
  }
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @map_of_coordinates(
// CHECK: %{{.*}} = ait.map dims(%{{.*}}) -> tensor<?xi64>, tensor<?xui8> {
// CHECK: %{{.*}} = ait.index 0
func.func @map_of_coordinates(%n: index) -> (tensor<?xi64>, tensor<?xui8>) {
  %0:2 = ait.map dims(%n) -> tensor<?xi64>, tensor<?xui8> {
    %i = ait.index 0
    %w = arith.index_cast %i : index to i64
    %b = arith.trunci %w : i64 to i8
    ait.yield %w, %b : i64, i8
  }
  return %0#0, %0#1 : tensor<?xi64>, tensor<?xui8>
}

// CHECK-LABEL: func.func @random(
// CHECK: %{{.*}} = ait.random normal 0.000000e+00, 1.000000e+00 seed 7 dims(%{{.*}}) : tensor<?x3xf32>
func.func @random(%n: index) -> tensor<?x3xf32> {
  %0 = ait.random normal 0.0, 1.0 seed 7 dims(%n) : tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @where(
// CHECK: %{{.*}} = ait.where %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x1xi1>, tensor<3xf32>, tensor<f32> -> tensor<4x3xf32>
func.func @where(%c: tensor<4x1xi1>, %x: tensor<3xf32>, %y: tensor<f32>) -> tensor<4x3xf32> {
  %0 = ait.where %c, %x, %y : tensor<4x1xi1>, tensor<3xf32>, tensor<f32> -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

//===-- Contractions ------------------------------------------------------------------------------------------===//

// CHECK-LABEL: func.func @attention(
// CHECK: %{{.*}} = ait.attention %{{.*}}, %{{.*}}, %{{.*}} scale 1.250000e-01 causal lower_right bias(%{{.*}} : tensor<1x1x?x?xf16>) : tensor<1x4x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x32xf16> -> tensor<1x4x?x32xf16>
func.func @attention(%q: tensor<1x4x?x64xf16>, %k: tensor<1x2x?x64xf16>, %v: tensor<1x2x?x32xf16>, %b: tensor<1x1x?x?xf16>) -> tensor<1x4x?x32xf16> {
  %0 = ait.attention %q, %k, %v scale 1.250000e-01 causal lower_right bias(%b : tensor<1x1x?x?xf16>) : tensor<1x4x?x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x32xf16> -> tensor<1x4x?x32xf16>
  return %0 : tensor<1x4x?x32xf16>
}

// CHECK-LABEL: func.func @b2b_gemm(
// CHECK: %{{.*}} = ait.b2b_gemm %{{.*}}, %{{.*}}, %{{.*}} alpha 1.000000e+00, 5.000000e-01 causal lower {divide_by_length} : tensor<1x4x8x64xf16>, tensor<1x4x9x64xf16>, tensor<1x4x9x32xf16> -> tensor<1x4x8x32xf16> {
func.func @b2b_gemm(%q: tensor<1x4x8x64xf16>, %k: tensor<1x4x9x64xf16>, %v: tensor<1x4x9x32xf16>) -> tensor<1x4x8x32xf16> {
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 0.5 causal lower {divide_by_length} : tensor<1x4x8x64xf16>, tensor<1x4x9x64xf16>, tensor<1x4x9x32xf16> -> tensor<1x4x8x32xf16> {
  ^bb0(%s: f32):
    %t = math.tanh %s : f32
    ait.yield %t : f32
  }
  return %0 : tensor<1x4x8x32xf16>
}

// CHECK-LABEL: func.func @b2b_gemm_jagged(
// CHECK: %{{.*}} = ait.b2b_gemm %{{.*}}, %{{.*}}, %{{.*}} alpha 1.000000e+00, 5.000000e-01 bias(%{{.*}} : tensor<4x?x?xf16>) offsets(%{{.*}} : tensor<?xi32>) max_length 256 : tensor<?x4x64xf16>, tensor<?x4x64xf16>, tensor<?x4x32xf16> -> tensor<?x4x32xf16> {
func.func @b2b_gemm_jagged(%q: tensor<?x4x64xf16>, %k: tensor<?x4x64xf16>, %v: tensor<?x4x32xf16>, %b: tensor<4x?x?xf16>, %o: tensor<?xi32>) -> tensor<?x4x32xf16> {
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 0.5 bias(%b : tensor<4x?x?xf16>) offsets(%o : tensor<?xi32>) max_length 256 : tensor<?x4x64xf16>, tensor<?x4x64xf16>, tensor<?x4x32xf16> -> tensor<?x4x32xf16> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return %0 : tensor<?x4x32xf16>
}

// CHECK-LABEL: func.func @group(
// CHECK: %{{.*}}:2 = ait.group(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x32xf16>, tensor<64x32xf16>, tensor<16x32xf16>) dims(%{{.*}}) -> tensor<4x?x16xf16>, tensor<2x?x8xf16> members {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<?x32xf16>, %[[B:.*]]: tensor<64x32xf16>, %[[C:.*]]: tensor<16x32xf16>, %[[N:.*]]: index):
// CHECK-NEXT: %[[P:.*]] = ait.gemm %[[A]], %[[B]] row col split [1, 2] permuted [1, 0, 2] dims(%[[N]])
// CHECK-NEXT: %[[Q:.*]] = ait.gemm %[[A]], %[[C]] row col split [1, 2] permuted [1, 0, 2] dims(%[[N]])
// CHECK-NEXT: ait.yield %[[P]], %[[Q]]
func.func @group(%x: tensor<?x32xf16>, %w: tensor<64x32xf16>, %v: tensor<16x32xf16>, %n: index) -> (tensor<4x?x16xf16>, tensor<2x?x8xf16>) {
  %0:2 = ait.group(%x, %w, %v : tensor<?x32xf16>, tensor<64x32xf16>, tensor<16x32xf16>) dims(%n) -> tensor<4x?x16xf16>, tensor<2x?x8xf16> members {
  ^bb0(%a: tensor<?x32xf16>, %b: tensor<64x32xf16>, %c: tensor<16x32xf16>, %m: index):
    %p = ait.gemm %a, %b row col split [1, 2] permuted [1, 0, 2] dims(%m) : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<4x?x16xf16>
    %q = ait.gemm %a, %c row col split [1, 2] permuted [1, 0, 2] dims(%m) : tensor<?x32xf16>, tensor<16x32xf16> -> tensor<2x?x8xf16>
    ait.yield %p, %q : tensor<4x?x16xf16>, tensor<2x?x8xf16>
  }
  return %0#0, %0#1 : tensor<4x?x16xf16>, tensor<2x?x8xf16>
}

// CHECK-LABEL: func.func @conv(
// CHECK: %{{.*}} = ait.conv %{{.*}}, %{{.*}} strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] groups 2 extras(%{{.*}} : tensor<8x1x1xf32>) : tensor<?x4x9x9xf32>, tensor<8x2x3x3xf32> -> tensor<?x8x5x5xf32> epilogue {
func.func @conv(%x: tensor<?x4x9x9xf32>, %w: tensor<8x2x3x3xf32>, %b: tensor<8x1x1xf32>) -> tensor<?x8x5x5xf32> {
  %0 = ait.conv %x, %w strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] groups 2 extras(%b : tensor<8x1x1xf32>) : tensor<?x4x9x9xf32>, tensor<8x2x3x3xf32> -> tensor<?x8x5x5xf32> epilogue {
  ^bb0(%acc: f32, %c: f32):
    %s = arith.addf %acc, %c : f32
    ait.yield %s : f32
  }
  return %0 : tensor<?x8x5x5xf32>
}

// CHECK-LABEL: func.func @conv_transposed(
// CHECK: %{{.*}} = ait.conv transposed %{{.*}}, %{{.*}} strides [2] pads [1, 1] dilations [1] groups 1 output_padding [1] : tensor<1x4x5xf32>, tensor<4x2x3xf32> -> tensor<1x2x10xf32>
func.func @conv_transposed(%x: tensor<1x4x5xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x2x10xf32> {
  %0 = ait.conv transposed %x, %w strides [2] pads [1, 1] dilations [1] groups 1 output_padding [1] : tensor<1x4x5xf32>, tensor<4x2x3xf32> -> tensor<1x2x10xf32>
  return %0 : tensor<1x2x10xf32>
}

// CHECK-LABEL: func.func @deform_conv(
// CHECK: %{{.*}} = ait.deform_conv %{{.*}}, %{{.*}}, %{{.*}} params(%{{.*}} : tensor<8xf32>) strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 offset_groups 1 : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>, tensor<1x18x7x7xf32> -> tensor<1x8x7x7xf32>
func.func @deform_conv(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>, %o: tensor<1x18x7x7xf32>, %b: tensor<8xf32>) -> tensor<1x8x7x7xf32> {
  %0 = ait.deform_conv %x, %w, %o params(%b : tensor<8xf32>) strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 offset_groups 1 : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>, tensor<1x18x7x7xf32> -> tensor<1x8x7x7xf32>
  return %0 : tensor<1x8x7x7xf32>
}

// CHECK-LABEL: func.func @gemm(
// CHECK: %{{.*}} = ait.gemm %{{.*}}, %{{.*}} row col alpha 5.000000e-01 extras(%{{.*}} : tensor<64xf16>) : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16> epilogue {
func.func @gemm(%x: tensor<?x32xf16>, %w: tensor<64x32xf16>, %b: tensor<64xf16>) -> tensor<?x64xf16> {
  %0 = ait.gemm %x, %w row col alpha 0.5 extras(%b : tensor<64xf16>) : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16> epilogue {
  ^bb0(%acc: f32, %bias: f16):
    %e = arith.extf %bias : f16 to f32
    %s = arith.addf %acc, %e : f32
    %r = arith.truncf %s : f32 to f16
    ait.yield %r : f16
  }
  return %0 : tensor<?x64xf16>
}

// CHECK-LABEL: func.func @gemm_grouped(
// CHECK: %{{.*}} = ait.gemm %{{.*}}, %{{.*}} and(%{{.*}} : tensor<8x64x32xf16>) row col extras(%{{.*}}, %{{.*}} : tensor<8x1x64xf16>, tensor<?x64xf16>) offsets(%{{.*}} : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16> epilogue {
func.func @gemm_grouped(%x: tensor<?x32xf16>, %w: tensor<8x64x32xf16>, %v: tensor<8x64x32xf16>, %b: tensor<8x1x64xf16>, %r: tensor<?x64xf16>, %o: tensor<9xi32>) -> tensor<?x64xf16> {
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

// CHECK-LABEL: func.func @gemm_of_two_products_with_two_results(
// CHECK: %{{.*}}:2 = ait.gemm %{{.*}}, %{{.*}} and(%{{.*}} : tensor<64x32xf16>) row col : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16>, tensor<?x64xf32> epilogue {
func.func @gemm_of_two_products_with_two_results(%x: tensor<?x32xf16>, %w: tensor<64x32xf16>, %v: tensor<64x32xf16>) -> (tensor<?x64xf16>, tensor<?x64xf32>) {
  %0:2 = ait.gemm %x, %w and(%v : tensor<64x32xf16>) row col : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16>, tensor<?x64xf32> epilogue {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    %r = arith.truncf %m : f32 to f16
    ait.yield %r, %p : f16, f32
  }
  return %0#0, %0#1 : tensor<?x64xf16>, tensor<?x64xf32>
}

// CHECK-LABEL: func.func @gemm_laid_out_anew(
// CHECK: %{{.*}} = ait.gemm %{{.*}}, %{{.*}} row col split [1, 2] permuted [1, 0, 2] dims(%{{.*}}) : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<4x?x16xf16>
func.func @gemm_laid_out_anew(%x: tensor<?x32xf16>, %w: tensor<64x32xf16>, %n: index) -> tensor<4x?x16xf16> {
  %0 = ait.gemm %x, %w row col split [1, 2] permuted [1, 0, 2] dims(%n) : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<4x?x16xf16>
  return %0 : tensor<4x?x16xf16>
}

// CHECK-LABEL: func.func @gemm_of_integers(
// CHECK: %{{.*}} = ait.gemm %{{.*}}, %{{.*}} row row : tensor<2x1x4x8xui8>, tensor<3x8x5xi8> -> tensor<2x3x4x5xi32>
func.func @gemm_of_integers(%x: tensor<2x1x4x8xui8>, %w: tensor<3x8x5xi8>) -> tensor<2x3x4x5xi32> {
  %0 = ait.gemm %x, %w row row : tensor<2x1x4x8xui8>, tensor<3x8x5xi8> -> tensor<2x3x4x5xi32>
  return %0 : tensor<2x3x4x5xi32>
}

// CHECK-LABEL: func.func @rnn(
// CHECK: %{{.*}} = ait.rnn lstm forward %{{.*}}, %{{.*}}, %{{.*}} states(%{{.*}} : tensor<1x32xf32>) operands ["bias"] activations ["Sigmoid", "Tanh", "Tanh"] [0.000000e+00, 0.000000e+00, 0.000000e+00] [0.000000e+00, 0.000000e+00, 0.000000e+00] : tensor<?x1x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32> -> tensor<?x1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>
func.func @rnn(%x: tensor<?x1x3xf32>, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>, %b: tensor<1x32xf32>) -> (tensor<?x1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>) {
  %0:3 = ait.rnn lstm forward %x, %w, %r states(%b : tensor<1x32xf32>) operands ["bias"] activations ["Sigmoid", "Tanh", "Tanh"] [0.0, 0.0, 0.0] [0.0, 0.0, 0.0] : tensor<?x1x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32> -> tensor<?x1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>
  return %0#0, %0#1, %0#2 : tensor<?x1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>
}

//===-- Reductions and normalisations -------------------------------------------------------------------------===//

// CHECK-LABEL: func.func @argreduce(
// CHECK: %{{.*}} = ait.argreduce max %{{.*}} axis 1 keepdims : tensor<?x4xf32> -> tensor<?x1xi64>
// CHECK: %{{.*}} = ait.argreduce min %{{.*}} axis 0 last : tensor<?x4xf32> -> tensor<4xi64>
func.func @argreduce(%x: tensor<?x4xf32>) -> (tensor<?x1xi64>, tensor<4xi64>) {
  %0 = ait.argreduce max %x axis 1 keepdims : tensor<?x4xf32> -> tensor<?x1xi64>
  %1 = ait.argreduce min %x axis 0 last : tensor<?x4xf32> -> tensor<4xi64>
  return %0, %1 : tensor<?x1xi64>, tensor<4xi64>
}

// CHECK-LABEL: func.func @norm(
// CHECK: %{{.*}} = ait.norm layer %{{.*}} params(%{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>) epsilon 1.000000e-05 axis 1 : tensor<?x8xf32> -> tensor<?x8xf32>
// CHECK: %{{.*}} = ait.norm group %{{.*}} params(%{{.*}} : tensor<4xf32>) epsilon 1.000000e-05 groups 2 : tensor<1x4x5x5xf32> -> tensor<1x4x5x5xf32>
func.func @norm(%x: tensor<?x8xf32>, %s: tensor<8xf32>, %i: tensor<1x4x5x5xf32>, %c: tensor<4xf32>) -> (tensor<?x8xf32>, tensor<1x4x5x5xf32>) {
  %0 = ait.norm layer %x params(%s, %s : tensor<8xf32>, tensor<8xf32>) epsilon 1.000000e-05 axis 1 : tensor<?x8xf32> -> tensor<?x8xf32>
  %1 = ait.norm group %i params(%c : tensor<4xf32>) epsilon 1.000000e-05 groups 2 : tensor<1x4x5x5xf32> -> tensor<1x4x5x5xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<1x4x5x5xf32>
}

// CHECK-LABEL: func.func @pool(
// CHECK: %{{.*}} = ait.pool max %{{.*}} kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] {ceil} : tensor<1x4x?x8xf32> -> tensor<1x4x?x4xf32>, tensor<1x4x?x4xi64>
// CHECK: %{{.*}} = ait.pool lp %{{.*}} kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] {p = 3 : i64} : tensor<1x4x?x8xf32> -> tensor<1x4x?x4xf32>
func.func @pool(%x: tensor<1x4x?x8xf32>) -> (tensor<1x4x?x4xf32>, tensor<1x4x?x4xi64>, tensor<1x4x?x4xf32>) {
  %0:2 = ait.pool max %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] {ceil} : tensor<1x4x?x8xf32> -> tensor<1x4x?x4xf32>, tensor<1x4x?x4xi64>
  %1 = ait.pool lp %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] {p = 3 : i64} : tensor<1x4x?x8xf32> -> tensor<1x4x?x4xf32>
  return %0#0, %0#1, %1 : tensor<1x4x?x4xf32>, tensor<1x4x?x4xi64>, tensor<1x4x?x4xf32>
}

// CHECK-LABEL: func.func @reduce(
// CHECK: %{{.*}} = ait.reduce log_sum_exp %{{.*}} axes [1] keepdims : tensor<2x?x4xf32> -> tensor<2x1x4xf32>
// CHECK: %{{.*}} = ait.reduce sum %{{.*}} axes [0, 2] : tensor<2x?x4xf32> -> tensor<?xf32>
// CHECK: %{{.*}} = ait.reduce mean %{{.*}} axes [] dynamic_axes(%{{.*}} : tensor<1xi64>) dims(%{{.*}}, %{{.*}}, %{{.*}}) keepdims : tensor<2x?x4xf32> -> tensor<?x?x?xf32>
func.func @reduce(%x: tensor<2x?x4xf32>, %axes: tensor<1xi64>, %m: index, %n: index, %k: index) -> (tensor<2x1x4xf32>, tensor<?xf32>, tensor<?x?x?xf32>) {
  %0 = ait.reduce log_sum_exp %x axes [1] keepdims : tensor<2x?x4xf32> -> tensor<2x1x4xf32>
  %1 = ait.reduce sum %x axes [0, 2] : tensor<2x?x4xf32> -> tensor<?xf32>
  %2 = ait.reduce mean %x axes [] dynamic_axes(%axes : tensor<1xi64>) dims(%m, %n, %k) keepdims : tensor<2x?x4xf32> -> tensor<?x?x?xf32>
  return %0, %1, %2 : tensor<2x1x4xf32>, tensor<?xf32>, tensor<?x?x?xf32>
}

// CHECK-LABEL: func.func @scan(
// CHECK: %{{.*}} = ait.scan sum %{{.*}} axis %{{.*}} exclusive reverse : tensor<2x?xf32> -> tensor<2x?xf32>
func.func @scan(%x: tensor<2x?xf32>, %axis: index) -> tensor<2x?xf32> {
  %0 = ait.scan sum %x axis %axis exclusive reverse : tensor<2x?xf32> -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// CHECK-LABEL: func.func @softmax(
// CHECK: %{{.*}} = ait.softmax log_softmax %{{.*}} axis 1 : tensor<2x?xf32> -> tensor<2x?xf32>
func.func @softmax(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
  %0 = ait.softmax log_softmax %x axis 1 : tensor<2x?xf32> -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// CHECK-LABEL: func.func @topk(
// CHECK: %{{.*}}, %{{.*}} = ait.topk %{{.*}} axis 1 smallest dims(%{{.*}}) : tensor<2x?xf32> -> tensor<2x?xf32>, tensor<2x?xi64>
func.func @topk(%x: tensor<2x?xf32>, %k: index) -> (tensor<2x?xf32>, tensor<2x?xi64>) {
  %0, %1 = ait.topk %x axis 1 smallest dims(%k) : tensor<2x?xf32> -> tensor<2x?xf32>, tensor<2x?xi64>
  return %0, %1 : tensor<2x?xf32>, tensor<2x?xi64>
}

//===-- Shape and movement ------------------------------------------------------------------------------------===//

// CHECK-LABEL: func.func @concat(
// CHECK: %{{.*}} = ait.concat %{{.*}}, %{{.*}} axis 1 : tensor<2x?xf32>, tensor<2x3xf32> -> tensor<2x?xf32>
func.func @concat(%x: tensor<2x?xf32>, %y: tensor<2x3xf32>) -> tensor<2x?xf32> {
  %0 = ait.concat %x, %y axis 1 : tensor<2x?xf32>, tensor<2x3xf32> -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// CHECK-LABEL: func.func @gather(
// CHECK: %{{.*}} = ait.gather slices %{{.*}}[%{{.*}}] : tensor<5x4xf32>, tensor<?x3xi64> -> tensor<?x3x4xf32>
// CHECK: %{{.*}} = ait.gather elements %{{.*}}[%{{.*}}] axis 1 : tensor<5x4xf32>, tensor<?x3xi64> -> tensor<?x3xf32>
// CHECK: %{{.*}} = ait.gather nd %{{.*}}[%{{.*}}] : tensor<5x4xf32>, tensor<?x2xi32> -> tensor<?xf32>
func.func @gather(%x: tensor<5x4xf32>, %i: tensor<?x3xi64>, %j: tensor<?x2xi32>) -> (tensor<?x3x4xf32>, tensor<?x3xf32>, tensor<?xf32>) {
  %0 = ait.gather slices %x[%i] : tensor<5x4xf32>, tensor<?x3xi64> -> tensor<?x3x4xf32>
  %1 = ait.gather elements %x[%i] axis 1 : tensor<5x4xf32>, tensor<?x3xi64> -> tensor<?x3xf32>
  %2 = ait.gather nd %x[%j] : tensor<5x4xf32>, tensor<?x2xi32> -> tensor<?xf32>
  return %0, %1, %2 : tensor<?x3x4xf32>, tensor<?x3xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @pad(
// CHECK: %{{.*}} = ait.pad constant %{{.*}} low [1, %{{.*}}] high [0, 2] value(%{{.*}} : tensor<f32>) : tensor<2x3xf32> -> tensor<3x?xf32>
// CHECK: %{{.*}} = ait.pad reflect %{{.*}} low [0, 1] high [0, 1] : tensor<2x3xf32> -> tensor<2x5xf32>
func.func @pad(%x: tensor<2x3xf32>, %v: tensor<f32>, %n: index) -> (tensor<3x?xf32>, tensor<2x5xf32>) {
  %0 = ait.pad constant %x low [1, %n] high [0, 2] value(%v : tensor<f32>) : tensor<2x3xf32> -> tensor<3x?xf32>
  %1 = ait.pad reflect %x low [0, 1] high [0, 1] : tensor<2x3xf32> -> tensor<2x5xf32>
  return %0, %1 : tensor<3x?xf32>, tensor<2x5xf32>
}

// CHECK-LABEL: func.func @reshape(
// CHECK: %{{.*}} = ait.reshape %{{.*}} dims(%{{.*}}) : tensor<?x6xf32> to tensor<?x2x3xf32>
func.func @reshape(%x: tensor<?x6xf32>, %n: index) -> tensor<?x2x3xf32> {
  %0 = ait.reshape %x dims(%n) : tensor<?x6xf32> to tensor<?x2x3xf32>
  return %0 : tensor<?x2x3xf32>
}

// CHECK-LABEL: func.func @scatter(
// CHECK: %{{.*}} = ait.scatter elements %{{.*}}[%{{.*}}], %{{.*}} reduction add : tensor<5x4xf32>, tensor<2x4xi64>, tensor<2x4xf32> -> tensor<5x4xf32>
func.func @scatter(%x: tensor<5x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xf32>) -> tensor<5x4xf32> {
  %0 = ait.scatter elements %x[%i], %u axis 0 reduction add : tensor<5x4xf32>, tensor<2x4xi64>, tensor<2x4xf32> -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// CHECK-LABEL: func.func @slice(
// CHECK: %{{.*}} = ait.slice %{{.*}}[0, %{{.*}}][2, %{{.*}}][1, -1] : tensor<4x?xf32> to tensor<2x?xf32>
func.func @slice(%x: tensor<4x?xf32>, %i: index, %n: index) -> tensor<2x?xf32> {
  %0 = ait.slice %x[0, %i][2, %n][1, -1] : tensor<4x?xf32> to tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// CHECK-LABEL: func.func @split(
// CHECK: %{{.*}} = ait.split %{{.*}} axis 1 dims(%{{.*}}) : tensor<2x?xf32> -> tensor<2x3xf32>, tensor<2x?xf32>
func.func @split(%x: tensor<2x?xf32>, %n: index) -> (tensor<2x3xf32>, tensor<2x?xf32>) {
  %0:2 = ait.split %x axis 1 dims(%n) : tensor<2x?xf32> -> tensor<2x3xf32>, tensor<2x?xf32>
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x?xf32>
}

// CHECK-LABEL: func.func @transpose(
// CHECK: %{{.*}} = ait.transpose %{{.*}} [2, 0, 1] : tensor<2x?x4xf32> to tensor<4x2x?xf32>
func.func @transpose(%x: tensor<2x?x4xf32>) -> tensor<4x2x?xf32> {
  %0 = ait.transpose %x [2, 0, 1] : tensor<2x?x4xf32> to tensor<4x2x?xf32>
  return %0 : tensor<4x2x?xf32>
}

//===-- Data-dependent sizes ----------------------------------------------------------------------------------===//

// CHECK-LABEL: func.func @nms(
// CHECK: %{{.*}}, %{{.*}} = ait.nms %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} dims(%{{.*}}) {center_point_box} : tensor<1x?x4xf32>, tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32> -> tensor<?x3xi64>, tensor<i64>
func.func @nms(%b: tensor<1x?x4xf32>, %s: tensor<1x2x?xf32>, %m: tensor<1xi64>, %i: tensor<1xf32>, %t: tensor<1xf32>, %n: index) -> (tensor<?x3xi64>, tensor<i64>) {
  %0, %1 = ait.nms %b, %s, %m, %i, %t dims(%n) {center_point_box} : tensor<1x?x4xf32>, tensor<1x2x?xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32> -> tensor<?x3xi64>, tensor<i64>
  return %0, %1 : tensor<?x3xi64>, tensor<i64>
}

// CHECK-LABEL: func.func @nonzero(
// CHECK: %{{.*}}, %{{.*}} = ait.nonzero %{{.*}} dims(%{{.*}}) : tensor<?x4xf32> -> tensor<?x2xi64>, tensor<i64>
func.func @nonzero(%x: tensor<?x4xf32>, %n: index) -> (tensor<?x2xi64>, tensor<i64>) {
  %0, %1 = ait.nonzero %x dims(%n) : tensor<?x4xf32> -> tensor<?x2xi64>, tensor<i64>
  return %0, %1 : tensor<?x2xi64>, tensor<i64>
}

// CHECK-LABEL: func.func @unique(
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = ait.unique sorted %{{.*}} : tensor<?x4xf32> -> tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<i64>
func.func @unique(%x: tensor<?x4xf32>) -> (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<i64>) {
  %0, %1, %2, %3 = ait.unique sorted %x : tensor<?x4xf32> -> tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<i64>
  return %0, %1, %2, %3 : tensor<?xi64>, tensor<?xi64>, tensor<?xi64>, tensor<i64>
}

//===-- Signals and images ------------------------------------------------------------------------------------===//

// CHECK-LABEL: func.func @col2im(
// CHECK: %{{.*}} = ait.col2im %{{.*}} block [2, 2] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x8x9xf32> -> tensor<1x2x4x4xf32>
func.func @col2im(%x: tensor<1x8x9xf32>) -> tensor<1x2x4x4xf32> {
  %0 = ait.col2im %x block [2, 2] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x8x9xf32> -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @dft(
// CHECK: %{{.*}} = ait.dft %{{.*}} length %{{.*}} dims(%{{.*}}) : tensor<2x?x1xf32> -> tensor<2x?x2xf32>
func.func @dft(%x: tensor<2x?x1xf32>, %n: index) -> tensor<2x?x2xf32> {
  %0 = ait.dft %x length %n dims(%n) : tensor<2x?x1xf32> -> tensor<2x?x2xf32>
  return %0 : tensor<2x?x2xf32>
}

// CHECK-LABEL: func.func @grid_sample(
// CHECK: %{{.*}} = ait.grid_sample linear zeros %{{.*}}, %{{.*}} {align_corners} : tensor<1x3x8x8xf32>, tensor<1x4x4x2xf32> -> tensor<1x3x4x4xf32>
func.func @grid_sample(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x4x2xf32>) -> tensor<1x3x4x4xf32> {
  %0 = ait.grid_sample linear zeros %x, %g {align_corners} : tensor<1x3x8x8xf32>, tensor<1x4x4x2xf32> -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// CHECK-LABEL: func.func @resize(
// CHECK: %{{.*}} = ait.resize linear half_pixel %{{.*}} scales(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) dims(%{{.*}}) {antialias} : tensor<1x3x?x8xf32> -> tensor<1x3x?x16xf32>
func.func @resize(%x: tensor<1x3x?x8xf32>, %s: f64, %n: index) -> tensor<1x3x?x16xf32> {
  %0 = ait.resize linear half_pixel %x scales(%s, %s, %s, %s) dims(%n) {antialias} : tensor<1x3x?x8xf32> -> tensor<1x3x?x16xf32>
  return %0 : tensor<1x3x?x16xf32>
}

// CHECK-LABEL: func.func @roi_align(
// CHECK: %{{.*}} = ait.roi_align average %{{.*}}, %{{.*}}, %{{.*}} spatial_scale 1.000000e+00 sampling_ratio 2 half_pixel : tensor<1x3x8x8xf32>, tensor<?x4xf32>, tensor<?xi64> -> tensor<?x3x2x2xf32>
func.func @roi_align(%x: tensor<1x3x8x8xf32>, %r: tensor<?x4xf32>, %b: tensor<?xi64>) -> tensor<?x3x2x2xf32> {
  %0 = ait.roi_align average %x, %r, %b spatial_scale 1.0 sampling_ratio 2 half_pixel : tensor<1x3x8x8xf32>, tensor<?x4xf32>, tensor<?xi64> -> tensor<?x3x2x2xf32>
  return %0 : tensor<?x3x2x2xf32>
}

//===-- Jagged tensors ----------------------------------------------------------------------------------------===//

// CHECK-LABEL: func.func @jagged(
// CHECK: %{{.*}} = ait.jagged_to_padded %{{.*}}, %{{.*}} padding 0.000000e+00 whole dims(%{{.*}}) : tensor<?x8xf32>, tensor<5xi32> -> tensor<4x?x8xf32>
// CHECK: %{{.*}} = ait.padded_to_jagged %{{.*}}, %{{.*}} dims(%{{.*}}) : tensor<4x?x8xf32>, tensor<5xi32> -> tensor<?x8xf32>
func.func @jagged(%x: tensor<?x8xf32>, %o: tensor<5xi32>, %n: index) -> tensor<?x8xf32> {
  %0 = ait.jagged_to_padded %x, %o padding 0.0 whole dims(%n) : tensor<?x8xf32>, tensor<5xi32> -> tensor<4x?x8xf32>
  %1 = ait.padded_to_jagged %0, %o dims(%n) : tensor<4x?x8xf32>, tensor<5xi32> -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

//===-- Planned buffers ---------------------------------------------------------------------------------------===//

// CHECK-LABEL: func.func @buffers(
// CHECK: %{{.*}} = ait.buffer.alloc dims(%{{.*}}) : memref<?x4xf32>
// CHECK: %{{.*}} = ait.buffer.arena %{{.*}} : memref<?xi8>
// CHECK: %{{.*}} = ait.buffer.constant "fc.weight" : memref<10x4xf32>
// CHECK: %{{.*}} = ait.buffer.output 0 dims(%{{.*}}) : memref<?x4xf32>
// CHECK: %{{.*}} = ait.buffer.reshape %{{.*}} dims(%{{.*}}) : memref<10x4xf32> to memref<?xf32>
func.func @buffers(%n: index) {
  %0 = ait.buffer.alloc dims(%n) : memref<?x4xf32>
  %1 = ait.buffer.arena %n : memref<?xi8>
  %2 = ait.buffer.constant "fc.weight" : memref<10x4xf32>
  %3 = ait.buffer.output 0 dims(%n) : memref<?x4xf32>
  %4 = ait.buffer.reshape %2 dims(%n) : memref<10x4xf32> to memref<?xf32>
  return
}
