// Every type, and how its text is made canonical.
// RUN: aitmlir-opt %s | FileCheck %s
// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s
// RUN: aitmlir-opt --emit-bytecode %s | aitmlir-opt | FileCheck %s

// CHECK: @tuples(!cute.int_tuple<"(?{div=4},(2,3))">, !cute.shape<"(1,(2,?))">, !cute.stride<"(1,(?,4@1))">, !cute.coord<"(_,(?,2))">)
func.func private @tuples(!cute.int_tuple<"(?{div=4}, (2, 3))">, !cute.shape<"(1,(2,?))">, !cute.stride<"(1,(?,4@1))">, !cute.coord<"(_,(?,2))">)

// CHECK: @layouts(!cute.layout<"((2,?),4):((1,8),?{i64})">, !cute.composed_layout<"S<3,3,3> o 0 o (8,64):(64,1)">, !cute.swizzle<"S<3,4,3>">, !cute.tile<"[(2,3):(1,2);_]">)
func.func private @layouts(!cute.layout<"((2,?),4):((1,8),?{i64})">, !cute.composed_layout<"S<3,3,3>o0o(8,64):(64,1)">, !cute.swizzle<"S<3,4,3>">, !cute.tile<"[(2,3):(1,2);_]">)

// A named leaf says its facts once, and is equal wherever its name is.
// CHECK: @named(!cute.layout<"(?m,?k{div=8}):(?k,1)">)
func.func private @named(!cute.layout<"(?m,?k{div=8}):(?k,1)">)

// CHECK: @memory(!cute.ptr<f16, gmem, align<16>>, !cute.view<s8, smem, align<128>, "S<2,4,3> o ?{div=16} o (8,64):(64,1)">, !cute.view<f32, rmem, align<4>, "(4,2):(1,4)">)
func.func private @memory(!cute.ptr<f16,gmem,align<16>>, !cute.view<s8, smem, align<128>, "S<2,4,3> o ?{div=16} o (8,64):(64,1)">, !cute.view<f32, rmem, align<4>, "(4,2):(1,4)">)

// CHECK: @atoms(!cute.mma_atom<"mma.sync.m16n8k16.f32.f16.f16.f32">, !cute.mma_atom<"wgmma.m64n128k16.f32.bf16.bf16.ss.k.mn">, !cute.copy_atom<"ldmatrix.x4.trans", bf16>)
func.func private @atoms(!cute.mma_atom<"mma.sync.m16n8k16.f32.f16.f16.f32">, !cute.mma_atom<"wgmma.m64n128k16.f32.bf16.bf16.ss.k.mn">, !cute.copy_atom<"ldmatrix.x4.trans", bf16>)

// CHECK: @tiled(!cute.tiled_mma<"mma.sync.m16n8k8.f32.tf32.tf32.f32", "(2,2,1):(1,2,0)", "[_;32:1;_]">, !cute.tiled_copy<"universal.128", f16, "((8,16),8):((128,1),16)", "(16,64)">)
func.func private @tiled(!cute.tiled_mma<"mma.sync.m16n8k8.f32.tf32.tf32.f32", "(2,2,1):(1,2,0)", "[_;32:1;_]">, !cute.tiled_copy<"universal.128", f16, "((8,16),8):((128,1),16)", "(16,64)">)
