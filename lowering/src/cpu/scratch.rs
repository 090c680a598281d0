//! Scratch memory of a kernel: one request to the runtime, carved into arrays.

use super::{Kernel, vector::VectorOps};
use crate::host::memory::{declare, pointer_type};
use aitmlir_dialects::{
    builder::Builder,
    types::{DYNAMIC, TypeExt, Types, Val, memref_type},
};
use melior::ir::{Type, ValueLike};

const RUNTIME: &str = "aitmlir_rt_scratch";

/// Arrays of one element type, of these lengths, each aligned to 64 bytes. Valid until the next request on this thread: ask once a kernel
/// invocation. Returns the whole memory as `memref<?xT>` and where each array starts.
pub fn scratch<'c>(k: &Kernel<'c>, element: Type<'c>, lengths: &[Val<'c>]) -> (Val<'c>, Vec<Val<'c>>) {
    let b = k.b;
    let lanes = 64 / element.bytes();
    let (mut end, mut starts) = (b.index(0), Vec::new());
    for length in lengths {
        starts.push(end);
        let padded = b.times(b.ceil_div(*length, b.index(lanes)), lanes);
        end = b.addi(end, padded);
    }
    let bytes = b.index_cast(b.times(end, element.bytes()), b.context().int_type(64));
    let pointer = pointer_type(b);
    declare(b, k.module, RUNTIME, &[bytes.r#type()], &[pointer]);
    let pointer = k.call(RUNTIME, &[bytes], &[pointer])[0];
    (from_pointer(b, pointer, element), starts)
}

fn parse_type<'c>(b: Builder<'c>, text: &str) -> Type<'c> {
    match Type::parse(b.context(), text) {
        Some(r#type) => r#type,
        None => panic!("type {text}"),
    }
}

/// A pointer as `memref<?xT>`: the descriptor that the memref becomes is built by hand and cast.
pub fn from_pointer<'c>(b: Builder<'c>, pointer: Val<'c>, element: Type<'c>) -> Val<'c> {
    let descriptor = parse_type(b, "!llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>");
    let i64_type = b.context().int_type(64);
    let int = |value| b.op1("llvm.mlir.constant", &[], i64_type, &[("value", b.i64_attr(value))]);
    let mut value = b.op1("llvm.mlir.poison", &[], descriptor, &[]);
    let fields: [(&[i64], Val<'c>); 5] =
        [(&[0], pointer), (&[1], pointer), (&[2], int(0)), (&[3, 0], int(i64::MAX / 16)), (&[4, 0], int(1))];
    for (position, field) in fields {
        value = b.op1("llvm.insertvalue", &[value, field], descriptor, &[("position", b.i64s_attr(position))]);
    }
    b.op1("builtin.unrealized_conversion_cast", &[value], memref_type(&[DYNAMIC], element), &[])
}
