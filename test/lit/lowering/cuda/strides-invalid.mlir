// RUN: aitmlir-opt %s -split-input-file -verify-diagnostics --ait-lower-host=chip=sm_80

// Only kernels heed strides.
// expected-error@+1 {{ait.strides of tensor 0 is for the tensors of kernels, and 'ait.buffer.reshape' takes this one}}
func.func @main(%x: memref<4x4xf32> {ait.strides = strided<[8, 1]>}) {
  %r = ait.buffer.reshape %x : memref<4x4xf32> to memref<16xf32>
  return
}
// -----
// expected-error@+1 {{ait.strides of tensor 0 has a stride for each of 2 dimensions, got strided<[8, 1, 1]>}}
func.func @main(%x: memref<4x4xf32> {ait.strides = strided<[8, 1, 1]>}) {
  return
}
