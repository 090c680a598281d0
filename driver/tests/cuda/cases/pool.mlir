// types: f32 f16
// run: input0=2x3x8x8
// run: input0=1x2x7x8
func.func @main(%x: tensor<?x?x?x8x$T>) -> (tensor<?x?x?x4x$T>, tensor<?x?x?x8x$T>) {
  %0 = ait.pool max %x kernel [2, 2] strides [2, 2] pads [0, 0, 0, 0] dilations [1, 1] : tensor<?x?x?x8x$T> -> tensor<?x?x?x4x$T>
  %1 = ait.pool average %x kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<?x?x?x8x$T> -> tensor<?x?x?x8x$T>
  return %0, %1 : tensor<?x?x?x4x$T>, tensor<?x?x?x8x$T>
}
