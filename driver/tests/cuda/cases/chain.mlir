// types: f32
// run: input0=9x16 input1=16
// run: input0=2x16 input1=16
// Values that the host program reads from the device, constants of the module, a branch.
func.func @main(%x: tensor<?x16x$T>, %y: tensor<16x$T>) -> (tensor<?x16x$T>, tensor<?x16x$T>) {
  %c0 = arith.constant 0 : index
  %k = ait.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]> : tensor<16x$T>
  %0 = ait.map ins(%x, %k, %y : tensor<?x16x$T>, tensor<16x$T>, tensor<16x$T>) -> tensor<?x16x$T> {
  ^bb0(%e: $T, %f: $T, %g: $T):
    %s = arith.addf %e, %f : $T
    %t = arith.mulf %s, %g : $T
    ait.yield %t : $T
  }
  %r = ait.reduce max %0 axes [0, 1] : tensor<?x16x$T> -> tensor<$T>
  %v = tensor.extract %r[] : tensor<$T>
  %limit = arith.constant 8.0 : $T
  %large = arith.cmpf ogt, %v, %limit : $T
  %b = scf.if %large -> tensor<?x16x$T> {
    %n = ait.softmax softmax %0 axis 1 : tensor<?x16x$T> -> tensor<?x16x$T>
    scf.yield %n : tensor<?x16x$T>
  } else {
    scf.yield %0 : tensor<?x16x$T>
  }
  return %0, %b : tensor<?x16x$T>, tensor<?x16x$T>
}
