//! `ait-lower-host`: see [`LOWER_HOST`].

use super::{
    checks::{self, CheckSites},
    launch::{CpuLaunches, Launches, Site},
    memory::{
        buffer_at, call_runtime, from_word, offset_pointer, pointer_of, pointer_type, strided_buffer_at, to_word,
    },
};
use crate::{
    cpu::view::View,
    cuda::{chip, launch::CudaLaunches, tuning::Tuning},
};
use aitmlir_dialects::{
    ait::{OpView, strides},
    builder::{
        Builder, block_arguments, block_of, blocks_of, erase, operations_of, replace_uses, result_of, set_attribute,
    },
    diagnostics::emit_op_error,
    pass::{Failed, PassContext, PassDecl, PassOption},
    types::{Blk, DYNAMIC, Op, TypeExt, Types, Val, strided_memref_type},
};
use melior::ir::{
    Attribute, Location, Operation, Type, ValueLike,
    attribute::{ArrayAttribute, StringAttribute, TypeAttribute},
    operation::OperationLike,
    r#type::FunctionType,
};
use std::collections::HashMap;

/// The declaration of the pass.
pub static LOWER_HOST: PassDecl = PassDecl {
    name: "ait-lower-host",
    anchor: "builtin.module",
    summary: "Turn planned functions into runtime calls and kernels of the target",
    description: "Each public function `f` on buffers becomes `aitmlir_program_f(run)`, which asks the runtime for inputs, outputs, constants and the arena. Each \
        launched kernel is lowered for the buffer types of its launch. The module gets `ait.constants`, the names of the constants in the order of the numbers by which the \
        program asks for them, and `ait.sites`, the places that failed checks name by number: before a launch that can fail the program says its number. For a GPU (`chip=sm_90a`) the kernels of `@main` become a module `@device` beside the host program, with \
        `ait.kernels`, a JSON text a kernel that says how it is started; `@fold` stays on the CPU.",
    options: &[
        PassOption { name: "chip", help: "the GPU to lower kernels for; empty for the CPU", default: "" },
        PassOption {
            name: "tuning",
            help: "a table of measured configurations, asked before the one that ships",
            default: "",
        },
    ],
    run,
};

fn run<'c>(pass: &PassContext<'c>) -> Result<(), Failed> {
    let Some(module) = block_of(pass.op, 0) else { return Ok(()) };
    let functions: Vec<_> = operations_of(module).into_iter().filter(|op| OpView(*op).name() == "func.func").collect();
    let (kernels, programs): (Vec<_>, Vec<_>) = functions.into_iter().partition(|f| OpView(*f).has("ait.kernel"));
    let by_name: HashMap<String, Op<'c>> =
        kernels.iter().map(|k| (OpView(*k).string("sym_name").unwrap_or_default(), *k)).collect();
    let device = match pass.option("chip") {
        "" => None,
        name => match chip::chip(name) {
            Some(chip) => {
                // The compiler's context has it loaded; the developer tools load a dialect when it is first parsed.
                for dialect in ["cute", "nvvm"] {
                    pass.context.get_or_load_dialect(dialect);
                }
                let tuning = Tuning::read(pass.option("tuning")).map_err(|cause| {
                    emit_op_error(pass.op, &format!("cannot be lowered with this tuning table: {cause}"));
                    Failed
                })?;
                Some(CudaLaunches::new(pass, chip, tuning)?)
            }
            None => {
                emit_op_error(pass.op, &format!("cannot be lowered for '{name}', which is no known GPU"));
                return Err(Failed);
            }
        },
    };
    let mut lowering = Lowering {
        pass,
        by_name,
        cpu: CpuLaunches::default(),
        device,
        on_device: false,
        constants: Vec::new(),
        places: CheckSites::default(),
        function: None,
        inputs: 0,
    };
    lowering.check_kernels(&programs)?;
    for function in programs {
        if OpView(function).string("sym_visibility").as_deref() != Some("private") {
            lowering.program(function)?;
        }
    }
    if let Some(device) = &lowering.device {
        device.finish(pass)?;
    }
    for kernel in kernels {
        erase(kernel);
    }
    let end = Builder::at_end(pass.context, module, Location::unknown(pass.context));
    if let Some(places) = lowering.places.attribute(end) {
        set_attribute(pass.op, checks::SITES, places);
    }
    let context = pass.context;
    let names: Vec<Attribute<'c>> =
        lowering.constants.iter().map(|name| StringAttribute::new(context, name).into()).collect();
    let names: Attribute<'c> = ArrayAttribute::new(context, &names).into();
    set_attribute(pass.op, "ait.constants", names);
    Ok(())
}

