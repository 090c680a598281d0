//! Buffers made from pointers, and calls of runtime functions.

use aitmlir_dialects::ait::OpView;
use aitmlir_dialects::{
    builder::{Builder, block_of, operations_of, result_of},
    types::{Op, TypeExt, Types, Val},
};
use melior::ir::{
    Region, Type, ValueLike,
    attribute::{FlatSymbolRefAttribute, StringAttribute, TypeAttribute},
    r#type::FunctionType,
};

/// `!llvm.ptr`
pub fn pointer_type<'c>(b: Builder<'c>) -> Type<'c> {
    melior::dialect::llvm::r#type::pointer(b.context(), 0)
}

/// A row-major buffer of type `buffer` at `pointer`; `dims` holds one index for each `?` of its shape.
pub fn buffer_at<'c>(b: Builder<'c>, pointer: Val<'c>, buffer: Type<'c>, dims: &[Val<'c>]) -> Val<'c> {
    let shape = buffer.shape();
    let rank = shape.len();
    let mut dynamic = dims.iter().copied();
    let sizes: Vec<_> = shape
        .iter()
        .map(|s| if *s >= 0 { Some(b.index(*s)) } else { dynamic.next() })
        .map(|s| s.unwrap_or_else(|| b.index(0)))
        .collect();
    let mut strides = vec![b.index(1); rank];
    for d in (0..rank.saturating_sub(1)).rev() {
        strides[d] = b.muli(strides[d + 1], sizes[d + 1]);
    }
    strided_buffer_at(b, pointer, buffer, &sizes, &strides)
}

/// A buffer of type `buffer` whose first element is at `pointer`; one size and one stride for each dimension.
pub fn strided_buffer_at<'c>(
    b: Builder<'c>,
    pointer: Val<'c>,
    buffer: Type<'c>,
    sizes: &[Val<'c>],
    strides: &[Val<'c>],
) -> Val<'c> {
    let rank = sizes.len();
    let i64_type = b.context().int_type(64);
    let text = if rank == 0 {
        "!llvm.struct<(ptr, ptr, i64)>".to_owned()
    } else {
        format!("!llvm.struct<(ptr, ptr, i64, array<{rank} x i64>, array<{rank} x i64>)>")
    };
    let descriptor_type = b.parse_type(&text);
    let mut descriptor = b.op1("llvm.mlir.poison", &[], descriptor_type, &[]);
    let mut insert = |value: Val<'c>, position: &[i64]| {
        descriptor =
            b.op1("llvm.insertvalue", &[descriptor, value], descriptor_type, &[("position", b.i64s_attr(position))]);
    };
    insert(pointer, &[0]);
    insert(pointer, &[1]);
    insert(b.op1("llvm.mlir.constant", &[], i64_type, &[("value", b.i64_attr(0))]), &[2]);
    for d in 0..rank {
        insert(b.index_cast(sizes[d], i64_type), &[3, d as i64]);
        insert(b.index_cast(strides[d], i64_type), &[4, d as i64]);
    }
    b.op1("builtin.unrealized_conversion_cast", &[descriptor], buffer, &[])
}

/// The pointer to the first element of a buffer without offset.
pub fn pointer_of<'c>(b: Builder<'c>, buffer: Val<'c>) -> Val<'c> {
    let address = b.op1("memref.extract_aligned_pointer_as_index", &[buffer], b.context().index_type(), &[]);
    let address = b.index_cast(address, b.context().int_type(64));
    b.op1("llvm.inttoptr", &[address], pointer_type(b), &[])
}

/// The pointer `bytes` (an index) behind another.
pub fn offset_pointer<'c>(b: Builder<'c>, pointer: Val<'c>, bytes: Val<'c>) -> Val<'c> {
    let (i64_type, i8_type) = (b.context().int_type(64), b.context().int_type(8));
    let attributes = [("rawConstantIndices", b.i32s_attr(&[i32::MIN])), ("elem_type", b.type_attr(i8_type))];
    b.op1("llvm.getelementptr", &[pointer, b.index_cast(bytes, i64_type)], pointer_type(b), &attributes)
}

/// A scalar as the low bits of an i64.
pub fn to_word<'c>(b: Builder<'c>, value: Val<'c>) -> Val<'c> {
    let (r#type, i64_type) = (value.r#type(), b.context().int_type(64));
    if r#type == b.context().index_type() || r#type == i64_type {
        return b.index_cast(value, i64_type);
    }
    let bits = b.context().int_type(r#type.bits());
    let value = if r#type.is_float_type() { b.op1("arith.bitcast", &[value], bits, &[]) } else { value };
    if r#type.bits() == 64 { value } else { b.op1("arith.extui", &[value], i64_type, &[]) }
}

/// The scalar whose bits [`to_word`] gave.
pub fn from_word<'c>(b: Builder<'c>, word: Val<'c>, r#type: Type<'c>) -> Val<'c> {
    if r#type == b.context().index_type() {
        return b.index_cast(word, r#type);
    }
    let bits = b.context().int_type(r#type.bits());
    let value = if r#type.bits() == 64 { word } else { b.op1("arith.trunci", &[word], bits, &[]) };
    if r#type.is_float_type() { b.op1("arith.bitcast", &[value], r#type, &[]) } else { value }
}

/// Calls a C function of the runtime, which is declared in the module the first time.
pub fn call_runtime<'c>(
    b: Builder<'c>,
    module: Op<'c>,
    name: &str,
    arguments: &[Val<'c>],
    result: Option<Type<'c>>,
) -> Option<Val<'c>> {
    let types: Vec<_> = arguments.iter().map(|a| a.r#type()).collect();
    let results: Vec<_> = result.into_iter().collect();
    declare(b, module, name, &types, &results);
    let callee = FlatSymbolRefAttribute::new(b.context(), name).into();
    let call = b.op("func.call", arguments, &results, &[("callee", callee)], vec![]);
    result.map(|_| result_of(call, 0))
}

/// Declares a C function of the runtime in the module, once.
pub fn declare<'c>(b: Builder<'c>, module: Op<'c>, name: &str, arguments: &[Type<'c>], results: &[Type<'c>]) {
    let Some(body) = block_of(module, 0) else { return };
    let ops = operations_of(body);
    if ops.iter().any(|op| OpView(*op).string("sym_name").as_deref() == Some(name)) {
        return;
    }
    let Some(first) = ops.first() else { return };
    let context = b.context();
    let r#type = FunctionType::new(context, arguments, results);
    let attributes = [
        ("sym_name", StringAttribute::new(context, name).into()),
        ("sym_visibility", StringAttribute::new(context, "private").into()),
        ("function_type", TypeAttribute::new(r#type.into()).into()),
    ];
    let b = Builder::before(context, *first).with_location(b.location());
    b.op("func.func", &[], &[], &attributes, vec![Region::new()]);
}
