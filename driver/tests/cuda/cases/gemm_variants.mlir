// types: f32 f16
// targets: sm_80 sm_90a
// run: input0=2x3x70x40 input1=3x40x72 input2=3x70x40
// run: input0=2x3x67x33 input1=3x33x35 input2=3x67x33
// run: input0=1x1x1x8 input1=1x8x8 input2=1x1x8
func.func @main(%x: tensor<?x?x?x?x$T>, %y: tensor<?x?x?x$T>, %z: tensor<?x?x?x$T>) -> (tensor<?x?x?x?x$T>, tensor<?x?x?x$T>) {
  %0 = ait.gemm %x, %y row row : tensor<?x?x?x?x$T>, tensor<?x?x?x$T> -> tensor<?x?x?x?x$T>
  %1 = ait.gemm %y, %z col col alpha 5.0e-01 : tensor<?x?x?x$T>, tensor<?x?x?x$T> -> tensor<?x?x?x$T>
  return %0, %1 : tensor<?x?x?x?x$T>, tensor<?x?x?x$T>
}
