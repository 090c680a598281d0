//! Kernels for the host CPU.
//!
//! An outlined kernel is a private `func.func` with the attribute `ait.kernel`, on tensors and index scalars, that holds one `ait` compute op
//! and a return. Here it becomes a function over buffers with the same operands, then one buffer for each result, then two
//! indices `lo` and `hi`: the part of the kernel's parallel range that the call is to do. Each op has a row in [`KERNELS`]: how long its
//! parallel range is, and the code of its body. Buffers have any strides unless their types say otherwise.

mod argreduce;
mod attention;
pub(crate) mod broadcast;
mod broadcast_bias;
mod cast;
mod col2im;
pub(crate) mod conv;
pub(crate) mod copy;
mod deform_conv;
mod dft;
pub(crate) mod domain;
mod dot;
mod ext;
mod flat;
mod gather;
mod gemm;
mod gemm_groups;
mod grid_sample;
mod jagged;
pub(crate) mod map;
pub mod math;
mod nms;
mod nonzero;
pub(crate) mod norm;
mod pad;
pub(crate) mod pool;
mod product;
mod random;
pub(crate) mod reduce;
mod resize;
mod rnn;
mod roi_align;
pub mod runtime;
pub(crate) mod scalar;
mod scan;
mod scatter;
mod scratch;
mod softmax;
mod sort;
mod strips;
pub mod target;
mod tiling;
mod topk;
mod unique;
mod vector;
pub(crate) mod view;

use aitmlir_dialects::{
    ait::{OpView, schema},
    builder::{Builder, block_arguments, block_of, blocks_of, operations_of, remap_operands},
    diagnostics::emit_op_error,
    pass::{Failed, PassContext, PassDecl},
    types::{Op, TypeExt, Val, memref_type},
};
use melior::{
    Context,
    ir::{
        BlockLike, Region, Type, ValueLike,
        attribute::{StringAttribute, TypeAttribute},
        operation::OperationLike,
        r#type::FunctionType,
    },
};

/// Why a kernel can't be lowered: what is missing, for the user of the op.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

/// How an op becomes a kernel.
pub struct KernelRow {
    /// "ait.gemm"
    pub op: &'static str,
    /// Emits the length of the parallel range from the buffers' dimensions; called where the host program launches the kernel.
    pub extent: for<'c> fn(&Kernel<'c>) -> Val<'c>,
    /// Emits the code for [lo, hi) of that range.
    pub body: for<'c> fn(&Kernel<'c>, lo: Val<'c>, hi: Val<'c>) -> Result<(), Unsupported>,
}

/// Every op that has a kernel, sorted by name.
pub static KERNELS: &[&KernelRow] = &[
    &argreduce::ROW,
    &attention::ROW,
    &attention::B2B,
    &cast::ROW,
    &col2im::ROW,
    &copy::CONCAT,
    &conv::ROW,
    &deform_conv::ROW,
    &dft::ROW,
    &broadcast::EXPAND,
    &gather::ROW,
    &gemm::ROW,
    &grid_sample::ROW,
    &jagged::TO_PADDED,
    &map::ROW,
    &nms::ROW,
    &nonzero::ROW,
    &norm::ROW,
    &pad::ROW,
    &pool::ROW,
    &copy::RESHAPE,
    &jagged::TO_JAGGED,
    &random::ROW,
    &reduce::ROW,
    &resize::ROW,
    &rnn::ROW,
    &roi_align::ROW,
    &scan::ROW,
    &scatter::ROW,
    &copy::SLICE,
    &softmax::ROW,
    &copy::SPLIT,
    &topk::ROW,
    &copy::TRANSPOSE,
    &unique::ROW,
    &broadcast::WHERE,
];

/// The row of an op.
pub fn row(op: &str) -> Option<&'static KernelRow> {
    KERNELS.iter().copied().find(|row| row.op == op)
}

/// What the code of a kernel is made from: the op on tensors, and the buffers and scalars that stand for its operands and results.
#[derive(Clone)]
pub struct Kernel<'c> {
    /// Where code goes.
    pub b: Builder<'c>,
    /// The op: its attributes, regions and tensor types (with the signedness that buffers lack).
    pub op: OpView<'c>,
    /// For each operand of the op its buffer (signless elements) or its scalar.
    pub operands: Vec<Val<'c>>,
    /// For each result of the op its buffer.
    pub outs: Vec<Val<'c>>,
    /// The module, for functions that kernels share.
    pub module: Op<'c>,
}

