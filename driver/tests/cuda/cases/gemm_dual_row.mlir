// targets: sm_80 sm_90a
// types: bf16
// run: input0=3x40x72
// Right operands in rows, a batch that becomes rows, sizes that are no multiples of a tile.
func.func @main(%x: tensor<3x?x72x$T>, %a: tensor<72x136x$T>, %b: tensor<72x136x$T>) -> tensor<3x?x136x$T> {
  %0 = ait.gemm %x, %a row row : tensor<3x?x72x$T>, tensor<72x136x$T> -> tensor<3x?x136x$T>
  %1 = ait.gemm %x, %b row row : tensor<3x?x72x$T>, tensor<72x136x$T> -> tensor<3x?x136x$T>
  %2 = ait.map ins(%0, %1 : tensor<3x?x136x$T>, tensor<3x?x136x$T>) -> tensor<3x?x136x$T> {
  ^bb0(%g: $T, %u: $T):
    %t = math.tanh %g : $T
    %m = arith.mulf %t, %u : $T
    ait.yield %m : $T
  }
  return %2 : tensor<3x?x136x$T>
}
