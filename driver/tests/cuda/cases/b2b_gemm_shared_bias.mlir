// targets: sm_90a
// types: f16
// run: input0=2x3x40x64 input1=2x3x72x64 input2=2x3x72x64 input3=1x1x40x72
// A bias that TMA loads, and that all batches and heads have in common.
func.func @main(%q: tensor<2x3x40x64x$T>, %k: tensor<2x3x72x64x$T>, %v: tensor<2x3x72x64x$T>, %b: tensor<1x1x40x72x$T>) -> tensor<2x3x40x64x$T> {
  %0 = ait.b2b_gemm %q, %k, %v alpha 0.125, 0.25 bias(%b : tensor<1x1x40x72x$T>) : tensor<2x3x40x64x$T>, tensor<2x3x72x64x$T>, tensor<2x3x72x64x$T> -> tensor<2x3x40x64x$T> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return %0 : tensor<2x3x40x64x$T>
}
