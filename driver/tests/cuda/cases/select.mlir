// types: f32 f16 i16
// run: input0=6x1 input1=6x32 input2=32
// run: input0=3x5 input1=3x5 input2=5
func.func @main(%c: tensor<?x?xi1>, %x: tensor<?x?x$T>, %y: tensor<?x$T>) -> (tensor<?x?x$T>, tensor<?x?xf32>, tensor<?x?xi8>) {
  %0 = ait.where %c, %x, %y : tensor<?x?xi1>, tensor<?x?x$T>, tensor<?x$T> -> tensor<?x?x$T>
  %1 = ait.cast %0 : tensor<?x?x$T> to tensor<?x?xf32>
  %2 = ait.cast %c : tensor<?x?xi1> to tensor<?x?xi8>
  return %0, %1, %2 : tensor<?x?x$T>, tensor<?x?xf32>, tensor<?x?xi8>
}
