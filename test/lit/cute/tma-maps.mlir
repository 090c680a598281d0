// RUN: aitmlir-opt --cute-to-nvvm -verify-diagnostics %s

// Copies that ask different things of one tensor map are told, since the host encodes it once.
llvm.func @two_boxes(%map: !llvm.ptr) {
  %p = cute.alloc_shared<4096> : !cute.ptr<f16, smem, align<1024>>
  %l = cute.static : !cute.layout<"(64,64):(64,1)">
  %h = cute.static : !cute.layout<"(32,64):(64,1)">
  %all = cute.make_view(%p, %l) : (!cute.ptr<f16, smem, align<1024>>, !cute.layout<"(64,64):(64,1)">) -> !cute.view<f16, smem, align<1024>, "(64,64):(64,1)">
  %part = cute.make_view(%p, %h) : (!cute.ptr<f16, smem, align<1024>>, !cute.layout<"(32,64):(64,1)">) -> !cute.view<f16, smem, align<1024>, "(32,64):(64,1)">
  %at = cute.static : !cute.int_tuple<"(0,0)">
  cute.tma_store(%map, %at, %all) : (!llvm.ptr, !cute.int_tuple<"(0,0)">, !cute.view<f16, smem, align<1024>, "(64,64):(64,1)">) -> ()
  // expected-error@+1 {{'cute.tma_store' op needs a map of f16 box [64, 32] swizzle 0, another copy one of f16 box [64, 64] swizzle 0: give it a map of its own}}
  cute.tma_store(%map, %at, %part) : (!llvm.ptr, !cute.int_tuple<"(0,0)">, !cute.view<f16, smem, align<1024>, "(32,64):(64,1)">) -> ()
  llvm.return
}
