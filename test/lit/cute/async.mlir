// Asynchronous products and pipelines: every operation, parsed and printed, and what each becomes.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s

!pipe = !cute.pipeline<3, full<1>, empty<4>>

// PARSED-LABEL: @pipelines
// CHECK: llvm.mlir.global internal @__cute_shared_0() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<6 x i64>
// CHECK-LABEL: @pipelines
llvm.func @pipelines(%state: i32, %bytes: i32, %rank: i32, %out: !llvm.ptr<3>) {
  // PARSED: cute.alloc_pipeline : !cute.pipeline<3, full<1>, empty<4>>
  %pipe = cute.alloc_pipeline : !pipe
  // PARSED: cute.pipeline_init(%{{.*}}) : !cute.pipeline<3, full<1>, empty<4>>
  // CHECK-COUNT-6: nvvm.mbarrier.init
  // CHECK: nvvm.fence.mbarrier.init
  cute.pipeline_init(%pipe) : !pipe
  // PARSED: cute.producer_acquire(%{{.*}}, %{{.*}}) : !cute.pipeline<3, full<1>, empty<4>>
  // CHECK: %[[ODD:.*]] = arith.cmpi sge, %arg0, %c3_i32
  // CHECK: %[[PARITY:.*]] = arith.extui %[[ODD]]
  // CHECK: %[[BEFORE:.*]] = arith.xori %[[PARITY]]
  // CHECK: %[[STAGE:.*]] = arith.select %[[ODD]], %{{.*}}, %arg0
  // CHECK: mbarrier.try_wait.parity.shared::cta.b64 {{.*}} %{{.*}}, %[[BEFORE]] :
  cute.producer_acquire(%pipe, %state) : !pipe
  // PARSED: cute.producer_expect(%{{.*}}, %{{.*}}, %{{.*}}) : !cute.pipeline<3, full<1>, empty<4>> -> !llvm.ptr<3>
  // CHECK: nvvm.mbarrier.arrive.expect_tx %[[FULL:.*]], %arg1
  %full = cute.producer_expect(%pipe, %state, %bytes) : !pipe -> !llvm.ptr<3>
  // PARSED: cute.producer_commit(%{{.*}}, %{{.*}}) : !cute.pipeline<3, full<1>, empty<4>>
  // CHECK: nvvm.mbarrier.arrive %[[FULL]] :
  cute.producer_commit(%pipe, %state) : !pipe
  // PARSED: cute.consumer_wait(%{{.*}}, %{{.*}}) : !cute.pipeline<3, full<1>, empty<4>>
  // CHECK: mbarrier.try_wait.parity.shared::cta.b64 {{.*}} %{{.*}}, %[[PARITY]] :
  cute.consumer_wait(%pipe, %state) : !pipe
  // PARSED: cute.consumer_release(%{{.*}}, %{{.*}}) : !cute.pipeline<3, full<1>, empty<4>>
  // CHECK: nvvm.mbarrier.arrive %[[EMPTY:[a-z0-9]+]] :
  cute.consumer_release(%pipe, %state) : !pipe
  // PARSED: cute.consumer_release(%{{.*}}, %{{.*}}) at %{{.*}} : !cute.pipeline<3, full<1>, empty<4>>
  // CHECK: %[[THERE:.*]] = nvvm.mapa %[[EMPTY]], %arg2 : !llvm.ptr<3> -> !llvm.ptr<7>
  // CHECK: nvvm.mbarrier.arrive %[[THERE]] : !llvm.ptr<7>
  cute.consumer_release(%pipe, %state) at %rank : !pipe
  // PARSED: cute.pipeline_barrier<"empty">{{ ?}}(%{{.*}}, %{{.*}}) : !cute.pipeline<3, full<1>, empty<4>> -> !llvm.ptr<3>
  // CHECK: nvvm.mbarrier.inval %[[EMPTY]]
  %empty = cute.pipeline_barrier<"empty">(%pipe, %state) : !pipe -> !llvm.ptr<3>
  nvvm.mbarrier.inval %empty : !llvm.ptr<3>
  // PARSED: cute.pipeline_stage(%{{.*}}, %{{.*}}) : !cute.pipeline<3, full<1>, empty<4>>
  %stage = cute.pipeline_stage(%pipe, %state) : !pipe
  // PARSED: cute.pipeline_next(%{{.*}}, %{{.*}}) : !cute.pipeline<3, full<1>, empty<4>>
  // CHECK: %[[AFTER:.*]] = arith.addi %arg0, %c1_i32
  // CHECK: %[[OVER:.*]] = arith.cmpi eq, %[[AFTER]], %c6_i32
  // CHECK: %[[NEXT:.*]] = arith.select %[[OVER]], %c0_i32, %[[AFTER]]
  // CHECK: arith.addi %[[STAGE]], %[[NEXT]]
  %next = cute.pipeline_next(%pipe, %state) : !pipe
  %sum = arith.addi %stage, %next : i32
  llvm.store %sum, %out : i32, !llvm.ptr<3>
  llvm.return
}

