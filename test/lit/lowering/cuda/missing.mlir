// RUN: aitmlir-opt %s --ait-lower-host=chip=sm_80 -verify-diagnostics

// All ops without a kernel are told at once.
func.func private @k0_deform_conv(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>, %o: tensor<1x18x7x7xf32>) -> tensor<1x8x7x7xf32> attributes {ait.kernel} {
  %0 = ait.deform_conv %x, %w, %o strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 offset_groups 1 : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>, tensor<1x18x7x7xf32> -> tensor<1x8x7x7xf32>
  return %0 : tensor<1x8x7x7xf32>
}
func.func private @k1_dft(%x: tensor<2x8x1xf32>, %n: index) -> tensor<2x?x2xf32> attributes {ait.kernel} {
  %0 = ait.dft %x length %n dims(%n) : tensor<2x8x1xf32> -> tensor<2x?x2xf32>
  return %0 : tensor<2x?x2xf32>
}

func.func @main(%x: memref<1x4x9x9xf32>, %w: memref<8x4x3x3xf32>, %o: memref<1x18x7x7xf32>, %s: memref<2x8x1xf32>) {
  %n = arith.constant 8 : index
  %y = ait.buffer.output 0 : memref<1x8x7x7xf32>
  %z = ait.buffer.output 1 dims(%n) : memref<2x?x2xf32>
  // expected-error @+1 {{'ait.launch' op 'ait.deform_conv' has no kernel for cuda:sm_80}}
  ait.launch @k0_deform_conv(%x, %w, %o : memref<1x4x9x9xf32>, memref<8x4x3x3xf32>, memref<1x18x7x7xf32>) outs(%y : memref<1x8x7x7xf32>)
  // expected-error @+1 {{'ait.launch' op 'ait.dft' has no kernel for cuda:sm_80}}
  ait.launch @k1_dft(%s, %n : memref<2x8x1xf32>, index) outs(%z : memref<2x?x2xf32>)
  return
}
