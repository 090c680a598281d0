// The operations of the ait dialect, grouped by what they are for, alphabetical within a group.
// The description of an operation states its meaning and its constraints (C1, C2, ...); the verifier in
// dialects/src/ait/verify/ and the tests in test/lit/dialects/ait/ cite the same labels.

#ifndef AIT_OPS_TD
#define AIT_OPS_TD

include "AitBase.td"

//===-- Structure ---------------------------------------------------------------------------------------------===//

def Ait_ConstantOp : Ait_Op<"constant", [Pure, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A constant tensor";
  let description = [{
    C1: the value is a dense elements attribute or `#ait.weights`. C2: the type has static shape.
    ```mlir
    %0 = ait.constant dense<[1, 2]> : tensor<2xi64>
    %1 = ait.constant #ait.weights<"fc.weight"> : tensor<10x4xf32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Ait_IndexOp : Ait_Op<"index", [Pure]> {
  let summary = "The coordinate of the element that the enclosing map computes";
  let description = [{
    C1: stands in the region of an `ait.map`. C2: `dim` is below the rank of the map's result.
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim attr-dict";
}

def Ait_LaunchOp : Ait_Op<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs an outlined kernel";
  let description = [{
    Calls the kernel function `callee`. Before the memory plan it takes tensors and gives tensors, `dims` holding one index for each `?`
    of the results from left to right. After the plan its operands are buffers, the results are written to `outs`, and it has no
    results and no `dims`.

    C1: `callee` names a function of the module with matching argument types. C2: either `outs` or results, not both. C3: one `dims` index
    for each `?` of the results.
    ```mlir
    %1 = ait.launch @k0(%0, %n : tensor<?x4xf32>, index) dims(%n) -> tensor<?x4xf32>
    ait.launch @k0(%a, %n : memref<?x4xf32>, index) outs(%b : memref<?x4xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$inputs, Variadic<Index>:$dims,
                       Variadic<AnyMemRef>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee `(` ($inputs^ `:` type($inputs))? `)` (`dims` `(` $dims^ `)`)? (`outs` `(` $outs^ `:` type($outs) `)`)?
    attr-dict (`->` type($results)^)?
  }];
}

def Ait_YieldOp : Ait_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "Ends a region of scalar code with its values";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===-- Elementwise -------------------------------------------------------------------------------------------===//

def Ait_CastOp : Ait_ComputeOp<"cast"> {
  let summary = "Converts the elements to another type";
  let description = [{
    Float to integer truncates toward zero; out of range is clamped only where `saturate` is set. To `i1`: not equal to zero.
    C1: the shapes are equal.
  }];
  let arguments = (ins AnyRankedTensor:$input, UnitAttr:$saturate);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
}

def Ait_ExpandOp : Ait_ComputeOp<"expand"> {
  let summary = "Broadcasts to a larger shape";
  let description = [{
    C1: the input's rank is at most the result's. C2: aligned at the right, each static input dimension is 1 or the result's.
    C3: one `dims` index for each `?` of the result.
  }];
  let arguments = (ins AnyRankedTensor:$input, Variadic<Index>:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input (`dims` `(` $dims^ `)`)? attr-dict `:` type($input) `to` type($result)";
}

def Ait_MapOp : Ait_ComputeOp<"map", [AttrSizedOperandSegments]> {
  let summary = "Fused elementwise code over broadcast operands";
  let description = [{
    Evaluates the region once for each element of the result. The region has one scalar argument for each input (signless) and
    yields one scalar for each result; `ait.index` gives the element's coordinate. With `dims` the result's dynamic dimensions are
    given; without, they are those of the broadcast inputs.

    C1: the inputs broadcast to the result shape. C2: the region's arguments are the inputs' element types, signless. C3: the yielded types are the
    results' element types, signless. C4: all results have one shape. C5: `dims` is empty or holds one index for each `?`.
    ```mlir
    %2 = ait.map ins(%0, %1 : tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
    ^bb0(%x: f32, %b: f32):
      %s = arith.addf %x, %b : f32
      ait.yield %s : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<Index>:$dims);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`ins` `(` $inputs^ `:` type($inputs) `)`)? (`dims` `(` $dims^ `)`)? attr-dict `->` type($results) $body
  }];
}

def Ait_RandomOp : Ait_ComputeOp<"random"> {
  let summary = "Pseudo-random numbers from a fixed seed";
  let description = [{
    Philox-4x32-10 keyed by `seed`, counted by the linear element index: the same numbers on every target.
    `uniform`: in [low, high); `normal`: mean `low`, standard deviation `high` (Box-Muller).
    C1: one `dims` index for each `?` of the result. C2: the element type is a float.
  }];
  let arguments = (ins Ait_RandomKind:$kind, F64Attr:$low, F64Attr:$high, I64Attr:$seed, Variadic<Index>:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $low `,` $high `seed` $seed (`dims` `(` $dims^ `)`)? attr-dict `:` type($result)";
}

def Ait_WhereOp : Ait_ComputeOp<"where"> {
  let summary = "Chooses elementwise between two tensors, with broadcasting";
  let description = [{
    C1: the condition is `i1`. C2: both choices and the result have one element type. C3: the operands broadcast to the result.
  }];
  let arguments = (ins AnyRankedTensor:$condition, AnyRankedTensor:$on_true, AnyRankedTensor:$on_false);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($on_true) `,` type($on_false) `->` type($result)
  }];
}

//===-- Contractions ------------------------------------------------------------------------------------------===//

def Ait_AttentionOp : Ait_ComputeOp<"attention"> {
  let summary = "Scaled dot-product attention";
  let description = [{
    softmax(scale * Q K^T + bias, masked by `causal`) V, with Q [B, H, M, D], K [B, Hkv, N, D], V [B, Hkv, N, Dv] and H a multiple of Hkv
    (grouped queries). A row whose scores are all masked gives 0. `bias` broadcasts to [B, H, M, N].
    C1: the ranks are 4. C2: the head sizes of Q and K agree. C3: K and V agree in B, Hkv, N. C4: at most one bias. C5: H is a multiple of Hkv,
    the result is [B, H, M, Dv] and the bias broadcasts.
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
                       Variadic<AnyRankedTensor>:$bias, F64Attr:$scale,
                       DefaultValuedAttr<Ait_CausalKind, "::aitmlir::ait::CausalKind::none">:$causal);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value `scale` $scale (`causal` $causal^)? (`bias` `(` $bias^ `:` type($bias) `)`)? attr-dict `:` type($query) `,` type($key)
    `,` type($value) `->` type($result)
  }];
}

def Ait_B2bGemmOp : Ait_ComputeOp<"b2b_gemm", [AttrSizedOperandSegments]> {
  let summary = "Back-to-back product without softmax";
  let description = [{
    out = mask(alpha1 * act(alpha0 * Q K^T + bias)) V, Q [B, H, M, D], K [B, H, N, D], V [B, H, N, Dv]; the region is `act` (one
    scalar argument of the accumulator type); with `divide_by_length` the score is also divided by N.

    Jagged: with `offsets` [B + 1], Q [T, H, D], K [T, H, D] and V [T, H, Dv] hold the rows of B sequences one after the other. Sequence b has the rows from `offsets`[b] to
    `offsets`[b + 1], at most `max_length` = L of them, and is a product of its own; the bias broadcasts to [B, H, L, L], and `divide_by_length` divides by L. Offsets ascend from 0 to T: else it is a
    run-time error.

    C1: the ranks are 4; jagged 3. C2: Q and K agree in B, H, D, and K and V in B, H, N; jagged in T, H, D and T, H. C3: at most one bias. C4: the result is [B, H, M, Dv], jagged [T, H, Dv],
    and the bias broadcasts to [B, H, M, N], jagged [B, H, L, L]. C5: the region takes and gives one accumulator. C6: `offsets` have rank 1 and are i32 or i64; `max_length` is there if they are, and at least 1.
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
                       Variadic<AnyRankedTensor>:$bias, Optional<AnyRankedTensor>:$offsets, F64Attr:$alpha0, F64Attr:$alpha1, UnitAttr:$divide_by_length,
                       OptionalAttr<I64Attr>:$max_length, DefaultValuedAttr<Ait_CausalKind, "::aitmlir::ait::CausalKind::none">:$causal);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$activation);
  let assemblyFormat = [{
    $query `,` $key `,` $value `alpha` $alpha0 `,` $alpha1 (`causal` $causal^)? (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)? (`max_length` $max_length^)? attr-dict `:` type($query) `,`
    type($key) `,` type($value) `->` type($result) $activation
  }];
}

def Ait_ConvOp : Ait_ComputeOp<"conv"> {
  let summary = "Convolution of 1 to 3 spatial dimensions, with an epilogue";
  let description = [{
    Input [N, C, spatial...], filter [M, C/groups, kernel...] ([C, M/groups, kernel...] where `transposed`), result
    [N, M, spatial...]. `pads` holds all begins, then all ends. A transposed result dimension is
    stride * (in - 1) + output_padding + dilation * (kernel - 1) + 1 - pad_begin - pad_end.

    The epilogue's first argument is the accumulator (f32 for f16, bf16 and f32; i32 for 8-bit integers; else the element type), the
    others one element of each of `extras`, which broadcast to the result (a bias is [M, 1, ...]); it yields an element of the
    result. An absent epilogue converts the accumulator.

    C1: input, filter and result have one rank, 3 to 5. C2: `strides`, `dilations` (and `output_padding`) have one entry, `pads` two, a spatial dimension. C3: groups divides the channels of
    input and result. C4: the filter's channels are C/groups. C5: a static result dimension is the one computed. C6: the epilogue's arguments match. C7: extras broadcast to the result.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$filter, Variadic<AnyRankedTensor>:$extras,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
                       I64Attr:$groups, UnitAttr:$transposed, OptionalAttr<DenseI64ArrayAttr>:$output_padding);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region AnyRegion:$epilogue);
  let assemblyFormat = [{
    (`transposed` $transposed^)? $input `,` $filter `strides` $strides `pads` $pads `dilations` $dilations `groups` $groups
    (`output_padding` $output_padding^)? (`extras` `(` $extras^ `:` type($extras) `)`)? attr-dict `:` type($input) `,` type($filter) `->`
    type($result) (`epilogue` $epilogue^)?
  }];
}

def Ait_DeformConvOp : Ait_ComputeOp<"deform_conv"> {
  let summary = "Deformable 2-D convolution";
  let description = [{
    `params` is the bias [M] and/or the mask [N, offset_groups * kh * kw, oh, ow], told apart by rank.
    C1: input, filter, offset and result have rank 4. C2: the offset has 2 * offset_groups * kh * kw channels.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$filter, AnyRankedTensor:$offset,
                       Variadic<AnyRankedTensor>:$params, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups, I64Attr:$offset_groups);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `,` $filter `,` $offset (`params` `(` $params^ `:` type($params) `)`)? `strides` $strides `pads` $pads `dilations` $dilations `groups` $groups
    `offset_groups` $offset_groups attr-dict `:` type($input) `,` type($filter) `,` type($offset) `->` type($result)
  }];
}

def Ait_GemmOp : Ait_ComputeOp<"gemm", [AttrSizedOperandSegments]> {
  let summary = "Batched matrix product with an epilogue";
  let description = [{
    results = epilogue(alpha * A B, alpha * A B1, ..., extras...). A is [batch..., M, K] (`row`) or [batch..., K, M] (`col`); B is [batch..., K, N] (`row`) or
    [batch..., N, K] (`col`); the batch dimensions broadcast. `others` are further right operands B1, ...; the epilogue has an accumulator for each right operand,
    then an element of each of `extras`, and yields an element of each result. Accumulator and epilogue otherwise as for `ait.conv`.

    With `split` and `permuted` the results are laid out anew: dimension i of [batch..., M, N] becomes `split`[i] dimensions, and dimension d of a
    result is dimension `permuted`[d] of those; `dims` holds their dynamic sizes. It is what an `ait.reshape` and an `ait.transpose` would do after it.

    With `tf32`, elements of f32 operands may be rounded to tf32 (11 bits of significand), which GPUs multiply several times as fast.

    Grouped: with `offsets` [G + 1], A holds the rows of G groups one after the other, [T, K] (`row`) or [K, T] (`col`), and B has a matrix for each group, [G, K, N] or [G, N, K]. The rows
    from `offsets`[g] to `offsets`[g + 1] are multiplied by matrix g, and the result is [T, N]: the experts of a mixture. Groups may be empty. Extras broadcast to [G, T, N], of which a row
    has what is its group's: a bias for each group is [G, 1, N], a residual [T, N]. Offsets ascend from 0 to T: else it is a run-time error. So no row is behind the last group.

    C1: A, B have rank 2 or more. C2: the K dimensions agree. C3: a result is the broadcast batch, M, N. C4: A and B have one element type up
    to signedness. C5: the epilogue's arguments match; without one there are no extras and no others, and one result. C6: extras broadcast to [batch..., M, N]. C7: others have the
    type of B. C8: all results have one shape. C9: `split` has one positive entry, `permuted` one number, a dimension; the parts of a dimension have its size; `dims` holds one
    index for each `?` of a result, and is empty without `split`. C10: `offsets` have rank 1, are i32 or i64, and one more than the matrices of B; with them A has rank 2, B rank 3, there is no
    `split`, a result is [T, N], and an extra has 1 in the dimension of the groups or in that of the rows.
    ```mlir
    %1 = ait.gemm %x, %w row col extras(%b : tensor<64xf16>) : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16> epilogue {
    ^bb0(%acc: f32, %bias: f16):
      %e = arith.extf %bias : f16 to f32
      %s = arith.addf %acc, %e : f32
      %r = arith.truncf %s : f32 to f16
      ait.yield %r : f16
    }
    %2 = ait.gemm %x, %q row col split [1, 2] permuted [1, 0, 2] dims(%n) : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<4x?x16xf16>
    %3 = ait.gemm %x, %experts row col offsets(%o : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b, Variadic<AnyRankedTensor>:$others,
                       Variadic<AnyRankedTensor>:$extras, Optional<AnyRankedTensor>:$offsets, Variadic<Index>:$dims,
                       DefaultValuedAttr<Ait_MatrixLayout, "::aitmlir::ait::MatrixLayout::row">:$a_layout,
                       DefaultValuedAttr<Ait_MatrixLayout, "::aitmlir::ait::MatrixLayout::row">:$b_layout,
                       DefaultValuedAttr<F64Attr, "1.0">:$alpha, OptionalAttr<DenseI64ArrayAttr>:$split,
                       OptionalAttr<DenseI64ArrayAttr>:$permuted, UnitAttr:$tf32);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$epilogue);
  let assemblyFormat = [{
    $a `,` $b (`and` `(` $others^ `:` type($others) `)`)? $a_layout $b_layout (`alpha` $alpha^)? (`extras` `(` $extras^ `:` type($extras) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)? (`split` $split^ `permuted` $permuted)? (`dims` `(` $dims^ `)`)? attr-dict `:` type($a) `,` type($b) `->` type($results) (`epilogue` $epilogue^)?
  }];
}

def Ait_GroupOp : Ait_ComputeOp<"group", [AttrSizedOperandSegments]> {
  let summary = "Independent matrix products in one kernel";
  let description = [{
    The region holds members: products that do not depend on each other, each an `ait.gemm` of the region's arguments, which stand for `inputs` and
    then for `dims`. It yields all their results, member by member. Members differ in operands and sizes alone, so that one kernel computes them in one launch: the projections of
    one input. For targets without such a kernel `ait-expand-products` puts the members in the op's place; `ait-group-products` makes groups.

    C1: the region's arguments have the types of the operands. C2: the region holds two members or more and, beside them, constants alone; it ends in `ait.yield` of all their
    results in order. C3: members read the region's arguments alone. C4: members are alike: in attributes, in numbers, ranks and element types of operands and results, in
    which dimensions of `extras` are 1, and in the code of the epilogue. C5: the results have the types of the yielded values. C6: no member has `offsets`, which are groups already.
    ```mlir
    %1:2 = ait.group(%x, %w, %v : tensor<?x64xf16>, tensor<32x64xf16>, tensor<48x64xf16>) -> tensor<?x32xf16>, tensor<?x48xf16> members {
    ^bb0(%a: tensor<?x64xf16>, %b: tensor<32x64xf16>, %c: tensor<48x64xf16>):
      %p = ait.gemm %a, %b row col : tensor<?x64xf16>, tensor<32x64xf16> -> tensor<?x32xf16>
      %q = ait.gemm %a, %c row col : tensor<?x64xf16>, tensor<48x64xf16> -> tensor<?x48xf16>
      ait.yield %p, %q : tensor<?x32xf16>, tensor<?x48xf16>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<Index>:$dims);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$members);
  let assemblyFormat = [{
    `(` $inputs `:` type($inputs) `)` (`dims` `(` $dims^ `)`)? attr-dict `->` type($results) `members` $members
  }];
}

def Ait_RnnOp : Ait_ComputeOp<"rnn"> {
  let summary = "LSTM, GRU or plain recurrent layer";
  let description = [{
    X [T, B, I], W [D, G*H, I], R [D, G*H, H], bias [D, 2*G*H] (or nothing), lengths [B] i32 (or nothing), initial h [D, B, H], initial c
    [D, B, H] (lstm), peepholes [D, 3*H] (lstm, or nothing); D directions, G gates: 4 (i o f c), 3 (z r h) or 1. `operand_kinds` names the optional operands present, in order:
    any of "bias", "lengths", "h0", "c0", "peephole". Results: Y [T, D, B, H], the last h [D, B, H], and the last c for lstm.
    `activations` are ONNX names, one for f, g (h) a direction, with `alpha`, `beta` of the same length.
    C1: X, W, R have rank 3 and agree in I, H, D, G. C2: `operand_kinds` has one entry for each of `states`. C3: three results for lstm, else two.
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$w, AnyRankedTensor:$r, Variadic<AnyRankedTensor>:$states,
                       Ait_RnnKind:$kind, Ait_RnnDirection:$direction, StrArrayAttr:$operand_kinds,
                       StrArrayAttr:$activations, DenseF64ArrayAttr:$alpha, DenseF64ArrayAttr:$beta,
                       OptionalAttr<F64Attr>:$clip, UnitAttr:$linear_before_reset, UnitAttr:$input_forget);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $kind $direction $x `,` $w `,` $r (`states` `(` $states^ `:` type($states) `)`)? `operands` $operand_kinds `activations` $activations $alpha $beta attr-dict `:`
    type($x) `,` type($w) `,` type($r) `->` type($results)
  }];
}

//===-- Reductions and normalisations -------------------------------------------------------------------------===//

def Ait_ArgReduceOp : Ait_ComputeOp<"argreduce"> {
  let summary = "The index of an extreme element along an axis";
  let description = [{
    The first such index, or the last with `select_last`. A NaN counts as extreme.
    C1: `axis` is in [0, rank). C2: the result is `i64` with the reduced dimension 1 (`keepdims`) or absent.
  }];
  let arguments = (ins Ait_ArgReduceKind:$kind, AnyRankedTensor:$input, I64Attr:$axis, UnitAttr:$keepdims, UnitAttr:$select_last);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $input `axis` $axis (`keepdims` $keepdims^)? (`last` $select_last^)? attr-dict `:` type($input) `->` type($result)";
}

def Ait_NormOp : Ait_ComputeOp<"norm"> {
  let summary = "Layer, RMS, instance or group normalisation";
  let description = [{
    (x - mean) / sqrt(variance + epsilon) * scale + bias (rms: x / sqrt(mean(x^2) + epsilon) * scale), in f32 or wider.
    `layer` and `rms` normalise over dimensions `axis`..rank, and scale and bias broadcast to the input; `instance` over the
    spatial dimensions of [N, C, ...]; `group` over the C/groups channels and spatial dimensions of each group; there scale and bias are [C]. `params` is nothing, the scale,
    or scale and bias.
    C1: input and result have one type. C2: `axis` in [0, rank) and 0 unless layer or rms. C3: `groups` divides C and is 1 unless group. C4: at most two params.
  }];
  let arguments = (ins Ait_NormKind:$kind, AnyRankedTensor:$input, Variadic<AnyRankedTensor>:$params, F64Attr:$epsilon,
                       DefaultValuedAttr<I64Attr, "0">:$axis, DefaultValuedAttr<I64Attr, "1">:$groups);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $input (`params` `(` $params^ `:` type($params) `)`)? `epsilon` $epsilon (`axis` $axis^)? (`groups` $groups^)? attr-dict `:` type($input)
    `->` type($result)
  }];
}

def Ait_PoolOp : Ait_ComputeOp<"pool"> {
  let summary = "Pooling over windows of 1 to 3 spatial dimensions";
  let description = [{
    Input [N, C, spatial...]. `pads` holds all begins, then all ends; with `ceil` the output size rounds up and a window that would start in the end
    padding is dropped. `average` divides by the window's cells in the input, or in the padded input with `count_include_pad`; `lp` is the p-norm.
    A second result of `max` holds the flat index in the input ([N, C, spatial...] row-major, spatial column-major with `storage_order`).
    C1: ranks are 3 to 5 and equal. C2: attribute lengths fit. C3: two results only for max. C4: `p` only for lp.
  }];
  let arguments = (ins Ait_PoolKind:$kind, AnyRankedTensor:$input, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations, UnitAttr:$ceil, UnitAttr:$count_include_pad,
                       UnitAttr:$storage_order, DefaultValuedAttr<I64Attr, "2">:$p);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $kind $input `kernel` $kernel `strides` $strides `pads` $pads `dilations` $dilations attr-dict `:` type($input) `->` type($results)
  }];
}

def Ait_ReduceOp : Ait_ComputeOp<"reduce", [AttrSizedOperandSegments]> {
  let summary = "Reduces over axes";
  let description = [{
    Reduces over the dimensions `axes`, or over those that the run-time tensor `dynamic_axes` names (negative counts from the end; then `keepdims`
    is set and `dims` gives the result's `?`). An empty reduction gives the neutral element. Floats accumulate in f32 or wider; the order is unspecified.
    C1: axes are unique, in [0, rank). C2: the result is the input with reduced dimensions 1 (`keepdims`) or absent. C3: not both `axes` and `dynamic_axes`.
  }];
  let arguments = (ins Ait_ReduceKind:$kind, AnyRankedTensor:$input, Optional<AnyRankedTensor>:$dynamic_axes, Variadic<Index>:$dims,
                       DenseI64ArrayAttr:$axes, UnitAttr:$keepdims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $input `axes` $axes (`dynamic_axes` `(` $dynamic_axes^ `:` type($dynamic_axes) `)`)? (`dims` `(` $dims^ `)`)? (`keepdims` $keepdims^)? attr-dict `:`
    type($input) `->` type($result)
  }];
}

def Ait_ScanOp : Ait_ComputeOp<"scan"> {
  let summary = "Running sum or product along an axis";
  let description = [{
    C1: input and result have one type. The axis is an index value, in [0, rank) (checked at run time).
  }];
  let arguments = (ins Ait_ScanKind:$kind, AnyRankedTensor:$input, Index:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $input `axis` $axis (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict `:` type($input) `->` type($result)";
}

def Ait_SoftmaxOp : Ait_ComputeOp<"softmax"> {
  let summary = "Softmax or log-softmax along an axis";
  let description = [{
    Computed in f32 or wider, with the maximum subtracted. C1: `axis` in [0, rank). C2: input and result have one float type.
  }];
  let arguments = (ins Ait_SoftmaxKind:$kind, AnyRankedTensor:$input, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $input `axis` $axis attr-dict `:` type($input) `->` type($result)";
}

def Ait_TopKOp : Ait_ComputeOp<"topk"> {
  let summary = "The k largest or smallest elements along an axis";
  let description = [{
    Values and `i64` indices, sorted; of equal elements the one with the lower index comes first.
    C1: `axis` in [0, rank). C2: the results are the input's shape with k along the axis. C3: one `dims` index for each `?` of one result.
  }];
  let arguments = (ins AnyRankedTensor:$input, Variadic<Index>:$dims, I64Attr:$axis, UnitAttr:$smallest);
  let results = (outs AnyRankedTensor:$values, AnyRankedTensor:$indices);
  let assemblyFormat = [{
    $input `axis` $axis (`smallest` $smallest^)? (`dims` `(` $dims^ `)`)? attr-dict `:` type($input) `->` type($values) `,` type($indices)
  }];
}

//===-- Shape and movement ------------------------------------------------------------------------------------===//

def Ait_ConcatOp : Ait_ComputeOp<"concat"> {
  let summary = "Concatenates along an axis";
  let description = [{
    C1: at least one input. C2: inputs and result have one rank and element type. C3: `axis` in [0, rank). C4: the other dimensions agree.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` type($inputs) `->` type($result)";
}

def Ait_GatherOp : Ait_ComputeOp<"gather"> {
  let summary = "Reads elements or slices by index";
  let description = [{
    `slices`: along `axis`, result = data[:axis] + indices.shape + data[axis+1:]. `elements`: result[i] = data[i with i[axis] := indices[i]]. `nd`: the last dimension of indices addresses
    data behind the first `batch_dims`. A negative index counts from the end; an index out of range is a run-time error.
    C1: indices are i32 or i64. C2: `axis` in [0, rank), 0 for nd. C3: the result shape is the one computed.
  }];
  let arguments = (ins Ait_GatherKind:$kind, AnyRankedTensor:$input, AnyRankedTensor:$indices,
                       DefaultValuedAttr<I64Attr, "0">:$axis, DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $input `[` $indices `]` (`axis` $axis^)? (`batch_dims` $batch_dims^)? attr-dict `:` type($input) `,` type($indices) `->` type($result)
  }];
}

def Ait_PadOp : Ait_ComputeOp<"pad", [AttrSizedOperandSegments]> {
  let summary = "Grows (or, with negative amounts, shrinks) each dimension at both ends";
  let description = [{
    `low` and `high` hold one amount a dimension, static or an index. `value` is a rank-0 tensor, zero if absent; only for `constant`.
    C1: the lists have the input's rank. C2: input and result agree in rank and element type. C3: static sizes add up.
  }];
  let arguments = (ins Ait_PadMode:$mode, AnyRankedTensor:$input, Optional<AnyRankedTensor>:$value, Variadic<Index>:$low, Variadic<Index>:$high,
                       DenseI64ArrayAttr:$static_low, DenseI64ArrayAttr:$static_high);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $mode $input `low` custom<DynamicIndexList>($low, $static_low) `high` custom<DynamicIndexList>($high, $static_high)
    (`value` `(` $value^ `:` type($value) `)`)? attr-dict `:` type($input) `->` type($result)
  }];
}

def Ait_ReshapeOp : Ait_ComputeOp<"reshape"> {
  let summary = "Gives the same elements, in row-major order, another shape";
  let description = [{
    C1: static element counts agree. C2: one `dims` index for each `?` of the result. C3: the element type stays.
  }];
  let arguments = (ins AnyRankedTensor:$input, Variadic<Index>:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input (`dims` `(` $dims^ `)`)? attr-dict `:` type($input) `to` type($result)";
}

def Ait_ScatterOp : Ait_ComputeOp<"scatter"> {
  let summary = "A copy of the data with updates written by index";
  let description = [{
    Addresses as `ait.gather`. Without a reduction, of several updates of one element the last wins. C1: indices are i32 or i64. C2: data and result have one type. C3: `axis` in [0, rank), 0 for nd.
  }];
  let arguments = (ins Ait_ScatterKind:$kind, AnyRankedTensor:$input, AnyRankedTensor:$indices, AnyRankedTensor:$updates,
                       DefaultValuedAttr<I64Attr, "0">:$axis,
                       DefaultValuedAttr<Ait_ScatterReduction, "::aitmlir::ait::ScatterReduction::none">:$reduction);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $input `[` $indices `]` `,` $updates (`axis` $axis^)? (`reduction` $reduction^)? attr-dict `:` type($input) `,` type($indices) `,` type($updates) `->`
    type($result)
  }];
}

def Ait_SliceOp : Ait_ComputeOp<"slice", [AttrSizedOperandSegments]> {
  let summary = "A regular sub-tensor";
  let description = [{
    result[i] = input[offset + i * stride] in each dimension, `size` elements. Strides are not 0 and may be negative. Offsets and sizes must address the input (the builder of the op clamps).
    C1: the lists have the input's rank. C2: static sizes are the result's dimensions. C3: static strides are not 0. C4: a static slice lies in the input.
    ```mlir
    %1 = ait.slice %0[0, %i][2, %n][1, -1] : tensor<4x?xf32> to tensor<2x?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Variadic<Index>:$strides,
                       DenseI64ArrayAttr:$static_offsets, DenseI64ArrayAttr:$static_sizes, DenseI64ArrayAttr:$static_strides);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `` custom<DynamicIndexList>($offsets, $static_offsets) `` custom<DynamicIndexList>($sizes, $static_sizes) ``
    custom<DynamicIndexList>($strides, $static_strides) attr-dict `:` type($input) `to` type($result)
  }];
}

def Ait_SplitOp : Ait_ComputeOp<"split"> {
  let summary = "Cuts into consecutive parts along an axis";
  let description = [{
    C1: at least one result. C2: `axis` in [0, rank). C3: static parts add up. C4: `dims` holds the part size along the axis for each result where it is `?`.
  }];
  let arguments = (ins AnyRankedTensor:$input, Variadic<Index>:$dims, I64Attr:$axis);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$input `axis` $axis (`dims` `(` $dims^ `)`)? attr-dict `:` type($input) `->` type($results)";
}

def Ait_TransposeOp : Ait_ComputeOp<"transpose"> {
  let summary = "Permutes the dimensions";
  let description = [{
    Dimension i of the result is dimension permutation[i] of the input. C1: `permutation` is one. C2: the result's dimensions are the input's, permuted.
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `to` type($result)";
}

//===-- Data-dependent sizes ----------------------------------------------------------------------------------===//

def Ait_NmsOp : Ait_ComputeOp<"nms"> {
  let summary = "Non-maximum suppression";
  let description = [{
    Boxes [B, N, 4], scores [B, C, N]; rows (batch, class, box) of the selected boxes in the first `count` rows of `selected`, whose
    first dimension is the upper bound `dims` gives. `max_per_class`, `iou_threshold` and `score_threshold` are one-element tensors.
    C1: the ranks are 3. C2: `selected` is [?, 3] of i64, `count` is a rank-0 i64.
  }];
  let arguments = (ins AnyRankedTensor:$boxes, AnyRankedTensor:$scores, AnyRankedTensor:$max_per_class, AnyRankedTensor:$iou_threshold,
                       AnyRankedTensor:$score_threshold, Variadic<Index>:$dims, UnitAttr:$center_point_box);
  let results = (outs AnyRankedTensor:$selected, AnyRankedTensor:$count);
  let assemblyFormat = [{
    $boxes `,` $scores `,` $max_per_class `,` $iou_threshold `,` $score_threshold (`dims` `(` $dims^ `)`)? attr-dict `:` type($boxes) `,` type($scores) `,` type($max_per_class) `,`
    type($iou_threshold) `,` type($score_threshold) `->` type($selected) `,` type($count)
  }];
}

def Ait_NonZeroOp : Ait_ComputeOp<"nonzero"> {
  let summary = "The coordinates of the elements that are not zero";
  let description = [{
    `indices` is [n, rank] of i64, n the element count of the input (given by `dims` where dynamic), of which the first `count` rows are written, in row-major order of the input.
    C1: `indices` has rank 2 and as many columns as the input has dimensions (1 for a scalar), `count` is a rank-0 i64.
  }];
  let arguments = (ins AnyRankedTensor:$input, Variadic<Index>:$dims);
  let results = (outs AnyRankedTensor:$indices, AnyRankedTensor:$count);
  let assemblyFormat = "$input (`dims` `(` $dims^ `)`)? attr-dict `:` type($input) `->` type($indices) `,` type($count)";
}

def Ait_UniqueOp : Ait_ComputeOp<"unique"> {
  let summary = "The distinct slices along the first dimension";
  let description = [{
    Input [n, m]: rows are compared. The first `count` entries of `first` (index of the first occurrence) and `counts` are written, ascending in the row's value
    if `sorted`, else in order of first occurrence; `inverse` [n] gives each row's place among them. All are i64.
    C1: the input has rank 2. C2: `first`, `inverse`, `counts` are [n].
  }];
  let arguments = (ins AnyRankedTensor:$input, UnitAttr:$sorted);
  let results = (outs AnyRankedTensor:$first, AnyRankedTensor:$inverse, AnyRankedTensor:$counts, AnyRankedTensor:$count);
  let assemblyFormat = [{
    (`sorted` $sorted^)? $input attr-dict `:` type($input) `->` type($first) `,` type($inverse) `,` type($counts) `,` type($count)
  }];
}

//===-- Signals and images ------------------------------------------------------------------------------------===//

def Ait_Col2ImOp : Ait_ComputeOp<"col2im"> {
  let summary = "Sums overlapping blocks into an image";
  let description = [{
    Input [N, C * prod(block), L]; the inverse of taking sliding blocks. The result is [N, C, image...]; `dims` gives its `?`.
    C1: the input has rank 3. C2: the attribute lengths fit the result's spatial rank.
  }];
  let arguments = (ins AnyRankedTensor:$input, Variadic<Index>:$dims, DenseI64ArrayAttr:$block, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `block` $block `strides` $strides `pads` $pads `dilations` $dilations (`dims` `(` $dims^ `)`)? attr-dict `:` type($input) `->` type($result)
  }];
}

def Ait_DftOp : Ait_ComputeOp<"dft"> {
  let summary = "Discrete Fourier transform along the second dimension";
  let description = [{
    Input [B, n, 1 or 2] (real, or real and imaginary parts); transform of length `length`, zero-padded or cut; the result is [B, m, 2 or 1], its first m bins (`dims` gives the `?`).
    `inverse` scales by 1/length; with a last result dimension of 1 the input holds length/2+1 bins of a Hermitian signal.
    C1: ranks are 3, last dimensions 1 or 2.
  }];
  let arguments = (ins AnyRankedTensor:$input, Index:$length, Variadic<Index>:$dims, UnitAttr:$inverse);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "(`inverse` $inverse^)? $input `length` $length (`dims` `(` $dims^ `)`)? attr-dict `:` type($input) `->` type($result)";
}

def Ait_GridSampleOp : Ait_ComputeOp<"grid_sample"> {
  let summary = "Samples an image at normalised coordinates";
  let description = [{
    Input [N, C, spatial...] (2 or 3 spatial dimensions), grid [N, out spatial..., 2 or 3] with x first, in [-1, 1].
    C1: ranks are equal, 4 or 5. C2: the grid's last dimension is the spatial rank. C3: cubic only in 2-D.
  }];
  let arguments = (ins Ait_GridMode:$mode, Ait_GridPadding:$padding, AnyRankedTensor:$input, AnyRankedTensor:$grid, UnitAttr:$align_corners);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$mode $padding $input `,` $grid attr-dict `:` type($input) `,` type($grid) `->` type($result)";
}

def Ait_ResizeOp : Ait_ComputeOp<"resize", [AttrSizedOperandSegments]> {
  let summary = "Resamples to another size";
  let description = [{
    `scales` holds output/input for each dimension as f64; `roi` (tf_crop_and_resize) all starts, then all ends, normalised. `dims` gives each `?` of the result.
    C1: `scales` has the rank's length. C2: `roi` is empty or twice the rank. C3: ranks and element types agree.
  }];
  let arguments = (ins Ait_ResizeMode:$mode, Ait_CoordinateMode:$coordinate, AnyRankedTensor:$input, Variadic<F64>:$scales, Variadic<F64>:$roi, Variadic<Index>:$dims,
                       DefaultValuedAttr<Ait_NearestMode, "::aitmlir::ait::NearestMode::round_prefer_floor">:$nearest,
                       DefaultValuedAttr<F64Attr, "-0.75">:$cubic_coeff, DefaultValuedAttr<F64Attr, "0.0">:$extrapolation,
                       UnitAttr:$exclude_outside, UnitAttr:$antialias);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $mode $coordinate $input `scales` `(` $scales `)` (`roi` `(` $roi^ `)`)? (`dims` `(` $dims^ `)`)? attr-dict `:` type($input) `->` type($result)
  }];
}

def Ait_RoiAlignOp : Ait_ComputeOp<"roi_align"> {
  let summary = "Pools regions of interest with bilinear sampling";
  let description = [{
    Input [N, C, H, W], rois [R, 4] as (x1, y1, x2, y2), batch indices [R]; result [R, C, oh, ow].
    C1: the ranks are 4, 2, 1 and 4.
  }];
  let arguments = (ins Ait_RoiMode:$mode, AnyRankedTensor:$input, AnyRankedTensor:$rois, AnyRankedTensor:$batch_indices, F64Attr:$spatial_scale, I64Attr:$sampling_ratio,
                       UnitAttr:$half_pixel);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $mode $input `,` $rois `,` $batch_indices `spatial_scale` $spatial_scale `sampling_ratio` $sampling_ratio (`half_pixel` $half_pixel^)? attr-dict `:`
    type($input) `,` type($rois) `,` type($batch_indices) `->` type($result)
  }];
}

//===-- Jagged tensors ----------------------------------------------------------------------------------------===//

def Ait_JaggedToPaddedOp : Ait_ComputeOp<"jagged_to_padded"> {
  let summary = "Spreads rows of a jagged tensor over a padded one";
  let description = [{
    Values [total, inner...], offsets [batch + 1] (i32 or i64), which ascend from 0 to total (else it is a run-time error): result [batch, max_length, inner...],
    `padding` behind each row's end; of longer rows the first `max_length` elements, or, with `whole`, it is a run-time error that there is one.
    C1: offsets have rank 1 and are i32 or i64, one more than the batch. C2: the result's rank is one more than the values'. C3: one `dims` index for each `?` of the result.
  }];
  let arguments = (ins AnyRankedTensor:$values, AnyRankedTensor:$offsets, Variadic<Index>:$dims, F64Attr:$padding, UnitAttr:$whole);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$values `,` $offsets `padding` $padding (`whole` $whole^)? (`dims` `(` $dims^ `)`)? attr-dict `:` type($values) `,` type($offsets) `->` type($result)";
}

def Ait_PaddedToJaggedOp : Ait_ComputeOp<"padded_to_jagged"> {
  let summary = "Packs the rows of a padded tensor";
  let description = [{
    The inverse of `ait.jagged_to_padded`: rows longer than the padded length are filled with zeros. C1..C3 as there.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$offsets, Variadic<Index>:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `,` $offsets (`dims` `(` $dims^ `)`)? attr-dict `:` type($input) `,` type($offsets) `->` type($result)";
}

//===-- Planned buffers ---------------------------------------------------------------------------------------===//

def Ait_BufferAllocOp : Ait_Op<"buffer.alloc"> {
  let summary = "A buffer whose size depends on data; it lives until the run ends";
  let description = "C1: one `dims` index for each `?` of the result.";
  let arguments = (ins Variadic<Index>:$dims);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "(`dims` `(` $dims^ `)`)? attr-dict `:` type($result)";
}

def Ait_BufferArenaOp : Ait_Op<"buffer.arena"> {
  let summary = "The run's arena of `bytes` bytes, aligned to 64";
  let arguments = (ins Index:$bytes);
  let results = (outs MemRefRankOf<[I8], [1]>:$result);
  let assemblyFormat = "$bytes attr-dict `:` type($result)";
}

def Ait_BufferConstantOp : Ait_Op<"buffer.constant", [Pure]> {
  let summary = "The buffer of a constant: a weight, or a constant that the fold program derives";
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Ait_BufferOutputOp : Ait_Op<"buffer.output"> {
  let summary = "The buffer of output number `index`, whose dimensions are now known";
  let description = "C1: one `dims` index for each `?` of the result. C2: `index` is not negative.";
  let arguments = (ins I64Attr:$index, Variadic<Index>:$dims);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$index (`dims` `(` $dims^ `)`)? attr-dict `:` type($result)";
}

def Ait_BufferReshapeOp : Ait_Op<"buffer.reshape", [Pure]> {
  let summary = "The same row-major bytes under another shape";
  let description = [{
    C1: both buffers are row-major and have one element type. C2: one `dims` index for each `?` of the result.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$dims);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$source (`dims` `(` $dims^ `)`)? attr-dict `:` type($source) `to` type($result)";
}

#endif