impl<'c> Kernel<'c> {
    /// The same kernel with code going elsewhere.
    pub fn at(&self, b: Builder<'c>) -> Self {
        Self { b, ..self.clone() }
    }

    /// The buffers or scalars of an operand group, by its ODS name.
    pub fn group(&self, name: &str) -> Vec<Val<'c>> {
        let all = self.op.operands();
        let group = self.op.group(name);
        let start = schema::operand_groups(&self.op.name())
            .into_iter()
            .flatten()
            .take_while(|g| g.name != name)
            .map(|g| self.op.group(g.name).len())
            .sum::<usize>();
        debug_assert!(start + group.len() <= all.len());
        self.operands[start..start + group.len()].to_vec()
    }

    /// The only operand of a group.
    pub fn operand(&self, name: &str) -> Val<'c> {
        self.group(name)[0]
    }

    /// The tensor type of an operand group's first operand: its element type still says whether it is unsigned.
    pub fn tensor_type(&self, name: &str) -> Type<'c> {
        self.op.group(name)[0].r#type()
    }

    /// The tensor type of result `i`.
    pub fn result_type(&self, i: usize) -> Type<'c> {
        self.op.results()[i].r#type()
    }

    /// A function that several kernels of the module share; `make` fills its body the first time the name is asked for.
    pub fn shared_function(
        &self,
        name: &str,
        arguments: &[Type<'c>],
        results: &[Type<'c>],
        make: impl FnOnce(Builder<'c>, &[Val<'c>]),
    ) {
        let Some(body) = block_of(self.module, 0) else { return };
        if operations_of(body).into_iter().any(|op| OpView(op).string("sym_name").as_deref() == Some(name)) {
            return;
        }
        let context = self.b.context();
        let b = Builder::at_start(context, body, self.b.location());
        let region = b.region(arguments, |b, args| make(b, args));
        function(b, name, arguments, results, region);
    }

    /// Calls a function of the module.
    pub fn call(&self, name: &str, arguments: &[Val<'c>], results: &[Type<'c>]) -> Vec<Val<'c>> {
        let callee = melior::ir::attribute::FlatSymbolRefAttribute::new(self.b.context(), name).into();
        aitmlir_dialects::builder::results_of(self.b.op("func.call", arguments, results, &[("callee", callee)], vec![]))
    }
}

/// Inserts a private function; the region has the arguments and ends in a return.
pub fn function<'c>(
    b: Builder<'c>,
    name: &str,
    arguments: &[Type<'c>],
    results: &[Type<'c>],
    region: Region<'c>,
) -> Op<'c> {
    let context = b.context();
    let r#type = FunctionType::new(context, arguments, results);
    let attributes = [
        ("sym_name", StringAttribute::new(context, name).into()),
        ("sym_visibility", StringAttribute::new(context, "private").into()),
        ("function_type", TypeAttribute::new(r#type.into()).into()),
    ];
    b.op("func.func", &[], &[], &attributes, vec![region])
}

/// The buffer type that stands for a tensor where nothing else is known: row-major, signless.
pub fn buffer_type(tensor: Type<'_>) -> Type<'_> {
    memref_type(&tensor.shape(), tensor.element_type().signless())
}

/// The compute op of a kernel function on tensors: the first of its block.
pub fn kernel_op<'c>(kernel: Op<'c>) -> Option<OpView<'c>> {
    operations_of(block_of(kernel, 0)?)
        .into_iter()
        .map(OpView)
        .find(|op| schema::schema(&op.name()).is_some_and(|s| s.compute))
}

/// Emits the function `name` that does the work of the tensor kernel `kernel` on buffers and scalars of types `arguments` (operands of the kernel function, then one buffer for each
/// result). The kernel function's arguments are exactly its op's operands, in order.
pub fn lower_kernel<'c>(
    context: &'c Context,
    module: Op<'c>,
    kernel: Op<'c>,
    name: &str,
    arguments: &[Type<'c>],
) -> Result<Op<'c>, Failed> {
    let fail = |message: &str| {
        emit_op_error(kernel, message);
        Failed
    };
    let op = kernel_op(kernel).ok_or_else(|| fail("holds no ait compute op"))?;
    let row = row(&op.name()).ok_or_else(|| {
        emit_op_error(op.0, "has no kernel for the cpu target");
        Failed
    })?;
    aitmlir_dialects::capture::sink_constants(context, op.0);
    let index = aitmlir_dialects::types::Types::index_type(context);
    let types: Vec<_> = arguments.iter().copied().chain([index, index]).collect();
    let b = Builder::before(context, kernel).with_location(aitmlir_dialects::diagnostics::location_of(op.0));
    let mut status = Ok(());
    let region = b.region(&types, |b, args| {
        let (values, range) = args.split_at(args.len() - 2);
        status = with_values(kernel, op, module, b, values, |k| (row.body)(k, range[0], range[1]));
        b.op("func.return", &[], &[], &[], vec![]);
    });
    let lowered = function(b, name, &types, &[], region);
    status.map_err(|error| {
        emit_op_error(op.0, &error.to_string());
        Failed
    })?;
    Ok(lowered)
}

