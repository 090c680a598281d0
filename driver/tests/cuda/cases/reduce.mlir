// types: f32 f16
// run: input0=5x6x64
// run: input0=3x4x33
// run: input0=1x1x1
// run: input0=2x3x2100
func.func @main(%x: tensor<?x?x?x$T>) -> (tensor<?x?x$T>, tensor<?x?x$T>, tensor<?x1x1x$T>, tensor<?x?x$T>, tensor<?x?xi64>, tensor<$T>) {
  %0 = ait.reduce sum %x axes [2] : tensor<?x?x?x$T> -> tensor<?x?x$T>
  %1 = ait.reduce max %x axes [1] : tensor<?x?x?x$T> -> tensor<?x?x$T>
  %2 = ait.reduce mean %x axes [1, 2] keepdims : tensor<?x?x?x$T> -> tensor<?x1x1x$T>
  %3 = ait.reduce log_sum_exp %x axes [2] : tensor<?x?x?x$T> -> tensor<?x?x$T>
  %4 = ait.argreduce max %x axis 2 : tensor<?x?x?x$T> -> tensor<?x?xi64>
  %5 = ait.reduce min %x axes [0, 1, 2] : tensor<?x?x?x$T> -> tensor<$T>
  return %0, %1, %2, %3, %4, %5 : tensor<?x?x$T>, tensor<?x?x$T>, tensor<?x1x1x$T>, tensor<?x?x$T>, tensor<?x?xi64>, tensor<$T>
}
