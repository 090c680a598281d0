// types: f16
// targets: sm_80 sm_90a
// run: input0=2x40x64
// run: input0=1x7x64
// run: input0=0x5x64
// As `group_heads`, of any batch and length: the sizes of the results come with the group.
func.func @main(%x: tensor<?x?x64x$T>, %q: tensor<128x64x$T>, %k: tensor<64x64x$T>) -> (tensor<?x4x?x32x$T>, tensor<?x2x?x32x$T>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x64x$T>
  %s = tensor.dim %x, %c1 : tensor<?x?x64x$T>
  %0:2 = ait.group(%x, %q, %k : tensor<?x?x64x$T>, tensor<128x64x$T>, tensor<64x64x$T>) dims(%b, %s) -> tensor<?x4x?x32x$T>, tensor<?x2x?x32x$T> members {
  ^bb0(%i: tensor<?x?x64x$T>, %j: tensor<128x64x$T>, %l: tensor<64x64x$T>, %m: index, %n: index):
    %p = ait.gemm %i, %j row col split [1, 1, 2] permuted [0, 2, 1, 3] dims(%m, %n) : tensor<?x?x64x$T>, tensor<128x64x$T> -> tensor<?x4x?x32x$T>
    %o = ait.gemm %i, %l row col split [1, 1, 2] permuted [0, 2, 1, 3] dims(%m, %n) : tensor<?x?x64x$T>, tensor<64x64x$T> -> tensor<?x2x?x32x$T>
    ait.yield %p, %o : tensor<?x4x?x32x$T>, tensor<?x2x?x32x$T>
  }
  return %0#0, %0#1 : tensor<?x4x?x32x$T>, tensor<?x2x?x32x$T>
}
