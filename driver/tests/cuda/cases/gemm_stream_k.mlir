// targets: sm_90a
// types: f16 bf16
// table: 4096x64x520 : co2_128x64_s3_sk_c1_g8
// run: input0=300x520 input1=64x520 input2=64
// run: input0=65x520 input1=64x520 input2=64
func.func @main(%x: tensor<?x520x$T>, %w: tensor<64x520x$T>, %b: tensor<64x$T>) -> tensor<?x64x$T> {
  %0 = ait.gemm %x, %w row col extras(%b : tensor<64x$T>) : tensor<?x520x$T>, tensor<64x520x$T> -> tensor<?x64x$T> epilogue {
  ^bb0(%acc: f32, %bias: $T):
    %e = arith.extf %bias : $T to f32
    %s = arith.addf %acc, %e : f32
    %r = arith.truncf %s : f32 to $T
    ait.yield %r : $T
  }
  return %0 : tensor<?x64x$T>
}