// Barriers at an address of the kernel's own.
// PARSED-LABEL: @own_barriers
// CHECK-LABEL: @own_barriers
llvm.func @own_barriers(%memory: !llvm.ptr<3>, %state: i32) {
  // PARSED: cute.make_pipeline(%{{.*}}) : !llvm.ptr<3> -> !cute.pipeline<3, full<1>, empty<4>>
  %pipe = cute.make_pipeline(%memory) : !llvm.ptr<3> -> !pipe
  // CHECK: %[[BARRIER:.*]] = llvm.getelementptr %arg0[%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  // CHECK: nvvm.mbarrier.arrive %[[BARRIER]]
  cute.consumer_release(%pipe, %state) : !pipe
  llvm.return
}

!four = !cute.pipeline<4, full<1>, empty<4>>

// Of a power of two of stages, the stage and the phase are bits of the state.
// CHECK-LABEL: @bits
llvm.func @bits(%memory: !llvm.ptr<3>, %state: i32) {
  %pipe = cute.make_pipeline(%memory) : !llvm.ptr<3> -> !four
  // CHECK-DAG: arith.andi %arg1, %c3_i32
  // CHECK-DAG: %[[PHASE:.*]] = arith.shrui %arg1, %c2_i32
  // CHECK: mbarrier.try_wait.parity.shared::cta.b64 {{.*}} %{{.*}}, %[[PHASE]] :
  cute.consumer_wait(%pipe, %state) : !four
  // CHECK: %[[AFTER:.*]] = arith.addi %arg1, %c1_i32
  // CHECK: %[[NEXT:.*]] = arith.andi %[[AFTER]], %c7_i32
  %next = cute.pipeline_next(%pipe, %state) : !four
  llvm.store %next, %memory : i32, !llvm.ptr<3>
  llvm.return
}

!mma = !cute.tiled_mma<"wgmma.m64n16k16.f32.f16.f16.rs.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!sB = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((16,16),1,2):((64,1),0,16)">
!sums = !cute.view<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!regA = !cute.view<f16, rmem, align<16>, "((2,2,2),1,2):((1,2,4),8,8)">

