//! Scratch memory of a kernel: one request to the runtime, carved into arrays.

use super::{Kernel, vector::VectorOps};
use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, block_of, operations_of},
    types::{DYNAMIC, TypeExt, Types, Val, memref_type},
};
use melior::ir::{
    Attribute, Region, Type,
    attribute::{StringAttribute, TypeAttribute},
    r#type::FunctionType,
};

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
    declare(k);
    let pointer = k.call(RUNTIME, &[bytes], &[pointer_type(b)])[0];
    (from_pointer(b, pointer, element), starts)
}

fn pointer_type<'c>(b: Builder<'c>) -> Type<'c> {
    parse_type(b, "!llvm.ptr")
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

/// Declares the runtime's function in the module, once.
fn declare(k: &Kernel<'_>) {
    let Some(body) = block_of(k.module, 0) else { return };
    let operations = operations_of(body);
    if operations.iter().any(|op| OpView(*op).string("sym_name").as_deref() == Some(RUNTIME)) {
        return;
    }
    let context = k.b.context();
    let b = Builder::before(context, operations[0]).with_location(k.b.location());
    let r#type = FunctionType::new(context, &[context.int_type(64)], &[pointer_type(b)]);
    let attributes: [(&str, Attribute<'_>); 3] = [
        ("sym_name", StringAttribute::new(context, RUNTIME).into()),
        ("sym_visibility", StringAttribute::new(context, "private").into()),
        ("function_type", TypeAttribute::new(r#type.into()).into()),
    ];
    b.op("func.func", &[], &[], &attributes, vec![Region::new()]);
}
