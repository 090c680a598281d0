// RUN: aitmlir-opt %s -split-input-file -verify-diagnostics

// One case for each constraint of td/AitOps.td, in its order: @OP_cN breaks CN of ait.OP and nothing before it.

func.func @constant_c1() {
  // expected-error @+1 {{'ait.constant' op attribute 'value': expected dense elements or #ait.weights, got dense_resource<w> : tensor<2xf32>}}
  %0 = ait.constant dense_resource<w> : tensor<2xf32>
  return
}

// -----

func.func @constant_c2() {
  // expected-error @+1 {{'ait.constant' op result: expected a static shape, got tensor<?xf32>}}
  %0 = ait.constant #ait.weights<"w"> : tensor<?xf32>
  return
}

// -----

func.func @index_c1() {
  // expected-error @+1 {{'ait.index' op expected to stand in the region of an 'ait.map'}}
  %0 = ait.index 0
  return
}

// -----

func.func @index_c2(%n: index) {
  %0 = ait.map dims(%n) -> tensor<?xindex> {
    // expected-error @+1 {{'ait.index' op attribute 'dim': expected a value in [0, 1), got 1}}
    %i = ait.index 1
    ait.yield %i : index
  }
  return
}

// -----

func.func @launch_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{'ait.launch' op attribute 'callee': expected a function of the module, got @nothing}}
  %0 = ait.launch @nothing(%x : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @k(tensor<4xf32>) -> tensor<4xf32>

func.func @launch_c1_argument(%x: tensor<5xf32>) {
  // expected-error @+1 {{'ait.launch' op expected argument #0 of @k to be tensor<4xf32>, got tensor<5xf32>}}
  %0 = ait.launch @k(%x : tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @k(tensor<4xf32>) -> tensor<4xf32>

func.func @launch_c1_result(%x: memref<4xf32>, %y: memref<4xf64>) {
  // expected-error @+1 {{'ait.launch' op expected result #0 of @k to be tensor<4xf32>, got memref<4xf64>}}
  ait.launch @k(%x : memref<4xf32>) outs(%y : memref<4xf64>)
  return
}

// -----

func.func private @k(tensor<4xf32>) -> tensor<4xf32>

func.func @launch_c2(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @+1 {{'ait.launch' op operand 'outs': expected none beside results, got 1}}
  %0 = ait.launch @k(%x : memref<4xf32>) outs(%y : memref<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @k(tensor<?xf32>) -> tensor<?xf32>

func.func @launch_c3(%x: tensor<?xf32>) {
  // expected-error @+1 {{'ait.launch' op operand 'dims': expected 1 values, one for each '?' of the results, got 0}}
  %0 = ait.launch @k(%x : tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @cast_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{'ait.cast' op result: expected shape 4, got 5}}
  %0 = ait.cast %x : tensor<4xf32> to tensor<5xi32>
  return
}

// -----

func.func @expand_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.expand' op operand 'input': expected at most rank 1, to broadcast to 4, got 2}}
  %0 = ait.expand %x : tensor<2x4xf32> to tensor<4xf32>
  return
}

// -----

func.func @expand_c2(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.expand' op operand 'input': expected 1 or 3 in dimension 0, to broadcast to 3x4, got 2}}
  %0 = ait.expand %x : tensor<2x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @expand_c3(%x: tensor<1xf32>) {
  // expected-error @+1 {{'ait.expand' op operand 'dims': expected 1 values, one for each '?' of the result type, got 0}}
  %0 = ait.expand %x : tensor<1xf32> to tensor<?xf32>
  return
}

// -----

func.func @map_c1(%x: tensor<3xf32>) {
  // expected-error @+1 {{'ait.map' op operand 'inputs' #0: expected 1 or 4 in dimension 0, to broadcast to 4, got 3}}
  %0 = ait.map ins(%x : tensor<3xf32>) -> tensor<4xf32> {
  ^bb0(%e: f32):
    ait.yield %e : f32
  }
  return
}

// -----

func.func @map_c2(%x: tensor<4xui8>) {
  // expected-error @+1 {{'ait.map' op region: expected argument #0 to be i8, the element type of operand 'inputs' #0, got ui8}}
  %0 = ait.map ins(%x : tensor<4xui8>) -> tensor<4xui8> {
  ^bb0(%e: ui8):
    ait.yield %e : ui8
  }
  return
}

// -----

func.func @map_c2_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{'ait.map' op region: expected 1 arguments, got 2}}
  %0 = ait.map ins(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%e: f32, %f: f32):
    ait.yield %e : f32
  }
  return
}

// -----

func.func @map_c3(%x: tensor<4xf32>) {
  // expected-error @+1 {{'ait.map' op region: expected yielded value #0 to be f64, got f32}}
  %0 = ait.map ins(%x : tensor<4xf32>) -> tensor<4xf64> {
  ^bb0(%e: f32):
    ait.yield %e : f32
  }
  return
}

// -----

func.func @map_c3_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{'ait.map' op region: expected 1 yielded values, one for each result, got 0}}
  %0 = ait.map ins(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%e: f32):
    ait.yield
  }
  return
}

// -----

func.func @map_c3_terminator(%x: tensor<4xf32>) {
  // expected-error @+1 {{'ait.map' op region: expected 'ait.yield' at its end}}
  %0 = ait.map ins(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%e: f32):
    %s = arith.negf %e : f32
  }
  return
}

// -----

func.func @map_c4(%x: tensor<4xf32>) {
  // expected-error @+1 {{'ait.map' op result #1: expected shape 4, got 5}}
  %0:2 = ait.map ins(%x : tensor<4xf32>) -> tensor<4xf32>, tensor<5xf32> {
  ^bb0(%e: f32):
    ait.yield %e, %e : f32, f32
  }
  return
}

// -----

func.func @map_c5(%x: tensor<?x?xf32>, %n: index) {
  // expected-error @+1 {{'ait.map' op operand 'dims': expected 2 values, one for each '?' of the result type, got 1}}
  %0 = ait.map ins(%x : tensor<?x?xf32>) dims(%n) -> tensor<?x?xf32> {
  ^bb0(%e: f32):
    ait.yield %e : f32
  }
  return
}

// -----

func.func @map_c5_undetermined(%x: tensor<1xf32>) {
  // expected-error @+1 {{'ait.map' op result: dimension 0 is '?', which no operand determines}}
  %0 = ait.map ins(%x : tensor<1xf32>) -> tensor<?xf32> {
  ^bb0(%e: f32):
    ait.yield %e : f32
  }
  return
}

// -----

func.func @random_c1() {
  // expected-error @+1 {{'ait.random' op operand 'dims': expected 1 values, one for each '?' of the result type, got 0}}
  %0 = ait.random uniform 0.0, 1.0 seed 1 : tensor<?xf32>
  return
}

// -----

func.func @random_c2() {
  // expected-error @+1 {{'ait.random' op result: expected a float element type, got i32}}
  %0 = ait.random uniform 0.0, 1.0 seed 1 : tensor<4xi32>
  return
}

// -----

func.func @where_c1(%c: tensor<4xi8>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'ait.where' op operand 'condition': expected element type i1, got i8}}
  %0 = ait.where %c, %x, %x : tensor<4xi8>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @where_c2(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @+1 {{'ait.where' op operand 'on_false': expected the element type of operand 'on_true', f32, got f64}}
  %0 = ait.where %c, %x, %y : tensor<4xi1>, tensor<4xf32>, tensor<4xf64> -> tensor<4xf32>
  return
}

// -----

