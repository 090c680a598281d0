// RUN: rm -rf %t && mkdir %t
// RUN: not aitmlir-compile %s --target cuda:sm_80 --emit=kernel -o %t/k --embed-ptx --no-cache 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not aitmlir-compile %s --target cuda:sm_80 --emit=kernel --kernel k7_map -o %t/k 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not aitmlir-compile %s --emit=kernel -o %t/k 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not aitmlir-compile %s --target cuda:sm_80 --kernel k0_softmax -o %t/k.so 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not aitmlir-compile %s --target cuda:sm_80 --emit=kernel --kernel k2_map -o %t/k 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: aitmlir-compile %s --target cuda:sm_80 --emit=kernel --kernel k0_softmax -o %t/soft.o --embed-ptx --no-cache
// RUN: FileCheck %s --check-prefix=HEADER < %t/soft.h
// RUN: aitmlir-compile %s --target cuda:sm_80 --emit=kernel --kernel k1_gather -o %t/pick --embed-ptx --no-cache
// RUN: FileCheck %s --check-prefix=RECORD < %t/pick.h

// SEVERAL: error: the model has 3 kernels; name the one to export with --kernel: k0_softmax (ait.softmax), k1_gather (ait.gather), k2_map (ait.map)
// UNKNOWN: error: the model has no kernel 'k7_map'; it has k0_softmax
// CPU: error: --emit=kernel makes a kernel for a GPU: give --target, such as cuda:sm_90a
// OTHER: error: --kernel names the kernel for --emit=kernel
// SCALAR: error: the kernel 'k2_map' cannot be exported: its argument 1 is a scalar (f32) that the model computes

// HEADER: The kernel 'soft' (ait.softmax, cuda:sm_80)
// HEADER: /* 9: x: data is NULL */
// HEADER: x: dimension 0 (rows) is not in 1..=4096
// HEADER: 'x' f32[rows=1..4096, 8]: read; row-major, data aligned to 16 bytes.
// HEADER-NEXT: typedef struct soft_tensor_x {
// HEADER-NEXT: const float *data;
// HEADER-NEXT: int64_t rows;
// HEADER-NEXT: } soft_tensor_x;
// HEADER: int soft_load(soft_module **module, int device);
// HEADER: static inline int soft_launch(soft_module *module, soft_tensor_x x, soft_tensor_output0 output0,
// HEADER-NEXT: void *stream) {

// RECORD: record: five int64_t in device memory
// RECORD: pick_launch(pick_module *module, pick_tensor_input0 input0, pick_tensor_i i, pick_tensor_z z,
// RECORD-NEXT: int64_t *record, void *stream)
func.func @main(%x: tensor<?x8xf32> {ait.name = "x", ait.dims = ["rows", ""], ait.min = array<i64: 1, 8>, ait.max = array<i64: 4096, 8>},
                %i: tensor<3xi64> {ait.name = "i"}, %p: tensor<f32> {ait.name = "p"})
    -> (tensor<3x8xf32> {ait.name = "z"}, tensor<?x8xf32> {ait.name = "s"}) {
  %0 = ait.softmax softmax %x axis 1 : tensor<?x8xf32> -> tensor<?x8xf32>
  %1 = ait.gather slices %0[%i] : tensor<?x8xf32>, tensor<3xi64> -> tensor<3x8xf32>
  %s = tensor.extract %p[] : tensor<f32>
  %2 = ait.map ins(%0 : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%e: f32):
    %r = arith.mulf %e, %s : f32
    ait.yield %r : f32
  }
  return %1, %2 : tensor<3x8xf32>, tensor<?x8xf32>
}
