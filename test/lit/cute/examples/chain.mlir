// (A B^T) C on sm_90a by one warpgroup, as attention has it: A (64,64), B (128,64), C (128,64). The first product's sums become the second's A without leaving the registers. B and C are taken in halves: while the second
// half of the first product is under way, the first half is rounded and multiplied on.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s
// PARSED-COUNT-4: cute.gemm async(
// CHECK-LABEL: llvm.func @chain
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.*}}, 1, 1, 1; }
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.*}}, 1, 1, 1; }
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-NOT: cute.{{[a-z]}}

!p = !cute.ptr<f16, gmem, align<16>>
!pd = !cute.ptr<f32, gmem, align<16>>
!lA = !cute.layout<"(64,64):(64,1)">
!lB = !cute.layout<"(128,64):(64,1)">
!lC = !cute.layout<"(64,128):(1,64)">
!A = !cute.view<f16, gmem, align<16>, "(64,64):(64,1)">
!B = !cute.view<f16, gmem, align<16>, "(128,64):(64,1)">
!C = !cute.view<f16, gmem, align<16>, "(64,128):(1,64)">
!D = !cute.view<f32, gmem, align<16>, "(64,64):(64,1)">
!sp = !cute.ptr<f16, smem, align<1024>>
!slA = !cute.composed_layout<"S<3,3,3> o 0 o ((8,8),64):((64,512),1)">
!slB = !cute.composed_layout<"S<3,3,3> o 0 o ((8,16),64):((64,512),1)">
!slC = !cute.composed_layout<"S<3,3,3> o 0 o (64,(8,16)):(1,(64,512))">
!sA = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((8,8),64):((64,512),1)">
!sB = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((8,16),64):((64,512),1)">
!sC = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o (64,(8,16)):(1,(64,512))">
!in = !cute.copy_atom<"universal.128", f16>
!threads = !cute.layout<"(16,8):(8,1)">
!values = !cute.layout<"(1,8):(0,1)">
!cp = !cute.tiled_copy<"universal.128", f16, "((8,16),8):((128,1),16)", "(16,64)">
!threadsC = !cute.layout<"(8,16):(1,8)">
!valuesC = !cute.layout<"(8,1):(1,0)">
!cpC = !cute.tiled_copy<"universal.128", f16, "(128,8):(8,1)", "(64,16)">
!gA = !cute.view<f16, gmem, align<16>, "((8,1),4,1):((1,128),1024,64)">
!tA = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=8,min=0,max=1016} o ((8,1),4,1):((1,128),1024,64)">
!gB = !cute.view<f16, gmem, align<16>, "((8,1),8,1):((1,128),1024,64)">
!tB = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=8,min=0,max=1016} o ((8,1),8,1):((1,128),1024,64)">
!gC = !cute.view<f16, gmem, align<16>, "((8,1),1,8):((1,8),64,1024)">
!tC = !cute.view<f16, smem, align<1024>, "S<3,3,3> o ?{div=8,min=0,max=1016} o ((8,1),1,8):((1,8),64,1024)">
!tile = !cute.tile<"[64:1;64:1]">
!at0 = !cute.coord<"(0,0)">
!atB1 = !cute.coord<"(1,0)">
!atC1 = !cute.coord<"(0,1)">
!halfB = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o (64,64):(64,1)">
!halfB1 = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 4096 o (64,64):(64,1)">
!halfC = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o (64,64):(1,64)">
!halfC1 = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 4096 o (64,64):(1,64)">
!atom1 = !cute.mma_atom<"wgmma.m64n64k16.f32.f16.f16.ss.k.k">
!atom2 = !cute.mma_atom<"wgmma.m64n64k16.f32.f16.f16.rs.mn">
!groups = !cute.shape<"(1,1,1)">
!mma1 = !cute.tiled_mma<"wgmma.m64n64k16.f32.f16.f16.ss.k.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!mma2 = !cute.tiled_mma<"wgmma.m64n64k16.f32.f16.f16.rs.mn", "(1,1,1):(1,1,1)", "[_;_;_]">
!partA = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,4):((64,1),4096,16)">
!partB = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,4):((64,1),4096,16)">
!partB1 = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 4096 o ((64,16),1,4):((64,1),4096,16)">
!partC = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,4):((1,64),64,1024)">
!partC1 = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 4096 o ((64,16),1,4):((1,64),64,1024)">
!partD = !cute.view<f32, gmem, align<8>, "((2,2,8),1,1):((1,512,8),4096,64)">
!sums = !cute.view<f32, rmem, align<16>, "((2,2,8),1,1):((1,2,4),32,32)">
!factor = !cute.layout<"((2,2,2),1,4):((1,2,4),8,8)">
!P = !cute.view<f16, rmem, align<16>, "((2,2,2),1,4):((1,2,4),8,8)">
!pair = !cute.copy_atom<"universal.64", f32>

