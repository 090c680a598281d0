// x w^T and y v^T in one kernel, for any numbers of rows.
func.func @main(%x: tensor<?x64xf16> {ait.name = "x", ait.dims = ["m", ""], ait.min = array<i64: 0, 64>},
                %y: tensor<?x64xf16> {ait.name = "y", ait.dims = ["n", ""], ait.min = array<i64: 0, 64>},
                %w: tensor<72x64xf16> {ait.name = "w"}, %v: tensor<40x64xf16> {ait.name = "v"})
    -> (tensor<?x72xf16> {ait.name = "p", ait.dims = ["m", ""]}, tensor<?x40xf16> {ait.name = "q", ait.dims = ["n", ""]}) {
  %0:2 = ait.group(%x, %y, %w, %v : tensor<?x64xf16>, tensor<?x64xf16>, tensor<72x64xf16>, tensor<40x64xf16>) -> tensor<?x72xf16>, tensor<?x40xf16> members {
  ^bb0(%a: tensor<?x64xf16>, %b: tensor<?x64xf16>, %c: tensor<72x64xf16>, %d: tensor<40x64xf16>):
    %p = ait.gemm %a, %c row col : tensor<?x64xf16>, tensor<72x64xf16> -> tensor<?x72xf16>
    %q = ait.gemm %b, %d row col : tensor<?x64xf16>, tensor<40x64xf16> -> tensor<?x40xf16>
    ait.yield %p, %q : tensor<?x72xf16>, tensor<?x40xf16>
  }
  return %0#0, %0#1 : tensor<?x72xf16>, tensor<?x40xf16>
}
