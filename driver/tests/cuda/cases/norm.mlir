// types: f32 f16 bf16
// run: input0=4x256 input1=256 input2=256 input3=2x4x5x5 input4=4 input5=4
// run: input0=3x77 input1=77 input2=77 input3=1x4x3x3 input4=4 input5=4
// run: input0=2x4100 input1=4100 input2=4100 input3=1x4x1x1 input4=4 input5=4
func.func @main(%x: tensor<?x?x$T>, %s: tensor<?x$T>, %b: tensor<?x$T>, %i: tensor<?x4x?x?x$T>, %c: tensor<4x$T>, %d: tensor<4x$T>) -> (tensor<?x?x$T>, tensor<?x?x$T>, tensor<?x4x?x?x$T>) {
  %0 = ait.norm layer %x params(%s, %b : tensor<?x$T>, tensor<?x$T>) epsilon 1.0e-03 axis 1 : tensor<?x?x$T> -> tensor<?x?x$T>
  %1 = ait.norm rms %x params(%s : tensor<?x$T>) epsilon 1.0e-03 axis 1 : tensor<?x?x$T> -> tensor<?x?x$T>
  %2 = ait.norm group %i params(%c, %d : tensor<4x$T>, tensor<4x$T>) epsilon 1.0e-03 groups 2 : tensor<?x4x?x?x$T> -> tensor<?x4x?x?x$T>
  return %0, %1, %2 : tensor<?x?x$T>, tensor<?x?x$T>, tensor<?x4x?x?x$T>
}
