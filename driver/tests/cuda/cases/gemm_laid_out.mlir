// targets: sm_80 sm_90a
// types: f16
// run: input0=2x72x128
// run: input0=3x20x128
// [B, S, H D] to [B, H, S, D], from rows of a batch and from rows of one matrix; and the way back.
func.func @main(%x: tensor<?x?x128x$T>, %w: tensor<256x128x$T>, %b: tensor<256x$T>, %v: tensor<2x3x40x64x$T>)
    -> (tensor<?x4x?x64x$T>, tensor<4x2x50x32x$T>, tensor<2x40x3x16x$T>, tensor<3x?x?x2x24x$T>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?x128x$T>
  %s = tensor.dim %x, %c1 : tensor<?x?x128x$T>
  %0 = ait.gemm %x, %w row col : tensor<?x?x128x$T>, tensor<256x128x$T> -> tensor<?x?x256x$T>
  %1 = ait.map ins(%0, %b : tensor<?x?x256x$T>, tensor<256x$T>) -> tensor<?x?x256x$T> {
  ^bb0(%p: $T, %q: $T):
    %r = arith.addf %p, %q : $T
    ait.yield %r : $T
  }
  %2 = ait.reshape %1 dims(%m, %s) : tensor<?x?x256x$T> to tensor<?x?x4x64x$T>
  %3 = ait.transpose %2 [0, 2, 1, 3] : tensor<?x?x4x64x$T> to tensor<?x4x?x64x$T>
  %rows = ait.reshape %v : tensor<2x3x40x64x$T> to tensor<120x128x$T>
  %k = ait.slice %rows[0, 0][100, 128][1, 1] : tensor<120x128x$T> to tensor<100x128x$T>
  %w1 = ait.slice %w[0, 0][128, 128][1, 1] : tensor<256x128x$T> to tensor<128x128x$T>
  %4 = ait.gemm %k, %w1 row row : tensor<100x128x$T>, tensor<128x128x$T> -> tensor<100x128x$T>
  %5 = ait.reshape %4 : tensor<100x128x$T> to tensor<2x50x4x32x$T>
  %6 = ait.transpose %5 [2, 0, 1, 3] : tensor<2x50x4x32x$T> to tensor<4x2x50x32x$T>
  %w2 = ait.slice %w[0, 0][64, 16][1, 1] : tensor<256x128x$T> to tensor<64x16x$T>
  %7 = ait.gemm %v, %w2 row row : tensor<2x3x40x64x$T>, tensor<64x16x$T> -> tensor<2x3x40x16x$T>
  %8 = ait.transpose %7 [0, 2, 1, 3] : tensor<2x3x40x16x$T> to tensor<2x40x3x16x$T>
  %w3 = ait.slice %w[0, 0][144, 128][1, 1] : tensor<256x128x$T> to tensor<144x128x$T>
  %9 = ait.gemm %x, %w3 row col : tensor<?x?x128x$T>, tensor<144x128x$T> -> tensor<?x?x144x$T>
  %10 = ait.reshape %9 dims(%m, %s) : tensor<?x?x144x$T> to tensor<?x?x3x2x24x$T>
  %11 = ait.transpose %10 [2, 0, 1, 3, 4] : tensor<?x?x3x2x24x$T> to tensor<3x?x?x2x24x$T>
  return %3, %6, %8, %11 : tensor<?x4x?x64x$T>, tensor<4x2x50x32x$T>, tensor<2x40x3x16x$T>, tensor<3x?x?x2x24x$T>
}
