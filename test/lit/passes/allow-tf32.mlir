// RUN: aitmlir-opt --ait-allow-tf32 %s | FileCheck %s

// CHECK-LABEL: @products
func.func @products(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x8xf16>, %d: tensor<8x4xf16>, %if: i1)
    -> (tensor<4x4xf32>, tensor<4x4xf16>, tensor<4x4xf32>) {
  // CHECK: ait.gemm {{.*}} row row {tf32} : tensor<4x8xf32>
  %0 = ait.gemm %a, %b row row : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  // CHECK: ait.gemm {{.*}} row row : tensor<4x8xf16>
  %1 = ait.gemm %c, %d row row : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf16>
  // CHECK: scf.if
  // CHECK: ait.gemm {{.*}} row row {tf32} : tensor<4x8xf32>
  %2 = scf.if %if -> (tensor<4x4xf32>) {
    %3 = ait.gemm %a, %b row row : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
    scf.yield %3 : tensor<4x4xf32>
  } else {
    scf.yield %0 : tensor<4x4xf32>
  }
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf16>, tensor<4x4xf32>
}
