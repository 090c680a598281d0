//! The kernels of a model for a GPU: taken out of the lowered module, compiled to PTX and a cubin, described for the runtime.

use super::{
    Options,
    cache::{Cache, Key},
};
use crate::package::DeviceCode;
use aitmlir_dialects::{ait::OpView, types::Op};
use aitmlir_lowering::cuda::{
    Chip, codegen, launch, math,
    ptxas::{Assembled, Ptxas, PtxasError},
};
use aitmlir_runtime::info::{DeviceInfo, KernelInfo};
use anyhow::{Context as _, Result, bail};
use melior::{
    Context,
    ir::{Module, OperationRef},
};

/// Where a cubin came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From ptxas (or there is none).
    Compiled,
    /// From the cache.
    Cached,
}

/// A cubin of PTX text: from the cache, or from ptxas; then it is kept in the cache.
pub fn assemble(
    ptxas: &Ptxas,
    ptx: &str,
    chip: &Chip,
    cache: Option<&Cache>,
) -> Result<(Assembled, Origin), PtxasError> {
    let Some(cache) = cache else { return Ok((ptxas.assemble(ptx, chip)?, Origin::Compiled)) };
    let (llvm, ptxas_version) = (codegen::llvm_version(), ptxas.version()?);
    let key = Key::of(&[env!("CARGO_PKG_VERSION"), &llvm, &ptxas_version, chip.name, chip.features, ptx]);
    if let Some(found) = cache.get(&key) {
        return Ok((found, Origin::Cached));
    }
    let assembled = ptxas.assemble(ptx, chip)?;
    if let Err(cause) = cache.put(&key, &assembled) {
        eprintln!("warning: the compile cache {}: {cause}", cache.folder().display());
    }
    Ok((assembled, Origin::Compiled))
}

/// The module of kernels.
pub struct Kernels<'c> {
    module: Module<'c>,
    descriptions: Vec<String>,
    checks: bool,
    flops: Option<u64>,
}

impl<'c> Kernels<'c> {
    /// Takes the kernels out of a lowered module; none where it was lowered for the CPU.
    pub fn take(module: Op<'c>) -> Option<Self> {
        let kernels = launch::take_device(module)?;
        // SAFETY: the module outlives the questions.
        let op = unsafe { OperationRef::from_raw(kernels.as_operation().to_raw()) };
        let (descriptions, checks) = (launch::descriptions(op), OpView(op).has(launch::CHECKS));
        let flops = OpView(op).i64(launch::FLOPS).and_then(|n| u64::try_from(n).ok());
        Some(Self { module: kernels, descriptions, checks, flops })
    }

    /// Compiles the kernels. Without ptxas a library holds PTX alone, if that is asked for. Says also whether the cubin was in the cache.
    pub fn compile(&mut self, context: &'c Context, chip: &Chip, options: &Options) -> Result<(DeviceCode, Origin)> {
        if self.descriptions.is_empty() {
            return Ok((DeviceCode::default(), Origin::Compiled));
        }
        // Asked first: making PTX of many kernels takes minutes, at the end of which an error would be late.
        let ptxas = match Ptxas::find(options.ptxas.as_deref()) {
            Ok(ptxas) => Some(ptxas),
            Err(cause) if options.embed_ptx && options.ptxas.is_none() => {
                eprintln!("warning: {cause}; the library holds PTX only");
                None
            }
            Err(cause) => bail!("{cause}"),
        };
        // SAFETY: the module outlives the use; the context is its own.
        let op = unsafe { OperationRef::from_raw(self.module.as_operation().to_raw()) };
        math::expand(context, op)?;
        let ptx = codegen::ptx(context, &mut self.module, chip)?;
        let (binary, origin) = match ptxas {
            Some(ptxas) => {
                let cache = options.cache.as_deref().map(Cache::new);
                let (assembled, origin) = assemble(&ptxas, &ptx, chip, cache.as_ref())?;
                (assembled.cubin, origin)
            }
            None => (Vec::new(), Origin::Compiled),
        };
        Ok((DeviceCode { binary, ptx: if options.embed_ptx { ptx } else { String::new() } }, origin))
    }

    /// What the library says of the kernels.
    pub fn describe(&self, chip: &Chip) -> Result<DeviceInfo> {
        let kernels = self.descriptions.iter().map(|text| {
            serde_json::from_str::<KernelInfo>(text).with_context(|| format!("the description of a kernel: {text}"))
        });
        Ok(DeviceInfo {
            architecture: chip.name.to_owned(),
            kernels: kernels.collect::<Result<_>>()?,
            checks: self.checks,
            flops: self.flops,
        })
    }
}
