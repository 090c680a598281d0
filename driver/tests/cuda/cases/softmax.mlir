// types: f32 f16 bf16
// run: input0=6x128
// run: input0=5x33
// run: input0=1x1
// run: input0=3x4100
func.func @main(%x: tensor<?x?x$T>) -> (tensor<?x?x$T>, tensor<?x?x$T>, tensor<?x?x$T>) {
  %0 = ait.softmax softmax %x axis 1 : tensor<?x?x$T> -> tensor<?x?x$T>
  %1 = ait.softmax log_softmax %x axis 1 : tensor<?x?x$T> -> tensor<?x?x$T>
  %2 = ait.softmax softmax %x axis 0 : tensor<?x?x$T> -> tensor<?x?x$T>
  return %0, %1, %2 : tensor<?x?x$T>, tensor<?x?x$T>, tensor<?x?x$T>
}