/// Emits the body of a kernel on `values`: what stands for the arguments of the kernel function on tensors, then a buffer for
/// each result of its op.
pub fn with_values<'c, T>(
    kernel: Op<'c>,
    op: OpView<'c>,
    module: Op<'c>,
    b: Builder<'c>,
    values: &[Val<'c>],
    emit: impl FnOnce(&Kernel<'c>) -> T,
) -> T {
    let count = op.operands().len();
    let operands = values[..count].to_vec();
    let outs = values[values.len() - op.results().len()..].to_vec();
    // Scalars that the op's regions use from outside are the kernel's arguments behind the operands. For as long as the body is emitted the
    // regions use the new function's.
    let captured: Vec<_> =
        block_of(kernel, 0).map(block_arguments).unwrap_or_default().into_iter().skip(count).collect();
    let own = &values[count..count + captured.len()];
    captured.iter().zip(own).for_each(|(outer, inner)| rename_in_regions(op.0, *outer, *inner));
    let result = emit(&Kernel { b, op, operands, outs, module });
    captured.iter().zip(own).for_each(|(outer, inner)| rename_in_regions(op.0, *inner, *outer));
    result
}

/// Replaces a value in the regions of an op.
fn rename_in_regions<'c>(op: Op<'c>, from: Val<'c>, to: Val<'c>) {
    for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
        for nested in operations_of(block) {
            remap_operands(nested, &|v| if v == from { to } else { v });
        }
    }
}

/// Lowers every kernel function of a module on row-major buffers.
pub static LOWER_KERNELS: PassDecl = PassDecl {
    name: "ait-lower-kernels-cpu",
    anchor: "builtin.module",
    summary: "Turn outlined kernels on tensors into CPU loops over row-major buffers",
    description: "Every function with the attribute `ait.kernel` is replaced by a function of the same name over buffers: its \
        operands, one buffer for each result, and the part `[lo, hi)` of its parallel range. Used to look at and test single \
        kernels; the compiler lowers a kernel for the buffer layouts of its launches.",
    options: &[],
    run: lower_kernels,
};

fn lower_kernels<'c>(pass: &PassContext<'c>) -> Result<(), Failed> {
    // The compiler's context has these loaded; the developer tools load a dialect when it is first parsed.
    for dialect in ["func", "llvm", "math", "memref", "scf", "vector"] {
        pass.context.get_or_load_dialect(dialect);
    }
    let Some(body) = block_of(pass.op, 0) else { return Ok(()) };
    for kernel in operations_of(body) {
        let view = OpView(kernel);
        if view.name() != "func.func" || !view.has("ait.kernel") {
            continue;
        }
        let name = view.string("sym_name").unwrap_or_default();
        let Some(block) = block_of(kernel, 0) else { continue };
        let mut arguments: Vec<_> = (0..block.argument_count())
            .filter_map(|i| block.argument(i).ok())
            .map(|a| if a.r#type().is_tensor() { buffer_type(a.r#type()) } else { a.r#type() })
            .collect();
        if let Some(op) = kernel_op(kernel) {
            arguments.extend(op.results().iter().map(|r| buffer_type(r.r#type())));
        }
        lower_kernel(pass.context, pass.op, kernel, &name, &arguments)?;
        aitmlir_dialects::builder::erase(kernel);
    }
    Ok(())
}
