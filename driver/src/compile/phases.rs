//! The pipeline: import, fuse, plan, lower, generate code. Each phase can be stopped at, timed and dumped.

use super::{
    Options, description,
    device::{Kernels, Origin},
    isolate,
    source::Source,
    strides,
};
use crate::package::DeviceCode;
use aitmlir_dialects::{
    ait::OpView,
    pass::{PassDecl, run_pass},
    types::Op,
};
use aitmlir_lowering::{cpu, cuda, expand::EXPAND_PRODUCTS, host, target::Target};
use aitmlir_passes::{
    allow_tf32::ALLOW_TF32,
    canonicalize::CANONICALIZE,
    fuse::FUSE,
    fuse_products::FUSE_PRODUCTS,
    group_products::GROUP_PRODUCTS,
    outline::OUTLINE_KERNELS,
    plan::PLAN_MEMORY,
    recognize::{RECOGNIZE_ATTENTION, RECOGNIZE_NORMS},
    split_constants::SPLIT_CONSTANTS,
};
use aitmlir_runtime::info::ModelInfo;
use anyhow::{Context as _, Result, anyhow};
use clap::ValueEnum;
use melior::{
    Context,
    ir::{Module, OperationRef},
    pass::{PassManager, transform},
};
use std::{
    fs,
    time::{Duration, Instant},
};

/// Where compilation stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Emit {
    /// The imported model: `ait` on tensors.
    Ait,
    /// Simplified and fused.
    Fused,
    /// Kernels outlined, tensors planned into buffers.
    Planned,
    /// Kernels as loops and vectors, the host program as runtime calls.
    Linalg,
    /// MLIR's llvm dialect.
    Llvm,
    /// An object file.
    Obj,
    /// One kernel of a model for a GPU: an object file and a C header that load, check and launch it.
    Kernel,
    /// The library and its header.
    So,
}

/// Times, prints and dumps phases.
pub struct Observer<'o> {
    options: &'o Options,
    times: Vec<(&'static str, Duration, &'static str)>,
}

impl<'o> Observer<'o> {
    /// Makes the dump folder.
    pub fn new(options: &'o Options) -> Result<Self> {
        if let Some(folder) = &options.dump_phases {
            fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        }
        Ok(Self { options, times: Vec::new() })
    }

    /// Runs one phase.
    pub fn phase<T, E: Into<anyhow::Error>>(
        &mut self,
        name: &'static str,
        run: impl FnOnce() -> Result<T, E>,
    ) -> Result<T> {
        if self.options.verbose {
            eprintln!("{name} ...");
        }
        let start = Instant::now();
        let result = run();
        self.times.push((name, start.elapsed(), ""));
        result.map_err(Into::into)
    }

    /// Remarks on the last phase, for the report.
    pub fn remark(&mut self, note: &'static str) {
        if let Some(last) = self.times.last_mut() {
            last.2 = note;
        }
    }

    fn dump(&self, name: &str, module: &Module<'_>) -> Result<()> {
        let Some(folder) = &self.options.dump_phases else { return Ok(()) };
        let path = folder.join(format!("{:02}-{name}.mlir", self.times.len()));
        fs::write(&path, module.as_operation().to_string()).with_context(|| format!("writing {}", path.display()))
    }

    /// Prints the times, where asked for.
    pub fn report(&self) {
        if self.options.timings {
            for (name, time, note) in &self.times {
                eprintln!("{name:>10} {:9.1} ms{note}", time.as_secs_f64() * 1e3);
            }
        }
    }
}

/// A model on its way.
pub struct Compilation<'c> {
    context: &'c Context,
    source: Source<'c>,
    target: Target,
    /// The kernels for a GPU, once lowered and taken out of the module.
    kernels: Option<Kernels<'c>>,
    outline: Option<description::Outline>,
    /// Of the inputs, then of the outputs.
    strides: Vec<strides::Strides>,
    /// All but one kernel is dropped: which one, where a name is needed.
    only: Option<Option<String>>,
    /// The user's table of measured configurations.
    tuning: Option<String>,
    /// May products of f32 round their operands to tf32?
    allow_tf32: bool,
    /// May products share launches?
    group: bool,
}

impl<'c> Compilation<'c> {
    /// A model as imported.
    pub fn new(context: &'c Context, source: Source<'c>, options: &Options) -> Self {
        let tuning = options.tuning_table.as_ref().map(|path| path.to_string_lossy().into_owned());
        let only = (options.emit == Emit::Kernel).then(|| options.kernel.clone());
        let (target, allow_tf32) = (options.target.clone(), options.allow_tf32);
        let group = !options.no_groups;
        Self { context, source, target, kernels: None, outline: None, strides: vec![], only, tuning, allow_tf32, group }
    }

