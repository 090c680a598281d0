// targets: sm_80 sm_90a
// types: f16 f32
// run: input0=150x33 input1=4x35x33 input2=4x1x1
// run: input0=150x1 input1=4x1x1 input2=1x1x1
// Nothing is known of the sizes, and none is even.
func.func @main(%x: tensor<?x?x$T>, %w: tensor<?x?x?x$T>, %b: tensor<?x1x1x$T>) -> (tensor<?x?x$T>, tensor<?x?x$T>) {
  %o = ait.constant dense<[0, 7, 100, 100, 150]> : tensor<5xi64>
  %0 = ait.gemm %x, %w row col extras(%b : tensor<?x1x1x$T>) offsets(%o : tensor<5xi64>) : tensor<?x?x$T>, tensor<?x?x?x$T> -> tensor<?x?x$T> epilogue {
  ^bb0(%acc: f32, %e: $T):
    %z = arith.constant 0.0 : $T
    %m = arith.maximumf %e, %z : $T
    ait.yield %m : $T
  }
  %t = ait.transpose %x [1, 0] : tensor<?x?x$T> to tensor<?x?x$T>
  %1 = ait.gemm %t, %w col col offsets(%o : tensor<5xi64>) : tensor<?x?x$T>, tensor<?x?x?x$T> -> tensor<?x?x$T>
  return %0, %1 : tensor<?x?x$T>, tensor<?x?x$T>
}
