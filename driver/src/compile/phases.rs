//! The pipeline: import, fuse, plan, lower, generate code. Each phase can be stopped at, timed and dumped.

use super::{Options, description, device::Kernels, source::Source};
use crate::package::DeviceCode;
use aitmlir_dialects::{
    pass::{PassDecl, run_pass},
    types::Op,
};
use aitmlir_lowering::{cpu, cuda, host, target::Target};
use aitmlir_passes::{
    canonicalize::CANONICALIZE,
    fuse::FUSE,
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
    /// The library and its header.
    So,
}

/// Times, prints and dumps phases.
pub struct Observer<'o> {
    options: &'o Options,
    times: Vec<(&'static str, Duration)>,
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
        self.times.push((name, start.elapsed()));
        result.map_err(Into::into)
    }

    fn dump(&self, name: &str, module: &Module<'_>) -> Result<()> {
        let Some(folder) = &self.options.dump_phases else { return Ok(()) };
        let path = folder.join(format!("{:02}-{name}.mlir", self.times.len()));
        fs::write(&path, module.as_operation().to_string()).with_context(|| format!("writing {}", path.display()))
    }

    /// Prints the times, where asked for.
    pub fn report(&self) {
        if self.options.timings {
            for (name, time) in &self.times {
                eprintln!("{name:>10} {:9.1} ms", time.as_secs_f64() * 1e3);
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
}

impl<'c> Compilation<'c> {
    /// A model as imported.
    pub fn new(context: &'c Context, source: Source<'c>, options: &Options) -> Self {
        Self { context, source, target: options.target.clone(), kernels: None, outline: None }
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
        self.simplify()?;
        self.ours(&[&FUSE])?;
        self.simplify()
    }

    fn plan(&mut self) -> Result<()> {
        self.ours(&[&OUTLINE_KERNELS])?;
        self.simplify()?;
        self.ours(&[&SPLIT_CONSTANTS])?;
        self.simplify()?;
        self.outline = Some(description::Outline::of(self.op()));
        self.ours(&[&PLAN_MEMORY])?;
        let module = self.op();
        if let Some(outline) = &mut self.outline {
            outline.read_memory(module);
        }
        self.simplify()
    }

    fn lower(&mut self) -> Result<()> {
        description::ensure_fold(self.context, self.op());
        let chip: Vec<_> = self.target.chip().iter().map(|chip| ("chip", chip.name)).collect();
        run_pass(&host::program::LOWER_HOST, self.op(), &chip)?;
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

    /// The kernels' code, after all phases; none of a model for the CPU.
    pub fn device_code(&mut self, options: &Options) -> Result<DeviceCode> {
        match (&mut self.kernels, self.target.chip()) {
            (Some(kernels), Some(chip)) => kernels.compile(self.context, chip, options),
            _ => Ok(DeviceCode::default()),
        }
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
