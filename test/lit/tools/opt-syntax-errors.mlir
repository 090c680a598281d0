// Errors of the parser come with a place, one for each part of a split file.

// RUN: aitmlir-opt %s --split-input-file --verify-diagnostics

func.func @unknown_op() {
  // expected-error @+1 {{custom op 'ait.no_such_op' is unknown}}
  ait.no_such_op
}

// -----

func.func @unknown_kind(%x: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'ait.softmax' expected string or keyword containing one of the following enum values for attribute 'kind' [softmax, log_softmax]}}
  %0 = ait.softmax sparse %x axis 0 : tensor<4xf32> -> tensor<4xf32>
}

// -----

func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{custom op 'ait.cast' invalid kind of type specified: expected builtin.tensor, but found 'tensor<*xf32>'}}
  %0 = ait.cast %x : tensor<*xf32> to tensor<4xf32>
  return
}
