// targets: sm_80 sm_90a
// types: f32
// tolerance: 8e-3
// run: input0=33x17 input1=17x29 input2=33x1
// run: input0=1x64 input1=64x8 input2=1x1
// run: input0=70x40 input1=40x72 input2=70x1
//
// Each operand is rounded by up to 2^-11: a product of elements in -1..1 is off by 1.3e-4 (one standard deviation), a sum of 64 by 1.1e-3. The
// tolerance is seven times that.
func.func @main(%x: tensor<?x?x$T>, %w: tensor<?x?x$T>, %b: tensor<?x1x$T>) -> (tensor<?x?x$T>, tensor<?x?x$T>) {
  %0 = ait.gemm %x, %w row row {tf32} : tensor<?x?x$T>, tensor<?x?x$T> -> tensor<?x?x$T>
  %t = ait.transpose %x [1, 0] : tensor<?x?x$T> to tensor<?x?x$T>
  %1 = ait.gemm %t, %w col row extras(%b : tensor<?x1x$T>) {tf32} : tensor<?x?x$T>, tensor<?x?x$T> -> tensor<?x?x$T> epilogue {
  ^bb0(%acc: f32, %bias: $T):
    %z = arith.addf %acc, %bias : f32
    ait.yield %z : f32
  }
  return %0, %1 : tensor<?x?x$T>, tensor<?x?x$T>
}