    fn op(&self) -> Op<'c> {
        // SAFETY: the module lives as long as the compilation, which hands out no op.
        unsafe { OperationRef::from_raw(self.source.module.as_operation().to_raw()) }
    }

    /// Runs the phases up to `emit`.
    pub fn to(&mut self, emit: Emit, observer: &mut Observer<'_>) -> Result<()> {
        observer.dump("import", &self.source.module)?;
        type Step<'c> = fn(&mut Compilation<'c>) -> Result<()>;
        let steps: [(Emit, &'static str, Step<'c>); 4] = [
            (Emit::Fused, "fuse", Self::fuse),
            (Emit::Planned, "plan", Self::plan),
            (Emit::Linalg, "lower", Self::lower),
            (Emit::Llvm, "to-llvm", Self::convert),
        ];
        for (phase, name, step) in steps {
            if emit < phase {
                return Ok(());
            }
            observer.phase(name, || step(self))?;
            observer.dump(name, &self.source.module)?;
        }
        Ok(())
    }

    fn ours(&self, passes: &[&'static PassDecl]) -> Result<()> {
        for pass in passes {
            run_pass(pass, self.op(), &[])?;
        }
        Ok(())
    }

    fn simplify(&mut self) -> Result<()> {
        let manager = PassManager::new(self.context);
        manager.add_pass(transform::create_canonicalizer());
        manager.add_pass(transform::create_cse());
        manager.run(&mut self.source.module).map_err(|_| anyhow!("simplifying the module failed"))
    }

    fn fuse(&mut self) -> Result<()> {
        self.simplify()?;
        self.ours(&[&CANONICALIZE])?;
        self.simplify()?;
        self.ours(&[&RECOGNIZE_NORMS])?;
        // Where the target has no kernel for it, attention stays products and a softmax.
        if self.target.chip().is_none() || cuda::kernels::row("ait.attention").is_some() {
            self.ours(&[&RECOGNIZE_ATTENTION])?;
        }
        let chip: Vec<_> = self.target.chip().iter().map(|chip| ("chip", chip.name)).collect();
        run_pass(&EXPAND_PRODUCTS, self.op(), &chip)?;
        self.simplify()?;
        self.ours(&[&FUSE])?;
        self.simplify()?;
        // The kernels for GPUs take products in these forms; those for the CPU do not.
        if self.target.chip().is_some() {
            self.ours(&[&FUSE_PRODUCTS])?;
            self.simplify()?;
        }
        if self.allow_tf32 {
            self.ours(&[&ALLOW_TF32])?;
        }
        if self.target.chip().is_some() && self.group {
            run_pass(&GROUP_PRODUCTS, self.op(), cuda::kernels::group::LIMITS)?;
        }
        Ok(())
    }

    fn plan(&mut self) -> Result<()> {
        self.ours(&[&OUTLINE_KERNELS])?;
        strides::of_main(self.op(), self.only.is_some())?;
        if let Some(wanted) = &self.only {
            isolate::isolate(self.context, self.op(), wanted.as_deref())?;
            // The kernel's tensors are not those of the model.
            self.source.interface = None;
            self.ours(&[&OUTLINE_KERNELS])?;
        }
        self.simplify()?;
        self.ours(&[&SPLIT_CONSTANTS])?;
        self.simplify()?;
        self.outline = Some(description::Outline::of(self.op()));
        self.strides = strides::of_main(self.op(), self.only.is_some())?;
        self.ours(&[&PLAN_MEMORY])?;
        let module = self.op();
        if let Some(outline) = &mut self.outline {
            outline.read_memory(module);
        }
        self.simplify()
    }

    fn lower(&mut self) -> Result<()> {
        description::ensure_fold(self.context, self.op());
        let mut given: Vec<_> = self.target.chip().iter().map(|chip| ("chip", chip.name)).collect();
        given.extend(self.tuning.as_deref().map(|table| ("tuning", table)));
        run_pass(&host::program::LOWER_HOST, self.op(), &given)?;
        self.ours(&[&cpu::math::APPROXIMATE])
    }

    fn convert(&mut self) -> Result<()> {
        self.kernels = Kernels::take(self.op());
        host::codegen::to_llvm_dialect(self.context, &mut self.source.module)?;
        Ok(())
    }

    /// The object file, after all phases.
    pub fn object(&self) -> Result<Vec<u8>> {
        Ok(host::codegen::object(&self.source.module, self.target.host())?)
    }

    /// The matrix products that configurations were chosen for, after [`Emit::Linalg`]: each with `: CONFIGURATION (SOURCE)` behind it.
    pub fn products(&self) -> Vec<String> {
        let body = aitmlir_dialects::builder::block_of(self.op(), 0);
        let ops = body.map(aitmlir_dialects::builder::operations_of).unwrap_or_default();
        ops.into_iter().flat_map(|op| OpView(op).strings(cuda::launch::PRODUCTS)).collect()
    }

    /// The strides of the inputs, then of the outputs, after [`Emit::Planned`].
    pub fn strides(&self) -> &[strides::Strides] {
        &self.strides
    }

    /// The host program in MLIR's llvm dialect, after all phases.
    pub fn program(&self) -> &Module<'c> {
        &self.source.module
    }

    /// The kernels' code, after all phases; none of a model for the CPU.
    pub fn device_code(&mut self, options: &Options, observer: &mut Observer<'_>) -> Result<DeviceCode> {
        let (Some(kernels), Some(chip)) = (&mut self.kernels, self.target.chip()) else {
            return Ok(DeviceCode::default());
        };
        let (code, origin) = observer.phase("kernels", || kernels.compile(self.context, chip, options))?;
        if origin == Origin::Cached {
            observer.remark("  (ptxas: from the cache)");
        }
        Ok(code)
    }

    /// The module as text.
    pub fn text(&self) -> String {
        self.source.module.as_operation().to_string()
    }

    /// What the library says about itself.
    pub fn description(&self, options: &Options) -> Result<ModelInfo> {
        let outline = self.outline.as_ref().context("the model has not been planned")?;
        let mut info = outline.model_info(self.op(), &self.source, &self.target, options)?;
        if let (Some(kernels), Some(chip)) = (&self.kernels, self.target.chip()) {
            info.device = Some(kernels.describe(chip)?);
        }
        Ok(info)
    }

    /// The bytes of each constant of the description.
    pub fn constant_data(&self, info: &ModelInfo) -> Result<Vec<&[u8]>> {
        info.constants
            .iter()
            .map(|constant| {
                if constant.derived {
                    return Ok(&[] as &[u8]);
                }
                let weight = self.source.weights.iter().find(|w| w.name == constant.name);
                weight.map(|w| w.data.as_ref()).with_context(|| format!("no data for the weight '{}'", constant.name))
            })
            .collect()
    }
}
