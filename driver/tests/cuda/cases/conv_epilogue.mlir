// types: f32
// run: input0=2x4x7 input1=6x2x3 input2=6x1 input3=2x6x7
func.func @main(%x: tensor<?x4x7x$T>, %w: tensor<6x2x3x$T>, %b: tensor<6x1x$T>, %r: tensor<?x6x7x$T>) -> tensor<?x6x7x$T> {
  %0 = ait.conv %x, %w strides [1] pads [1, 1] dilations [1] groups 2 extras(%b, %r : tensor<6x1x$T>, tensor<?x6x7x$T>) : tensor<?x4x7x$T>, tensor<6x2x3x$T> -> tensor<?x6x7x$T> epilogue {
  ^bb0(%acc: f32, %bias: $T, %old: $T):
    %s = arith.addf %acc, %bias : f32
    %z = arith.constant 0.0 : f32
    %m = arith.maximumf %s, %z : f32
    %t = arith.addf %m, %old : f32
    ait.yield %t : f32
  }
  return %0 : tensor<?x6x7x$T>
}
