// RUN: aitmlir-opt %s --ait-lower-host --canonicalize --cse | FileCheck %s

// One lowered kernel for each list of buffer types, with the part of its range to do behind its buffers.
// CHECK: module attributes {ait.constants = ["w", "derived.0"]}
// CHECK: func.func private @kernel_0_0_map(%{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %[[LO:.*]]: index, %[[HI:.*]]: index)
// CHECK: scf.for %{{.*}} = %[[LO]] to %[[HI]]
// CHECK: func.func private @kernel_1_0_map(%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>,
//
// CHECK-LABEL: func.func @aitmlir_program_main(
// CHECK-SAME: %[[RUN:.*]]: !llvm.ptr)
// CHECK: %[[DIMS:.*]] = llvm.alloca
// CHECK: call @aitmlir_rt_input_dim(%[[RUN]],
// CHECK: call @aitmlir_rt_input(%[[RUN]],
// CHECK: call @aitmlir_rt_arena(%[[RUN]], %
// CHECK: call @kernel_0_0_map
// CHECK: llvm.store %{{.*}}, %[[DIMS]]
// CHECK: call @aitmlir_rt_output(%[[RUN]], %{{.*}}, %[[DIMS]], %
// CHECK: call @kernel_0_0_map
// CHECK: return
//
// CHECK-LABEL: func.func @aitmlir_program_fold(
// CHECK: call @aitmlir_rt_constant
// CHECK: call @aitmlir_rt_constant
// CHECK: call @kernel_1_0_map
func.func private @k0_map(%x: tensor<?xf32>) -> tensor<?xf32> attributes {ait.kernel} {
  %0 = ait.map ins(%x : tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%e: f32):
    %s = arith.negf %e : f32
    ait.yield %s : f32
  }
  return %0 : tensor<?xf32>
}

func.func @main(%x: memref<?xf32>, %unused: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %bytes = arith.constant 64 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %arena = ait.buffer.arena %bytes : memref<?xi8>
  %a = memref.view %arena[%c0][%n] : memref<?xi8> to memref<?xf32>
  ait.launch @k0_map(%x : memref<?xf32>) outs(%a : memref<?xf32>)
  %y = ait.buffer.output 0 dims(%n) : memref<?xf32>
  ait.launch @k0_map(%a : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}

func.func @fold() {
  %w = ait.buffer.constant "w" : memref<4xf32>
  %d = ait.buffer.constant "derived.0" : memref<4xf32>
  ait.launch @k0_map(%w : memref<4xf32>) outs(%d : memref<4xf32>)
  return
}
