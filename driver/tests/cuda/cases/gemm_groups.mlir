// targets: sm_80 sm_90a
// types: f16 bf16
// run: input0=300x72
// Groups of 40, 0, 130, 1 and 129 rows, and all rows in one: with what each group has and what each row has, and A and B in both orders.
func.func @main(%x: tensor<?x72x$T>, %w: tensor<5x136x72x$T>, %v: tensor<5x72x136x$T>, %b: tensor<5x1x136x$T>, %c: tensor<136x$T>)
    -> (tensor<?x136x$T>, tensor<?x136x$T>, tensor<?x136x$T>) {
  %o = ait.constant dense<[0, 40, 40, 170, 171, 300]> : tensor<6xi32>
  %p = ait.constant dense<[0, 0, 0, 300, 300, 300]> : tensor<6xi64>
  %0 = ait.gemm %x, %w row col offsets(%o : tensor<6xi32>) : tensor<?x72x$T>, tensor<5x136x72x$T> -> tensor<?x136x$T>
  %1 = ait.gemm %x, %v row row alpha 0.25 extras(%b, %0 : tensor<5x1x136x$T>, tensor<?x136x$T>) offsets(%o : tensor<6xi32>)
      : tensor<?x72x$T>, tensor<5x72x136x$T> -> tensor<?x136x$T> epilogue {
  ^bb0(%acc: f32, %e: $T, %r: $T):
    %t = math.tanh %acc : f32
    %y = arith.truncf %t : f32 to $T
    %s = arith.addf %y, %e : $T
    %q = arith.addf %s, %r : $T
    ait.yield %q : $T
  }
  %t = ait.transpose %x [1, 0] : tensor<?x72x$T> to tensor<72x?x$T>
  %2 = ait.gemm %t, %w col col offsets(%p : tensor<6xi64>) : tensor<72x?x$T>, tensor<5x136x72x$T> -> tensor<?x136x$T>
  %3 = ait.map ins(%2, %c : tensor<?x136x$T>, tensor<136x$T>) -> tensor<?x136x$T> {
  ^bb0(%d: $T, %e: $T):
    %z = arith.constant 0.0 : $T
    %s = arith.addf %d, %e : $T
    %m = arith.maximumf %s, %z : $T
    ait.yield %m : $T
  }
  return %0, %1, %3 : tensor<?x136x$T>, tensor<?x136x$T>, tensor<?x136x$T>
}
