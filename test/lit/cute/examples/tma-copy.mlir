// A tensor copy on sm_90a: one thread brings a (64,64) box of a matrix into swizzled shared memory by TMA and stores it to the box across the diagonal of another.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s
// PARSED: cute.tma_load
// PARSED: cute.tma_store
// CHECK-LABEL: llvm.func @move
// CHECK-SAME: cute.tensor_maps = ["0: f16 box [64, 64] swizzle 128", "1: f16 box [64, 64] swizzle 128"]
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3,$4}], [$2];
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$0, {$2,$3}], [$1];
// CHECK-NOT: cute.tma

!sp = !cute.ptr<f16, smem, align<1024>>
!sl = !cute.composed_layout<"S<3,3,3> o 0 o (64,64):(64,1)">
!tile = !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o (64,64):(64,1)">
!at = !cute.int_tuple<"(?{div=64,min=0,max=65536},?{div=64,min=0,max=65536})">

llvm.mlir.global internal @barrier() {addr_space = 3 : i32, alignment = 8 : i64} : i64

llvm.func @move(%from: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %to: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant})
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %bx = nvvm.read.ptx.sreg.ctaid.x : i32
  %by = nvvm.read.ptx.sreg.ctaid.y : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %bytes = arith.constant 8192 : i32
  %ticks = arith.constant 10000000 : i32
  %barrier = llvm.mlir.addressof @barrier : !llvm.ptr<3>

  // The view says what the box is: (64,64) elements, rows of 128 bytes, swizzled.
  %buffer = cute.alloc_shared<4096> : !sp
  %rows = cute.static : !sl
  %tile = cute.make_view(%buffer, %rows) : (!sp, !sl) -> !tile
  %x = arith.muli %bx, %c64 : i32
  %y = arith.muli %by, %c64 : i32
  %at = cute.make_int_tuple(%x, %y) : (i32, i32) -> !at
  %across = cute.make_int_tuple(%y, %x) : (i32, i32) -> !at

  %first = arith.cmpi eq, %tid, %c0 : i32
  scf.if %first {
    nvvm.mbarrier.init %barrier, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.mbarrier.arrive.expect_tx %barrier, %bytes : !llvm.ptr<3>, i32
    cute.tma_load(%from, %at, %tile, %barrier) : (!llvm.ptr, !at, !tile, !llvm.ptr<3>) -> ()
    nvvm.mbarrier.try_wait.parity %barrier, %c0, %ticks : !llvm.ptr<3>, i32, i32
    cute.tma_store(%to, %across, %tile) : (!llvm.ptr, !at, !tile) -> ()
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0
  }
  llvm.return
}
