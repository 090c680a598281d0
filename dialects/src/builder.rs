//! A builder of operations: the one way in which importers, passes and kernels make IR.
//!
//! A [`Builder`] is an insertion point (the end of a block, or before an operation) and a location. It is `Copy`; nested
//! regions are closures that get a builder of their own.

use crate::types::{Blk, Op, TypeExt, Types, Val};
use melior::{
    Context,
    ir::{
        Attribute, Block, BlockLike, BlockRef, Identifier, Location, Operation, OperationRef, Region, RegionLike, Type,
        TypeLike, Value, ValueLike,
        attribute::{BoolAttribute, FloatAttribute, IntegerAttribute, StringAttribute, TypeAttribute},
        operation::{OperationBuilder, OperationLike},
    },
};

/// Named attributes of an operation under construction.
pub type Attrs<'a, 'c> = &'a [(&'a str, Attribute<'c>)];

/// Where the next operation goes. See the module's description.
#[derive(Clone, Copy)]
pub struct Builder<'c> {
    context: &'c Context,
    block: Blk<'c>,
    before: Option<Op<'c>>,
    location: Location<'c>,
}

impl<'c> Builder<'c> {
    /// Appends to `block`.
    pub fn at_end(context: &'c Context, block: Blk<'c>, location: Location<'c>) -> Self {
        Self { context, block, before: None, location }
    }

    /// Inserts before all ops of `block`.
    pub fn at_start(context: &'c Context, block: Blk<'c>, location: Location<'c>) -> Self {
        let first = operations_of(block).first().copied();
        Self { context, block, before: first, location }
    }

    /// Inserts before `op`, at its location. `op` must be in a block.
    pub fn before(context: &'c Context, op: Op<'c>) -> Self {
        // SAFETY: the block that holds a live op is live.
        let block = unsafe { BlockRef::from_raw(mlir_sys::mlirOperationGetBlock(op.to_raw())) };
        // SAFETY: an op's location belongs to its context.
        let location = unsafe { Location::from_raw(mlir_sys::mlirOperationGetLocation(op.to_raw())) };
        Self { context, block, before: Some(op), location }
    }

    /// Inserts right after `op`, which must be in a block.
    pub fn after(context: &'c Context, op: Op<'c>) -> Self {
        let mut builder = Self::before(context, op);
        // SAFETY: a live op in a block; a null next op means the end of the block.
        let next = unsafe { mlir_sys::mlirOperationGetNextInBlock(op.to_raw()) };
        // SAFETY: not null, so an op of the same block.
        builder.before = (!next.ptr.is_null()).then(|| unsafe { OperationRef::from_raw(next) });
        builder
    }

    /// The same place, other location for what is built from here.
    pub fn with_location(self, location: Location<'c>) -> Self {
        Self { location, ..self }
    }

