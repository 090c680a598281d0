// types: f32 f16
// run:
func.func @main(%x: tensor<2x3x24x40x$T>, %y: tensor<3x1x1x$T>, %z: tensor<40x$T>) -> tensor<2x3x24x40x$T> {
  %0 = ait.map ins(%x, %y, %z : tensor<2x3x24x40x$T>, tensor<3x1x1x$T>, tensor<40x$T>) -> tensor<2x3x24x40x$T> {
  ^bb0(%e: $T, %f: $T, %g: $T):
    %s = arith.addf %e, %f : $T
    %m = arith.maximumf %s, %g : $T
    ait.yield %m : $T
  }
  return %0 : tensor<2x3x24x40x$T>
}
