// RUN: aitmlir-opt %s | aitmlir-opt | FileCheck %s

// The widest access that both sides are known to allow.
// CHECK-LABEL: @widest
func.func @widest(%a: !cute.view<f16, gmem, align<16>, "(8,?):(1,?{div=8})">, %b: !cute.view<f16, smem, align<8>, "(8,?):(1,8)">, %c: !cute.view<f16, gmem, align<16>, "(8,?):(2,16)">, %d: !cute.view<f32, smem, align<16>, "S<2,2,3> o 0 o (8,8):(1,8)">) {
  // CHECK: cute.widest_copy(%{{.*}}, %{{.*}}) : {{.*}} -> !cute.copy_atom<"universal.128", f16>
  %0 = cute.widest_copy(%a, %a) : (!cute.view<f16, gmem, align<16>, "(8,?):(1,?{div=8})">, !cute.view<f16, gmem, align<16>, "(8,?):(1,?{div=8})">) -> !cute.copy_atom<"universal.128", f16>
  // The alignment of one side.
  // CHECK: cute.widest_copy(%{{.*}}, %{{.*}}) : {{.*}} -> !cute.copy_atom<"universal.64", f16>
  %1 = cute.widest_copy(%a, %b) : (!cute.view<f16, gmem, align<16>, "(8,?):(1,?{div=8})">, !cute.view<f16, smem, align<8>, "(8,?):(1,8)">) -> !cute.copy_atom<"universal.64", f16>
  // Neighbours are not neighbours in memory.
  // CHECK: cute.widest_copy(%{{.*}}, %{{.*}}) : {{.*}} -> !cute.copy_atom<"universal.16", f16>
  %2 = cute.widest_copy(%a, %c) : (!cute.view<f16, gmem, align<16>, "(8,?):(1,?{div=8})">, !cute.view<f16, gmem, align<16>, "(8,?):(2,16)">) -> !cute.copy_atom<"universal.16", f16>
  // A swizzle keeps four neighbours together.
  // CHECK: cute.widest_copy(%{{.*}}, %{{.*}}) : {{.*}} -> !cute.copy_atom<"universal.128", f32>
  %3 = cute.widest_copy(%d, %d) : (!cute.view<f32, smem, align<16>, "S<2,2,3> o 0 o (8,8):(1,8)">, !cute.view<f32, smem, align<16>, "S<2,2,3> o 0 o (8,8):(1,8)">) -> !cute.copy_atom<"universal.128", f32>
  return
}
