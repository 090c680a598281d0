// types: f32 f64
// run: input0=513 input1=513
func.func @main(%x: tensor<?x$T>, %y: tensor<?x$T>) -> (tensor<?x$T>, tensor<?x$T>) {
  %0 = ait.map ins(%x, %y : tensor<?x$T>, tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T, %f: $T):
    %a = math.absf %e : $T
    %c = arith.constant 4.0 : $T
    %g = arith.mulf %f, %c : $T
    %v = math.powf %a, %g : $T
    ait.yield %v : $T
  }
  %1 = ait.map ins(%x, %y : tensor<?x$T>, tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T, %f: $T):
    %v = math.atan2 %e, %f : $T
    ait.yield %v : $T
  }
  return %0, %1 : tensor<?x$T>, tensor<?x$T>
}
