//! `ait-split-constants`: see [`SPLIT_CONSTANTS`].

use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, block_of, defining_op, erase, operations_of, replace_uses, set_attribute, users_of},
    diagnostics::location_of,
    pass::{Failed, PassContext, PassDecl},
    types::{Op, TypeExt, Val},
};
use melior::{
    StringRef,
    ir::{
        Attribute, Operation, ValueLike,
        attribute::{ArrayAttribute, StringAttribute, TypeAttribute},
        r#type::FunctionType,
    },
};
use std::collections::HashMap;

/// The declaration of the pass.
pub static SPLIT_CONSTANTS: PassDecl = PassDecl {
    name: "ait-split-constants",
    anchor: "builtin.module",
    summary: "Move the kernels that read only constants into a program that runs once",
    description: "Launches of `@main` whose inputs are constants, or results of such launches, move into `@fold`. What `@main` reads of them becomes \
        `#ait.weights<\"derived.N\">`. The runtime runs `@fold` when a model is created and after a constant has been set, so weights keep their original names and can be replaced, \
        and nothing is evaluated at compile time. The attribute `ait.fold` of `@fold` names its results; `ait.derived` of the module lists their types.",
    options: &[],
    run,
};

fn run<'c>(pass: &PassContext<'c>) -> Result<(), Failed> {
    let Some(module) = block_of(pass.op, 0) else { return Ok(()) };
    let main = operations_of(module).into_iter().find(|op| OpView(*op).string("sym_name").as_deref() == Some("main"));
    let Some((main, entry)) = main.and_then(|main| Some((main, block_of(main, 0)?))) else { return Ok(()) };
    let constant: Vec<Op<'c>> = constant_launches(operations_of(entry));
    if constant.is_empty() {
        return Ok(());
    }
    // What is read by others than moved launches (through views, too) has to be stored.
    let stored: Vec<Val<'c>> = constant
        .iter()
        .flat_map(|op| OpView(*op).results())
        .filter(|result| users_of(*result).into_iter().any(|user| !constant.contains(&user)))
        .collect();
    let b = Builder::before(pass.context, main).with_location(location_of(main));
    let types: Vec<_> = stored.iter().map(|v| v.r#type()).collect();
    let region = b.region(&[], |b, _| {
        let mut clones = HashMap::new();
        let results: Vec<_> = stored.iter().map(|value| clone_into(b, *value, &mut clones)).collect();
        b.op("func.return", &results, &[], &[], vec![]);
    });
    let names: Vec<String> = (0..stored.len()).map(|i| format!("derived.{i}")).collect();
    let texts: Vec<Attribute<'c>> = names.iter().map(|n| StringAttribute::new(pass.context, n).into()).collect();
    let derived: Vec<Attribute<'c>> = types.iter().map(|t| TypeAttribute::new(*t).into()).collect();
    let array = |values: &[Attribute<'c>]| -> Attribute<'c> { ArrayAttribute::new(pass.context, values).into() };
    let r#type = FunctionType::new(pass.context, &[], &types);
    let attributes =
        [("sym_name", b.str_attr("fold")), ("function_type", b.type_attr(r#type.into())), ("ait.fold", array(&texts))];
    b.op("func.func", &[], &[], &attributes, vec![region]);
    set_attribute(pass.op, "ait.derived", array(&derived));
    for (value, name) in stored.iter().zip(&names) {
        let Some(op) = defining_op(*value) else { continue };
        let b = Builder::before(pass.context, op);
        let constant =
            b.ait("ait.constant", &[], &[value.r#type()], &[("value", weights(value.r#type(), name))], vec![]);
        replace_uses(*value, constant[0]);
    }
    constant.into_iter().rev().for_each(erase);
    Ok(())
}

/// `#ait.weights<"name"> : type`
pub fn weights<'c>(r#type: melior::ir::Type<'c>, name: &str) -> Attribute<'c> {
    use melior::ir::TypeLike;
    // SAFETY: a valid type; the attribute copies the name.
    unsafe {
        Attribute::from_raw(aitmlir_dialects::ffi::aitmlirWeightsAttrGet(
            r#type.to_raw(),
            StringRef::new(name).to_raw(),
        ))
    }
}

/// The launches that depend on nothing but constants, in order.
fn constant_launches(ops: Vec<Op<'_>>) -> Vec<Op<'_>> {
    let mut constant: Vec<Op<'_>> = Vec::new();
    for op in ops {
        let view = OpView(op);
        if view.name() != "ait.launch" || !view.results().iter().all(|r| r.r#type().shape().iter().all(|s| *s >= 0)) {
            continue;
        }
        // What is returned has to be written by a launch, in place.
        let returned = |result: &Val<'_>| users_of(*result).into_iter().any(|u| OpView(u).name() == "func.return");
        if view.results().iter().any(returned) {
            continue;
        }
        let inputs = view.group("inputs");
        if inputs.iter().any(|v| v.r#type().is_tensor()) && inputs.iter().all(|v| is_constant(*v, &constant)) {
            constant.push(op);
        }
    }
    constant
}

/// A constant, a view of one, or the result of a launch that moves.
fn is_constant(value: Val<'_>, launches: &[Op<'_>]) -> bool {
    let Some(op) = defining_op(value) else { return false };
    if launches.contains(&op) {
        return true;
    }
    match OpView(op).name().as_str() {
        "ait.constant" | "arith.constant" => true,
        "ait.reshape" | "ait.slice" => OpView(op).operands().into_iter().all(|v| is_constant(v, launches)),
        _ => false,
    }
}

/// A copy of the value's computation in the fold program.
fn clone_into<'c>(b: Builder<'c>, value: Val<'c>, clones: &mut HashMap<*const std::ffi::c_void, Val<'c>>) -> Val<'c> {
    let key = |v: Val<'c>| v.to_raw().ptr;
    if let Some(clone) = clones.get(&key(value)) {
        return *clone;
    }
    let Some(op) = defining_op(value) else { return value };
    let operands: Vec<_> = OpView(op).operands().into_iter().map(|v| clone_into(b, v, clones)).collect();
    // SAFETY: cloning a live op; the block owns the clone.
    let clone = b.insert(unsafe { Operation::from_raw(mlir_sys::mlirOperationClone(op.to_raw())) });
    for (i, operand) in operands.into_iter().enumerate() {
        // SAFETY: one operand for each of the original's.
        unsafe { mlir_sys::mlirOperationSetOperand(clone.to_raw(), i as isize, operand.to_raw()) };
    }
    for (old, new) in OpView(op).results().into_iter().zip(OpView(clone).results()) {
        clones.insert(key(old), new);
    }
    clones[&key(value)]
}
