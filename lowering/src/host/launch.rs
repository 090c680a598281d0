//! Launches of a planned program, as each target lowers them.

use super::{
    checks::{self, CheckSites},
    memory::pointer_type,
};
use crate::cpu::{self, Kernel};
use aitmlir_dialects::{
    ait::OpView,
    builder::Builder,
    diagnostics::emit_op_error,
    pass::{Failed, PassContext},
    types::{Op, Types, Val},
};
use melior::ir::{Type, ValueLike, attribute::FlatSymbolRefAttribute};
use std::collections::HashMap;

/// One launch, with the kernel function on tensors that it names.
#[derive(Clone)]
pub struct Site<'c> {
    /// The launch; code goes before it.
    pub op: Op<'c>,
    /// The kernel function.
    pub kernel: Op<'c>,
    /// Its name.
    pub callee: String,
    /// Buffers and scalars: the arguments of the kernel function.
    pub inputs: Vec<Val<'c>>,
    /// A buffer for each result.
    pub outs: Vec<Val<'c>>,
    /// The run, which every function of the runtime takes.
    pub run: Val<'c>,
    /// The first op of the function, where stack space is reserved: a launch in a loop must not grow the stack.
    pub entry: Op<'c>,
}

impl<'c> Site<'c> {
    /// All buffers and scalars.
    pub fn arguments(&self) -> Vec<Val<'c>> {
        self.inputs.iter().chain(&self.outs).copied().collect()
    }

    /// Their types.
    pub fn types(&self) -> Vec<Type<'c>> {
        self.arguments().iter().map(|a| a.r#type()).collect()
    }

    /// The compute op.
    pub fn compute(&self) -> Result<OpView<'c>, Failed> {
        cpu::kernel_op(self.kernel).ok_or_else(|| {
            emit_op_error(self.kernel, "holds no ait compute op");
            Failed
        })
    }

    /// An array on the stack that holds `values`, all of one type.
    pub fn array(&self, b: Builder<'c>, values: &[Val<'c>]) -> Val<'c> {
        let pointer = pointer_type(b);
        let start = Builder::before(b.context(), self.entry);
        let element = values.first().map_or(pointer, |v| v.r#type());
        let count = start.int(Types::int_type(b.context(), 64), (values.len() as i64).max(1));
        let array = start.op1("llvm.alloca", &[count], pointer, &[("elem_type", b.type_attr(element))]);
        for (i, value) in values.iter().enumerate() {
            let attributes = [("rawConstantIndices", b.i32s_attr(&[i as i32])), ("elem_type", b.type_attr(element))];
            let slot = b.op1("llvm.getelementptr", &[array], pointer, &attributes);
            b.op("llvm.store", &[*value, slot], &[], &[], vec![]);
        }
        array
    }
}

/// How a target lowers launches.
pub trait Launches<'c> {
    /// Emits the launch before its op. A launch that can fail gets a number of `places`.
    fn launch(
        &mut self,
        pass: &PassContext<'c>,
        site: &Site<'c>,
        places: &mut CheckSites,
        b: Builder<'c>,
    ) -> Result<(), Failed>;
}

/// Launches of CPU kernels: functions of the module, called for all of their parallel range.
#[derive(Default)]
pub struct CpuLaunches {
    /// Kernel and argument types to the lowered function, and whether that can fail.
    lowered: HashMap<String, (String, bool)>,
}

/// What tells lowered kernels apart: the kernel function and the types it is called with.
pub fn key(site: &Site<'_>) -> String {
    site.types().iter().fold(site.callee.clone(), |text, t| format!("{text} {t}"))
}

/// The name of the `n`-th lowered kernel.
pub fn name(n: usize, callee: &str) -> String {
    format!("kernel_{n}_{}", callee.trim_start_matches('k'))
}

impl<'c> Launches<'c> for CpuLaunches {
    fn launch(
        &mut self,
        pass: &PassContext<'c>,
        site: &Site<'c>,
        places: &mut CheckSites,
        b: Builder<'c>,
    ) -> Result<(), Failed> {
        let (name, can_fail) = match self.lowered.get(&key(site)) {
            Some(lowered) => lowered.clone(),
            None => {
                let name = name(self.lowered.len(), &site.callee);
                let function = cpu::lower_kernel(pass.context, pass.op, site.kernel, &name, &site.types())?;
                let lowered = (name, checks::can_fail(function));
                self.lowered.insert(key(site), lowered.clone());
                lowered
            }
        };
        let compute = site.compute()?;
        if can_fail {
            checks::enter(b, pass.op, site.run, places.of_launch(site.op, compute));
        }
        let Some(row) = cpu::row(&compute.name()) else { return Err(Failed) };
        let (operands, outs) = (site.inputs.clone(), site.outs.clone());
        let extent = (row.extent)(&Kernel { b, op: compute, operands, outs, module: pass.op });
        let zero = b.index(0);
        let arguments: Vec<_> = site.arguments().into_iter().chain([zero, extent]).collect();
        let symbol = FlatSymbolRefAttribute::new(b.context(), &name).into();
        b.op("func.call", &arguments, &[], &[("callee", symbol), ("ait.parallel", b.unit_attr())], vec![]);
        Ok(())
    }
}
