// types: f32 f16
// run: input0=9x3
// Rows of 4, 0, 2 and 3, of which the padded tensor holds three; behind what it holds there are zeros.
func.func @main(%x: tensor<?x3x$T>) -> (tensor<4x3x3x$T>, tensor<?x3x$T>) {
  %o = ait.constant dense<[0, 4, 4, 6, 9]> : tensor<5xi64>
  %0 = ait.jagged_to_padded %x, %o padding -1.0 : tensor<?x3x$T>, tensor<5xi64> -> tensor<4x3x3x$T>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3x$T>
  %1 = ait.padded_to_jagged %0, %o dims(%n) : tensor<4x3x3x$T>, tensor<5xi64> -> tensor<?x3x$T>
  return %0, %1 : tensor<4x3x3x$T>, tensor<?x3x$T>
}
