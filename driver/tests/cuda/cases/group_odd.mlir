// types: f16
// targets: sm_80 sm_90a
// run: input0=5x33 input1=7x33 input2=70x31 input3=9x31
// run: input0=130x40 input1=72x40 input2=64x8 input3=8x8
// run: input0=3x0 input1=5x0 input2=64x8 input3=8x8
// run: input0=1x8 input1=1x8 input2=1x8 input3=0x8
func.func @main(%x: tensor<?x?x$T>, %w: tensor<?x?x$T>, %y: tensor<?x?x$T>, %v: tensor<?x?x$T>) -> (tensor<?x?x$T>, tensor<?x?x$T>) {
  %0:2 = ait.group(%x, %w, %y, %v : tensor<?x?x$T>, tensor<?x?x$T>, tensor<?x?x$T>, tensor<?x?x$T>) -> tensor<?x?x$T>, tensor<?x?x$T> members {
  ^bb0(%a: tensor<?x?x$T>, %b: tensor<?x?x$T>, %c: tensor<?x?x$T>, %d: tensor<?x?x$T>):
    %p = ait.gemm %a, %b row col alpha 0.5 : tensor<?x?x$T>, tensor<?x?x$T> -> tensor<?x?x$T>
    %q = ait.gemm %c, %d row col alpha 0.5 : tensor<?x?x$T>, tensor<?x?x$T> -> tensor<?x?x$T>
    ait.yield %p, %q : tensor<?x?x$T>, tensor<?x?x$T>
  }
  return %0#0, %0#1 : tensor<?x?x$T>, tensor<?x?x$T>
}
