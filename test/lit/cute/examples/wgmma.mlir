// A product of a warpgroup on sm_90a: 128 threads bring (64,64) of A and (64,64) of B into shared memory and multiply them with wgmma.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s
// PARSED: !cute.mma_atom<"wgmma.m64n64k16.f32.f16.f16.ss.k.k">
// CHECK-LABEL: llvm.func @wgmma
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-NOT: cute.

!pa = !cute.ptr<f16, gmem, align<16>>
!pc = !cute.ptr<f32, gmem, align<16>>
!rows = !cute.layout<"(64,64):(64,1)">
!A = !cute.view<f16, gmem, align<16>, "(64,64):(64,1)">
!C = !cute.view<f32, gmem, align<16>, "(64,64):(64,1)">
!sp = !cute.ptr<f16, smem, align<1024>>
!sl = !cute.composed_layout<"S<3,3,3> o 0 o ((8,8),64):((64,512),1)">
!sA = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((8,8),64):((64,512),1)">
!in = !cute.copy_atom<"universal.128", f16>
!threads = !cute.layout<"(16,8):(8,1)">
!values = !cute.layout<"(1,8):(0,1)">
!cp = !cute.tiled_copy<"universal.128", f16, "((8,16),8):((128,1),16)", "(16,64)">
!gA = !cute.view<f16, gmem, align<16>, "((8,1),4,1):((1,128),1024,64)">
!tA = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=8,min=0,max=1016} o ((8,1),4,1):((1,128),1024,64)">
!atom = !cute.mma_atom<"wgmma.m64n64k16.f32.f16.f16.ss.k.k">
!groups = !cute.shape<"(1,1,1)">
!mma = !cute.tiled_mma<"wgmma.m64n64k16.f32.f16.f16.ss.k.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!partA = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,4):((64,1),4096,16)">
!partC = !cute.view<f32, gmem, align<8>, "((2,2,8),1,1):((1,512,8),4096,64)">
!sums = !cute.view<f32, rmem, align<16>, "((2,2,8),1,1):((1,2,4),32,32)">
!pair = !cute.copy_atom<"universal.64", f32>

llvm.func @wgmma(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %pa = cute.make_ptr(%a) : (!llvm.ptr<1>) -> !pa
  %pb = cute.make_ptr(%b) : (!llvm.ptr<1>) -> !pa
  %pc = cute.make_ptr(%c) : (!llvm.ptr<1>) -> !pc
  %rows = cute.static : !rows
  %A = cute.make_view(%pa, %rows) : (!pa, !rows) -> !A
  %B = cute.make_view(%pb, %rows) : (!pa, !rows) -> !A
  %C = cute.make_view(%pc, %rows) : (!pc, !rows) -> !C

  // Rows of 128 bytes, swizzled as the hardware reads them; the pattern is 1024 bytes long.
  %sp = cute.alloc_shared<4096> : !sp
  %sq = cute.alloc_shared<4096> : !sp
  %sl = cute.static : !sl
  %sA = cute.make_view(%sp, %sl) : (!sp, !sl) -> !sA
  %sB = cute.make_view(%sq, %sl) : (!sp, !sl) -> !sA
  %in = cute.static : !in
  %threads = cute.static : !threads
  %values = cute.static : !values
  %cp = cute.make_tiled_copy(%in, %threads, %values) : (!in, !threads, !values) -> !cp
  %gA = cute.partition<"S">(%cp, %A, %tid) : (!cp, !A, i32) -> !gA
  %tA = cute.partition<"D">(%cp, %sA, %tid) : (!cp, !sA, i32) -> !tA
  %gB = cute.partition<"S">(%cp, %B, %tid) : (!cp, !A, i32) -> !gA
  %tB = cute.partition<"D">(%cp, %sB, %tid) : (!cp, !sA, i32) -> !tA
  cute.copy(%cp, %gA, %tA) : (!cp, !gA, !tA) -> ()
  cute.copy(%cp, %gB, %tB) : (!cp, !gA, !tA) -> ()
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.barrier0

  // Every thread has all of A and B: partitions are by warpgroup, and gemm takes them through descriptors.
  %atom = cute.static : !atom
  %groups = cute.static : !groups
  %mma = cute.make_tiled_mma(%atom, %groups) : (!atom, !groups) -> !mma
  %partA = cute.partition<"A">(%mma, %sA, %tid) : (!mma, !sA, i32) -> !partA
  %partB = cute.partition<"B">(%mma, %sB, %tid) : (!mma, !sA, i32) -> !partA
  %partC = cute.partition<"C">(%mma, %C, %tid) : (!mma, !C, i32) -> !partC
  %sums = cute.make_fragment<"C">(%mma, %partC) : (!mma, !partC) -> !sums
  %zero = arith.constant 0.0 : f32
  cute.fill(%zero, %sums) : (f32, !sums) -> ()
  cute.gemm(%mma, %sums, %partA, %partB, %sums) : (!mma, !sums, !partA, !partA, !sums) -> ()
  %pair = cute.static : !pair
  cute.copy(%pair, %sums, %partC) : (!pair, !sums, !partC) -> ()
  llvm.return
}
