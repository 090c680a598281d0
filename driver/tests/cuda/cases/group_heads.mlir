// types: f16
// targets: sm_90a
// run: input0=2x40x64
// The projections of one input, laid out as heads: `ait-group-products` makes one launch of them.
func.func @main(%x: tensor<2x40x64x$T>, %q: tensor<128x64x$T>, %k: tensor<64x64x$T>, %v: tensor<64x64x$T>)
    -> (tensor<2x4x40x32x$T>, tensor<2x2x40x32x$T>, tensor<2x2x40x32x$T>) {
  %0 = ait.gemm %x, %q row col : tensor<2x40x64x$T>, tensor<128x64x$T> -> tensor<2x40x128x$T>
  %1 = ait.reshape %0 : tensor<2x40x128x$T> to tensor<2x40x4x32x$T>
  %2 = ait.transpose %1 [0, 2, 1, 3] : tensor<2x40x4x32x$T> to tensor<2x4x40x32x$T>
  %3 = ait.gemm %x, %k row col : tensor<2x40x64x$T>, tensor<64x64x$T> -> tensor<2x40x64x$T>
  %4 = ait.reshape %3 : tensor<2x40x64x$T> to tensor<2x40x2x32x$T>
  %5 = ait.transpose %4 [0, 2, 1, 3] : tensor<2x40x2x32x$T> to tensor<2x2x40x32x$T>
  %6 = ait.gemm %x, %v row col : tensor<2x40x64x$T>, tensor<64x64x$T> -> tensor<2x40x64x$T>
  %7 = ait.reshape %6 : tensor<2x40x64x$T> to tensor<2x40x2x32x$T>
  %8 = ait.transpose %7 [0, 2, 1, 3] : tensor<2x40x2x32x$T> to tensor<2x2x40x32x$T>
  return %2, %5, %8 : tensor<2x4x40x32x$T>, tensor<2x2x40x32x$T>, tensor<2x2x40x32x$T>
}
