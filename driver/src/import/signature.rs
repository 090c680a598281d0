//! The main graph as a function: its arguments with their dims and facts, its results.

use std::collections::HashMap;

use aitmlir_dialects::{
    builder::Builder,
    types::{Blk, DYNAMIC, TypeExt, Types, Val, tensor_type},
};
use aitmlir_onnx::model::{Dim as OnnxDim, DimFact, Model, ValueInfo};
use aitmlir_runtime::info;
use melior::{
    Context as MlirContext,
    ir::{
        Attribute, Block, BlockLike, Identifier, Location, Module, Region, RegionLike, Type,
        attribute::{ArrayAttribute, DictionaryAttribute, TypeAttribute},
        operation::OperationBuilder,
        r#type::FunctionType,
    },
};

use super::{
    ImportOptions, Imported,
    context::Context,
    error::{ImportError, Result},
    scalar::Scalar,
    value::{DTypeExt, Value, type_of},
};

/// An input whose type is known to be supported.
struct Input<'m> {
    name: &'m str,
    dtype: aitmlir_onnx::model::DType,
    dims: &'m [OnnxDim],
}

/// Imports a normalised model.
pub fn import_model<'c>(context: &'c MlirContext, model: &Model, options: &ImportOptions) -> Result<Imported<'c>> {
    let location = match options.source.as_str() {
        "" => Location::unknown(context),
        source => Location::name(context, source, Location::unknown(context)),
    };
    let module = Module::new(location);
    let body = module.body();
    // SAFETY: the module owns its body and outlives the import.
    let block: Blk<'c> = unsafe { melior::ir::BlockRef::from_raw(body.to_raw()) };
    let outer = Builder::at_end(context, block, location);
    let inputs = model.graph.inputs.iter().map(|i| input(outer, i)).collect::<Result<Vec<_>>>()?;

    let region = Region::new();
    let arguments: Vec<_> = inputs.iter().map(|i| (argument_type(outer, i), location)).collect();
    let entry = region.append_block(Block::new(&arguments));
    // SAFETY: the region owns the block and goes into the function below.
    let entry: Blk<'c> = unsafe { melior::ir::BlockRef::from_raw(entry.to_raw()) };
    let mut state = Context::new(Builder::at_end(context, entry, location));
    let symbols = bind_inputs(&mut state, &inputs, entry);
    state.graph(&model.graph)?;
    if !state.unsupported.is_empty() {
        return Err(state.unsupported.into());
    }
    let Some(results) = state.outputs(&model.graph)? else {
        return Err(ImportError::Model("an output depends on a node that is not supported".into()));
    };
    let mut returned = Vec::new();
    for (value, info) in results.iter().zip(&model.graph.outputs) {
        let tensor = state.tensor(value).map_err(|_| {
            ImportError::Model(format!("output `{}` is {}, which is not supported", info.name, value.dtype))
        })?;
        returned.push(tensor);
    }
    state.b.op("func.return", &returned, &[], &[], vec![]);
    let argument_attributes = inputs.iter().map(|i| input_attributes(outer, i, model)).collect::<Vec<_>>();
    let result_attributes = model
        .graph
        .outputs
        .iter()
        .map(|o| dictionary(outer, &[("ait.name", outer.str_attr(&o.name))]))
        .collect::<Vec<_>>();
    let argument_types: Vec<_> = arguments.iter().map(|a| a.0).collect();
    let result_types: Vec<_> = results.iter().map(|v| v.ty(outer)).collect();
    let function = FunctionType::new(context, &argument_types, &result_types);
    let op = OperationBuilder::new("func.func", location)
        .add_attributes(&[
            (Identifier::new(context, "sym_name"), outer.str_attr("main")),
            (Identifier::new(context, "function_type"), TypeAttribute::new(function.into()).into()),
            (Identifier::new(context, "arg_attrs"), ArrayAttribute::new(context, &argument_attributes).into()),
            (Identifier::new(context, "res_attrs"), ArrayAttribute::new(context, &result_attributes).into()),
        ])
        .add_regions([region])
        .build()
        .map_err(|e| ImportError::Model(format!("internal error: the function cannot be built: {e}")))?;
    if !state.checked.borrow().is_empty() {
        declare_failure(outer);
    }
    outer.insert(op);
    let infos = inputs.iter().map(|i| input_info(i, model)).collect::<Result<Vec<_>>>()?;
    let mut outputs = Vec::new();
    for (value, output) in results.iter().zip(&model.graph.outputs) {
        outputs.push(output_info(&state, &output.name, value, &symbols, model)?);
    }
    Ok(Imported { module, inputs: infos, outputs, weights: state.weights })
}

