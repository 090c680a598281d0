// RUN: aitmlir-opt %s --ait-lower-host=chip=sm_80 --canonicalize --cse | FileCheck %s

// 16 bytes at a time where addresses allow it, else an element; the grid is walked by all threads.
// CHECK-LABEL: llvm.func @kernel_0_0_map(
// CHECK-DAG: nvvm.read.ptx.sreg.ctaid.x
// CHECK-DAG: nvvm.read.ptx.sreg.tid.x
// CHECK: scf.if
// CHECK: scf.for
// CHECK: vector.load %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xf16>
// CHECK-COUNT-8: arith.mulf
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xf16>
// CHECK: else
// CHECK: scf.for
// CHECK: memref.load
// CHECK: memref.store
func.func private @k0_map(%x: tensor<64x32xf16>) -> tensor<64x32xf16> attributes {ait.kernel} {
  %0 = ait.map ins(%x : tensor<64x32xf16>) -> tensor<64x32xf16> {
  ^bb0(%e: f16):
    %r = arith.mulf %e, %e : f16
    ait.yield %r : f16
  }
  return %0 : tensor<64x32xf16>
}

func.func @main(%x: memref<64x32xf16>) {
  %out = ait.buffer.output 0 : memref<64x32xf16>
  ait.launch @k0_map(%x : memref<64x32xf16>) outs(%out : memref<64x32xf16>)
  return
}
