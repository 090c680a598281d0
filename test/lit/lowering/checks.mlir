// RUN: aitmlir-opt %s --ait-lower-host --canonicalize --cse | FileCheck %s

// Before a launch that can fail the program says where it is; launches of one kernel differ. Others say nothing.
// CHECK: module attributes {ait.constants = [], ait.sites = {{\[\[}}"/model/Gather_1", "gather", "index of axis 0"], ["/model/Gather_2", "gather", "index of axis 0"], ["/model/If", "If", "its condition"]]}
// CHECK-LABEL: func.func @aitmlir_program_main(
// CHECK-SAME: %[[RUN:.*]]: !llvm.ptr)
// CHECK: call @aitmlir_rt_site(%[[RUN]], %c0_i64)
// CHECK-NEXT: call @kernel_0_0_gather
// CHECK: call @aitmlir_rt_site(%[[RUN]], %c1_i64)
// CHECK-NEXT: call @kernel_0_0_gather
// CHECK-NOT: aitmlir_rt_site
// CHECK: call @kernel_1_1_map
// CHECK: scf.if
// CHECK: call @aitmlir_rt_site(%[[RUN]], %c2_i64)
// CHECK-NEXT: call @aitmlir_rt_fail(%c1_i64, %c0_i64, %c1_i64)
func.func private @k0_gather(%x: tensor<5x16xf32>, %i: tensor<3xi64>) -> tensor<3x16xf32> attributes {ait.kernel} {
  %r = ait.gather slices %x[%i] : tensor<5x16xf32>, tensor<3xi64> -> tensor<3x16xf32>
  return %r : tensor<3x16xf32>
}

func.func private @k1_map(%x: tensor<3x16xf32>, %y: tensor<3x16xf32>) -> tensor<3x16xf32> attributes {ait.kernel} {
  %r = ait.map ins(%x, %y : tensor<3x16xf32>, tensor<3x16xf32>) -> tensor<3x16xf32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    ait.yield %s : f32
  }
  return %r : tensor<3x16xf32>
}

func.func private @aitmlir_rt_fail(i64, i64, i64)

func.func @main(%x: memref<5x16xf32>, %i: memref<3xi64>, %j: memref<3xi64>, %c: memref<i1>) {
  %a = ait.buffer.alloc : memref<3x16xf32>
  ait.launch @k0_gather(%x, %i : memref<5x16xf32>, memref<3xi64>) outs(%a : memref<3x16xf32>) loc("/model/Gather_1")
  %b = ait.buffer.alloc : memref<3x16xf32>
  ait.launch @k0_gather(%x, %j : memref<5x16xf32>, memref<3xi64>) outs(%b : memref<3x16xf32>) loc("/model/Gather_2")
  %out = ait.buffer.output 0 : memref<3x16xf32>
  ait.launch @k1_map(%a, %b : memref<3x16xf32>, memref<3x16xf32>) outs(%out : memref<3x16xf32>) loc("/model/Add")
  %holds = memref.load %c[] : memref<i1>
  %not_equal = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  scf.if %holds {
  } else {
    func.call @aitmlir_rt_fail(%not_equal, %zero, %not_equal) {ait.op = "If", ait.what = "its condition"} : (i64, i64, i64) -> () loc("/model/If")
  }
  return
}
