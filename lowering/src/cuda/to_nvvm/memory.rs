//! Pointers, shared memory, registers, and single elements.

use super::{
    as_view,
    values::{Lowered, State, result_type},
};
use crate::cuda::emit::{Effect, asm1};
use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, block_of, operations_of, replace_uses, set_attribute},
    cute::{Cute, Space, View, types, verify},
    types::{Blk, Op, TypeExt, Types, Val},
};
use cute_layout::{Coord, Int, Tuple, atom::Element};
use melior::ir::{Attribute, Region, Type, ValueLike};

pub fn pointer_type<'c>(b: Builder<'c>, space: u32) -> Type<'c> {
    // SAFETY: a live context.
    unsafe { Type::from_raw(mlir_sys::mlirLLVMPointerTypeGet(b.context().to_raw(), space)) }
}

fn array_type<'c>(element: Type<'c>, count: i64) -> Type<'c> {
    use melior::ir::TypeLike;
    // SAFETY: a valid type.
    unsafe {
        Type::from_raw(mlir_sys::mlirLLVMArrayTypeGet(element.to_raw(), u32::try_from(count).unwrap_or(u32::MAX)))
    }
}

/// The op of one of these names that holds `op`.
pub fn enclosing<'c>(op: Op<'c>, names: &[&str]) -> Option<Op<'c>> {
    use melior::ir::OperationRef;
    // SAFETY: walks the parents of a live op to the null above the module.
    let mut raw = unsafe { mlir_sys::mlirOperationGetParentOperation(op.to_raw()) };
    while !raw.ptr.is_null() {
        // SAFETY: not null.
        let parent: Op<'c> = unsafe { OperationRef::from_raw(raw) };
        if names.contains(&OpView(parent).name().as_str()) {
            return Some(parent);
        }
        // SAFETY: a live op.
        raw = unsafe { mlir_sys::mlirOperationGetParentOperation(raw) };
    }
    None
}

/// A builder at the start of a block.
fn at_start<'c>(b: Builder<'c>, block: Blk<'c>) -> Builder<'c> {
    match operations_of(block).first() {
        Some(first) => Builder::before(b.context(), *first).with_location(b.location()),
        None => Builder::at_end(b.context(), block, b.location()),
    }
}

pub fn make_ptr<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let value = result_type(view)?;
    let Cute::Ptr(ptr) = &value else { return Err("gives no pointer".into()) };
    let wanted = pointer_type(b, ptr.space.address_space());
    let from = view.operands()[0];
    let base = if from.r#type() == wanted { from } else { b.op1("llvm.addrspacecast", &[from], wanted, &[]) };
    state.set(view.results()[0], Lowered { value, base: Some(base) });
    Ok(())
}

pub fn alloc_shared<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let value = result_type(view)?;
    let Cute::Ptr(ptr) = &value else { return Err("gives no pointer".into()) };
    let elements = view.i64("elements").unwrap_or(0);
    let base = if view.has("dynamic") {
        dynamic_shared(state, b, view, elements * ptr.element_bytes(), ptr.align)?
    } else {
        global_in_module(state, b, view, b.context().int_type(ptr.element.bits()), elements, ptr.align)?
    };
    state.set(view.results()[0], Lowered { value, base: Some(base) });
    Ok(())
}

/// The block of the module around an op, which holds its shared memory.
fn module_of<'c>(view: OpView<'c>) -> Result<Blk<'c>, String> {
    let module = enclosing(view.0, &["gpu.module", "builtin.module"]).and_then(|module| block_of(module, 0));
    module.ok_or_else(|| "stands in no module, which would hold its memory".to_string())
}

/// A global in shared memory.
fn global<'c>(
    b: Builder<'c>,
    module: Blk<'c>,
    name: &str,
    array: Type<'c>,
    linkage: &str,
    align: i64,
) -> Result<(), String> {
    let linkage = format!("#llvm.linkage<{linkage}>");
    let linkage = Attribute::parse(b.context(), &linkage).ok_or("the llvm dialect is not loaded")?;
    let attributes = [
        ("sym_name", b.str_attr(name)),
        ("global_type", b.type_attr(array)),
        ("linkage", linkage),
        ("addr_space", b.i32_attr(3)),
        ("alignment", b.i64_attr(align)),
    ];
    at_start(b, module).op("llvm.mlir.global", &[], &[], &attributes, vec![Region::new()]);
    Ok(())
}

