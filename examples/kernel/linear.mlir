// relu(x w^T + b): one kernel, for any number of rows, and sums of any length that is a multiple of 8.
func.func @main(%x: tensor<?x?xf16> {ait.name = "x", ait.dims = ["m", "k"], ait.min = array<i64: 1, 8>, ait.multiple = array<i64: 1, 8>},
                %w: tensor<64x?xf16> {ait.name = "w", ait.dims = ["", "k"], ait.min = array<i64: 64, 8>, ait.multiple = array<i64: 64, 8>},
                %b: tensor<64xf16> {ait.name = "b"}) -> (tensor<?x64xf16> {ait.name = "y", ait.dims = ["m", ""]}) {
  %y = ait.gemm %x, %w row col extras(%b : tensor<64xf16>) : tensor<?x?xf16>, tensor<64x?xf16> -> tensor<?x64xf16> epilogue {
  ^bb0(%acc: f32, %bias: f16):
    %zero = arith.constant 0.0 : f32
    %wide = arith.extf %bias : f16 to f32
    %sum = arith.addf %acc, %wide : f32
    %relu = arith.maximumf %sum, %zero : f32
    %r = arith.truncf %relu : f32 to f16
    ait.yield %r : f16
  }
  return %y : tensor<?x64xf16>
}
