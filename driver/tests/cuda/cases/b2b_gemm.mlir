// types: f16
// targets: sm_90a
// run: input0=2x2x70x64 input1=2x2x136x64 input2=2x2x136x64 input3=1x2x70x136
func.func @main(%q: tensor<?x?x?x64x$T>, %k: tensor<?x?x?x64x$T>, %v: tensor<?x?x?x64x$T>, %b: tensor<1x?x?x?x$T>) -> tensor<?x?x?x64x$T> {
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.25e-01, 5.0e-01 causal lower_right bias(%b : tensor<1x?x?x?x$T>) {divide_by_length} : tensor<?x?x?x64x$T>, tensor<?x?x?x64x$T>, tensor<?x?x?x64x$T> -> tensor<?x?x?x64x$T> {
  ^bb0(%acc: f32):
    %z = arith.constant 0.0 : f32
    %r = arith.maximumf %acc, %z : f32
    ait.yield %r : f32
  }
  return %0 : tensor<?x?x?x64x$T>
}
