//! What a compiled model says about itself, read from the IR.
//!
//! Inputs and outputs are read when kernels have been outlined and tensors still are tensors: the dimensions of each result are
//! then index values whose computation can be followed back to the dimensions of arguments.

use super::{Options, source::Source};
use aitmlir_dialects::{
    ait::{
        OpView,
        dims::result_dim,
        view::{integers_of, string_of},
    },
    builder::{Builder, block_arguments, block_of, defining_op, operations_of},
    types::{Op, TypeExt, Val},
};
use aitmlir_lowering::{host::checks::SITES, target::Target};
use aitmlir_runtime::info::{
    ABI_VERSION, ConstantInfo, DType, Dim, DimExpr, DynamicDim, MemoryReport, ModelInfo, Site, TensorInfo, Weights,
};
use anyhow::{Context as _, Result, bail};
use melior::{
    Context,
    ir::{Attribute, AttributeLike, Type, ValueLike},
};

/// Inputs, outputs and memory of a planned model.
pub struct Outline {
    inputs: Vec<TensorInfo>,
    outputs: Vec<TensorInfo>,
    memory: MemoryReport,
}

/// The function of that name.
fn function<'c>(module: Op<'c>, name: &str) -> Option<Op<'c>> {
    operations_of(block_of(module, 0)?).into_iter().find(|op| OpView(*op).string("sym_name").as_deref() == Some(name))
}

