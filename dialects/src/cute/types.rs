//! MLIR types to values and back.

use super::{Cute, leaves};
use crate::{ait::view::text, ffi, types::TypeExt};
use cute_layout::{Facts, Int, atom::Element};
use melior::{
    Context, StringRef,
    ir::{Type, TypeLike},
};
use std::{cell::RefCell, collections::HashMap};

/// The MLIR type of a value, after [`leaves::settled`].
pub fn to_type<'c>(context: &'c Context, value: &Cute) -> Type<'c> {
    let body = leaves::settled(value).text();
    let kind = value.kind();
    // SAFETY: the kinds are those of the ODS types; the type copies the text.
    unsafe {
        let (kind, body) = (StringRef::new(kind).to_raw(), StringRef::new(&body).to_raw());
        Type::from_raw(ffi::aitmlirCuteTypeGet(context.to_raw(), kind, body))
    }
}

/// What a type of the dialect says; `None` for any other type.
pub fn of_type(r#type: Type<'_>) -> Option<Cute> {
    // SAFETY: a valid type; both texts live as long as its context.
    let (kind, body) = unsafe {
        let raw = r#type.to_raw();
        (text(ffi::aitmlirCuteTypeGetKind(raw))?, text(ffi::aitmlirCuteTypeGetText(raw))?)
    };
    if kind.is_empty() {
        return None;
    }
    remembered(format!("{kind}<{body}>"))
}

/// How many texts are remembered at a time: more than a large kernel has types.
const REMEMBERED: usize = 4096;

/// The value of a type's text. Kernels ask for the same few hundred types again and again, so they are read once.
fn remembered(text: String) -> Option<Cute> {
    thread_local! {
        static VALUES: RefCell<HashMap<String, Option<Cute>>> = RefCell::default();
    }
    VALUES.with_borrow_mut(|values| {
        if let Some(value) = values.get(&text) {
            return value.clone();
        }
        if values.len() >= REMEMBERED {
            values.clear();
        }
        let value = Cute::parse(&text).ok();
        values.insert(text, value.clone());
        value
    })
}

/// What an operand's type says; an i32 or i64 is an int tuple of one dynamic leaf, as is an index.
pub fn of_operand(r#type: Type<'_>) -> Option<Cute> {
    if r#type.is_index_type() || (r#type.is_int_type() && r#type.bits() == 64) {
        return Some(Cute::int(Int::Unknown(Facts { wide: true, ..Facts::NONE })));
    }
    if r#type.is_int_type() && r#type.bits() == 32 {
        return Some(Cute::int(Int::UNKNOWN));
    }
    of_type(r#type)
}

/// The scalar type of an element: what `load` gives and `fill` takes.
pub fn scalar_type<'c>(context: &'c Context, element: Element) -> Type<'c> {
    use crate::types::Types;
    match element {
        Element::F16 => context.f16_type(),
        Element::Bf16 => context.bf16_type(),
        Element::Tf32 | Element::F32 => context.f32_type(),
        Element::F64 => context.f64_type(),
        Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => context.int_type(8),
        Element::S32 => context.int_type(32),
    }
}