func.func @where_c3(%c: tensor<3xi1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'ait.where' op operand 'condition': expected 1 or 4 in dimension 0, to broadcast to 4, got 3}}
  %0 = ait.where %c, %x, %x : tensor<3xi1>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @attention_c1(%q: tensor<4x8x16xf32>, %k: tensor<1x4x9x16xf32>, %v: tensor<1x4x9x16xf32>) {
  // expected-error @+1 {{'ait.attention' op operand 'query': expected rank 4, got 3}}
  %0 = ait.attention %q, %k, %v scale 1.0 : tensor<4x8x16xf32>, tensor<1x4x9x16xf32>, tensor<1x4x9x16xf32> -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<1x4x8x16xf32>, %k: tensor<1x4x9x17xf32>, %v: tensor<1x4x9x16xf32>) {
  // expected-error @+1 {{'ait.attention' op operand 'key': expected the head size of operand 'query' = 16 in dimension 3, got 17}}
  %0 = ait.attention %q, %k, %v scale 1.0 : tensor<1x4x8x16xf32>, tensor<1x4x9x17xf32>, tensor<1x4x9x16xf32> -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @attention_c3(%q: tensor<1x4x8x16xf32>, %k: tensor<1x4x9x16xf32>, %v: tensor<1x4x7x16xf32>) {
  // expected-error @+1 {{'ait.attention' op operand 'value': expected N of operand 'key' = 9 in dimension 2, got 7}}
  %0 = ait.attention %q, %k, %v scale 1.0 : tensor<1x4x8x16xf32>, tensor<1x4x9x16xf32>, tensor<1x4x7x16xf32> -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<1x4x8x16xf32>, %k: tensor<1x4x9x16xf32>, %v: tensor<1x4x9x16xf32>, %b0: tensor<8x9xf32>, %b1: tensor<8x9xf32>) {
  // expected-error @+1 {{'ait.attention' op operand 'bias': expected at most 1, got 2}}
  %0 = ait.attention %q, %k, %v scale 1.0 bias(%b0, %b1 : tensor<8x9xf32>, tensor<8x9xf32>) : tensor<1x4x8x16xf32>, tensor<1x4x9x16xf32>, tensor<1x4x9x16xf32> -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @attention_c5_heads(%q: tensor<1x4x8x16xf32>, %k: tensor<1x3x9x16xf32>, %v: tensor<1x3x9x16xf32>) {
  // expected-error @+1 {{'ait.attention' op operand 'query': expected a multiple of Hkv = 3 in dimension 1, got 4}}
  %0 = ait.attention %q, %k, %v scale 1.0 : tensor<1x4x8x16xf32>, tensor<1x3x9x16xf32>, tensor<1x3x9x16xf32> -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @attention_c5_result(%q: tensor<1x4x8x16xf32>, %k: tensor<1x4x9x16xf32>, %v: tensor<1x4x9x16xf32>) {
  // expected-error @+1 {{'ait.attention' op result: expected shape 1x4x8x16, got 1x4x9x16}}
  %0 = ait.attention %q, %k, %v scale 1.0 : tensor<1x4x8x16xf32>, tensor<1x4x9x16xf32>, tensor<1x4x9x16xf32> -> tensor<1x4x9x16xf32>
  return
}

// -----

func.func @attention_c5_bias(%q: tensor<1x4x8x16xf32>, %k: tensor<1x4x9x16xf32>, %v: tensor<1x4x9x16xf32>, %b0: tensor<8x8xf32>) {
  // expected-error @+1 {{'ait.attention' op operand 'bias' #0: expected 1 or 9 in dimension 1, to broadcast to 1x4x8x9, got 8}}
  %0 = ait.attention %q, %k, %v scale 1.0 bias(%b0 : tensor<8x8xf32>) : tensor<1x4x8x16xf32>, tensor<1x4x9x16xf32>, tensor<1x4x9x16xf32> -> tensor<1x4x8x16xf32>
  return
}

// -----

func.func @b2b_gemm_c1(%q: tensor<4x8x16xf32>, %k: tensor<1x4x9x16xf32>, %v: tensor<1x4x9x16xf32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op operand 'query': expected rank 4, got 3}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 : tensor<4x8x16xf32>, tensor<1x4x9x16xf32>, tensor<1x4x9x16xf32> -> tensor<1x4x8x16xf32> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return
}

// -----

func.func @b2b_gemm_c2(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x9x16xf32>, %v: tensor<1x4x9x16xf32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op operand 'key': expected H of operand 'query' = 4 in dimension 1, got 2}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 : tensor<1x4x8x16xf32>, tensor<1x2x9x16xf32>, tensor<1x4x9x16xf32> -> tensor<1x4x8x16xf32> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return
}

// -----

func.func @b2b_gemm_c3(%q: tensor<1x4x8x16xf32>, %k: tensor<1x4x9x16xf32>, %v: tensor<1x4x9x16xf32>, %b0: tensor<9xf32>, %b1: tensor<9xf32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op operand 'bias': expected at most 1, got 2}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 bias(%b0, %b1 : tensor<9xf32>, tensor<9xf32>) : tensor<1x4x8x16xf32>, tensor<1x4x9x16xf32>, tensor<1x4x9x16xf32> -> tensor<1x4x8x16xf32> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return
}

// -----

func.func @b2b_gemm_c4(%q: tensor<1x4x8x16xf32>, %k: tensor<1x4x9x16xf32>, %v: tensor<1x4x9x16xf32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op result: expected shape 1x4x8x16, got 1x4x8x17}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 : tensor<1x4x8x16xf32>, tensor<1x4x9x16xf32>, tensor<1x4x9x16xf32> -> tensor<1x4x8x17xf32> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return
}

// -----

func.func @b2b_gemm_c5(%q: tensor<1x4x8x16xf32>, %k: tensor<1x4x9x16xf32>, %v: tensor<1x4x9x16xf32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op region: expected argument #0 to be f32, the accumulator, got f64}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 : tensor<1x4x8x16xf32>, tensor<1x4x9x16xf32>, tensor<1x4x9x16xf32> -> tensor<1x4x8x16xf32> {
  ^bb0(%s: f64):
    ait.yield %s : f64
  }
  return
}

// -----

func.func @b2b_gemm_jagged_c1(%q: tensor<1x9x4x16xf32>, %k: tensor<9x4x16xf32>, %v: tensor<9x4x8xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op operand 'query': expected rank 3, got 4}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 offsets(%o : tensor<3xi32>) max_length 8 : tensor<1x9x4x16xf32>, tensor<9x4x16xf32>, tensor<9x4x8xf32> -> tensor<9x4x8xf32> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return
}

// -----

func.func @b2b_gemm_jagged_c2(%q: tensor<9x4x16xf32>, %k: tensor<8x4x16xf32>, %v: tensor<9x4x8xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op operand 'key': expected T of operand 'query' = 9 in dimension 0, got 8}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 offsets(%o : tensor<3xi32>) max_length 8 : tensor<9x4x16xf32>, tensor<8x4x16xf32>, tensor<9x4x8xf32> -> tensor<9x4x8xf32> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return
}

// -----

func.func @b2b_gemm_jagged_c4(%q: tensor<9x4x16xf32>, %k: tensor<9x4x16xf32>, %v: tensor<9x4x8xf32>, %o: tensor<3xi32>, %b: tensor<3x1x8x8xf32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op operand 'bias' #0: expected 1 or 2 in dimension 0, to broadcast to 2x4x8x8, got 3}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 bias(%b : tensor<3x1x8x8xf32>) offsets(%o : tensor<3xi32>) max_length 8 : tensor<9x4x16xf32>, tensor<9x4x16xf32>, tensor<9x4x8xf32> -> tensor<9x4x8xf32> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return
}

// -----

func.func @b2b_gemm_jagged_c6_type(%q: tensor<9x4x16xf32>, %k: tensor<9x4x16xf32>, %v: tensor<9x4x8xf32>, %o: tensor<3xf32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op operand 'offsets': expected element type i32 or i64, got f32}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 offsets(%o : tensor<3xf32>) max_length 8 : tensor<9x4x16xf32>, tensor<9x4x16xf32>, tensor<9x4x8xf32> -> tensor<9x4x8xf32> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return
}

// -----

func.func @b2b_gemm_jagged_c6_missing(%q: tensor<9x4x16xf32>, %k: tensor<9x4x16xf32>, %v: tensor<9x4x8xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op attribute 'max_length': missing beside operand 'offsets'}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 offsets(%o : tensor<3xi32>) : tensor<9x4x16xf32>, tensor<9x4x16xf32>, tensor<9x4x8xf32> -> tensor<9x4x8xf32> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return
}

// -----

func.func @b2b_gemm_jagged_c6_value(%q: tensor<9x4x16xf32>, %k: tensor<9x4x16xf32>, %v: tensor<9x4x8xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op attribute 'max_length': expected at least 1, got 0}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 offsets(%o : tensor<3xi32>) max_length 0 : tensor<9x4x16xf32>, tensor<9x4x16xf32>, tensor<9x4x8xf32> -> tensor<9x4x8xf32> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return
}

// -----

func.func @b2b_gemm_c6(%q: tensor<1x4x8x16xf32>, %k: tensor<1x4x9x16xf32>, %v: tensor<1x4x9x16xf32>) {
  // expected-error @+1 {{'ait.b2b_gemm' op attribute 'max_length': expected none without operand 'offsets'}}
  %0 = ait.b2b_gemm %q, %k, %v alpha 1.0, 1.0 max_length 8 : tensor<1x4x8x16xf32>, tensor<1x4x9x16xf32>, tensor<1x4x9x16xf32> -> tensor<1x4x8x16xf32> {
  ^bb0(%s: f32):
    ait.yield %s : f32
  }
  return
}

// -----

func.func @conv_c1(%x: tensor<4x9xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @+1 {{'ait.conv' op operand 'input': expected rank 3 to 5, got 2}}
  %0 = ait.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 : tensor<4x9xf32>, tensor<8x4x3x3xf32> -> tensor<1x8x7x7xf32>
  return
}

// -----

