// RUN: aitmlir-opt %s --ait-lower-host=chip=sm_80 --canonicalize --cse | FileCheck %s

// The caller gives a tensor's open strides behind its sizes; results are numbered after the inputs.
// CHECK-LABEL: func.func @aitmlir_program_main(
// CHECK-SAME: %[[RUN:.*]]: !llvm.ptr)
// CHECK: call @aitmlir_rt_input_dim(%[[RUN]], %c0_i64, %c0_i64)
// CHECK: call @aitmlir_rt_input(%[[RUN]], %c0_i64)
// CHECK: call @aitmlir_rt_input_dim(%[[RUN]], %c0_i64, %c2_i64)
// CHECK: call @aitmlir_rt_output(%[[RUN]], %c0_i64,
// CHECK: call @aitmlir_rt_input_dim(%[[RUN]], %c1_i64, %c2_i64)
// CHECK: call @aitmlir_rt_launch(%[[RUN]],
// CHECK: \22dims\22:[\22size 0 of operand 0\22,\22stride 0 of operand 0\22,\22size 0 of operand 1\22,\22stride 0 of operand 1\22,\22extent 0\22]
func.func private @k0_map(%x: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {ait.kernel} {
  %0 = ait.map ins(%x : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%e: f32):
    %r = arith.addf %e, %e : f32
    ait.yield %r : f32
  }
  return %0 : tensor<?x4xf32>
}

func.func @main(%x: memref<?x4xf32> {ait.strides = strided<[?, 1]>}) attributes {ait.results = [{ait.strides = strided<[?, 1]>}]} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %out = ait.buffer.output 0 dims(%n) : memref<?x4xf32>
  ait.launch @k0_map(%x : memref<?x4xf32>) outs(%out : memref<?x4xf32>)
  return
}
