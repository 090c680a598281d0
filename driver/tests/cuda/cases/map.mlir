// types: f32 f16 f64
// run: input0=64x128 input1=128
// run: input0=7x33 input1=33
// run: input0=1x1 input1=1
// run: input0=130x1027 input1=1027
func.func @main(%x: tensor<?x?x$T>, %y: tensor<?x$T>) -> (tensor<?x?x$T>, tensor<?x?xi1>) {
  %0 = ait.map ins(%x, %y : tensor<?x?x$T>, tensor<?x$T>) -> tensor<?x?x$T> {
  ^bb0(%e: $T, %f: $T):
    %s = arith.addf %e, %f : $T
    %t = arith.mulf %s, %f : $T
    ait.yield %t : $T
  }
  %1 = ait.map ins(%x, %0 : tensor<?x?x$T>, tensor<?x?x$T>) -> tensor<?x?xi1> {
  ^bb0(%e: $T, %f: $T):
    %c = arith.cmpf olt, %e, %f : $T
    ait.yield %c : i1
  }
  return %0, %1 : tensor<?x?x$T>, tensor<?x?xi1>
}
