// types: f32 f64
// run: input0=513
func.func @main(%x: tensor<?x$T>) -> (tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>) {
  %exp = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.exp %m : $T
    ait.yield %v : $T
  }
  %tanh = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.tanh %m : $T
    ait.yield %v : $T
  }
  %erf = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.erf %m : $T
    ait.yield %v : $T
  }
  %sin = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.sin %m : $T
    ait.yield %v : $T
  }
  %cos = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.cos %m : $T
    ait.yield %v : $T
  }
  %atan = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.atan %m : $T
    ait.yield %v : $T
  }
  %expm1 = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.expm1 %m : $T
    ait.yield %v : $T
  }
  %cosh = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.cosh %m : $T
    ait.yield %v : $T
  }
  %sinh = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.sinh %m : $T
    ait.yield %v : $T
  }
  %asinh = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.asinh %m : $T
    ait.yield %v : $T
  }
  %floor = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.floor %m : $T
    ait.yield %v : $T
  }
  %ceil = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.ceil %m : $T
    ait.yield %v : $T
  }
  %roundeven = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.roundeven %m : $T
    ait.yield %v : $T
  }
  %absf = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.absf %m : $T
    ait.yield %v : $T
  }
  %tan = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 3.0 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.tan %m : $T
    ait.yield %v : $T
  }
  %log = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 2.5 : $T
    %m = arith.addf %e, %c : $T
    %v = math.log %m : $T
    ait.yield %v : $T
  }
  %log1p = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 2.5 : $T
    %m = arith.addf %e, %c : $T
    %v = math.log1p %m : $T
    ait.yield %v : $T
  }
  %sqrt = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 2.5 : $T
    %m = arith.addf %e, %c : $T
    %v = math.sqrt %m : $T
    ait.yield %v : $T
  }
  %rsqrt = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 2.5 : $T
    %m = arith.addf %e, %c : $T
    %v = math.rsqrt %m : $T
    ait.yield %v : $T
  }
  %log2 = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 2.5 : $T
    %m = arith.addf %e, %c : $T
    %v = math.log2 %m : $T
    ait.yield %v : $T
  }
  %acosh = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 2.5 : $T
    %m = arith.addf %e, %c : $T
    %v = math.acosh %m : $T
    ait.yield %v : $T
  }
  %asin = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 0.9 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.asin %m : $T
    ait.yield %v : $T
  }
  %acos = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 0.9 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.acos %m : $T
    ait.yield %v : $T
  }
  %atanh = ait.map ins(%x : tensor<?x$T>) -> tensor<?x$T> {
  ^bb0(%e: $T):
    %c = arith.constant 0.9 : $T
    %m = arith.mulf %e, %c : $T
    %v = math.atanh %m : $T
    ait.yield %v : $T
  }
  return %exp, %tanh, %erf, %sin, %cos, %atan, %expm1, %cosh, %sinh, %asinh, %floor, %ceil, %roundeven, %absf, %tan, %log, %log1p, %sqrt, %rsqrt, %log2, %acosh, %asin, %acos, %atanh : tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>, tensor<?x$T>
}
