// An MMA: one warp multiplies a (16,16) and an (8,16) matrix of f16, both row-major, into a (16,8) matrix of f32.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s
// PARSED: cute.gemm
// CHECK-LABEL: llvm.func @mma
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 8 : i64} : i64, !llvm.ptr<1>
// CHECK-NOT: cute.

!pa = !cute.ptr<f16, gmem, align<16>>
!pc = !cute.ptr<f32, gmem, align<16>>
!la = !cute.layout<"(16,16):(16,1)">
!lb = !cute.layout<"(8,16):(16,1)">
!lc = !cute.layout<"(16,8):(8,1)">
!A = !cute.view<f16, gmem, align<16>, "(16,16):(16,1)">
!B = !cute.view<f16, gmem, align<16>, "(8,16):(16,1)">
!C = !cute.view<f32, gmem, align<16>, "(16,8):(8,1)">
!atom = !cute.mma_atom<"mma.sync.m16n8k16.f32.f16.f16.f32">
!warps = !cute.shape<"(1,1,1)">
!mma = !cute.tiled_mma<"mma.sync.m16n8k16.f32.f16.f16.f32", "(1,1,1):(1,1,1)", "[_;_;_]">
!partA = !cute.view<f16, gmem, align<4>, "((2,2,2),1,1):((1,128,8),256,16)">
!partB = !cute.view<f16, gmem, align<4>, "((2,2),1,1):((1,8),128,16)">
!partC = !cute.view<f32, gmem, align<8>, "((2,2),1,1):((1,64),128,8)">
!regA = !cute.view<f16, rmem, align<16>, "((2,2,2),1,1):((1,2,4),8,8)">
!regB = !cute.view<f16, rmem, align<16>, "((2,2),1,1):((1,2),4,4)">
!regC = !cute.view<f32, rmem, align<16>, "((2,2),1,1):((1,2),4,4)">
!two = !cute.copy_atom<"universal.32", f16>
!pair = !cute.copy_atom<"universal.64", f32>

llvm.func @mma(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %pa = cute.make_ptr(%a) : (!llvm.ptr<1>) -> !pa
  %pb = cute.make_ptr(%b) : (!llvm.ptr<1>) -> !pa
  %pc = cute.make_ptr(%c) : (!llvm.ptr<1>) -> !pc
  %la = cute.static : !la
  %lb = cute.static : !lb
  %lc = cute.static : !lc
  %A = cute.make_view(%pa, %la) : (!pa, !la) -> !A
  %B = cute.make_view(%pb, %lb) : (!pa, !lb) -> !B
  %C = cute.make_view(%pc, %lc) : (!pc, !lc) -> !C

  // The atom's thread-value layouts say which elements this thread has: (values, M, K), (values, N, K), (values, M, N).
  %atom = cute.static : !atom
  %warps = cute.static : !warps
  %mma = cute.make_tiled_mma(%atom, %warps) : (!atom, !warps) -> !mma
  %partA = cute.partition<"A">(%mma, %A, %tid) : (!mma, !A, i32) -> !partA
  %partB = cute.partition<"B">(%mma, %B, %tid) : (!mma, !B, i32) -> !partB
  %partC = cute.partition<"C">(%mma, %C, %tid) : (!mma, !C, i32) -> !partC

  // Neighbours in K lie together, two f16 in 32 bits and two f32 in 64.
  %regA = cute.make_fragment<"A">(%mma, %partA) : (!mma, !partA) -> !regA
  %regB = cute.make_fragment<"B">(%mma, %partB) : (!mma, !partB) -> !regB
  %regC = cute.make_fragment<"C">(%mma, %partC) : (!mma, !partC) -> !regC
  %two = cute.static : !two
  %pair = cute.static : !pair
  cute.copy(%two, %partA, %regA) : (!two, !partA, !regA) -> ()
  cute.copy(%two, %partB, %regB) : (!two, !partB, !regB) -> ()
  %zero = arith.constant 0.0 : f32
  cute.fill(%zero, %regC) : (f32, !regC) -> ()
  cute.gemm(%mma, %regC, %regA, %regB, %regC) : (!mma, !regC, !regA, !regB, !regC) -> ()
  cute.copy(%pair, %regC, %partC) : (!pair, !regC, !partC) -> ()
  llvm.return
}