func.func @conv_c1_filter(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3xf32>) {
  // expected-error @+1 {{'ait.conv' op operand 'filter': expected rank 4, got 3}}
  %0 = ait.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 : tensor<1x4x9x9xf32>, tensor<8x4x3xf32> -> tensor<1x8x7x7xf32>
  return
}

// -----

func.func @conv_c2(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @+1 {{'ait.conv' op attribute 'strides': expected 2 entries, one a spatial dimension, got 1}}
  %0 = ait.conv %x, %w strides [1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32> -> tensor<1x8x7x7xf32>
  return
}

// -----

func.func @conv_c2_range(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @+1 {{'ait.conv' op attribute 'dilations': expected entries of at least 1, got 0}}
  %0 = ait.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 0] groups 1 : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32> -> tensor<1x8x7x7xf32>
  return
}

// -----

func.func @conv_c2_pads(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @+1 {{'ait.conv' op attribute 'pads': expected 4 entries, two a spatial dimension, got 2}}
  %0 = ait.conv %x, %w strides [1, 1] pads [0, 0] dilations [1, 1] groups 1 : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32> -> tensor<1x8x7x7xf32>
  return
}

// -----

func.func @conv_c2_output_padding(%x: tensor<1x4x9x9xf32>, %w: tensor<4x8x3x3xf32>) {
  // expected-error @+1 {{'ait.conv' op attribute 'output_padding': expected 2 entries, one a spatial dimension, got 1}}
  %0 = ait.conv transposed %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 output_padding [1] : tensor<1x4x9x9xf32>, tensor<4x8x3x3xf32> -> tensor<1x8x11x11xf32>
  return
}

// -----

func.func @conv_c3(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @+1 {{'ait.conv' op attribute 'groups': expected a divisor of the 4 channels of operand 'input', got 3}}
  %0 = ait.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 3 : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32> -> tensor<1x8x7x7xf32>
  return
}

// -----

func.func @conv_c4(%x: tensor<1x4x9x9xf32>, %w: tensor<8x3x3x3xf32>) {
  // expected-error @+1 {{'ait.conv' op operand 'filter': expected channels / groups = 4 in dimension 1, got 3}}
  %0 = ait.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 : tensor<1x4x9x9xf32>, tensor<8x3x3x3xf32> -> tensor<1x8x7x7xf32>
  return
}

// -----

func.func @conv_c4_transposed(%x: tensor<1x4x9x9xf32>, %w: tensor<3x8x3x3xf32>) {
  // expected-error @+1 {{'ait.conv' op operand 'filter': expected the channels of operand 'input' = 4 in dimension 0, got 3}}
  %0 = ait.conv transposed %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 : tensor<1x4x9x9xf32>, tensor<3x8x3x3xf32> -> tensor<1x8x11x11xf32>
  return
}

// -----

func.func @conv_c5(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @+1 {{'ait.conv' op result: expected the computed size = 7 in dimension 2, got 9}}
  %0 = ait.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32> -> tensor<1x8x9x7xf32>
  return
}

// -----

func.func @conv_c5_transposed(%x: tensor<1x4x9x9xf32>, %w: tensor<4x8x3x3xf32>) {
  // expected-error @+1 {{'ait.conv' op result: expected the computed size = 11 in dimension 3, got 12}}
  %0 = ait.conv transposed %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 : tensor<1x4x9x9xf32>, tensor<4x8x3x3xf32> -> tensor<1x8x11x12xf32>
  return
}

// -----

func.func @conv_c6(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>) {
  // expected-error @+1 {{'ait.conv' op region: expected argument #0 to be f32, the accumulator, got f64}}
  %0 = ait.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32> -> tensor<1x8x7x7xf32> epilogue {
  ^bb0(%a: f64):
    ait.yield %a : f64
  }
  return
}

// -----

func.func @conv_c7(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>, %b: tensor<4x1x1xf32>) {
  // expected-error @+1 {{'ait.conv' op operand 'extras' #0: expected 1 or 8 in dimension 0, to broadcast to 1x8x7x7, got 4}}
  %0 = ait.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 extras(%b : tensor<4x1x1xf32>) : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32> -> tensor<1x8x7x7xf32> epilogue {
  ^bb0(%a: f32, %e: f32):
    ait.yield %a : f32
  }
  return
}

// -----

func.func @deform_conv_c1(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3xf32>, %o: tensor<1x18x7x7xf32>) {
  // expected-error @+1 {{'ait.deform_conv' op operand 'filter': expected rank 4, got 3}}
  %0 = ait.deform_conv %x, %w, %o strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 offset_groups 1 : tensor<1x4x9x9xf32>, tensor<8x4x3xf32>, tensor<1x18x7x7xf32> -> tensor<1x8x7x7xf32>
  return
}

// -----

func.func @deform_conv_c2(%x: tensor<1x4x9x9xf32>, %w: tensor<8x4x3x3xf32>, %o: tensor<1x9x7x7xf32>) {
  // expected-error @+1 {{'ait.deform_conv' op operand 'offset': expected 2 * offset_groups * kh * kw = 18 in dimension 1, got 9}}
  %0 = ait.deform_conv %x, %w, %o strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] groups 1 offset_groups 1 : tensor<1x4x9x9xf32>, tensor<8x4x3x3xf32>, tensor<1x9x7x7xf32> -> tensor<1x8x7x7xf32>
  return
}

// -----

func.func @gemm_c1(%a: tensor<8xf32>, %b: tensor<8x4xf32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'a': expected rank 2 or more, got 1}}
  %0 = ait.gemm %a, %b row row : tensor<8xf32>, tensor<8x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @gemm_c2(%a: tensor<8x64xf32>, %b: tensor<32x4xf32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'b': expected K = 64 (dimension 0, row layout), got 32}}
  %0 = ait.gemm %a, %b row row : tensor<8x64xf32>, tensor<32x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @gemm_c2_col(%a: tensor<8x64xf32>, %b: tensor<4x32xf32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'b': expected K = 64 (dimension 1, col layout), got 32}}
  %0 = ait.gemm %a, %b row col : tensor<8x64xf32>, tensor<4x32xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @gemm_c3(%a: tensor<8x64xf32>, %b: tensor<64x4xf32>) {
  // expected-error @+1 {{'ait.gemm' op result: expected shape 8x4, got 8x5}}
  %0 = ait.gemm %a, %b row row : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<8x5xf32>
  return
}

// -----

func.func @gemm_c3_batch(%a: tensor<2x8x64xf32>, %b: tensor<3x64x4xf32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'b': expected 1 or 2 in batch dimension 0, got 3}}
  %0 = ait.gemm %a, %b row row : tensor<2x8x64xf32>, tensor<3x64x4xf32> -> tensor<2x8x4xf32>
  return
}

// -----

func.func @gemm_c4(%a: tensor<8x64xf32>, %b: tensor<64x4xf16>) {
  // expected-error @+1 {{'ait.gemm' op operand 'b': expected the element type of operand 'a', f32, got f16}}
  %0 = ait.gemm %a, %b row row : tensor<8x64xf32>, tensor<64x4xf16> -> tensor<8x4xf32>
  return
}

// -----

func.func @gemm_c5(%a: tensor<8x64xf32>, %b: tensor<64x4xf32>, %e: tensor<4xf16>) {
  // expected-error @+1 {{'ait.gemm' op region: expected argument #1 to be f16, the element type of operand 'extras' #0, got f32}}
  %0 = ait.gemm %a, %b row row extras(%e : tensor<4xf16>) : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<8x4xf32> epilogue {
  ^bb0(%acc: f32, %x: f32):
    ait.yield %acc : f32
  }
  return
}

// -----

func.func @gemm_c5_no_epilogue(%a: tensor<8x64xf32>, %b: tensor<64x4xf32>, %e: tensor<4xf32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'extras': expected none without an epilogue, got 1}}
  %0 = ait.gemm %a, %b row row extras(%e : tensor<4xf32>) : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @gemm_c6(%a: tensor<8x64xf32>, %b: tensor<64x4xf32>, %e: tensor<5xf32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'extras' #0: expected 1 or 4 in dimension 0, to broadcast to 8x4, got 5}}
  %0 = ait.gemm %a, %b row row extras(%e : tensor<5xf32>) : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<8x4xf32> epilogue {
  ^bb0(%acc: f32, %x: f32):
    ait.yield %acc : f32
  }
  return
}

// -----

func.func @gemm_c7(%a: tensor<8x64xf32>, %b: tensor<64x4xf32>, %c: tensor<64x5xf32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'others' #0: expected the type of operand 'b'}}
  %0 = ait.gemm %a, %b and(%c : tensor<64x5xf32>) row row : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<8x4xf32> epilogue {
  ^bb0(%x: f32, %y: f32):
    ait.yield %x : f32
  }
  return
}

// -----

