// targets: sm_80 sm_90a
// types: f16
// run: input0=33x17 input1=17x29 input2=33x1
// run: input0=1x64 input1=64x8 input2=1x1
// run: input0=70x40 input1=40x72 input2=70x1
func.func @main(%x: tensor<?x?x$T>, %w: tensor<?x?x$T>, %b: tensor<?x1x$T>) -> (tensor<?x?x$T>, tensor<?x?x$T>) {
  %0 = ait.gemm %x, %w row row : tensor<?x?x$T>, tensor<?x?x$T> -> tensor<?x?x$T>
  %t = ait.transpose %x [1, 0] : tensor<?x?x$T> to tensor<?x?x$T>
  %1 = ait.gemm %t, %w col row alpha 0.5 extras(%b : tensor<?x1x$T>) : tensor<?x?x$T>, tensor<?x?x$T> -> tensor<?x?x$T> epilogue {
  ^bb0(%acc: f32, %bias: $T):
    %z = arith.constant 0.0 : f32
    %m = arith.maximumf %acc, %z : f32
    %n = arith.addf %m, %m : f32
    %r = arith.truncf %n : f32 to $T
    ait.yield %r : $T
  }
  return %0, %1 : tensor<?x?x$T>, tensor<?x?x$T>
}
