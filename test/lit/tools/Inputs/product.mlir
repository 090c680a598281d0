func.func private @k0_gemm(%x: tensor<128x128xf16>, %w: tensor<128x128xf16>) -> tensor<128x128xf16> attributes {ait.kernel} {
  %0 = ait.gemm %x, %w row col : tensor<128x128xf16>, tensor<128x128xf16> -> tensor<128x128xf16>
  return %0 : tensor<128x128xf16>
}

func.func @main(%x: memref<128x128xf16>, %w: memref<128x128xf16>) {
  %out = ait.buffer.output 0 : memref<128x128xf16>
  ait.launch @k0_gemm(%x, %w : memref<128x128xf16>, memref<128x128xf16>) outs(%out : memref<128x128xf16>)
  return
}