func.func @gemm_c8(%a: tensor<8x64xf32>, %b: tensor<64x4xf32>) {
  // expected-error @+1 {{'ait.gemm' op result #1: expected shape 8x4, got 8x5}}
  %0:2 = ait.gemm %a, %b row row : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<8x4xf32>, tensor<8x5xf32> epilogue {
  ^bb0(%x: f32):
    ait.yield %x, %x : f32, f32
  }
  return
}

// -----

func.func @gemm_c5_results(%a: tensor<8x64xf32>, %b: tensor<64x4xf32>) {
  // expected-error @+1 {{'ait.gemm' op expected an epilogue, for 1 products and 2 results}}
  %0:2 = ait.gemm %a, %b row row : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<8x4xf32>, tensor<8x4xf32>
  return
}

// -----

func.func @gemm_c5_products(%a: tensor<8x64xf32>, %b: tensor<64x4xf32>) {
  // expected-error @+1 {{'ait.gemm' op region: expected 2 arguments, got 1}}
  %0 = ait.gemm %a, %b and(%b : tensor<64x4xf32>) row row : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<8x4xf32> epilogue {
  ^bb0(%x: f32):
    ait.yield %x : f32
  }
  return
}

// -----

func.func @gemm_c9_split(%a: tensor<8x64xf32>, %b: tensor<64x4xf32>) {
  // expected-error @+1 {{'ait.gemm' op attribute 'split': expected 2 positive numbers, one for each dimension of the product}}
  %0 = ait.gemm %a, %b row row split [1] permuted [0] : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<32xf32>
  return
}

// -----

func.func @gemm_c9_permuted(%a: tensor<8x64xf32>, %b: tensor<64x4xf32>) {
  // expected-error @+1 {{'ait.gemm' op attribute 'permuted': expected a permutation of 3 dimensions}}
  %0 = ait.gemm %a, %b row row split [1, 2] permuted [0, 1, 1] : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<8x2x2xf32>
  return
}

// -----

func.func @gemm_c9_parts(%a: tensor<8x64xf32>, %b: tensor<64x4xf32>) {
  // expected-error @+1 {{'ait.gemm' op result: expected parts of dimension 1 of the product, 4, got 2x3}}
  %0 = ait.gemm %a, %b row row split [1, 2] permuted [1, 0, 2] : tensor<8x64xf32>, tensor<64x4xf32> -> tensor<2x8x3xf32>
  return
}

// -----

func.func @gemm_c9_dims(%a: tensor<?x64xf32>, %b: tensor<64x4xf32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'dims': expected 1, one for each `?` of the result, got 0}}
  %0 = ait.gemm %a, %b row row split [1, 2] permuted [1, 0, 2] : tensor<?x64xf32>, tensor<64x4xf32> -> tensor<2x?x2xf32>
  return
}

// -----

func.func @gemm_c9_dims_without_split(%a: tensor<?x64xf32>, %b: tensor<64x4xf32>, %n: index) {
  // expected-error @+1 {{'ait.gemm' op operand 'dims': expected none without 'split', got 1}}
  %0 = ait.gemm %a, %b row row dims(%n) : tensor<?x64xf32>, tensor<64x4xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @gemm_c10_rank(%x: tensor<4x9x32xf16>, %w: tensor<8x64x32xf16>, %o: tensor<9xi32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'a': expected rank 2, got 3}}
  %0 = ait.gemm %x, %w row col offsets(%o : tensor<9xi32>) : tensor<4x9x32xf16>, tensor<8x64x32xf16> -> tensor<4x9x64xf16>
  return
}

// -----

func.func @gemm_c10_matrices(%x: tensor<?x32xf16>, %w: tensor<64x32xf16>, %o: tensor<9xi32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'b': expected rank 3, got 2}}
  %0 = ait.gemm %x, %w row col offsets(%o : tensor<9xi32>) : tensor<?x32xf16>, tensor<64x32xf16> -> tensor<?x64xf16>
  return
}

// -----

func.func @gemm_c10_offsets(%x: tensor<?x32xf16>, %w: tensor<8x64x32xf16>, %o: tensor<8xi32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'b': expected one less than the offsets = 7 in dimension 0, got 8}}
  %0 = ait.gemm %x, %w row col offsets(%o : tensor<8xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16>
  return
}

// -----

