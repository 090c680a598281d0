// Every message about asynchronous products, pipelines and tensor copies. Functions are named after the constraint that they break.
// RUN: aitmlir-opt -split-input-file -verify-diagnostics %s

func.func @fence_c1(%s: !cute.view<f16, smem, align<16>, "8:1">) {
  // expected-error@+1 {{'cute.wgmma_fence' op C1: the operand 0 is a view of registers (rmem), got one of smem}}
  cute.wgmma_fence(%s : !cute.view<f16, smem, align<16>, "8:1">)
  return
}
// -----
func.func @wait_c2(%s: !cute.view<f16, rmem, align<16>, "4:2">) {
  // expected-error@+1 {{'cute.wgmma_wait' op C2: operand 0 accesses 2 elements at a time, but its first mode 4:2 is not a run of 2 neighbours}}
  cute.wgmma_wait<0>(%s : !cute.view<f16, rmem, align<16>, "4:2">)
  return
}
// -----
func.func @wait_c3() {
  // expected-error@+1 {{'cute.wgmma_wait' op C3: 0 to 7 groups may be under way after a wait, got 8}}
  cute.wgmma_wait<8>
  return
}
// -----
!mma = !cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(0,0,0)", "[_;_;_]">
!c = !cute.view<f32, rmem, align<16>, "((2,2),1,1):((1,2),4,4)">
!a = !cute.view<f16, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!b = !cute.view<f16, rmem, align<16>, "((2,2),1,1):((1,2),4,4)">
func.func @gemm_c5_sync(%mma: !mma, %c: !c, %a: !a, %b: !b) {
  // expected-error@+1 {{'cute.gemm' op C5: mma.sync.m16n8k16.f32.f16.f16.f32 is not asynchronous; only wgmma is}}
  cute.gemm async(%mma, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  return
}
// -----
!mma = !cute.tiled_mma<"wgmma.m64n16k16.f32.f16.f16.ss.k.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!c = !cute.view<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!a = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,1):((64,1),0,0)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((16,16),1,1):((64,1),0,0)">
func.func @gemm_c5_place(%mma: !mma, %c: !c, %d: !c, %a: !a, %b: !b) {
  // expected-error@+1 {{'cute.gemm' op C5: the sums stay in place: D and C of an async product are one fragment}}
  cute.gemm async(%mma, %d, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  return
}
// -----
!mma = !cute.tiled_mma<"wgmma.m64n16k16.f32.f16.f16.ss.k.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!c = !cute.view<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!a = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,1):((64,1),0,0)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((16,16),1,1):((64,1),0,0)">
func.func @gemm_c6_never(%mma: !mma, %c: !c, %a: !a, %b: !b, %i: i32) -> f32 {
  // expected-error@+1 {{'cute.gemm' op C6: its sums are not ready: no cute.wgmma_wait has ended it before 'cute.load' touches them}}
  cute.gemm async(%mma, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  cute.wgmma_commit
  %v = cute.load(%c, %i) : (!c, i32) -> f32
  return %v : f32
}
// -----
!mma = !cute.tiled_mma<"wgmma.m64n16k16.f32.f16.f16.ss.k.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!c = !cute.view<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!a = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,1):((64,1),0,0)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((16,16),1,1):((64,1),0,0)">
func.func @gemm_c6_unnamed(%mma: !mma, %c: !c, %a: !a, %b: !b, %i: i32) -> f32 {
  // expected-error@+1 {{'cute.gemm' op C6: its sums are not ready: the wait that ends it does not name them: cute.wgmma_wait<0>(%sums : ...)}}
  cute.gemm async(%mma, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  cute.wgmma_commit
  cute.wgmma_wait<0>
  %v = cute.load(%c, %i) : (!c, i32) -> f32
  return %v : f32
}
// -----
!mma = !cute.tiled_mma<"wgmma.m64n16k16.f32.f16.f16.ss.k.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!c = !cute.view<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!a = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,1):((64,1),0,0)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((16,16),1,1):((64,1),0,0)">
func.func @gemm_c6_early(%mma: !mma, %c: !c, %a: !a, %b: !b) {
  // expected-error@+1 {{'cute.gemm' op C6: its sums are named by a cute.wgmma_wait<1> that leaves it under way: its group is one of the last 1}}
  cute.gemm async(%mma, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  cute.wgmma_commit
  cute.wgmma_wait<1>(%c : !c)
  return
}
// -----
!mma = !cute.tiled_mma<"wgmma.m64n16k16.f32.f16.f16.ss.k.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!c = !cute.view<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!a = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,1):((64,1),0,0)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((16,16),1,1):((64,1),0,0)">
func.func @gemm_c6_uncommitted(%mma: !mma, %c: !c, %a: !a, %b: !b) {
  // expected-error@+1 {{'cute.gemm' op C6: its sums are named by a cute.wgmma_wait<0> before a cute.wgmma_commit closes its group}}
  cute.gemm async(%mma, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  cute.wgmma_wait<0>(%c : !c)
  return
}
// -----
!mma = !cute.tiled_mma<"wgmma.m64n16k16.f32.f16.f16.ss.k.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!c = !cute.view<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!a = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,1):((64,1),0,0)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((16,16),1,1):((64,1),0,0)">
// The next round of the loop writes the sums of the last one.
func.func @gemm_c6_round(%mma: !mma, %c: !c, %a: !a, %b: !b, %x: f32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    cute.fill(%x, %c) : (f32, !c) -> ()
    cute.wgmma_fence(%c : !c)
    // expected-error@+1 {{'cute.gemm' op C6: its sums are not ready: no cute.wgmma_wait has ended it before 'cute.fill' touches them}}
    cute.gemm async(%mma, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
    cute.wgmma_commit
    cute.wgmma_wait<1>
  }
  return
}
// -----
!mma = !cute.tiled_mma<"wgmma.m64n16k16.f32.f16.f16.ss.k.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!c = !cute.view<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!a = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,1):((64,1),0,0)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((16,16),1,1):((64,1),0,0)">
!h = !cute.view<f16, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
// Behind the loop, one group is still under way.
func.func @gemm_c6_behind(%mma: !mma, %c: !c, %a: !a, %b: !b, %h: !h, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    cute.wgmma_fence
    // expected-error@+1 {{'cute.gemm' op C6: its sums are not ready: no cute.wgmma_wait has ended it before 'cute.convert' touches them}}
    cute.gemm async(%mma, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
    cute.wgmma_commit
    cute.wgmma_wait<1>
  }
  cute.convert(%c, %h) : (!c, !h) -> ()
  return
}
// -----
!mma = !cute.tiled_mma<"wgmma.m64n16k16.f32.f16.f16.rs.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!c = !cute.view<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!a = !cute.view<f16, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((16,16),1,1):((64,1),0,0)">
func.func @gemm_c6_a(%mma: !mma, %c: !c, %a: !a, %b: !b, %x: f16) {
  // expected-error@+1 {{'cute.gemm' op C6: 'cute.fill' writes its A, which it reads from registers until a cute.wgmma_wait ends it}}
  cute.gemm async(%mma, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  cute.wgmma_commit
  cute.fill(%x, %a) : (f16, !a) -> ()
  return
}
// -----
!mma = !cute.tiled_mma<"wgmma.m64n16k16.f32.f16.f16.rs.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!c = !cute.view<f32, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!a = !cute.view<f16, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!b = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((16,16),1,1):((64,1),0,0)">
// What is right: two chains of sums in turn, A written again behind the wait.
func.func @right(%mma: !mma, %c: !c, %d: !c, %a: !a, %b: !b, %x: f16, %i: i32) -> f32 {
  cute.wgmma_fence(%c, %d, %a : !c, !c, !a)
  cute.gemm async(%mma, %c, %a, %b, %c) : (!mma, !c, !a, !b, !c) -> ()
  cute.wgmma_commit
  cute.gemm async(%mma, %d, %a, %b, %d) : (!mma, !c, !a, !b, !c) -> ()
  cute.wgmma_commit
  cute.wgmma_wait<1>(%c : !c)
  %v = cute.load(%c, %i) : (!c, i32) -> f32
  cute.wgmma_wait<0>(%d : !c)
  cute.fill(%x, %a) : (f16, !a) -> ()
  return %v : f32
}
// -----
// expected-error@+1 {{a pipeline is written pipeline<4, full<1>, empty<2>>}}
func.func private @pipeline_text(!cute.pipeline<4, full<1>>)
// -----
// expected-error@+1 {{'stages' of a pipeline is a number from 1 to 64, written as in pipeline<4, full<1>, empty<2>>, got '0'}}
func.func private @pipeline_stages(!cute.pipeline<0, full<1>, empty<1>>)
// -----
// expected-error@+1 {{'empty' of a pipeline is a number from 1 to 1048575, written as in pipeline<4, full<1>, empty<2>>, got 'empty<0>'}}
func.func private @pipeline_arrivals(!cute.pipeline<2, full<1>, empty<0>>)
// -----
func.func @alloc_pipeline_c1() {
  // expected-error@+1 {{'cute.alloc_pipeline' op C1: gives a pipeline, as pipeline<4, full<1>, empty<2>>}}
  %0 = cute.alloc_pipeline : i32
  return
}
// -----
func.func @make_pipeline_c2(%p: !llvm.ptr<1>) {
  // expected-error@+1 {{'cute.make_pipeline' op C2: barriers are at an !llvm.ptr<3>, got !llvm.ptr<1>}}
  %0 = cute.make_pipeline(%p) : !llvm.ptr<1> -> !cute.pipeline<4, full<1>, empty<2>>
  return
}
// -----
func.func @pipeline_c1(%p: !llvm.ptr<3>, %s: i32) {
  // expected-error@+1 {{'cute.consumer_wait' op C1: takes a pipeline, as pipeline<4, full<1>, empty<2>>, got !llvm.ptr<3>}}
  cute.consumer_wait(%p, %s) : !llvm.ptr<3>
  return
}
// -----
func.func @barrier_c2(%p: !cute.pipeline<2, full<1>, empty<1>>, %s: i32) {
  // expected-error@+1 {{'cute.pipeline_barrier' op C2: a stage has the barriers full and empty, got "half"}}
  %0 = cute.pipeline_barrier<"half">(%p, %s) : !cute.pipeline<2, full<1>, empty<1>> -> !llvm.ptr<3>
  return
}
// -----
func.func @barrier_c3(%p: !cute.pipeline<2, full<1>, empty<1>>, %s: i32) {
  // expected-error@+1 {{'cute.producer_expect' op C3: a barrier is an !llvm.ptr<3>, got !llvm.ptr}}
  %0 = cute.producer_expect(%p, %s, %s) : !cute.pipeline<2, full<1>, empty<1>> -> !llvm.ptr
  return
}
// -----
func.func @alloc_shared_c3() {
  // expected-error@+1 {{'cute.alloc_shared' op C3: dynamic shared memory is aligned to at most 1024 bytes, got 2048}}
  %0 = cute.alloc_shared<64> dynamic : !cute.ptr<f16, smem, align<2048>>
  return
}
// -----
!s = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=32} o (64,64):(64,1)">
func.func @tma_c2_offset(%map: !llvm.ptr, %at: !cute.int_tuple<"(?,?)">, %s: !s, %bar: !llvm.ptr<3>) {
  // expected-error@+1 {{'cute.tma_load' op C2: a box starts at a multiple of 128 bytes, and the offset ?{div=32} under the swizzle is not known to be one of 64 elements}}
  cute.tma_load(%map, %at, %s, %bar) : (!llvm.ptr, !cute.int_tuple<"(?,?)">, !s, !llvm.ptr<3>) -> ()
  return
}
// -----
!s = !cute.view<f32, smem, align<128>, "(8,32):(32,1)">
func.func @tma_c5_type(%map: !llvm.ptr, %at: !cute.int_tuple<"(?,?)">, %s: !s) {
  // expected-error@+1 {{'cute.tma_store' op C5: combines f16, bf16, s32 by max, got f32}}
  cute.tma_store<"max">(%map, %at, %s) : (!llvm.ptr, !cute.int_tuple<"(?,?)">, !s) -> ()
  return
}
