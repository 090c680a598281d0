//! What a model states of the strides of its tensors, for `--emit=kernel`.

use aitmlir_dialects::{
    ait::{
        OpView,
        strides::{misuse, stated},
        view::{listed_attribute, string_of},
    },
    builder::{block_arguments, block_of, defining_op, operations_of},
    types::{Op, TypeExt, Val},
};
use anyhow::{Result, anyhow, bail};
use melior::ir::ValueLike;

/// Strides of a tensor, [`DYNAMIC`](aitmlir_dialects::types::DYNAMIC) for those that a launch gives; `None` where it is row-major.
pub type Strides = Option<Vec<i64>>;

/// The arguments, then the results of the outlined `@main`, each with the strides that it states. Errors: strides that cannot be, where a library's tensors
/// have some (`exported` says that one kernel is made), and where anything but a kernel takes them.
pub fn of_main(module: Op<'_>, exported: bool) -> Result<Vec<Strides>> {
    let main = block_of(module, 0).map(operations_of).unwrap_or_default();
    let main = main.into_iter().find(|op| OpView(*op).string("sym_name").as_deref() == Some("main"));
    let Some((main, entry)) = main.and_then(|main| Some((OpView(main), block_of(main, 0)?))) else {
        return Ok(vec![]);
    };
    let returned = operations_of(entry).last().map(|op| OpView(*op).operands()).unwrap_or_default();
    let mut found = Vec::new();
    for (list, values) in [("arg_attrs", block_arguments(entry)), ("res_attrs", returned)] {
        for (i, value) in values.into_iter().enumerate() {
            let name = listed_attribute(main, list, i, "ait.name").and_then(string_of);
            let name = name.unwrap_or_else(|| format!("tensor {i}"));
            let strides = stated(main, list, i, value.r#type().shape().len());
            let strides = strides.map_err(|cause| anyhow!("{name}: ait.strides {cause}"))?;
            if strides.is_some() {
                usable(value, exported).map_err(|cause| anyhow!("{name}: ait.strides {cause}"))?;
            }
            found.push(strides);
        }
    }
    Ok(found)
}

/// Whether a tensor may have strides.
fn usable(value: Val<'_>, exported: bool) -> Result<()> {
    if !exported {
        bail!("is for --emit=kernel: the tensors of a library are row-major");
    }
    let made = defining_op(value).map(|op| OpView(op).name()).filter(|name| name != "ait.launch");
    match made.or_else(|| misuse(value)) {
        Some(name) => {
            bail!("is for the tensors of kernels, and '{name}' makes or takes this one as a row-major tensor")
        }
        None => Ok(()),
    }
}