func.func @gemm_c10_element(%x: tensor<?x32xf16>, %w: tensor<8x64x32xf16>, %o: tensor<9xf32>) {
  // expected-error @+1 {{'ait.gemm' op operand 'offsets': expected element type i32 or i64, got f32}}
  %0 = ait.gemm %x, %w row col offsets(%o : tensor<9xf32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16>
  return
}

// -----

func.func @gemm_c10_result(%x: tensor<?x32xf16>, %w: tensor<8x64x32xf16>, %o: tensor<9xi32>) {
  // expected-error @+1 {{'ait.gemm' op result: expected shape ?x64, got 8x?x64}}
  %0 = ait.gemm %x, %w row col offsets(%o : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<8x?x64xf16>
  return
}

// -----

func.func @gemm_c10_split(%x: tensor<?x32xf16>, %w: tensor<8x64x32xf16>, %o: tensor<9xi32>, %n: index) {
  // expected-error @+1 {{'ait.gemm' op attribute 'split': expected none beside operand 'offsets'}}
  %0 = ait.gemm %x, %w row col offsets(%o : tensor<9xi32>) split [1, 2] permuted [1, 0, 2] dims(%n) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<4x?x16xf16>
  return
}

// -----

func.func @gemm_c10_extra(%x: tensor<?x32xf16>, %w: tensor<8x64x32xf16>, %o: tensor<9xi32>, %b: tensor<8x?x64xf16>) {
  // expected-error @+1 {{'ait.gemm' op operand 'extras' #0: expected 1 in dimension 0 or 1: a row is in one group}}
  %0 = ait.gemm %x, %w row col extras(%b : tensor<8x?x64xf16>) offsets(%o : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16> epilogue {
  ^bb0(%acc: f32, %e: f16):
    ait.yield %e : f16
  }
  return
}

// -----

func.func @gemm_c6_groups(%x: tensor<?x32xf16>, %w: tensor<8x64x32xf16>, %o: tensor<9xi32>, %b: tensor<7x1x64xf16>) {
  // expected-error @+1 {{'ait.gemm' op operand 'extras' #0: expected 1 or 8 in dimension 0, to broadcast to 8x?x64, got 7}}
  %0 = ait.gemm %x, %w row col extras(%b : tensor<7x1x64xf16>) offsets(%o : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16> epilogue {
  ^bb0(%acc: f32, %e: f16):
    ait.yield %e : f16
  }
  return
}

// -----

func.func @group_c1(%x: tensor<4x32xf16>, %w: tensor<8x32xf16>, %f: tensor<8x32xf32>, %b: tensor<8xf16>) {
  // expected-error @+1 {{'ait.group' op region: expected 2 arguments, one for each operand, got 1}}
  %0:2 = ait.group(%x, %w : tensor<4x32xf16>, tensor<8x32xf16>) -> tensor<4x8xf16>, tensor<4x8xf16> members {
  ^bb0(%a: tensor<4x32xf16>):
    %p = ait.gemm %a, %a row col : tensor<4x32xf16>, tensor<4x32xf16> -> tensor<4x4xf16>
    ait.yield %p, %p : tensor<4x4xf16>, tensor<4x4xf16>
  }
  return
}

// -----

func.func @group_c1_types(%x: tensor<4x32xf16>, %w: tensor<8x32xf16>, %f: tensor<8x32xf32>, %b: tensor<8xf16>) {
  // expected-error @+1 {{'ait.group' op region: expected argument #1 to be tensor<8x32xf16>, got tensor<9x32xf16>}}
  %0:2 = ait.group(%x, %w : tensor<4x32xf16>, tensor<8x32xf16>) -> tensor<4x8xf16>, tensor<4x8xf16> members {
  ^bb0(%a: tensor<4x32xf16>, %c: tensor<9x32xf16>):
    ait.yield %a, %a : tensor<4x32xf16>, tensor<4x32xf16>
  }
  return
}

// -----

func.func @group_c2(%x: tensor<4x32xf16>, %w: tensor<8x32xf16>, %f: tensor<8x32xf32>, %b: tensor<8xf16>) {
  // expected-error @+1 {{'ait.group' op region: expected 'ait.gemm' and constants, got 'ait.softmax'}}
  %0:2 = ait.group(%x, %w : tensor<4x32xf16>, tensor<8x32xf16>) -> tensor<4x8xf16>, tensor<4x8xf16> members {
  ^bb0(%a: tensor<4x32xf16>, %c: tensor<8x32xf16>):
    %p = ait.softmax softmax %a axis 1 : tensor<4x32xf16> -> tensor<4x32xf16>
    ait.yield %p : tensor<4x32xf16>
  }
  return
}

// -----

func.func @group_c2_members(%x: tensor<4x32xf16>, %w: tensor<8x32xf16>, %f: tensor<8x32xf32>, %b: tensor<8xf16>) {
  // expected-error @+1 {{'ait.group' op region: expected two members or more, got 1}}
  %0:2 = ait.group(%x, %w : tensor<4x32xf16>, tensor<8x32xf16>) -> tensor<4x8xf16>, tensor<4x8xf16> members {
  ^bb0(%a: tensor<4x32xf16>, %c: tensor<8x32xf16>):
    %p = ait.gemm %a, %c row col : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
    ait.yield %p : tensor<4x8xf16>
  }
  return
}

// -----

func.func @group_c2_yield(%x: tensor<4x32xf16>, %w: tensor<8x32xf16>, %f: tensor<8x32xf32>, %b: tensor<8xf16>) {
  // expected-error @+1 {{'ait.group' op region: expected to yield the 2 results of all members in order}}
  %0:2 = ait.group(%x, %w : tensor<4x32xf16>, tensor<8x32xf16>) -> tensor<4x8xf16>, tensor<4x8xf16> members {
  ^bb0(%a: tensor<4x32xf16>, %c: tensor<8x32xf16>):
    %p = ait.gemm %a, %c row col : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
    %q = ait.gemm %a, %c row col : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
    ait.yield %q, %p : tensor<4x8xf16>, tensor<4x8xf16>
  }
  return
}

// -----

func.func @group_c3(%x: tensor<4x32xf16>, %w: tensor<8x32xf16>, %f: tensor<8x32xf32>, %b: tensor<8xf16>) {
  // expected-error @+1 {{'ait.group' op member #1: expected operands that are arguments of the region}}
  %0:2 = ait.group(%x, %w : tensor<4x32xf16>, tensor<8x32xf16>) -> tensor<4x8xf16>, tensor<4x8xf16> members {
  ^bb0(%a: tensor<4x32xf16>, %c: tensor<8x32xf16>):
    %p = ait.gemm %a, %c row col : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
    %q = ait.gemm %a, %w row col : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
    ait.yield %p, %q : tensor<4x8xf16>, tensor<4x8xf16>
  }
  return
}

// -----

func.func @group_c3_dependent(%x: tensor<4x32xf16>, %w: tensor<8x32xf16>, %f: tensor<8x32xf32>, %b: tensor<8xf16>) {
  // expected-error @+1 {{'ait.group' op member #1: expected operands that are arguments of the region}}
  %0:2 = ait.group(%x, %w : tensor<4x32xf16>, tensor<8x32xf16>) -> tensor<4x8xf16>, tensor<4x8xf16> members {
  ^bb0(%a: tensor<4x32xf16>, %c: tensor<8x32xf16>):
    %p = ait.gemm %a, %c row col : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
    %q = ait.gemm %p, %p row col : tensor<4x8xf16>, tensor<4x8xf16> -> tensor<4x4xf16>
    ait.yield %p, %q : tensor<4x8xf16>, tensor<4x4xf16>
  }
  return
}

// -----

func.func @group_c4(%x: tensor<4x32xf16>, %w: tensor<8x32xf16>, %f: tensor<8x32xf32>, %b: tensor<8xf16>) {
  // expected-error @+1 {{'ait.group' op member #1: expected to be like member #0, but they differ in attributes}}
  %0:2 = ait.group(%x, %w : tensor<4x32xf16>, tensor<8x32xf16>) -> tensor<4x8xf16>, tensor<4x8xf16> members {
  ^bb0(%a: tensor<4x32xf16>, %c: tensor<8x32xf16>):
    %p = ait.gemm %a, %c row col : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
    %q = ait.gemm %a, %c row col alpha 2.0 : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
    ait.yield %p, %q : tensor<4x8xf16>, tensor<4x8xf16>
  }
  return
}

// -----

func.func @group_c4_element(%x: tensor<4x32xf16>, %w: tensor<8x32xf16>, %f: tensor<8x32xf32>, %b: tensor<8xf16>) {
  // expected-error @+1 {{'ait.group' op member #1: expected to be like member #0, but they differ in operands or results, rank 2 of f16 and rank 2 of f32}}
  %0:2 = ait.group(%x, %w, %f : tensor<4x32xf16>, tensor<8x32xf16>, tensor<8x32xf32>) -> tensor<4x8xf16>, tensor<4x8xf16> members {
  ^bb0(%a: tensor<4x32xf16>, %c: tensor<8x32xf16>, %d: tensor<8x32xf32>):
    %p = ait.gemm %a, %c row col : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
    %q = ait.gemm %d, %d row col : tensor<8x32xf32>, tensor<8x32xf32> -> tensor<8x8xf32>
    ait.yield %p, %q : tensor<4x8xf16>, tensor<8x8xf32>
  }
  return
}

// -----

func.func @group_c4_epilogue(%x: tensor<4x32xf16>, %w: tensor<8x32xf16>, %f: tensor<8x32xf32>, %b: tensor<8xf16>) {
  // expected-error @+1 {{'ait.group' op member #1: expected to be like member #0, but they differ in the epilogue}}
  %0:2 = ait.group(%x, %w, %b : tensor<4x32xf16>, tensor<8x32xf16>, tensor<8xf16>) -> tensor<4x8xf16>, tensor<4x8xf16> members {
  ^bb0(%a: tensor<4x32xf16>, %c: tensor<8x32xf16>, %e: tensor<8xf16>):
    %p = ait.gemm %a, %c row col extras(%e : tensor<8xf16>) : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16> epilogue {
    ^bb0(%acc: f32, %v: f16):
      %t = arith.truncf %acc : f32 to f16
      %r = arith.addf %t, %v : f16
      ait.yield %r : f16
    }
    %q = ait.gemm %a, %c row col extras(%e : tensor<8xf16>) : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16> epilogue {
    ^bb0(%acc: f32, %v: f16):
      %t = arith.truncf %acc : f32 to f16
      %r = arith.mulf %t, %v : f16
      ait.yield %r : f16
    }
    ait.yield %p, %q : tensor<4x8xf16>, tensor<4x8xf16>
  }
  return
}

// -----

func.func @group_c5(%x: tensor<4x32xf16>, %w: tensor<8x32xf16>, %f: tensor<8x32xf32>, %b: tensor<8xf16>) {
  // expected-error @+1 {{'ait.group' op results: expected tensor<4x8xf16>, tensor<4x8xf16>, as yielded, got tensor<4x8xf16>, tensor<4x9xf16>}}
  %0:2 = ait.group(%x, %w : tensor<4x32xf16>, tensor<8x32xf16>) -> tensor<4x8xf16>, tensor<4x9xf16> members {
  ^bb0(%a: tensor<4x32xf16>, %c: tensor<8x32xf16>):
    %p = ait.gemm %a, %c row col : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
    %q = ait.gemm %a, %c row col : tensor<4x32xf16>, tensor<8x32xf16> -> tensor<4x8xf16>
    ait.yield %p, %q : tensor<4x8xf16>, tensor<4x8xf16>
  }
  return
}

// -----

func.func @rnn_c1(%x: tensor<2x1x3xf32>, %w: tensor<1x16x5xf32>, %r: tensor<1x16x4xf32>) {
  // expected-error @+1 {{'ait.rnn' op operand 'w': expected I of operand 'x' = 3 in dimension 2, got 5}}
  %0:3 = ait.rnn lstm forward %x, %w, %r operands [] activations [] [] [] : tensor<2x1x3xf32>, tensor<1x16x5xf32>, tensor<1x16x4xf32> -> tensor<2x1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>
  return
}

// -----

func.func @rnn_c1_gates(%x: tensor<2x1x3xf32>, %w: tensor<1x12x3xf32>, %r: tensor<1x16x4xf32>) {
  // expected-error @+1 {{'ait.rnn' op operand 'w': expected gates * H = 16 in dimension 1, got 12}}
  %0:3 = ait.rnn lstm forward %x, %w, %r operands [] activations [] [] [] : tensor<2x1x3xf32>, tensor<1x12x3xf32>, tensor<1x16x4xf32> -> tensor<2x1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>
  return
}

// -----

func.func @rnn_c1_directions(%x: tensor<2x1x3xf32>, %w: tensor<2x16x3xf32>, %r: tensor<1x16x4xf32>) {
  // expected-error @+1 {{'ait.rnn' op operand 'w': expected the number of directions = 1 in dimension 0, got 2}}
  %0:3 = ait.rnn lstm forward %x, %w, %r operands [] activations [] [] [] : tensor<2x1x3xf32>, tensor<2x16x3xf32>, tensor<1x16x4xf32> -> tensor<2x1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>
  return
}

// -----

func.func @rnn_c2(%x: tensor<2x1x3xf32>, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>) {
  // expected-error @+1 {{'ait.rnn' op attribute 'operand_kinds': expected 0 entries, one for each of 'states', got 1}}
  %0:3 = ait.rnn lstm forward %x, %w, %r operands ["bias"] activations [] [] [] : tensor<2x1x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32> -> tensor<2x1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>
  return
}

// -----

func.func @rnn_c3(%x: tensor<2x1x3xf32>, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>) {
  // expected-error @+1 {{'ait.rnn' op expected 3 results, got 2}}
  %0:2 = ait.rnn lstm forward %x, %w, %r operands [] activations [] [] [] : tensor<2x1x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32> -> tensor<2x1x1x4xf32>, tensor<1x1x4xf32>
  return
}

// -----

func.func @argreduce_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.argreduce' op attribute 'axis': expected a value in [0, 2), got 2}}
  %0 = ait.argreduce max %x axis 2 : tensor<2x4xf32> -> tensor<2xi64>
  return
}

// -----

func.func @argreduce_c2(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.argreduce' op result: expected element type i64, got i32}}
  %0 = ait.argreduce max %x axis 1 : tensor<2x4xf32> -> tensor<2xi32>
  return
}

// -----

func.func @argreduce_c2_shape(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.argreduce' op result: expected shape 2x1, got 2}}
  %0 = ait.argreduce max %x axis 1 keepdims : tensor<2x4xf32> -> tensor<2xi64>
  return
}

// -----

func.func @norm_c1(%x: tensor<1x4x5xf32>, %p: tensor<4xf32>) {
  // expected-error @+1 {{'ait.norm' op result: expected shape 1x4x5, got 1x4x6}}
  %0 = ait.norm rms %x epsilon 1.0 axis 1 : tensor<1x4x5xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @norm_c2(%x: tensor<1x4x5xf32>, %p: tensor<4xf32>) {
  // expected-error @+1 {{'ait.norm' op attribute 'axis': expected a value in [0, 3), got 3}}
  %0 = ait.norm layer %x epsilon 1.0 axis 3 : tensor<1x4x5xf32> -> tensor<1x4x5xf32>
  return
}

// -----

func.func @norm_c2_kind(%x: tensor<1x4x5xf32>, %p: tensor<4xf32>) {
  // expected-error @+1 {{'ait.norm' op attribute 'axis': expected only with layer or rms, got 1}}
  %0 = ait.norm group %x epsilon 1.0 axis 1 : tensor<1x4x5xf32> -> tensor<1x4x5xf32>
  return
}

// -----

func.func @norm_c3(%x: tensor<1x4x5xf32>, %p: tensor<4xf32>) {
  // expected-error @+1 {{'ait.norm' op attribute 'groups': expected a divisor of the 4 channels, got 3}}
  %0 = ait.norm group %x epsilon 1.0 groups 3 : tensor<1x4x5xf32> -> tensor<1x4x5xf32>
  return
}

// -----

func.func @norm_c3_kind(%x: tensor<1x4x5xf32>, %p: tensor<4xf32>) {
  // expected-error @+1 {{'ait.norm' op attribute 'groups': expected only with group, got 2}}
  %0 = ait.norm instance %x epsilon 1.0 groups 2 : tensor<1x4x5xf32> -> tensor<1x4x5xf32>
  return
}

// -----

func.func @norm_c4(%x: tensor<1x4x5xf32>, %p: tensor<4xf32>) {
  // expected-error @+1 {{'ait.norm' op operand 'params': expected at most 2, got 3}}
  %0 = ait.norm instance %x params(%p, %p, %p : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) epsilon 1.0 : tensor<1x4x5xf32> -> tensor<1x4x5xf32>
  return
}

// -----

func.func @pool_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'ait.pool' op operand 'input': expected rank 3 to 5, got 2}}
  %0:1 = ait.pool max %x kernel [2] strides [2] pads [0, 0] dilations [1] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @pool_c2(%x: tensor<1x4x8xf32>) {
  // expected-error @+1 {{'ait.pool' op attribute 'kernel': expected 1 entries, one a spatial dimension, got 2}}
  %0:1 = ait.pool max %x kernel [2, 2] strides [2] pads [0, 0] dilations [1] : tensor<1x4x8xf32> -> tensor<1x4x4xf32>
  return
}

// -----

func.func @pool_c3(%x: tensor<1x4x8xf32>) {
  // expected-error @+1 {{'ait.pool' op expected 1 results, got 2}}
  %0:2 = ait.pool average %x kernel [2] strides [2] pads [0, 0] dilations [1] : tensor<1x4x8xf32> -> tensor<1x4x4xf32>, tensor<1x4x4xi64>
  return
}

// -----

func.func @pool_c4(%x: tensor<1x4x8xf32>) {
  // expected-error @+1 {{'ait.pool' op attribute 'p': expected only with lp, got 3}}
  %0:1 = ait.pool max %x kernel [2] strides [2] pads [0, 0] dilations [1] {p = 3 : i64} : tensor<1x4x8xf32> -> tensor<1x4x4xf32>
  return
}

// -----

func.func @reduce_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.reduce' op attribute 'axes': expected entries in [0, 2), got 2}}
  %0 = ait.reduce sum %x axes [2] : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_c1_twice(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.reduce' op attribute 'axes': expected unique entries, got 1 twice}}
  %0 = ait.reduce sum %x axes [1, 1] : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_c2(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.reduce' op result: expected shape 2, got 4}}
  %0 = ait.reduce sum %x axes [1] : tensor<2x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c3(%x: tensor<2x4xf32>, %a: tensor<1xi64>) {
  // expected-error @+1 {{'ait.reduce' op operand 'dynamic_axes': expected none beside the attribute 'axes'}}
  %0 = ait.reduce sum %x axes [1] dynamic_axes(%a : tensor<1xi64>) keepdims : tensor<2x4xf32> -> tensor<2x1xf32>
  return
}

// -----

func.func @scan_c1(%x: tensor<2xf32>, %a: index) {
  // expected-error @+1 {{'ait.scan' op result: expected shape 2, got 3}}
  %0 = ait.scan sum %x axis %a : tensor<2xf32> -> tensor<3xf32>
  return
}

// -----

func.func @softmax_c1(%x: tensor<2xf32>) {
  // expected-error @+1 {{'ait.softmax' op attribute 'axis': expected a value in [0, 1), got -1}}
  %0 = ait.softmax softmax %x axis -1 : tensor<2xf32> -> tensor<2xf32>
  return
}

// -----

func.func @softmax_c2(%x: tensor<2xi32>) {
  // expected-error @+1 {{'ait.softmax' op operand 'input': expected a float element type, got i32}}
  %0 = ait.softmax softmax %x axis 0 : tensor<2xi32> -> tensor<2xi32>
  return
}

// -----

func.func @topk_c1(%x: tensor<2x9xf32>) {
  // expected-error @+1 {{'ait.topk' op attribute 'axis': expected a value in [0, 2), got 2}}
  %0, %1 = ait.topk %x axis 2 : tensor<2x9xf32> -> tensor<2x3xf32>, tensor<2x3xi64>
  return
}

// -----

func.func @topk_c2(%x: tensor<2x9xf32>) {
  // expected-error @+1 {{'ait.topk' op result #1: expected k of result #0 = 3 in dimension 1, got 4}}
  %0, %1 = ait.topk %x axis 1 : tensor<2x9xf32> -> tensor<2x3xf32>, tensor<2x4xi64>
  return
}

// -----

func.func @topk_c3(%x: tensor<2x9xf32>) {
  // expected-error @+1 {{'ait.topk' op operand 'dims': expected 1 values, one for each '?' of the result #0 type, got 0}}
  %0, %1 = ait.topk %x axis 1 : tensor<2x9xf32> -> tensor<2x?xf32>, tensor<2x?xi64>
  return
}

// -----

func.func @concat_c1() {
  // expected-error @+1 {{'ait.concat' op operand 'inputs': expected at least one, got none}}
  %0 = "ait.concat"() <{axis = 0 : i64}> : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_c2(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  // expected-error @+1 {{'ait.concat' op operand 'inputs' #1: expected the element type of result, f32, got f64}}
  %0 = ait.concat %x, %y axis 0 : tensor<2xf32>, tensor<2xf64> -> tensor<4xf32>
  return
}

// -----

func.func @concat_c3(%x: tensor<2xf32>) {
  // expected-error @+1 {{'ait.concat' op attribute 'axis': expected a value in [0, 1), got 1}}
  %0 = ait.concat %x, %x axis 1 : tensor<2xf32>, tensor<2xf32> -> tensor<4xf32>
  return
}

// -----

func.func @concat_c4(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.concat' op operand 'inputs' #1: expected the result's size = 3 in dimension 1, got 4}}
  %0 = ait.concat %x, %y axis 0 : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_c1(%x: tensor<5x4xf32>, %i: tensor<3xi8>) {
  // expected-error @+1 {{'ait.gather' op operand 'indices': expected element type i32 or i64, got i8}}
  %0 = ait.gather slices %x[%i] : tensor<5x4xf32>, tensor<3xi8> -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_c2(%x: tensor<5x4xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{'ait.gather' op attribute 'axis': expected a value in [0, 2), got 2}}
  %0 = ait.gather slices %x[%i] axis 2 : tensor<5x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  return
}

// -----

func.func @gather_c2_nd(%x: tensor<5x4xf32>, %i: tensor<3x2xi64>) {
  // expected-error @+1 {{'ait.gather' op attribute 'axis': expected 0 with nd, got 1}}
  %0 = ait.gather nd %x[%i] axis 1 : tensor<5x4xf32>, tensor<3x2xi64> -> tensor<3xf32>
  return
}

// -----

func.func @gather_c3(%x: tensor<5x4xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{'ait.gather' op result: expected shape 3x4, got 3x5}}
  %0 = ait.gather slices %x[%i] : tensor<5x4xf32>, tensor<3xi64> -> tensor<3x5xf32>
  return
}

// -----

func.func @pad_c1(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'ait.pad' op 'low': expected 2 entries, one a dimension of operand 'input', got 1}}
  %0 = ait.pad edge %x low [1] high [0, 1] : tensor<2x3xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @pad_c2(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'ait.pad' op result: expected the element type of operand 'input', f32, got f64}}
  %0 = ait.pad edge %x low [0, 0] high [0, 1] : tensor<2x3xf32> -> tensor<2x4xf64>
  return
}

