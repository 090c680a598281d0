// types: f32 f16
// run: input0=2x6x9x11 input1=10x6x3x3 input2=6x1x3x3 input3=4x6x1x1
// run: input0=1x6x5x4 input1=3x6x3x3 input2=6x1x3x3 input3=16x6x1x1
func.func @main(%x: tensor<?x6x?x?x$T>, %w: tensor<?x6x3x3x$T>, %d: tensor<6x1x3x3x$T>, %p: tensor<?x6x1x1x$T>) -> (tensor<?x?x?x?x$T>, tensor<?x6x?x?x$T>, tensor<?x?x?x?x$T>) {
  %0 = ait.conv %x, %w strides [2, 1] pads [1, 1, 0, 1] dilations [1, 1] groups 1 : tensor<?x6x?x?x$T>, tensor<?x6x3x3x$T> -> tensor<?x?x?x?x$T>
  %1 = ait.conv %x, %d strides [1, 1] pads [2, 2, 2, 2] dilations [2, 2] groups 6 : tensor<?x6x?x?x$T>, tensor<6x1x3x3x$T> -> tensor<?x6x?x?x$T>
  %2 = ait.conv %x, %p strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 : tensor<?x6x?x?x$T>, tensor<?x6x1x1x$T> -> tensor<?x?x?x?x$T>
  return %0, %1, %2 : tensor<?x?x?x?x$T>, tensor<?x6x?x?x$T>, tensor<?x?x?x?x$T>
}
