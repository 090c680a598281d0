// types: f32 f16 i8 i64
// run: input0=16x32 input1=16x8
// run: input0=5x7 input1=5x3
// run: input0=4x4 input1=4x1
func.func @main(%x: tensor<?x?x$T>, %y: tensor<?x?x$T>) -> (tensor<?x?x$T>, tensor<?x?x$T>, tensor<?x?x$T>, tensor<3x3x$T>, tensor<2x?x$T>) {
  %c1 = arith.constant 1 : index
  %columns = tensor.dim %x, %c1 : tensor<?x?x$T>
  %0 = ait.transpose %x [1, 0] : tensor<?x?x$T> to tensor<?x?x$T>
  %1 = ait.concat %x, %y axis 1 : tensor<?x?x$T>, tensor<?x?x$T> -> tensor<?x?x$T>
  %v = ait.constant dense<1> : tensor<i64>
  %w = ait.cast %v : tensor<i64> to tensor<$T>
  %2 = ait.pad constant %x low [1, 2] high [2, 3] value(%w : tensor<$T>) : tensor<?x?x$T> -> tensor<?x?x$T>
  %3 = ait.slice %x[1, 3][3, 3][1, -1] : tensor<?x?x$T> to tensor<3x3x$T>
  %4 = ait.slice %x[1, 0][2, %columns][2, 1] : tensor<?x?x$T> to tensor<2x?x$T>
  return %0, %1, %2, %3, %4 : tensor<?x?x$T>, tensor<?x?x$T>, tensor<?x?x$T>, tensor<3x3x$T>, tensor<2x?x$T>
}
