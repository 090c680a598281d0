// A whole gemm for sm_80: C = A B^T in f16 with f32 sums. CTAs of 128 threads compute (64,64) tiles, 32 of K at a time: cp.async into swizzled shared
// memory, ldmatrix into fragments, mma.sync.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s
// PARSED: cute.make_tiled_copy_for<"A">
// CHECK-LABEL: llvm.func @gemm
// CHECK: scf.for
// CHECK-COUNT-4: cp.async.cg.shared.global [$0], [$1], 16;
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-COUNT-8: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-16: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-COUNT-16: cvt.rn.f16x2.f32
// CHECK-COUNT-16: llvm.store %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<1>
// CHECK-NOT: cute.

!pA = !cute.ptr<f16, gmem, align<16>>
!shapeA = !cute.shape<"(?{div=64,min=64,max=65536},?{div=32,min=32,max=65536})">
!shapeC = !cute.shape<"(?{div=64,min=64,max=65536},?{div=64,min=64,max=65536})">
!strideK = !cute.stride<"(?{div=32,min=32,max=65536},1)">
!strideN = !cute.stride<"(?{div=64,min=64,max=65536},1)">
!lA = !cute.layout<"(?{div=64,min=64,max=65536},?{div=32,min=32,max=65536}):(?{div=32,min=32,max=65536},1)">
!lC = !cute.layout<"(?{div=64,min=64,max=65536},?{div=64,min=64,max=65536}):(?{div=64,min=64,max=65536},1)">
!mA = !cute.view<f16, gmem, align<16>, "(?{div=64,min=64,max=65536},?{div=32,min=32,max=65536}):(?{div=32,min=32,max=65536},1)">
!mC = !cute.view<f16, gmem, align<16>, "(?{div=64,min=64,max=65536},?{div=64,min=64,max=65536}):(?{div=64,min=64,max=65536},1)">
!tiler = !cute.tile<"[64:1;64:1;32:1]">
!coord = !cute.coord<"(?{min=0,max=1023},?{min=0,max=1023},_)">
!gA = !cute.view<f16, gmem, align<16>, "(64,32,?{min=1,max=2048}):(?{div=32,min=32,max=65536},1,32)">
!gC = !cute.view<f16, gmem, align<16>, "(64,64):(?{div=64,min=64,max=65536},1)">
!sp = !cute.ptr<f16, smem, align<128>>
!sl = !cute.composed_layout<"S<2,3,3> o 0 o ((8,8),32):((32,256),1)">
!sA = !cute.view<f16, smem, align<128>, "S<2,3,3> o 0 o ((8,8),32):((32,256),1)">
!cpAtom = !cute.copy_atom<"cp.async.cg.16", f16>
!thr = !cute.layout<"(32,4):(4,1)">
!val = !cute.layout<"(1,8):(0,1)">
!cp = !cute.tiled_copy<"cp.async.cg.16", f16, "((4,32),8):((256,1),32)", "(32,32)">
!tAgA = !cute.view<f16, gmem, align<16>, "((8,1),2,1,?{min=1,max=2048}):((1,256),?{div=1024,min=1024,max=2097152},32,32)">
!tAsA = !cute.view<f16, smem, align<128>, "S<2,3,3> o ?{div=8,min=0,max=1016} o ((8,1),2,1):((1,256),1024,32)">
!atom = !cute.mma_atom<"mma.sync.m16n8k16.f32.f16.f16.f32">
!warps = !cute.shape<"(2,2,1)">
!perm = !cute.tile<"[_;32:1;_]">
!mma = !cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(2,2,1):(1,2,4)", "[_;32:1;_]">
!tCsA = !cute.view<f16, smem, align<128>, "S<2,3,3> o ?{div=2,min=0,max=742} o ((2,2,2),2,2):((1,256,8),1024,16)">
!tCsB = !cute.view<f16, smem, align<128>, "S<2,3,3> o ?{div=2,min=0,max=486} o ((2,2),4,2):((1,8),512,16)">
!tCgC = !cute.view<f16, gmem, align<4>, "((2,2),2,4):((1,?{div=512,min=512,max=524288}),?{div=2048,min=2048,max=2097152},16)">
!rA = !cute.view<f16, rmem, align<16>, "((2,2,2),2,2):((1,2,4),8,16)">
!rB = !cute.view<f16, rmem, align<16>, "((2,2),4,2):((1,2),4,16)">
!rC = !cute.view<f32, rmem, align<16>, "((2,2),2,4):((1,2),4,8)">
!ldAtom = !cute.copy_atom<"ldmatrix.x4", f16>
!ldA = !cute.tiled_copy<"ldmatrix.x4", f16, "(((4,8,2),2),((2,2,2),(1,1))):(((64,1,16),0),((32,8,256),(32,512)))", "(32,16)">
!ldB = !cute.tiled_copy<"ldmatrix.x4", f16, "(((4,8),2,2),((2,2),(2,1))):(((64,1),0,8),((32,256),(16,512)))", "(32,16)">
!lsA = !cute.view<f16, smem, align<128>, "S<2,3,3> o ?{div=8,min=0,max=1000} o ((8,1),2,2):((1,2048),1024,16)">
!lsB = !cute.view<f16, smem, align<128>, "S<2,3,3> o ?{div=8,min=0,max=1000} o ((8,1),2,2):((1,4096),1024,16)">
!lrA = !cute.view<f16, rmem, align<16>, "((8,1),2,2):((1,0),8,16)">
!lrB = !cute.view<f16, rmem, align<16>, "((8,1),2,2):((1,128),8,16)">
!tiles = !cute.int_tuple<"?{min=1,max=2048}">
!at = !cute.coord<"(_,_,_,?{min=0,max=2047})">
!a = !cute.view<f16, gmem, align<16>, "((8,1),2,1):((1,256),?{div=1024,min=1024,max=2097152},32)">
!rD = !cute.view<f16, rmem, align<16>, "((2,2),2,4):((1,2),4,8)">
!stAtom = !cute.copy_atom<"universal.32", f16>

