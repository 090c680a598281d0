// x w^T of matrices whose rows lie apart: the launch says how far.
func.func @main(%x: tensor<?x?xf16> {ait.name = "x", ait.dims = ["m", "k"], ait.min = array<i64: 1, 1>, ait.strides = strided<[?, 1]>},
                %w: tensor<64x?xf16> {ait.name = "w", ait.dims = ["", "k"], ait.min = array<i64: 64, 1>, ait.strides = strided<[?, 1]>})
    -> (tensor<?x64xf16> {ait.name = "y", ait.dims = ["m", ""], ait.strides = strided<[?, 1]>}) {
  %y = ait.gemm %x, %w row col : tensor<?x?xf16>, tensor<64x?xf16> -> tensor<?x64xf16>
  return %y : tensor<?x64xf16>
}
