// types: i8 i16 i32 i64
// run: input0=64x128 input1=64x128
// run: input0=5x7 input1=5x1
func.func @main(%x: tensor<?x?x$T>, %y: tensor<?x?x$T>) -> tensor<?x?x$T> {
  %0 = ait.map ins(%x, %y : tensor<?x?x$T>, tensor<?x?x$T>) -> tensor<?x?x$T> {
  ^bb0(%e: $T, %f: $T):
    %p = arith.muli %e, %f : $T
    %s = arith.subi %p, %e : $T
    %m = arith.maxsi %s, %f : $T
    ait.yield %m : $T
  }
  return %0 : tensor<?x?x$T>
}