fn input<'m>(b: Builder<'_>, value: &'m ValueInfo) -> Result<Input<'m>> {
    let unfit = |what: String| ImportError::Model(format!("input `{}` is {what}, which is not supported", value.name));
    let Some(ty) = &value.ty else { return Err(unfit("of no declared type".into())) };
    let Some(tensor) = ty.tensor() else { return Err(unfit(ty.to_string())) };
    let Some(dims) = &tensor.shape else { return Err(unfit(format!("a {} tensor of unknown rank", tensor.dtype))) };
    if tensor.dtype.element(b).is_none() {
        return Err(unfit(format!("a tensor of {}", tensor.dtype)));
    }
    Ok(Input { name: &value.name, dtype: tensor.dtype, dims })
}

/// The declaration of the runtime's function that ends a run with an error.
fn declare_failure(b: Builder<'_>) {
    let function = FunctionType::new(b.context(), &[b.context().int_type(64); 3], &[]);
    let attributes = [
        ("sym_name", b.str_attr(super::ops::FAIL)),
        ("sym_visibility", b.str_attr("private")),
        ("function_type", b.type_attr(function.into())),
    ];
    b.op("func.func", &[], &[], &attributes, vec![Region::new()]);
}

/// The type of the argument: what is not a number is `?`.
fn argument_type<'c>(b: Builder<'c>, input: &Input<'_>) -> Type<'c> {
    let shape: Vec<i64> = input.dims.iter().map(|d| if let OnnxDim::Static(n) = d { *n } else { DYNAMIC }).collect();
    tensor_type(&shape, type_of(b, input.dtype, &[]).element_type())
}

/// Binds the inputs to the arguments; dims of one name share a value, taken from where it appears first.
fn bind_inputs<'c>(state: &mut Context<'c>, inputs: &[Input<'_>], entry: Blk<'c>) -> Symbols<'c> {
    let mut symbols = Symbols::new();
    let arguments = aitmlir_dialects::builder::block_arguments(entry);
    for (i, (input, argument)) in inputs.iter().zip(arguments).enumerate() {
        let dims = input.dims.iter().enumerate().map(|(d, dim)| match dim {
            OnnxDim::Static(n) => Scalar::Int(*n),
            OnnxDim::Symbol(name) => {
                Scalar::Dyn(symbols.entry(name.clone()).or_insert_with(|| (state.b.dim(argument, d), i, d)).0)
            }
            OnnxDim::Unknown => Scalar::Dyn(state.b.dim(argument, d)),
        });
        let dims: Vec<_> = dims.collect();
        dims.iter().for_each(|d| state.index().assume_nonnegative(*d));
        let value = state.value(input.dtype, dims, argument);
        state.bind(input.name, value);
    }
    symbols
}