llvm.func @gemm(%A: !llvm.ptr<1>, %B: !llvm.ptr<1>, %C: !llvm.ptr<1>, %m: i32, %n: i32, %k: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %bm = nvvm.read.ptx.sreg.ctaid.x : i32
  %bn = nvvm.read.ptx.sreg.ctaid.y : i32

  // A is (M,K), B is (N,K), both with K contiguous; C is (M,N) with N contiguous.
  %pA = cute.make_ptr(%A) : (!llvm.ptr<1>) -> !pA
  %pB = cute.make_ptr(%B) : (!llvm.ptr<1>) -> !pA
  %pC = cute.make_ptr(%C) : (!llvm.ptr<1>) -> !pA
  %shapeA = cute.make_shape(%m, %k) : (i32, i32) -> !shapeA
  %shapeB = cute.make_shape(%n, %k) : (i32, i32) -> !shapeA
  %shapeC = cute.make_shape(%m, %n) : (i32, i32) -> !shapeC
  %strideK = cute.make_stride(%k) : (i32) -> !strideK
  %strideN = cute.make_stride(%n) : (i32) -> !strideN
  %lA = cute.make_layout(%shapeA, %strideK) : (!shapeA, !strideK) -> !lA
  %lB = cute.make_layout(%shapeB, %strideK) : (!shapeA, !strideK) -> !lA
  %lC = cute.make_layout(%shapeC, %strideN) : (!shapeC, !strideN) -> !lC
  %mA = cute.make_view(%pA, %lA) : (!pA, !lA) -> !mA
  %mB = cute.make_view(%pB, %lB) : (!pA, !lA) -> !mA
  %mC = cute.make_view(%pC, %lC) : (!pA, !lC) -> !mC

  // This CTA's tiles: (64,32,K/32) of A and B, (64,64) of C.
  %tiler = cute.static : !tiler
  %coord = cute.make_coord(%bm, %bn) : (i32, i32) -> !coord
  %gA = cute.local_tile<[0, 2]>(%mA, %tiler, %coord) : (!mA, !tiler, !coord) -> !gA
  %gB = cute.local_tile<[1, 2]>(%mB, %tiler, %coord) : (!mA, !tiler, !coord) -> !gA
  %gC = cute.local_tile<[0, 1]>(%mC, %tiler, %coord) : (!mC, !tiler, !coord) -> !gC

  // Shared memory, swizzled so that ldmatrix meets every bank once.
  %sp = cute.alloc_shared<2048> : !sp
  %sq = cute.alloc_shared<2048> : !sp
  %sl = cute.static : !sl
  %sA = cute.make_view(%sp, %sl) : (!sp, !sl) -> !sA
  %sB = cute.make_view(%sq, %sl) : (!sp, !sl) -> !sA

  // From global to shared memory: 16 bytes a thread, 4 threads a row.
  %cpAtom = cute.static : !cpAtom
  %thr = cute.static : !thr
  %val = cute.static : !val
  %cp = cute.make_tiled_copy(%cpAtom, %thr, %val) : (!cpAtom, !thr, !val) -> !cp
  %tAgA = cute.partition<"S">(%cp, %gA, %tid) : (!cp, !gA, i32) -> !tAgA
  %tAsA = cute.partition<"D">(%cp, %sA, %tid) : (!cp, !sA, i32) -> !tAsA
  %tBgB = cute.partition<"S">(%cp, %gB, %tid) : (!cp, !gA, i32) -> !tAgA
  %tBsB = cute.partition<"D">(%cp, %sB, %tid) : (!cp, !sA, i32) -> !tAsA

  // 2 x 2 warps; N is doubled so that one ldmatrix.x4 feeds two products.
  %atom = cute.static : !atom
  %warps = cute.static : !warps
  %perm = cute.static : !perm
  %mma = cute.make_tiled_mma(%atom, %warps, %perm) : (!atom, !warps, !perm) -> !mma
  %tCsA = cute.partition<"A">(%mma, %sA, %tid) : (!mma, !sA, i32) -> !tCsA
  %tCsB = cute.partition<"B">(%mma, %sB, %tid) : (!mma, !sA, i32) -> !tCsB
  %tCgC = cute.partition<"C">(%mma, %gC, %tid) : (!mma, !gC, i32) -> !tCgC
  %rA = cute.make_fragment<"A">(%mma, %tCsA) : (!mma, !tCsA) -> !rA
  %rB = cute.make_fragment<"B">(%mma, %tCsB) : (!mma, !tCsB) -> !rB
  %rC = cute.make_fragment<"C">(%mma, %tCgC) : (!mma, !tCgC) -> !rC

  // From shared memory to the fragments.
  %ldAtom = cute.static : !ldAtom
  %ldA = cute.make_tiled_copy_for<"A">(%ldAtom, %mma) : (!ldAtom, !mma) -> !ldA
  %ldB = cute.make_tiled_copy_for<"B">(%ldAtom, %mma) : (!ldAtom, !mma) -> !ldB
  %lsA = cute.partition<"S">(%ldA, %sA, %tid) : (!ldA, !sA, i32) -> !lsA
  %lsB = cute.partition<"S">(%ldB, %sB, %tid) : (!ldB, !sA, i32) -> !lsB
  %lrA = cute.retile(%ldA, %rA) : (!ldA, !rA) -> !lrA
  %lrB = cute.retile(%ldB, %rB) : (!ldB, !rB) -> !lrB

  %zero = arith.constant 0.0 : f32
  cute.fill(%zero, %rC) : (f32, !rC) -> ()

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %tiles = cute.size<[2]>(%gA) : (!gA) -> !tiles
  %kt = cute.get_scalars(%tiles) : (!tiles) -> i32
  scf.for %i = %c0 to %kt step %c1 : i32 {
    %at = cute.make_coord(%i) : (i32) -> !at
    %a = cute.slice(%tAgA, %at) : (!tAgA, !at) -> !a
    %b = cute.slice(%tBgB, %at) : (!tAgA, !at) -> !a
    cute.copy(%cp, %a, %tAsA) : (!cp, !a, !tAsA) -> ()
    cute.copy(%cp, %b, %tBsB) : (!cp, !a, !tAsA) -> ()
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    nvvm.barrier0
    cute.copy(%ldA, %lsA, %lrA) : (!ldA, !lsA, !lrA) -> ()
    cute.copy(%ldB, %lsB, %lrB) : (!ldB, !lsB, !lrB) -> ()
    cute.gemm(%mma, %rC, %rA, %rB, %rC) : (!mma, !rC, !rA, !rB, !rC) -> ()
    nvvm.barrier0
  }

  // Round to f16 and store two neighbours at a time.
  %rD = cute.make_fragment_like<"f16">(%rC) : (!rC) -> !rD
  cute.convert(%rC, %rD) : (!rC, !rD) -> ()
  %stAtom = cute.static : !stAtom
  cute.copy(%stAtom, %rD, %tCgC) : (!stAtom, !rD, !tCgC) -> ()
  llvm.return
}