fn address_of<'c>(b: Builder<'c>, name: &str) -> Val<'c> {
    let symbol = melior::ir::attribute::FlatSymbolRefAttribute::new(b.context(), name).into();
    b.op1("llvm.mlir.addressof", &[], pointer_type(b, 3), &[("global_name", symbol)])
}

/// Shared memory of a static number of elements, as a global of the module.
pub fn global_in_module<'c>(
    state: &mut State<'c>,
    b: Builder<'c>,
    view: OpView<'c>,
    element: Type<'c>,
    count: i64,
    align: i64,
) -> Result<Val<'c>, String> {
    let name = format!("__cute_shared_{}", state.shared);
    state.shared += 1;
    global(b, module_of(view)?, &name, array_type(element, count), "internal", align)?;
    Ok(address_of(b, &name))
}

/// The attribute of a kernel that says how many bytes of dynamic shared memory its launch gives it.
pub const SHARED_BYTES: &str = "cute.shared_bytes";

/// The name of the dynamic shared memory, which all kernels of a module have in common.
const DYNAMIC: &str = "__cute_dynamic_shared";

/// The next bytes of the kernel's dynamic shared memory.
fn dynamic_shared<'c>(
    state: &mut State<'c>,
    b: Builder<'c>,
    view: OpView<'c>,
    bytes: i64,
    align: i64,
) -> Result<Val<'c>, String> {
    let kernel = enclosing(view.0, &["llvm.func", "func.func", "gpu.func"]);
    let kernel = kernel.ok_or("stands in no function, whose launch would give its memory")?;
    if !state.dynamic_declared {
        state.dynamic_declared = true;
        let array = array_type(b.context().int_type(8), 0);
        global(b, module_of(view)?, DYNAMIC, array, "external", verify::DYNAMIC_ALIGN)?;
    }
    let used = OpView(kernel).i64(SHARED_BYTES).unwrap_or(0);
    let offset = (used + align - 1) / align * align;
    set_attribute(kernel, SHARED_BYTES, b.i64_attr(offset + bytes));
    let base = address_of(b, DYNAMIC);
    let offset = i32::try_from(offset).map_err(|_| format!("needs {offset} bytes of dynamic shared memory"))?;
    let attributes =
        [("elem_type", b.type_attr(b.context().int_type(8))), ("rawConstantIndices", b.i32s_attr(&[offset]))];
    Ok(b.op1("llvm.getelementptr", &[base], base.r#type(), &attributes))
}

/// Registers: an array in the function's frame, which LLVM takes apart.
pub fn make_fragment<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let value = result_type(view)?;
    let Cute::View(made) = &value else { return Err("gives no view".into()) };
    let size = made.layout.outer().cosize().map_err(|error| error.to_string())?;
    let count = size.as_static().ok_or("has a dynamic size")?;
    let function = enclosing(view.0, &["llvm.func", "func.func", "gpu.func"]).and_then(|f| block_of(f, 0));
    let Some(function) = function else { return Err("stands in no function, which would hold its registers".into()) };
    let start = at_start(b, function);
    let one = start.int(b.context().int_type(32), 1);
    let array = array_type(b.context().int_type(made.ptr.element.bits()), count);
    let attributes = [("elem_type", b.type_attr(array)), ("alignment", b.i64_attr(16))];
    let base = start.op1("llvm.alloca", &[one], pointer_type(b, 0), &attributes);
    state.set(view.results()[0], Lowered { value, base: Some(base) });
    Ok(())
}

/// The elements of a static view, as offsets in the order of their indices.
pub fn offsets(view: &View) -> Result<Vec<Int>, String> {
    let size = view.layout.outer().size().map_err(|error| error.to_string())?;
    let size = size.as_static().ok_or_else(|| format!("needs a static size, got {}", view.layout))?;
    (0..size).map(|i| offset(view, &Coord::from(i))).collect()
}

