// targets: sm_80 sm_90a
// types: f16 bf16
// run: input0=345x2x64 input1=345x2x64 input2=345x2x32 input3=4x1x160x160 input4=160
// Sequences of 40, 0, 160 and 145 rows: with tiles that end inside, one that is empty, and one of the full length.
func.func @main(%q: tensor<?x2x64x$T>, %k: tensor<?x2x64x$T>, %v: tensor<?x2x32x$T>, %b: tensor<4x1x160x160x$T>, %r: tensor<160x$T>)
    -> (tensor<?x2x32x$T>, tensor<?x2x32x$T>, tensor<?x2x32x$T>) {
  %o = ait.constant dense<[0, 40, 40, 200, 345]> : tensor<5xi32>
  %0 = ait.b2b_gemm %q, %k, %v alpha 0.125, 0.25 bias(%b : tensor<4x1x160x160x$T>) offsets(%o : tensor<5xi32>) max_length 160
      : tensor<?x2x64x$T>, tensor<?x2x64x$T>, tensor<?x2x32x$T> -> tensor<?x2x32x$T> {
  ^bb0(%s: f32):
    %t = math.tanh %s : f32
    ait.yield %t : f32
  }
  %1 = ait.b2b_gemm %q, %k, %v alpha 0.125, 0.5 causal lower bias(%r : tensor<160x$T>) offsets(%o : tensor<5xi32>) max_length 160 {divide_by_length}
      : tensor<?x2x64x$T>, tensor<?x2x64x$T>, tensor<?x2x32x$T> -> tensor<?x2x32x$T> {
  ^bb0(%s: f32):
    %z = arith.constant 0.0 : f32
    %t = arith.maximumf %s, %z : f32
    ait.yield %t : f32
  }
  %2 = ait.b2b_gemm %q, %k, %v alpha 0.125, 0.125 causal upper offsets(%o : tensor<5xi32>) max_length 160
      : tensor<?x2x64x$T>, tensor<?x2x64x$T>, tensor<?x2x32x$T> -> tensor<?x2x32x$T> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return %0, %1, %2 : tensor<?x2x32x$T>, tensor<?x2x32x$T>, tensor<?x2x32x$T>
}