/// Gives a module without a fold program an empty one: the runtime calls both.
pub fn ensure_fold<'c>(context: &'c Context, module: Op<'c>) {
    let Some(body) = block_of(module, 0) else { return };
    if function(module, "fold").is_some() {
        return;
    }
    let b = Builder::at_end(context, body, melior::ir::Location::unknown(context));
    let region = b.region(&[], |b, _| {
        b.op("func.return", &[], &[], &[], vec![]);
    });
    let r#type = melior::ir::r#type::FunctionType::new(context, &[], &[]);
    let attributes = [("sym_name", b.str_attr("fold")), ("function_type", b.type_attr(r#type.into()))];
    b.op("func.func", &[], &[], &attributes, vec![region]);
}

impl Outline {
    /// Reads `@main` after outlining.
    pub fn of(module: Op<'_>) -> Self {
        let mut outline = Self { inputs: Vec::new(), outputs: Vec::new(), memory: MemoryReport::default() };
        let Some(main) = function(module, "main") else { return outline };
        let Some(entry) = block_of(main, 0) else { return outline };
        let view = OpView(main);
        let arguments = block_arguments(entry);
        for (i, argument) in arguments.iter().enumerate() {
            let facts = Facts::of(view, "arg_attrs", i);
            outline.inputs.push(facts.input(i, argument.r#type()));
        }
        if let Some(last) = operations_of(entry).last() {
            for (i, value) in OpView(*last).operands().into_iter().enumerate() {
                let facts = Facts::of(view, "res_attrs", i);
                outline.outputs.push(facts.output(i, value, &arguments));
            }
        }
        outline
    }

    /// Reads the memory report that planning left.
    pub fn read_memory(&mut self, module: Op<'_>) {
        let Some(main) = function(module, "main") else { return };
        let report = OpView(main).i64s("ait.memory");
        let figure = |i: usize| report.get(i).and_then(|v| u64::try_from(*v).ok());
        self.memory = MemoryReport { arena: figure(0), lower_bound: figure(1), naive: figure(2) };
    }

    /// Inputs and outputs as the importer describes them, with the dimensions of outputs that the module states.
    fn interface(&self, source: &Source<'_>) -> (Vec<TensorInfo>, Vec<TensorInfo>) {
        let Some((inputs, mut outputs)) = source.interface.clone() else {
            return (self.inputs.clone(), self.outputs.clone());
        };
        for (output, found) in outputs.iter_mut().zip(&self.outputs) {
            for (dim, found) in output.dims.iter_mut().zip(&found.dims) {
                match (&mut *dim, found) {
                    (Dim::Dynamic(dim), Dim::Dynamic(found)) => {
                        if found.expr.is_some() {
                            dim.expr = found.expr.clone();
                        }
                    }
                    (_, found) => *dim = found.clone(),
                }
            }
        }
        (inputs, outputs)
    }

    /// The description of the library.
    pub fn model_info(&self, module: Op<'_>, source: &Source<'_>, target: &Target, _: &Options) -> Result<ModelInfo> {
        let names = OpView(module).strings("ait.constants");
        let derived = derived_types(module);
        let constants = names
            .into_iter()
            .map(|name| {
                let number = name.strip_prefix("derived.").and_then(|n| n.parse::<usize>().ok());
                if let Some(r#type) = number.and_then(|n| derived.get(n)) {
                    return Ok(derived_constant(name, *r#type));
                }
                let weight = source.weights.iter().find(|w| w.name == name);
                let weight = weight.with_context(|| format!("the model has no weight '{name}'"))?;
                Ok(ConstantInfo {
                    name,
                    dtype: weight.dtype,
                    dims: weight.dims.clone(),
                    bytes: weight.data.len() as u64,
                    offset: 0,
                    derived: false,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let (inputs, outputs) = self.interface(source);
        if inputs.iter().chain(&outputs).any(|t| t.name.is_empty()) {
            bail!("an input or output of the model has no name");
        }
        Ok(ModelInfo {
            abi: ABI_VERSION,
            compiler: format!("aitmlir {}", env!("CARGO_PKG_VERSION")),
            target: target.name(),
            cpu_features: target.host().enabled_features(),
            name: source.name.clone(),
            inputs,
            outputs,
            constants,
            weights: Weights::Embedded { bytes: 0 },
            memory: self.memory.clone(),
            sites: sites(module),
            device: None,
            metadata: source.metadata.clone(),
        })
    }
}

/// The places that failed checks name, by number.
fn sites(module: Op<'_>) -> Vec<Site> {
    let Some(list) = OpView(module).attr(SITES) else { return Vec::new() };
    (0..)
        .map_while(|i| element(list, i))
        .map(|row| {
            let [node, op, what] = [0, 1, 2].map(|i| element(row, i).and_then(string_of).unwrap_or_default());
            Site { node, op, what }
        })
        .collect()
}

/// The tensor types of the derived constants.
fn derived_types(module: Op<'_>) -> Vec<Type<'_>> {
    let Some(list) = OpView(module).attr("ait.derived") else { return Vec::new() };
    (0..)
        .map_while(|i| element(list, i))
        // SAFETY: the pass that writes the list writes type attributes.
        .map(|e| unsafe { Type::from_raw(mlir_sys::mlirTypeAttrGetValue(e.to_raw())) })
        .collect()
}

/// A constant that the fold program computes.
fn derived_constant(name: String, r#type: Type<'_>) -> ConstantInfo {
    let (dtype, dims) = (dtype(r#type), r#type.shape());
    let bytes = dims.iter().product::<i64>() as u64 * dtype.bytes() as u64;
    ConstantInfo { name, dtype, dims, bytes, offset: 0, derived: true }
}

/// The element type of a tensor type at the boundary.
fn dtype(tensor: Type<'_>) -> DType {
    let element = tensor.element_type();
    match (element.is_float_type(), element.is_unsigned_type(), element.bits()) {
        (true, _, 64) => DType::F64,
        (true, _, 16) if element.to_string() == "bf16" => DType::BF16,
        (true, _, 16) => DType::F16,
        (true, _, _) => DType::F32,
        (_, true, 8) => DType::U8,
        (_, true, 16) => DType::U16,
        (_, true, 32) => DType::U32,
        (_, true, _) => DType::U64,
        (_, _, 1) => DType::Bool,
        (_, _, 8) => DType::I8,
        (_, _, 16) => DType::I16,
        (_, _, 32) => DType::I32,
        _ => DType::I64,
    }
}

/// The attributes of one argument or result: `ait.name`, `ait.dims`, `ait.min`, `ait.max`, `ait.multiple`.
struct Facts {
    name: Option<String>,
    dims: Vec<String>,
    min: Vec<i64>,
    max: Vec<i64>,
    multiple: Vec<i64>,
}

impl Facts {
    fn of(function: OpView<'_>, list: &str, i: usize) -> Self {
        let dictionary = function.attr(list).and_then(|list| element(list, i));
        let entry = |key: &str| dictionary.and_then(|d| lookup(d, key));
        Self {
            name: entry("ait.name").and_then(string_of),
            dims: entry("ait.dims").map(strings).unwrap_or_default(),
            min: entry("ait.min").map(integers_of).unwrap_or_default(),
            max: entry("ait.max").map(integers_of).unwrap_or_default(),
            multiple: entry("ait.multiple").map(integers_of).unwrap_or_default(),
        }
    }

    fn dynamic(&self, d: usize) -> DynamicDim {
        DynamicDim {
            name: self.dims.get(d).filter(|n| !n.is_empty()).cloned(),
            min: self.min.get(d).copied().unwrap_or(0).max(0),
            max: self.max.get(d).copied().filter(|m| *m >= 0 && *m < i64::MAX),
            multiple: self.multiple.get(d).copied().unwrap_or(1).max(1),
            ..Default::default()
        }
    }

    fn input(&self, i: usize, r#type: Type<'_>) -> TensorInfo {
        let dims = r#type.shape().into_iter().enumerate();
        let dims = dims.map(|(d, s)| if s >= 0 { Dim::Static(s) } else { Dim::Dynamic(self.dynamic(d)) }).collect();
        TensorInfo { name: self.name.clone().unwrap_or_else(|| format!("input{i}")), dtype: dtype(r#type), dims }
    }

    fn output<'c>(&self, i: usize, value: Val<'c>, arguments: &[Val<'c>]) -> TensorInfo {
        let r#type = value.r#type();
        let dims = r#type.shape().into_iter().enumerate();
        let dims = dims
            .map(|(d, s)| {
                if s >= 0 {
                    return Dim::Static(s);
                }
                Dim::Dynamic(DynamicDim {
                    expr: stated_dim(value, d).and_then(|v| expression(v, arguments)),
                    ..self.dynamic(d)
                })
            })
            .collect();
        TensorInfo { name: self.name.clone().unwrap_or_else(|| format!("output{i}")), dtype: dtype(r#type), dims }
    }
}

/// The index operand that states dimension `d` of a launch's result.
fn stated_dim<'c>(value: Val<'c>, d: usize) -> Option<Val<'c>> {
    let op = defining_op(value)?;
    let view = OpView(op);
    let result = view.results().iter().position(|r| *r == value)?;
    // SAFETY: the context of a live op outlives this use.
    let context = unsafe { melior::ContextRef::from_raw(mlir_sys::mlirOperationGetContext(op.to_raw())) };
    // SAFETY: as above.
    result_dim(Builder::before(unsafe { context.to_ref() }, op), view, result, d)
}

/// An index value as an expression over the dimensions of arguments.
fn expression<'c>(value: Val<'c>, arguments: &[Val<'c>]) -> Option<DimExpr> {
    let view = OpView(defining_op(value)?);
    let operands = view.operands();
    let both = || {
        let pair = (expression(operands[0], arguments)?, expression(operands[1], arguments)?);
        Some((Box::new(pair.0), Box::new(pair.1)))
    };
    match view.name().as_str() {
        "arith.constant" => Some(DimExpr::Const(view.i64("value")?)),
        "arith.index_cast" => expression(operands[0], arguments),
        "tensor.dim" => {
            let DimExpr::Const(d) = expression(operands[1], arguments)? else { return None };
            let d = usize::try_from(d).ok()?;
            match arguments.iter().position(|a| *a == operands[0]) {
                Some(i) => Some(DimExpr::Input(i, d)),
                None => expression(stated_dim(operands[0], d)?, arguments),
            }
        }
        "arith.addi" => both().map(|(a, b)| DimExpr::Add(a, b)),
        "arith.subi" => both().map(|(a, b)| DimExpr::Sub(a, b)),
        "arith.muli" => both().map(|(a, b)| DimExpr::Mul(a, b)),
        "arith.floordivsi" => both().map(|(a, b)| DimExpr::FloorDiv(a, b)),
        "arith.ceildivsi" => both().map(|(a, b)| DimExpr::CeilDiv(a, b)),
        "arith.minsi" => both().map(|(a, b)| DimExpr::Min(a, b)),
        "arith.maxsi" => both().map(|(a, b)| DimExpr::Max(a, b)),
        _ => None,
    }
}

fn element(list: Attribute<'_>, i: usize) -> Option<Attribute<'_>> {
    // SAFETY: the kind and the length are checked first.
    unsafe {
        let raw = list.to_raw();
        (mlir_sys::mlirAttributeIsAArray(raw) && (i as isize) < mlir_sys::mlirArrayAttrGetNumElements(raw))
            .then(|| Attribute::from_raw(mlir_sys::mlirArrayAttrGetElement(raw, i as isize)))
    }
}

fn lookup<'c>(dictionary: Attribute<'c>, key: &str) -> Option<Attribute<'c>> {
    // SAFETY: the kind is checked first; a missing entry is null.
    unsafe {
        let raw = dictionary.to_raw();
        if !mlir_sys::mlirAttributeIsADictionary(raw) {
            return None;
        }
        let value = mlir_sys::mlirDictionaryAttrGetElementByName(raw, melior::StringRef::new(key).to_raw());
        (!value.ptr.is_null()).then(|| Attribute::from_raw(value))
    }
}

fn strings(list: Attribute<'_>) -> Vec<String> {
    (0..).map_while(|i| element(list, i)).map(|e| string_of(e).unwrap_or_default()).collect()
}