    /// The context.
    pub fn context(self) -> &'c Context {
        self.context
    }

    /// The block that it inserts into.
    pub fn block(self) -> Blk<'c> {
        self.block
    }

    /// The location that new operations get.
    pub fn location(self) -> Location<'c> {
        self.location
    }

    /// Inserts a finished operation.
    pub fn insert(self, operation: Operation<'c>) -> Op<'c> {
        let op = match self.before {
            Some(before) => self.block.insert_operation_before(before, operation),
            None => self.block.append_operation(operation),
        };
        // SAFETY: the block owns it now; the handle is valid as long as the module is.
        unsafe { OperationRef::from_raw(op.to_raw()) }
    }

    /// Builds and inserts an operation. Panics only where the name is empty, which no caller passes.
    pub fn op(
        self,
        name: &str,
        operands: &[Val<'c>],
        results: &[Type<'c>],
        attributes: Attrs<'_, 'c>,
        regions: Vec<Region<'c>>,
    ) -> Op<'c> {
        let attributes: Vec<_> =
            attributes.iter().map(|(key, value)| (Identifier::new(self.context, key), *value)).collect();
        let operation = OperationBuilder::new(name, self.location)
            .add_operands(operands)
            .add_results(results)
            .add_attributes(&attributes)
            .add_regions_vec(regions)
            .build();
        match operation {
            Ok(operation) => self.insert(operation),
            Err(error) => panic!("building {name}: {error}"),
        }
    }

    /// An operation with one result.
    pub fn op1(self, name: &str, operands: &[Val<'c>], result: Type<'c>, attributes: Attrs<'_, 'c>) -> Val<'c> {
        result_of(self.op(name, operands, &[result], attributes, vec![]), 0)
    }

    /// A region of one block with arguments of `types`, filled by `fill`.
    pub fn region(self, types: &[Type<'c>], fill: impl FnOnce(Builder<'c>, &[Val<'c>])) -> Region<'c> {
        let region = Region::new();
        let arguments: Vec<_> = types.iter().map(|t| (*t, self.location)).collect();
        let block = region.append_block(Block::new(&arguments));
        // SAFETY: the region owns the block, and the op that gets the region outlives the handle's use.
        let block: Blk<'c> = unsafe { BlockRef::from_raw(block.to_raw()) };
        fill(Builder { block, before: None, ..self }, &block_arguments(block));
        region
    }

    // ---- attributes

    /// The type of that text, for what the C API cannot build. The text is one of ours, and its dialect is loaded: another one is a bug, and a panic.
    pub fn parse_type(self, text: &str) -> Type<'c> {
        match Type::parse(self.context, text) {
            Some(r#type) => r#type,
            None => panic!("not a type: {text}"),
        }
    }
    /// The attribute of that text; as [`Builder::parse_type`].
    pub fn parse_attr(self, text: &str) -> Attribute<'c> {
        match Attribute::parse(self.context, text) {
            Some(attribute) => attribute,
            None => panic!("not an attribute: {text}"),
        }
    }
    /// An `i64` attribute.
    pub fn i64_attr(self, value: i64) -> Attribute<'c> {
        IntegerAttribute::new(self.context.int_type(64), value).into()
    }
    /// An `i32` attribute: what an enum attribute of ours is.
    pub fn i32_attr(self, value: i32) -> Attribute<'c> {
        IntegerAttribute::new(self.context.int_type(32), i64::from(value)).into()
    }
    /// An `f64` attribute.
    pub fn f64_attr(self, value: f64) -> Attribute<'c> {
        FloatAttribute::new(self.context, self.context.f64_type(), value).into()
    }
    /// A unit attribute.
    pub fn unit_attr(self) -> Attribute<'c> {
        Attribute::unit(self.context)
    }
    /// A string attribute.
    pub fn str_attr(self, value: &str) -> Attribute<'c> {
        StringAttribute::new(self.context, value).into()
    }
    /// A bool attribute.
    pub fn bool_attr(self, value: bool) -> Attribute<'c> {
        BoolAttribute::new(self.context, value).into()
    }
    /// A type attribute.
    pub fn type_attr(self, value: Type<'c>) -> Attribute<'c> {
        TypeAttribute::new(value).into()
    }
    /// `array<i64: ...>`
    pub fn i64s_attr(self, values: &[i64]) -> Attribute<'c> {
        // SAFETY: the slice outlives the call.
        unsafe {
            Attribute::from_raw(mlir_sys::mlirDenseI64ArrayGet(
                self.context.to_raw(),
                values.len() as isize,
                values.as_ptr(),
            ))
        }
    }
    /// `array<f64: ...>`
    pub fn f64s_attr(self, values: &[f64]) -> Attribute<'c> {
        // SAFETY: the slice outlives the call.
        unsafe {
            Attribute::from_raw(mlir_sys::mlirDenseF64ArrayGet(
                self.context.to_raw(),
                values.len() as isize,
                values.as_ptr(),
            ))
        }
    }
    /// `array<i32: ...>`, as `operandSegmentSizes` is.
    pub fn i32s_attr(self, values: &[i32]) -> Attribute<'c> {
        // SAFETY: the slice outlives the call.
        unsafe {
            Attribute::from_raw(mlir_sys::mlirDenseI32ArrayGet(
                self.context.to_raw(),
                values.len() as isize,
                values.as_ptr(),
            ))
        }
    }

    // ---- scalars

    /// An index constant.
    pub fn index(self, value: i64) -> Val<'c> {
        self.int(self.context.index_type(), value)
    }
    /// A constant of a signless integer or index type.
    pub fn int(self, r#type: Type<'c>, value: i64) -> Val<'c> {
        let attribute = IntegerAttribute::new(r#type, value).into();
        self.op1("arith.constant", &[], r#type, &[("value", attribute)])
    }
    /// A constant of a float type.
    pub fn float(self, r#type: Type<'c>, value: f64) -> Val<'c> {
        let attribute = FloatAttribute::new(self.context, r#type, value).into();
        self.op1("arith.constant", &[], r#type, &[("value", attribute)])
    }
    /// A constant of a float, integer or index type.
    pub fn constant(self, r#type: Type<'c>, value: f64) -> Val<'c> {
        if r#type.is_float_type() { self.float(r#type, value) } else { self.int(r#type, value as i64) }
    }
    /// A binary op whose result has the type of its first operand: `binary("arith.addi", a, b)`.
    pub fn binary(self, name: &str, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.op1(name, &[a, b], a.r#type(), &[])
    }
    /// A unary op whose result has the type of its operand: `unary("math.exp", x)`.
    pub fn unary(self, name: &str, a: Val<'c>) -> Val<'c> {
        self.op1(name, &[a], a.r#type(), &[])
    }
    /// a + b, integers or index.
    pub fn addi(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binary("arith.addi", a, b)
    }
    /// a - b, integers or index.
    pub fn subi(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binary("arith.subi", a, b)
    }
    /// a * b, integers or index.
    pub fn muli(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binary("arith.muli", a, b)
    }
    /// a / b toward zero, signed.
    pub fn divsi(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binary("arith.divsi", a, b)
    }
    /// The remainder of `divsi`.
    pub fn remsi(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binary("arith.remsi", a, b)
    }
    /// min(a, b), signed.
    pub fn minsi(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binary("arith.minsi", a, b)
    }
    /// max(a, b), signed.
    pub fn maxsi(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binary("arith.maxsi", a, b)
    }
    /// a + b, floats.
    pub fn addf(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binary("arith.addf", a, b)
    }
    /// a - b, floats.
    pub fn subf(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binary("arith.subf", a, b)
    }
    /// a * b, floats.
    pub fn mulf(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binary("arith.mulf", a, b)
    }
    /// a / b, floats.
    pub fn divf(self, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.binary("arith.divf", a, b)
    }
    /// An integer comparison: "eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge".
    pub fn cmpi(self, predicate: &str, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        const NAMES: [&str; 10] = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];
        let code = position(&NAMES, predicate);
        self.op1("arith.cmpi", &[a, b], self.context.int_type(1), &[("predicate", self.i64_attr(code))])
    }
    /// A float comparison: "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno".
    pub fn cmpf(self, predicate: &str, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        const NAMES: [&str; 16] = [
            "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno",
            "true",
        ];
        let code = position(&NAMES, predicate);
        self.op1("arith.cmpf", &[a, b], self.context.int_type(1), &[("predicate", self.i64_attr(code))])
    }
    /// condition ? a : b
    pub fn select(self, condition: Val<'c>, a: Val<'c>, b: Val<'c>) -> Val<'c> {
        self.op1("arith.select", &[condition, a, b], a.r#type(), &[])
    }
    /// Between index and integer types.
    pub fn index_cast(self, a: Val<'c>, to: Type<'c>) -> Val<'c> {
        if a.r#type() == to { a } else { self.op1("arith.index_cast", &[a], to, &[]) }
    }

    // ---- structured control flow

    /// `scf.for` over [lb, ub) with loop-carried values; the body returns their next values.
    pub fn for_(
        self,
        lb: Val<'c>,
        ub: Val<'c>,
        step: Val<'c>,
        inits: &[Val<'c>],
        body: impl FnOnce(Builder<'c>, Val<'c>, &[Val<'c>]) -> Vec<Val<'c>>,
    ) -> Vec<Val<'c>> {
        let types: Vec<_> = inits.iter().map(|v| v.r#type()).collect();
        let arguments: Vec<_> = std::iter::once(lb.r#type()).chain(types.iter().copied()).collect();
        let region = self.region(&arguments, |b, args| {
            let yielded = body(b, args[0], &args[1..]);
            b.op("scf.yield", &yielded, &[], &[], vec![]);
        });
        let operands: Vec<_> = [lb, ub, step].into_iter().chain(inits.iter().copied()).collect();
        results_of(self.op("scf.for", &operands, &types, &[], vec![region]))
    }

    /// `scf.for` over [0, ub) by 1 without loop-carried values.
    pub fn loop_(self, ub: Val<'c>, body: impl FnOnce(Builder<'c>, Val<'c>)) {
        let (zero, one) = (self.index(0), self.index(1));
        self.for_(zero, ub, one, &[], |b, iv, _| {
            body(b, iv);
            vec![]
        });
    }

    /// A nest of [`Builder::loop_`]s over `extents`; the body gets all induction variables.
    pub fn loops(self, extents: &[Val<'c>], body: impl FnOnce(Builder<'c>, &[Val<'c>])) {
        type Body<'a, 'c> = Box<dyn FnOnce(Builder<'c>, &[Val<'c>]) + 'a>;
        fn nest<'c>(b: Builder<'c>, extents: &[Val<'c>], ivs: &mut Vec<Val<'c>>, body: Body<'_, 'c>) {
            match extents.split_first() {
                None => body(b, ivs),
                Some((first, rest)) => b.loop_(*first, |b, iv| {
                    ivs.push(iv);
                    nest(b, rest, ivs, body);
                }),
            }
        }
        nest(self, extents, &mut Vec::new(), Box::new(body));
    }

    /// `scf.if` with results; both closures return the yielded values.
    pub fn if_(
        self,
        condition: Val<'c>,
        results: &[Type<'c>],
        then: impl FnOnce(Builder<'c>) -> Vec<Val<'c>>,
        otherwise: impl FnOnce(Builder<'c>) -> Vec<Val<'c>>,
    ) -> Vec<Val<'c>> {
        let then = self.region(&[], |b, _| {
            let yielded = then(b);
            b.op("scf.yield", &yielded, &[], &[], vec![]);
        });
        let otherwise = self.region(&[], |b, _| {
            let yielded = otherwise(b);
            b.op("scf.yield", &yielded, &[], &[], vec![]);
        });
        results_of(self.op("scf.if", &[condition], results, &[], vec![then, otherwise]))
    }

    /// `scf.if` without results and without an else.
    pub fn when(self, condition: Val<'c>, then: impl FnOnce(Builder<'c>)) {
        let then = self.region(&[], |b, _| {
            then(b);
            b.op("scf.yield", &[], &[], &[], vec![]);
        });
        self.op("scf.if", &[condition], &[], &[], vec![then, Region::new()]);
    }

    // ---- memory

    /// `memref.load`
    pub fn load(self, memref: Val<'c>, indices: &[Val<'c>]) -> Val<'c> {
        let operands: Vec<_> = std::iter::once(memref).chain(indices.iter().copied()).collect();
        self.op1("memref.load", &operands, memref.r#type().element_type(), &[])
    }
    /// `memref.store`
    pub fn store(self, value: Val<'c>, memref: Val<'c>, indices: &[Val<'c>]) {
        let operands: Vec<_> = [value, memref].into_iter().chain(indices.iter().copied()).collect();
        self.op("memref.store", &operands, &[], &[], vec![]);
    }
    /// Dimension `i` of a tensor or memref as an index; a constant where it is static.
    pub fn dim(self, shaped: Val<'c>, i: usize) -> Val<'c> {
        let r#type = shaped.r#type();
        match r#type.shape().get(i) {
            Some(&size) if size >= 0 => self.index(size),
            _ => {
                let name = if r#type.is_buffer() { "memref.dim" } else { "tensor.dim" };
                let index = self.index(i as i64);
                self.op1(name, &[shaped, index], self.context.index_type(), &[])
            }
        }
    }
    /// All dimensions of a tensor or memref.
    pub fn dims(self, shaped: Val<'c>) -> Vec<Val<'c>> {
        (0..shaped.r#type().shape().len()).map(|i| self.dim(shaped, i)).collect()
    }
}

fn position(names: &[&str], name: &str) -> i64 {
    match names.iter().position(|n| *n == name) {
        Some(i) => i as i64,
        None => panic!("no comparison predicate '{name}' (one of {names:?})"),
    }
}

/// Result `i` of an op that has at least `i + 1`.
pub fn result_of<'c>(op: Op<'c>, i: usize) -> Val<'c> {
    // SAFETY: callers name a result that the op was built with.
    unsafe { Value::from_raw(mlir_sys::mlirOperationGetResult(op.to_raw(), i as isize)) }
}

/// All results of an op.
pub fn results_of<'c>(op: Op<'c>) -> Vec<Val<'c>> {
    (0..op.result_count()).map(|i| result_of(op, i)).collect()
}

/// All operands of an op.
pub fn operands_of<'c>(op: Op<'c>) -> Vec<Val<'c>> {
    (0..op.operand_count())
        // SAFETY: the index is below the operand count.
        .map(|i| unsafe { Value::from_raw(mlir_sys::mlirOperationGetOperand(op.to_raw(), i as isize)) })
        .collect()
}

/// All arguments of a block.
pub fn block_arguments<'c>(block: Blk<'c>) -> Vec<Val<'c>> {
    (0..block.argument_count())
        // SAFETY: the index is below the argument count.
        .map(|i| unsafe { Value::from_raw(mlir_sys::mlirBlockGetArgument(block.to_raw(), i as isize)) })
        .collect()
}

/// Adds an argument behind those that a block has.
pub fn add_argument<'c>(block: Blk<'c>, r#type: Type<'c>, location: Location<'c>) -> Val<'c> {
    // SAFETY: a live block, and a type and a location of its context.
    unsafe {
        Value::from_raw(mlir_sys::mlirBlockAddArgument(block.to_raw(), TypeLike::to_raw(&r#type), location.to_raw()))
    }
}

/// The op that defines a value, where it is not a block argument.
pub fn defining_op<'c>(value: Val<'c>) -> Option<Op<'c>> {
    // SAFETY: asked only of op results.
    value
        .is_operation_result()
        .then(|| unsafe { OperationRef::from_raw(mlir_sys::mlirOpResultGetOwner(value.to_raw())) })
}

/// The operations of a block, in order (a snapshot: safe to erase while walking).
pub fn operations_of<'c>(block: Blk<'c>) -> Vec<Op<'c>> {
    let mut ops = Vec::new();
    // SAFETY: walks the intrusive list of a live block to its null end.
    unsafe {
        let mut raw = mlir_sys::mlirBlockGetFirstOperation(block.to_raw());
        while !raw.ptr.is_null() {
            ops.push(OperationRef::from_raw(raw));
            raw = mlir_sys::mlirOperationGetNextInBlock(raw);
        }
    }
    ops
}

/// The blocks of region `i` of an op.
pub fn blocks_of<'c>(op: Op<'c>, i: usize) -> Vec<Blk<'c>> {
    let mut blocks = Vec::new();
    // SAFETY: the region index is below the region count (checked); walks to the null end.
    unsafe {
        if i >= op.region_count() {
            return blocks;
        }
        let region = mlir_sys::mlirOperationGetRegion(op.to_raw(), i as isize);
        let mut raw = mlir_sys::mlirRegionGetFirstBlock(region);
        while !raw.ptr.is_null() {
            blocks.push(BlockRef::from_raw(raw));
            raw = mlir_sys::mlirBlockGetNextInRegion(raw);
        }
    }
    blocks
}

/// The only block of region `i`, if the region has one.
pub fn block_of<'c>(op: Op<'c>, i: usize) -> Option<Blk<'c>> {
    blocks_of(op, i).first().copied()
}

