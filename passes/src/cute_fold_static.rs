//! `cute-fold-static`: see [`FOLD_STATIC`].

use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, blocks_of, erase, operations_of, replace_uses, users_of},
    cute::{fold, leaves, types},
    pass::{Failed, PassContext, PassDecl},
    types::Op,
};
use melior::ir::{AttributeLike, ValueLike, operation::OperationLike};

/// The declaration of the pass.
pub static FOLD_STATIC: PassDecl = PassDecl {
    name: "cute-fold-static",
    anchor: "",
    summary: "Replace cute operations whose results are static by constants",
    description: "A result whose type has no dynamic leaf becomes `cute.static`, a comparison that is decided becomes `arith.constant`, and `cute.get_scalars` of static leaves \
        becomes `arith.constant`s. Operations that nothing uses any more are erased.",
    options: &[],
    run,
};

fn run(pass: &PassContext<'_>) -> Result<(), Failed> {
    let mut dead = Vec::new();
    walk(pass.op, &mut |op| {
        if let Some(folded) = fold_op(pass, op) {
            dead.push(folded);
        }
    });
    erase_unused(pass.op);
    Ok(())
}

fn walk<'c>(op: Op<'c>, each: &mut dyn FnMut(Op<'c>)) {
    for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
        for nested in operations_of(block) {
            walk(nested, each);
            each(nested);
        }
    }
}

/// Replaces the results of an op where they are static.
fn fold_op<'c>(pass: &PassContext<'c>, op: Op<'c>) -> Option<()> {
    let view = OpView(op);
    let name = view.name();
    if !name.starts_with("cute.") || name == "cute.static" {
        return None;
    }
    let b = Builder::before(pass.context, op);
    if name == "cute.get_scalars" {
        let value = types::of_type(view.operands().first()?.r#type())?;
        let wanted = if view.has("only_dynamic") { leaves::dynamic(&value) } else { leaves::all(&value) };
        for (leaf, result) in wanted.iter().zip(view.results()) {
            if let Some(number) = leaf.as_static() {
                replace_uses(result, b.int(result.r#type(), number));
            }
        }
        return Some(());
    }
    let result = *view.results().first()?;
    let constant = fold::fold(pass.context, op)?;
    let replacement = match types::of_type(result.r#type()) {
        Some(_) => b.op1("cute.static", &[], result.r#type(), &[]),
        // SAFETY: a boolean attribute, as `fold` gives for i1.
        None => b.int(result.r#type(), i64::from(unsafe { mlir_sys::mlirBoolAttrGetValue(constant.to_raw()) })),
    };
    replace_uses(result, replacement);
    Some(())
}

/// Whether an operation computes a value and does nothing else.
fn is_pure(view: OpView<'_>) -> bool {
    let name = view.name();
    let works = [
        "cute.alloc_pipeline",
        "cute.alloc_shared",
        "cute.load",
        "cute.make_fragment",
        "cute.make_fragment_like",
        "cute.make_pipeline",
        "cute.producer_expect",
    ];
    name.starts_with("cute.") && !view.results().is_empty() && !works.contains(&name.as_str())
}

/// Erases pure operations of the dialect without uses, users before what they use.
pub(crate) fn erase_unused(root: Op<'_>) {
    let mut ops = Vec::new();
    walk(root, &mut |op| ops.push(op));
    for op in ops.into_iter().rev() {
        let view = OpView(op);
        if is_pure(view) && view.results().into_iter().all(|result| users_of(result).is_empty()) {
            erase(op);
        }
    }
}
