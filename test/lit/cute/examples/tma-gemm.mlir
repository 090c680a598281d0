// Tiles of a gemm on sm_90a: C = A B^T in f16 with f32 sums, for any K that is a multiple of 64. One thread brings (64,64) boxes of A and B into shared memory by TMA, the warpgroup multiplies
// them with wgmma, and the tile leaves through shared memory by TMA. Nothing in the kernel knows how the matrices lie in memory; at their edges TMA reads zeros and writes nothing.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s
// PARSED-COUNT-2: cute.tma_load
// PARSED: cute.tma_store
// CHECK-LABEL: llvm.func @tma_gemm
// CHECK-SAME: cute.tensor_maps = ["0: f16 box [64, 64] swizzle 128", "1: f16 box [64, 64] swizzle 128", "2: f32 box [64, 64] swizzle 0"]
// CHECK-COUNT-2: cp.async.bulk.tensor.2d.shared::cluster.global
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta
// CHECK-NOT: cute.tma_

!sp = !cute.ptr<f16, smem, align<1024>>
!rows = !cute.composed_layout<"S<3,3,3> o 0 o (64,64):(64,1)">
!box = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o (64,64):(64,1)">
!sl = !cute.composed_layout<"S<3,3,3> o 0 o ((8,8),64):((64,512),1)">
!sA = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((8,8),64):((64,512),1)">
!at = !cute.int_tuple<"(?{div=64,min=0,max=65536},?{div=64,min=0,max=65536})">
!atom = !cute.mma_atom<"wgmma.m64n64k16.f32.f16.f16.ss.k.k">
!groups = !cute.shape<"(1,1,1)">
!mma = !cute.tiled_mma<"wgmma.m64n64k16.f32.f16.f16.ss.k.k", "(1,1,1):(1,1,1)", "[_;_;_]">
!partA = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o ((64,16),1,4):((64,1),4096,16)">
!pc = !cute.ptr<f32, smem, align<128>>
!cl = !cute.layout<"(64,64):(64,1)">
!sC = !cute.view<f32, smem, align<128>, "(64,64):(64,1)">
!partC = !cute.view<f32, smem, align<8>, "((2,2,8),1,1):((1,512,8),4096,64)">
!sums = !cute.view<f32, rmem, align<16>, "((2,2,8),1,1):((1,2,4),32,32)">
!pair = !cute.copy_atom<"universal.64", f32>

llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64} : i64

llvm.func @tma_gemm(%A: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %B: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                    %C: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %k: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %bm = nvvm.read.ptx.sreg.ctaid.x : i32
  %bn = nvvm.read.ptx.sreg.ctaid.y : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %bytes = arith.constant 16384 : i32
  %ticks = arith.constant 10000000 : i32
  %first = arith.cmpi eq, %tid, %c0 : i32
  %m = arith.muli %bm, %c64 : i32
  %n = arith.muli %bn, %c64 : i32

  // The same memory as a box, whose rows are 128 bytes, and as wgmma reads it: in groups of 8 rows.
  %pA = cute.alloc_shared<4096> : !sp
  %pB = cute.alloc_shared<4096> : !sp
  %rows = cute.static : !rows
  %groups8 = cute.static : !sl
  %boxA = cute.make_view(%pA, %rows) : (!sp, !rows) -> !box
  %boxB = cute.make_view(%pB, %rows) : (!sp, !rows) -> !box
  %sA = cute.make_view(%pA, %groups8) : (!sp, !sl) -> !sA
  %sB = cute.make_view(%pB, %groups8) : (!sp, !sl) -> !sA
  %pC = cute.alloc_shared<4096> : !pc
  %cl = cute.static : !cl
  %sC = cute.make_view(%pC, %cl) : (!pc, !cl) -> !sC

  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  scf.if %first {
    nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
  }
  nvvm.barrier0

  %atom = cute.static : !atom
  %groups = cute.static : !groups
  %mma = cute.make_tiled_mma(%atom, %groups) : (!atom, !groups) -> !mma
  %partA = cute.partition<"A">(%mma, %sA, %tid) : (!mma, !sA, i32) -> !partA
  %partB = cute.partition<"B">(%mma, %sB, %tid) : (!mma, !sA, i32) -> !partA
  %partC = cute.partition<"C">(%mma, %sC, %tid) : (!mma, !sC, i32) -> !partC
  %sums = cute.make_fragment<"C">(%mma, %partC) : (!mma, !partC) -> !sums
  %zero = arith.constant 0.0 : f32
  cute.fill(%zero, %sums) : (f32, !sums) -> ()

  scf.for %i = %c0 to %k step %c64 : i32 {
    // Coordinates are rows and columns of the matrices.
    scf.if %first {
      %atA = cute.make_int_tuple(%m, %i) : (i32, i32) -> !at
      %atB = cute.make_int_tuple(%n, %i) : (i32, i32) -> !at
      nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
      cute.tma_load(%A, %atA, %boxA, %full) : (!llvm.ptr, !at, !box, !llvm.ptr<3>) -> ()
      cute.tma_load(%B, %atB, %boxB, %full) : (!llvm.ptr, !at, !box, !llvm.ptr<3>) -> ()
    }
    %step = arith.divui %i, %c64 : i32
    %parity = arith.andi %step, %c1 : i32
    nvvm.mbarrier.try_wait.parity %full, %parity, %ticks : !llvm.ptr<3>, i32, i32
    cute.gemm(%mma, %sums, %partA, %partB, %sums) : (!mma, !sums, !partA, !partA, !sums) -> ()
    // All have read the boxes before the next ones come.
    nvvm.barrier0
  }

  %pair = cute.static : !pair
  cute.copy(%pair, %sums, %partC) : (!pair, !sums, !partC) -> ()
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.barrier0
  scf.if %first {
    %atC = cute.make_int_tuple(%m, %n) : (i32, i32) -> !at
    cute.tma_store(%C, %atC, %sC) : (!llvm.ptr, !at, !sC) -> ()
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0
  }
  llvm.return
}
