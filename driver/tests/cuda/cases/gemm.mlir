// targets: sm_90a
// types: f16 bf16
// run: input0=130x128 input1=192x128 input2=192
// run: input0=1x64 input1=192x64 input2=192
func.func @main(%x: tensor<?x?x$T>, %w: tensor<192x?x$T>, %b: tensor<192x$T>) -> tensor<?x192x$T> {
  %0 = ait.gemm %x, %w row col extras(%b : tensor<192x$T>) : tensor<?x?x$T>, tensor<192x?x$T> -> tensor<?x192x$T> epilogue {
  ^bb0(%acc: f32, %bias: $T):
    %e = arith.extf %bias : $T to f32
    %s = arith.addf %acc, %e : f32
    %t = math.tanh %s : f32
    %r = arith.truncf %t : f32 to $T
    ait.yield %r : $T
  }
  return %0 : tensor<?x192x$T>
}