/// The offset of a coordinate.
pub fn offset(view: &View, coord: &Coord) -> Result<Int, String> {
    match view.layout.eval(coord).map_err(|error| error.to_string())? {
        Tuple::Leaf(offset) => Ok(offset),
        Tuple::Node(_) => Err(format!("{} gives no plain offset", view.layout)),
    }
}

/// Loads a value of a type from the element at an offset.
pub fn load_at<'c>(
    state: &State<'c>,
    b: Builder<'c>,
    from: &Lowered<'c>,
    offset: &Int,
    r#type: Type<'c>,
    bytes: i64,
) -> Result<Val<'c>, String> {
    let address = address(state, b, from, offset)?;
    Ok(b.op1("llvm.load", &[address], r#type, &[("alignment", b.i64_attr(bytes))]))
}

/// Stores a value to the element at an offset.
pub fn store_at<'c>(
    state: &State<'c>,
    b: Builder<'c>,
    to: &Lowered<'c>,
    offset: &Int,
    value: Val<'c>,
    bytes: i64,
) -> Result<(), String> {
    let address = address(state, b, to, offset)?;
    b.op("llvm.store", &[value, address], &[], &[("alignment", b.i64_attr(bytes))], vec![]);
    Ok(())
}

/// The pointer to the element at an offset.
pub fn address<'c>(state: &State<'c>, b: Builder<'c>, to: &Lowered<'c>, offset: &Int) -> Result<Val<'c>, String> {
    let base = to.base.ok_or("has a view without a pointer")?;
    state.at(b, base, &as_view(to)?.ptr, offset)
}

pub fn fill<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let target = state.operand(b, view.operands()[1])?;
    let offsets = offsets(as_view(&target)?)?;
    let (mut value, mut bytes, mut step) = (view.operands()[0], as_view(&target)?.ptr.element_bytes(), 1);
    if bytes == 2 && in_registers(as_view(&target)?) && pairs(&offsets) {
        // Whole registers, which LLVM keeps as such whatever reads them.
        (value, bytes, step) = (twice(b, value), 4, 2);
    }
    for offset in offsets.iter().step_by(step) {
        store_at(state, b, &target, offset, value, bytes)?;
    }
    Ok(())
}

/// A 16-bit value in both halves of an i32.
fn twice<'c>(b: Builder<'c>, value: Val<'c>) -> Val<'c> {
    let (short, word) = (b.context().int_type(16), b.context().int_type(32));
    let value = if value.r#type() == short { value } else { b.op1("arith.bitcast", &[value], short, &[]) };
    let low = b.op1("arith.extui", &[value], word, &[]);
    b.binary("arith.ori", low, b.binary("arith.shli", low, b.int(word, 16)))
}

fn element_coord<'c>(state: &mut State<'c>, b: Builder<'c>, coord: Val<'c>) -> Result<Coord, String> {
    match state.operand(b, coord)?.value {
        Cute::Coord(coord) => Ok(coord),
        Cute::Ints(_, ints) => Ok(ints.into()),
        other => Err(format!("needs a coordinate, got {other}")),
    }
}

pub fn load<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let operands = view.operands();
    let (from, coord) = (state.operand(b, operands[0])?, element_coord(state, b, operands[1])?);
    let source = as_view(&from)?;
    let (at, bytes) = (offset(source, &coord)?, source.ptr.element_bytes());
    let result = view.results()[0];
    let value = load_at(state, b, &from, &at, result.r#type(), bytes)?;
    replace_uses(result, value);
    Ok(())
}

pub fn store<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let operands = view.operands();
    let (to, coord) = (state.operand(b, operands[1])?, element_coord(state, b, operands[2])?);
    let target = as_view(&to)?;
    let (at, bytes) = (offset(target, &coord)?, target.ptr.element_bytes());
    store_at(state, b, &to, &at, operands[0], bytes)
}