fn dictionary<'c>(b: Builder<'c>, entries: &[(&str, Attribute<'c>)]) -> Attribute<'c> {
    let entries: Vec<_> = entries.iter().map(|(k, v)| (Identifier::new(b.context(), k), *v)).collect();
    DictionaryAttribute::new(b.context(), &entries).into()
}

fn input_attributes<'c>(b: Builder<'c>, input: &Input<'_>, model: &Model) -> Attribute<'c> {
    let list = |f: &dyn Fn(&OnnxDim) -> Attribute<'c>| -> Attribute<'c> {
        ArrayAttribute::new(b.context(), &input.dims.iter().map(f).collect::<Vec<_>>()).into()
    };
    let name = |d: &OnnxDim| match d {
        OnnxDim::Symbol(s) => b.str_attr(s),
        _ => b.str_attr(""),
    };
    let fact = |d: &OnnxDim| match d {
        OnnxDim::Static(n) => (*n, *n, 1),
        OnnxDim::Symbol(s) => model.dim(s).map_or((0, -1, 1), |f| (f.min, f.max.unwrap_or(-1), f.multiple)),
        OnnxDim::Unknown => (0, -1, 1),
    };
    let mut entries = vec![("ait.name", b.str_attr(input.name))];
    if input.dims.iter().any(|d| !matches!(d, OnnxDim::Static(_))) {
        entries.push(("ait.dims", list(&name)));
        entries.push(("ait.max", list(&|d| b.i64_attr(fact(d).1))));
        entries.push(("ait.min", list(&|d| b.i64_attr(fact(d).0))));
        entries.push(("ait.multiple", list(&|d| b.i64_attr(fact(d).2))));
    }
    dictionary(b, &entries)
}

pub(crate) fn runtime_dtype(name: &str, dtype: aitmlir_onnx::model::DType) -> Result<info::DType> {
    use aitmlir_onnx::model::DType as From;
    use info::DType as To;
    Ok(match dtype {
        From::F32 => To::F32,
        From::F64 => To::F64,
        From::F16 => To::F16,
        From::BF16 => To::BF16,
        From::I8 => To::I8,
        From::I16 => To::I16,
        From::I32 => To::I32,
        From::I64 => To::I64,
        From::U8 => To::U8,
        From::U16 => To::U16,
        From::U32 => To::U32,
        From::U64 => To::U64,
        From::Bool => To::Bool,
        other => return Err(ImportError::Model(format!("`{name}` is a tensor of {other}, which is not supported"))),
    })
}

/// What the library says of a dim with a fact.
fn dynamic_dim(fact: Option<&DimFact>) -> info::DynamicDim {
    match fact {
        None => info::DynamicDim::default(),
        Some(f) => info::DynamicDim {
            name: Some(f.symbol.clone()),
            min: f.min,
            max: f.max,
            multiple: f.multiple,
            ..Default::default()
        },
    }
}

fn input_info(input: &Input<'_>, model: &Model) -> Result<info::TensorInfo> {
    let dims = input.dims.iter().map(|d| match d {
        OnnxDim::Static(n) => info::Dim::Static(*n),
        OnnxDim::Symbol(s) => info::Dim::Dynamic(dynamic_dim(model.dim(s))),
        OnnxDim::Unknown => info::Dim::Dynamic(info::DynamicDim::default()),
    });
    Ok(info::TensorInfo {
        name: input.name.to_string(),
        dtype: runtime_dtype(input.name, input.dtype)?,
        dims: dims.collect(),
    })
}

/// Where each dim symbol is read: its value, the input, the dimension.
type Symbols<'c> = HashMap<String, (Val<'c>, usize, usize)>;

fn output_info<'c>(
    state: &Context<'c>,
    name: &str,
    value: &Value<'c>,
    symbols: &Symbols<'c>,
    model: &Model,
) -> Result<info::TensorInfo> {
    let dims = value.dims.iter().map(|d| match d {
        Scalar::Dyn(v) => {
            let found = symbols.iter().find(|(_, (s, _, _))| s == v);
            let mut dim = dynamic_dim(found.and_then(|(symbol, _)| model.dim(symbol)));
            dim.expr = expression(state, *d, symbols);
            info::Dim::Dynamic(dim)
        }
        known => info::Dim::Static(known.int().unwrap_or(0)),
    });
    Ok(info::TensorInfo { name: name.to_string(), dtype: runtime_dtype(name, value.dtype)?, dims: dims.collect() })
}

/// A dim as an expression over the input dims; `None` where it depends on data.
fn expression<'c>(state: &Context<'c>, dim: Scalar<'c>, symbols: &Symbols<'c>) -> Option<info::DimExpr> {
    use info::DimExpr as E;
    let value = match dim {
        Scalar::Dyn(v) => v,
        known => return Some(E::Const(known.int()?)),
    };
    if let Some((_, i, d)) = symbols.values().find(|(s, _, _)| *s == value) {
        return Some(E::Input(*i, *d));
    }
    let (op, a, b) = state.memo.borrow().definition_of(value)?;
    let (a, b) = (Box::new(expression(state, a, symbols)?), Box::new(expression(state, b, symbols)?));
    Some(match op {
        "add" => E::Add(a, b),
        "sub" => E::Sub(a, b),
        "mul" => E::Mul(a, b),
        "div" | "floordiv" => E::FloorDiv(a, b),
        "min" => E::Min(a, b),
        "max" => E::Max(a, b),
        _ => return None,
    })
}
