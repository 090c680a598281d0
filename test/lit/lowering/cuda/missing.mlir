// RUN: aitmlir-opt %s --ait-lower-host=chip=sm_80 -verify-diagnostics

// All ops without a kernel are told at once.
func.func private @k0_conv(%x: tensor<1x4x5xf32>, %w: tensor<2x4x3xf32>) -> tensor<1x2x3xf32> attributes {ait.kernel} {
  %0 = ait.conv %x, %w strides [1] pads [0, 0] dilations [1] groups 1 : tensor<1x4x5xf32>, tensor<2x4x3xf32> -> tensor<1x2x3xf32>
  return %0 : tensor<1x2x3xf32>
}
func.func private @k1_gemm(%a: tensor<4x8xf64>, %b: tensor<8x4xf64>) -> tensor<4x4xf64> attributes {ait.kernel} {
  %0 = ait.gemm %a, %b row row : tensor<4x8xf64>, tensor<8x4xf64> -> tensor<4x4xf64>
  return %0 : tensor<4x4xf64>
}

func.func @main(%x: memref<1x4x5xf32>, %w: memref<2x4x3xf32>, %a: memref<4x8xf64>, %b: memref<8x4xf64>) {
  %y = ait.buffer.output 0 : memref<1x2x3xf32>
  %z = ait.buffer.output 1 : memref<4x4xf64>
  // expected-error @+1 {{'ait.launch' op 'ait.conv' has no kernel for cuda:sm_80}}
  ait.launch @k0_conv(%x, %w : memref<1x4x5xf32>, memref<2x4x3xf32>) outs(%y : memref<1x2x3xf32>)
  // expected-error @+1 {{'ait.launch' op 'ait.gemm' of f64 and f64 has no kernel for cuda:sm_80}}
  ait.launch @k1_gemm(%a, %b : memref<4x8xf64>, memref<8x4xf64>) outs(%z : memref<4x4xf64>)
  return
}
