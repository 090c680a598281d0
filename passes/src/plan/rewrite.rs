//! Turns the tensors of a function into buffers, in place.

use super::{
    layout,
    lifetime::{Home, Lifetimes, key},
};
use aitmlir_dialects::{
    ait::OpView,
    builder::{
        Builder, block_arguments, block_of, blocks_of, defining_op, erase, operands_of, operations_of, replace_uses,
        result_of, set_attribute,
    },
    diagnostics::emit_op_error,
    pass::{Failed, PassContext},
    types::{Blk, DYNAMIC, Op, TypeExt, Types, Val, memref_type, strided_memref_type},
};
use melior::{
    Context,
    ir::{
        Attribute, AttributeLike, Operation, Type, TypeLike, ValueLike,
        attribute::{FlatSymbolRefAttribute, StringAttribute, TypeAttribute},
        operation::OperationLike,
        r#type::FunctionType,
    },
};
use std::collections::HashMap;

/// Rewrites one function whose lifetimes are known.
pub fn rewrite<'c>(pass: &PassContext<'c>, function: Op<'c>, lifetimes: Lifetimes<'c>) -> Result<(), Failed> {
    let Some(entry) = block_of(function, 0) else { return Ok(()) };
    let Some(first) = operations_of(entry).first().copied() else { return Ok(()) };
    let mut rewriter = Rewriter {
        context: pass.context,
        module: pass.op,
        entry: Builder::before(pass.context, first),
        lifetimes,
        places: HashMap::new(),
        hoisted: HashMap::new(),
        sizes: HashMap::new(),
        buffers: HashMap::new(),
        dead: Vec::new(),
        globals: 0,
        fold: OpView(function).strings("ait.fold"),
    };
    for argument in block_arguments(entry) {
        rewriter.retype(argument);
    }
    rewriter.plan(function);
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

/// Where an arena buffer starts: a byte offset known at the function's entry.
type Place<'c> = Val<'c>;

struct Rewriter<'c> {
    context: &'c Context,
    module: Op<'c>,
    entry: Builder<'c>,
    lifetimes: Lifetimes<'c>,
    /// Root number to its offset, and the arena.
    places: HashMap<usize, (Val<'c>, Place<'c>)>,
    /// Values recomputed at the function's entry.
    hoisted: HashMap<*const std::ffi::c_void, Option<Val<'c>>>,
    /// The bytes known at compile time and the dimensions to multiply them by, to the aligned size.
    sizes: HashMap<(i64, Vec<*const std::ffi::c_void>), Val<'c>>,
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

impl<'c> Rewriter<'c> {
    /// A block argument or region result becomes a buffer by its type alone.
    fn retype(&mut self, value: Val<'c>) {
        if value.r#type().is_tensor() {
            value.set_type(buffer_type(value.r#type()));
            self.buffers.insert(key(value), value);
        }
    }

    /// Decides every root's place; roots whose size is not known at entry move out of the arena.
    fn plan(&mut self, function: Op<'c>) {
        let (mut fixed, mut dynamic) = (Vec::new(), Vec::new());
        for i in 0..self.lifetimes.roots.len() {
            let root = &self.lifetimes.roots[i];
            if root.home != Home::Arena {
                continue;
            }
            let (start, end, value) = (root.start, root.end, root.value);
            let r#type = value.r#type();
            let known: i64 =
                r#type.shape().iter().filter(|s| **s >= 0).product::<i64>() * r#type.element_type().bytes();
            if r#type.shape().iter().all(|s| *s >= 0) {
                fixed.push((i, layout::Block { bytes: known, start, end }));
                continue;
            }
            match self.size_at_entry(value, known) {
                Some(bytes) => dynamic.push((i, bytes, start, end)),
                None => self.lifetimes.roots[i].home = Home::Alloc,
            }
        }
        let blocks: Vec<_> = fixed.iter().map(|(_, block)| *block).collect();
        let plan = layout::place(&blocks);
        set_attribute(function, "ait.memory", self.entry.i64s_attr(&[plan.bytes, plan.lower_bound, plan.naive]));
        if fixed.is_empty() && dynamic.is_empty() {
            return;
        }
        let b = self.entry;
        let mut offsets: Vec<(usize, Val<'c>)> =
            fixed.iter().zip(&plan.offsets).map(|((i, _), offset)| (*i, b.index(*offset))).collect();
        let mut total = b.index(plan.bytes);
        for (members, bytes) in slots(b, &dynamic) {
            offsets.extend(members.into_iter().map(|root| (root, total)));
            total = b.addi(total, bytes);
        }
        let arena_type = memref_type(&[DYNAMIC], self.context.int_type(8));
        let arena = b.op1("ait.buffer.arena", &[total], arena_type, &[]);
        self.places = offsets.into_iter().map(|(i, offset)| (i, (arena, offset))).collect();
    }

    /// The aligned size of a launch's result in bytes, computed at the function's entry; one value for equal sizes.
    fn size_at_entry(&mut self, value: Val<'c>, known: i64) -> Option<Val<'c>> {
        let dims = self.stated_dims(value)?.into_iter().map(|dim| self.hoist(dim)).collect::<Option<Vec<_>>>()?;
        let size_key = (known, dims.iter().map(|dim| key(*dim)).collect::<Vec<_>>());
        if let Some(size) = self.sizes.get(&size_key) {
            return Some(*size);
        }
        let b = self.entry;
        let bytes = dims.into_iter().fold(b.index(known), |product, dim| b.muli(product, dim));
        let mask = b.index(-layout::ALIGNMENT);
        let rounded = b.addi(bytes, b.index(layout::ALIGNMENT - 1));
        let size = b.binary("arith.andi", rounded, mask);
        self.sizes.insert(size_key, size);
        Some(size)
    }

    /// The `dims` operands of a launch that belong to one of its results.
    fn stated_dims(&self, value: Val<'c>) -> Option<Vec<Val<'c>>> {
        let view = OpView(defining_op(value)?);
        if view.name() != "ait.launch" {
            return Some(Vec::new());
        }
        let dynamic = |v: &Val<'c>| v.r#type().shape().iter().filter(|s| **s < 0).count();
        let before: usize = view.results().iter().take_while(|r| **r != value).map(dynamic).sum();
        Some(view.group("dims").into_iter().skip(before).take(dynamic(&value)).collect())
    }

    /// The value computed at the function's entry, where it depends on nothing but dimensions of arguments.
    fn hoist(&mut self, value: Val<'c>) -> Option<Val<'c>> {
        if let Some(known) = self.hoisted.get(&key(value)) {
            return *known;
        }
        let result = self.hoist_new(value);
        self.hoisted.insert(key(value), result);
        result
    }

    fn hoist_new(&mut self, value: Val<'c>) -> Option<Val<'c>> {
        let op = defining_op(value)?;
        let view = OpView(op);
        let name = view.name();
        if name == "tensor.dim" {
            let (source, position) = (view.operands()[0], view.operands()[1]);
            let position = usize::try_from(OpView(defining_op(position)?).i64("value")?).ok()?;
            return self.dim_at_entry(source, position);
        }
        if !name.starts_with("arith.") || op.result_count() != 1 || op.region_count() != 0 {
            return None;
        }
        let operands = view.operands().into_iter().map(|o| self.hoist(o)).collect::<Option<Vec<_>>>()?;
        // SAFETY: cloning a live op; the entry block owns the clone.
        let clone = self.entry.insert(unsafe { Operation::from_raw(mlir_sys::mlirOperationClone(op.to_raw())) });
        for (i, operand) in operands.into_iter().enumerate() {
            // SAFETY: one operand for each of the original's.
            unsafe { mlir_sys::mlirOperationSetOperand(clone.to_raw(), i as isize, operand.to_raw()) };
        }
        Some(result_of(clone, 0))
    }

    fn dim_at_entry(&mut self, tensor: Val<'c>, position: usize) -> Option<Val<'c>> {
        let size = *tensor.r#type().shape().get(position)?;
        if size >= 0 {
            return Some(self.entry.index(size));
        }
        if let Some(buffer) = self.buffers.get(&key(tensor)) {
            // Only arguments have buffers while the plan is made.
            return Some(self.entry.dim(*buffer, position));
        }
        let view = OpView(defining_op(tensor)?);
        let nth = tensor.r#type().shape()[..position].iter().filter(|s| **s < 0).count();
        let stated = match view.name().as_str() {
            "ait.launch" => self.stated_dims(tensor)?.get(nth).copied()?,
            "ait.reshape" => view.group("dims").get(nth).copied()?,
            "ait.slice" => mixed_size(view, position)?,
            "tensor.cast" => return self.dim_at_entry(view.operands()[0], position),
            _ => return None,
        };
        self.hoist(stated)
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
            Some(Home::Arena) => match root.and_then(|root| self.places.get(&root)) {
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
        let mut outs = Vec::new();
        for result in view.results() {
            let dims = self.stated_dims(result).unwrap_or_default();
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

/// The kernel that a launch names.
fn callee(view: OpView<'_>) -> String {
    let text = view.attr("callee").map(|a| a.to_string()).unwrap_or_default();
    text.trim_start_matches('@').trim_matches('"').to_owned()
}

fn mixed_size<'c>(view: OpView<'c>, position: usize) -> Option<Val<'c>> {
    let sizes = view.i64s("static_sizes");
    let nth = sizes[..position].iter().filter(|s| **s == DYNAMIC).count();
    view.group("sizes").get(nth).copied()
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

/// Buffers of dynamic size share slots: a buffer takes a slot that is free when it is made, best one of its own size. Returns each slot's members and its size.
fn slots<'c>(b: Builder<'c>, buffers: &[(usize, Val<'c>, usize, usize)]) -> Vec<(Vec<usize>, Val<'c>)> {
    struct Slot<'c> {
        members: Vec<usize>,
        sizes: Vec<Val<'c>>,
        end: usize,
    }
    let mut slots: Vec<Slot<'c>> = Vec::new();
    for (root, bytes, start, end) in buffers {
        let free = |slot: &Slot<'c>| slot.end < *start;
        let chosen = slots
            .iter()
            .position(|slot| free(slot) && slot.sizes.contains(bytes))
            .or_else(|| slots.iter().position(free));
        let slot = match chosen {
            Some(i) => &mut slots[i],
            None => {
                slots.push(Slot { members: Vec::new(), sizes: Vec::new(), end: 0 });
                let last = slots.len() - 1;
                &mut slots[last]
            }
        };
        slot.members.push(*root);
        slot.end = *end;
        if !slot.sizes.contains(bytes) {
            slot.sizes.push(*bytes);
        }
    }
    slots
        .into_iter()
        .filter_map(|slot| {
            let bytes = slot.sizes.into_iter().reduce(|x, y| b.binary("arith.maxui", x, y))?;
            Some((slot.members, bytes))
        })
        .collect()
}
