// types: f32 f16 i8 f64
// run: input0=2x64x96
// run: input0=3x33x7
// run: input0=1x1x1
func.func @main(%x: tensor<?x?x?x$T>) -> (tensor<?x?x?x$T>, tensor<?x?x?x$T>) {
  %0 = ait.transpose %x [0, 2, 1] : tensor<?x?x?x$T> to tensor<?x?x?x$T>
  %1 = ait.transpose %x [2, 0, 1] : tensor<?x?x?x$T> to tensor<?x?x?x$T>
  return %0, %1 : tensor<?x?x?x$T>, tensor<?x?x?x$T>
}
