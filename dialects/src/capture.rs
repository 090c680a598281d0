//! Values that an op's regions use from outside.

use crate::{
    ait::OpView,
    builder::{Builder, blocks_of, defining_op, operations_of, remap_operands, results_of},
    types::{Op, Val},
};
use melior::{
    Context,
    ir::{Operation, ValueLike, operation::OperationLike},
};

/// The values from outside that the op's regions use, in order of first use.
pub fn captured(op: Op<'_>) -> Vec<Val<'_>> {
    let mut found = Vec::new();
    for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
        for nested in operations_of(block) {
            visit(nested, &mut |used| {
                for value in OpView(used).operands() {
                    if !is_inside(value, op) && !found.contains(&value) {
                        found.push(value);
                    }
                }
            });
        }
    }
    found
}

fn visit<'c>(op: Op<'c>, each: &mut dyn FnMut(Op<'c>)) {
    each(op);
    for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
        operations_of(block).into_iter().for_each(|nested| visit(nested, each));
    }
}

/// Is the value defined in a region of `op`?
fn is_inside<'c>(value: Val<'c>, op: Op<'c>) -> bool {
    // SAFETY: walks the parents of a live block up to the module.
    unsafe {
        let raw = value.to_raw();
        let block = if mlir_sys::mlirValueIsAOpResult(raw) {
            mlir_sys::mlirOperationGetBlock(mlir_sys::mlirOpResultGetOwner(raw))
        } else {
            mlir_sys::mlirBlockArgumentGetOwner(raw)
        };
        let mut parent = mlir_sys::mlirBlockGetParentOperation(block);
        while !parent.ptr.is_null() {
            if parent.ptr == op.to_raw().ptr {
                return true;
            }
            parent = mlir_sys::mlirOperationGetParentOperation(parent);
        }
        false
    }
}

/// Upstream simplification moves constants out of regions that are not isolated: back in with them.
pub fn sink_constants<'c>(context: &'c Context, op: Op<'c>) {
    for value in captured(op) {
        let Some(constant) = defining_op(value).filter(|def| OpView(*def).name() == "arith.constant") else { continue };
        for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
            let Some(first) = operations_of(block).first().copied() else { continue };
            // SAFETY: cloning a live op; the block owns the clone.
            let clone = Builder::before(context, first)
                .insert(unsafe { Operation::from_raw(mlir_sys::mlirOperationClone(constant.to_raw())) });
            let inner = results_of(clone)[0];
            for nested in operations_of(block) {
                remap_operands(nested, &|v| if v == value { inner } else { v });
            }
        }
    }
}
