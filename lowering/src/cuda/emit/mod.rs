//! One PTX-level operation each, as MLIR operations.
//!
//! What has no operation of its own, or one that LLVM may move where it must not go, is inline assembly. Assembly with side
//! effects keeps its order; [`super::codegen`] makes it convergent. Addresses of shared memory are `i32`, those of global memory
//! `!llvm.ptr<1>`.

pub mod async_copy;
pub mod matrix;
pub mod mbarrier;
pub mod memory;
pub mod scalar;
pub mod sync;
pub mod tma;

use aitmlir_dialects::{
    builder::Builder,
    types::{Types, Val},
};
use melior::ir::{Type, TypeLike, ValueLike};

/// What inline assembly does besides computing its results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it may be moved, merged and dropped.
    Pure,
    /// It stays, in the order of all others that stay.
    Ordered,
    /// It stays, and no access of memory moves over it.
    Memory,
}

/// Inline assembly with results of `types`. `constraints` are LLVM's without clobbers ("=r,l,r").
pub fn asm<'c>(
    b: Builder<'c>,
    text: &str,
    constraints: &str,
    operands: &[Val<'c>],
    types: &[Type<'c>],
    effect: Effect,
) -> Vec<Val<'c>> {
    let constraints = match effect {
        Effect::Memory if constraints.is_empty() => "~{memory}".to_owned(),
        Effect::Memory => format!("{constraints},~{{memory}}"),
        _ => constraints.to_owned(),
    };
    let mut attributes = vec![("asm_string", b.str_attr(text)), ("constraints", b.str_attr(&constraints))];
    if effect != Effect::Pure {
        attributes.push(("has_side_effects", b.unit_attr()));
    }
    match types {
        [] => {
            b.op("llvm.inline_asm", operands, &[], &attributes, vec![]);
            vec![]
        }
        [one] => vec![b.op1("llvm.inline_asm", operands, *one, &attributes)],
        many => {
            let whole = b.op1("llvm.inline_asm", operands, struct_type(b, many), &attributes);
            (0..many.len()).map(|i| extract(b, whole, i, many[i])).collect()
        }
    }
}

/// Inline assembly with one result.
pub fn asm1<'c>(
    b: Builder<'c>,
    text: &str,
    constraints: &str,
    operands: &[Val<'c>],
    r#type: Type<'c>,
    effect: Effect,
) -> Val<'c> {
    asm(b, text, constraints, operands, &[r#type], effect)[0]
}

/// Inline assembly that orders memory and has no result.
pub fn asm0<'c>(b: Builder<'c>, text: &str, constraints: &str, operands: &[Val<'c>]) {
    asm(b, text, constraints, operands, &[], Effect::Memory);
}

/// `!llvm.struct<(types...)>`
pub fn struct_type<'c>(b: Builder<'c>, types: &[Type<'c>]) -> Type<'c> {
    // SAFETY: a live context and valid types.
    unsafe {
        let raw: Vec<_> = types.iter().map(|t| t.to_raw()).collect();
        let context = b.context().to_raw();
        Type::from_raw(mlir_sys::mlirLLVMStructTypeLiteralGet(context, raw.len() as isize, raw.as_ptr(), false))
    }
}

/// Element `i` of a struct.
pub fn extract<'c>(b: Builder<'c>, whole: Val<'c>, i: usize, r#type: Type<'c>) -> Val<'c> {
    b.op1("llvm.extractvalue", &[whole], r#type, &[("position", b.i64s_attr(&[i as i64]))])
}

/// A struct of values.
pub fn pack<'c>(b: Builder<'c>, values: &[Val<'c>]) -> Val<'c> {
    let types: Vec<_> = values.iter().map(|v| v.r#type()).collect();
    let r#type = struct_type(b, &types);
    let empty = b.op1("llvm.mlir.undef", &[], r#type, &[]);
    values.iter().enumerate().fold(empty, |whole, (i, value)| {
        b.op1("llvm.insertvalue", &[whole, *value], r#type, &[("position", b.i64s_attr(&[i as i64]))])
    })
}

/// An `i32` constant.
pub fn i32c<'c>(b: Builder<'c>, value: i64) -> Val<'c> {
    b.int(b.context().int_type(32), value)
}

/// An `i64` constant.
pub fn i64c<'c>(b: Builder<'c>, value: i64) -> Val<'c> {
    b.int(b.context().int_type(64), value)
}

/// `count` times a constraint: "=r,=r".
pub(crate) fn repeat(constraint: &str, count: usize) -> String {
    vec![constraint; count].join(",")
}

/// "$first, $first+1, ..."
pub(crate) fn places(first: usize, count: usize) -> String {
    (first..first + count).map(|i| format!("${i}")).collect::<Vec<_>>().join(",")
}
