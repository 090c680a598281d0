//! Loads and stores of global and shared memory.

use super::{Effect, asm, asm0, asm1, places, repeat};
use aitmlir_dialects::{
    builder::Builder,
    types::{TypeExt, Types, Val},
};
use melior::ir::Type;

/// The address `bytes` (an i64) after a pointer.
pub fn offset<'c>(b: Builder<'c>, pointer: Val<'c>, bytes: Val<'c>) -> Val<'c> {
    use melior::ir::ValueLike;
    let attributes =
        [("elem_type", b.type_attr(b.context().int_type(8))), ("rawConstantIndices", b.i32s_attr(&[i32::MIN]))];
    b.op1("llvm.getelementptr", &[pointer, bytes], pointer.r#type(), &attributes)
}

/// `!llvm.ptr<1>`: a pointer to global memory.
pub fn global_pointer<'c>(b: Builder<'c>) -> Type<'c> {
    b.parse_type("!llvm.ptr<1>")
}

/// Loads one element of a scalar type.
pub fn load<'c>(b: Builder<'c>, pointer: Val<'c>, r#type: Type<'c>) -> Val<'c> {
    let alignment = b.i64_attr(r#type.bytes());
    b.op1("llvm.load", &[pointer], r#type, &[("alignment", alignment)])
}

/// Stores one element of a scalar type.
pub fn store<'c>(b: Builder<'c>, pointer: Val<'c>, value: Val<'c>) {
    use melior::ir::ValueLike;
    let alignment = b.i64_attr(value.r#type().bytes());
    b.op("llvm.store", &[value, pointer], &[], &[("alignment", alignment)], vec![]);
}

fn vector(count: usize) -> String {
    if count == 1 { String::new() } else { format!(".v{count}") }
}

fn list(first: usize, count: usize) -> String {
    if count == 1 { format!("${first}") } else { format!("{{{}}}", places(first, count)) }
}

/// Loads `count` (1, 2, 4) 32-bit words of memory that no thread writes; the address is aligned to all of them.
pub fn load_words<'c>(b: Builder<'c>, pointer: Val<'c>, count: usize) -> Vec<Val<'c>> {
    let text = format!("ld.global.nc{}.b32 {}, [${count}];", vector(count), list(0, count));
    let types = vec![b.context().int_type(32); count];
    asm(b, &text, &format!("{},l", repeat("=r", count)), &[pointer], &types, Effect::Ordered)
}

/// Stores 1, 2 or 4 32-bit words.
pub fn store_words<'c>(b: Builder<'c>, pointer: Val<'c>, values: &[Val<'c>]) {
    let count = values.len();
    let text = format!("st.global{}.b32 [$0], {};", vector(count), list(1, count));
    let operands: Vec<_> = std::iter::once(pointer).chain(values.iter().copied()).collect();
    asm0(b, &text, &format!("l,{}", repeat("r", count)), &operands);
}

/// Loads `count` (1, 2, 4) f32 that other CTAs wrote, past the first-level cache.
pub fn load_f32_shared_with_others<'c>(b: Builder<'c>, pointer: Val<'c>, count: usize) -> Vec<Val<'c>> {
    let text = format!("ld.global.cg{}.f32 {}, [${count}];", vector(count), list(0, count));
    let types = vec![b.context().f32_type(); count];
    asm(b, &text, &format!("{},l", repeat("=f", count)), &[pointer], &types, Effect::Memory)
}

/// Stores 1, 2 or 4 f32.
pub fn store_f32<'c>(b: Builder<'c>, pointer: Val<'c>, values: &[Val<'c>]) {
    let count = values.len();
    let text = format!("st.global{}.f32 [$0], {};", vector(count), list(1, count));
    let operands: Vec<_> = std::iter::once(pointer).chain(values.iter().copied()).collect();
    asm0(b, &text, &format!("l,{}", repeat("f", count)), &operands);
}

/// Stores 1, 2 or 4 f32 to shared memory.
pub fn store_shared_f32<'c>(b: Builder<'c>, address: Val<'c>, values: &[Val<'c>]) {
    let count = values.len();
    let text = format!("st.shared{}.f32 [$0], {};", vector(count), list(1, count));
    let operands: Vec<_> = std::iter::once(address).chain(values.iter().copied()).collect();
    asm0(b, &text, &format!("r,{}", repeat("f", count)), &operands);
}

/// The address at which CTA `rank` of the cluster has the shared memory that is at `address` here.
pub fn address_in_cluster<'c>(b: Builder<'c>, address: Val<'c>, rank: Val<'c>) -> Val<'c> {
    let i32 = b.context().int_type(32);
    asm1(b, "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", &[address, rank], i32, Effect::Pure)
}

/// Loads `count` (1, 2, 4) f32 of the shared memory of a CTA of the cluster.
pub fn load_cluster_f32<'c>(b: Builder<'c>, address: Val<'c>, count: usize) -> Vec<Val<'c>> {
    let text = format!("ld.shared::cluster{}.f32 {}, [${count}];", vector(count), list(0, count));
    let types = vec![b.context().f32_type(); count];
    asm(b, &text, &format!("{},r", repeat("=f", count)), &[address], &types, Effect::Memory)
}

/// Adds one to a u32 in global memory with release and acquire at the device's scope; after `last` comes zero.
pub fn count_up<'c>(b: Builder<'c>, pointer: Val<'c>, last: Val<'c>) {
    let i32 = b.context().int_type(32);
    asm1(b, "atom.inc.acq_rel.gpu.global.u32 $0, [$1], $2;", "=r,l,r", &[pointer, last], i32, Effect::Memory);
}

/// Waits until a u32 in global memory is at least `value`, and acquires what was released to it.
pub fn wait_at_least<'c>(b: Builder<'c>, pointer: Val<'c>, value: Val<'c>) {
    let text =
        "{ .reg .pred p; .reg .b32 v; again: ld.acquire.gpu.global.u32 v, [$0]; setp.lt.u32 p, v, $1; @p bra again; }";
    asm0(b, text, "l,r", &[pointer, value]);
}
