// targets: sm_80 sm_90a
// types: f16 f32
// run: input0=70x64
// run: input0=3x64
// A product and its activation, both results.
func.func @main(%x: tensor<?x64x$T>, %w: tensor<200x64x$T>, %b: tensor<200x$T>) -> (tensor<?x200x$T>, tensor<?x200x$T>) {
  %p = ait.gemm %x, %w row col : tensor<?x64x$T>, tensor<200x64x$T> -> tensor<?x200x$T>
  %0 = ait.map ins(%p, %b : tensor<?x200x$T>, tensor<200x$T>) -> tensor<?x200x$T> {
  ^bb0(%v: $T, %c: $T):
    %s = arith.addf %v, %c : $T
    ait.yield %s : $T
  }
  %1 = ait.map ins(%0 : tensor<?x200x$T>) -> tensor<?x200x$T> {
  ^bb0(%v: $T):
    %z = arith.constant 0.0 : $T
    %m = arith.maximumf %v, %z : $T
    ait.yield %m : $T
  }
  return %0, %1 : tensor<?x200x$T>, tensor<?x200x$T>
}
