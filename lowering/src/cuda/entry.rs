//! The entry of a kernel: parameters become buffers, and the kernel's row fills in the rest.

use super::kernels::{self, Body, BodyRow, How, Operand, Whole};
use super::tuning::Tuning;
use super::{Chip, kernel::COUNTER_BYTES};
use crate::{
    cpu::{self, Unsupported, view::is_row_major},
    host::{
        checks,
        memory::{buffer_at, from_word, pointer_type, strided_buffer_at},
    },
};
use aitmlir_dialects::{
    ait::OpView,
    builder::{Builder, add_argument, block_of, blocks_of, erase, operations_of, replace_uses, result_of},
    diagnostics::{emit_op_error, location_of},
    pass::Failed,
    types::{DYNAMIC, Op, TypeExt, Types, Val, memref_type, strided_memref_type},
};
use kernel_launch::{Expr, KernelLaunch, Param, Workspace};
use melior::{
    Context,
    ir::{Attribute, Type, TypeLike, ValueLike, operation::OperationLike},
};

/// The name of the operand that is the record of failed checks.
pub const FAILURE: &str = "failure record";

/// What the type of a buffer leaves open, to be given at each launch: sizes first, then strides.
pub struct Interface {
    /// Dimensions whose size is open.
    pub open_sizes: Vec<usize>,
    /// Dimensions whose stride is open; none of a row-major buffer.
    pub open_strides: Vec<usize>,
}

impl Interface {
    /// Of a buffer type.
    pub fn of(buffer: Type<'_>) -> Self {
        let strides = if is_row_major(buffer) { Vec::new() } else { strides(buffer) };
        let open = |list: &[i64]| (0..list.len()).filter(|d| list[*d] == DYNAMIC).collect();
        Self { open_sizes: open(&buffer.shape()), open_strides: open(&strides) }
    }
}

fn strides(buffer: Type<'_>) -> Vec<i64> {
    let mut strides = vec![DYNAMIC; buffer.shape().len()];
    let mut offset = 0;
    // SAFETY: a memref type, and room for one stride a dimension.
    unsafe { mlir_sys::mlirMemRefTypeGetStridesAndOffset(buffer.to_raw(), strides.as_mut_ptr(), &raw mut offset) };
    strides
}

