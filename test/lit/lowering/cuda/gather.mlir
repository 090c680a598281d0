// RUN: aitmlir-opt %s --ait-lower-host=chip=sm_80 --canonicalize --cse | FileCheck %s

// An index out of range is recorded by the first thread that finds one, with the site of the launch, which is a parameter; such a thread ends.
// CHECK: ait.sites = {{\[\[}}"/model/Gather_1", "gather", "index of axis 0"], ["/model/Gather_2", "gather", "index of axis 0"]]
// CHECK: call @aitmlir_rt_failure_record
// CHECK: call @aitmlir_rt_launch(%{{.*}}, %c0_i64,
// CHECK: call @aitmlir_rt_launch(%{{.*}}, %c0_i64,
// CHECK-NOT: aitmlir_rt_site
// CHECK: module @device attributes {{.*}}ait.checks{{.*}}\22site of the launch\22
// CHECK: llvm.func @kernel_0_0_gather({{.*}} %[[SITE:[^:]*]]: i64) attributes
// CHECK: arith.cmpi uge
// CHECK: llvm.atomicrmw
// CHECK: llvm.store %[[SITE]],
// CHECK: nvvm.exit
// CHECK-NOT: aitmlir_rt_fail
func.func private @k0_gather(%x: tensor<5x16xf32>, %i: tensor<3xi64>) -> tensor<3x16xf32> attributes {ait.kernel} {
  %r = ait.gather slices %x[%i] : tensor<5x16xf32>, tensor<3xi64> -> tensor<3x16xf32>
  return %r : tensor<3x16xf32>
}

func.func @main(%x: memref<5x16xf32>, %i: memref<3xi64>) {
  %out = ait.buffer.output 0 : memref<3x16xf32>
  %more = ait.buffer.output 1 : memref<3x16xf32>
  ait.launch @k0_gather(%x, %i : memref<5x16xf32>, memref<3xi64>) outs(%out : memref<3x16xf32>) loc("/model/Gather_1")
  ait.launch @k0_gather(%x, %i : memref<5x16xf32>, memref<3xi64>) outs(%more : memref<3x16xf32>) loc("/model/Gather_2")
  return
}
