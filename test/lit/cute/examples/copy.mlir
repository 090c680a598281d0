// A copy: one thread moves a row of 32 bytes from global memory to registers and on, 16 bytes at a time.
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s --check-prefix=PARSED
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s
// PARSED-COUNT-2: cute.copy
// CHECK-LABEL: llvm.func @copy
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK-NOT: cute.

!source = !cute.ptr<f16, gmem, align<16>>
!row = !cute.layout<"16:1">
!src = !cute.view<f16, gmem, align<16>, "16:1">
!atom = !cute.copy_atom<"universal.128", f16>
!reg = !cute.view<f16, rmem, align<16>, "16:1">

llvm.func @copy(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>) attributes {nvvm.kernel} {
  // A pointer says how far it is aligned; a view is a pointer and a layout.
  %source = cute.make_ptr(%from) : (!llvm.ptr<1>) -> !source
  %target = cute.make_ptr(%to) : (!llvm.ptr<1>) -> !source
  %row = cute.static : !row
  %src = cute.make_view(%source, %row) : (!source, !row) -> !src
  %dst = cute.make_view(%target, %row) : (!source, !row) -> !src

  // The atom moves 128 bits, so the 16 elements of the first mode take two of them.
  %atom = cute.static : !atom
  %reg = cute.make_fragment_like(%src) : (!src) -> !reg
  cute.copy(%atom, %src, %reg) : (!atom, !src, !reg) -> ()
  cute.copy(%atom, %reg, %dst) : (!atom, !reg, !src) -> ()
  llvm.return
}
