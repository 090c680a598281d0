// targets: sm_80 sm_90a
// types: f32 f16
// run: input0=2x1x9x20
// Heads that no one kernel takes: products of their own.
func.func @main(%q: tensor<2x1x?x20x$T>, %k: tensor<2x1x11x20x$T>, %v: tensor<2x1x11x200x$T>) -> tensor<2x1x?x200x$T> {
  %0 = ait.b2b_gemm %q, %k, %v alpha 0.25, 1.0 causal upper {divide_by_length} : tensor<2x1x?x20x$T>, tensor<2x1x11x20x$T>, tensor<2x1x11x200x$T> -> tensor<2x1x?x200x$T> {
  ^bb0(%s: f32):
    %t = math.tanh %s : f32
    ait.yield %t : f32
  }
  return %0 : tensor<2x1x?x200x$T>
}
