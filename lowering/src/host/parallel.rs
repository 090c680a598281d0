//! Kernel launches as tasks of the runtime's threads.
//!
//! In the llvm dialect a launch is a call `kernel(args..., lo, hi)` with the attribute `ait.parallel`. It becomes
//! `aitmlir_rt_parallel(task, env, hi)`: `env` is a struct on the stack that holds `args`, and `task(env, lo, hi)` a generated function that calls the kernel with
//! them. One task function serves all launches of a kernel.

use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, block_of, blocks_of, defining_op, erase, operations_of},
    types::{Blk, Op, Types, Val},
};
use melior::{
    Context,
    ir::{
        Attribute, Location, Type, ValueLike,
        attribute::{FlatSymbolRefAttribute, StringAttribute, TypeAttribute},
    },
};
use std::collections::HashSet;

const RUNTIME: &str = "aitmlir_rt_parallel";

/// Rewrites every launch of a module in the llvm dialect.
pub fn rewrite_launches<'c>(context: &'c Context, module: Op<'c>) {
    let Some(body) = block_of(module, 0) else { return };
    let mut rewriter = Rewriter { context, body, tasks: HashSet::new() };
    for function in operations_of(body) {
        if OpView(function).name() == "llvm.func" {
            let blocks = blocks_of(function, 0);
            if let Some(entry) = blocks.first().copied() {
                blocks.into_iter().for_each(|block| rewriter.block(entry, block));
            }
        }
    }
}

struct Rewriter<'c> {
    context: &'c Context,
    body: Blk<'c>,
    tasks: HashSet<String>,
}

impl<'c> Rewriter<'c> {
    fn block(&mut self, entry: Blk<'c>, block: Blk<'c>) {
        for op in operations_of(block) {
            if OpView(op).name() == "llvm.call" && OpView(op).has("ait.parallel") && !is_serial(op) {
                self.launch(entry, op);
            }
        }
    }

    fn launch(&mut self, entry: Blk<'c>, call: Op<'c>) {
        let view = OpView(call);
        let kernel = view.attr("callee").map(|a| a.to_string()).unwrap_or_default().trim_start_matches('@').to_owned();
        let operands = view.operands();
        let (arguments, range) = operands.split_at(operands.len() - 2);
        let env_type = struct_type(self.context, arguments);
        let task = format!("{kernel}_task");
        if self.tasks.insert(task.clone()) {
            self.task(&task, &kernel, arguments, env_type);
        }
        let Some(first) = operations_of(entry).first().copied() else { return };
        let start = Builder::before(self.context, first);
        let one = constant(start, 1);
        let env = start.op1(
            "llvm.alloca",
            &[one],
            pointer(self.context),
            &[("elem_type", TypeAttribute::new(env_type).into())],
        );
        let b = Builder::before(self.context, call);
        for (i, argument) in arguments.iter().enumerate() {
            let slot = field(b, env, env_type, i);
            b.op("llvm.store", &[*argument, slot], &[], &[], vec![]);
        }
        let address =
            b.op1("llvm.mlir.addressof", &[], pointer(self.context), &[("global_name", symbol(self.context, &task))]);
        call_void(b, RUNTIME, &[address, env, range[1]]);
        erase(call);
    }

    /// `task(env, lo, hi)`: loads the arguments and calls the kernel.
    fn task(&mut self, name: &str, kernel: &str, arguments: &[Val<'c>], env_type: Type<'c>) {
        let (ptr, i64_type) = (pointer(self.context), self.context.int_type(64));
        let b = Builder::at_end(self.context, self.body, Location::unknown(self.context));
        if self.tasks.len() == 1 {
            function(b, RUNTIME, "(ptr, ptr, i64)", None);
        }
        let types: Vec<_> = arguments.iter().map(|a| a.r#type()).collect();
        let region = b.region(&[ptr, i64_type, i64_type], |b, args| {
            let mut operands: Vec<_> = types
                .iter()
                .enumerate()
                .map(|(i, r#type)| {
                    let slot = field(b, args[0], env_type, i);
                    b.op1("llvm.load", &[slot], *r#type, &[])
                })
                .collect();
            operands.extend([args[1], args[2]]);
            call_void(b, kernel, &operands);
            b.op("llvm.return", &[], &[], &[], vec![]);
        });
        function(b, name, "(ptr, i64, i64)", Some(region));
    }
}

/// A range of at most one step is called directly.
fn is_serial(call: Op<'_>) -> bool {
    let Some(extent) = OpView(call).operands().last().copied() else { return true };
    defining_op(extent)
        .map(OpView)
        .is_some_and(|op| op.name() == "llvm.mlir.constant" && op.i64("value").is_some_and(|v| v <= 1))
}

fn pointer(context: &Context) -> Type<'_> {
    melior::dialect::llvm::r#type::pointer(context, 0)
}

fn constant<'c>(b: Builder<'c>, value: i64) -> Val<'c> {
    b.op1("llvm.mlir.constant", &[], b.context().int_type(64), &[("value", b.i64_attr(value))])
}

fn symbol<'c>(context: &'c Context, name: &str) -> Attribute<'c> {
    FlatSymbolRefAttribute::new(context, name).into()
}

fn struct_type<'c>(context: &'c Context, fields: &[Val<'c>]) -> Type<'c> {
    let types: Vec<_> = fields.iter().map(|f| f.r#type()).collect();
    melior::dialect::llvm::r#type::r#struct(context, &types, false)
}

/// The address of field `i` of a struct.
fn field<'c>(b: Builder<'c>, base: Val<'c>, r#struct: Type<'c>, i: usize) -> Val<'c> {
    let attributes =
        [("rawConstantIndices", b.i32s_attr(&[0, i as i32])), ("elem_type", TypeAttribute::new(r#struct).into())];
    b.op1("llvm.getelementptr", &[base], pointer(b.context()), &attributes)
}

fn call_void<'c>(b: Builder<'c>, callee: &str, arguments: &[Val<'c>]) {
    let attributes = [
        ("callee", symbol(b.context(), callee)),
        ("operandSegmentSizes", b.i32s_attr(&[arguments.len() as i32, 0])),
        ("op_bundle_sizes", b.i32s_attr(&[])),
    ];
    b.op("llvm.call", arguments, &[], &attributes, vec![]);
}

/// Declares or defines `void name(parameters)`.
fn function<'c>(b: Builder<'c>, name: &str, parameters: &str, body: Option<melior::ir::Region<'c>>) {
    let context = b.context();
    let r#type = b.parse_type(&format!("!llvm.func<void {parameters}>"));
    let attributes = [
        ("sym_name", StringAttribute::new(context, name).into()),
        ("function_type", TypeAttribute::new(r#type).into()),
    ];
    b.op("llvm.func", &[], &[], &attributes, vec![body.unwrap_or_default()]);
}
