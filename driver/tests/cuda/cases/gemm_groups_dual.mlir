// targets: sm_80 sm_90a
// types: f16
// run: input0=150x64
// The feed-forward layer of a mixture of experts: silu(x W0^T + b) * (x W1^T), then W2, each row by its expert.
func.func @main(%x: tensor<?x64x$T>, %gate: tensor<4x96x64x$T>, %up: tensor<4x96x64x$T>, %down: tensor<4x64x96x$T>, %b: tensor<4x1x96x$T>) -> tensor<?x64x$T> {
  %o = ait.constant dense<[0, 70, 70, 71, 150]> : tensor<5xi32>
  %0 = ait.gemm %x, %gate row col extras(%b : tensor<4x1x96x$T>) offsets(%o : tensor<5xi32>)
      : tensor<?x64x$T>, tensor<4x96x64x$T> -> tensor<?x96x$T> epilogue {
  ^bb0(%acc: f32, %bias: $T):
    %one = arith.constant 1.0 : f32
    %e = arith.extf %bias : $T to f32
    %v = arith.addf %acc, %e : f32
    %n = arith.negf %v : f32
    %m = math.exp %n : f32
    %d = arith.addf %m, %one : f32
    %s = arith.divf %v, %d : f32
    %r = arith.truncf %s : f32 to $T
    ait.yield %r : $T
  }
  %1 = ait.gemm %x, %up row col offsets(%o : tensor<5xi32>) : tensor<?x64x$T>, tensor<4x96x64x$T> -> tensor<?x96x$T>
  %2 = ait.map ins(%0, %1 : tensor<?x96x$T>, tensor<?x96x$T>) -> tensor<?x96x$T> {
  ^bb0(%g: $T, %u: $T):
    %m = arith.mulf %g, %u : $T
    ait.yield %m : $T
  }
  %3 = ait.gemm %2, %down row col offsets(%o : tensor<5xi32>) : tensor<?x96x$T>, tensor<4x64x96x$T> -> tensor<?x64x$T>
  return %3 : tensor<?x64x$T>
}
