// types: f16
// targets: sm_80 sm_90a
// run: input0=3x70x40 input1=56x40 input2=56
// run: input0=2x1x40 input1=56x40 input2=56
// run: input0=1x67x33 input1=35x33 input2=35
func.func @main(%x: tensor<?x?x?x$T>, %w: tensor<?x?x$T>, %b: tensor<?x$T>) -> tensor<?x?x?x$T> {
  %y = ait.gemm %x, %w row col extras(%b : tensor<?x$T>) : tensor<?x?x?x$T>, tensor<?x?x$T> -> tensor<?x?x?x$T> epilogue {
  ^bb0(%acc: f32, %bias: $T):
    %s = arith.truncf %acc : f32 to $T
    %r = arith.addf %s, %bias : $T
    ait.yield %r : $T
  }
  return %y : tensor<?x?x?x$T>
}
