// targets: sm_90a
// types: f16
// run:
func.func @main(%x: tensor<3x2x72x64x$T>, %y: tensor<3x2x64x136x$T>, %z: tensor<64x48x$T>, %r: tensor<3x2x72x48x$T>) -> (tensor<3x2x72x136xf32>, tensor<3x2x72x48x$T>) {
  %0 = ait.gemm %x, %y row row alpha 0.25 : tensor<3x2x72x64x$T>, tensor<3x2x64x136x$T> -> tensor<3x2x72x136xf32>
  %1 = ait.gemm %x, %z row row extras(%r : tensor<3x2x72x48x$T>) : tensor<3x2x72x64x$T>, tensor<64x48x$T> -> tensor<3x2x72x48x$T> epilogue {
  ^bb0(%acc: f32, %old: $T):
    %e = arith.extf %old : $T to f32
    %s = arith.addf %acc, %e : f32
    %t = arith.truncf %s : f32 to $T
    ait.yield %t : $T
  }
  return %0, %1 : tensor<3x2x72x136xf32>, tensor<3x2x72x48x$T>
}
