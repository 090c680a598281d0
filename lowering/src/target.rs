//! Targets: what planned `ait` is compiled for. All roads are one up to a launch; there a target's table of kernels takes over.

use crate::{
    cpu::target::CpuTarget,
    cuda::{self, Chip},
};

/// What a model is compiled for.
#[derive(Clone, Debug)]
pub enum Target {
    /// The host's CPU.
    Cpu(CpuTarget),
    /// An NVIDIA GPU, with the program that launches its kernels on a CPU.
    Cuda(&'static Chip, CpuTarget),
}

/// A target's name that means nothing.
#[derive(Debug, thiserror::Error)]
#[error("unknown target '{name}': this build knows {known}")]
pub struct UnknownTarget {
    /// What was given.
    pub name: String,
    /// All names.
    pub known: String,
}

impl Target {
    /// The target of that name: `cpu`, or `cuda:` and an architecture.
    pub fn parse(name: &str) -> Result<Self, UnknownTarget> {
        if name == "cpu" {
            return Ok(Self::Cpu(CpuTarget::host()));
        }
        let chip = name.strip_prefix("cuda:").and_then(cuda::chip::chip);
        chip.map(|chip| Self::Cuda(chip, CpuTarget::host())).ok_or_else(|| UnknownTarget {
            name: name.to_owned(),
            known: std::iter::once("cpu".to_owned())
                .chain(cuda::chip::CHIPS.iter().map(|chip| format!("cuda:{}", chip.name)))
                .collect::<Vec<_>>()
                .join(", "),
        })
    }

    /// Its name in a library's description: `cpu:znver4`, `cuda:sm_90a`.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu(cpu) => format!("cpu:{}", cpu.cpu),
            Self::Cuda(chip, _) => format!("cuda:{}", chip.name),
        }
    }

    /// The CPU that the host program runs on.
    pub fn host(&self) -> &CpuTarget {
        match self {
            Self::Cpu(cpu) | Self::Cuda(_, cpu) => cpu,
        }
    }

    /// The GPU, where there is one.
    pub fn chip(&self) -> Option<&'static Chip> {
        match self {
            Self::Cpu(_) => None,
            Self::Cuda(chip, _) => Some(chip),
        }
    }
}