// -----

func.func @pad_c3(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'ait.pad' op result: expected the padded size = 5 in dimension 1, got 4}}
  %0 = ait.pad edge %x low [0, 1] high [0, 1] : tensor<2x3xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @reshape_c1(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'ait.reshape' op result: expected 6 elements, as operand 'input' has, got 7}}
  %0 = ait.reshape %x : tensor<2x3xf32> to tensor<7xf32>
  return
}

// -----

func.func @reshape_c2(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'ait.reshape' op operand 'dims': expected 1 values, one for each '?' of the result type, got 0}}
  %0 = ait.reshape %x : tensor<2x3xf32> to tensor<?xf32>
  return
}

// -----

func.func @reshape_c3(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'ait.reshape' op result: expected the element type of operand 'input', f32, got i32}}
  %0 = ait.reshape %x : tensor<2x3xf32> to tensor<6xi32>
  return
}

// -----

func.func @scatter_c1(%x: tensor<5x4xf32>, %i: tensor<2x4xf32>, %u: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.scatter' op operand 'indices': expected element type i32 or i64, got f32}}
  %0 = ait.scatter elements %x[%i], %u : tensor<5x4xf32>, tensor<2x4xf32>, tensor<2x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @scatter_c2(%x: tensor<5x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.scatter' op result: expected shape 5x4, got 5x5}}
  %0 = ait.scatter elements %x[%i], %u : tensor<5x4xf32>, tensor<2x4xi64>, tensor<2x4xf32> -> tensor<5x5xf32>
  return
}

// -----

func.func @scatter_c3(%x: tensor<5x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.scatter' op attribute 'axis': expected a value in [0, 2), got 2}}
  %0 = ait.scatter elements %x[%i], %u axis 2 : tensor<5x4xf32>, tensor<2x4xi64>, tensor<2x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @scatter_c3_nd(%x: tensor<5x4xf32>, %i: tensor<2x1xi64>, %u: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.scatter' op attribute 'axis': expected 0 with nd, got 1}}
  %0 = ait.scatter nd %x[%i], %u axis 1 : tensor<5x4xf32>, tensor<2x1xi64>, tensor<2x4xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'ait.slice' op 'offsets': expected 2 entries, one a dimension of operand 'input', got 1}}
  %0 = ait.slice %x[0][2, 2][1, 1] : tensor<4x8xf32> to tensor<2x2xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'ait.slice' op result: expected shape 2x2, got 2x3}}
  %0 = ait.slice %x[0, 0][2, 2][1, 1] : tensor<4x8xf32> to tensor<2x3xf32>
  return
}

