//! One kernel of an outlined model as a model of its own, for `--emit=kernel`: its tensors become the inputs and outputs, with the names and
//! facts that they have in the model.

use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, block_arguments, block_of, blocks_of, defining_op, erase, operations_of, set_attribute},
    types::{Op, TypeExt, Val},
};
use aitmlir_lowering::cpu::kernel_op;
use anyhow::{Context as _, Result, bail};
use melior::{
    Context,
    ir::{Attribute, AttributeLike, ValueLike, attribute::ArrayAttribute, operation::OperationLike},
};

/// Makes the kernel `wanted`, or the only one, all of the module. The module must be outlined again afterwards. Errors: no kernel,
/// several of which none is named, one that takes a scalar.
pub fn isolate<'c>(context: &'c Context, module: Op<'c>, wanted: Option<&str>) -> Result<()> {
    let body = block_of(module, 0).context("the module has no body")?;
    let functions: Vec<Op<'c>> =
        operations_of(body).into_iter().filter(|op| OpView(*op).name() == "func.func").collect();
    let named = |name: &str| functions.iter().copied().find(|f| OpView(*f).string("sym_name").as_deref() == Some(name));
    let main = named("main").context("the module has no function 'main'")?;
    let mut launches = Vec::new();
    collect(main, &mut launches);
    let mut names: Vec<String> = launches.iter().map(|launch| callee(*launch)).collect();
    names.sort();
    names.dedup();
    let described = |name: &String| match named(name).and_then(kernel_op) {
        Some(op) => format!("{name} ({})", op.name()),
        None => name.clone(),
    };
    let list = names.iter().map(described).collect::<Vec<_>>().join(", ");
    let name = match (wanted, names.as_slice()) {
        (_, []) => bail!("the model has no kernel to export: nothing of it runs on the GPU"),
        (Some(name), _) if names.iter().any(|n| n == name) => name.to_owned(),
        (Some(name), _) => bail!("the model has no kernel '{name}'; it has {list}"),
        (None, [only]) => only.clone(),
        (None, _) => bail!("the model has {} kernels; name the one to export with --kernel: {list}", names.len()),
    };
    let kernel = named(&name).with_context(|| format!("no kernel function '{name}'"))?;
    let launch = launches.iter().copied().find(|launch| callee(*launch) == name).context("no launch")?;
    let block = block_of(kernel, 0).with_context(|| format!("the kernel '{name}' has no body"))?;
    if let Some(scalar) = block_arguments(block).iter().position(|argument| !argument.r#type().is_tensor()) {
        let r#type = block_arguments(block)[scalar].r#type();
        bail!(
            "the kernel '{name}' cannot be exported: its argument {scalar} is a scalar ({}) that the model computes",
            r#type
        );
    }
    let facts = facts(context, main, launch);
    for function in functions {
        if function != kernel {
            erase(function);
        }
    }
    become_main(context, kernel, facts);
    Ok(())
}

/// The launches of a function.
fn collect<'c>(op: Op<'c>, launches: &mut Vec<Op<'c>>) {
    for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
        for nested in operations_of(block) {
            if OpView(nested).name() == "ait.launch" {
                launches.push(nested);
            }
            collect(nested, launches);
        }
    }
}

fn callee(launch: Op<'_>) -> String {
    let text = OpView(launch).attr("callee").map(|a| a.to_string()).unwrap_or_default();
    text.trim_start_matches('@').trim_matches('"').to_owned()
}

/// The attributes of each operand and result of a launch, as `@main` or a constant has them.
fn facts<'c>(context: &'c Context, main: Op<'c>, launch: Op<'c>) -> [Vec<Attribute<'c>>; 2] {
    let view = OpView(launch);
    let arguments = block_of(main, 0).map(block_arguments).unwrap_or_default();
    let returned: Vec<Val<'c>> = block_of(main, 0)
        .and_then(|block| operations_of(block).last().copied())
        .map(|op| OpView(op).operands())
        .unwrap_or_default();
    let b = Builder::before(context, launch);
    let called = |name: &str| b.parse_attr(&format!("{{ait.name = {name:?}}}"));
    let of_main = |list: &str, i: usize| OpView(main).attr(list).and_then(|list| element(list, i));
    let inputs = view.group("inputs").into_iter().enumerate().map(|(i, operand)| {
        let default = || called(&format!("input{i}"));
        if let Some(argument) = arguments.iter().position(|a| *a == operand) {
            return of_main("arg_attrs", argument).unwrap_or_else(default);
        }
        let constant = defining_op(operand).map(OpView).filter(|op| op.name() == "ait.constant");
        let name = constant.and_then(|op| op.attr("value")).and_then(aitmlir_dialects::ait::view::weights_name);
        name.map_or_else(default, |name| called(&name))
    });
    let inputs = inputs.collect();
    let outputs = view.results().into_iter().enumerate().map(|(i, result)| {
        let place = returned.iter().position(|value| *value == result);
        let known = place.and_then(|place| of_main("res_attrs", place));
        known.unwrap_or_else(|| called(&format!("output{i}")))
    });
    [inputs, outputs.collect()]
}

fn element<'c>(list: Attribute<'c>, i: usize) -> Option<Attribute<'c>> {
    // SAFETY: the kind and the length are checked first.
    let found = unsafe {
        let raw = list.to_raw();
        (mlir_sys::mlirAttributeIsAArray(raw) && (i as isize) < mlir_sys::mlirArrayAttrGetNumElements(raw))
            .then(|| Attribute::from_raw(mlir_sys::mlirArrayAttrGetElement(raw, i as isize)))
    };
    found.filter(|facts| facts.to_string() != "{}")
}

/// Turns a kernel function into `@main`.
fn become_main<'c>(context: &'c Context, kernel: Op<'c>, [inputs, outputs]: [Vec<Attribute<'c>>; 2]) {
    let b = Builder::before(context, kernel);
    for name in ["sym_visibility", "ait.kernel"] {
        // SAFETY: a live op; a name that it does not have is fine.
        unsafe {
            mlir_sys::mlirOperationRemoveAttributeByName(kernel.to_raw(), melior::StringRef::new(name).to_raw());
        }
    }
    set_attribute(kernel, "sym_name", b.str_attr("main"));
    set_attribute(kernel, "arg_attrs", ArrayAttribute::new(context, &inputs).into());
    set_attribute(kernel, "res_attrs", ArrayAttribute::new(context, &outputs).into());
}
