// targets: sm_80 sm_90a
// types: f16 f32
// run: input0=130x128
// run: input0=5x128
// silu(x W0^T) * (x W1^T) + residual, as the importer gives it.
func.func @main(%x: tensor<?x128x$T>, %gate: tensor<192x128x$T>, %up: tensor<192x128x$T>, %r: tensor<192x$T>) -> tensor<?x192x$T> {
  %0 = ait.gemm %x, %gate row col : tensor<?x128x$T>, tensor<192x128x$T> -> tensor<?x192x$T>
  %1 = ait.map ins(%0 : tensor<?x192x$T>) -> tensor<?x192x$T> {
  ^bb0(%v: $T):
    %one = arith.constant 1.0 : $T
    %n = arith.negf %v : $T
    %e = math.exp %n : $T
    %d = arith.addf %e, %one : $T
    %s = arith.divf %v, %d : $T
    ait.yield %s : $T
  }
  %2 = ait.gemm %x, %up row col : tensor<?x128x$T>, tensor<192x128x$T> -> tensor<?x192x$T>
  %3 = ait.map ins(%1, %2, %r : tensor<?x192x$T>, tensor<?x192x$T>, tensor<192x$T>) -> tensor<?x192x$T> {
  ^bb0(%g: $T, %u: $T, %b: $T):
    %m = arith.mulf %g, %u : $T
    %s = arith.addf %m, %b : $T
    ait.yield %s : $T
  }
  return %3 : tensor<?x192x$T>
}
