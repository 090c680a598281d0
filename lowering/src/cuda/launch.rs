//! Launches on a GPU: the host program gives the runtime addresses and integers, and the runtime does what the kernel's
//! [`KernelLaunch`] says with them. Kernels of one model are functions of one module, which becomes one cubin.

use super::{
    Chip,
    entry::{self, Interface},
    kernels::{self, How},
    tuning::Tuning,
};
use crate::{
    cpu,
    host::{
        checks::CheckSites,
        launch::{Launches, Site, key, name},
        memory::{call_runtime, offset_pointer, pointer_of, pointer_type, to_word},
    },
};
use aitmlir_dialects::{
    ait::{
        MatrixLayout, OpView,
        view::{members, operand_of_group},
    },
    builder::{Builder, block_of, erase, operations_of, set_attribute},
    diagnostics::emit_op_error,
    pass::{Failed, PassContext},
    types::{Op, TypeExt, Types, Val},
};
use kernel_launch::KernelLaunch;
use melior::ir::{Attribute, ValueLike, attribute::ArrayAttribute};
use serde::Serialize;
use std::collections::HashMap;

/// The symbol of the module of kernels.
pub const DEVICE: &str = "device";
/// The module's attribute that holds the descriptions of its kernels.
pub const KERNELS: &str = "ait.kernels";
/// The module's attribute that says that kernels check data.
pub const CHECKS: &str = "ait.checks";

/// The module's attribute that holds the operations of the matrix products of a run, where they are known.
pub const FLOPS: &str = "ait.flops";

/// The module's attribute that holds the matrix products that a configuration was chosen for, each with the configuration and where that is from.
pub const PRODUCTS: &str = "ait.products";

/// What the library says of a kernel.
#[derive(Serialize)]
struct Described<'a> {
    op: &'a str,
    launch: &'a KernelLaunch,
}

/// Lowers launches to kernels of a GPU.
pub struct CudaLaunches<'c> {
    chip: &'static Chip,
    /// What was measured.
    tuning: Tuning,
    /// The module of kernels.
    device: Op<'c>,
    /// Kernel and argument types to the number of the kernel.
    lowered: HashMap<String, usize>,
    /// The op and the launch of each kernel.
    kernels: Vec<(String, KernelLaunch)>,
    /// Operations of the matrix products so far; none where one is not known.
    flops: Option<i64>,
}

impl<'c> CudaLaunches<'c> {
    /// Makes the module of kernels.
    pub fn new(pass: &PassContext<'c>, chip: &'static Chip, tuning: Tuning) -> Result<Self, Failed> {
        let body = block_of(pass.op, 0).ok_or(Failed)?;
        let b = Builder::at_end(pass.context, body, melior::ir::Location::unknown(pass.context));
        let region = b.region(&[], |_, _| {});
        let attributes = [("sym_name", b.str_attr(DEVICE)), ("ait.chip", b.str_attr(chip.name))];
        let device = b.op("builtin.module", &[], &[], &attributes, vec![region]);
        Ok(Self { chip, tuning, device, lowered: HashMap::new(), kernels: Vec::new(), flops: Some(0) })
    }

    /// Is there a kernel for the op of `kernel`? Says so at the launch where there is none.
    pub fn knows(&self, launch: Op<'c>, kernel: Op<'c>) -> bool {
        let Some(compute) = cpu::kernel_op(kernel) else { return true };
        match kernels::supported(self.chip, compute) {
            Ok(()) => true,
            Err(cause) => {
                emit_op_error(launch, &format!("'{}' {cause}", compute.name()));
                false
            }
        }
    }

    /// Describes the kernels on their module.
    pub fn finish(&self, pass: &PassContext<'c>) -> Result<(), Failed> {
        // Declarations of the runtime's functions, the calls of which are gone.
        for op in block_of(self.device, 0).map(operations_of).unwrap_or_default() {
            if OpView(op).name() == "func.func" && block_of(op, 0).is_none() {
                erase(op);
            }
        }
        super::math::fast(pass.context, self.device);
        let b = Builder::before(pass.context, self.device);
        let mut texts: Vec<Attribute<'c>> = Vec::new();
        for (op, launch) in &self.kernels {
            let text = serde_json::to_string(&Described { op, launch }).map_err(|cause| {
                emit_op_error(self.device, &format!("the launch of '{}': {cause}", launch.name));
                Failed
            })?;
            texts.push(b.str_attr(&text));
        }
        let source = |measured: bool| if measured { "table" } else { "model" };
        let asked = self.tuning.asked().into_iter();
        let asked: Vec<Attribute<'c>> =
            asked.map(|a| b.str_attr(&format!("{} : {} ({})", a.product, a.config, source(a.measured)))).collect();
        if !asked.is_empty() {
            set_attribute(self.device, PRODUCTS, ArrayAttribute::new(pass.context, &asked).into());
        }
        if let Some(flops) = self.flops.filter(|n| *n > 0) {
            set_attribute(self.device, FLOPS, b.i64_attr(flops));
        }
        set_attribute(self.device, KERNELS, ArrayAttribute::new(pass.context, &texts).into());
        if self.kernels.iter().any(|(_, launch)| launch.operands.iter().any(|o| o == entry::FAILURE)) {
            set_attribute(self.device, CHECKS, b.unit_attr());
        }
        Ok(())
    }

