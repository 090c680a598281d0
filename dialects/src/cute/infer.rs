//! The type of an operation's result.

use super::{Attributes, Cute, Outcome, evaluate, leaves, types};
use crate::types::Types;
use melior::{
    Context,
    ir::{Type, TypeLike},
};

/// The operands of an operation as values whose dynamic leaves have names `%0`, `%1`, ...
pub fn operands_of_types(types: &[Type<'_>]) -> Result<Vec<Cute>, String> {
    let mut next = 0;
    let mut values = Vec::new();
    for (i, r#type) in types.iter().enumerate() {
        let value = types::of_operand(*r#type).ok_or_else(|| {
            format!("takes values of the cute dialect and integers of 32 or 64 bits, operand {i} is {}", r#type)
        })?;
        values.push(leaves::traced(&value, &mut next).map_err(|error| error.to_string())?);
    }
    Ok(values)
}

/// The result type of an operation on operands of these types.
pub fn infer<'c>(
    context: &'c Context,
    op: &str,
    attributes: &Attributes,
    operands: &[Type<'c>],
) -> Result<Type<'c>, String> {
    let values = operands_of_types(operands)?;
    let r#type = match evaluate(op, attributes, &values)? {
        Outcome::Value(value) => types::to_type(context, &value),
        Outcome::Logic { .. } => context.int_type(1),
    };
    if r#type.to_raw().ptr.is_null() {
        return Err("internal error: the result has no type; please report it".into());
    }
    Ok(r#type)
}

/// Whether a result may be declared as `declared`: the same structure and numbers, no facts beyond what is known. A size-1 mode's stride
/// means nothing.
pub fn compatible(inferred: &Cute, declared: &Cute) -> bool {
    if inferred.kind() != declared.kind() {
        return false;
    }
    let (a, b) = (without_unit_strides(inferred), without_unit_strides(declared));
    let (from, to) = (leaves::all(&a), leaves::all(&b));
    let same_tree = leaves::map(&a, &mut |_| cute_layout::Int::ONE)
        == leaves::map(&loosened(&b, &a), &mut |_| cute_layout::Int::ONE);
    same_tree && from.len() == to.len() && from.iter().zip(&to).all(|(from, to)| leaves::implies(from, to))
}

/// The declared value with a pointer's alignment that the inferred one guarantees taken for the inferred one's.
fn loosened(declared: &Cute, inferred: &Cute) -> Cute {
    let align = |declared: i64, inferred: i64| if inferred % declared == 0 { inferred } else { declared };
    match (declared, inferred) {
        (Cute::Ptr(d), Cute::Ptr(i)) => Cute::Ptr(super::Ptr { align: align(d.align, i.align), ..d.clone() }),
        (Cute::View(d), Cute::View(i)) => {
            let ptr = super::Ptr { align: align(d.ptr.align, i.ptr.align), ..d.ptr.clone() };
            Cute::View(super::View { ptr, layout: d.layout.clone() })
        }
        _ => declared.clone(),
    }
}

fn without_unit_strides(value: &Cute) -> Cute {
    use super::{View, ViewLayout};
    use cute_layout::{ComposedLayout, Int, Layout, Stride};
    let plain = |layout: &Layout| {
        let leaves = layout.tree().map(|mode| match mode.size.is(1) {
            true => (Int::ONE, Stride::zero()),
            false => (mode.size.clone(), mode.stride.clone()),
        });
        Layout::new(&leaves.map(|m| m.0.clone()), &leaves.map(|m| m.1.clone())).unwrap_or_else(|_| layout.clone())
    };
    let composed = |c: &ComposedLayout| ComposedLayout { outer: plain(&c.outer), ..c.clone() };
    match value {
        Cute::Layout(l) => Cute::Layout(plain(l)),
        Cute::Composed(c) => Cute::Composed(composed(c)),
        Cute::View(v) => {
            let layout = match &v.layout {
                ViewLayout::Plain(l) => ViewLayout::Plain(plain(l)),
                ViewLayout::Composed(c) => ViewLayout::Composed(composed(c)),
            };
            Cute::View(View { ptr: v.ptr.clone(), layout })
        }
        Cute::CoordView(v) => Cute::CoordView(super::CoordView { start: v.start.clone(), layout: plain(&v.layout) }),
        other => other.clone(),
    }
}