/// Emits the kernel `name` for the op of a kernel function on tensors, on buffers and scalars of types `arguments` (as
/// [`cpu::lower_kernel`] has them); returns how it is started.
pub fn lower<'c>(
    context: &'c Context,
    (chip, tuning): (&'static Chip, &Tuning),
    device: Op<'c>,
    kernel: Op<'c>,
    op: OpView<'c>,
    name: &str,
    arguments: &[Type<'c>],
) -> Result<KernelLaunch, Failed> {
    let row = kernels::row(&op.name()).ok_or(Failed)?;
    aitmlir_dialects::capture::sink_constants(context, op.0);
    match &row.how {
        How::Body(row) => lower_body(context, device, kernel, op, name, arguments, row),
        How::Whole { emit, .. } => lower_whole(context, (chip, tuning), device, op, name, arguments, *emit),
    }
}

/// Describes the buffers to a row that emits all of a kernel.
fn lower_whole<'c>(
    context: &'c Context,
    (chip, tuning): (&'static Chip, &Tuning),
    device: Op<'c>,
    op: OpView<'c>,
    name: &str,
    arguments: &[Type<'c>],
    emit: for<'a> fn(&Whole<'a, 'c>) -> Result<KernelLaunch, Unsupported>,
) -> Result<KernelLaunch, Failed> {
    let mut launch = Launch::default();
    let (pointer, i64_type) = (context.int_type(64), context.int_type(64));
    let values: Vec<_> = op.operands().into_iter().chain(op.results()).collect();
    let tensors: Vec<Type<'c>> = values.iter().map(|v| v.r#type()).filter(|t| t.is_tensor()).collect();
    // Sizes of the results, which their buffers have too.
    let stated = op.group_or_empty("dims").len();
    let mut scalars = 0;
    let mut operands = Vec::new();
    for argument in arguments {
        if !argument.is_buffer() && scalars < stated {
            launch.integer("size");
            scalars += 1;
            continue;
        }
        if !argument.is_buffer() {
            emit_op_error(op.0, "uses a scalar from outside, which its kernel does not take");
            return Err(Failed);
        }
        let (number, first) = (launch.operands.len() as u32, launch.dims.len());
        let interface = Interface::of(*argument);
        launch.argument(pointer, i64_type, Some(&interface));
        let (sizes, strides) = formulas(*argument, &interface, first);
        let element = tensors.get(number as usize).map_or(argument.element_type(), |t| t.element_type());
        operands.push(Operand { number, element, alignment: alignment(*argument), sizes, strides });
    }
    // SAFETY: the op is a module; it stays owned by its parent, so that the handle must not be dropped.
    let module = std::mem::ManuallyDrop::new(unsafe {
        melior::ir::Module::from_raw(mlir_sys::mlirModuleFromOperation(device.to_raw()))
    });
    let whole = Whole { context, chip, module: &module, name, op, operands: &operands, dims: &launch.dims, tuning };
    emit(&whole).map_err(|cause| {
        emit_op_error(op.0, &cause.to_string());
        Failed
    })
}

/// What a buffer's address is a multiple of, in bytes: buffers are aligned to 16 bytes, parts of them as their offset says.
fn alignment(buffer: Type<'_>) -> i64 {
    let (bytes, mut offset) = (buffer.element_type().bytes(), 0);
    let mut strides = vec![DYNAMIC; buffer.shape().len()];
    // SAFETY: a memref type, and room for one stride a dimension.
    unsafe { mlir_sys::mlirMemRefTypeGetStridesAndOffset(buffer.to_raw(), strides.as_mut_ptr(), &raw mut offset) };
    let offset = if offset == DYNAMIC { 1 } else { offset };
    [16, 8, 4, 2].into_iter().find(|n| offset * bytes % n == 0).unwrap_or(1)
}

/// The sizes and strides of a buffer, as formulas of the launch's integers, of which its own begin at `first`.
fn formulas(buffer: Type<'_>, interface: &Interface, first: usize) -> (Vec<Expr>, Vec<Expr>) {
    let open = |list: &[usize], d: usize, before: usize| {
        list.iter().position(|o| *o == d).map(|i| Expr::Dim((before + i) as u32))
    };
    let sizes: Vec<Expr> = buffer
        .shape()
        .iter()
        .enumerate()
        .map(|(d, s)| open(&interface.open_sizes, d, first).unwrap_or(Expr::Const(*s)))
        .collect();
    let rank = sizes.len();
    let mut list = vec![Expr::Const(1); rank];
    if is_row_major(buffer) {
        for d in (0..rank.saturating_sub(1)).rev() {
            list[d] = list[d + 1].clone() * sizes[d + 1].clone();
        }
    } else {
        let known = strides(buffer);
        for (d, to) in list.iter_mut().enumerate() {
            let before = first + interface.open_sizes.len();
            *to = open(&interface.open_strides, d, before).unwrap_or(Expr::Const(known[d]));
        }
    }
    (sizes, list)
}

fn lower_body<'c>(
    context: &'c Context,
    device: Op<'c>,
    kernel: Op<'c>,
    op: OpView<'c>,
    name: &str,
    arguments: &[Type<'c>],
    row: &BodyRow,
) -> Result<KernelLaunch, Failed> {
    let body = block_of(device, 0).ok_or(Failed)?;
    let b = Builder::at_end(context, body, location_of(op.0));
    let extents = (row.extent_count)(op);
    let mut launch = Launch::default();
    let (pointer, i64_type) = (pointer_type(b), context.int_type(64));
    let mut types = Vec::new();
    for argument in arguments {
        let interface = argument.is_buffer().then(|| Interface::of(*argument));
        types.extend(launch.argument(pointer, i64_type, interface.as_ref()));
    }
    for i in 0..extents {
        types.push(i64_type);
        launch.integer(&format!("extent {i}"));
    }
    types.extend([pointer, pointer]);
    let mut made: Result<Body, Unsupported> = Err(Unsupported(String::new()));
    let mut record = None;
    let region = b.region(&types, |b, args| {
        let (values, extents) = values(b, arguments, &args[..args.len() - 2], extents);
        record = Some((b, args[args.len() - 2], args[args.len() - 1]));
        made = cpu::with_values(kernel, op, device, b, &values, |k| (row.body)(k, &extents));
        b.op("llvm.return", &[], &[], &[], vec![]);
    });
    let (shape, fails) = match (made, record) {
        (Ok(shape), Some((b, record, scratch))) => {
            hoist_allocas(b);
            replace_scratch(b, scratch);
            (shape, replace_failures(b, record))
        }
        (Err(cause), _) => {
            emit_op_error(op.0, &cause.to_string());
            return Err(Failed);
        }
        (Ok(_), None) => return Err(Failed),
    };
    types.extend(fails.then_some(i64_type));
    function(b, name, &types, region, shape.block);
    let first = launch.dims.len() - extents;
    // Both parameters are there in all kernels; a kernel that reads one names it.
    launch.params.push(if fails {
        launch.operands.push(FAILURE.to_owned());
        Param::Pointer { operand: launch.operands.len() as u32 - 1, offset: 0.into() }
    } else {
        Param::I64(0.into())
    });
    launch.params.push(match shape.scratch {
        Some(_) => Param::Workspace { offset: COUNTER_BYTES.into() },
        None => Param::I64(0.into()),
    });
    if fails {
        launch.integer("site of the launch");
    }
    let extent = |i: usize| Expr::Dim((first + i) as u32);
    Ok(KernelLaunch {
        name: name.to_owned(),
        grid: (shape.grid)(&extent),
        block: shape.block,
        cluster: [1; 3],
        smem_bytes: shape.smem_bytes,
        dims: launch.dims,
        operands: launch.operands,
        params: launch.params,
        workspace: shape.scratch.map(|i| Workspace { bytes: extent(i) + COUNTER_BYTES, zeroed: COUNTER_BYTES.into() }),
        overlaps: false,
        when: None,
        alignment: 0,
        otherwise: None,
    })
}

/// The parts of a [`KernelLaunch`] that follow the arguments.
#[derive(Default)]
struct Launch {
    dims: Vec<String>,
    operands: Vec<String>,
    params: Vec<Param>,
}

impl Launch {
    fn integer(&mut self, name: &str) {
        self.params.push(Param::I64(Expr::Dim(self.dims.len() as u32)));
        self.dims.push(name.to_owned());
    }

    /// The parameters of an argument: a buffer's address and open integers, or a scalar's word.
    fn argument<'c>(&mut self, pointer: Type<'c>, i64_type: Type<'c>, interface: Option<&Interface>) -> Vec<Type<'c>> {
        let Some(interface) = interface else {
            self.integer("scalar");
            return vec![i64_type];
        };
        let operand = self.operands.len();
        self.params.push(Param::Pointer { operand: operand as u32, offset: 0.into() });
        interface.open_sizes.iter().for_each(|d| self.integer(&format!("size {d} of operand {operand}")));
        interface.open_strides.iter().for_each(|d| self.integer(&format!("stride {d} of operand {operand}")));
        self.operands.push(format!("operand {operand}"));
        let integers = interface.open_sizes.len() + interface.open_strides.len();
        std::iter::once(pointer).chain(std::iter::repeat_n(i64_type, integers)).collect()
    }
}

/// The buffers and scalars that the parameters stand for, and the extents.
fn values<'c>(
    b: Builder<'c>,
    arguments: &[Type<'c>],
    parameters: &[Val<'c>],
    extents: usize,
) -> (Vec<Val<'c>>, Vec<Val<'c>>) {
    let index = b.context().index_type();
    let mut next = parameters.iter().copied();
    let mut take = |n: usize| next.by_ref().take(n).collect::<Vec<_>>();
    let mut made = Vec::new();
    for argument in arguments {
        let first = take(1)[0];
        if !argument.is_buffer() {
            made.push(from_word(b, first, *argument));
            continue;
        }
        let interface = Interface::of(*argument);
        let mut integers = |n: usize| take(n).into_iter().map(|v| b.index_cast(v, index)).collect::<Vec<_>>();
        let (sizes, open) = (integers(interface.open_sizes.len()), integers(interface.open_strides.len()));
        let (shape, element) = (argument.shape(), argument.element_type());
        made.push(if is_row_major(*argument) {
            buffer_at(b, first, memref_type(&shape, element), &sizes)
        } else {
            let known = strides(*argument);
            let filled = |known: &[i64], open: Vec<Val<'c>>| {
                let mut open = open.into_iter();
                let value = |k: &i64| if *k == DYNAMIC { open.next() } else { Some(b.index(*k)) };
                known.iter().filter_map(value).collect::<Vec<_>>()
            };
            let buffer = strided_memref_type(&shape, element, &known, 0);
            strided_buffer_at(b, first, buffer, &filled(&shape, sizes), &filled(&known, open))
        });
    }
    let extents = take(extents).into_iter().map(|v| b.index_cast(v, index)).collect();
    (made, extents)
}

/// A function that the driver finds and launches.
fn function<'c>(
    b: Builder<'c>,
    name: &str,
    parameters: &[Type<'c>],
    region: melior::ir::Region<'c>,
    block: [u32; 3],
) -> Op<'c> {
    let list: Vec<String> = parameters.iter().map(|t| t.to_string()).collect();
    let r#type = b.parse_type(&format!("!llvm.func<void ({})>", list.join(", ")));
    let threads: Vec<i32> = block.iter().map(|n| *n as i32).collect();
    let attributes: [(&str, Attribute<'c>); 4] = [
        ("sym_name", b.str_attr(name)),
        ("function_type", b.type_attr(r#type)),
        ("nvvm.kernel", b.unit_attr()),
        ("nvvm.reqntid", b.i32s_attr(&threads)),
    ];
    b.op("llvm.func", &[], &[], &attributes, vec![region])
}

/// Moves stack arrays to the kernel's entry: in a loop they would take new memory in each step.
fn hoist_allocas(b: Builder<'_>) {
    let Some(first) = operations_of(b.block()).first().copied() else { return };
    for_each(b.block(), &mut |op| {
        if OpView(op).name() == "memref.alloca" && OpView(op).operands().is_empty() {
            // SAFETY: two live ops of one function; the array depends on nothing.
            unsafe { mlir_sys::mlirOperationMoveBefore(op.to_raw(), first.to_raw()) };
        }
    });
}

/// Replaces calls of `aitmlir_rt_fail`, with which kernels for the CPU stop a run: the first thread whose check fails fills
/// the record with the site of the launch, and every such thread ends. Where there are such calls, the site is one parameter more.
fn replace_failures<'c>(b: Builder<'c>, record: Val<'c>) -> bool {
    let mut calls = Vec::new();
    for_each(b.block(), &mut |op| {
        if checks::is_failure(op) {
            calls.push(op);
        }
    });
    if calls.is_empty() {
        return false;
    }
    let i64_type = b.context().int_type(64);
    let site = add_argument(b.block(), i64_type, b.location());
    for call in calls {
        let b = Builder::before(b.context(), call);
        let mut arguments = OpView(call).operands();
        arguments.insert(1, site);
        record_failure(b, record, &arguments);
        b.op("nvvm.exit", &[], &[], &[], vec![]);
        erase(call);
    }
    true
}

/// Fills the record with the code of a failure, the site of the launch, and its two numbers (all i64), if this thread is the first one to do so.
pub(super) fn record_failure<'c>(b: Builder<'c>, record: Val<'c>, arguments: &[Val<'c>]) {
    let i64_type = b.context().int_type(64);
    let one = b.int(i64_type, 1);
    // `or`, ordered as a relaxed access.
    let attributes = [("bin_op", b.i64_attr(4)), ("ordering", b.i64_attr(2))];
    let before = b.op1("llvm.atomicrmw", &[record, one], i64_type, &attributes);
    let first = b.cmpi("eq", before, b.int(i64_type, 0));
    b.when(first, |b| {
        for (i, argument) in arguments.iter().enumerate() {
            let attributes =
                [("rawConstantIndices", b.i32s_attr(&[i as i32 + 1])), ("elem_type", b.type_attr(i64_type))];
            let slot = b.op1("llvm.getelementptr", &[record], record.r#type(), &attributes);
            b.op("llvm.store", &[*argument, slot], &[], &[], vec![]);
        }
    });
}

/// Replaces calls of `aitmlir_rt_scratch`, with which kernels for the CPU ask for scratch memory, by the workspace.
fn replace_scratch<'c>(b: Builder<'c>, workspace: Val<'c>) {
    let mut calls = Vec::new();
    for_each(b.block(), &mut |op| {
        let callee = OpView(op).attr("callee").map(|a| a.to_string());
        if OpView(op).name() == "func.call" && callee.as_deref() == Some("@aitmlir_rt_scratch") {
            calls.push(op);
        }
    });
    for call in calls {
        replace_uses(result_of(call, 0), workspace);
        erase(call);
    }
}

fn for_each<'c>(block: aitmlir_dialects::types::Blk<'c>, visit: &mut dyn FnMut(Op<'c>)) {
    for op in operations_of(block) {
        for nested in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
            for_each(nested, visit);
        }
        visit(op);
    }
}
