// types: i8
// run: input0=70x64 input1=3x64x48
// run: input0=70x17 input1=3x17x5
func.func @main(%x: tensor<?x?x$T>, %w: tensor<3x?x?x$T>) -> tensor<?x?xi32> {
  %o = ait.constant dense<[0, 0, 65, 70]> : tensor<4xi32>
  %0 = ait.gemm %x, %w row row offsets(%o : tensor<4xi32>) : tensor<?x?x$T>, tensor<3x?x?x$T> -> tensor<?x?xi32>
  return %0 : tensor<?x?xi32>
}
