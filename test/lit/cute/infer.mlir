// What is known about dynamic leaves goes through the algebra; the verifier compares the written results with the inferred ones.
// RUN: aitmlir-opt %s | FileCheck %s

// Divisibility of a stride survives a division; 32 bits hold every product that the ranges allow.
// CHECK-LABEL: @divide
func.func @divide(%l: !cute.layout<"(128,?{min=1,max=4096}):(?{div=8,min=8,max=4096},1)">) {
  %t = cute.static : !cute.tile<"[32:1;16:1]">
  // CHECK: -> !cute.layout<"((32,16),(4,?{min=1,max=256})):((?{div=8,min=8,max=4096},1),(?{div=256,min=256,max=131072},16))">
  %0 = cute.zipped_divide(%l, %t) : (!cute.layout<"(128,?{min=1,max=4096}):(?{div=8,min=8,max=4096},1)">, !cute.tile<"[32:1;16:1]">) -> !cute.layout<"((32,16),(4,?{min=1,max=256})):((?{div=8,min=8,max=4096},1),(?{div=256,min=256,max=131072},16))">
  return
}

// A product that may leave 32 bits has 64.
// CHECK-LABEL: @widen
func.func @widen(%c: !cute.coord<"(?{min=0,max=65535},?{min=0,max=65535})">, %l: !cute.layout<"(65536,65536):(?{div=8,min=8,max=65536},1)">) {
  // CHECK: -> !cute.int_tuple<"?{i64,min=0,max=4295032830}">
  %0 = cute.layout_eval(%c, %l) : (!cute.coord<"(?{min=0,max=65535},?{min=0,max=65535})">, !cute.layout<"(65536,65536):(?{div=8,min=8,max=65536},1)">) -> !cute.int_tuple<"?{i64,min=0,max=4295032830}">
  return
}

// A result may be declared with less than is known, and wider.
// CHECK-LABEL: @less
func.func @less(%l: !cute.layout<"(4,8):(?{div=8,min=8,max=64},1)">) {
  %0 = cute.flatten(%l) : (!cute.layout<"(4,8):(?{div=8,min=8,max=64},1)">) -> !cute.layout<"(4,8):(?{div=4},1)">
  %1 = cute.flatten(%l) : (!cute.layout<"(4,8):(?{div=8,min=8,max=64},1)">) -> !cute.layout<"(4,8):(?{i64},1)">
  return
}

// Equal names are equal values: the mode coalesces.
// CHECK-LABEL: @named
func.func @named(%l: !cute.layout<"(?n{min=1,max=64},4):(1,?n)">) {
  // CHECK: -> !cute.layout<"?(4*n{min=1,max=64}):1">
  %0 = cute.coalesce(%l) : (!cute.layout<"(?n{min=1,max=64},4):(1,?n)">) -> !cute.layout<"?(4*n{min=1,max=64}):1">
  return
}

// Slicing a view moves its pointer: the alignment is what the offset leaves.
// CHECK-LABEL: @slice
func.func @slice(%v: !cute.view<f16, gmem, align<16>, "(64,64):(?{div=4,min=4,max=64},1)">, %c: !cute.coord<"(?{min=0,max=63},_)">) {
  // CHECK: -> !cute.view<f16, gmem, align<8>, "(64):(1)">
  %0 = cute.slice(%v, %c) : (!cute.view<f16, gmem, align<16>, "(64,64):(?{div=4,min=4,max=64},1)">, !cute.coord<"(?{min=0,max=63},_)">) -> !cute.view<f16, gmem, align<8>, "(64):(1)">
  return
}

// Slicing a swizzled view keeps the swizzle: the offset below it moves.
// CHECK-LABEL: @slice_swizzled
func.func @slice_swizzled(%v: !cute.view<f16, smem, align<128>, "S<3,3,3> o 0 o (64,64):(64,1)">, %c: !cute.coord<"(?{min=0,max=63},_)">) {
  // CHECK: -> !cute.view<f16, smem, align<128>, "S<3,3,3> o ?{div=64,min=0,max=4032} o (64):(1)">
  %0 = cute.slice(%v, %c) : (!cute.view<f16, smem, align<128>, "S<3,3,3> o 0 o (64,64):(64,1)">, !cute.coord<"(?{min=0,max=63},_)">) -> !cute.view<f16, smem, align<128>, "S<3,3,3> o ?{div=64,min=0,max=4032} o (64):(1)">
  return
}
