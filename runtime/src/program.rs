//! The table that a compiled program gives to the runtime.

use std::ffi::c_void;

use crate::error::{Error, Result};
use crate::info::{ABI_VERSION, ModelInfo};

/// An entry of the program; `run` is handed back to the `aitmlir_rt_*` functions.
pub type Entry = unsafe extern "C-unwind" fn(run: *mut c_void);

/// The symbol that holds the [`Program`] of a library.
pub const PROGRAM_SYMBOL: &str = "aitmlir_program";
/// The symbol of the program's [`Entry`] that computes the outputs.
pub const MAIN_SYMBOL: &str = "aitmlir_program_main";
/// The symbol of the program's [`Entry`] that computes the derived constants.
pub const FOLD_SYMBOL: &str = "aitmlir_program_fold";

/// What the object file of a model holds under [`PROGRAM_SYMBOL`]: ten words, in this order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// JSON of [`ModelInfo`], with a NUL behind it.
    pub info: *const u8,
    /// Bytes of the JSON without the NUL.
    pub info_len: u64,
    /// The weights blob, aligned to 64 bytes.
    pub weights: *const u8,
    /// Bytes of the blob; 0 where a file holds the weights.
    pub weights_len: u64,
    /// Computes the outputs.
    pub main: Entry,
    /// Computes the derived constants, on the host.
    pub fold: Entry,
    /// The kernels as a binary of the device; null where there is none.
    pub device_binary: *const u8,
    /// Bytes of the binary.
    pub device_binary_len: u64,
    /// The kernels as PTX text, with a NUL behind it; null where there is none.
    pub device_ptx: *const u8,
    /// Bytes of the text without the NUL.
    pub device_ptx_len: u64,
}

// SAFETY: the table and all it points to are read-only for as long as the library is loaded.
unsafe impl Send for Program {}
// SAFETY: as above.
unsafe impl Sync for Program {}

impl Program {
    /// The JSON text.
    pub fn info_json(&self) -> &[u8] {
        bytes(self.info, self.info_len)
    }

    /// The embedded weights.
    pub fn embedded_weights(&self) -> &[u8] {
        bytes(self.weights, self.weights_len)
    }

    /// The kernels as a binary of the device.
    pub fn device_binary(&self) -> &'static [u8] {
        bytes(self.device_binary, self.device_binary_len)
    }

    /// The kernels as PTX text; behind the slice is a NUL.
    pub fn device_ptx(&self) -> &'static [u8] {
        bytes(self.device_ptx, self.device_ptx_len)
    }

    /// The model's description, checked to be of this runtime's version.
    pub fn read_info(&self) -> Result<ModelInfo> {
        let info = ModelInfo::from_json(self.info_json())
            .map_err(|cause| Error::Internal(format!("the description of the model is damaged: {cause}")))?;
        if info.abi != ABI_VERSION {
            return Err(Error::Internal(format!(
                "the model is of ABI version {}, its runtime of version {ABI_VERSION}",
                info.abi
            )));
        }
        Ok(info)
    }
}

fn bytes<'a>(data: *const u8, len: u64) -> &'a [u8] {
    match usize::try_from(len) {
        // SAFETY: the table of a program points to that many bytes that live as long as the library.
        Ok(len) if len > 0 => unsafe { std::slice::from_raw_parts(data, len) },
        _ => &[],
    }
}
