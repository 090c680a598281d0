//! One kernel as an object file and a C header, for programs that want no more than the kernel: `name.o` holds the kernel's code and
//! what loads, checks and launches it; it needs the C library alone, and the CUDA driver at run time.
//!
//! [`glue`] and [`launch`] are its host side as LLVM IR ([`ir`]), linked with the model's host program; [`checks`] what it checks;
//! [`header`] the typed C interface.

mod checks;
mod glue;
mod header;
mod ir;
mod launch;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use aitmlir_lowering::cpu::target::CpuTarget;
use aitmlir_lowering::host::codegen::{self, Standalone};
use aitmlir_runtime::info::ModelInfo;
use kernel_launch::KernelLaunch;
use melior::ir::Module;

use super::DeviceCode;
use super::error::{Error, Result};
use super::header::{c_prefix, identifier, unique};
use checks::Checks;

/// What becomes an object file and a header.
pub struct Kernel<'a, 'c> {
    /// The host program of a model that is this kernel alone, in MLIR's llvm dialect.
    pub program: &'a Module<'c>,
    /// The CPU that it is for.
    pub host: &'a CpuTarget,
    /// The model's description: inputs, outputs, the kernel.
    pub info: &'a ModelInfo,
    /// The strides of inputs and outputs, in elements: [`DYNAMIC`](aitmlir_dialects::types::DYNAMIC) for those that a launch is given; `None` of a row-major tensor.
    pub strides: &'a [Option<Vec<i64>>],
    /// The kernel's code.
    pub device: &'a DeviceCode,
    /// The files to write, without `.o` and `.h`.
    pub output: &'a Path,
}

/// The files that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifacts {
    /// The object file.
    pub object: PathBuf,
    /// Its C header.
    pub header: PathBuf,
}

/// C names of a kernel.
struct Names {
    prefix: String,
    /// Of the tensors, inputs first.
    tensors: Vec<String>,
}

/// Writes the object file and the header. Errors: a kernel that needs more of a runtime than it can have, files that cannot be written.
pub fn export(kernel: &Kernel<'_, '_>) -> Result<Artifacts> {
    let info = kernel.info;
    let device = info.device.as_ref().ok_or_else(|| Error::Internal("a kernel without a device".into()))?;
    let [described] = device.kernels.as_slice() else {
        return Err(Error::Internal(format!("{} kernels where one was to be", device.kernels.len())));
    };
    let all = || info.inputs.iter().chain(&info.outputs);
    let tensors = unique(all().map(|tensor| identifier(&tensor.name)));
    let names = Names { prefix: c_prefix(&info.name), tensors };
    let checks = Checks::new(&info.inputs, &info.outputs, &names.tensors, kernel.strides);
    let code = Code::new(kernel.device);
    let glue = glue::Glue {
        prefix: &names.prefix,
        checks: &checks,
        launch: &described.launch,
        images: &code.images(),
        record: device.checks,
    };
    let exports = ["load", "unload", "message", "enqueue"].map(|name| format!("{}_{name}", names.prefix));
    let data: Vec<(&str, &[u8])> = code.parts.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    let standalone = Standalone { ir: &glue.text(), exports: &exports, data: &data };
    let object = codegen::standalone_object(kernel.program, kernel.host, &standalone).map_err(|cause| match cause {
        codegen::CodegenError::Unsupported(_) => Error::Standalone(cause.to_string()),
        cause => Error::Internal(cause.to_string()),
    })?;
    let header =
        header::header(info, &names, &checks, &described.op, device.checks, needs_workspace(&described.launch));
    let with = |suffix: &str| {
        let mut path = kernel.output.as_os_str().to_owned();
        path.push(suffix);
        PathBuf::from(path)
    };
    let artifacts = Artifacts { object: with(".o"), header: with(".h") };
    write(&artifacts.header, header.as_bytes())?;
    write(&artifacts.object, &object)?;
    Ok(artifacts)
}

fn needs_workspace(launch: &KernelLaunch) -> bool {
    launch.variants().any(|variant| variant.workspace.is_some())
}

/// The images of a kernel, as the driver takes them.
struct Code {
    parts: Vec<(&'static str, Vec<u8>)>,
}

impl Code {
    fn new(device: &DeviceCode) -> Code {
        let mut parts = Vec::new();
        if !device.binary.is_empty() {
            parts.push(("kernel_cubin", device.binary.clone()));
        }
        if !device.ptx.is_empty() {
            // The driver reads PTX up to its NUL.
            parts.push(("kernel_ptx", [device.ptx.as_bytes(), &[0]].concat()));
        }
        Code { parts }
    }

    fn images(&self) -> Vec<(&'static str, usize)> {
        self.parts.iter().map(|(name, bytes)| (*name, bytes.len())).collect()
    }
}

/// Writes a file whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = Error::file("write", path);
    // As the user's other files are, which temporary ones are not.
    let permissions = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666);
    let made = tempfile::Builder::new().permissions(permissions).tempfile_in(super::folder(path));
    let mut file = made.map_err(Error::file("write", path))?;
    file.write_all(bytes).map_err(Error::file("write", path))?;
    file.persist(path).map_err(|cause| failed(cause.error))?;
    Ok(())
}
