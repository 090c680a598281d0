// RUN: aitmlir-opt %s --ait-plan-memory --canonicalize --cse --split-input-file | FileCheck %s

// Operands of a concatenation along an outermost axis are written where the result has them, so that nothing is left of the concatenation. What
// reads an operand reads it there.
func.func private @k(%x: tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
func.func private @use(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
func.func private @concat(%a: tensor<1x2x8xf32>, %b: tensor<1x2x8xf32>) -> tensor<1x4x8xf32> attributes {ait.kernel} {
  %r = ait.concat %a, %b axis 1 : tensor<1x2x8xf32>, tensor<1x2x8xf32> -> tensor<1x4x8xf32>
  return %r : tensor<1x4x8xf32>
}

// CHECK-LABEL: func.func @whole(
// CHECK-SAME: ait.memory = array<i64: 128, 128, 256>
// CHECK: %[[ARENA:.*]] = ait.buffer.arena %c128
// CHECK: %[[A:.*]] = memref.view %[[ARENA]][%c0]
// CHECK-NEXT: ait.launch @k(%{{.*}} : memref<1x2x8xf32>) outs(%[[A]]
// CHECK-NEXT: %[[B:.*]] = memref.view %[[ARENA]][%c64]
// CHECK-NEXT: ait.launch @k(%[[A]] : memref<1x2x8xf32>) outs(%[[B]]
// CHECK-NEXT: %[[R:.*]] = memref.view %[[ARENA]][%c0]{{.*}} to memref<1x4x8xf32>
// CHECK-NEXT: ait.buffer.output 0
// CHECK-NEXT: ait.launch @use(%[[R]]
// CHECK-NEXT: return
func.func @whole(%x: tensor<1x2x8xf32>) -> tensor<1x4x8xf32> {
  %a = ait.launch @k(%x : tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %b = ait.launch @k(%a : tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  %r = ait.launch @concat(%a, %b : tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> tensor<1x4x8xf32>
  %y = ait.launch @use(%r : tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// -----

// What is not made by a launch is copied: an argument here, and the second place of an operand that has two.
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32>
func.func private @use(%x: tensor<16xf32>) -> tensor<16xf32>
func.func private @concat(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<16xf32> attributes {ait.kernel} {
  %r = ait.concat %a, %b, %c, %d axis 0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// CHECK: func.func private @concat_2_4(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>) -> tensor<8xf32> attributes {ait.kernel}
// CHECK: ait.concat %[[A]], %[[B]] axis 0 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
// CHECK-LABEL: func.func @part(
// CHECK-SAME: %[[X:.*]]: memref<4xf32>)
// CHECK: %[[A:.*]] = memref.view %[[ARENA:.*]][%c0]
// CHECK-NEXT: ait.launch @k(%[[X]] : memref<4xf32>) outs(%[[A]]
// CHECK-NEXT: %[[B:.*]] = memref.view %[[ARENA]][%c16]
// CHECK-NEXT: ait.launch @k(%[[A]] : memref<4xf32>) outs(%[[B]]
// CHECK-NEXT: %[[R:.*]] = memref.view %[[ARENA]][%c0]{{.*}} to memref<16xf32>
// CHECK-NEXT: %[[REST:.*]] = memref.view %[[ARENA]][%c32]{{.*}} to memref<8xf32>
// CHECK-NEXT: ait.launch @concat_2_4(%[[X]], %[[A]] : memref<4xf32>, memref<4xf32>) outs(%[[REST]] : memref<8xf32>)
// CHECK: ait.launch @use(%[[R]]
func.func @part(%x: tensor<4xf32>) -> tensor<16xf32> {
  %a = ait.launch @k(%x : tensor<4xf32>) -> tensor<4xf32>
  %b = ait.launch @k(%a : tensor<4xf32>) -> tensor<4xf32>
  %r = ait.launch @concat(%a, %b, %x, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<16xf32>
  %y = ait.launch @use(%r : tensor<16xf32>) -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// A concatenation of a concatenation: all lie in the outer one.
func.func private @k(%x: tensor<16xf32>) -> tensor<16xf32>
func.func private @k2(%x: tensor<32xf32>) -> tensor<16xf32>
func.func private @use(%x: tensor<48xf32>) -> tensor<48xf32>
func.func private @concat(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<32xf32> attributes {ait.kernel} {
  %r = ait.concat %a, %b axis 0 : tensor<16xf32>, tensor<16xf32> -> tensor<32xf32>
  return %r : tensor<32xf32>
}
func.func private @concat2(%a: tensor<32xf32>, %b: tensor<16xf32>) -> tensor<48xf32> attributes {ait.kernel} {
  %r = ait.concat %a, %b axis 0 : tensor<32xf32>, tensor<16xf32> -> tensor<48xf32>
  return %r : tensor<48xf32>
}

// CHECK-LABEL: func.func @dense(
// CHECK-SAME: ait.memory = array<i64: 192, 192, 512>
// CHECK: memref.view %[[ARENA:.*]][%c0]{{.*}} to memref<16xf32>
// CHECK: memref.view %[[ARENA]][%c64]{{.*}} to memref<16xf32>
// CHECK: memref.view %[[ARENA]][%c0]{{.*}} to memref<32xf32>
// CHECK: memref.view %[[ARENA]][%c128]{{.*}} to memref<16xf32>
// CHECK: memref.view %[[ARENA]][%c0]{{.*}} to memref<48xf32>
// CHECK-NOT: ait.launch @concat
func.func @dense(%x: tensor<16xf32>) -> tensor<48xf32> {
  %a = ait.launch @k(%x : tensor<16xf32>) -> tensor<16xf32>
  %b = ait.launch @k(%a : tensor<16xf32>) -> tensor<16xf32>
  %ab = ait.launch @concat(%a, %b : tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %c = ait.launch @k2(%ab : tensor<32xf32>) -> tensor<16xf32>
  %abc = ait.launch @concat2(%ab, %c : tensor<32xf32>, tensor<16xf32>) -> tensor<48xf32>
  %y = ait.launch @use(%abc : tensor<48xf32>) -> tensor<48xf32>
  return %y : tensor<48xf32>
}

// -----

// Slices that are not contiguous, or start where kernels do not expect a buffer, are copied.
func.func private @k(%x: tensor<2x3xf32>) -> tensor<2x3xf32>
func.func private @use(%x: tensor<2x6xf32>) -> tensor<2x6xf32>
func.func private @flat(%x: tensor<3xf32>) -> tensor<3xf32>
func.func private @use_flat(%x: tensor<6xf32>) -> tensor<6xf32>
func.func private @inner(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x6xf32> attributes {ait.kernel} {
  %r = ait.concat %a, %b axis 1 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x6xf32>
  return %r : tensor<2x6xf32>
}
func.func private @odd(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<6xf32> attributes {ait.kernel} {
  %r = ait.concat %a, %b axis 0 : tensor<3xf32>, tensor<3xf32> -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// CHECK-LABEL: func.func @declined(
// CHECK: ait.launch @inner(
// CHECK: ait.launch @odd_1_2(
func.func @declined(%x: tensor<2x3xf32>, %z: tensor<3xf32>) -> (tensor<2x6xf32>, tensor<6xf32>) {
  %a = ait.launch @k(%x : tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = ait.launch @k(%a : tensor<2x3xf32>) -> tensor<2x3xf32>
  %r = ait.launch @inner(%a, %b : tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %y = ait.launch @use(%r : tensor<2x6xf32>) -> tensor<2x6xf32>
  %c = ait.launch @flat(%z : tensor<3xf32>) -> tensor<3xf32>
  %d = ait.launch @flat(%c : tensor<3xf32>) -> tensor<3xf32>
  %s = ait.launch @odd(%c, %d : tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
  %w = ait.launch @use_flat(%s : tensor<6xf32>) -> tensor<6xf32>
  return %y, %w : tensor<2x6xf32>, tensor<6xf32>
}

// -----

// A place that follows from dimensions of arguments is computed at the entry.
func.func private @k(%x: tensor<?x4xf32>) -> tensor<?x4xf32>
func.func private @use(%x: tensor<?x4xf32>) -> tensor<?x4xf32>
func.func private @concat(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {ait.kernel} {
  %r = ait.concat %a, %b axis 0 : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME: %[[X:.*]]: memref<?x4xf32>, %[[Z:.*]]: memref<?x4xf32>)
// CHECK: %[[N:.*]] = memref.dim %[[X]]
// CHECK: %[[BYTES:.*]] = arith.muli %[[N]], %c16
// CHECK: memref.view %[[ARENA:.*]][%c0][%[[N]]]
// CHECK: ait.launch @k(%[[X]]
// CHECK: memref.view %[[ARENA]][%[[BYTES]]]
// CHECK: ait.launch @k(%[[Z]]
// CHECK: memref.view %[[ARENA]][%c0]
// CHECK-NOT: ait.launch @concat
// CHECK: ait.launch @use
func.func @dynamic(%x: tensor<?x4xf32>, %z: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %m = tensor.dim %z, %c0 : tensor<?x4xf32>
  %sum = arith.addi %n, %m : index
  %a = ait.launch @k(%x : tensor<?x4xf32>) dims(%n) -> tensor<?x4xf32>
  %b = ait.launch @k(%z : tensor<?x4xf32>) dims(%m) -> tensor<?x4xf32>
  %r = ait.launch @concat(%a, %b : tensor<?x4xf32>, tensor<?x4xf32>) dims(%sum) -> tensor<?x4xf32>
  %y = ait.launch @use(%r : tensor<?x4xf32>) dims(%sum) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// The result would live as long as the operand that is made first, and the arena would get larger: it is copied.
func.func private @grow(%x: tensor<16xf32>) -> tensor<256xf32>
func.func private @shrink(%x: tensor<256xf32>) -> tensor<16xf32>
func.func private @large(%x: tensor<16xf32>) -> tensor<64xf32>
func.func private @use(%x: tensor<80xf32>) -> tensor<80xf32>
func.func private @concat(%a: tensor<16xf32>, %b: tensor<64xf32>) -> tensor<80xf32> attributes {ait.kernel} {
  %r = ait.concat %a, %b axis 0 : tensor<16xf32>, tensor<64xf32> -> tensor<80xf32>
  return %r : tensor<80xf32>
}

// CHECK-LABEL: func.func @larger(
// CHECK-SAME: ait.memory = array<i64: 1152, 1152,
// CHECK: ait.launch @concat(
func.func @larger(%x: tensor<16xf32>) -> tensor<80xf32> {
  %a = ait.launch @grow(%x : tensor<16xf32>) -> tensor<256xf32>
  %b = ait.launch @shrink(%a : tensor<256xf32>) -> tensor<16xf32>
  %c = ait.launch @grow(%b : tensor<16xf32>) -> tensor<256xf32>
  %d = ait.launch @shrink(%c : tensor<256xf32>) -> tensor<16xf32>
  %e = ait.launch @large(%d : tensor<16xf32>) -> tensor<64xf32>
  %r = ait.launch @concat(%b, %e : tensor<16xf32>, tensor<64xf32>) -> tensor<80xf32>
  %y = ait.launch @use(%r : tensor<80xf32>) -> tensor<80xf32>
  return %y : tensor<80xf32>
}
