// targets: sm_90a
// types: f16 bf16
// run: input0=2563 input1=1x2x37x64 input2=1x2x37x40 input3=1x1x20x37
// run: input0=2563 input1=1x2x32x64 input2=1x2x32x40 input3=1x1x1x32
// Q begins at an address that is a multiple of 2 bytes only, which neither TMA nor wide copies take.
func.func @main(%x: tensor<2563x$T>, %k: tensor<1x2x?x64x$T>, %v: tensor<1x2x?x40x$T>, %b: tensor<1x1x?x?x$T>) -> (tensor<1x2x20x40x$T>, tensor<1x2x20x40x$T>) {
  %s = ait.slice %x[3][2560][1] : tensor<2563x$T> to tensor<2560x$T>
  %q = ait.reshape %s : tensor<2560x$T> to tensor<1x2x20x64x$T>
  %0 = ait.b2b_gemm %q, %k, %v alpha 0.125, 1.0 causal lower_right bias(%b : tensor<1x1x?x?x$T>) : tensor<1x2x20x64x$T>, tensor<1x2x?x64x$T>, tensor<1x2x?x40x$T> -> tensor<1x2x20x40x$T> {
  ^bb0(%e: f32):
    %t = math.tanh %e : f32
    ait.yield %t : f32
  }
  %1 = ait.b2b_gemm %q, %k, %v alpha 0.125, 0.5 causal upper {divide_by_length} : tensor<1x2x20x64x$T>, tensor<1x2x?x64x$T>, tensor<1x2x?x40x$T> -> tensor<1x2x20x40x$T> {
  ^bb0(%e: f32):
    ait.yield %e : f32
  }
  return %0, %1 : tensor<1x2x20x40x$T>, tensor<1x2x20x40x$T>
}
