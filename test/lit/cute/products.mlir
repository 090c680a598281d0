// What products of single threads and roundings become.
// RUN: aitmlir-opt --cute-to-nvvm --canonicalize --cse %s | FileCheck %s

// The multiply-add of a thread: each step of K takes the sums of the one before.
// CHECK-LABEL: @multiply_add
!mma = !cute.tiled_mma<"fma.f32", "(1,1,1):(0,0,0)", "[_;_;_]">
!a = !cute.view<f32, rmem, align<16>, "(1,1,2):(0,0,1)">
!sum = !cute.view<f32, rmem, align<16>, "(1,1,1):(0,0,0)">
func.func @multiply_add(%x: f32) -> f32 {
  // CHECK: %[[FIRST:.*]] = llvm.intr.fma(%{{.*}}, %{{.*}}, %{{.*}}) : (f32, f32, f32) -> f32
  // CHECK: llvm.intr.fma(%{{.*}}, %{{.*}}, %[[FIRST]]) : (f32, f32, f32) -> f32
  %m = cute.static : !mma
  %l = cute.static : !cute.layout<"(1,1,2):(0,0,1)">
  %o = cute.static : !cute.layout<"(1,1,1):(0,0,0)">
  %a = cute.make_fragment_like<"f32">(%l) : (!cute.layout<"(1,1,2):(0,0,1)">) -> !a
  %c = cute.make_fragment_like<"f32">(%o) : (!cute.layout<"(1,1,1):(0,0,0)">) -> !sum
  cute.fill(%x, %a) : (f32, !a) -> ()
  cute.fill(%x, %c) : (f32, !sum) -> ()
  cute.gemm(%m, %c, %a, %a, %c) : (!mma, !sum, !a, !a, !sum) -> ()
  %at = cute.static : !cute.coord<"(0,0,0)">
  %0 = cute.load(%c, %at) : (!sum, !cute.coord<"(0,0,0)">) -> f32
  return %0 : f32
}

// An f32 is rounded to tf32, not cut off.
// CHECK-LABEL: @rounded
func.func @rounded(%x: f32) -> f32 {
  // CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : f32 to i32
  // CHECK: llvm.inline_asm "cvt.rna.tf32.f32 $0, $1;", "=r,r" %[[BITS]] : (i32) -> i32
  %l = cute.static : !cute.layout<"1:0">
  %a = cute.make_fragment_like<"f32">(%l) : (!cute.layout<"1:0">) -> !cute.view<f32, rmem, align<16>, "1:0">
  %b = cute.make_fragment_like<"tf32">(%l) : (!cute.layout<"1:0">) -> !cute.view<tf32, rmem, align<16>, "1:0">
  cute.fill(%x, %a) : (f32, !cute.view<f32, rmem, align<16>, "1:0">) -> ()
  cute.convert(%a, %b) : (!cute.view<f32, rmem, align<16>, "1:0">, !cute.view<tf32, rmem, align<16>, "1:0">) -> ()
  %at = cute.static : !cute.coord<"0">
  %0 = cute.load(%b, %at) : (!cute.view<tf32, rmem, align<16>, "1:0">, !cute.coord<"0">) -> f32
  return %0 : f32
}

// Registers have no addresses: 16 bytes of memory go to registers wherever they are.
// CHECK-LABEL: @scattered
func.func @scattered(%p: !llvm.ptr<1>) -> f32 {
  // CHECK: %[[ALL:.*]] = llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK-COUNT-4: llvm.extractelement %[[ALL]]
  %q = cute.make_ptr(%p) : (!llvm.ptr<1>) -> !cute.ptr<f32, gmem, align<16>>
  %l = cute.static : !cute.layout<"4:1">
  %v = cute.make_view(%q, %l) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"4:1">) -> !cute.view<f32, gmem, align<16>, "4:1">
  %w = cute.static : !cute.layout<"(2,4):(1,2)">
  %r = cute.make_fragment_like<"f32">(%w) : (!cute.layout<"(2,4):(1,2)">) -> !cute.view<f32, rmem, align<16>, "(2,4):(1,2)">
  %row = cute.static : !cute.coord<"(1,_)">
  %t = cute.slice(%r, %row) : (!cute.view<f32, rmem, align<16>, "(2,4):(1,2)">, !cute.coord<"(1,_)">) -> !cute.view<f32, rmem, align<4>, "(4):(2)">
  %a = cute.static : !cute.copy_atom<"universal.128", f32>
  cute.copy(%a, %v, %t) : (!cute.copy_atom<"universal.128", f32>, !cute.view<f32, gmem, align<16>, "4:1">, !cute.view<f32, rmem, align<4>, "(4):(2)">) -> ()
  %at = cute.static : !cute.coord<"(1,2)">
  %0 = cute.load(%r, %at) : (!cute.view<f32, rmem, align<16>, "(2,4):(1,2)">, !cute.coord<"(1,2)">) -> f32
  return %0 : f32
}

