// types: f16 bf16
// targets: sm_80 sm_90a
// run: input0=130x72 input1=1x72
// run: input0=0x72 input1=300x72
// run: input0=0x72 input1=0x72
func.func @main(%x: tensor<?x72x$T>, %y: tensor<?x72x$T>, %w: tensor<192x72x$T>, %v: tensor<136x72x$T>, %b: tensor<192x$T>, %c: tensor<136x$T>)
    -> (tensor<?x192x$T>, tensor<?x136x$T>, tensor<?x136x$T>) {
  %0:3 = ait.group(%x, %y, %w, %v, %b, %c : tensor<?x72x$T>, tensor<?x72x$T>, tensor<192x72x$T>, tensor<136x72x$T>, tensor<192x$T>, tensor<136x$T>)
      -> tensor<?x192x$T>, tensor<?x136x$T>, tensor<?x136x$T> members {
  ^bb0(%i: tensor<?x72x$T>, %j: tensor<?x72x$T>, %k: tensor<192x72x$T>, %l: tensor<136x72x$T>, %m: tensor<192x$T>, %n: tensor<136x$T>):
    %p = ait.gemm %i, %k row col extras(%m : tensor<192x$T>) : tensor<?x72x$T>, tensor<192x72x$T> -> tensor<?x192x$T> epilogue {
    ^bb0(%acc: f32, %bias: $T):
      %e = arith.extf %bias : $T to f32
      %s = arith.addf %acc, %e : f32
      %t = math.tanh %s : f32
      %r = arith.truncf %t : f32 to $T
      ait.yield %r : $T
    }
    %q = ait.gemm %j, %l row col extras(%n : tensor<136x$T>) : tensor<?x72x$T>, tensor<136x72x$T> -> tensor<?x136x$T> epilogue {
    ^bb0(%acc: f32, %bias: $T):
      %e = arith.extf %bias : $T to f32
      %s = arith.addf %acc, %e : f32
      %t = math.tanh %s : f32
      %r = arith.truncf %t : f32 to $T
      ait.yield %r : $T
    }
    %o = ait.gemm %i, %l row col extras(%n : tensor<136x$T>) : tensor<?x72x$T>, tensor<136x72x$T> -> tensor<?x136x$T> epilogue {
    ^bb0(%acc: f32, %bias: $T):
      %e = arith.extf %bias : $T to f32
      %s = arith.addf %acc, %e : f32
      %t = math.tanh %s : f32
      %r = arith.truncf %t : f32 to $T
      ait.yield %r : $T
    }
    ait.yield %p, %q, %o : tensor<?x192x$T>, tensor<?x136x$T>, tensor<?x136x$T>
  }
  return %0#0, %0#1, %0#2 : tensor<?x192x$T>, tensor<?x136x$T>, tensor<?x136x$T>
}