/// Converts registers, two neighbours at a time where both views have them together.
pub fn convert<'c>(state: &mut State<'c>, b: Builder<'c>, view: OpView<'c>) -> Result<(), String> {
    let operands = view.operands();
    let (from, to) = (state.operand(b, operands[0])?, state.operand(b, operands[1])?);
    let (source, target) = (as_view(&from)?.clone(), as_view(&to)?.clone());
    let (reads, writes) = (offsets(&source)?, offsets(&target)?);
    let rounds = target.ptr.element == Element::Tf32 && matches!(source.ptr.element, Element::F32 | Element::F64);
    let pairs = pairs(&reads) && pairs(&writes) && !rounds;
    let step = if pairs { 2 } else { 1 };
    let scalar = |view: &View| types::scalar_type(b.context(), view.ptr.element);
    let shaped = |r#type: Type<'c>| if pairs { aitmlir_dialects::types::vector_type(2, r#type) } else { r#type };
    let (have, want) = (scalar(&source), scalar(&target));
    let half = match (source.ptr.element, target.ptr.element) {
        (Element::F32, half @ (Element::F16 | Element::Bf16)) => Some(half),
        _ => None,
    };
    for (read, write) in reads.iter().step_by(step).zip(writes.iter().step_by(step)) {
        let bytes = |view: &View| view.ptr.element_bytes() * step as i64;
        if let Some(half) = half.filter(|_| pairs) {
            let single = source.ptr.element_bytes();
            let [low, high] = [0, 1].map(|i| {
                let at = read.add(&i.into()).map_err(|error| error.to_string())?;
                load_at(state, b, &from, &at, have, single)
            });
            store_at(state, b, &to, write, packed(b, [low?, high?], half), 4)?;
            continue;
        }
        let value = load_at(state, b, &from, read, shaped(have), bytes(&source))?;
        let value = match want.bits().cmp(&have.bits()) {
            std::cmp::Ordering::Less => b.op1("arith.truncf", &[value], shaped(want), &[]),
            std::cmp::Ordering::Greater => b.op1("arith.extf", &[value], shaped(want), &[]),
            std::cmp::Ordering::Equal if have == want => value,
            std::cmp::Ordering::Equal => {
                // f16 and bf16 meet in f32.
                let wide = b.op1("arith.extf", &[value], shaped(b.context().f32_type()), &[]);
                b.op1("arith.truncf", &[wide], shaped(want), &[])
            }
        };
        let value = if rounds { tf32(b, value) } else { value };
        store_at(state, b, &to, write, value, bytes(&target))?;
    }
    Ok(())
}

/// Two f32 rounded to a register of two f16 or bf16, by one instruction. LLVM has none for bf16, and moves what it has for f16 out of branches, where it is behind everything that computes the values.
fn packed<'c>(b: Builder<'c>, [low, high]: [Val<'c>; 2], half: Element) -> Val<'c> {
    let text = format!("cvt.rn.{half}x2.f32 $0, $2, $1;");
    asm1(b, &text, "=r,f,f", &[low, high], b.context().int_type(32), Effect::Pure)
}

/// An f32 rounded to tf32: to nearest, ties away from zero. An instruction that takes tf32 would cut off.
fn tf32<'c>(b: Builder<'c>, value: Val<'c>) -> Val<'c> {
    let i32 = b.context().int_type(32);
    let bits = b.op1("arith.bitcast", &[value], i32, &[]);
    let rounded = asm1(b, "cvt.rna.tf32.f32 $0, $1;", "=r,r", &[bits], i32, Effect::Pure);
    b.op1("arith.bitcast", &[rounded], value.r#type(), &[])
}

/// Whether each even element is followed by its neighbour, at an even offset.
fn pairs(offsets: &[Int]) -> bool {
    let numbers: Option<Vec<i64>> = offsets.iter().map(Int::as_static).collect();
    numbers.is_some_and(|n| n.len() % 2 == 0 && n.chunks(2).all(|p| p[0] % 2 == 0 && p[1] == p[0] + 1))
}

/// Whether elements follow each other.
pub fn neighbours(offsets: &[Int]) -> bool {
    let Some(first) = offsets.first().and_then(Int::as_static) else { return offsets.len() < 2 };
    offsets.iter().zip(first..).all(|(offset, wanted)| offset.is(wanted))
}

/// Whether a view is of registers.
pub fn in_registers(view: &View) -> bool {
    view.ptr.space == Space::Register
}