/// Derived constants are computed where the runtime keeps them: on the host.
fn runs_on_device(program: Op<'_>) -> bool {
    OpView(program).string("sym_name").as_deref() != Some("fold")
}

fn for_each_op<'c>(op: Op<'c>, visit: &mut dyn FnMut(Op<'c>)) {
    for block in (0..op.region_count()).flat_map(|region| blocks_of(op, region)) {
        for nested in operations_of(block) {
            visit(nested);
            for_each_op(nested, visit);
        }
    }
}

struct Lowering<'p, 'c> {
    pass: &'p PassContext<'c>,
    by_name: HashMap<String, Op<'c>>,
    cpu: CpuLaunches,
    device: Option<CudaLaunches<'c>>,
    /// Does the program at hand run on the device? The fold program does not.
    on_device: bool,
    constants: Vec<String>,
    /// The places of checks, of all programs.
    places: CheckSites,
    /// The program's function: what it says of its arguments and results.
    function: Option<OpView<'c>>,
    /// How many inputs it has.
    inputs: usize,
}

impl<'c> Lowering<'_, 'c> {
    /// Tells of every op of the programs that the device has no kernel for.
    fn check_kernels(&self, programs: &[Op<'c>]) -> Result<(), Failed> {
        let Some(device) = &self.device else { return Ok(()) };
        let mut missing = false;
        for program in programs.iter().filter(|p| runs_on_device(**p)) {
            for_each_op(*program, &mut |op| {
                let view = OpView(op);
                let text = view.attr("callee").map(|a| a.to_string()).unwrap_or_default();
                let kernel = self.by_name.get(text.trim_start_matches('@').trim_matches('"'));
                if let (true, Some(kernel)) = (view.name() == "ait.launch", kernel) {
                    missing |= !device.knows(op, *kernel);
                }
            });
        }
        if missing { Err(Failed) } else { Ok(()) }
    }

    fn program(&mut self, function: Op<'c>) -> Result<(), Failed> {
        self.on_device = self.device.is_some() && runs_on_device(function);
        let context = self.pass.context;
        let Some(old) = block_of(function, 0) else { return Ok(()) };
        self.function = Some(OpView(function));
        let arguments = block_arguments(old);
        self.inputs = arguments.len();
        let inputs = arguments.iter().enumerate().map(|(i, a)| self.strides(function, "arg_attrs", i, *a));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let name = format!("aitmlir_program_{}", OpView(function).string("sym_name").unwrap_or_default());
        let b = Builder::before(context, function).with_location(Location::unknown(context));
        let pointer = pointer_type(b);
        let mut body = None;
        let region = b.region(&[pointer], |b, args| {
            for ((i, argument), strides) in arguments.into_iter().enumerate().zip(&inputs) {
                let input = self.input(b, args[0], i, argument.r#type(), strides.as_deref());
                replace_uses(argument, input);
            }
            for op in operations_of(old) {
                // SAFETY: the op leaves its block and is owned by the new one.
                unsafe { mlir_sys::mlirOperationRemoveFromParent(op.to_raw()) };
                // SAFETY: detached above.
                b.insert(unsafe { Operation::from_raw(op.to_raw()) });
            }
            body = Some((b.block(), args[0]));
        });
        let r#type = FunctionType::new(context, &[pointer], &[]);
        let attributes = [
            ("sym_name", StringAttribute::new(context, &name).into()),
            ("function_type", TypeAttribute::new(r#type.into()).into()),
        ];
        b.op("func.func", &[], &[], &attributes, vec![region]);
        let lowered = match body {
            Some((block, run)) => self.block(block, block, run),
            None => Ok(()),
        };
        self.function = None;
        erase(function);
        lowered
    }

    fn number(&self, b: Builder<'c>, value: i64) -> Val<'c> {
        b.int(b.context().int_type(64), value)
    }

    fn input(&self, b: Builder<'c>, run: Val<'c>, i: usize, r#type: Type<'c>, strides: Option<&[i64]>) -> Val<'c> {
        let number = self.number(b, i as i64);
        let open = (0..r#type.shape().len()).filter(|d| r#type.shape()[*d] < 0);
        let dims: Vec<_> = open.filter_map(|d| self.integer(b, run, i, d)).collect();
        match call_runtime(b, self.pass.op, "aitmlir_rt_input", &[run, number], Some(pointer_type(b))) {
            Some(pointer) => match strides {
                Some(strides) => self.strided(b, run, i, (pointer, r#type), &dims, strides),
                None => buffer_at(b, pointer, r#type, &dims),
            },
            None => run,
        }
    }

    /// Integer `d` of tensor `i`, results after inputs: its sizes, then its strides.
    fn integer(&self, b: Builder<'c>, run: Val<'c>, i: usize, d: usize) -> Option<Val<'c>> {
        let arguments = [run, self.number(b, i as i64), self.number(b, d as i64)];
        let i64_type = b.context().int_type(64);
        let value = call_runtime(b, self.pass.op, "aitmlir_rt_input_dim", &arguments, Some(i64_type))?;
        Some(b.index_cast(value, b.context().index_type()))
    }

    /// A buffer with strides, of which the caller of the program gives those that are open.
    fn strided(
        &self,
        b: Builder<'c>,
        run: Val<'c>,
        i: usize,
        (pointer, r#type): (Val<'c>, Type<'c>),
        dims: &[Val<'c>],
        strides: &[i64],
    ) -> Val<'c> {
        let shape = r#type.shape();
        let mut open = dims.iter().copied();
        let sizes: Vec<_> =
            shape.iter().filter_map(|size| if *size >= 0 { Some(b.index(*size)) } else { open.next() }).collect();
        let stride = |(d, known): (usize, &i64)| match *known {
            DYNAMIC => self.integer(b, run, i, shape.len() + d),
            known => Some(b.index(known)),
        };
        let given: Vec<_> = strides.iter().enumerate().filter_map(stride).collect();
        let buffer = strided_memref_type(&shape, r#type.element_type(), strides, 0);
        strided_buffer_at(b, pointer, buffer, &sizes, &given)
    }

    /// The strides that the program's function states of a tensor. Errors: some that cannot be, or of a tensor that not only kernels take.
    fn strides(&self, op: Op<'c>, list: &str, i: usize, value: Val<'c>) -> Result<Option<Vec<i64>>, Failed> {
        let Some(function) = self.function else { return Ok(None) };
        let r#type = value.r#type();
        let rank = if r#type.is_buffer() { r#type.shape().len() } else { 0 };
        let found = strides::stated(function, list, i, rank).and_then(|found| match strides::misuse(value) {
            Some(name) if found.is_some() => Err(format!("is for the tensors of kernels, and '{name}' takes this one")),
            _ => Ok(found),
        });
        found.map_err(|cause| {
            emit_op_error(op, &format!("{} of tensor {i} {cause}", strides::STRIDES));
            Failed
        })
    }

    fn block(&mut self, entry: Blk<'c>, block: Blk<'c>, run: Val<'c>) -> Result<(), Failed> {
        for op in operations_of(block) {
            for region in 0..op.region_count() {
                for nested in blocks_of(op, region) {
                    self.block(entry, nested, run)?;
                }
            }
            self.op(entry, op, run)?;
        }
        Ok(())
    }

    fn op(&mut self, entry: Blk<'c>, op: Op<'c>, run: Val<'c>) -> Result<(), Failed> {
        let view = OpView(op);
        let b = Builder::before(self.pass.context, op);
        let replacement = match view.name().as_str() {
            "ait.launch" => {
                self.launch(entry, op, b, run)?;
                erase(op);
                return Ok(());
            }
            "ait.buffer.arena" => {
                let bytes = b.index_cast(view.operands()[0], b.context().int_type(64));
                self.runtime_buffer(b, "aitmlir_rt_arena", &[run, bytes], op, &view.operands()[..1])
            }
            "ait.buffer.alloc" => {
                let bytes = self.bytes(b, view.results()[0].r#type(), &view.group("dims"));
                self.runtime_buffer(b, "aitmlir_rt_alloc", &[run, bytes], op, &view.group("dims"))
            }
            "ait.buffer.constant" => {
                let number = self.constant(&view.string("name").unwrap_or_default());
                self.runtime_buffer(b, "aitmlir_rt_constant", &[run, self.number(b, number)], op, &[])
            }
            "ait.buffer.output" => self.output(entry, b, op, run)?,
            "memref.load" if self.on_device => self.read(b, view, run),
            "memref.get_global" if self.on_device => self.global(b, view, run),
            "memref.store" if self.on_device => {
                self.write(b, view, run);
                erase(op);
                return Ok(());
            }
            // The importer's own check.
            "func.call" if checks::is_failure(op) => {
                let said = |key| view.string(key).unwrap_or_default();
                let place = self.places.number(op, &said("ait.op"), &said("ait.what"));
                checks::enter(b, self.pass.op, run, place);
                return Ok(());
            }
            "ait.buffer.reshape" => {
                let source = pointer_of(b, view.operands()[0]);
                Some(buffer_at(b, source, view.results()[0].r#type(), &view.group("dims")))
            }
            _ => return Ok(()),
        };
        if let Some(replacement) = replacement {
            replace_uses(result_of(op, 0), replacement);
        }
        erase(op);
        Ok(())
    }

    fn runtime_buffer(
        &self,
        b: Builder<'c>,
        name: &str,
        arguments: &[Val<'c>],
        op: Op<'c>,
        dims: &[Val<'c>],
    ) -> Option<Val<'c>> {
        let pointer = call_runtime(b, self.pass.op, name, arguments, Some(pointer_type(b)))?;
        Some(buffer_at(b, pointer, result_of(op, 0).r#type(), dims))
    }

    /// The size of a buffer in bytes, as an i64.
    fn bytes(&self, b: Builder<'c>, r#type: Type<'c>, dims: &[Val<'c>]) -> Val<'c> {
        let known = r#type.shape().iter().filter(|s| **s >= 0).product::<i64>() * r#type.element_type().bytes();
        let bytes = dims.iter().fold(b.index(known), |product, dim| b.muli(product, *dim));
        b.index_cast(bytes, b.context().int_type(64))
    }

    /// The number of a constant; the next one for a new name.
    fn constant(&mut self, name: &str) -> i64 {
        match self.constants.iter().position(|n| n == name) {
            Some(i) => i as i64,
            None => {
                self.constants.push(name.to_owned());
                self.constants.len() as i64 - 1
            }
        }
    }

    fn output(&self, entry: Blk<'c>, b: Builder<'c>, op: Op<'c>, run: Val<'c>) -> Result<Option<Val<'c>>, Failed> {
        let view = OpView(op);
        let number = view.i64("index").and_then(|i| usize::try_from(i).ok()).unwrap_or(0);
        let strides = self.strides(op, "ait.results", number, view.results()[0])?;
        Ok(self.output_buffer(entry, b, op, run, strides.as_deref()))
    }

    fn output_buffer(
        &self,
        entry: Blk<'c>,
        b: Builder<'c>,
        op: Op<'c>,
        run: Val<'c>,
        strides: Option<&[i64]>,
    ) -> Option<Val<'c>> {
        let view = OpView(op);
        let r#type = view.results()[0].r#type();
        let (i64_type, pointer) = (b.context().int_type(64), pointer_type(b));
        let dims = view.group("dims");
        // Stack space is reserved once, in the entry block: an output in a loop must not grow the stack.
        let start = Builder::before(b.context(), *operations_of(entry).first()?);
        let count = self.number(start, (r#type.shape().len() as i64).max(1));
        let slots = start.op1("llvm.alloca", &[count], pointer, &[("elem_type", TypeAttribute::new(i64_type).into())]);
        let mut dynamic = dims.iter().copied();
        for (d, size) in r#type.shape().into_iter().enumerate() {
            let size = if size >= 0 { Some(b.index(size)) } else { dynamic.next() }?;
            let slot = b.op1(
                "llvm.getelementptr",
                &[slots],
                pointer,
                &[("rawConstantIndices", b.i32s_attr(&[d as i32])), ("elem_type", TypeAttribute::new(i64_type).into())],
            );
            b.op("llvm.store", &[b.index_cast(size, i64_type), slot], &[], &[], vec![]);
        }
        let bytes = self.bytes(b, r#type, &dims);
        let index = view.i64("index")?;
        let arguments = [run, self.number(b, index), slots, bytes];
        let Some(strides) = strides else {
            return self.runtime_buffer(b, "aitmlir_rt_output", &arguments, op, &dims);
        };
        let made = call_runtime(b, self.pass.op, "aitmlir_rt_output", &arguments, Some(pointer))?;
        let tensor = self.inputs + usize::try_from(index).ok()?;
        Some(self.strided(b, run, tensor, (made, r#type), &dims, strides))
    }

    /// A launch, with what its target needs to know.
    fn launch(&mut self, entry: Blk<'c>, op: Op<'c>, b: Builder<'c>, run: Val<'c>) -> Result<(), Failed> {
        let view = OpView(op);
        let text = view.attr("callee").map(|a| a.to_string()).unwrap_or_default();
        let callee = text.trim_start_matches('@').trim_matches('"').to_owned();
        let Some(kernel) = self.by_name.get(&callee).copied() else {
            emit_op_error(op, &format!("launches '{callee}', which is no kernel of the module"));
            return Err(Failed);
        };
        let Some(entry) = operations_of(entry).first().copied() else { return Err(Failed) };
        let site = Site { op, kernel, callee, inputs: view.group("inputs"), outs: view.group("outs"), run, entry };
        match (&mut self.device, self.on_device) {
            (Some(device), true) => device.launch(self.pass, &site, &mut self.places, b),
            _ => self.cpu.launch(self.pass, &site, &mut self.places, b),
        }
    }

    // ---- memory that only the device reaches

    /// The address of an element of a buffer in device memory.
    fn element(&self, b: Builder<'c>, buffer: Val<'c>, indices: &[Val<'c>]) -> Val<'c> {
        let view = View::of(b, buffer);
        let at = b.muli(view.at(b, indices), b.index(view.element().bytes()));
        offset_pointer(b, pointer_of(b, buffer), at)
    }

    /// `memref.load` of device memory: the runtime copies the scalar.
    fn read(&self, b: Builder<'c>, op: OpView<'c>, run: Val<'c>) -> Option<Val<'c>> {
        let (operands, r#type) = (op.operands(), op.results()[0].r#type());
        let from = self.element(b, operands[0], &operands[1..]);
        let arguments = [run, from, self.number(b, r#type.bytes())];
        let i64_type = b.context().int_type(64);
        call_runtime(b, self.pass.op, "aitmlir_rt_read", &arguments, Some(i64_type))
            .map(|word| from_word(b, word, r#type))
    }

    /// `memref.store` to device memory.
    fn write(&self, b: Builder<'c>, op: OpView<'c>, run: Val<'c>) {
        let operands = op.operands();
        let to = self.element(b, operands[1], &operands[2..]);
        let bytes = self.number(b, operands[0].r#type().bytes());
        call_runtime(b, self.pass.op, "aitmlir_rt_write", &[run, to, to_word(b, operands[0]), bytes], None);
    }

    /// The device's copy of a constant of the module.
    fn global(&self, b: Builder<'c>, op: OpView<'c>, run: Val<'c>) -> Option<Val<'c>> {
        let r#type = op.results()[0].r#type();
        let host = b.op1("memref.get_global", &[], r#type, &[("name", op.attr("name")?)]);
        let arguments = [run, pointer_of(b, host), self.bytes(b, r#type, &[])];
        let pointer = call_runtime(b, self.pass.op, "aitmlir_rt_global", &arguments, Some(pointer_type(b)))?;
        Some(buffer_at(b, pointer, r#type, &[]))
    }
}