// -----

func.func @slice_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'ait.slice' op 'strides': expected no 0, got one for dimension 1}}
  %0 = ait.slice %x[0, 0][2, 2][1, 0] : tensor<4x8xf32> to tensor<2x2xf32>
  return
}

// -----

func.func @slice_c4(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'ait.slice' op expected elements in [0, 8) of dimension 1 of operand 'input', got 0 to 8}}
  %0 = ait.slice %x[0, 0][2, 3][1, 4] : tensor<4x8xf32> to tensor<2x3xf32>
  return
}

// -----

func.func @split_c1(%x: tensor<6xf32>) {
  // expected-error @+1 {{'ait.split' op expected at least one result}}
  "ait.split"(%x) <{axis = 0 : i64}> : (tensor<6xf32>) -> ()
  return
}

// -----

func.func @split_c2(%x: tensor<6xf32>) {
  // expected-error @+1 {{'ait.split' op attribute 'axis': expected a value in [0, 1), got 1}}
  %0:2 = ait.split %x axis 1 : tensor<6xf32> -> tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @split_c3(%x: tensor<6xf32>) {
  // expected-error @+1 {{'ait.split' op expected the parts to add up to 6 in dimension 0, got 7}}
  %0:2 = ait.split %x axis 0 : tensor<6xf32> -> tensor<3xf32>, tensor<4xf32>
  return
}

// -----

func.func @split_c4(%x: tensor<6xf32>) {
  // expected-error @+1 {{'ait.split' op operand 'dims': expected 1 values, one for each result that is '?' in dimension 0, got 0}}
  %0:2 = ait.split %x axis 0 : tensor<6xf32> -> tensor<3xf32>, tensor<?xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'ait.transpose' op attribute 'permutation': expected a permutation of 0 to 1, got [0, 0]}}
  %0 = ait.transpose %x [0, 0] : tensor<2x3xf32> to tensor<2x2xf32>
  return
}

// -----

func.func @transpose_c2(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'ait.transpose' op result: expected shape 3x2, got 2x3}}
  %0 = ait.transpose %x [1, 0] : tensor<2x3xf32> to tensor<2x3xf32>
  return
}

// -----

func.func @nms_c1(%b: tensor<6x4xf32>, %s: tensor<1x2x6xf32>, %m: tensor<1xi64>, %i: tensor<1xf32>, %n: index) {
  // expected-error @+1 {{'ait.nms' op operand 'boxes': expected rank 3, got 2}}
  %0, %1 = ait.nms %b, %s, %m, %i, %i dims(%n) : tensor<6x4xf32>, tensor<1x2x6xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32> -> tensor<?x3xi64>, tensor<i64>
  return
}

// -----

func.func @nms_c2(%b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %m: tensor<1xi64>, %i: tensor<1xf32>, %n: index) {
  // expected-error @+1 {{'ait.nms' op result #0: expected the length of (batch, class, box) = 3 in dimension 1, got 4}}
  %0, %1 = ait.nms %b, %s, %m, %i, %i dims(%n) : tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32> -> tensor<?x4xi64>, tensor<i64>
  return
}

// -----

func.func @nms_c2_count(%b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %m: tensor<1xi64>, %i: tensor<1xf32>, %n: index) {
  // expected-error @+1 {{'ait.nms' op result #1: expected rank 0, got 1}}
  %0, %1 = ait.nms %b, %s, %m, %i, %i dims(%n) : tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32> -> tensor<?x3xi64>, tensor<1xi64>
  return
}

// -----

func.func @nonzero_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{'ait.nonzero' op result #0: expected the rank of operand 'input' = 2 in dimension 1, got 3}}
  %0, %1 = ait.nonzero %x : tensor<2x4xf32> -> tensor<8x3xi64>, tensor<i64>
  return
}

// -----

func.func @unique_c1(%x: tensor<6xf32>) {
  // expected-error @+1 {{'ait.unique' op operand 'input': expected rank 2, got 1}}
  %0, %1, %2, %3 = ait.unique %x : tensor<6xf32> -> tensor<6xi64>, tensor<6xi64>, tensor<6xi64>, tensor<i64>
  return
}

// -----

func.func @unique_c2(%x: tensor<6x2xf32>) {
  // expected-error @+1 {{'ait.unique' op result #0: expected shape 6, got 5}}
  %0, %1, %2, %3 = ait.unique %x : tensor<6x2xf32> -> tensor<5xi64>, tensor<6xi64>, tensor<6xi64>, tensor<i64>
  return
}

// -----

