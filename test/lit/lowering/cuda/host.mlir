// RUN: aitmlir-opt %s --ait-lower-host=chip=sm_80 --canonicalize --cse | FileCheck %s

// The program passes addresses and integers; a scalar that it reads is copied from the device, a constant of the module to it.
// CHECK-LABEL: func.func @aitmlir_program_main(
// CHECK-SAME: %[[RUN:.*]]: !llvm.ptr)
// CHECK: call @aitmlir_rt_global(%[[RUN]],
// CHECK: call @aitmlir_rt_read(%[[RUN]],
// CHECK: call @aitmlir_rt_output(%[[RUN]],
// CHECK: call @aitmlir_rt_launch(%[[RUN]], %c0_i64, %{{.*}}, %c2_i64, %{{.*}}, %c4_i64)
// CHECK: call @aitmlir_rt_launch(%[[RUN]], %c0_i64,
// CHECK-NOT: aitmlir_rt_launch
// CHECK: return

// Equal launches share a kernel; what is open in its buffers' types is a parameter, and so is the extent of its work.
// CHECK: module @device attributes {ait.chip = "sm_80", ait.kernels = ["{\22op\22:\22ait.map\22,\22launch\22:{\22name\22:\22kernel_0_0_map\22,\22dims\22:[\22size 0 of operand 0\22,\22scalar\22,\22size 0 of operand 1\22,\22extent 0\22]
// CHECK: llvm.func @kernel_0_0_map(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>}
// CHECK-NOT: llvm.func
func.func private @k0_map(%x: tensor<?x4xf32>, %s: f32) -> tensor<?x4xf32> attributes {ait.kernel} {
  %0 = ait.map ins(%x : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%e: f32):
    %r = arith.mulf %e, %s : f32
    ait.yield %r : f32
  }
  return %0 : tensor<?x4xf32>
}

memref.global "private" constant @table : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>

func.func @main(%x: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %t = memref.get_global @table : memref<4xf32>
  %s = memref.load %t[%c0] : memref<4xf32>
  %out = ait.buffer.output 0 dims(%n) : memref<?x4xf32>
  %more = ait.buffer.output 1 dims(%n) : memref<?x4xf32>
  ait.launch @k0_map(%x, %s : memref<?x4xf32>, f32) outs(%out : memref<?x4xf32>)
  ait.launch @k0_map(%x, %s : memref<?x4xf32>, f32) outs(%more : memref<?x4xf32>)
  return
}
