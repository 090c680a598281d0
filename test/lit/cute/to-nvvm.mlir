// RUN: aitmlir-opt -split-input-file --cute-to-nvvm --canonicalize --cse -verify-diagnostics %s | FileCheck %s

// A store to a coordinate: the offset is computed in 32 bits where the ranges allow it.
// CHECK-LABEL: @store
// CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[X:.*]]: f16, %[[I:.*]]: i32, %[[J:.*]]: i32)
func.func @store(%p: !llvm.ptr<1>, %x: f16, %i: i32, %j: i32) {
  // CHECK: %[[ROW:.*]] = arith.muli %[[I]], %{{.*}} : i32
  // CHECK: %[[OFFSET:.*]] = arith.addi %[[ROW]], %[[J]] : i32
  // CHECK: %[[WIDE:.*]] = arith.extsi %[[OFFSET]] : i32 to i64
  // CHECK: %[[AT:.*]] = llvm.getelementptr %[[P]][%[[WIDE]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i16
  // CHECK: llvm.store %[[X]], %[[AT]] {alignment = 2 : i64} : f16, !llvm.ptr<1>
  %q = cute.make_ptr(%p) : (!llvm.ptr<1>) -> !cute.ptr<f16, gmem, align<16>>
  %l = cute.static : !cute.layout<"(64,64):(64,1)">
  %v = cute.make_view(%q, %l) : (!cute.ptr<f16, gmem, align<16>>, !cute.layout<"(64,64):(64,1)">) -> !cute.view<f16, gmem, align<16>, "(64,64):(64,1)">
  %c = cute.make_coord(%i, %j) : (i32, i32) -> !cute.coord<"(?{min=0,max=63},?{min=0,max=63})">
  cute.store(%x, %v, %c) : (f16, !cute.view<f16, gmem, align<16>, "(64,64):(64,1)">, !cute.coord<"(?{min=0,max=63},?{min=0,max=63})">) -> ()
  return
}

// A swizzled address is an exclusive or.
// CHECK-LABEL: @swizzled
func.func @swizzled(%i: i32) -> f32 {
  // CHECK: %[[M:.*]] = arith.andi %{{.*}}, %{{.*}} : i32
  // CHECK: %[[S:.*]] = arith.shrui %[[M]], %{{.*}} : i32
  // CHECK: arith.xori %{{.*}}, %[[S]] : i32
  %q = cute.alloc_shared<1024> : !cute.ptr<f32, smem, align<128>>
  %l = cute.static : !cute.composed_layout<"S<3,2,3> o 0 o (32,32):(32,1)">
  %v = cute.make_view(%q, %l) : (!cute.ptr<f32, smem, align<128>>, !cute.composed_layout<"S<3,2,3> o 0 o (32,32):(32,1)">) -> !cute.view<f32, smem, align<128>, "S<3,2,3> o 0 o (32,32):(32,1)">
  %c = cute.make_coord(%i) : (i32) -> !cute.coord<"(?{min=0,max=31},5)">
  %0 = cute.load(%v, %c) : (!cute.view<f32, smem, align<128>, "S<3,2,3> o 0 o (32,32):(32,1)">, !cute.coord<"(?{min=0,max=31},5)">) -> f32
  return %0 : f32
}

// A zero-filling copy reads nothing where its predicate is false.
// CHECK-LABEL: @zero_fill
func.func @zero_fill(%p: !llvm.ptr<1>, %inside: i1) {
  // CHECK: %[[BYTES:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
  // CHECK: llvm.inline_asm has_side_effects "cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r,~{memory}" %{{.*}}, %{{.*}}, %[[BYTES]]
  %q = cute.make_ptr(%p) : (!llvm.ptr<1>) -> !cute.ptr<f16, gmem, align<16>>
  %s = cute.alloc_shared<8> : !cute.ptr<f16, smem, align<16>>
  %l = cute.static : !cute.layout<"8:1">
  %a = cute.static : !cute.copy_atom<"cp.async.cg.16.zfill", f16>
  %v = cute.make_view(%q, %l) : (!cute.ptr<f16, gmem, align<16>>, !cute.layout<"8:1">) -> !cute.view<f16, gmem, align<16>, "8:1">
  %w = cute.make_view(%s, %l) : (!cute.ptr<f16, smem, align<16>>, !cute.layout<"8:1">) -> !cute.view<f16, smem, align<16>, "8:1">
  cute.copy(%a, %v, %w) if %inside : (!cute.copy_atom<"cp.async.cg.16.zfill", f16>, !cute.view<f16, gmem, align<16>, "8:1">, !cute.view<f16, smem, align<16>, "8:1">) -> ()
  return
}

// Any other copy with a predicate is skipped as a whole.
// CHECK-LABEL: @predicated
func.func @predicated(%p: !llvm.ptr<1>, %inside: i1, %x: f16) {
  // CHECK: scf.if %{{.*}} {
  // CHECK: llvm.store %{{.*}} : i64, !llvm.ptr<1>
  %q = cute.make_ptr(%p) : (!llvm.ptr<1>) -> !cute.ptr<f16, gmem, align<16>>
  %l = cute.static : !cute.layout<"4:1">
  %a = cute.static : !cute.copy_atom<"universal.64", f16>
  %v = cute.make_view(%q, %l) : (!cute.ptr<f16, gmem, align<16>>, !cute.layout<"4:1">) -> !cute.view<f16, gmem, align<16>, "4:1">
  %r = cute.make_fragment_like(%v) : (!cute.view<f16, gmem, align<16>, "4:1">) -> !cute.view<f16, rmem, align<16>, "4:1">
  cute.fill(%x, %r) : (f16, !cute.view<f16, rmem, align<16>, "4:1">) -> ()
  cute.copy(%a, %r, %v) if %inside : (!cute.copy_atom<"universal.64", f16>, !cute.view<f16, rmem, align<16>, "4:1">, !cute.view<f16, gmem, align<16>, "4:1">) -> ()
  return
}

// The matrix descriptor of wgmma: start address, offsets, swizzle.
// CHECK-LABEL: @descriptor
func.func @descriptor() -> i64 {
  // CHECK-DAG: arith.constant 4611686293305360384 : i64
  // CHECK: llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i32
  // CHECK: arith.ori
  %q = cute.alloc_shared<8192> : !cute.ptr<f16, smem, align<1024>>
  %l = cute.static : !cute.composed_layout<"S<3,3,3> o 0 o (128,64):(64,1)">
  %v = cute.make_view(%q, %l) : (!cute.ptr<f16, smem, align<1024>>, !cute.composed_layout<"S<3,3,3> o 0 o (128,64):(64,1)">) -> !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o (128,64):(64,1)">
  %m = cute.static : !cute.mma_atom<"wgmma.m64n128k16.f32.f16.f16.ss.k.k">
  %0 = cute.descriptor<"B">(%m, %v) : (!cute.mma_atom<"wgmma.m64n128k16.f32.f16.f16.ss.k.k">, !cute.view<f16, smem, align<1024>, "S<3,3,3> o 0 o (128,64):(64,1)">) -> i64
  return %0 : i64
}

// -----

// expected-error@+1 {{'func.func' op has an argument of type !cute.layout<"8:1">, which does not lower; pass its pointer and scalars}}
func.func @argument(%l: !cute.layout<"8:1">) {
  return
}

// -----

func.func @escapes() -> !cute.layout<"8:1"> {
  // expected-error@+1 {{'cute.static' op gives a value of the cute dialect to 'func.return', which does not lower; carry its scalars (cute.get_scalars)}}
  %l = cute.static : !cute.layout<"8:1">
  return %l : !cute.layout<"8:1">
}
