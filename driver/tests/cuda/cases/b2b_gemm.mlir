// targets: sm_80 sm_90a
// types: f16
// run: input0=2x3x40x64 input1=2x3x72x64 input2=2x3x72x32 input3=2x3x40x72 input4=72 input5=1x1x40x1
// run: input0=1x2x33x64 input1=1x2x37x64 input2=1x2x37x32 input3=1x2x33x37 input4=37 input5=1x1x33x1
// A bias of all scores, of one row, of one column; divided by a length that is known at run time.
func.func @main(%q: tensor<?x?x?x64x$T>, %k: tensor<?x?x?x64x$T>, %v: tensor<?x?x?x32x$T>, %b: tensor<?x?x?x?x$T>, %r: tensor<?x$T>, %c: tensor<1x1x?x1x$T>)
    -> (tensor<?x?x?x32x$T>, tensor<?x?x?x32x$T>, tensor<?x?x?x32x$T>) {
  %0 = ait.b2b_gemm %q, %k, %v alpha 0.125, 1.0 bias(%b : tensor<?x?x?x?x$T>) : tensor<?x?x?x64x$T>, tensor<?x?x?x64x$T>, tensor<?x?x?x32x$T> -> tensor<?x?x?x32x$T> {
  ^bb0(%s: f32):
    %t = math.tanh %s : f32
    ait.yield %t : f32
  }
  %1 = ait.b2b_gemm %q, %k, %v alpha 0.125, 0.5 causal lower bias(%r : tensor<?x$T>) {divide_by_length} : tensor<?x?x?x64x$T>, tensor<?x?x?x64x$T>, tensor<?x?x?x32x$T> -> tensor<?x?x?x32x$T> {
  ^bb0(%s: f32):
    %z = arith.constant 0.0 : f32
    %t = arith.maximumf %s, %z : f32
    ait.yield %t : f32
  }
  %2 = ait.b2b_gemm %q, %k, %v alpha 0.125, 0.125 causal lower_right bias(%c : tensor<1x1x?x1x$T>) : tensor<?x?x?x64x$T>, tensor<?x?x?x64x$T>, tensor<?x?x?x32x$T> -> tensor<?x?x?x32x$T> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return %0, %1, %2 : tensor<?x?x?x32x$T>, tensor<?x?x?x32x$T>, tensor<?x?x?x32x$T>
}
