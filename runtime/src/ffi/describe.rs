//! A model's description with the lifetimes that C wants: strings and arrays that stay where they are.

use std::ffi::{CString, c_char};

use super::types;
use crate::info::{Dim, ModelInfo};

/// Inputs, outputs and constants as C sees them.
pub(super) struct Description {
    pub(super) inputs: Vec<types::TensorInfo>,
    pub(super) outputs: Vec<types::TensorInfo>,
    pub(super) constants: Vec<types::ConstantInfo>,
    // What the pointers above point to; never changed after `new`.
    strings: Vec<CString>,
    dims: Vec<Box<[types::Dim]>>,
    shapes: Vec<Box<[i64]>>,
}

// SAFETY: the pointers point into the description itself, which is never changed.
unsafe impl Send for Description {}
// SAFETY: as above.
unsafe impl Sync for Description {}

impl Description {
    pub(super) fn new(info: &ModelInfo) -> Description {
        let mut d = Description {
            inputs: Vec::new(),
            outputs: Vec::new(),
            constants: Vec::new(),
            strings: Vec::new(),
            dims: Vec::new(),
            shapes: Vec::new(),
        };
        d.inputs = info.inputs.iter().map(|tensor| d.tensor(tensor)).collect();
        d.outputs = info.outputs.iter().map(|tensor| d.tensor(tensor)).collect();
        d.constants = info.constants.iter().map(|constant| d.constant(constant)).collect();
        d
    }

    fn tensor(&mut self, tensor: &crate::info::TensorInfo) -> types::TensorInfo {
        let dims: Box<[types::Dim]> = tensor.dims.iter().map(|dim| self.dim(dim)).collect();
        let info = types::TensorInfo {
            name: self.string(&tensor.name),
            dims: dims.as_ptr(),
            dtype: tensor.dtype.code(),
            rank: dims.len() as i32,
        };
        self.dims.push(dims);
        info
    }

    fn constant(&mut self, constant: &crate::info::ConstantInfo) -> types::ConstantInfo {
        let dims: Box<[i64]> = constant.dims.clone().into();
        let info = types::ConstantInfo {
            name: self.string(&constant.name),
            dims: dims.as_ptr(),
            bytes: constant.bytes,
            dtype: constant.dtype.code(),
            rank: dims.len() as i32,
            derived: i32::from(constant.derived),
            reserved: 0,
        };
        self.shapes.push(dims);
        info
    }

    fn dim(&mut self, dim: &Dim) -> types::Dim {
        let multiple = match dim {
            Dim::Static(_) => 1,
            Dim::Dynamic(d) => d.multiple.max(1),
        };
        let name = dim.name().map_or(std::ptr::null(), |name| self.string(name));
        types::Dim { name, min: dim.min(), max: dim.max().unwrap_or(-1), multiple }
    }

    fn string(&mut self, text: &str) -> *const c_char {
        let string = c_string(text);
        let pointer = string.as_ptr();
        self.strings.push(string);
        pointer
    }
}

/// A C string of a text; a NUL inside becomes a space.
pub(super) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}