/// Sets an attribute, inherent or discardable; one of that name is replaced.
pub fn set_attribute<'c>(op: Op<'c>, name: &str, value: Attribute<'c>) {
    // SAFETY: a live op and an attribute of one context, as their lifetimes say; the name is copied.
    unsafe {
        mlir_sys::mlirOperationSetAttributeByName(
            op.to_raw(),
            melior::StringRef::new(name).to_raw(),
            melior::ir::AttributeLike::to_raw(&value),
        );
    }
}

/// Erases an op that has no uses left.
pub fn erase(op: Op<'_>) {
    // SAFETY: callers drop every other handle to the op.
    unsafe { mlir_sys::mlirOperationDestroy(op.to_raw()) }
}

/// Replaces all uses of a value.
pub fn replace_uses<'c>(old: Val<'c>, new: Val<'c>) {
    // SAFETY: two live values.
    unsafe { mlir_sys::mlirValueReplaceAllUsesOfWith(old.to_raw(), new.to_raw()) }
}

/// The ops that use a value, one entry a use.
pub fn users_of<'c>(value: Val<'c>) -> Vec<Op<'c>> {
    let mut users = Vec::new();
    // SAFETY: walks the use list of a live value to its null end.
    unsafe {
        let mut operand = mlir_sys::mlirValueGetFirstUse(value.to_raw());
        while !mlir_sys::mlirOpOperandIsNull(operand) {
            users.push(OperationRef::from_raw(mlir_sys::mlirOpOperandGetOwner(operand)));
            operand = mlir_sys::mlirOpOperandGetNextUse(operand);
        }
    }
    users
}