    /// The number of the kernel for a launch, which is lowered the first time.
    fn kernel(&mut self, pass: &PassContext<'c>, site: &Site<'c>) -> Result<usize, Failed> {
        if let Some(number) = self.lowered.get(&key(site)) {
            return Ok(*number);
        }
        let number = self.kernels.len();
        let compute = site.compute()?;
        let name = name(number, &site.callee);
        let chip = (self.chip, &self.tuning);
        let launch = entry::lower(pass.context, chip, self.device, site.kernel, compute, &name, &site.types())?;
        self.kernels.push((compute.name(), launch));
        self.lowered.insert(key(site), number);
        Ok(number)
    }
}

impl<'c> Launches<'c> for CudaLaunches<'c> {
    fn launch(
        &mut self,
        pass: &PassContext<'c>,
        site: &Site<'c>,
        places: &mut CheckSites,
        b: Builder<'c>,
    ) -> Result<(), Failed> {
        let number = self.kernel(pass, site)?;
        let compute = site.compute()?;
        let products = match compute.name().as_str() {
            "ait.gemm" => vec![gemm_flops(compute, site, &site.inputs, &site.outs)],
            "ait.group" => group_flops(compute, site),
            _ => vec![],
        };
        for product in products {
            self.flops = self.flops.zip(product).map(|(sum, n)| sum + n);
        }
        let row = kernels::row(&compute.name()).ok_or(Failed)?;
        let extents = match &row.how {
            How::Body(row) => cpu::with_values(site.kernel, compute, pass.op, b, &site.arguments(), row.extents),
            How::Whole { .. } => Vec::new(),
        };
        let i64_type = b.context().int_type(64);
        let mut operands = Vec::new();
        let mut dims = Vec::new();
        for argument in site.arguments() {
            if argument.r#type().is_buffer() {
                let (address, integers) = described(b, argument);
                operands.push(address);
                dims.extend(integers.into_iter().map(|v| b.index_cast(v, i64_type)));
            } else {
                dims.push(to_word(b, argument));
            }
        }
        dims.extend(extents.into_iter().map(|v| b.index_cast(v, i64_type)));
        if self.kernels[number].1.operands.iter().any(|o| o == entry::FAILURE) {
            let pointer = pointer_type(b);
            operands.extend(call_runtime(b, pass.op, "aitmlir_rt_failure_record", &[site.run], Some(pointer)));
            dims.push(b.int(i64_type, places.of_launch(site.op, compute)));
        }
        let count = |n: usize| b.int(i64_type, n as i64);
        let arguments = [
            site.run,
            count(number),
            site.array(b, &operands),
            count(operands.len()),
            site.array(b, &dims),
            count(dims.len()),
        ];
        call_runtime(b, pass.op, "aitmlir_rt_launch", &arguments, None);
        Ok(())
    }
}

/// The operations of each product of a launched group.
fn group_flops(op: OpView<'_>, site: &Site<'_>) -> Vec<Option<i64>> {
    let mut outs = site.outs.as_slice();
    let of = |member: OpView<'_>| {
        let (own, rest) = outs.split_at_checked(member.results().len())?;
        outs = rest;
        let left = operand_of_group(member.operands().first().copied()?)?;
        let place = op.operands().iter().position(|v| *v == left)?;
        gemm_flops(member, site, site.inputs.get(place..)?, own)
    };
    members(op).into_iter().map(of).collect()
}

/// The operations of a launched product on these buffers, where it is known how often it runs and on what.
fn gemm_flops(op: OpView<'_>, site: &Site<'_>, inputs: &[Val<'_>], outs: &[Val<'_>]) -> Option<i64> {
    // SAFETY: questions to live ops.
    let nested = unsafe {
        mlir_sys::mlirOperationGetBlock(site.op.to_raw()).ptr
            != mlir_sys::mlirOperationGetBlock(site.entry.to_raw()).ptr
    };
    let left = inputs.first()?.r#type().shape();
    let row = op.kind("a_layout").unwrap_or(MatrixLayout::Row) == MatrixLayout::Row;
    let k = *left.get(left.len().checked_sub(if row { 1 } else { 2 })?)?;
    let out = outs.first()?.r#type().shape();
    let known = !nested && k >= 0 && out.iter().all(|s| *s >= 0);
    let products = 1 + op.group("others").len() as i64;
    known.then(|| 2 * k * products * out.iter().product::<i64>())
}

/// The address of a buffer's first element, and the integers that its type leaves open.
fn described<'c>(b: Builder<'c>, buffer: Val<'c>) -> (Val<'c>, Vec<Val<'c>>) {
    let interface = Interface::of(buffer.r#type());
    let view = cpu::view::View::of(b, buffer);
    let bytes = b.muli(view.offset, b.index(view.element().bytes()));
    let address = offset_pointer(b, pointer_of(b, buffer), bytes);
    let sizes = interface.open_sizes.iter().map(|d| view.axes[*d].size);
    let strides = interface.open_strides.iter().map(|d| view.axes[*d].stride);
    (address, sizes.chain(strides).collect())
}

/// The descriptions of a device module's kernels, as JSON.
pub fn descriptions(device: Op<'_>) -> Vec<String> {
    OpView(device).strings(KERNELS)
}

/// Takes the module of kernels out of a lowered module.
pub fn take_device<'c>(module: Op<'c>) -> Option<melior::ir::Module<'c>> {
    let device = aitmlir_dialects::builder::operations_of(block_of(module, 0)?).into_iter().find(|op| {
        OpView(*op).name() == "builtin.module" && OpView(*op).string("sym_name").as_deref() == Some(DEVICE)
    })?;
    // SAFETY: the module op leaves its parent and is owned by the result.
    unsafe {
        mlir_sys::mlirOperationRemoveFromParent(device.to_raw());
        Some(melior::ir::Module::from_raw(mlir_sys::mlirModuleFromOperation(device.to_raw())))
    }
}
