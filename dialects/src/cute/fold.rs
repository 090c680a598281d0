//! What an operation folds to: a constant, where its result's type is its value.

use super::{Attributes, Outcome, evaluate, infer, leaves, types};
use crate::{ait::OpView, types::Op};
use melior::{
    Context,
    ir::{
        Attribute, ValueLike,
        attribute::{BoolAttribute, TypeAttribute},
    },
};

/// The constant: the result's type as an attribute, or a boolean.
pub fn fold<'c>(context: &'c Context, op: Op<'c>) -> Option<Attribute<'c>> {
    let view = OpView(op);
    let result = *view.results().first()?;
    if let Some(value) = types::of_type(result.r#type()) {
        return leaves::is_static(&value).then(|| TypeAttribute::new(result.r#type()).into());
    }
    let operand_types: Vec<_> = view.operands().iter().map(|v| v.r#type()).collect();
    let operands = infer::operands_of_types(&operand_types).ok()?;
    match evaluate(&view.name(), &Attributes::read(|name| view.attr(name)), &operands).ok()? {
        Outcome::Logic { known: Some(known), .. } => Some(BoolAttribute::new(context, known).into()),
        _ => None,
    }
}
