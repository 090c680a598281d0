//! `ait-outline-kernels`: see [`OUTLINE_KERNELS`].
//!
//! Phases: (1) values that leave a region as they came in get a copy, so that every yielded or returned buffer has a producer of its
//! own; (2) each compute op that is not a view moves into a kernel function, equal kernels sharing one.

use aitmlir_dialects::{
    ait::{OpView, dims::result_dim, schema},
    builder::{
        Builder, block_of, blocks_of, defining_op, erase, operations_of, remap_operands, replace_uses, results_of,
        set_attribute, users_of,
    },
    capture::{captured, sink_constants},
    diagnostics::emit_op_error,
    pass::{Failed, PassContext, PassDecl},
    types::{Blk, Op, TypeExt, Val},
};
use melior::ir::{
    Operation, Type, ValueLike,
    attribute::{FlatSymbolRefAttribute, StringAttribute, TypeAttribute},
    operation::OperationLike,
    r#type::FunctionType,
};
use std::collections::HashMap;

/// The declaration of the pass.
pub static OUTLINE_KERNELS: PassDecl = PassDecl {
    name: "ait-outline-kernels",
    anchor: "builtin.module",
    summary: "Move each compute op into a kernel function and launch it",
    description: "Every `ait` compute op of a public function, other than those that only view their operand (`ait.reshape`, unit-stride \
        `ait.slice` read by kernels alone), moves into a private function with the attribute `ait.kernel`; equal kernels share one. In its place stands `ait.launch`, \
        with one `dims` index for each dynamic dimension of its results.\n\n\
        ```mlir\n%1 = ait.softmax softmax %0 axis 1 : tensor<?x8xf32> -> tensor<?x8xf32>\n```\nbecomes\n\
        ```mlir\n%1 = ait.launch @k0_softmax(%0 : tensor<?x8xf32>) dims(%d) -> tensor<?x8xf32>\n```",
    options: &[],
    run,
};

fn run<'c>(pass: &PassContext<'c>) -> Result<(), Failed> {
    let Some(module) = block_of(pass.op, 0) else { return Ok(()) };
    let mut outliner = Outliner { pass, module, kernels: HashMap::new(), count: 0 };
    for function in operations_of(module) {
        let view = OpView(function);
        if view.name() != "func.func" || view.has("ait.kernel") {
            continue;
        }
        for block in blocks_of(function, 0) {
            copy_passed_values(pass, block);
            outliner.block(block)?;
        }
    }
    Ok(())
}

/// Is the op a compute op of the dialect?
pub fn is_compute(op: Op<'_>) -> bool {
    schema::schema(&OpView(op).name()).is_some_and(|s| s.compute)
}

/// Does the op only view its operand's buffer? A strided view is one only where kernels alone read it.
pub fn is_view(op: Op<'_>) -> bool {
    let view = OpView(op);
    match view.name().as_str() {
        "ait.reshape" => true,
        "ait.slice" => {
            view.i64s("static_strides").iter().all(|s| *s == 1)
                && view.results().iter().flat_map(|r| users_of(*r)).all(|user| is_compute(user) && !is_view(user))
        }
        _ => false,
    }
}

