// What trips users of CuTe backends, and is no trouble here; docs/cute.md has the table. What is an error is in invalid.mlir.
// RUN: aitmlir-opt %s --split-input-file | FileCheck %s
// RUN: aitmlir-opt %s --split-input-file --cute-to-nvvm --canonicalize --cse | FileCheck %s --check-prefix=NVVM

// The contiguous mode of a 3-D tensor is the one whose stride the type says is 1, wherever it is: nothing is deduced from strides at run time. Its rows
// are copied 16 bytes at a time, since the other strides are known to be multiples of 8.
// CHECK-LABEL: @leading_in_the_middle
// CHECK: cute.slice{{.*}} -> !cute.view<f16, gmem, align<16>, "(64):(1)">
// NVVM-LABEL: @leading_in_the_middle
// NVVM-COUNT-8: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
!shape = !cute.shape<"(?,64,?)">
!stride = !cute.stride<"(?{i64,div=8},1,?{i64,div=8})">
!layout = !cute.layout<"(?,64,?):(?{i64,div=8},1,?{i64,div=8})">
!tensor = !cute.view<f16, gmem, align<16>, "(?,64,?):(?{i64,div=8},1,?{i64,div=8})">
!row = !cute.view<f16, gmem, align<16>, "(64):(1)">
!out = !cute.layout<"(64):(1)">
llvm.func @leading_in_the_middle(%p: !llvm.ptr<1>, %l: i32, %n: i32, %s0: i64, %s2: i64, %i: i32, %k: i32, %q: !llvm.ptr<1>) {
  %ptr = cute.make_ptr(%p) : (!llvm.ptr<1>) -> !cute.ptr<f16, gmem, align<16>>
  %shape = cute.make_shape(%l, %n) : (i32, i32) -> !shape
  %stride = cute.make_stride(%s0, %s2) : (i64, i64) -> !stride
  %layout = cute.make_layout(%shape, %stride) : (!shape, !stride) -> !layout
  %tensor = cute.make_view(%ptr, %layout) : (!cute.ptr<f16, gmem, align<16>>, !layout) -> !tensor
  %at = cute.make_coord(%i, %k) : (i32, i32) -> !cute.coord<"(?{min=0,max=1023},_,?{min=0,max=1023})">
  %row = cute.slice(%tensor, %at) : (!tensor, !cute.coord<"(?{min=0,max=1023},_,?{min=0,max=1023})">) -> !row
  %flat = cute.static : !out
  %to = cute.make_ptr(%q) : (!llvm.ptr<1>) -> !cute.ptr<f16, gmem, align<16>>
  %dst = cute.make_view(%to, %flat) : (!cute.ptr<f16, gmem, align<16>>, !out) -> !row
  %atom = cute.static : !cute.copy_atom<"universal.128", f16>
  cute.copy(%atom, %row, %dst) : (!cute.copy_atom<"universal.128", f16>, !row, !row) -> ()
  llvm.return
}

// -----

// The coordinates of a 3-D tensor, as TMA takes them, are tiled as the tensor is: each mode steps along its own dimension.
// CHECK-LABEL: @basis_strides
// CHECK: cute.make_identity_layout(%{{.*}}) : !cute.shape<"(?,?,?)"> -> !cute.layout<"(?,?,?):(1@0,1@1,1@2)">
// CHECK: cute.zipped_divide{{.*}} -> !cute.layout<"((64,32,1),(2,2,4)):((1@0,1@1,0),(64@0,32@1,1@2))">
// NVVM-LABEL: @basis_strides
func.func @basis_strides(%m: i32, %n: i32, %l: i32) {
  %shape = cute.make_shape(%m, %n, %l) : (i32, i32, i32) -> !cute.shape<"(?,?,?)">
  %all = cute.make_identity_layout(%shape) : !cute.shape<"(?,?,?)"> -> !cute.layout<"(?,?,?):(1@0,1@1,1@2)">
  %known = cute.static : !cute.layout<"(128,64,4):(1@0,1@1,1@2)">
  %tile = cute.static : !cute.tile<"[64:1;32:1;1:0]">
  %tiles = cute.zipped_divide(%known, %tile) : (!cute.layout<"(128,64,4):(1@0,1@1,1@2)">, !cute.tile<"[64:1;32:1;1:0]">) -> !cute.layout<"((64,32,1),(2,2,4)):((1@0,1@1,0),(64@0,32@1,1@2))">
  return
}