llvm.func @chain(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %pa = cute.make_ptr(%a) : (!llvm.ptr<1>) -> !p
  %pb = cute.make_ptr(%b) : (!llvm.ptr<1>) -> !p
  %pc = cute.make_ptr(%c) : (!llvm.ptr<1>) -> !p
  %pd = cute.make_ptr(%d) : (!llvm.ptr<1>) -> !pd
  %lA = cute.static : !lA
  %lB = cute.static : !lB
  // C as the right operand of a product: (N, K), N contiguous.
  %lC = cute.static : !lC
  %A = cute.make_view(%pa, %lA) : (!p, !lA) -> !A
  %B = cute.make_view(%pb, %lB) : (!p, !lB) -> !B
  %C = cute.make_view(%pc, %lC) : (!p, !lC) -> !C
  %D = cute.make_view(%pd, %lA) : (!pd, !lA) -> !D
  %spA = cute.alloc_shared<4096> : !sp
  %spB = cute.alloc_shared<8192> : !sp
  %spC = cute.alloc_shared<8192> : !sp
  %slA = cute.static : !slA
  %slB = cute.static : !slB
  %slC = cute.static : !slC
  %sA = cute.make_view(%spA, %slA) : (!sp, !slA) -> !sA
  %sB = cute.make_view(%spB, %slB) : (!sp, !slB) -> !sB
  %sC = cute.make_view(%spC, %slC) : (!sp, !slC) -> !sC

  %in = cute.static : !in
  %threads = cute.static : !threads
  %values = cute.static : !values
  %threadsC = cute.static : !threadsC
  %valuesC = cute.static : !valuesC
  %cp = cute.make_tiled_copy(%in, %threads, %values) : (!in, !threads, !values) -> !cp
  %cpC = cute.make_tiled_copy(%in, %threadsC, %valuesC) : (!in, !threadsC, !valuesC) -> !cpC
  %gA = cute.partition<"S">(%cp, %A, %tid) : (!cp, !A, i32) -> !gA
  %tA = cute.partition<"D">(%cp, %sA, %tid) : (!cp, !sA, i32) -> !tA
  %gB = cute.partition<"S">(%cp, %B, %tid) : (!cp, !B, i32) -> !gB
  %tB = cute.partition<"D">(%cp, %sB, %tid) : (!cp, !sB, i32) -> !tB
  %gC = cute.partition<"S">(%cpC, %C, %tid) : (!cpC, !C, i32) -> !gC
  %tC = cute.partition<"D">(%cpC, %sC, %tid) : (!cpC, !sC, i32) -> !tC
  cute.copy(%cp, %gA, %tA) : (!cp, !gA, !tA) -> ()
  cute.copy(%cp, %gB, %tB) : (!cp, !gB, !tB) -> ()
  cute.copy(%cpC, %gC, %tC) : (!cpC, !gC, !tC) -> ()
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.barrier0

  %tile = cute.static : !tile
  %at0 = cute.static : !at0
  %atB1 = cute.static : !atB1
  %atC1 = cute.static : !atC1
  %sB0 = cute.local_tile(%sB, %tile, %at0) : (!sB, !tile, !at0) -> !halfB
  %sB1 = cute.local_tile(%sB, %tile, %atB1) : (!sB, !tile, !atB1) -> !halfB1
  %sC0 = cute.local_tile(%sC, %tile, %at0) : (!sC, !tile, !at0) -> !halfC
  %sC1 = cute.local_tile(%sC, %tile, %atC1) : (!sC, !tile, !atC1) -> !halfC1
  %atom1 = cute.static : !atom1
  %atom2 = cute.static : !atom2
  %groups = cute.static : !groups
  %mma1 = cute.make_tiled_mma(%atom1, %groups) : (!atom1, !groups) -> !mma1
  %mma2 = cute.make_tiled_mma(%atom2, %groups) : (!atom2, !groups) -> !mma2
  %partA = cute.partition<"A">(%mma1, %sA, %tid) : (!mma1, !sA, i32) -> !partA
  %partB0 = cute.partition<"B">(%mma1, %sB0, %tid) : (!mma1, !halfB, i32) -> !partB
  %partB1 = cute.partition<"B">(%mma1, %sB1, %tid) : (!mma1, !halfB1, i32) -> !partB1
  %partC0 = cute.partition<"B">(%mma2, %sC0, %tid) : (!mma2, !halfC, i32) -> !partC
  %partC1 = cute.partition<"B">(%mma2, %sC1, %tid) : (!mma2, !halfC1, i32) -> !partC1
  %partD = cute.partition<"C">(%mma2, %D, %tid) : (!mma2, !D, i32) -> !partD
  %s0 = cute.make_fragment<"C">(%mma1, %partD) : (!mma1, !partD) -> !sums
  %s1 = cute.make_fragment<"C">(%mma1, %partD) : (!mma1, !partD) -> !sums
  %o = cute.make_fragment<"C">(%mma2, %partD) : (!mma2, !partD) -> !sums
  // What a thread has of 16 columns of sums is what it has of 16 columns of A, in the same order.
  %factor = cute.static : !factor
  %p0 = cute.make_fragment_like<"f16">(%factor) : (!factor) -> !P
  %p1 = cute.make_fragment_like<"f16">(%factor) : (!factor) -> !P
  %zero = arith.constant 0.0 : f32
  cute.fill(%zero, %s0) : (f32, !sums) -> ()
  cute.fill(%zero, %s1) : (f32, !sums) -> ()
  cute.fill(%zero, %o) : (f32, !sums) -> ()

  cute.wgmma_fence(%s0, %s1, %o : !sums, !sums, !sums)
  cute.gemm async(%mma1, %s0, %partA, %partB0, %s0) : (!mma1, !sums, !partA, !partB, !sums) -> ()
  cute.wgmma_commit
  cute.gemm async(%mma1, %s1, %partA, %partB1, %s1) : (!mma1, !sums, !partA, !partB1, !sums) -> ()
  cute.wgmma_commit
  cute.wgmma_wait<1>(%s0 : !sums)
  cute.convert(%s0, %p0) : (!sums, !P) -> ()
  cute.wgmma_fence(%p0 : !P)
  cute.gemm async(%mma2, %o, %p0, %partC0, %o) : (!mma2, !sums, !P, !partC, !sums) -> ()
  cute.wgmma_commit
  cute.wgmma_wait<1>(%s1 : !sums)
  cute.convert(%s1, %p1) : (!sums, !P) -> ()
  cute.wgmma_fence(%p1 : !P)
  cute.gemm async(%mma2, %o, %p1, %partC1, %o) : (!mma2, !sums, !P, !partC1, !sums) -> ()
  cute.wgmma_commit
  cute.wgmma_wait<0>(%o : !sums)
  %pair = cute.static : !pair
  cute.copy(%pair, %o, %partD) : (!pair, !sums, !partD) -> ()
  llvm.return
}