/// Clones the operations of a scalar region's block (without its terminator) to the builder's place with its arguments replaced by
/// `arguments`; returns the terminator's operands.
pub fn inline_block<'c>(builder: Builder<'c>, block: Blk<'c>, arguments: &[Val<'c>]) -> Vec<Val<'c>> {
    let mut map: Vec<(Val<'c>, Val<'c>)> = block_arguments(block).into_iter().zip(arguments.iter().copied()).collect();
    let lookup =
        |map: &[(Val<'c>, Val<'c>)], v: Val<'c>| map.iter().rev().find(|(from, _)| *from == v).map_or(v, |(_, to)| *to);
    for op in operations_of(block) {
        // SAFETY: a live op; asked only of its own block's end.
        let is_terminator = unsafe { mlir_sys::mlirOperationGetNextInBlock(op.to_raw()) }.ptr.is_null();
        if is_terminator {
            return operands_of(op).into_iter().map(|v| lookup(&map, v)).collect();
        }
        // SAFETY: cloning a live op; the clone is owned by the builder's block from here on.
        let clone = builder.insert(unsafe { Operation::from_raw(mlir_sys::mlirOperationClone(op.to_raw())) });
        remap_operands(clone, &|v| lookup(&map, v));
        map.extend(results_of(op).into_iter().zip(results_of(clone)));
    }
    Vec::new()
}

/// Replaces the operands of an op and of all ops nested in it.
pub fn remap_operands<'c>(op: Op<'c>, mapped: &dyn Fn(Val<'c>) -> Val<'c>) {
    for (i, operand) in operands_of(op).into_iter().enumerate() {
        // SAFETY: the index is below the operand count.
        unsafe { mlir_sys::mlirOperationSetOperand(op.to_raw(), i as isize, mapped(operand).to_raw()) };
    }
    for region in 0..op.region_count() {
        for block in blocks_of(op, region) {
            for nested in operations_of(block) {
                remap_operands(nested, mapped);
            }
        }
    }
}
