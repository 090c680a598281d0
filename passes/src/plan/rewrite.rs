//! Turns the tensors of a function into buffers, in place.

use super::{
    arena::{self, Arena},
    concat::{self, Concat, Kernels, callee},
    entry::{Entry, stated_dims},
    lifetime::{Home, Lifetimes, key},
};
use aitmlir_dialects::{
    ait::OpView,
    builder::{
        Builder, block_arguments, block_of, blocks_of, erase, operands_of, operations_of, replace_uses, result_of,
        set_attribute,
    },
    diagnostics::emit_op_error,
    pass::{Failed, PassContext},
    types::{Blk, DYNAMIC, Op, TypeExt, Types, Val, memref_type, strided_memref_type},
};
use melior::{
    Context,
    ir::{
        Attribute, AttributeLike, Type, TypeLike, ValueLike,
        attribute::{FlatSymbolRefAttribute, StringAttribute, TypeAttribute},
        operation::OperationLike,
        r#type::FunctionType,
    },
};
use std::collections::HashMap;

/// Rewrites one function whose lifetimes are known.
pub fn rewrite<'c>(
    pass: &PassContext<'c>,
    function: Op<'c>,
    mut lifetimes: Lifetimes<'c>,
    kernels: &mut Kernels<'c>,
) -> Result<(), Failed> {
    let Some(entry) = block_of(function, 0) else { return Ok(()) };
    let Some(first) = operations_of(entry).first().copied() else { return Ok(()) };
    let mut at_entry = Entry::of(function, Builder::before(pass.context, first));
    // An entry is about arguments that are tensors, but its code reads the buffers that they become.
    let arguments = block_arguments(entry);
    arguments.iter().for_each(|a| retyped(*a));
    let arena = arena::plan(function, &mut lifetimes, &mut at_entry, kernels);
    let mut rewriter = Rewriter {
        context: pass.context,
        module: pass.op,
        kernels,
        entry: at_entry,
        lifetimes,
        arena,
        buffers: HashMap::new(),
        dead: Vec::new(),
        globals: 0,
        fold: OpView(function).strings("ait.fold"),
    };
    rewriter.buffers.extend(arguments.iter().filter(|a| a.r#type().is_buffer()).map(|a| (key(*a), *a)));
    rewriter.block(entry)?;
    for op in std::mem::take(&mut rewriter.dead).into_iter().rev() {
        erase(op);
    }
    let types: Vec<_> = block_arguments(entry).iter().map(|a| a.r#type()).collect();
    let r#type = FunctionType::new(pass.context, &types, &[]);
    set_attribute(function, "function_type", TypeAttribute::new(r#type.into()).into());
    // The function has no results left that attributes could describe.
    if let Some(results) = OpView(function).attr("res_attrs") {
        set_attribute(function, "ait.results", results);
        // SAFETY: a live op.
        unsafe {
            mlir_sys::mlirOperationRemoveAttributeByName(
                function.to_raw(),
                melior::StringRef::new("res_attrs").to_raw(),
            );
        }
    }
    Ok(())
}

struct Rewriter<'k, 'c> {
    context: &'c Context,
    module: Op<'c>,
    kernels: &'k mut Kernels<'c>,
    entry: Entry<'c>,
    lifetimes: Lifetimes<'c>,
    arena: Arena<'c>,
    /// Tensor value to buffer.
    buffers: HashMap<*const std::ffi::c_void, Val<'c>>,
    dead: Vec<Op<'c>>,
    globals: usize,
    /// The names of the derived constants that the results are, in a fold program.
    fold: Vec<String>,
}

/// The row-major buffer type of a tensor type.
fn buffer_type(tensor: Type<'_>) -> Type<'_> {
    memref_type(&tensor.shape(), tensor.element_type().signless())
}

/// A tensor becomes its buffer by its type alone.
fn retyped(value: Val<'_>) {
    if value.r#type().is_tensor() {
        value.set_type(buffer_type(value.r#type()));
    }
}

impl<'c> Rewriter<'_, 'c> {
    /// A block argument or region result becomes a buffer by its type alone.
    fn retype(&mut self, value: Val<'c>) {
        if value.r#type().is_tensor() {
            retyped(value);
            self.buffers.insert(key(value), value);
        }
    }

    // ---- rewriting

    fn block(&mut self, block: Blk<'c>) -> Result<(), Failed> {
        for op in operations_of(block) {
            self.op(op)?;
        }
        Ok(())
    }

    fn buffer(&self, op: Op<'c>, value: Val<'c>) -> Result<Val<'c>, Failed> {
        self.buffers.get(&key(value)).copied().ok_or_else(|| {
            emit_op_error(op, &format!("reads a tensor that has no buffer: {}", value));
            Failed
        })
    }

    /// Replaces tensor operands by their buffers.
    fn rewire(&self, op: Op<'c>) -> Result<(), Failed> {
        for (i, operand) in operands_of(op).into_iter().enumerate() {
            if operand.r#type().is_tensor() {
                let buffer = self.buffer(op, operand)?;
                // SAFETY: the index is below the operand count.
                unsafe { mlir_sys::mlirOperationSetOperand(op.to_raw(), i as isize, buffer.to_raw()) };
            }
        }
        Ok(())
    }

    fn op(&mut self, op: Op<'c>) -> Result<(), Failed> {
        let view = OpView(op);
        let name = view.name();
        let b = Builder::before(self.context, op);
        match name.as_str() {
            "ait.launch" => return self.launch(op, b),
            "ait.constant" | "arith.constant" if view.results()[0].r#type().is_tensor() => return self.constant(op, b),
            "ait.reshape" => {
                let source = self.buffer(op, view.operands()[0])?;
                let operands: Vec<_> = std::iter::once(source).chain(view.group("dims")).collect();
                let target = buffer_type(view.results()[0].r#type());
                let reshaped = b.op1("ait.buffer.reshape", &operands, target, &[]);
                self.replaced(op, reshaped);
            }
            "ait.slice" => {
                let source = self.buffer(op, view.operands()[0])?;
                let slice = subview(b, view, source);
                self.replaced(op, slice);
            }
            "tensor.cast" => {
                let source = self.buffer(op, view.operands()[0])?;
                let cast = b.op1("memref.cast", &[source], buffer_type(view.results()[0].r#type()), &[]);
                self.replaced(op, cast);
            }
            "tensor.dim" => {
                let source = self.buffer(op, view.operands()[0])?;
                let dim = b.op1("memref.dim", &[source, view.operands()[1]], self.context.index_type(), &[]);
                replace_uses(view.results()[0], dim);
                self.dead.push(op);
            }
            "tensor.extract" => {
                let source = self.buffer(op, view.operands()[0])?;
                let element = b.load(source, &view.operands()[1..]);
                replace_uses(view.results()[0], element);
                self.dead.push(op);
            }
            "tensor.from_elements" => self.assemble(op, b),
            "scf.if" | "scf.index_switch" | "scf.for" | "scf.while" => return self.region_op(op),
            "scf.yield" | "scf.condition" => self.rewire(op)?,
            // Simplification makes it of a branch that only chooses: the buffers are chosen instead.
            "arith.select" if view.results()[0].r#type().is_tensor() => {
                self.rewire(op)?;
                self.retype(view.results()[0]);
            }
            "func.return" => {
                b.op("func.return", &[], &[], &[], vec![]);
                self.dead.push(op);
            }
            _ if view.operands().iter().chain(&view.results()).any(|v| v.r#type().is_tensor()) => {
                emit_op_error(op, "has no form on buffers: outline it into a kernel first");
                return Err(Failed);
            }
            _ => {}
        }
        Ok(())
    }

    fn replaced(&mut self, op: Op<'c>, buffer: Val<'c>) {
        self.buffers.insert(key(result_of(op, 0)), buffer);
        self.dead.push(op);
    }

    /// The buffer of a root, made before the op that fills it.
    fn root_buffer(&self, b: Builder<'c>, value: Val<'c>, dims: &[Val<'c>]) -> Val<'c> {
        let r#type = buffer_type(value.r#type());
        let root = self.lifetimes.root_of(value);
        match root.map(|root| self.lifetimes.roots[root].home) {
            Some(Home::Output(i)) if i < self.fold.len() => {
                b.op1("ait.buffer.constant", &[], r#type, &[("name", b.str_attr(&self.fold[i]))])
            }
            Some(Home::Output(i)) => b.op1("ait.buffer.output", dims, r#type, &[("index", b.i64_attr(i as i64))]),
            Some(Home::Arena) => match root.and_then(|root| self.arena.places.get(&root)) {
                Some((arena, offset)) => {
                    let operands: Vec<_> = [*arena, *offset].into_iter().chain(dims.iter().copied()).collect();
                    b.op1("memref.view", &operands, r#type, &[])
                }
                None => b.op1("ait.buffer.alloc", dims, r#type, &[]),
            },
            _ => b.op1("ait.buffer.alloc", dims, r#type, &[]),
        }
    }

    fn launch(&mut self, op: Op<'c>, b: Builder<'c>) -> Result<(), Failed> {
        let view = OpView(op);
        if let Some(i) = self.arena.concats.iter().position(|concat| concat.launch == op) {
            return self.concat(op, b, i);
        }
        let mut outs = Vec::new();
        for result in view.results() {
            let dims = stated_dims(result).unwrap_or_default();
            let buffer = self.root_buffer(b, result, &dims);
            self.buffers.insert(key(result), buffer);
            outs.push(buffer);
        }
        let mut inputs = Vec::new();
        for input in view.group("inputs") {
            inputs.push(if input.r#type().is_tensor() { self.buffer(op, input)? } else { input });
        }
        let callee = FlatSymbolRefAttribute::new(self.context, &callee(view)).into();
        b.ait("ait.launch", &[&inputs, &[], &outs], &[], &[("callee", callee)], vec![]);
        self.dead.push(op);
        Ok(())
    }

    /// A concatenation, some operands of which are in place: the others are copied.
    fn concat(&mut self, op: Op<'c>, b: Builder<'c>, number: usize) -> Result<(), Failed> {
        let result = result_of(op, 0);
        let stated = stated_dims(result).unwrap_or_default();
        let whole = self.root_buffer(b, result, &stated);
        self.buffers.insert(key(result), whole);
        self.dead.push(op);
        let Concat { root, runs, .. } = &self.arena.concats[number];
        let place = self.arena.places.get(root).copied();
        for concat::Run { operands: run, before } in runs.clone() {
            let Some((arena, start)) = place else { return Err(Failed) };
            let axis = concat::axis_of(op, self.kernels);
            let operands = OpView(op).group("inputs");
            let operands = operands.get(run.clone()).ok_or(Failed)?;
            let types = concat::operand_types(op, self.kernels, &run).ok_or(Failed)?;
            let inputs = operands.iter().map(|v| self.buffer(op, *v)).collect::<Result<Vec<_>, _>>()?;
            let part = concat::run_type(result, &types, axis);
            let sizes = part.shape().into_iter().enumerate().filter(|(_, size)| *size < 0).map(|(d, _)| match d {
                d if d == axis => inputs.iter().map(|v| b.dim(*v, d)).reduce(|x, y| b.addi(x, y)),
                d => Some(b.dim(whole, d)),
            });
            let sizes: Vec<_> = sizes.flatten().collect();
            let offset = self.entry.behind(start, &before);
            let view: Vec<_> = [arena, offset].into_iter().chain(sizes).collect();
            let out = b.op1("memref.view", &view, buffer_type(part), &[]);
            let kernel = concat::run_kernel(self.module, self.kernels, op, &run, &types, part).ok_or(Failed)?;
            let callee = FlatSymbolRefAttribute::new(self.context, &kernel).into();
            b.ait("ait.launch", &[&inputs, &[], &[out]], &[], &[("callee", callee)], vec![]);
        }
        Ok(())
    }

    fn assemble(&mut self, op: Op<'c>, b: Builder<'c>) {
        let value = result_of(op, 0);
        let buffer = self.root_buffer(b, value, &[]);
        let shape = value.r#type().shape();
        for (i, element) in operands_of(op).into_iter().enumerate() {
            let mut rest = i as i64;
            let mut coordinates = vec![0; shape.len()];
            for (d, size) in shape.iter().enumerate().rev() {
                coordinates[d] = rest % size;
                rest /= size;
            }
            let coordinates: Vec<_> = coordinates.into_iter().map(|c| b.index(c)).collect();
            b.store(element, buffer, &coordinates);
        }
        self.replaced(op, buffer);
    }

    fn region_op(&mut self, op: Op<'c>) -> Result<(), Failed> {
        self.rewire(op)?;
        for region in 0..op.region_count() {
            for block in blocks_of(op, region) {
                for argument in block_arguments(block) {
                    self.retype(argument);
                }
                self.block(block)?;
            }
        }
        for result in OpView(op).results() {
            self.retype(result);
        }
        Ok(())
    }

    fn constant(&mut self, op: Op<'c>, b: Builder<'c>) -> Result<(), Failed> {
        let view = OpView(op);
        let r#type = buffer_type(view.results()[0].r#type());
        let Some(value) = view.attr("value") else { return Err(Failed) };
        // SAFETY: a question to a valid attribute.
        let buffer = if unsafe { aitmlir_dialects::ffi::aitmlirAttrIsWeights(value.to_raw()) } {
            let name = aitmlir_dialects::ait::view::weights_name(value).unwrap_or_default();
            b.op1("ait.buffer.constant", &[], r#type, &[("name", b.str_attr(&name))])
        } else {
            let name = self.global(value, r#type);
            let symbol = FlatSymbolRefAttribute::new(self.context, &name).into();
            b.op1("memref.get_global", &[], r#type, &[("name", symbol)])
        };
        self.replaced(op, buffer);
        Ok(())
    }

    /// A module-level constant that holds a dense attribute.
    fn global(&mut self, value: Attribute<'c>, r#type: Type<'c>) -> String {
        let prefix = if self.fold.is_empty() { "constant" } else { "fold_constant" };
        let name = format!("{prefix}_{}", self.globals);
        self.globals += 1;
        let Some(first) = block_of(self.module, 0).and_then(|block| operations_of(block).first().copied()) else {
            return name;
        };
        let b = Builder::before(self.context, first);
        let attributes = [
            ("sym_name", StringAttribute::new(self.context, &name).into()),
            ("sym_visibility", StringAttribute::new(self.context, "private").into()),
            ("type", TypeAttribute::new(r#type).into()),
            ("initial_value", signless_dense(value)),
            ("constant", b.unit_attr()),
        ];
        b.op("memref.global", &[], &[], &attributes, vec![]);
        name
    }
}

/// The same dense elements with a signless element type.
fn signless_dense(value: Attribute<'_>) -> Attribute<'_> {
    let r#type = value.r#type();
    if !r#type.element_type().is_unsigned_type() {
        return value;
    }
    let signless = aitmlir_dialects::types::tensor_type(&r#type.shape(), r#type.element_type().signless());
    // SAFETY: a dense elements attribute of integers of whole bytes: its raw data is its elements, or one for a splat.
    unsafe {
        let raw = value.to_raw();
        let count =
            if mlir_sys::mlirDenseElementsAttrIsSplat(raw) { 1 } else { mlir_sys::mlirElementsAttrGetNumElements(raw) };
        Attribute::from_raw(mlir_sys::mlirDenseElementsAttrRawBufferGet(
            signless.to_raw(),
            count as usize * r#type.element_type().bytes() as usize,
            mlir_sys::mlirDenseElementsAttrGetRawData(raw),
        ))
    }
}

/// `memref.subview` for a unit-stride slice.
fn subview<'c>(b: Builder<'c>, view: OpView<'c>, source: Val<'c>) -> Val<'c> {
    let (strides, offset) = strides_of(source.r#type());
    let offsets = view.i64s("static_offsets");
    let offset = offsets.iter().zip(&strides).try_fold(offset, |sum, (o, s)| {
        (*o != DYNAMIC && sum != DYNAMIC && (*s != DYNAMIC || *o == 0)).then(|| if *o == 0 { sum } else { sum + o * s })
    });
    let shape = view.results()[0].r#type().shape();
    let r#type = strided_memref_type(&shape, source.r#type().element_type(), &strides, offset.unwrap_or(DYNAMIC));
    let groups = [view.group("offsets"), view.group("sizes"), view.group("strides")];
    let segments: Vec<i32> = std::iter::once(1).chain(groups.iter().map(|g| g.len() as i32)).collect();
    let operands: Vec<_> = std::iter::once(source).chain(groups.into_iter().flatten()).collect();
    let attributes = [
        ("static_offsets", b.i64s_attr(&offsets)),
        ("static_sizes", b.i64s_attr(&view.i64s("static_sizes"))),
        ("static_strides", b.i64s_attr(&view.i64s("static_strides"))),
        ("operandSegmentSizes", b.i32s_attr(&segments)),
    ];
    b.op1("memref.subview", &operands, r#type, &attributes)
}

/// Strides and offset of a memref type in elements, [`DYNAMIC`] where unknown.
fn strides_of(r#type: Type<'_>) -> (Vec<i64>, i64) {
    let mut strides = vec![0; r#type.shape().len()];
    let mut offset = 0;
    // SAFETY: a memref type, and room for one stride a dimension.
    unsafe { mlir_sys::mlirMemRefTypeGetStridesAndOffset(r#type.to_raw(), strides.as_mut_ptr(), &raw mut offset) };
    (strides, offset)
}
