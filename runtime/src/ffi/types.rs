//! The structs of `include/aitmlir.h`, field by field.

use std::ffi::c_char;

use super::device::DeviceTable;
use crate::error::{Error, Result};
use crate::info::DType;
use crate::run::OwnedOutput;
use crate::tensor::{Memory, TensorMut, TensorRef};

/// `aitmlir_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Options {
    pub struct_size: usize,
    pub weights_path: *const c_char,
    pub threads: i32,
    pub device_index: i32,
    pub device: *const DeviceTable,
    pub graphs: i32,
    pub reserved: i32,
}

/// `aitmlir_tensor`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Tensor {
    pub data: *mut u8,
    pub dims: *mut i64,
    pub bytes: u64,
    pub dtype: i32,
    pub rank: i32,
    pub memory: u64,
    pub reserved: u64,
}

/// `aitmlir_dim`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Dim {
    pub name: *const c_char,
    pub min: i64,
    pub max: i64,
    pub multiple: i64,
}

/// `aitmlir_tensor_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct TensorInfo {
    pub name: *const c_char,
    pub dims: *const Dim,
    pub dtype: i32,
    pub rank: i32,
}

/// `aitmlir_constant_info_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ConstantInfo {
    pub name: *const c_char,
    pub dims: *const i64,
    pub bytes: u64,
    pub dtype: i32,
    pub rank: i32,
    pub derived: i32,
    pub reserved: i32,
}

/// `aitmlir_memory_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct MemoryInfo {
    pub weights: i64,
    pub arena: i64,
    pub lower_bound: i64,
    pub naive: i64,
}

/// `aitmlir_result`.
pub struct RunResult {
    pub(super) outputs: Vec<(DType, OwnedOutput)>,
}

impl Tensor {
    /// The tensor as an input or as a constant.
    ///
    /// # Safety
    /// `dims` points to `rank` numbers that live as long as the result is used.
    pub(super) unsafe fn as_ref<'a>(&self, what: &'static str) -> Result<TensorRef<'a>> {
        let dims: &[i64] = match self.rank_checked(what)? {
            0 => &[],
            // SAFETY: the caller's promise, and it is not null.
            rank => unsafe { std::slice::from_raw_parts(self.dims, rank) },
        };
        let dtype = DType::from_code(self.dtype);
        let memory = self.memory(what)?;
        Ok(TensorRef { data: self.data, memory, bytes: self.bytes, dims, dtype, dtype_code: self.dtype })
    }

    /// The tensor as an output, which must have this type.
    ///
    /// # Safety
    /// As for [`Tensor::as_ref`], and nothing else uses `dims`.
    pub(super) unsafe fn as_mut<'a>(&self, name: &str, expected: DType) -> Result<TensorMut<'a>> {
        if DType::from_code(self.dtype) != Some(expected) {
            let found = DType::from_code(self.dtype);
            let found = found.map_or_else(|| format!("type number {}", self.dtype), |t| t.to_string());
            return Err(Error::DType { what: "output", name: name.to_string(), expected, found });
        }
        let dims: &mut [i64] = match self.rank_checked("output")? {
            0 => &mut [],
            // SAFETY: the caller's promise, and it is not null.
            rank => unsafe { std::slice::from_raw_parts_mut(self.dims, rank) },
        };
        Ok(TensorMut { data: self.data, memory: self.memory("output")?, bytes: self.bytes, dims })
    }

    fn memory(&self, what: &'static str) -> Result<Memory> {
        match self.memory {
            0 => Ok(Memory::Host),
            1 => Ok(Memory::Device),
            other => Err(Error::Argument(format!("the memory of an {what} tensor is {other}, which is none"))),
        }
    }

    fn rank_checked(&self, what: &'static str) -> Result<usize> {
        let rank = usize::try_from(self.rank)
            .map_err(|_| Error::Argument(format!("an {what} tensor has rank {}", self.rank)))?;
        if rank > 0 && self.dims.is_null() {
            return Err(Error::Argument(format!("an {what} tensor of rank {rank} has no dims (NULL)")));
        }
        Ok(rank)
    }
}
