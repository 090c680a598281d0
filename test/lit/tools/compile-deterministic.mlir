// The same input gives the same bytes, whatever the folder and the time.
// RUN: rm -rf %t && mkdir -p %t/a %t/b
// RUN: aitmlir-compile %s -o %t/a/model.so
// RUN: cp %s %t/b && cd %t/b && aitmlir-compile compile-deterministic.mlir -o model.so
// RUN: cmp %t/a/model.so %t/b/model.so
// RUN: cmp %t/a/model.h %t/b/model.h

func.func @main(%x: tensor<?x8xf32> {ait.name = "x", ait.dims = ["n", ""]}, %y: tensor<8x16xf32> {ait.name = "y"}) -> (tensor<?x16xf32> {ait.name = "z"}, tensor<?xf32> {ait.name = "s"}) {
  %0 = ait.gemm %x, %y row row : tensor<?x8xf32>, tensor<8x16xf32> -> tensor<?x16xf32>
  %1 = ait.softmax softmax %0 axis 1 : tensor<?x16xf32> -> tensor<?x16xf32>
  %2 = ait.reduce sum %0 axes [1] : tensor<?x16xf32> -> tensor<?xf32>
  return %1, %2 : tensor<?x16xf32>, tensor<?xf32>
}
