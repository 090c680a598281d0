// types: f32 f16 i32
// run: input0=12x16 input1=3x2
// run: input0=10x7 input1=1x5
func.func @main(%x: tensor<?x?x$T>, %i: tensor<?x?xi64>) -> (tensor<?x?x?x$T>, tensor<?x?x$T>) {
  %0 = ait.gather slices %x[%i] : tensor<?x?x$T>, tensor<?x?xi64> -> tensor<?x?x?x$T>
  %1 = ait.gather elements %x[%i] axis 0 : tensor<?x?x$T>, tensor<?x?xi64> -> tensor<?x?x$T>
  return %0, %1 : tensor<?x?x?x$T>, tensor<?x?x$T>
}