/// Phase 1: a returned or yielded tensor must be the result of a kernel in the same block, and leave once.
fn copy_passed_values<'c>(pass: &PassContext<'c>, block: Blk<'c>) {
    for op in operations_of(block) {
        for region in 0..op.region_count() {
            if !is_compute(op) {
                blocks_of(op, region).into_iter().for_each(|nested| copy_passed_values(pass, nested));
            }
        }
        if !matches!(OpView(op).name().as_str(), "func.return" | "scf.yield" | "scf.condition") {
            continue;
        }
        let mut seen: Vec<Val<'c>> = Vec::new();
        for (i, value) in OpView(op).operands().into_iter().enumerate() {
            if !value.r#type().is_tensor() {
                continue;
            }
            let produced_here = defining_op(value).is_some_and(|def| {
                is_compute(def) && !is_view(def) && Builder::before(pass.context, def).block() == block
            });
            if produced_here && !seen.contains(&value) {
                seen.push(value);
                continue;
            }
            let b = Builder::before(pass.context, op);
            let dims: Vec<_> = (0..value.r#type().shape().len())
                .filter(|d| value.r#type().shape()[*d] < 0)
                .map(|d| b.dim(value, d))
                .collect();
            let copy = b.ait("ait.expand", &[&[value], &dims], &[value.r#type()], &[], vec![])[0];
            // SAFETY: the operand index is that of the loop over the op's operands.
            unsafe { mlir_sys::mlirOperationSetOperand(op.to_raw(), i as isize, copy.to_raw()) };
        }
    }
}

struct Outliner<'p, 'c> {
    pass: &'p PassContext<'c>,
    module: Blk<'c>,
    /// The text of a kernel (without its name) to its name.
    kernels: HashMap<String, String>,
    count: usize,
}

impl<'c> Outliner<'_, 'c> {
    fn block(&mut self, block: Blk<'c>) -> Result<(), Failed> {
        for op in operations_of(block) {
            if is_compute(op) {
                if !is_view(op) {
                    self.outline(op)?;
                }
                continue;
            }
            for region in 0..op.region_count() {
                for nested in blocks_of(op, region) {
                    self.block(nested)?;
                }
            }
        }
        Ok(())
    }

    /// Phase 2 for one op.
    fn outline(&mut self, op: Op<'c>) -> Result<(), Failed> {
        let view = OpView(op);
        let b = Builder::before(self.pass.context, op);
        let mut dims = Vec::new();
        for (i, result) in view.results().into_iter().enumerate() {
            for (d, size) in result.r#type().shape().into_iter().enumerate() {
                if size < 0 {
                    dims.push(result_dim(b, view, i, d).ok_or_else(|| {
                        emit_op_error(op, &format!("dimension {d} of result {i} does not follow from its operands"));
                        Failed
                    })?);
                }
            }
        }
        let callee = self.kernel(op);
        let types: Vec<_> = view.results().iter().map(|r| r.r#type()).collect();
        let callee = FlatSymbolRefAttribute::new(self.pass.context, &callee).into();
        let inputs: Vec<_> = view.operands().into_iter().chain(captured(op)).collect();
        let launched = b.ait("ait.launch", &[&inputs, &dims, &[]], &types, &[("callee", callee)], vec![]);
        for (old, new) in view.results().into_iter().zip(launched) {
            replace_uses(old, new);
        }
        erase(op);
        Ok(())
    }

    /// The name of the kernel function that holds the op; made where no equal one exists.
    fn kernel(&mut self, op: Op<'c>) -> String {
        let view = OpView(op);
        let context = self.pass.context;
        sink_constants(self.pass.context, op);
        let captured = captured(op);
        let operands = view.operands().len();
        let arguments: Vec<Type<'c>> = view.operands().iter().chain(&captured).map(|v| v.r#type()).collect();
        let results: Vec<Type<'c>> = view.results().iter().map(|v| v.r#type()).collect();
        let name = format!("k{}_{}", self.count, view.name().trim_start_matches("ait."));
        let b = Builder::at_end(context, self.module, aitmlir_dialects::diagnostics::location_of(op));
        let region = b.region(&arguments, |b, args| {
            // SAFETY: cloning a live op; the block owns the clone.
            let clone = b.insert(unsafe { Operation::from_raw(mlir_sys::mlirOperationClone(op.to_raw())) });
            remap_operands(clone, &|value| match captured.iter().position(|c| *c == value) {
                Some(i) => args[operands + i],
                None => value,
            });
            for (i, argument) in args[..operands].iter().enumerate() {
                // SAFETY: one block argument for each operand.
                unsafe { mlir_sys::mlirOperationSetOperand(clone.to_raw(), i as isize, argument.to_raw()) };
            }
            b.op("func.return", &results_of(clone), &[], &[], vec![]);
        });
        let r#type = FunctionType::new(context, &arguments, &results);
        let function = b.op(
            "func.func",
            &[],
            &[],
            &[
                ("sym_name", StringAttribute::new(context, "kernel").into()),
                ("sym_visibility", StringAttribute::new(context, "private").into()),
                ("function_type", TypeAttribute::new(r#type.into()).into()),
                ("ait.kernel", b.unit_attr()),
            ],
            vec![region],
        );
        let text = function.to_string();
        if let Some(existing) = self.kernels.get(&text) {
            erase(function);
            return existing.clone();
        }
        set_attribute(function, "sym_name", b.str_attr(&name));
        self.count += 1;
        self.kernels.insert(text, name.clone());
        name
    }
}
