// types: i8
// run: input0=33x17 input1=17x29
// run: input0=4x64 input1=64x64
func.func @main(%x: tensor<?x?x$T>, %w: tensor<?x?x$T>) -> tensor<?x?xi32> {
  %0 = ait.gemm %x, %w row row : tensor<?x?x$T>, tensor<?x?x$T> -> tensor<?x?xi32>
  return %0 : tensor<?x?xi32>
}