func.func @col2im_c1(%x: tensor<8x9xf32>) {
  // expected-error @+1 {{'ait.col2im' op operand 'input': expected rank 3, got 2}}
  %0 = ait.col2im %x block [2, 2] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<8x9xf32> -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @col2im_c2(%x: tensor<1x8x9xf32>) {
  // expected-error @+1 {{'ait.col2im' op attribute 'block': expected 2 entries, one a spatial dimension, got 1}}
  %0 = ait.col2im %x block [2] strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x8x9xf32> -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @dft_c1(%x: tensor<2x8x3xf32>, %n: index) {
  // expected-error @+1 {{'ait.dft' op operand 'input': expected 1 or 2 in dimension 2, got 3}}
  %0 = ait.dft %x length %n : tensor<2x8x3xf32> -> tensor<2x8x2xf32>
  return
}

// -----

func.func @grid_sample_c1(%x: tensor<1x3x8xf32>, %g: tensor<1x4x1xf32>) {
  // expected-error @+1 {{'ait.grid_sample' op operand 'input': expected rank 4 to 5, got 3}}
  %0 = ait.grid_sample linear zeros %x, %g : tensor<1x3x8xf32>, tensor<1x4x1xf32> -> tensor<1x3x4xf32>
  return
}

// -----

func.func @grid_sample_c2(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x4x3xf32>) {
  // expected-error @+1 {{'ait.grid_sample' op operand 'grid': expected the spatial rank = 2 in dimension 3, got 3}}
  %0 = ait.grid_sample linear zeros %x, %g : tensor<1x3x8x8xf32>, tensor<1x4x4x3xf32> -> tensor<1x3x4x4xf32>
  return
}

// -----

func.func @grid_sample_c3(%x: tensor<1x3x8x8x8xf32>, %g: tensor<1x4x4x4x3xf32>) {
  // expected-error @+1 {{'ait.grid_sample' op operand 'input': expected rank 4 with cubic, got 5}}
  %0 = ait.grid_sample cubic zeros %x, %g : tensor<1x3x8x8x8xf32>, tensor<1x4x4x4x3xf32> -> tensor<1x3x4x4x4xf32>
  return
}

// -----

func.func @resize_c1(%x: tensor<2x4xf32>, %s: f64) {
  // expected-error @+1 {{'ait.resize' op operand 'scales': expected 2 values, one a dimension, got 1}}
  %0 = ait.resize nearest asymmetric %x scales(%s) : tensor<2x4xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @resize_c2(%x: tensor<2x4xf32>, %s: f64) {
  // expected-error @+1 {{'ait.resize' op operand 'roi': expected no values or 4, two a dimension, got 2}}
  %0 = ait.resize nearest asymmetric %x scales(%s, %s) roi(%s, %s) : tensor<2x4xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @resize_c3(%x: tensor<2x4xf32>, %s: f64) {
  // expected-error @+1 {{'ait.resize' op result: expected rank 2, got 3}}
  %0 = ait.resize nearest asymmetric %x scales(%s, %s) : tensor<2x4xf32> -> tensor<2x8x1xf32>
  return
}

// -----

func.func @roi_align_c1(%x: tensor<3x8x8xf32>, %r: tensor<5x4xf32>, %b: tensor<5xi64>) {
  // expected-error @+1 {{'ait.roi_align' op operand 'input': expected rank 4, got 3}}
  %0 = ait.roi_align max %x, %r, %b spatial_scale 1.0 sampling_ratio 0 : tensor<3x8x8xf32>, tensor<5x4xf32>, tensor<5xi64> -> tensor<5x3x2x2xf32>
  return
}

// -----

func.func @jagged_to_padded_c1(%x: tensor<9x8xf32>, %o: tensor<1x5xi32>) {
  // expected-error @+1 {{'ait.jagged_to_padded' op operand 'offsets': expected rank 1, got 2}}
  %0 = ait.jagged_to_padded %x, %o padding 0.0 : tensor<9x8xf32>, tensor<1x5xi32> -> tensor<4x3x8xf32>
  return
}

// -----

func.func @jagged_to_padded_c1_batch(%x: tensor<9x8xf32>, %o: tensor<5xi32>) {
  // expected-error @+1 {{'ait.jagged_to_padded' op operand 'offsets': expected one more than the batch = 4 in dimension 0, got 5}}
  %0 = ait.jagged_to_padded %x, %o padding 0.0 : tensor<9x8xf32>, tensor<5xi32> -> tensor<3x3x8xf32>
  return
}

// -----

func.func @jagged_to_padded_c2(%x: tensor<9x8xf32>, %o: tensor<5xi32>) {
  // expected-error @+1 {{'ait.jagged_to_padded' op result: expected rank 3, got 2}}
  %0 = ait.jagged_to_padded %x, %o padding 0.0 : tensor<9x8xf32>, tensor<5xi32> -> tensor<4x8xf32>
  return
}

// -----

func.func @jagged_to_padded_c3(%x: tensor<9x8xf32>, %o: tensor<5xi32>) {
  // expected-error @+1 {{'ait.jagged_to_padded' op operand 'dims': expected 1 values, one for each '?' of the result type, got 0}}
  %0 = ait.jagged_to_padded %x, %o padding 0.0 : tensor<9x8xf32>, tensor<5xi32> -> tensor<4x?x8xf32>
  return
}

// -----

func.func @padded_to_jagged_c1(%x: tensor<4x3x8xf32>, %o: tensor<1x5xi32>) {
  // expected-error @+1 {{'ait.padded_to_jagged' op operand 'offsets': expected rank 1, got 2}}
  %0 = ait.padded_to_jagged %x, %o : tensor<4x3x8xf32>, tensor<1x5xi32> -> tensor<9x8xf32>
  return
}

// -----

func.func @padded_to_jagged_c2(%x: tensor<4x3x8xf32>, %o: tensor<5xi32>) {
  // expected-error @+1 {{'ait.padded_to_jagged' op operand 'input': expected rank 2, got 3}}
  %0 = ait.padded_to_jagged %x, %o : tensor<4x3x8xf32>, tensor<5xi32> -> tensor<9xf32>
  return
}

// -----

func.func @padded_to_jagged_c3(%x: tensor<4x3x8xf32>, %o: tensor<5xi32>) {
  // expected-error @+1 {{'ait.padded_to_jagged' op operand 'dims': expected 1 values, one for each '?' of the result type, got 0}}
  %0 = ait.padded_to_jagged %x, %o : tensor<4x3x8xf32>, tensor<5xi32> -> tensor<?x8xf32>
  return
}

// -----

func.func @buffer.alloc_c1() {
  // expected-error @+1 {{'ait.buffer.alloc' op operand 'dims': expected 1 values, one for each '?' of the result type, got 0}}
  %0 = ait.buffer.alloc : memref<?xf32>
  return
}

// -----

func.func @buffer.output_c1() {
  // expected-error @+1 {{'ait.buffer.output' op operand 'dims': expected 1 values, one for each '?' of the result type, got 0}}
  %0 = ait.buffer.output 0 : memref<?xf32>
  return
}

// -----

func.func @buffer.output_c2() {
  // expected-error @+1 {{'ait.buffer.output' op attribute 'index': expected a value of at least 0, got -1}}
  %0 = ait.buffer.output -1 : memref<4xf32>
  return
}

// -----

func.func @buffer.reshape_c1(%x: memref<2x4xf32, strided<[8, 1]>>) {
  // expected-error @+1 {{'ait.buffer.reshape' op operand 'source': expected a row-major buffer, got memref<2x4xf32, strided<[8, 1]>>}}
  %0 = ait.buffer.reshape %x : memref<2x4xf32, strided<[8, 1]>> to memref<8xf32>
  return
}

// -----

func.func @buffer.reshape_c1_element(%x: memref<2x4xf32>) {
  // expected-error @+1 {{'ait.buffer.reshape' op result: expected the element type of operand 'source', f32, got i32}}
  %0 = ait.buffer.reshape %x : memref<2x4xf32> to memref<8xi32>
  return
}

// -----

func.func @buffer.reshape_c2(%x: memref<2x4xf32>) {
  // expected-error @+1 {{'ait.buffer.reshape' op operand 'dims': expected 1 values, one for each '?' of the result type, got 0}}
  %0 = ait.buffer.reshape %x : memref<2x4xf32> to memref<?xf32>
  return
}

// -----

func.func @group_c6(%x: tensor<?x32xf16>, %w: tensor<8x64x32xf16>, %o: tensor<9xi32>) {
  // expected-error @+1 {{'ait.group' op member #0: expected no operand 'offsets'}}
  %0:2 = ait.group(%x, %w, %o : tensor<?x32xf16>, tensor<8x64x32xf16>, tensor<9xi32>) -> tensor<?x64xf16>, tensor<?x64xf16> members {
  ^bb0(%a: tensor<?x32xf16>, %c: tensor<8x64x32xf16>, %d: tensor<9xi32>):
    %p = ait.gemm %a, %c row col offsets(%d : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16>
    %q = ait.gemm %a, %c row col offsets(%d : tensor<9xi32>) : tensor<?x32xf16>, tensor<8x64x32xf16> -> tensor<?x64xf16>
    ait.yield %p, %q : tensor<?x64xf16>, tensor<?x64xf16>
  }
  return
}