// The sums of a product with A in registers are tied to the wait that names them.
// PARSED-LABEL: @products
// CHECK-LABEL: @products
llvm.func @products(%p: !llvm.ptr<3>, %x: f32, %h: f16, %out: !llvm.ptr<1>) {
  %mma = cute.static : !mma
  %ptr = cute.make_ptr(%p) : (!llvm.ptr<3>) -> !cute.ptr<f16, smem, align<1024>>
  %l = cute.static : !cute.composed_layout<"S<3,3,3> o 0 o ((16,16),1,2):((64,1),0,16)">
  %b = cute.make_view(%ptr, %l) : (!cute.ptr<f16, smem, align<1024>>, !cute.composed_layout<"S<3,3,3> o 0 o ((16,16),1,2):((64,1),0,16)">) -> !sB
  %la = cute.static : !cute.layout<"((2,2,2),1,2):((1,2,4),8,8)">
  %a = cute.make_fragment_like<"f16">(%la) : (!cute.layout<"((2,2,2),1,2):((1,2,4),8,8)">) -> !regA
  %lc = cute.static : !cute.layout<"((2,2,2),1,1):((1,2,4),8,8)">
  %c = cute.make_fragment_like<"f32">(%lc) : (!cute.layout<"((2,2,2),1,1):((1,2,4),8,8)">) -> !sums
  cute.fill(%x, %c) : (f32, !sums) -> ()
  cute.fill(%h, %a) : (f16, !regA) -> ()
  // PARSED: cute.wgmma_fence(%{{.*}}, %{{.*}} : !cute.view<{{.*}}>, !cute.view<{{.*}}>)
  // CHECK: llvm.inline_asm has_side_effects "", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,~{memory}"
  // CHECK: llvm.inline_asm has_side_effects "", "=r,=r,=r,=r,=r,=r,=r,=r,0,1,2,3,4,5,6,7,~{memory}"
  // CHECK: wgmma.fence.sync.aligned;
  cute.wgmma_fence(%c, %a : !sums, !regA)
  // PARSED: cute.gemm async(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!cute.tiled_mma
  // One descriptor is computed; the next one is 32 bytes further.
  // CHECK: %[[FIRST:.*]] = arith.ori
  // CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16{{.*}} %[[FIRST]] :
  // CHECK-NOT: ptrtoint
  // CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c2_i64
  // CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16{{.*}} %[[SECOND]] :
  cute.gemm async(%mma, %c, %a, %b, %c) : (!mma, !sums, !regA, !sB, !sums) -> ()
  // PARSED: cute.wgmma_commit
  // CHECK: wgmma.commit_group.sync.aligned;
  cute.wgmma_commit
  // PARSED: cute.wgmma_wait<1>
  // CHECK: "wgmma.wait_group.sync.aligned 1;", "~{memory}"
  cute.wgmma_wait<1>
  // PARSED: cute.wgmma_wait<0>{{ ?}}(%{{.*}} : !cute.view
  // CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,~{memory}"
  cute.wgmma_wait<0>(%c : !sums)
  %i = arith.constant 0 : i32
  %v = cute.load(%c, %i) : (!sums, i32) -> f32
  llvm.store %v, %out : f32, !llvm.ptr<1>
  llvm.return
}

// Dynamic shared memory: one block, whose parts follow one another.
// PARSED-LABEL: @dynamic
// CHECK-LABEL: @dynamic
// CHECK-SAME: cute.shared_bytes = 2304 : i64
llvm.func @dynamic(%x: f16) {
  // PARSED: cute.alloc_shared<100> dynamic : !cute.ptr<f16, smem, align<16>>
  %a = cute.alloc_shared<100> dynamic : !cute.ptr<f16, smem, align<16>>
  // CHECK: %[[BASE:.*]] = llvm.mlir.addressof @__cute_dynamic_shared : !llvm.ptr<3>
  // CHECK: llvm.getelementptr %[[BASE]][256] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %b = cute.alloc_shared<512> dynamic : !cute.ptr<f32, smem, align<256>>
  %l = cute.static : !cute.layout<"4:1">
  %v = cute.make_view(%b, %l) : (!cute.ptr<f32, smem, align<256>>, !cute.layout<"4:1">) -> !cute.view<f32, smem, align<256>, "4:1">
  %w = cute.make_view(%a, %l) : (!cute.ptr<f16, smem, align<16>>, !cute.layout<"4:1">) -> !cute.view<f16, smem, align<16>, "4:1">
  %i = arith.constant 0 : i32
  cute.store(%x, %w, %i) : (f16, !cute.view<f16, smem, align<16>, "4:1">, i32) -> ()
  %z = arith.constant 0.0 : f32
  cute.store(%z, %v, %i) : (f32, !cute.view<f32, smem, align<256>, "4:1">, i32) -> ()
  llvm.return
}
