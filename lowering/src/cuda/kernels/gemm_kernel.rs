//! The kernels of matrix products, each in a configuration: for whoever compiles them by themselves, to measure or to test them.

use super::{
    gemm_sm80,
    gemm_sm90::{self, Illegal},
    problem::{Problem, Region},
};
use kernel_launch::KernelLaunch;
use melior::{Context, ir::Module};

/// A kernel in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GemmKernel {
    /// Of `mma.sync` and FMA, for sm_80 and later.
    Sm80(gemm_sm80::Config),
    /// Of TMA and `wgmma`, for sm_90a.
    Sm90(gemm_sm90::Config),
}

impl GemmKernel {
    /// The configuration's short name, which names the kernel too.
    pub fn short_name(&self) -> String {
        match self {
            GemmKernel::Sm80(config) => config.short_name(),
            GemmKernel::Sm90(config) => config.short_name(),
        }
    }

    /// The kernel and configuration of a short name; copies are the widest.
    pub fn parse(name: &str) -> Option<GemmKernel> {
        let newer = gemm_sm90::choose::parse(name).map(GemmKernel::Sm90);
        newer.or_else(|| gemm_sm80::parse(name).map(GemmKernel::Sm80))
    }

    /// Emits it for the problems of one launch, which are all of one form, into `module`.
    pub fn emit<'c>(
        &self,
        context: &'c Context,
        module: &Module<'c>,
        name: &str,
        problems: &[Problem],
        region: Region<'_, 'c>,
    ) -> Result<KernelLaunch, Illegal> {
        match *self {
            GemmKernel::Sm80(config) => gemm_sm80::emit_group(context, module, name, problems, config, region),
            GemmKernel::Sm90(config) => gemm_sm90::emit_group(context, module, name, problems, config, region),
        }
    }
}