// Whole patterns pass by a swizzle: the stage is added behind it.
// CHECK-LABEL: @stage
func.func @stage(%i: i32, %s: i32) -> f32 {
  // CHECK: %[[STAGE:.*]] = arith.muli %{{.*}}, %c1024{{.*}} : i32
  // CHECK: %[[SWIZZLED:.*]] = arith.xori %{{.*}}, %{{.*}} : i32
  // CHECK: arith.addi %[[STAGE]], %[[SWIZZLED]] : i32
  %q = cute.alloc_shared<4096> : !cute.ptr<f32, smem, align<128>>
  %l = cute.static : !cute.composed_layout<"S<3,2,3> o 0 o (32,32,4):(32,1,1024)">
  %v = cute.make_view(%q, %l) : (!cute.ptr<f32, smem, align<128>>, !cute.composed_layout<"S<3,2,3> o 0 o (32,32,4):(32,1,1024)">) -> !cute.view<f32, smem, align<128>, "S<3,2,3> o 0 o (32,32,4):(32,1,1024)">
  %c = cute.make_coord(%i, %s) : (i32, i32) -> !cute.coord<"(?{min=0,max=31},5,?{min=0,max=3})">
  %0 = cute.load(%v, %c) : (!cute.view<f32, smem, align<128>, "S<3,2,3> o 0 o (32,32,4):(32,1,1024)">, !cute.coord<"(?{min=0,max=31},5,?{min=0,max=3})">) -> f32
  return %0 : f32
}

// Registers of two 16-bit elements are filled as such, and made of two f32 by one instruction.
// CHECK-LABEL: @halves
!pair = !cute.layout<"2:1">
!pair32 = !cute.view<f32, rmem, align<16>, "2:1">
!pair16 = !cute.view<bf16, rmem, align<16>, "2:1">
func.func @halves(%x: f32, %y: bf16) -> (bf16, bf16) {
  // CHECK: %[[LOW:.*]] = arith.extui %{{.*}} : i16 to i32
  // CHECK: %[[HIGH:.*]] = arith.shli %[[LOW]], %{{.*}} : i32
  // CHECK: %[[BOTH:.*]] = arith.ori %[[LOW]], %[[HIGH]] : i32
  // CHECK: llvm.store %[[BOTH]], %{{.*}} : i32, !llvm.ptr
  // CHECK: llvm.inline_asm "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f"
  %l = cute.static : !pair
  %a = cute.make_fragment_like<"f32">(%l) : (!pair) -> !pair32
  %b = cute.make_fragment_like<"bf16">(%l) : (!pair) -> !pair16
  %c = cute.make_fragment_like<"bf16">(%l) : (!pair) -> !pair16
  cute.fill(%y, %b) : (bf16, !pair16) -> ()
  cute.fill(%x, %a) : (f32, !pair32) -> ()
  cute.convert(%a, %c) : (!pair32, !pair16) -> ()
  %at = cute.static : !cute.coord<"1">
  %0 = cute.load(%b, %at) : (!pair16, !cute.coord<"1">) -> bf16
  %1 = cute.load(%c, %at) : (!pair16, !cute.coord<"1">) -> bf16
  return %0, %1 : bf16, bf16
}
