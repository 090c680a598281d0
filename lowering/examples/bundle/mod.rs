//! What the examples that compile kernels for a GPU machine have in common: a folder of cubins, and the list of them that the runner in `test/gpu/` reads.

use aitmlir_dialects::new_context;
use aitmlir_lowering::cuda::{
    chip::{self, Chip},
    codegen,
    ptxas::{KernelReport, Ptxas},
};
use kernel_launch::KernelLaunch;
use melior::{
    Context,
    ir::{Location, Module},
};
use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

/// A folder of kernels for sm_90a.
pub struct Bundle {
    folder: PathBuf,
    /// What assembles them.
    pub ptxas: Ptxas,
    chip: &'static Chip,
}

/// A kernel of the folder.
pub struct Compiled {
    /// The cubin, from the folder on.
    pub file: String,
    /// How it is started.
    pub launch: KernelLaunch,
    /// What ptxas says of it.
    pub report: KernelReport,
}

impl Bundle {
    /// Makes the folder, and finds ptxas: that of `scripts/setup`, else one that is installed.
    pub fn new(folder: &str) -> Result<Self, Box<dyn Error>> {
        let folder = PathBuf::from(folder);
        fs::create_dir_all(folder.join("kernels"))?;
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/nvidia-cuda-nvcc/nvidia/cu13/bin/ptxas");
        let ptxas = Ptxas::find(own.is_file().then_some(own.as_path()))?;
        Ok(Bundle { folder, ptxas, chip: chip::chip("sm_90a").ok_or("no such chip")? })
    }

    /// Compiles the kernel `name` that `emit` writes into a module, and puts it into the folder.
    pub fn compile(
        &self,
        name: &str,
        emit: impl for<'c> FnOnce(&'c Context, &Module<'c>) -> Result<KernelLaunch, Box<dyn Error>>,
    ) -> Result<Compiled, Box<dyn Error>> {
        let context = new_context();
        let mut module = Module::new(Location::unknown(&context));
        let launch = emit(&context, &module)?;
        let ptx = codegen::ptx(&context, &mut module, self.chip)?;
        let assembled = self.ptxas.assemble(&ptx, self.chip)?;
        let report = assembled.kernels.into_iter().next().ok_or("ptxas says nothing of the kernel")?;
        let file = format!("kernels/{name}.cubin");
        fs::write(self.folder.join(&file), &assembled.cubin)?;
        Ok(Compiled { file, launch, report })
    }

    /// Writes the list of kernels: JSON.
    pub fn finish(&self, entries: &str) -> Result<(), Box<dyn Error>> {
        Ok(fs::write(self.folder.join("kernels.json"), entries)?)
    }
}
